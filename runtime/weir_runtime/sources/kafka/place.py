"""Where a topic's reader is. All that a replay must decide again is in its places, which are durable.

A place is a mapping:

- next: offset of the next message, by partition
- max: running maximum of the event time [us] before it, by partition; None before any row. Rows that are
  older by more than the delay are late, and the clock follows the least of them
- topic: the topic's id, by which one that was made again is told from the one before
- base: by partition, what is added to offsets in row ids: where the topic before has ended
- jump: partitions that go on at `next` without the messages before it: they were added, or those are gone
- lost: how many offsets were jumped over in all
- idle: partitions that the clock does not wait for
- bad: how many messages before it cannot be read
- late: how many messages before it came too late
- limit: event time [us] beyond which a message between the place before and this one is one of them
- wall: the time of day [us] then

Versions before the first that knew topics' ids have written `next` and `max` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from weir_runtime.logs.log import Place

START: Place = {"next": {}, "max": {}}
"""Before the first look at the topic: where reading begins is a decision too, so it is made by the first
step, once, and not whenever a query without a committed batch asks where it begins."""


@dataclass(frozen=True)
class TopicLayout:
    """A topic as the brokers describe it: its id, and its partitions."""

    id: str
    partitions: tuple[str, ...]


def opened(
    place: Place, layout: TopicLayout, beginnings: Callable[[Collection[str]], Mapping[str, int]]
) -> Place | None:
    """The place behind a jump to partitions, or a topic, that it does not know; None when it knows all.

    Args:
        beginnings: where the given partitions are to be read from.
    """
    before = place["next"]
    again = made_again(place, layout)
    new = [key for key in layout.partitions if again or key not in before]
    if not new:
        return None
    begin, floor = beginnings(new), _floor(place["max"].values())
    after: Place = {
        **settled(place),
        "next": {**({} if again else before), **{key: begin[key] for key in new}},
        "max": {key: place["max"].get(key, floor) for key in layout.partitions},
        "topic": layout.id,
        "jump": new,
    }
    if again:
        ends = {key: at + place.get("base", {}).get(key, 0) for key, at in before.items()}
        after["base"] = {**place.get("base", {}), **ends}
    return after


def overtaken(place: Place, beginnings: Mapping[str, int]) -> Place:
    """The place behind a jump over what retention has deleted before it was read."""
    deleted = missing(place, beginnings)
    return {
        **settled(place),
        "next": {key: at + deleted.get(key, 0) for key, at in place["next"].items()},
        "jump": sorted(deleted),
        "lost": place.get("lost", 0) + sum(deleted.values()),
    }


def missing(place: Place, beginnings: Mapping[str, int]) -> dict[str, int]:
    """How many offsets of each partition that `place` stands before are gone."""
    deleted = {key: beginnings[key] - at for key, at in place["next"].items() if key in beginnings}
    return {key: count for key, count in deleted.items() if count > 0}


def within(
    spans: Mapping[str, tuple[int, int]], beginnings: Mapping[str, int], ends: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """What partitions that go from `beginnings` to `ends` have of `spans`, each a first offset and the one
    behind the last; those of which nothing is left are not in it."""
    left = {
        key: (max(first, beginnings[key]), min(beyond, ends[key])) for key, (first, beyond) in spans.items()
    }
    return {key: (first, beyond) for key, (first, beyond) in left.items() if first < beyond}


def made_again(place: Place, layout: TopicLayout) -> bool:
    """Whether the topic is another one than that of the place, under the same name."""
    if "topic" in place:
        return bool(place["topic"] != layout.id)
    return not place["next"].keys() <= set(layout.partitions)


def settled(place: Place) -> Place:
    """The place without what concerns only the range before it."""
    return {name: value for name, value in place.items() if name != "jump"}


def without_idle(place: Place, idle: Collection[str]) -> Place:
    """The place whose clock does not wait for the partitions `idle`: their maxima follow the slowest of the
    others, or, when none is left, the fastest of all. So a row of theirs that comes later and is not behind
    the clock is on time still, and every other one is late."""
    rest = {name: value for name, value in place.items() if name != "idle"}
    if not idle:
        return rest
    maxima = place["max"]
    floor = _floor(maximum for key, maximum in maxima.items() if key not in idle)
    if len(idle) == len(maxima):
        floor = max((maximum for maximum in maxima.values() if maximum is not None), default=None)
    if floor is not None:
        raised = {key: max(maxima[key] or floor, floor) for key in idle}
        rest["max"] = {**maxima, **raised}
    return {**rest, "idle": sorted(idle)}


def _floor(maxima: Iterable[int | None]) -> int | None:
    """The maximum that the clock follows; None before there is a clock."""
    values = list(maxima)
    return None if not values or None in values else min(maximum for maximum in values if maximum is not None)
