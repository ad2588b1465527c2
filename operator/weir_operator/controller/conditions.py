"""Conditions as kstatus reads them: Ready, Reconciling, Stalled; and others beside them (docs/gitops)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from weir_operator.controller.times import timestamp


@dataclass(frozen=True, kw_only=True)
class Health:
    """The state of an object; `reason` is CamelCase and stable, `message` is for people.

    Made by `current`, `in_progress` and `failed`, named after the three states of kstatus.
    """

    reason: str
    message: str
    ready: bool = False
    reconciling: bool = False
    stalled: bool = False
    moving: bool = False

    @classmethod
    def current(cls, reason: str, message: str, *, moving: bool = False) -> Health:
        """Ready: it is as its spec says, even while it is `moving` from one node to another."""
        return cls(reason=reason, message=message, ready=True, moving=moving)

    @classmethod
    def in_progress(cls, reason: str, message: str, *, moving: bool = False, ready: bool = False) -> Health:
        """Reconciling: it will become ready by itself; `ready` when the previous plan still runs."""
        return cls(reason=reason, message=message, reconciling=True, moving=moving, ready=ready)

    @classmethod
    def failed(cls, reason: str, message: str, *, ready: bool = False) -> Health:
        """Stalled: a person must change something; `ready` when the previous plan still runs."""
        return cls(reason=reason, message=message, stalled=True, ready=ready)


@dataclass(frozen=True)
class Wait:
    """What a running query waits for, of its input or of its readers. None of them makes it less Ready."""

    reason: str
    message: str
    warning: bool = False


def conditions(
    health: Health,
    generation: int,
    now: float,
    present: Sequence[Mapping[str, Any]],
    further: Mapping[str, Wait | None] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """The four conditions and those of `further`, by type: they hold where there is something to say.

    A condition keeps its transition time as long as its status stays the same.
    """
    before = {c.get("type"): c for c in present}
    verdicts: dict[str, tuple[bool, Health | Wait | None]] = {
        "Ready": (health.ready, health),
        "Reconciling": (health.reconciling, health),
        "Stalled": (health.stalled, health),
        "Moving": (health.moving, health),
        **{kind: (wait is not None, wait) for kind, wait in further.items()},
    }
    described = []
    for kind, (holds, words) in verdicts.items():
        status = "True" if holds else "False"
        old = before.get(kind)
        since = old["lastTransitionTime"] if old and _stays(old, status) else timestamp(now)
        explained = words if holds or kind == "Ready" else None
        described.append(
            {
                "type": kind,
                "status": status,
                "reason": explained.reason if explained else "No",
                "message": explained.message if explained else "",
                "observedGeneration": generation,
                "lastTransitionTime": since,
            }
        )
    return described


def _stays(old: Mapping[str, Any], status: str) -> bool:
    return old.get("status") == status and bool(old.get("lastTransitionTime"))


def worth_writing(old: Mapping[str, Any], new: Mapping[str, Any], numbers: bool = True) -> bool:
    """Whether anything differs; measured numbers (floats) count only when they differ by more than a tenth,
    and not at all without `numbers`: they are written only now and then."""
    if set(old) != set(new):
        return True
    return any(_differs(old[key], new[key], numbers) for key in new)


def _differs(old: Any, new: Any, numbers: bool) -> bool:
    if isinstance(old, float) or isinstance(new, float):
        both = isinstance(old, float | int) and isinstance(new, float | int)
        return numbers and abs(new - old) > 0.1 * abs(old) if both else True
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return worth_writing(old, new, numbers)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) != len(new) or any(_differs(a, b, numbers) for a, b in zip(old, new, strict=True))
    return bool(old != new)
