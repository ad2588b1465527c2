"""A rewrite is legal only if it gives the same multiset of rows for every input: shown on rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.model.operators import Filter, Item, Join, Operator, Project, Window, is_plain
from weir_placement.model.problem import Query
from weir_placement.rewrite import rules
from weir_placement.rewrite.constraints import Constraints
from weir_placement.rewrite.rewriter import Rewriter

from tests.rewrite.random_queries import STREAMS, TIMES, query, rows
from tests.rewrite.rows import run

MOVES = 8


def with_projections(random: Random, written: Query) -> Query:
    """The query with plain projections put at random places, each keeping what is read above it and
    perhaps more: an explicit graph, which SQL alone would not make."""
    operators = list(written.operators)
    for position in range(len(operators) - 1, -1, -1):
        below = operators[position]
        if not isinstance(below, Filter | Join) or random.random() < 0.5:
            continue
        above = operators[position + 1 :]
        under = _aliases(written, operators, below.id)
        available = [c for a in sorted(under) for c in _columns(written, a)]
        produced = _output(written, operators, below.id)
        read = {c for o in above for c in o.columns} | {f"{a}.{TIMES[written.sources[a]]}" for a in under}
        columns = [c for c in available if c in produced and (c in read or random.random() < 0.3)]
        if set(columns) == set(produced):
            continue
        identifier = f"q{position}"
        narrow = Project(
            identifier, (below.id,), tuple(sorted(columns)), items=tuple(Item(c, c) for c in columns)
        )
        moved = [
            replace(o, inputs=tuple(identifier if i == below.id else i for i in o.inputs)) for o in above
        ]
        operators = [*operators[: position + 1], narrow, *moved]
    return replace(written, operators=tuple(operators))


def _columns(written: Query, alias: str) -> list[str]:
    return [f"{alias}.{c.name}" for c in STREAMS[written.sources[alias]].columns]


def _aliases(written: Query, operators: list[Operator], name: str) -> set[str]:
    if name in written.sources:
        return {name}
    (operator,) = [o for o in operators if o.id == name]
    return set().union(*(_aliases(written, operators, i) for i in operator.inputs))


def _output(written: Query, operators: list[Operator], name: str) -> list[str]:
    if name in written.sources:
        return _columns(written, name)
    (operator,) = [o for o in operators if o.id == name]
    if isinstance(operator, Project):
        return [i.name for i in operator.items]
    return [c for i in operator.inputs for c in _output(written, operators, i)]


def mismatch(random: Random, moves: int = MOVES) -> str:
    """Walks random legal moves from a random plan; says which move changed the rows, "" if none did."""
    parsed = query(random)
    written = with_projections(random, parsed.query) if random.random() < 0.4 else parsed.query
    data = rows(random)
    expected = run(written, data, TIMES)
    rewriter, plan = Rewriter(written, STREAMS), written
    for _ in range(moves):
        choices = list(rewriter.neighbours(plan))
        if not choices:
            break
        plan = random.choice(choices)
        try:
            actual = run(plan, data, TIMES)
        except KeyError as column:
            return f"{parsed.sql}\ncolumn {column} is missing in {plan.operators}"
        if actual != expected:
            return f"{parsed.sql}\n{expected - actual} lost, {actual - expected} extra in {plan.operators}"
    return ""


@settings(max_examples=250, deadline=None)
@given(st.randoms(use_true_random=False))
def test_random_moves_keep_the_rows(random: Random) -> None:
    assert mismatch(random) == ""


def test_the_walks_meet_every_rule_and_rows() -> None:
    """The test above means nothing if its plans are empty or never use a rule."""
    used: set[tuple[str, str]] = set()
    joined = 0
    original = dict(rules.RULES)
    try:
        for pair, rule in original.items():
            rules.RULES[pair] = _counted(used, pair, rule)
        for seed in range(120):
            random = Random(seed)
            parsed = query(random)
            written = with_projections(random, parsed.query) if seed % 2 else parsed.query
            data = rows(random)
            joined += bool(run(written, data, TIMES)) and any(isinstance(o, Join) for o in written.operators)
            for plan in list(Rewriter(written, STREAMS).reachable(40)):
                if "j" in {o.id[0] for o in plan.operators if isinstance(o, Join) and len(o.origin) == 2}:
                    used.add(("join", "join"))
    finally:
        rules.RULES.update(original)
    assert used == {*original, ("join", "join")}
    assert joined > 30


def _counted(used: set[tuple[str, str]], pair: tuple[str, str], rule: rules.RewriteRule) -> rules.RewriteRule:
    def counted(*arguments):  # type: ignore[no-untyped-def]
        for graph in rule(*arguments):
            used.add(pair)
            yield graph

    return counted


def push_into_any_side(graph, top, bottom):  # type: ignore[no-untyped-def]
    """Wrong: a condition on both sides, or on the other one, goes to the left."""
    join = replace(bottom, inputs=(top.id, bottom.inputs[1]))
    lower = replace(top, inputs=(bottom.inputs[0],))
    yield graph.replaced([top.id, bottom.id], [lower, join], {top.id: bottom.id})


def drop_the_lower_filter(graph, top, bottom):  # type: ignore[no-untyped-def]
    """Wrong: two filters are taken for one."""
    yield graph.replaced([top.id, bottom.id], [replace(top, inputs=bottom.inputs)], {})


def project_without_times(graph, top, bottom):  # type: ignore[no-untyped-def]
    """Wrong: only what is read above is kept below the join."""
    for swapped in rules.project_over_join(graph, top, bottom):
        times = {graph.event_time(a) for a in graph.aliases[bottom.id]}
        operators = [
            replace(o, items=tuple(i for i in o.items if i.name not in times))
            if o.id not in graph.operators
            else o
            for o in swapped.query.operators
        ]
        yield replace(swapped, query=replace(swapped.query, operators=tuple(operators)))


def swap_with_a_narrower_projection(graph, top, bottom):  # type: ignore[no-untyped-def]
    """Wrong: the projection goes below a filter whose columns it drops."""
    if is_plain(top):
        lower, upper = replace(top, inputs=bottom.inputs), replace(bottom, inputs=(top.id,))
        yield graph.replaced([top.id, bottom.id], [lower, upper], {top.id: bottom.id})


@pytest.mark.parametrize(
    ("pair", "wrong"),
    [
        (("filter", "join"), push_into_any_side),
        (("filter", "filter"), drop_the_lower_filter),
        (("project", "join"), project_without_times),
        (("project", "filter"), swap_with_a_narrower_projection),
    ],
)
def test_a_wrong_rule_is_found(
    monkeypatch: pytest.MonkeyPatch, pair: tuple[str, str], wrong: rules.RewriteRule
) -> None:
    monkeypatch.setitem(rules.RULES, pair, wrong)
    assert any(mismatch(Random(seed)) for seed in range(300))


def _without_a_window(original: Callable[..., tuple[Window, ...]]) -> Callable[..., tuple[Window, ...]]:
    return lambda self, left, right: original(self, left, right)[:1]


def _without_the_implied(original: Callable[..., list[str] | None]) -> Callable[..., list[str] | None]:
    def checked(self, left, right, below):  # type: ignore[no-untyped-def]
        texts = original(self, left, right, below)
        return texts[:1] if texts else texts

    return checked


@pytest.mark.parametrize("what", ["one window of several", "one equality of several"])
def test_a_wrong_reassociation_is_found(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    if what == "one window of several":
        monkeypatch.setattr(Constraints, "windows_between", _without_a_window(Constraints.windows_between))
    else:
        monkeypatch.setattr(Constraints, "checked_at", _without_the_implied(Constraints.checked_at))
    assert any(mismatch(Random(seed)) for seed in range(600))
