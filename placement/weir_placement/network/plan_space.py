"""The plan space of a query: every stream it can derive, and every way to derive each.

A way is a short chain of operators on one node: a join with the filters that become applicable and
the projection of what nothing above needs, or a single other operator. Streams of equal signature
in different queries are the same stream (model.md section 5), so that plans can share them.
Queries of equal shape share all but names and rates (`shapes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weir_placement.array_types import Floats
from weir_placement.model.operators import Operator
from weir_placement.model.problem import Problem, Query
from weir_placement.network.block_costs import formula_of
from weir_placement.network.dynamic_program import Step, Ways
from weir_placement.network.recipes import Recipes
from weir_placement.network.shapes import Shape, own_names, shape_of, shared_draft
from weir_placement.network.signatures import sign
from weir_placement.network.space_builder import Draft, build


@dataclass(frozen=True)
class PlanSpace:
    """A query's streams in topological order, the last one delivered.

    `aliases` maps a stream's index to the source alias that it is; `recipes` gives for each way its
    chain of operators, the first of which reads the way's inputs.
    """

    query: Query
    ways: Ways
    signatures: tuple[str, ...]
    aliases: Mapping[int, str]
    recipes: Recipes
    restricted: bool  # some operator names the nodes where it may run
    draft: Draft

    def private(self) -> PlanSpace:
        """The same with streams that no other query shares, but for the sources."""
        own = (s if t in self.aliases else f"{self.query.name}:{s}" for t, s in enumerate(self.signatures))
        return replace(self, signatures=tuple(own))

    def operator_keys(self, root: Step) -> dict[str, tuple[str, int]]:
        """Operator of a plan tree -> (signature of the stream that its way makes, its place in the way)."""
        keys: dict[str, tuple[str, int]] = {}
        pending = [root]
        for step in pending:
            pending += step.inputs
            for n, op in enumerate(self.recipes[step.way] if step.way >= 0 else ()):
                keys[op.id] = self.signatures[step.stream], n
        return keys

    def operators(self, step: Step) -> tuple[tuple[Operator, ...], dict[str, int], dict[str, int]]:
        """A plan tree as operators in topological order, with the node of each operator and alias."""
        result: list[Operator] = []
        nodes: dict[str, int] = {}
        origins: dict[str, int] = {}

        def visit(at: Step) -> str:
            if at.way < 0:
                origins[self.aliases[at.stream]] = at.node
                return self.aliases[at.stream]
            names = tuple(visit(i) for i in at.inputs)
            for op in self.recipes[at.way]:
                if op.id not in nodes:
                    result.append(replace(op, inputs=names))
                    nodes[op.id] = at.node
                names = (op.id,)
            return names[0]

        visit(step)
        return tuple(result), nodes, origins


def plan_space(problem: Problem, query: Query) -> PlanSpace:
    """The plan space of a query of the problem."""
    return plan_spaces(problem, (query,))[query.name]


def plan_spaces(problem: Problem, queries: Iterable[Query]) -> dict[str, PlanSpace]:
    """The plan spaces of queries, by name: one draft a shape, the numbers of all its queries at once."""
    spaces: dict[str, PlanSpace] = {}
    alike: dict[Shape, list[Query]] = {}
    for query in queries:
        shape = shape_of(problem, query) if all(formula_of(op.kind) for op in query.operators) else None
        if shape is None:
            draft = build(query, problem.streams, _rates(problem, query).T.tolist())
            spaces[query.name] = _spaces(draft, [query], draft.rates[None], [draft.recipes])[0]
        else:
            alike.setdefault(shape, []).append(query)
    for shape, group in alike.items():
        draft = shared_draft(shape)
        rates = draft.scaled(np.stack([_rates(problem, query) for query in group]))
        recipes = [draft.recipes.under_names(own_names(query)) for query in group]
        spaces.update((space.query.name, space) for space in _spaces(draft, group, rates, recipes))
    return spaces


def _rates(problem: Problem, query: Query) -> Floats:
    """Shape (points, K) [tuples/s]."""
    names = query.sources.values()
    nominal = [problem.streams[name].rate for name in names]
    if not problem.profile:
        return np.array([nominal])
    return np.array(
        [[p.get(name, rate) for name, rate in zip(names, nominal, strict=True)] for p in problem.profile]
    )


def _spaces(
    draft: Draft, queries: Sequence[Query], rates: Floats, recipes: Sequence[Recipes]
) -> list[PlanSpace]:
    """Of queries that share a draft; `rates` of shape (queries, points, T)."""
    carried, cpu, memory = draft.numbers(rates)
    return [
        PlanSpace(
            query,
            Ways(carried[n], draft.start, draft.input_start, draft.inputs, cpu[n], memory[n]),
            sign(draft.signers, tuple(query.sources.values())),
            dict(enumerate(query.sources)),
            recipes[n],
            any(op.nodes for op in query.operators),
            draft,
        )
        for n, query in enumerate(queries)
    ]


def rescaled(problem: Problem, spaces: Iterable[PlanSpace]) -> list[PlanSpace]:
    """Spaces at the problem's present rates, signatures and names kept; built anew where rates do not
    multiply through."""
    result: list[PlanSpace] = []
    alike: dict[int, list[PlanSpace]] = {}
    for space in spaces:
        if space.draft.under is None:
            result.append(replace(plan_space(problem, space.query), signatures=space.signatures))
        else:
            alike.setdefault(id(space.draft), []).append(space)
    for group in alike.values():
        draft = group[0].draft
        rates = draft.scaled(np.stack([_rates(problem, space.query) for space in group]))
        for n, (carried, cpu, memory) in enumerate(zip(*draft.numbers(rates), strict=True)):
            ways = replace(group[n].ways, bytes_per_second=carried, cpu=cpu, memory=memory)
            result.append(replace(group[n], ways=ways))
    return result
