"""The label of a file in a sink: which query and checkpoint wrote it, so that two lives are never mixed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weir_placement.model.fragment import FragmentSpec

from weir_runtime.publish import SINK_REMEDY, OtherNumbering, OthersRows

OURS = re.compile(r"([0-9a-f]{12})-(\d{10})\.parquet")


@dataclass(frozen=True)
class Label:
    """
    Attributes:
        query: namespace/name.
        numbering: of the batches; "" in format 0.
        after: [us] the cut at which the plan begins, behind earlier plans of the query, whose files are there
            by right; 0: it begins with the query.
        names: other names (namespace/name) that the query has had, as its sink says.
    """

    query: str
    numbering: str = ""
    after: int = 0
    names: frozenset[str] = frozenset()

    @staticmethod
    def of(spec: FragmentSpec) -> Label:
        """Before the numbering is known."""
        return Label(f"{spec.namespace}/{spec.query}", after=spec.output.after)

    def metadata(self) -> dict[str, str]:
        """Beside the rows."""
        later = {"weir.numbering": self.numbering, "weir.after": str(self.after or "")}
        return {"weir.query": self.query, **{key: value for key, value in later.items() if value}}

    def check_all(self, files: Mapping[str, Mapping[str, str]], folder: str, prefix: str) -> None:
        """`check` of files by name. A plan that goes on finds others' files by right only in a sink that has
        its query's own already: one that an edit names may have those of a query that is gone."""
        at_home = any(metadata.get("weir.query") == self.query for metadata in files.values())
        for name, metadata in files.items():
            self.check(metadata, f"{folder}/{name}", name.startswith(prefix), at_home)

    def check(self, metadata: Mapping[str, str], place: str, same_plan: bool, at_home: bool = True) -> None:
        """Raises OtherNumbering for a file with rows of another life of this query, OthersRows for one of
        another query. A query that goes on from a snapshot may have been called otherwise: its numbering is
        the same, and its sink knows these `names` afterwards. Files of a plan that began at the same cut, or
        at a later one, have rows that this plan would publish again.

        Args:
            metadata: the file's.
            place: for the message.
            same_plan: whether it begins with the same prefix.
            at_home: whether the sink has rows of this query.
        """
        theirs, owner = metadata.get("weir.numbering", ""), metadata.get("weir.query", "")
        mine, earlier = self.is_mine(owner), int(metadata.get("weir.after", 0)) < self.after
        by_right = earlier and (mine or at_home)
        if theirs == self.numbering or not (same_plan or (owner and not by_right)):
            return
        if mine:
            raise OtherNumbering(place, theirs, self.numbering, SINK_REMEDY)
        raise OthersRows(place, owner, self.query)

    def is_mine(self, owner: str) -> bool:
        """Whether a query of this name is this one; files of early versions do not say whose they are."""
        return owner in ("", self.query) or owner in self.names


def newest_of(names: Iterable[str]) -> dict[str, int]:
    """Of the files that sinks write, the highest number of each prefix."""
    newest: dict[str, int] = {}
    for prefix, number in map(parts, names):
        if prefix:
            newest[prefix] = max(number, newest.get(prefix, number))
    return newest


def parts(name: str) -> tuple[str, int]:
    """The prefix and the number of a file that a sink has written; ("", -1) of any other.

    >>> parts("0123456789ab-0000000007.parquet")
    ('0123456789ab', 7)
    """
    match = OURS.fullmatch(name)
    return (match[1], int(match[2])) if match else ("", -1)


def firsts(names: Iterable[str]) -> list[str]:
    """Of the files that sinks write, the first one of each prefix."""
    by_prefix: dict[str, str] = {}
    for name in names:
        if prefix := parts(name)[0]:
            by_prefix[prefix] = min(name, by_prefix.get(prefix, name))
    return sorted(by_prefix.values())
