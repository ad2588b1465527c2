"""A new runtime image, fragment by fragment: it stays only where fragments work with it.

A rollout is refused when a fragment does not start with the image within `moveBudget.deadline` or does not
work with it for that long, or when rows pile up before the query for `rollout.maxLag`. Then every query of
the policy goes on with, or back to, the image before, until another one is to be rolled out. Each query's
Placement has what its own rollout has come to, so that a new controller knows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from weir_operator.controller.conditions import Wait
from weir_operator.controller.decision import Event
from weir_operator.controller.desired_state import Group
from weir_operator.controller.moves import FragmentStep
from weir_operator.controller.progress import overdue, serves
from weir_operator.controller.record import Record
from weir_operator.controller.round_state import RoundState, specs_of
from weir_operator.controller.settings import Settings

TIMES, MORE = 2.0, 10.0
"""So many times the batches that waited before, and so many more, are a pile: backlogs come and go."""
REFUSED = "ImageRefused"
"""Type of the condition that says so; its reason and that of the event are the same."""


@dataclass(frozen=True)
class Rollout:
    """Of one query, from image `before` to `image`; times are in seconds since 1970, 0 is never.

    Attributes:
        since: when it began.
        waiting: batches that waited for its fragments then.
        behind: since when many more have been waiting.
        settled: since when all its fragments have worked with it.
        refused: why it was taken back.
    """

    image: str
    before: str
    since: float
    waiting: float = 0.0
    behind: float = 0.0
    settled: float = 0.0
    refused: str = ""


def rollout_of(record: Record) -> Rollout | None:
    """As the Placement's status has it; None without one, or where it cannot be read."""
    stored = record.status.get("rollout")
    try:
        return Rollout(**stored) if isinstance(stored, Mapping) else None
    except TypeError:
        return None


def policy_image(group: Group, settings: Settings) -> str:
    """What a group's policy wants its fragments to run; "" where there are no images (on one machine)."""
    return group.policy.pod_template.image or settings.image


def wanted_image(
    group: Group, rollouts: Iterable[Rollout | None], settings: Settings
) -> tuple[str, Rollout | None]:
    """The image that a group's fragments are to run: the policy's, or the one before where one of the
    `rollouts` of its queries refused that; "" where there are no images. And that refusal."""
    image = policy_image(group, settings)
    refusal = next((r for r in rollouts if r and r.refused and r.image == image), None)
    return refusal.before if refusal else image, refusal


def choose_images(state: RoundState) -> None:
    """By group, the image that its fragments are to run, into `state.images`: the policy's, or the one before
    where one of its queries has refused that."""
    for group in state.desired.groups:
        rollouts = []
        for name in sorted(group.queries):
            with state.guard(name):
                rollouts.append(rollout_of(state.records[name]))
        state.images[group.name], refusal = wanted_image(group, rollouts, state.settings)
        if refusal:
            state.refused_images[group.name] = _words(refusal)


def with_image(group: Group, image: str, settings: Settings) -> Group:
    """The group as if its policy had the image, where it names one itself; the operator's goes unnamed."""
    template = group.policy.pod_template
    if not template.image or template.image == image:
        return group
    named = None if image == settings.image else image
    policy = group.policy.model_copy(update={"pod_template": template.model_copy(update={"image": named})})
    return replace(group, policy=policy)


def track_rollouts(state: RoundState) -> None:
    """How far rollouts have come, into the records; an event of each that is refused."""
    for group in state.desired.groups:
        if not (image := policy_image(group, state.settings)):
            continue
        for name in group.queries:
            with state.guard(name):
                before = rollout_of(state.records[name])
                rollout = _next(state, group, name, image)
                if rollout == before:
                    continue
                record = state.records[name].with_status(rollout=asdict(rollout) if rollout else None)
                if rollout and rollout.refused:
                    record = _with_moves_anew(record)
                    state.events.append(Event(name, "ImageRefused", _words(rollout), warning=True))
                state.records[name] = record


def refused_image(state: RoundState, query: str) -> Wait | None:
    """Why a query does not run its policy's image; None when it does."""
    group = next((g for g in state.desired.groups if query in g.queries), None)
    if group is None or group.name not in state.refused_images:
        return None
    own = rollout_of(state.records[query])
    words = _words(own) if own and own.refused else state.refused_images[group.name]
    return Wait("ImageRefused", words, warning=True)


def _next(state: RoundState, group: Group, name: str, image: str) -> Rollout | None:
    """What a query's rollout has come to in this round."""
    stored = rollout_of(state.records[name])
    if stored and stored.image == image and stored.refused:
        return stored
    steps = {spec.name: state.steps[spec.name] for spec in specs_of(state, name) if spec.name in state.steps}
    others = Counter(
        step.owner.image
        for fragment, step in steps.items()
        if step.owner and step.owner.build != state.builds[fragment] and step.owner.image not in ("", image)
    )
    if stored is None or stored.image != image:
        if not others or state.images[group.name] != image:
            return None
        before = stored.before if stored and stored.before != image else others.most_common(1)[0][0]
        return Rollout(image, before, state.observed.now, _waiting(state, steps))
    if state.images[group.name] != image:  # another query has refused it
        return None
    much = _waiting(state, steps) > TIMES * stored.waiting + MORE
    stored = replace(stored, behind=(stored.behind or state.observed.now) if much else 0.0)
    if why := _fault(state, group, name, steps, stored):
        return replace(stored, refused=why)
    if others or not all(serves(step) and step.phase != "moving" for step in steps.values()):
        return replace(stored, settled=0.0)
    settled = stored.settled or state.observed.now
    over = state.observed.passed(settled) > group.policy.rollout.max_lag
    return None if over else replace(stored, settled=settled)


def _fault(
    state: RoundState, group: Group, name: str, steps: Mapping[str, FragmentStep], rollout: Rollout
) -> str:
    """Why the image is refused; "" as long as nothing speaks against it."""
    deadline, most = group.policy.move_budget.deadline, group.policy.rollout.max_lag
    idle = overdue(state.records[name], deadline, state.observed.passed)
    for fragment, step in steps.items():
        process = step.successor or step.owner
        if process is None or process.build != state.builds[fragment]:
            continue
        message = f": {process.message}" if process.message else ""
        if step.successor and fragment in state.overdue:
            return f"{fragment} has not started with it within {deadline:g} s{message}"
        if fragment in idle and not serves(step):
            return f"{fragment} has not worked with it for {deadline:g} s{message}"
        if step.owner is process and rollout.behind and state.observed.passed(rollout.behind) > most:
            waiting = _waiting(state, steps)
            return (
                f"{waiting:g} batches wait for the query, {rollout.waiting:g} before, and that for {most:g} s"
            )
    return ""


def _waiting(state: RoundState, fragments: Iterable[str]) -> float:
    """Batches that wait for them."""
    readings = (state.observed.metrics.get(fragment) for fragment in fragments)
    return sum(reading.backlog for reading in readings if reading)


def _with_moves_anew(record: Record) -> Record:
    """The moves back have their own time."""
    return record.with_status(drift={k: v for k, v in record.drift.items() if k != "moving"})


def _words(rollout: Rollout) -> str:
    return (
        f"image {rollout.image} was taken back, {rollout.before} goes on: {rollout.refused}. "
        "To try it again, ask for another image in between"
    )
