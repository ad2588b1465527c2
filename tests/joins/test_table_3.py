"""The messages of NOS, table 3: 4 and 8 streams, one of them from 50 to 200 tuples/s and back."""

import pytest
from weir_placement.joins.agent import agents_of
from weir_placement.joins.central import central_update, synchronisation_messages
from weir_placement.joins.delivery import deliver
from weir_placement.joins.greedy import nos_greedy
from weir_placement.joins.streams import MultiwayJoin, windowed

from tests.joins.random_joins import PAPER

PAPER_CENTRAL = {(4, "rise"): 38, (4, "fall"): 31, (8, "rise"): 139, (8, "fall"): 123}
PAPER_DISTRIBUTED = {(4, "rise"): 126, (4, "fall"): 114, (8, "rise"): 742, (8, "fall"): 366}
CHANGING = 1


def low(width: int) -> MultiwayJoin:
    rates = [50 if stream == CHANGING else 100 for stream in range(width)]
    return MultiwayJoin(
        tuple(windowed(f"S{k + 1}", rate, 0.01, 150, 0.5) for k, rate in enumerate(rates)), PAPER
    )


@pytest.mark.parametrize("width", [4, 8])
def test_the_distributed_update_takes_at_most_half_of_the_papers_messages(width: int) -> None:
    join = low(width)
    agents = agents_of(join, nos_greedy(join))
    for direction, rate in (("rise", 200), ("fall", 50)):
        stream = windowed(f"S{CHANGING + 1}", rate, 0.01, 150, 0.5)
        traffic = deliver(agents, agents[CHANGING].observe(stream))
        assert 0 < traffic.total <= PAPER_DISTRIBUTED[width, direction] / 2
        assert traffic.envelopes <= traffic.total


@pytest.mark.parametrize(("width", "more"), [(4, 3), (8, 6)])
def test_the_central_update_takes_the_papers_messages(width: int, more: int) -> None:
    """Exactly when the rate rises. When it falls, 3 and 6 windows more are asked for than in the paper."""
    join = low(width)
    plan = nos_greedy(join)
    for direction, rate in (("rise", 200), ("fall", 50)):
        join = join.changed(CHANGING, windowed(f"S{CHANGING + 1}", rate, 0.01, 150, 0.5))
        update = central_update(join, plan, CHANGING)
        assert update.modification == width
        surplus = more if direction == "fall" else 0
        assert update.messages(all_to_all=True) == PAPER_CENTRAL[width, direction] + surplus
        plan = update.plan


def test_the_central_update_takes_o_of_n_messages() -> None:
    for width in range(2, 11):
        join = low(width)
        update = central_update(
            join.changed(CHANGING, windowed("S2", 200, 0.01, 150, 0.5)), nos_greedy(join), CHANGING
        )
        assert update.modification <= width


def test_a_change_that_changes_no_set_affects_nobody() -> None:
    join = low(4)
    update = central_update(join, nos_greedy(join), CHANGING)
    assert (update.affected, update.windows) == ((), ())
    assert update.messages(all_to_all=True) == update.modification == 1


def test_two_phases_through_a_coordinator_are_linear() -> None:
    assert [synchronisation_messages(n, all_to_all=True) for n in (0, 1, 4, 8)] == [0, 0, 24, 112]
    assert [synchronisation_messages(n, all_to_all=False) for n in (0, 1, 4, 8)] == [0, 0, 6, 14]
