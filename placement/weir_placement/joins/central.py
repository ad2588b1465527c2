"""The centralised update of node operator sets (NOS, Algorithm 2, sections 4.2.1 and 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

from weir_placement.joins.greedy import nos_greedy
from weir_placement.joins.migration import kept_windows
from weir_placement.joins.operators import ChainOperator, operator_sets
from weir_placement.joins.plan import JoinExecutionPlan
from weir_placement.joins.streams import MultiwayJoin


@dataclass(frozen=True)
class CentralUpdate:
    """A new plan and what it takes to get there; the central node is one of the m nodes.

    Attributes:
        plan: by Algorithm 1.
        operators: NOS_k of every node.
        affected: the nodes whose set differs from the old one.
        windows: (stream, from, to) of each window that a node keeps now and has not kept before.
        modification: messages: the report of the change, and a new set to each affected node.
        requests: messages that ask for a window, one for each in `windows`, as the paper counts them.
    """

    plan: JoinExecutionPlan
    operators: tuple[frozenset[ChainOperator], ...]
    affected: tuple[int, ...]
    windows: tuple[tuple[int, int, int], ...]
    modification: int
    requests: int

    def messages(self, *, all_to_all: bool) -> int:
        """Modification and migration, as table 3 counts them."""
        synchronisation = synchronisation_messages(len(self.affected), all_to_all=all_to_all)
        return self.modification + self.requests + synchronisation


def central_update(
    join: MultiwayJoin, old: JoinExecutionPlan, trigger: int, centre: int = 0
) -> CentralUpdate:
    """Algorithm 2 after a change of one stream's statistics: O(m) messages to update.

    Args:
        join: with the new statistics.
        old: the plan in force.
        trigger: the node that reports the change.
        centre: N_q, the node that plans.
    """
    plan = nos_greedy(join)
    before, after = operator_sets(old), operator_sets(plan)
    affected = tuple(node for node in range(join.width) if before[node] != after[node])
    windows = tuple(
        (stream, next(n for n in range(join.width) if stream in kept_windows(before[n])), node)
        for node in affected
        for stream in sorted(kept_windows(after[node]) - kept_windows(before[node]))
    )
    modification = (trigger != centre) + sum(node != centre for node in affected)
    return CentralUpdate(plan, after, affected, windows, modification, len(windows))


def synchronisation_messages(affected: int, *, all_to_all: bool) -> int:
    """Two phases between n nodes: 2 n (n - 1) when each tells each other, 2 (n - 1) through one of them."""
    others = max(affected - 1, 0)
    return 2 * affected * others if all_to_all else 2 * others
