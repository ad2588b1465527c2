"""A plan that follows changes ends with loads and usage that a count from nothing confirms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.hierarchy.live import Live
from weir_placement.network.ledger import Ledger

from tests.hierarchy.test_planners import spread


def count_again(live: Live, closed: set[int]) -> None:
    fresh = Ledger(live.problem)
    for node in closed:
        fresh.close(node)
    for placed in live.placed.values():
        fresh.add(placed.space, placed.root, placed.sink)
    assert live.ledger.usage == pytest.approx(fresh.usage)
    still = [n for n in range(len(live.problem.cluster)) if n not in closed]
    np.testing.assert_allclose(live.ledger.cpu[still], fresh.cpu[still], atol=1e-6)
    assert (live.ledger.cpu[still] >= -1e-6).all()
    assert set(live.placed) | set(live.refused) == set(live.queries)
    for placed in live.placed.values():
        assert not closed & Live._nodes(placed)


@given(st.integers(0, 1000), st.lists(st.integers(0, 2), max_size=6))
@settings(max_examples=8, deadline=None)
def test_after_any_changes(seed, changes):
    problem = spread(seed, queries=8, width=3, cpu=0.05, cost=60.0)
    live = Live(problem)
    random = np.random.default_rng(seed)
    closed: set[int] = set()
    count_again(live, closed)
    for change in changes:
        if change == 0:
            live.change_rate(f"bench/s{random.integers(8)}", float(random.uniform(10, 500)))
        elif change == 1:
            node = int(random.choice([n for n in range(40) if n not in closed]))
            live.remove_node(node)
            closed.add(node)
        else:
            a, b = random.choice(40, 2, replace=False)
            live.change_link(int(a), int(b), float(random.uniform(0, 0.3)))
        count_again(live, closed)


def test_only_what_a_change_touches_is_planned_again():
    problem = spread(3, queries=10, width=2)
    live = Live(problem)
    before = dict(live.placed)
    readers = {q.name for q in problem.queries if "bench/s1" in q.sources.values()}
    assert set(live.change_rate("bench/s1", 400.0)) == readers
    assert all(live.placed[name] is before[name] for name in before if name not in readers)
