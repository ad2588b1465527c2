"""Where Algorithm 3 as printed leaves a SEP that breaks invariant (4), and the mended one does not.

Each case is a change of one stream, seen in the SEP of stream A.
"""

from dataclasses import replace

import pytest
from weir_placement.joins.agent import agents_of
from weir_placement.joins.delivery import deliver
from weir_placement.joins.greedy import greedy_sep, nos_greedy
from weir_placement.joins.plan import breaches
from weir_placement.joins.streams import JoinStream, MultiwayJoin, StepCosts, step_cost

from tests.joins.printed_algorithm_3 import printed_update
from tests.joins.random_joins import PAPER

Numbers = tuple[float, float, float, float]
"""Rate, selectivity, size, window."""
DEAR_CPU = StepCosts(probe=1e-3, update=1e-3, latency=0.005, bandwidth=128_000.0)


def join_of(costs: StepCosts, *numbers: Numbers) -> MultiwayJoin:
    return MultiwayJoin(
        tuple(JoinStream(name, *values) for name, values in zip("ABCD", numbers, strict=True)), costs
    )


F_CHANGES = join_of(
    PAPER, (100, 0.05, 100, 100), (50, 0.05, 100, 100), (150, 0.01, 100, 100), (150, 0.05, 150, 50)
)
T_CHANGES = join_of(
    PAPER, (100, 0.01, 200, 100), (200, 0.01, 200, 50), (200, 0.02, 200, 100), (200, 0.02, 100, 100)
)
HEAD_CHANGES = join_of(
    PAPER, (50, 0.01, 200, 50), (50, 0.01, 200, 50), (200, 0.01, 200, 50), (50, 0.01, 100, 100)
)
R_UNDEFINED = join_of(
    PAPER, (60, 0.05, 100, 25), (60, 0.05, 200, 25), (200, 0.05, 100, 100), (200, 0.01, 200, 25)
)
BOTH_WAYS = join_of(
    DEAR_CPU,
    (200, 0.0005, 200, 200),
    (200, 0.0005, 100, 200),
    (200, 0.0005, 100, 100),
    (100, 0.0005, 200, 200),
)


@pytest.mark.parametrize(
    ("join", "changed", "values"),
    [
        pytest.param(F_CHANGES, 1, {"selectivity": 0.001}, id="f changes, C(k-1, k) does not"),
        pytest.param(
            T_CHANGES, 1, {"size": 300.0}, id="t changes where the flow is shipped, C(k-1, k) does not"
        ),
        pytest.param(HEAD_CHANGES, 0, {"rate": 25.0}, id="the head's own rate is in no C(k-1, k)"),
        pytest.param(R_UNDEFINED, 1, {"rate": 54.0, "window": 22.5}, id="cheaper, but first already: no r"),
        pytest.param(
            BOTH_WAYS, 1, {"rate": 400.0, "window": 50.0}, id="dearer at k, cheaper at an earlier step"
        ),
    ],
)
def test_the_mend_keeps_invariant_4_where_the_printed_algorithm_breaks_it(
    join: MultiwayJoin, changed: int, values: dict[str, float]
) -> None:
    plan = nos_greedy(join)
    new = join.changed(changed, replace(join.streams[changed], **values))
    printed = printed_update(join, new, plan[0], changed)
    assert breaches(new, (printed,))

    agents = agents_of(join, plan)
    deliver(agents, agents[changed].observe(new.streams[changed]))
    assert breaches(new, (agents[0].sep,)) == []
    assert agents[0].sep == greedy_sep(new, 0)


def test_the_costs_of_the_counterexamples_move_as_their_names_say() -> None:
    for join, values in ((F_CHANGES, {"selectivity": 0.001}), (T_CHANGES, {"size": 300.0})):
        step = agents_of(join, nos_greedy(join))[1].steps[0]
        assert step_cost(step.before, replace(join.streams[1], **values), join.costs).cost == step.cost
    step = agents_of(BOTH_WAYS, nos_greedy(BOTH_WAYS))[1].steps[0]
    dearer = step_cost(step.before, replace(BOTH_WAYS.streams[1], rate=400.0, window=50.0), DEAR_CPU)
    assert dearer.cost > step.cost


def test_the_printed_algorithm_does_follow_the_changes_that_it_is_written_for() -> None:
    """So that the comparison is with the algorithm and not with a caricature of it."""
    join = join_of(PAPER, *[(100.0, 0.01, 150.0, 50.0)] * 4)
    plan = nos_greedy(join)
    for rate in (200.0, 60.0, 300.0, 20.0):
        new = join.changed(2, replace(join.streams[2], rate=rate, window=rate / 2))
        for sep in plan[:2]:
            assert breaches(new, (printed_update(join, new, sep, 2),)) == []
        join, plan = new, nos_greedy(new)
