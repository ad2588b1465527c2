"""The shape of a plan: what tells two plans of one query apart."""

from __future__ import annotations

from weir_placement.model.expressions import conjuncts
from weir_placement.model.operator_form import semantics
from weir_placement.model.operators import Join, Operator
from weir_placement.model.problem import Query

_ELSEWHERE = ("id", "kind", "inputs", "columns")
"""What the structure says, or the expressions that read the columns."""


def shape(query: Query) -> str:
    """The structure of a plan: operators by what they do, a join's sides in either order.

    Plans of equal shape do the same work at the same places of the tree, whatever ids they have.
    """
    text_of: dict[str, str] = {}
    for operator in query.operators:
        inputs = [text_of.get(name, name) for name in operator.inputs]
        if isinstance(operator, Join):
            inputs.sort()
        text_of[operator.id] = f"{_does(operator)}({','.join(inputs)})"
    return text_of[query.operators[-1].id]


def _does(operator: Operator) -> str:
    if isinstance(operator, Join):
        windows = sorted(f"{w.left},{w.right},{w.lower},{w.upper}" for w in operator.windows)
        return f"join[{';'.join(sorted(c.text for c in conjuncts(operator.on)))};{';'.join(windows)}]"
    fields = semantics(operator)
    return f"{operator.kind}{[value for name, value in fields.items() if name not in _ELSEWHERE]}"
