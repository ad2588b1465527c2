"""A fragment that made an end of its host is not begun again by that host's next life."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from weir_runtime.host import Host, HostSpec
from weir_runtime.names import write_whole

WHY = "out of memory: the largest fragment of a host"


@pytest.fixture
def spec(tmp_path: Path) -> HostSpec:
    lease, desired, state = (str(tmp_path / f"{what}.json") for what in ("lease", "desired", "state"))
    return HostSpec("h", lease, desired, state)


def order(spec: HostSpec, *keys: str) -> None:
    """What cannot begin, so that an attempt is seen by its error."""
    write_whole(Path(spec.desired), json.dumps({"fragments": dict.fromkeys(keys, "no fragment")}))


def said(spec: HostSpec) -> dict[str, dict[str, Any]]:
    fragments: dict[str, dict[str, Any]] = json.loads(Path(spec.state).read_text())["fragments"]
    return fragments


def looked(host: Host) -> Host:
    """After one look, and the attempts that it began."""
    host.look()
    for member in host.members.values():
        member.join()
    host.say()
    return host


def test_the_next_life_says_so_again_and_runs_the_others(spec: HostSpec) -> None:
    order(spec, "f-e1", "g-e1")
    write_whole(Path(spec.state), json.dumps({"fragments": {"f-e1": {"alone": WHY}, "g-e1": {"alone": ""}}}))
    looked(Host(spec, None))  # type: ignore[arg-type]  # no attempt comes as far as Spark
    assert said(spec)["f-e1"] | {"alone": WHY, "error": ""} == said(spec)["f-e1"]
    assert said(spec)["g-e1"]["error"], "it was begun"


def test_one_that_was_taken_out_is_forgotten(spec: HostSpec) -> None:
    order(spec, "f-e1")
    write_whole(Path(spec.state), json.dumps({"fragments": {"f-e1": {"alone": WHY}}}))
    host = looked(Host(spec, None))  # type: ignore[arg-type]
    order(spec)
    looked(host)
    assert said(spec) == {}
    order(spec, "f-e1")
    looked(host)
    assert (said(spec)["f-e1"]["alone"], bool(said(spec)["f-e1"]["error"])) == ("", True)


def test_what_was_said_is_not_written_over_before_it_is_read(
    spec: HostSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    order(spec, "f-e1")
    before = json.dumps({"fragments": {"f-e1": {"alone": WHY}}})
    write_whole(Path(spec.state), before)
    host = Host(spec, None)  # type: ignore[arg-type]

    def silent() -> dict[str, Any]:
        raise OSError("the API server does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(host._orders, "said", silent)
        looked(host)
        assert Path(spec.state).read_text() == before
    looked(host)
    assert said(spec)["f-e1"]["alone"] == WHY
