"""Node operator sets, carried out on rows: every node runs what its own set says, and the join is complete.

The executor is that of section 4.1: when tuples come, a node runs all operators whose first argument they
are.
"""

from collections import Counter
from itertools import product
from random import Random

import pytest
from weir_placement.joins.operators import (
    QUERY_NODE,
    Role,
    Ship,
    TupleFlow,
    Update,
    WindowJoin,
    node_operators,
    operator_sets,
    role_operators,
    roles_of,
)
from weir_placement.joins.plan import Sep

Row = tuple[int, int, int]
"""Stream, time, join value."""
WINDOW = 12


def random_plan(random: Random, width: int) -> tuple[Sep, ...]:
    plan = []
    for head in range(width):
        others = [stream for stream in range(width) if stream != head]
        random.shuffle(others)
        plan.append(Sep(head, tuple(others), tuple(random.choice((0, 1)) for _ in others)))
    return tuple(plan)


class AllNodes:
    """All nodes at once, without delays: a tuple is everywhere before the next one comes."""

    def __init__(self, plan: tuple[Sep, ...]) -> None:
        self.sets = operator_sets(plan)
        self.windows: dict[tuple[int, int], list[Row]] = {}
        self.results: Counter[tuple[Row, ...]] = Counter()

    def arrive(self, row: Row) -> None:
        self._run(row[0], TupleFlow(row[0]), (row,))
        ships = [op for op in self.sets[row[0]] if isinstance(op, Ship) and op.flow == TupleFlow(row[0])]
        reached = {row[0], *(ship.node for ship in ships)}
        for node in reached:
            if Update(row[0]) in self.sets[node]:
                self.windows.setdefault((node, row[0]), []).append(row)

    def _run(self, node: int, flow: TupleFlow, rows: tuple[Row, ...]) -> None:
        if node == QUERY_NODE:
            self.results[tuple(sorted(rows))] += 1
            return
        for operator in self.sets[node]:
            match operator:
                case Ship(carried, target) if carried == flow:
                    self._run(target, flow, rows)
                case WindowJoin(left, stream) if left == flow:
                    head = rows[0]
                    result = TupleFlow(stream, head[0])
                    for other in self.windows.get((node, stream), []):
                        if head[1] - other[1] <= WINDOW and head[2] == other[2]:
                            self._run(node, result, (*rows, other))


def expected(rows: list[Row], width: int) -> Counter[tuple[Row, ...]]:
    of = [[row for row in rows if row[0] == stream] for stream in range(width)]
    matches = [
        combination
        for combination in product(*of)
        if len({row[2] for row in combination}) == 1
        and max(row[1] for row in combination) - min(row[1] for row in combination) <= WINDOW
    ]
    return Counter(tuple(sorted(match)) for match in matches)


@pytest.mark.parametrize("seed", range(30))
def test_the_sets_of_any_plan_give_each_row_of_the_join_once(seed: int) -> None:
    random = Random(seed)
    width = 2 + seed % 4
    nodes = AllNodes(random_plan(random, width))
    rows = [(random.randrange(width), time, random.choice((0, 0, 1))) for time in range(50)]
    for row in rows:
        nodes.arrive(row)
    assert nodes.results == expected(rows, width)
    assert nodes.results


@pytest.mark.parametrize("seed", range(10))
def test_a_nodes_set_comes_from_its_own_parts_alone(seed: int) -> None:
    plan = random_plan(Random(seed), 6)
    for node, operators in enumerate(operator_sets(plan)):
        own = [roles_of(sep)[node] for sep in plan]
        assert node_operators(node, own) == operators


def test_a_node_without_a_flow_only_ships_its_stream() -> None:
    assert role_operators(2, Role(head=0, joined_at=1)) == {Ship(TupleFlow(2), 1)}
    assert role_operators(2, Role(head=0)) == frozenset()


def test_whoever_holds_the_last_result_ships_it() -> None:
    """All steps are at the head's node: it ships to N_0, and not the last stream's node, as 4.1 has it."""
    roles = roles_of(Sep(0, (1, 2), (0, 0)))
    assert Ship(TupleFlow(2, 0), QUERY_NODE) in role_operators(0, roles[0])
    assert role_operators(2, roles[2]) == {Ship(TupleFlow(2), 0)}
