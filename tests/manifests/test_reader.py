"""Objects that are read again and again: only what has changed is parsed, and the answers are the same."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.manifests import objects
from weir_operator.manifests.objects import Reader, from_raw
from weir_operator.manifests.parse import parse


def stream(name: str, version: str, rate: object = "1k", uid: str = "") -> dict[str, Any]:
    """A stream as the API server gives it."""
    metadata = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", "resourceVersion": version}
    spec = {"schema": "id BIGINT, at TIMESTAMP", "rate": rate, "eventTime": {"column": "at"}}
    return {"apiVersion": "weir.dev/v1alpha1", "kind": "Stream", "metadata": metadata, "spec": spec}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what is parsed, in order."""
    names: list[str] = []

    def noted(raw: Any) -> Any:
        names.append(raw["metadata"]["name"])
        return parse(raw)

    monkeypatch.setattr(objects, "parse", noted)
    return names


def test_only_what_has_another_version_is_parsed_again(parsed: list[str]) -> None:
    read = Reader()
    read([stream("a", "1"), stream("b", "1")])
    objects, _ = read([stream("a", "1"), stream("b", "2", "5k")])
    assert parsed == ["a", "b", "b"]
    assert {name: item.spec.rate for name, item in objects.streams.items()} == {
        "default/a": 1000.0,
        "default/b": 5000.0,
    }


def test_what_is_wrong_is_told_every_time(parsed: list[str]) -> None:
    read, wrong = Reader(), [stream("a", "1", "fast")]
    first, again = read(wrong), read(wrong)
    assert parsed == ["a"]
    assert first == again == from_raw(wrong)
    assert not again[0].streams
    assert "spec.rate" in str(again[1][0].path)


def test_an_object_made_anew_under_its_name_is_another(parsed: list[str]) -> None:
    read = Reader()
    read([stream("a", "1")])
    objects, _ = read([stream("a", "1", "2k", uid="another")])
    assert objects.streams["default/a"].spec.rate == 2000.0


def test_what_has_gone_is_forgotten(parsed: list[str]) -> None:
    read = Reader()
    read([stream("a", "1")])
    read([])
    read([stream("a", "1")])
    assert parsed == ["a", "a"]


def test_an_object_without_a_version_is_parsed_each_time(parsed: list[str]) -> None:
    plain = stream("a", "")
    read = Reader()
    assert read([plain]) == read([plain]) == from_raw([plain])
    assert parsed == ["a", "a"]
