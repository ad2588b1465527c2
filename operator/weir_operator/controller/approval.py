"""What a person approves in mode Manual: one plan, by its hash, once and until a time.

A revision's number would not say which plan: the next candidate has the same, and nobody has seen it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weir_placement.model.identity import digest

from weir_operator.controller.times import seconds, timestamp


@dataclass(frozen=True)
class Approval:
    """`plan` is a `plan_hash`; `until` [s since 1970]."""

    plan: str
    until: float


def read_approval(raw: Mapping[str, Any] | None) -> Approval | None:
    """`spec.approval` of a Placement. Raises ValueError or LookupError for something else."""
    return Approval(str(raw["plan"]), seconds(raw["until"])) if raw else None


def plan_hash(revision: int, packed: Mapping[str, Any]) -> str:
    """Of a packed plan that would be this revision: so an approval that was used approves nothing more."""
    return digest([revision, packed], 12)


def why_it_waits(query: str, plan: str, approval: Approval | None, number: int | None, now: float) -> str:
    """Why a proposed plan is not in force; empty when it is approved. `number` is the `approved` of earlier
    versions, which approves nothing."""
    command = f"weir approve {query} {plan}"
    if approval is None and number is None:
        return f"waits for approval: {command}"
    if approval is None:
        return f"spec.approved ({number}) is no longer read, as it does not say which plan: {command}"
    if approval.plan != plan:
        return f"another plan ({approval.plan}) was approved; for this one: {command}"
    if now > approval.until:
        return f"the approval expired at {timestamp(approval.until)}; again: {command}"
    return ""
