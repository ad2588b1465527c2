"""What each kind of operator costs on this machine, as `weir calibrate` measured it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from weir_placement.model.operators import Operator
from weir_placement.model.problem import Overheads, Query


@dataclass(frozen=True)
class Calibration:
    """`costs` by kind [CPU-us per input tuple]; `pair` and `out` of a join; overheads of a fragment."""

    costs: Mapping[str, float] = field(default_factory=dict)
    out: float = 0.0  # [CPU-us per output row of a join]
    overheads: Overheads = field(default_factory=Overheads)

    @staticmethod
    def load(path: Path | None) -> Calibration:
        """The file that `weir calibrate` wrote; the defaults by kind without one."""
        if path is None or not path.exists():
            return Calibration()
        raw = json.loads(path.read_text())
        return Calibration(raw["costs"], raw["out"], Overheads(**raw["overheads"]))

    def save(self, path: Path) -> None:
        """JSON that `load` reads."""
        path.parent.mkdir(parents=True, exist_ok=True)
        told = {"costs": dict(self.costs), "out": self.out, "overheads": vars(self.overheads)}
        path.write_text(json.dumps(told, indent=1) + "\n")

    def query(self, query: Query) -> Query:
        """The query with this machine's costs where the manifests say nothing of their own.

        Costs that SQL gave are defaults by kind; explicit graphs keep what is written there.
        """
        if not self.costs:
            return query
        return replace(query, operators=tuple(self._operator(op) for op in query.operators))

    def _operator(self, op: Operator) -> Operator:
        cost = self.costs.get(op.kind)
        if cost is None:
            return op
        return replace(op, cost=cost, cost_out=self.out) if op.kind == "join" else replace(op, cost=cost)
