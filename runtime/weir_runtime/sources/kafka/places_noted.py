"""How far event time was before some places of a topic: by them a changed plan finds where it begins.

The times of messages themselves do not say it: they are the producers', or the brokers', not the rows'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weir_runtime.logs.log import Place
from weir_runtime.logs.notes import Notes
from weir_runtime.sources.kafka.place import TopicLayout

NOTED = ("next", "max", "topic", "base")


class PlacesNoted:
    """Notes that are places (`place.py`), without what concerns one reader or one range.

    Args:
        sidelog, identity: as of `Notes`.
    """

    def __init__(self, sidelog: str, identity: object) -> None:
        self._notes = Notes(sidelog, identity)

    def note(self, place: Place) -> None:
        """Everything before `place` has been read by a reader of the whole topic."""
        if "topic" not in place or not self._notes.due():
            return
        note = {name: place[name] for name in NOTED if name in place}
        notes = [other for other in self._notes.all() if other["topic"] == note["topic"]]
        if note not in notes:
            self._notes.put(sorted([*notes, note], key=lambda one: sum(one["next"].values())))

    def before(self, after: int, layout: TopicLayout) -> Place | None:
        """Of each partition the last place known before which none of its rows is later than `after` [us],
        with its running maximum there; None where that is not known. A partition that no note has was added
        behind all of them. Topics that were made again have other ids: their notes count for nothing."""
        notes = [note for note in self._notes.all() if note["topic"] == layout.id]
        keys = [key for key in layout.partitions if any(key in note["next"] for note in notes)]
        chosen = {key: _last(key, notes, after) for key in keys}
        if not keys or None in chosen.values():
            return None
        begin: Place = {
            "next": {key: note["next"][key] for key, note in chosen.items() if note},
            "max": {key: note["max"][key] for key, note in chosen.items() if note},
            "topic": layout.id,
            "jump": keys,
        }
        return begin | ({"base": notes[-1]["base"]} if "base" in notes[-1] else {})


def _last(key: str, notes: Iterable[Place], after: int) -> Mapping[str, Mapping[str, int | None]] | None:
    """The last of the notes up to which a partition has nothing later than `after`; None: no such note."""
    rest = [note for note in notes if key in note["next"]]
    rest = [note for note in rest if note["max"][key] is None or note["max"][key] <= after]
    return max(rest, key=lambda note: note["next"][key], default=None)
