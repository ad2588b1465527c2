"""The shape of a plan: what tells two plans of one query apart."""

from __future__ import annotations

from weir_placement.model.expressions import conjuncts
from weir_placement.model.operators import Operator
from weir_placement.model.problem import Query


def shape(query: Query) -> str:
    """The structure of a plan: operators by what they do, a join's sides in either order.

    Plans of equal shape do the same work at the same places of the tree, whatever ids they have.
    """
    done: dict[str, str] = {}
    for operator in query.operators:
        inputs = [done.get(name, name) for name in operator.inputs]
        if operator.kind == "join":
            inputs.sort()
        done[operator.id] = f"{_does(operator)}({','.join(inputs)})"
    return done[query.operators[-1].id]


def _does(operator: Operator) -> str:
    if operator.kind == "filter":
        return f"filter[{operator.predicate}]"
    if operator.kind == "project":
        return f"project[{','.join(f'{i.name}={i.expression}' for i in operator.items)}]"
    if operator.kind == "join":
        windows = sorted(f"{w.left},{w.right},{w.lower},{w.upper}" for w in operator.windows)
        return f"join[{';'.join(sorted(c.text for c in conjuncts(operator.on)))};{';'.join(windows)}]"
    if operator.kind == "aggregate":
        keys = [f"{i.name}={i.expression}" for i in operator.items]
        made = [f"{a.name}={a.function}({a.expression or '*'})" for a in operator.aggregations]
        return f"aggregate[{operator.time},{operator.window},{operator.slide},{','.join(keys + made)}]"
    return operator.kind
