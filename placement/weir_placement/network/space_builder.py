"""Builds the streams and ways of a query, by plain formulas over the rates of its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.cost.flows import source_flow
from weir_placement.cost.load import Load
from weir_placement.cost.rules import RULES, Flow, apply
from weir_placement.model.expressions import source_types
from weir_placement.model.operators import Item, Operator, Project
from weir_placement.model.problem import Query
from weir_placement.model.space import MAX_BLOCK
from weir_placement.model.streams import Stream
from weir_placement.network.block_costs import NOTHING, BlockCosts, Formula, formula_of
from weir_placement.network.join_block import JoinBlock
from weir_placement.network.read_block import block_of, in_block
from weir_placement.network.recipes import BlockRecipe, Chain, Recipes, names_in
from weir_placement.network.signatures import BlockSigner, Signer, operator_signer, renamed, source_signer
from weir_placement.rewrite.estimates import source_distinct


@dataclass(frozen=True)
class Draft:
    """The structure of a plan space of T streams, the first K of them sources, and W ways, with formulas
    for rates and loads over the rates of the sources.

    Attributes:
        start, input_start, inputs: as in `Ways`.
        formulas: shape (W, 6). fixed_loads: way -> (CPU, memory) that no formula gives.
        widths: shape (T,) [bytes].
        rates: shape (points, T) [tuples/s], at the rates that it was built with.
        written_order: some joins stay in the order written, because they are more than `MAX_BLOCK` joins.
        under: shape (T, K), how often a source is under a stream: its rate is a product over them.
            None where rates do not multiply through (aggregates, unions): build it anew then.
    """

    start: Ints
    input_start: Ints
    inputs: Ints
    formulas: Floats
    fixed_loads: Mapping[int, tuple[float, float]]
    widths: Floats
    rates: Floats
    under: Ints | None
    signers: tuple[Signer, ...]
    recipes: Recipes
    written_order: bool

    def scaled(self, sources: Floats) -> Floats:
        """Rates of all streams, shape (..., points, T), from those of sources of which each has one
        point of 1 tuple/s here, shape (..., points, K)."""
        assert self.under is not None
        return np.asarray(self.rates * np.power(sources[..., None, :], self.under).prod(axis=-1))

    def numbers(self, rates: Floats) -> tuple[Floats, Floats, Floats]:
        """Bytes/s of each stream, CPU and memory of each way, from rates of shape (..., points, T): the
        mean and the largest over the points."""
        first = rates[..., self.inputs[self.input_start[:-1]]]
        second = rates[..., self.inputs[self.input_start[1:] - 1]]
        left, right, pairs, stored_left, stored_right, fixed = self.formulas.T
        cpu = (left * first + right * second + pairs * first * second).max(axis=-2)
        memory = (stored_left * first + stored_right * second + fixed).max(axis=-2)
        for way, (cpu_load, memory_load) in self.fixed_loads.items():
            cpu[..., way], memory[..., way] = cpu_load, memory_load
        return rates.mean(axis=-2) * self.widths, cpu, memory


@dataclass
class _SpaceBuilder:
    """Collects streams and ways; `flows` are by stream, one for each point of the profile."""

    query: Query
    streams: Mapping[str, Stream]
    signers: list[Signer] = field(default_factory=list)
    flows: list[tuple[Flow, ...]] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    inputs: list[tuple[int, ...]] = field(default_factory=list)
    formulas: list[Formula] = field(default_factory=list)
    fixed_loads: dict[int, tuple[float, float]] = field(
        default_factory=dict
    )  # way -> loads that no formula gives
    recipes: list[Chain | BlockRecipe] = field(default_factory=list)
    written_order: bool = False
    stream_of: dict[str, int] = field(default_factory=dict)  # alias or operator id -> stream

    @cached_property
    def types(self) -> dict[str, str]:
        """Type by qualified source column."""
        return source_types({a: self.streams[s] for a, s in self.query.sources.items()})

    @cached_property
    def distinct(self) -> dict[str, float]:
        """Declared distinct values by qualified source column."""
        return source_distinct({a: self.streams[s] for a, s in self.query.sources.items()})

    @cached_property
    def aliases(self) -> tuple[str, ...]:
        """By position."""
        return tuple(self.query.sources)

    def stream(self, signer: Signer | None, flows: tuple[Flow, ...]) -> int:
        """Adds a stream, whose ways follow; no signer when one before it signs this stream too."""
        if signer is not None:
            self.signers.append(signer)
        self.flows.append(flows)
        self.start.append(len(self.inputs))
        return len(self.flows) - 1

    def way(self, inputs: tuple[int, ...], recipe: Chain | BlockRecipe, formula: Formula) -> None:
        """Adds a way to the newest stream."""
        self.inputs.append(inputs)
        self.formulas.append(formula)
        self.recipes.append(recipe)

    def single(self, inputs: tuple[int, ...], op: Operator) -> int:
        """Adds the stream that `op` derives in no other way."""
        flows = tuple(apply(op, f) for f in zip(*(self.flows[i] for i in inputs), strict=True))
        added = self.stream(operator_signer(op, inputs, self.aliases), flows)
        points = list(zip(*(self.flows[i] for i in inputs), strict=True))
        formula = NOTHING
        if own := formula_of(op.kind):
            formula = own(op, points[0])
        else:
            rule = RULES[op.kind]
            cpu = max(rule.cpu(op, f, out.rate)(1.0) for f, out in zip(points, flows, strict=True))
            self.fixed_loads[len(self.inputs)] = cpu, max(rule.memory(op, f)(1.0) for f in points)
        self.way(inputs, (op,), formula)
        return added

    def finish(self) -> Draft:
        """The arrays."""
        rates = np.array([[f.rate(1.0) for f in flows] for flows in self.flows]).T
        widths = np.array([flows[0].width for flows in self.flows])
        return Draft(
            np.array([*self.start, len(self.inputs)], np.int64),
            np.array([0, *accumulate(map(len, self.inputs))], np.int64),
            np.array([i for ins in self.inputs for i in ins], np.int64),
            np.array(self.formulas, float).reshape(-1, len(Formula._fields)),
            self.fixed_loads,
            widths,
            rates,
            None if self.fixed_loads else self._under(),
            tuple(self.signers),
            Recipes(self.recipes),
            self.written_order,
        )

    def _under(self) -> Ints:
        """How often each source is under each stream, shape (T, K)."""
        under = np.zeros((len(self.flows), len(self.aliases)), np.int64)
        for t in range(len(self.flows)):
            if t < len(self.aliases):
                under[t, t] = 1
            else:
                under[t] = under[list(self.inputs[self.start[t]])].sum(axis=0)
        return under


def build(query: Query, streams: Mapping[str, Stream], rates: Sequence[Sequence[float]]) -> Draft:
    """Builds the plan space of a query; `rates` [tuples/s] by alias, one for each point of the profile.

    Operators that several others read, aggregates, unions and computed projections stay as written;
    joins, filters and plain projections between them change places. The first K streams are the sources.
    """
    builder = _SpaceBuilder(query, streams)
    for position, ((alias, name), points) in enumerate(zip(query.sources.items(), rates, strict=True)):
        flows = tuple(source_flow(alias, streams[name], Load.of(rate)) for rate in points)
        builder.stream_of[alias] = builder.stream(source_signer(position), flows)
    readers: dict[str, int] = {}
    for op in query.operators:
        for name in op.inputs:
            readers[name] = readers.get(name, 0) + 1
    once = frozenset(name for name, count in readers.items() if count == 1)
    _derive(builder, query.operators[-1].id, once)
    return builder.finish()


def _derive(build: _SpaceBuilder, name: str, once: frozenset[str]) -> int:
    """The stream of an alias or operator id, adding it and all it needs when it is new."""
    if name in build.stream_of:
        return build.stream_of[name]
    op = next(o for o in build.query.operators if o.id == name)
    block = (
        None if build.query.fixed_order else block_of(build.query, name, once, build.types, build.distinct)
    )
    if block is not None and len(block.inputs) <= MAX_BLOCK:
        build.stream_of[name] = _block(build, block, name, once)
    else:
        build.written_order |= block is not None
        inputs = tuple(_derive(build, i, once) for i in op.inputs)
        build.stream_of[name] = build.single(inputs, op)
    return build.stream_of[name]


def _block(build: _SpaceBuilder, block: JoinBlock, root: str, once: frozenset[str]) -> int:
    """Adds the streams of a join block: its inputs with what is pushed into them, then the sets."""
    streams: dict[int, int] = {}
    output = _output_columns(build, root, once) if block.projections else None
    bare = dict.fromkeys(build.aliases, "")
    for i, name in enumerate(block.inputs):
        at = _derive(build, name, once)
        pushed = (op for mask, op in block.filters if mask == 1 << i)
        # one order whatever the aliases, so that equal streams are seen
        for op in sorted(pushed, key=lambda op: renamed(op.predicate, bare)):
            at = build.single((at,), op)
        pruned = _pruning(build, block, 1 << i, build.flows[at][0].columns, output)
        streams[1 << i] = build.single((at,), pruned) if pruned else at
    leaves = [streams[1 << i] for i in range(len(block.inputs))]
    signer = BlockSigner(block, leaves, build.aliases)
    first: Signer | None = signer
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
                signer.add(mask, None if pruned is None else [item.name for item in pruned.items])
                build.stream(first, costs.flows(mask, a, b, left, right, pruned))
                first = None
            formula = costs.loads(mask, a, b, left, right, pruned)
            build.way((streams[a], streams[b]), BlockRecipe(block, a, b, pruned), formula)
    return streams[block.full]


def _output_columns(build: _SpaceBuilder, root: str, once: frozenset[str]) -> frozenset[str] | None:
    """The columns that leave the block, or None when it has no projection: then all of them."""
    operators = {op.id: op for op in build.query.operators}

    def columns(name: str, top: bool) -> frozenset[str]:
        op = operators.get(name)
        if op is None or (not top and name not in once) or not in_block(op):
            return frozenset(build.flows[_derive(build, name, once)][0].columns)
        if op.new_columns:
            return frozenset(op.new_columns)
        return frozenset(c for i in op.inputs for c in columns(i, False))

    return columns(root, True)


def _pruning(
    build: _SpaceBuilder,
    block: JoinBlock,
    mask: int,
    columns: Mapping[str, float],
    output: frozenset[str] | None,
) -> Project | None:
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
            needed.add(f"{alias}.{build.streams[name].event_time}")
    names = tuple(sorted(c for c in columns if c in needed))
    if len(names) == len(columns):
        return None
    written = block.projections[0]
    name = written.id if mask == block.full else f"{written.id}-{'-'.join(names_in(block, mask))}"
    return replace(
        written,
        id=name,
        columns=names,
        items=tuple(Item(c, c) for c in names),
        origin=() if mask == block.full else (written.id,),
    )


def _written_order(block: JoinBlock, a: int, b: int) -> tuple[int, int]:
    return (b, a) if any((b, a) == (left, right) for left, right, _ in block.joins) else (a, b)
