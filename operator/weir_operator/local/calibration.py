"""What each kind of operator costs on this machine, as measured by `weir calibrate`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from weir_placement.model.operators import Join, Operator
from weir_placement.model.problem import Overheads, Query
from weir_placement.rewrite.function_costs import computing


@dataclass(frozen=True)
class Calibration:
    """`costs` by kind [CPU-us per input tuple], `out` of a join's output row and `read` of a row that a
    fragment reads from a source; overheads of a fragment."""

    costs: Mapping[str, float] = field(default_factory=dict)
    out: float = 0.0
    read: float = 0.0
    overheads: Overheads = field(default_factory=Overheads)

    @staticmethod
    def load(path: Path | None) -> Calibration:
        """What `weir calibrate` wrote to a file; without one, the defaults by kind."""
        if path is None or not path.exists():
            return Calibration()
        raw = json.loads(path.read_text())
        return Calibration(raw["costs"], raw["out"], raw["read"], Overheads(**raw["overheads"]))

    def save(self, path: Path) -> None:
        """JSON that `load` reads."""
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "costs": dict(self.costs),
            "out": self.out,
            "read": self.read,
            "overheads": vars(self.overheads),
        }
        path.write_text(json.dumps(content, indent=1) + "\n")

    def query(self, query: Query) -> Query:
        """The query with this machine's costs where the manifests declare none.

        Costs of SQL queries are defaults by kind; explicit graphs keep what they declare.
        """
        if not self.costs:
            return query
        return replace(query, operators=tuple(self.operator(op, query) for op in query.operators))

    def operator(self, op: Operator, query: Query) -> Operator:
        """One operator; the cost of reading a source is added to its first operator."""
        cost = self.costs.get(op.kind)
        if cost is None:
            return op
        cost += computing(op) + self.read * sum(name in query.sources for name in op.inputs) / len(op.inputs)
        if isinstance(op, Join):
            return replace(op, cost=cost, cost_pair=0.0, cost_out=self.out)
        return replace(op, cost=cost)
