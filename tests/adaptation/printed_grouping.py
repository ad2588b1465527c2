"""D-CAPE's algorithm 3 as it is printed, to show what the mend is for; it gives up after `MOST` turns."""

from weir_placement.adaptation.dataflow_graph import DataflowGraph, OperatorRef

MOST = 1000


class EndlessLoopError(Exception):
    """The loop over parents (lines 18 to 33) has gone on for `MOST` turns."""


def printed_grouping(graph: DataflowGraph, nodes: list[str]) -> dict[OperatorRef, str]:
    average = len(graph.operators) / len(nodes)
    machines = iter(nodes)
    count, table, machine = 0, dict[OperatorRef, str](), next(machines)
    for query in graph.queries:
        if count < average:
            o = next(ref for ref in graph.tree_order(query) if not graph.children[ref])
            table[o] = machine
            count += 1
            parents, turns = list(graph.parents[o]), 0
            while parents:
                turns += 1
                if turns > MOST:
                    raise EndlessLoopError
                if count < average:
                    p = parents.pop(0)
                    table[p] = machine
                    count += 1
                    below = [d for d in graph.descendants(p) if d not in table]
                    if len(below) + count < average:
                        table.update(dict.fromkeys(below, machine))
                        count += len(below)
        else:
            count, machine = 0, next(machines)
    return table
