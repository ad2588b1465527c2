"""The rights that the operator asks for, each with its reason (the chart grants them: tests/chart)."""

from __future__ import annotations

from pathlib import Path

from weir_operator.kube.rights import RIGHTS, markdown

REPOSITORY = Path(__file__).parents[2]


def test_nothing_is_granted_by_a_star_and_every_right_has_a_reason() -> None:
    for right in RIGHTS:
        assert "*" not in (right.group, *right.resources, *right.verbs)
        assert len(right.reason) > 10
    assert not any("secrets" in right.resources for right in RIGHTS)


def test_the_documentation_shows_the_same_table() -> None:
    assert markdown() in (REPOSITORY / "docs/security.md").read_text()
