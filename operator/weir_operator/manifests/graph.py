"""From an explicit graph of operators to the model's operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.operators import Operator
from weir_placement.model.streams import Stream
from weir_placement.model.suggestion import suggestion
from weir_placement.rewrite.function_costs import with_functions

from weir_operator.api.query import OperatorSpec
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.graph_context import OperatorContext, OperatorOutput, of_stream
from weir_operator.manifests.graph_operators import BUILD


@dataclass
class GraphBuilder:
    """Builds the operators of one query; `findings` collects everything that is wrong.

    `streams` maps an alias to the stream behind it.
    """

    key: Key
    streams: Mapping[str, Stream]
    alias_of: Mapping[str, str]  # name as written in `inputs` -> alias
    runs: bool = False  # all streams have a source
    findings: list[Finding] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    _outputs: dict[str, OperatorOutput] = field(default_factory=dict)
    _ids: frozenset[str] = frozenset()
    _path: str = ""

    def build(self, specs: Sequence[OperatorSpec]) -> tuple[Operator, ...]:
        """The operators in topological order, which is the order of `specs`."""
        self._ids = frozenset(spec.id for spec in specs)
        for i, spec in enumerate(specs):
            self._path = f"spec.operators[{i}]"
            if spec.id in self.streams:
                self._refuse("id", f"{spec.id} is also a stream", "give the operator another id")
            else:
                self._add(spec, specs[i:])
        self._path = ""
        inputs = {name for spec in specs for name in spec.inputs}
        for i, spec in enumerate(specs[:-1]):
            if spec.id not in inputs and not self.findings:
                self._path = f"spec.operators[{i}]"
                self._refuse("id", f"nothing reads {spec.id}", "only the last operator feeds the sink")
        return tuple(self.operators)

    def _refuse(self, name: str, wrong: str, right: str) -> None:
        self.findings.append(Finding(self.key, f"{self._path}.{name}", wrong, right))

    def _refuse_expression(self, name: str, error: ExpressionError) -> None:
        self.findings.append(Finding.of_expression(self.key, f"{self._path}.{name}", error))

    def _add(self, spec: OperatorSpec, later: Sequence[OperatorSpec]) -> None:
        names, inputs = [], []
        for i, name in enumerate(spec.inputs):
            alias = self.alias_of.get(name, name)
            output = self._output(alias)
            if output is not None:
                names.append(alias)
                inputs.append(output)
            elif any(name == other.id for other in later):
                self._refuse(f"inputs[{i}]", *_too_early(spec, name, later))
            elif name not in self._ids and name not in self.alias_of:
                in_scope = [*self._outputs, *self.alias_of]
                self._refuse(f"inputs[{i}]", f"no stream or operator {name}", suggestion(name, in_scope))
        if len(inputs) < len(spec.inputs):
            return
        repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if repeated is not None:
            self._refuse("inputs", f"{repeated} is an input twice", "write a self join as SQL")
            return
        refuse = (self._refuse, self._refuse_expression)
        context = OperatorContext(spec, tuple(names), tuple(inputs), self.streams, *refuse, self.runs)
        built = BUILD[spec.kind](context)
        if built is not None:
            declared = spec.cost is not None
            self.operators += [op if declared else with_functions(op) for op in built[0]]
            self._outputs[spec.id] = built[1]

    def _output(self, name: str) -> OperatorOutput | None:
        if name in self._outputs:
            return self._outputs[name]
        stream = self.streams.get(name)
        if stream is None:
            return None
        return of_stream(name, stream)


def _too_early(spec: OperatorSpec, name: str, later: Sequence[OperatorSpec]) -> tuple[str, str]:
    """(what is wrong, what would be right) where `spec` reads one of those that come after it, or itself."""
    if name == spec.id:
        return f"{name} reads itself", "name a stream, or an operator before it"
    inputs = {other.id: other.inputs for other in later}
    behind, seen = [name], set[str]()
    while behind:
        other = behind.pop()
        if spec.id in inputs[other]:
            both = "each other" if other == name else f"each other, through {other}"
            return f"{spec.id} and {name} read {both}", "name a stream, or an operator before it"
        seen.add(other)
        behind += [each for each in inputs[other] if each in inputs and each not in seen]
    return f"{name} is defined later", "define an operator before those that read it"
