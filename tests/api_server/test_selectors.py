"""Which objects a list gives."""

from __future__ import annotations

import pytest
from weir_operator.kube import names
from weir_operator.kube.api import ApiError

from tests.api_server.api_under_test import ApiUnderTest, manifest

LABELS = {
    "a": {"app": "x", "tier": "front"},
    "b": {"app": "x", "tier": "back"},
    "c": {"app": "y"},
    "d": {},
}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", "abcd"),
        ("app", "abc"),
        ("!app", "d"),
        ("app=x", "ab"),
        ("app==x", "ab"),
        ("app!=x", "cd"),
        ("app=x,tier=back", "b"),
        ("tier in (front,back)", "ab"),
        ("tier in (front, back),app=x", "ab"),
        ("app notin (x)", "cd"),
        ("app,!tier", "c"),
        ("app=", ""),
    ],
)
def test_by_label(target: ApiUnderTest, selector: str, expected: str) -> None:
    for name, labels in LABELS.items():
        assert target.api.create(manifest("Lease", target.namespace, name, metadata={"labels": labels}))
    chosen = target.api.list("Lease", target.namespace, selector)
    assert "".join(sorted(m["metadata"]["name"] for m in chosen)) == expected


@pytest.mark.parametrize("selector", ["x y", "tier in front", "tier near (front)", "=x"])
def test_what_is_no_selector_is_refused(target: ApiUnderTest, selector: str) -> None:
    with pytest.raises(ApiError) as refused:
        list(target.api.list("Lease", target.namespace, selector))
    assert refused.value.status == 400


def test_the_selectors_by_which_ours_are_found(target: ApiUnderTest) -> None:
    labels = names.labels("f1", f"{target.namespace}/q", "driver") | {names.EPOCH: "1"}
    for name, without in (("all", ()), ("noepoch", (names.EPOCH,)), ("sweep", (names.EPOCH, names.FRAGMENT))):
        kept = {k: v for k, v in labels.items() if k not in without}
        assert target.api.create(manifest("Lease", target.namespace, name, metadata={"labels": kept}))

    def chosen(selector: str) -> set[str]:
        return {m["metadata"]["name"] for m in target.api.list("Lease", target.namespace, selector)}

    assert chosen(names.MANAGED) == {"all", "noepoch", "sweep"}
    assert chosen(names.OF_FRAGMENTS) == {"all", "noepoch"}
    assert chosen(names.WORKERS) == chosen(names.DRIVERS) == {"all"}
    assert chosen(f"{names.MANAGED},{names.ROLE}=sweep") == set()


def test_by_field(target: ApiUnderTest) -> None:
    for name in "ab":
        assert target.api.create(manifest("Lease", target.namespace, name))
    for fields, expected in (
        ("metadata.name=a", ["a"]),
        ("metadata.name!=a", ["b"]),
        (f"metadata.name=a,metadata.namespace={target.namespace}", ["a"]),
        ("metadata.name=c", []),
    ):
        chosen = target.api.list("Lease", target.namespace, fields=fields)
        assert [m["metadata"]["name"] for m in chosen] == expected


@pytest.mark.parametrize(
    ("kind", "fields"),
    [("Lease", "spec.holderIdentity=x"), ("StreamQuery", "spec.policy=x"), ("Event", "regarding.colour=red")],
)
def test_a_field_that_is_no_index_is_refused(target: ApiUnderTest, kind: str, fields: str) -> None:
    with pytest.raises(ApiError) as refused:
        list(target.admin.list(kind, target.namespace, fields=fields))
    assert refused.value.status == 400
