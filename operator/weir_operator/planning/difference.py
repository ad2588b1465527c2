"""What would change between two plans, both as PlanReports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Literal

PlanReport = Mapping[str, Any]
QueryChangeKind = Literal["added", "removed", "moved", "rewritten", "admitted", "rejected", "edited"]


@dataclass(frozen=True)
class QueryChange:
    """How one query's plan changes.

    `operators` are (id, node before or "", node after or ""), only those that differ. An edited query
    has another spec; a rewritten one other operators; a moved one only other nodes.
    """

    query: str
    change: QueryChangeKind
    operators: tuple[tuple[str, str, str], ...] = ()
    headroom: tuple[float | None, float | None] = (None, None)
    latency: tuple[float | None, float | None] = (None, None)
    reason: str = ""


@dataclass(frozen=True)
class Difference:
    """All queries that change, and the whole plan's figures before and after."""

    queries: tuple[QueryChange, ...]
    headroom: tuple[float | None, float | None]
    network_usage: tuple[float, float]
    binding: tuple[str | None, str | None]

    def __bool__(self) -> bool:
        return bool(self.queries)


def compare(before: PlanReport, after: PlanReport, edited: AbstractSet[str] = frozenset()) -> Difference:
    """What changes from one PlanReport to another; `edited` queries change even where they stay."""
    old = {query["name"]: query for query in before["queries"]}
    new = {query["name"]: query for query in after["queries"]}
    names = sorted(old.keys() | new.keys())
    changes = (_query(name, old.get(name), new.get(name), name in edited) for name in names)
    return Difference(
        queries=tuple(change for change in changes if change is not None),
        headroom=(_least(before), _least(after)),
        network_usage=(before["networkUsageBytes"], after["networkUsageBytes"]),
        binding=(before.get("binding"), after.get("binding")),
    )


def _least(report: PlanReport) -> float | None:
    """Headroom of the plan: the least of its queries'."""
    values = [query["headroom"] for query in report["queries"] if query["headroom"] is not None]
    return min(values, default=None)


def _query(name: str, old: PlanReport | None, new: PlanReport | None, edited: bool) -> QueryChange | None:
    if old is None and new is not None:
        return _change(name, "added" if new["admitted"] else "rejected", {}, new)
    if new is None and old is not None:
        return _change(name, "removed", old, {})
    assert old is not None
    assert new is not None
    if old["admitted"] != new["admitted"]:
        return _change(name, "admitted" if new["admitted"] else "rejected", old, new)
    if _shape(old) != _shape(new):
        return _change(name, "rewritten", old, new)
    if edited:
        return _change(name, "edited", old, new)
    return _change(name, "moved", old, new) if _nodes(old) != _nodes(new) else None


def _change(name: str, change: QueryChangeKind, old: PlanReport, new: PlanReport) -> QueryChange:
    before, after = _nodes(old), _nodes(new)
    shape = {part["id"]: part for part in _shape(old)}, {part["id"]: part for part in _shape(new)}
    differing = tuple(
        (op, before.get(op, ""), after.get(op, ""))
        for op in dict.fromkeys([*after, *before])
        if before.get(op) != after.get(op) or shape[0].get(op) != shape[1].get(op)
    )
    return QueryChange(
        query=name,
        change=change,
        operators=differing,
        headroom=(old.get("headroom"), new.get("headroom")),
        latency=(old.get("latencySeconds"), new.get("latencySeconds")),
        reason=new.get("reason") or "",
    )


def _nodes(query: PlanReport) -> dict[str, str]:
    return {op["id"].split("/", 1)[-1]: op["node"] for op in query.get("operators", ())}


def _shape(query: PlanReport) -> list[dict[str, Any]]:
    """The operators without their places and figures."""
    return [
        {
            "id": op["id"].split("/", 1)[-1],
            "kind": op["kind"],
            "inputs": op["inputs"],
            "rewritten": op.get("rewritten"),
        }
        for op in query.get("operators", ())
    ]


def moves(changes: Sequence[QueryChange]) -> int:
    """Operators that run now and would run elsewhere."""
    return sum(bool(old and new and old != new) for change in changes for _, old, new in change.operators)


def lines(difference: Difference) -> list[str]:
    """One line for each query that changes, for terminals, events and a Placement's `proposed.diff`."""
    result = []
    for change in difference.queries:
        what = ", ".join(f"{op} {_arrow(old, new)}" for op, old, new in change.operators)
        parts = [f"{change.change} {change.query}"]
        if what and change.change in ("moved", "rewritten", "added", "edited"):
            parts.append(what)
        if change.reason:
            parts.append(change.reason)
        result.append(": ".join(parts))
    return result


def _arrow(old: str, new: str) -> str:
    if not old:
        return f"on {new}"
    if not new:
        return f"gone from {old}"
    return f"{old} -> {new}" if old != new else f"stays on {new}"
