"""What ran on a lost node goes to others; the paper leaves it to later work (section 4.1)."""

from __future__ import annotations

from collections.abc import Collection

from weir_placement.adaptation.connections import connections
from weir_placement.adaptation.cost_models import CostModel, RunningState
from weir_placement.adaptation.distribution_table import Differences
from weir_placement.adaptation.patterns import Eligibility


class NoProcessorError(ValueError):
    """No node is left that an operator may run on."""


def evacuated(
    state: RunningState, model: CostModel, lost: Collection[str], eligible: Eligibility | None = None
) -> Differences:
    """The moves off lost nodes, the most costly operators first.

    Each goes to the node that is cheapest with it; of equals to where the fewest connections are. Neither the
    interval nor the percent difference applies: what is on a lost node does not run. Statistics are those
    from before the loss.

    Raises:
        NoProcessorError: an operator has no node left; it is named.

    Complexity: O(operators x nodes) tables.
    """
    costs, moves = model.table(state), dict[tuple[str, str], str]()
    stranded = [ref for ref, node in state.table.nodes.items() if node in lost]
    alive = [node for node in state.capacities if node not in lost]
    for ref in sorted(stranded, key=lambda r: (-costs.operators.get(r, 0.0), r)):
        usable = [node for node in alive if node in (eligible or {}).get(ref, (node,))]
        if not usable:
            raise NoProcessorError(
                f"operator {'/'.join(ref)} ran on {state.table[ref]}, which is lost, and may run on no other "
                f"node; {', '.join(alive) or 'none'} of the nodes are alive"
            )
        ranked = []
        for node in usable:
            table = state.table.with_moves({**moves, ref: node})
            cost = model.table(state.distributed(table)).nodes[node]
            ranked.append((cost, len(connections(table, state.graph)), node))
        moves[ref] = min(ranked)[2]
    return moves
