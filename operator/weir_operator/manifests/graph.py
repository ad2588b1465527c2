"""An explicit graph of operators to the model's Query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from weir_placement.model.expressions import (
    ExpressionError,
    aggregation_type,
    columns_of,
    conjuncts,
    parse_expression,
    parse_predicate,
)
from weir_placement.model.operators import Aggregation, Item, Operator, Window
from weir_placement.model.streams import Stream
from weir_placement.rewrite import estimates

from weir_operator.api.query import OperatorSpec
from weir_operator.manifests.finding import Finding, Key, suggestion


@dataclass(frozen=True)
class _Output:
    """What an operator gives: its columns with their types, and the aliases of the streams behind it."""

    columns: Mapping[str, str]
    aliases: tuple[str, ...]


@dataclass
class Graph:
    """Builds the operators of one query; `findings` has all that is wrong.

    `streams` maps an alias to the stream behind it.
    """

    key: Key
    streams: Mapping[str, Stream]
    alias_of: Mapping[str, str]  # name as written in `inputs` -> alias
    findings: list[Finding] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    _outputs: dict[str, _Output] = field(default_factory=dict)
    _path: str = ""

    def build(self, specs: Sequence[OperatorSpec]) -> tuple[Operator, ...]:
        """The operators in topological order; they are written in it."""
        ids = [spec.id for spec in specs]
        for i, spec in enumerate(specs):
            self._path = f"spec.operators[{i}]"
            if spec.id in ids[:i]:
                self._refuse("id", f"{spec.id} is there twice", "give each operator its own id")
            elif spec.id in self.streams:
                self._refuse("id", f"{spec.id} is also a stream", "give the operator another id")
            else:
                self._add(spec, ids[i:])
        self._path = ""
        used = {name for op in self.operators for name in op.inputs}
        for i, spec in enumerate(specs[:-1]):
            if spec.id not in used and not self.findings:
                self._path = f"spec.operators[{i}]"
                self._refuse("id", f"nothing reads {spec.id}", "only the last operator feeds the sink")
        return tuple(self.operators)

    def _refuse(self, name: str, wrong: str, right: str) -> None:
        self.findings.append(Finding(self.key, f"{self._path}.{name}", wrong, right))

    def _add(self, spec: OperatorSpec, later: Sequence[str]) -> None:
        names, inputs = [], []
        for i, name in enumerate(spec.inputs):
            alias = self.alias_of.get(name, name)
            output = self._output(alias)
            if output is not None:
                names.append(alias)
                inputs.append(output)
            elif name in later:
                self._refuse(f"inputs[{i}]", f"{name} comes later", "write operators before their readers")
            elif not any(name == op for op in self._outputs) and name not in self.alias_of:
                names_in_scope = [*self._outputs, *self.alias_of]
                self._refuse(
                    f"inputs[{i}]", f"no stream or operator {name}", suggestion(name, names_in_scope)
                )
        if len(inputs) < len(spec.inputs):
            return
        if len(set(names)) < len(names):
            self._refuse("inputs", f"{names[0]} is there twice", "a self join is written as SQL")
            return
        make = getattr(self, f"_{spec.kind}")
        addition = make(spec, tuple(names), inputs)
        if addition is not None:
            operator, output = addition
            self.operators.append(operator)
            self._outputs[spec.id] = output

    def _output(self, name: str) -> _Output | None:
        if name in self._outputs:
            return self._outputs[name]
        stream = self.streams.get(name)
        if stream is None:
            return None
        return _Output({f"{name}.{c.name}": c.type for c in stream.columns}, (name,))

    def _known(self, names: Sequence[str], columns: Mapping[str, str], where: str) -> bool:
        good = True
        for i, name in enumerate(names):
            if name not in columns:
                self._refuse(f"{where}[{i}]", f"no column {name}", suggestion(name, columns, "columns"))
                good = False
        return good

    def _condition(self, text: str, columns: Mapping[str, str], where: str) -> str | None:
        try:
            return parse_predicate(text, columns).text
        except ExpressionError as error:
            self._refuse(where, str(error), "")
            return None

    def _filter(
        self, spec: OperatorSpec, names: tuple[str, ...], inputs: list[_Output]
    ) -> tuple[Operator, _Output] | None:
        (source,) = inputs
        self._known(spec.columns or (), source.columns, "columns")
        predicate = self._condition(spec.predicate or "", source.columns, "predicate")
        if predicate is None:
            return None
        selectivity = spec.selectivity
        if selectivity is None:
            selectivity = estimates.filter_selectivity(predicate, self._distinct())
        columns = tuple(spec.columns or columns_of(predicate))
        return self._operator(
            spec, names, columns=columns, predicate=predicate, selectivity=selectivity
        ), source

    def _project(
        self, spec: OperatorSpec, names: tuple[str, ...], inputs: list[_Output]
    ) -> tuple[Operator, _Output] | None:
        (source,) = inputs
        columns = tuple(spec.columns or ())
        if not self._known(columns, source.columns, "columns"):
            return None
        items = tuple(Item(name, name) for name in columns)
        output = _Output({name: source.columns[name] for name in columns}, source.aliases)
        return self._operator(spec, names, columns=columns, items=items), output

    def _join(
        self, spec: OperatorSpec, names: tuple[str, ...], inputs: list[_Output]
    ) -> tuple[Operator, _Output] | None:
        left, right = inputs
        twice = sorted(set(left.aliases) & set(right.aliases))
        if twice:
            self._refuse("inputs", f"stream {twice[0]} is on both sides", "a self join is written as SQL")
            return None
        both = {**left.columns, **right.columns}
        on = self._condition(spec.on, both, "on") if spec.on else ""
        if on is None or spec.window is None:
            return None
        selectivity = spec.selectivity
        if selectivity is None:
            selectivity = self._join_selectivity(on)
        width = round(spec.window * 1e6)
        windows = tuple(Window(a, b, -width, width) for a, b in _pairs(on, left.aliases, right.aliases))
        columns = columns_of(on)
        operator = self._operator(
            spec, names, columns=columns, on=on, windows=windows, selectivity=selectivity
        )
        return operator, _Output(both, (*left.aliases, *right.aliases))

    def _aggregate(
        self, spec: OperatorSpec, names: tuple[str, ...], inputs: list[_Output]
    ) -> tuple[Operator, _Output] | None:
        (source,) = inputs
        keys = tuple(spec.group_by or ())
        time = spec.time or self._only_time(source)
        if not self._known(keys, source.columns, "groupBy") or time is None:
            return None
        if time not in source.columns:
            self._refuse("time", f"no column {time}", suggestion(time, source.columns, "columns"))
            return None
        columns = {name: source.columns[name] for name in keys}
        columns |= {"window.start": "TIMESTAMP", "window.end": "TIMESTAMP"}
        aggregations = []
        for i, wanted in enumerate(spec.aggregates or ()):
            try:
                text = parse_expression(wanted.expression, source.columns).text if wanted.expression else None
                if text is None and wanted.function != "count":
                    self._refuse(f"aggregates[{i}].expression", "is missing", "only count goes without it")
                    return None
                aggregation = Aggregation(wanted.name, wanted.function, text)
                columns[wanted.name] = aggregation_type(aggregation, source.columns)
                aggregations.append(aggregation)
            except ExpressionError as error:
                self._refuse(f"aggregates[{i}].expression", str(error), "")
                return None
        groups = spec.groups
        if groups is None:
            groups = prod(estimates.distinct_values(name, self._distinct()) for name in keys)
        operator = self._operator(
            spec,
            names,
            columns=tuple(
                sorted({time, *keys, *(c for a in aggregations for c in columns_of(a.expression or ""))})
            ),
            items=tuple(Item(name, name) for name in keys),
            time=time,
            window=spec.window or 0.0,
            slide=spec.slide or spec.window or 0.0,
            aggregations=tuple(aggregations),
            groups=groups,
        )
        return operator, _Output(columns, source.aliases)

    def _only_time(self, source: _Output) -> str | None:
        times = [f"{a}.{self.streams[a].event_time}" for a in source.aliases if self.streams[a].event_time]
        if len(times) == 1 and len(source.aliases) == 1:
            return times[0]
        self._refuse(
            "time", "is missing", "name the time column: " + (", ".join(times) or "no stream has one")
        )
        return None

    def _union(
        self, spec: OperatorSpec, names: tuple[str, ...], inputs: list[_Output]
    ) -> tuple[Operator, _Output] | None:
        """Branches get the same names first: columns lose their streams' names."""
        plain = [
            {name.rsplit(".", 1)[-1]: kind for name, kind in output.columns.items()} for output in inputs
        ]
        branches = []
        for i, (name, output) in enumerate(zip(names, inputs, strict=True)):
            if len(plain[i]) < len(output.columns) or list(plain[i].items()) != list(plain[0].items()):
                wrong = f"{name} has columns {', '.join(f'{n} {k}' for n, k in plain[i].items())}"
                right = "every branch needs " + ", ".join(f"{n} {k}" for n, k in plain[0].items())
                self._refuse(f"inputs[{i}]", wrong, right)
                return None
            branch = f"{spec.id}-{i + 1}"
            items = tuple(Item(column.rsplit(".", 1)[-1], column) for column in output.columns)
            self.operators.append(
                Operator(
                    branch, "project", (name,), tuple(output.columns), items=items, nodes=tuple(spec.nodes)
                )
            )
            branches.append(branch)
        aliases = tuple(dict.fromkeys(alias for output in inputs for alias in output.aliases))
        return self._operator(spec, tuple(branches), columns=tuple(plain[0])), _Output(plain[0], aliases)

    def _distinct(self) -> dict[str, float]:
        """Known distinct values by qualified column."""
        return {f"{a}.{c}": n for a, stream in self.streams.items() for c, n in stream.distinct.items()}

    def _join_selectivity(self, on: str) -> float:
        """An equality of two columns passes 1/max(distinct) of the pairs."""
        distinct, share = self._distinct(), 1.0
        for part in conjuncts(on):
            columns = estimates.equality(part.text)
            if columns is None:
                share *= estimates.filter_selectivity(part.text, distinct)
            else:
                share /= max(estimates.distinct_values(column, distinct) for column in columns)
        return share

    def _operator(self, spec: OperatorSpec, inputs: tuple[str, ...], **fields: object) -> Operator:
        common: dict[str, object] = {
            "cost": getattr(estimates.CostDefaults(), spec.kind) if spec.cost is None else spec.cost,
            "cost_pair": spec.cost_pair,
            "cost_out": spec.cost_out,
            "memory": spec.memory,
            "nodes": tuple(spec.nodes),
        }
        return Operator(spec.id, spec.kind, inputs, **{**common, **fields})  # type: ignore[arg-type]


def _pairs(on: str, left: Sequence[str], right: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of streams that a conjunct of `on` connects; every pair when none does."""
    pairs: dict[tuple[str, str], None] = {}
    for part in conjuncts(on):
        aliases = {column.split(".", 1)[0] for column in part.columns}
        pairs.update({(a, b): None for a in left if a in aliases for b in right if b in aliases})
    return list(pairs) or [(a, b) for a in left for b in right]
