"""The plan space of a query: every stream it can derive, and every way to derive each.

A way is a short chain of operators on one node: a join with the filters that become applicable and
the projection of what nothing above needs, or a single other operator. Streams of equal signature
in different queries are the same stream (model.md section 5), so that plans can share them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from weir_placement.cost.flows import source_flow
from weir_placement.cost.load import Load
from weir_placement.cost.rules import RULES, Flow, apply
from weir_placement.model.expressions import conjuncts
from weir_placement.model.operators import Item, Operator
from weir_placement.model.problem import Problem, Query
from weir_placement.network.block_costs import BlockCosts, Formula
from weir_placement.network.dynamic_program import Floats, Ints, Step, Ways
from weir_placement.network.join_block import JoinBlock, block_of
from weir_placement.network.signatures import BlockSigner, operator_signature

MAX_BLOCK = 10
"""Inputs of a block beyond which the written join order is kept: 3^K ways."""


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
    scaling: Scaling | None  # None: rates do not multiply through

    def private(self) -> PlanSpace:
        """The same with streams that no other query shares, but for the sources."""
        own = (s if t in self.aliases else f"{self.query.name}:{s}" for t, s in enumerate(self.signatures))
        return replace(self, signatures=tuple(own))

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


@dataclass
class _Builder:
    """Collects streams and ways; `flows` are by stream, one for each point of the profile."""

    problem: Problem
    query: Query
    signatures: list[str] = field(default_factory=list)
    flows: list[tuple[Flow, ...]] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    inputs: list[tuple[int, ...]] = field(default_factory=list)
    formulas: list[Formula] = field(default_factory=list)
    given: dict[int, tuple[float, float]] = field(default_factory=dict)  # way -> loads that no formula gives
    recipes: list[tuple[Operator, ...] | _Recipe] = field(default_factory=list)
    aliases: dict[int, str] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)  # alias or operator id -> stream

    @cached_property
    def types(self) -> dict[str, str]:
        """Type by qualified source column."""
        streams = self.problem.streams
        return {f"{a}.{c.name}": c.type for a, s in self.query.sources.items() for c in streams[s].columns}

    def stream(self, signature: str, flows: tuple[Flow, ...]) -> int:
        """Adds a stream, whose ways follow."""
        self.signatures.append(signature)
        self.flows.append(flows)
        self.start.append(len(self.inputs))
        return len(self.flows) - 1

    def way(self, inputs: tuple[int, ...], recipe: tuple[Operator, ...] | _Recipe, formula: Formula) -> None:
        """Adds a way to the newest stream."""
        self.inputs.append(inputs)
        self.formulas.append(formula)
        self.recipes.append(recipe)

    def single(self, inputs: tuple[int, ...], op: Operator) -> int:
        """Adds the stream that `op` derives in no other way."""
        flows = tuple(apply(op, f) for f in zip(*(self.flows[i] for i in inputs), strict=True))
        aliases = tuple(self.query.sources)
        added = self.stream(operator_signature(op, [self.signatures[i] for i in inputs], aliases), flows)
        if op.kind in ("filter", "project"):
            self.way(inputs, (op,), Formula(op.cost, 0.0, 0.0, 0.0, 0.0, op.memory))
            return added
        points = list(zip(*(self.flows[i] for i in inputs), strict=True))
        rule = RULES[op.kind]
        cpu = max(rule.cpu(op, f, out.rate)(1.0) for f, out in zip(points, flows, strict=True))
        self.given[len(self.inputs)] = cpu, max(rule.memory(op, f)(1.0) for f in points)
        self.way(inputs, (op,), Formula(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        return added

    def finish(self) -> PlanSpace:
        """The arrays."""
        rates = np.array([[f.rate(1.0) for f in flows] for flows in self.flows]).T
        widths = np.array([flows[0].width for flows in self.flows])
        input_start = np.array([0, *accumulate(map(len, self.inputs))], np.int64)
        inputs = np.array([i for ins in self.inputs for i in ins], np.int64)
        formulas = np.array(self.formulas, float).reshape(-1, len(Formula._fields))
        cpu, memory = _loads(formulas, input_start, inputs, rates)
        for way, (used, held) in self.given.items():
            cpu[way], memory[way] = used, held
        start = np.array([*self.start, len(self.inputs)], np.int64)
        return PlanSpace(
            self.query,
            Ways(rates.mean(axis=0) * widths, start, input_start, inputs, cpu, memory),
            tuple(self.signatures),
            self.aliases,
            Recipes(self.recipes),
            any(op.nodes for op in self.query.operators),
            None if self.given else Scaling(formulas, rates, widths),
        )


@dataclass(frozen=True)
class Scaling:
    """What new source rates need: formulas, shape (W, 6); rates, shape (points, T); widths, shape (T,)."""

    formulas: Floats
    rates: Floats
    widths: Floats


def _loads(formulas: Floats, input_start: Ints, inputs: Ints, rates: Floats) -> tuple[Floats, Floats]:
    """CPU and memory of each way, shape (W,), the largest over the points."""
    first = rates[:, inputs[input_start[:-1]]]
    second = rates[:, inputs[input_start[1:] - 1]]
    left, right, pairs, stored_left, stored_right, fixed = formulas.T
    cpu = left * first + right * second + pairs * first * second
    memory = stored_left * first + stored_right * second + fixed
    return cpu.max(axis=0), memory.max(axis=0)


def rescaled(space: PlanSpace, factors: Mapping[str, float]) -> PlanSpace | None:
    """The space after the rates of source aliases changed by factors, at every point of the profile:
    each derived rate changes by the product over its sources. None where operators (aggregates) do
    not scale so: build it anew.
    """
    if space.scaling is None:
        return None
    ways, old = space.ways, space.scaling
    factor = np.ones(ways.streams)
    for t in range(ways.streams):
        if t in space.aliases:
            factor[t] = factors.get(space.aliases[t], 1.0)
        else:
            factor[t] = factor[ways.inputs_of(int(ways.start[t]))].prod()
    scaling = replace(old, rates=old.rates * factor)
    cpu, memory = _loads(old.formulas, ways.input_start, ways.inputs, scaling.rates)
    bytes_per_second = scaling.rates.mean(axis=0) * old.widths
    scaled = replace(ways, bytes_per_second=bytes_per_second, cpu=cpu, memory=memory)
    return replace(space, ways=scaled, scaling=scaling)


def plan_space(problem: Problem, query: Query) -> PlanSpace:
    """Builds the plan space of a query of the problem.

    Operators that several others read, aggregates, unions and computed projections stay as written;
    joins, filters and plain projections between them change places.
    """
    build = _Builder(problem, query)
    for alias, name in query.sources.items():
        stream = problem.streams[name]
        rates = [point.get(name, stream.rate) for point in problem.profile or ({},)]
        flows = tuple(source_flow(alias, stream, Load.of(rate)) for rate in rates)
        build.known[alias] = build.stream(name, flows)
        build.aliases[build.known[alias]] = alias
    readers: dict[str, int] = {}
    for op in query.operators:
        for name in op.inputs:
            readers[name] = readers.get(name, 0) + 1
    once = frozenset(name for name, count in readers.items() if count == 1)
    _derive(build, query.operators[-1].id, once)
    return build.finish()


def _derive(build: _Builder, name: str, once: frozenset[str]) -> int:
    """The stream of an alias or operator id, adding it and all it needs when it is new."""
    if name in build.known:
        return build.known[name]
    op = next(o for o in build.query.operators if o.id == name)
    block = None if build.query.fixed_order else block_of(build.query, name, once, build.types)
    if block is not None and len(block.inputs) <= MAX_BLOCK:
        build.known[name] = _block(build, block, name, once)
    else:
        inputs = tuple(_derive(build, i, once) for i in op.inputs)
        build.known[name] = build.single(inputs, op)
    return build.known[name]


def _block(build: _Builder, block: JoinBlock, root: str, once: frozenset[str]) -> int:
    """Adds the streams of a join block: its inputs with what is pushed into them, then the sets."""
    streams: dict[int, int] = {}
    output = _output_columns(build, root, once) if block.projections else None
    for i, name in enumerate(block.inputs):
        at = _derive(build, name, once)
        pushed = (op for mask, op in block.filters if mask == 1 << i)
        for op in sorted(pushed, key=lambda op: op.predicate):  # one order, so that equal streams are seen
            at = build.single((at,), op)
        pruned = _pruning(build, block, 1 << i, build.flows[at][0].columns, output)
        streams[1 << i] = build.single((at,), pruned) if pruned else at
    signer = BlockSigner(block, [build.signatures[streams[1 << i]] for i in range(len(block.inputs))])
    costs = BlockCosts(block)
    for mask, splits in block.splits.items():
        streams[mask] = len(build.flows)
        pruned = None
        for n, split in enumerate(splits):
            a, b = _written_order(block, *split)
            left, right = build.flows[streams[a]], build.flows[streams[b]]
            if n == 0:
                columns = {**left[0].columns, **right[0].columns}
                pruned = _pruning(build, block, mask, columns, output)
                kept = None if pruned is None else [item.name for item in pruned.items]
                build.stream(signer.sign(mask, kept), costs.flows(mask, a, b, left, right, pruned))
            formula = costs.loads(mask, a, b, left, right, pruned)
            build.way((streams[a], streams[b]), _Recipe(block, a, b, pruned), formula)
    return streams[block.full]


def _output_columns(build: _Builder, root: str, once: frozenset[str]) -> frozenset[str] | None:
    """The columns that leave the block, or None when it has no projection: then all of them."""
    operators = {op.id: op for op in build.query.operators}

    def columns(name: str, top: bool) -> frozenset[str]:
        op = operators.get(name)
        if op is None or (not top and name not in once) or op.kind not in ("join", "filter", "project"):
            return frozenset(build.flows[_derive(build, name, once)][0].columns)
        if op.kind == "project":
            return frozenset(item.name for item in op.items)
        return frozenset(c for i in op.inputs for c in columns(i, False))

    return columns(root, True)


def _pruning(
    build: _Builder, block: JoinBlock, mask: int, columns: Mapping[str, float], output: frozenset[str] | None
) -> Operator | None:
    """The projection of a set of inputs to what is needed above it, if it drops anything."""
    if not block.projections or output is None:
        return None
    needed = set(output)
    for edge in block.edges:
        if edge.mask & ~mask:
            needed.update(edge.columns)
    for reads, op in block.filters:
        if reads & ~mask:
            needed.update(op.columns)
    if mask != block.full:
        for alias, name in build.query.sources.items():
            needed.add(f"{alias}.{build.problem.streams[name].event_time}")
    kept = tuple(sorted(c for c in columns if c in needed))
    if len(kept) == len(columns):
        return None
    written = block.projections[0]
    name = written.id if mask == block.full else f"{written.id}-{'-'.join(_names(block, mask))}"
    return replace(
        written,
        id=name,
        columns=kept,
        items=tuple(Item(c, c) for c in kept),
        origin=() if mask == block.full else (written.id,),
    )


def _names(block: JoinBlock, mask: int) -> list[str]:
    return [name for i, name in enumerate(block.inputs) if mask >> i & 1]


def _written_order(block: JoinBlock, a: int, b: int) -> tuple[int, int]:
    return (b, a) if any((b, a) == (left, right) for left, right, _ in block.joins) else (a, b)


@dataclass(frozen=True)
class _Recipe:
    """The operators of a way of a block, made when they are asked for: most ways are never chosen."""

    block: JoinBlock
    a: int
    b: int
    pruned: Operator | None

    def make(self) -> tuple[Operator, ...]:
        """The join of A and B, the filters that can be checked from here on, the projection."""
        filters = self.block.residual(self.a, self.b)
        return (_join(self.block, self.a, self.b), *filters, *((self.pruned,) if self.pruned else ()))


class Recipes(Sequence[tuple[Operator, ...]]):
    """Way -> its chain of operators, the first of which reads the way's inputs."""

    def __init__(self, made: Sequence[tuple[Operator, ...] | _Recipe]) -> None:
        self._made = list(made)

    def __len__(self) -> int:
        return len(self._made)

    def __getitem__(self, way: Any) -> Any:
        recipe = self._made[way]
        if isinstance(recipe, _Recipe):
            recipe = self._made[way] = recipe.make()
        return recipe


def _join(block: JoinBlock, a: int, b: int) -> Operator:
    """The join of A and B, its selectivity such that the set has its rate in every order."""
    for left, right, written in block.joins:
        if (left, right) == (a, b) and _same_predicates(block, a, b, written):
            like = block.like(a, b)
            return replace(
                written,
                selectivity=_selectivity(block, a, b, written),
                delay=block.delay,
                cost=like.cost,
                cost_pair=like.cost_pair,
                cost_out=like.cost_out,
                memory=like.memory,
                row_overhead=like.row_overhead,
            )
    met = [e.join for e in block.edges if e.mask & a and e.mask & b and not e.mask & ~(a | b)]
    like = block.like(a, b)
    windows = block.join_windows(a, b)
    text, columns = block.join_text(a, b)
    return replace(
        like,
        id="-".join(["join", *_names(block, a), "with", *_names(block, b)]),
        on=text,
        columns=columns,
        windows=windows,
        selectivity=_selectivity(block, a, b, replace(like, windows=windows)),
        delay=block.delay,
        origin=tuple(dict.fromkeys(met)) or (like.id,),
    )


def _same_predicates(block: JoinBlock, a: int, b: int, written: Operator) -> bool:
    """Whether a written join checks all that must be checked where A and B meet: also an equality that
    follows from joins written above it, which then rely on it."""
    needed = {part.text for part in conjuncts(block.join_text(a, b)[0])}
    checked = {part.text for part in conjuncts(written.on)}
    return set(block.join_windows(a, b)) == set(written.windows) and needed <= checked


def _selectivity(block: JoinBlock, a: int, b: int, op: Operator) -> float:
    """Of a pair of rows of A and B within the join's narrowest window."""
    apart = block.factor[a] * block.factor[b] * 2.0 * op.half_width
    return block.factor[a | b] / apart if apart > 0 else 0.0
