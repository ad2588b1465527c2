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

    def check_all(self, files: Mapping[str, Mapping[str, str]], folder: str, prefix: str) -> None:
        """`check` of files by name. A plan that goes on finds others' files by right only in a sink that has
        its query's own already: one that an edit names may have those of a query that is gone."""
        at_home = any(metadata.get("weir.query") == self.query for metadata in files.values())
        for name, metadata in files.items():
            self.check(metadata, f"{folder}/{name}", name.startswith(prefix), at_home)

    def check(self, metadata: Mapping[str, str], place: str, same_plan: bool, at_home: bool = True) -> None:
        """Raises OtherNumbering for a file with rows of another life of this query, OthersRows for one of
        another query. A query that goes on from a snapshot may have been called otherwise: its numbering is
        the same.

        Args:
            metadata: the file's.
            place: for the message.
            same_plan: whether it begins with the same prefix.
            at_home: whether the sink has rows of this query.
        """
        theirs, owner = metadata.get("weir.numbering", ""), metadata.get("weir.query", "")
        by_right = self.continues and at_home
        if theirs == self.numbering or not (same_plan or (owner and not by_right)):
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
