"""The label of a file in a sink: which query and checkpoint wrote it, so that two lives are never mixed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weir_placement.model.fragment import FragmentSpec

from weir_runtime.publish import SINK_REMEDY, OtherNumbering, OthersRows

OURS = re.compile(r"([0-9a-f]{12})-\d{10}\.parquet")


@dataclass(frozen=True)
class Label:
    """
    Attributes:
        query: namespace/name.
        numbering: of the batches; "" in format 0.
        continues: whether the plan goes on from a cut behind an earlier plan of the query, whose files are
            there by right.
    """

    query: str
    numbering: str = ""
    continues: bool = False

    @staticmethod
    def of(spec: FragmentSpec) -> Label:
        """Before the numbering is known."""
        return Label(f"{spec.namespace}/{spec.query}", continues=bool(spec.output.after))

    def metadata(self) -> dict[str, str]:
        """Beside the rows."""
        return {"weir.query": self.query, **({"weir.numbering": self.numbering} if self.numbering else {})}

    def check(self, metadata: Mapping[str, str], place: str, same_plan: bool) -> None:
        """Raises OtherNumbering for a file with rows of another life of this query, OthersRows for one of
        another query. A query that goes on from a snapshot may have been called otherwise: its numbering is
        the same.

        Args:
            metadata: the file's.
            place: for the message.
            same_plan: whether it begins with the same prefix.
        """
        theirs, owner = metadata.get("weir.numbering", ""), metadata.get("weir.query", "")
        if theirs == self.numbering or not (same_plan or (owner and not self.continues)):
            return
        if owner in ("", self.query):
            raise OtherNumbering(place, theirs, self.numbering, SINK_REMEDY)
        raise OthersRows(place, owner, self.query)


def firsts(names: Iterable[str]) -> list[str]:
    """Of the files that sinks write, the first one of each prefix."""
    by_prefix: dict[str, str] = {}
    for name in names:
        if match := OURS.fullmatch(name):
            by_prefix[match[1]] = min(name, by_prefix.get(match[1], name))
    return sorted(by_prefix.values())
