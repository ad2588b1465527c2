"""How a query stands, from the processes of its fragments: what its conditions say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weir_placement.model.amounts import count
from weir_placement.model.fragment import FOREVER, FragmentSpec

from weir_operator.controller.conditions import Health
from weir_operator.controller.desired_state import DesiredQuery, Fault, Group
from weir_operator.controller.moves import FragmentStep
from weir_operator.controller.progress import WORKING, elsewhere, overdue, serves, taken_over
from weir_operator.controller.query_snapshots import FAILED
from weir_operator.controller.record import Record
from weir_operator.controller.round_state import RoundState, specs_of

END_TEXT = "every input has ended, and all results are written"
LATE_EDIT = (
    "every input had ended when the last edit came into force, so all rows are those of the previous plan; "
    "to run it anew over all rows, give its sink another place"
)
OWED = (
    "the previous plan owes rows up to the cut of the edit, which nobody else can publish, and until it has, "
    "further edits wait. Mend what it fails for (memory, a Secret, a server that refuses); or give these "
    "rows up: delete the query and make it again with another sink"
)
LONGEST_REASON = 1000  # letters of the pod's own message


def query_health(state: RoundState, group: Group, name: str, desired: DesiredQuery) -> Health:
    """Of a query that can be planned. What gets no further within `progressDeadline` is Stalled: the
    controller goes on trying, but a person must change something."""
    health = _present_health(state, group, name, desired)
    policy = group.policy
    late = overdue(state.records[name], policy.progress_deadline, state.observed.passed)
    if desired.suspended or health.stalled or not late or not (health.reconciling or health.moving):
        return health
    words = "; ".join(f"{fragment} {_standing(state, fragment)}" for fragment in late)
    if any(spec.name in late for spec in state.records[name].leaving):
        words += f"; {OWED}"
    limit = f"not ready within progressDeadline ({policy.progress_deadline:g} s) of policy {group.name}"
    failed = Health.failed("ProgressDeadlineExceeded", f"{limit}: {words}", ready=health.ready)
    return replace(failed, moving=health.moving)


def _present_health(state: RoundState, group: Group, name: str, desired: DesiredQuery) -> Health:
    record = state.records[name]
    if why := state.observed.unwritten.get(name):  # nothing is done of what is not written
        text = f"its Placement cannot be written: {why}"
        return Health.failed("PlacementRefused", text, ready=_runs_as_written(state, name))
    if desired.suspended:
        return Health.current("Suspended", "suspended: nothing runs, and checkpoints are kept")
    if name in state.failed:
        return Health.failed("PlanningFailed", state.refusals[name], ready=_runs_as_before(state, name))
    if name in state.refusals:
        return Health.failed("Rejected", state.refusals[name], ready=_runs_as_before(state, name))
    if why := state.ended.get(name):
        return Health.failed("InputEnded", why, ready=_runs_as_before(state, name))
    steps = {spec.name: state.steps[spec.name] for spec in specs_of(state, name)}
    if record.leaving and record.since is None:
        text = "of the previous plan runs until it has set the event time of the edit"
        return Health.in_progress("Changing", f"{_leaving(state, record)} {text}", moving=True)
    if not steps:
        reason = "Proposed" if record.status.get("proposed") else "Planning"
        return Health.in_progress(reason, f"no plan in force yet (mode {group.policy.mode})")
    moving = sorted(f for f, step in steps.items() if step.phase == "moving")
    idle = sorted(f for f, step in steps.items() if not serves(step) and not taken_over(step))
    if idle:
        refused = [fragment for fragment in idle if _is_refused(steps[fragment])]
        text = "; ".join(f"{fragment} {_standing(state, fragment)}" for fragment in refused or idle)
        if refused:
            return Health.failed("FragmentRefused", text)
        return Health.in_progress("FragmentsNotReady", text, moving=bool(moving))
    if record.leaving:
        text = f"{_leaving(state, record)} of the previous plan still publishes rows from before the edit"
        text += f"; {OWED}" if _idle_leaving(state, record) else ""
        return Health.current("Changing", text, moving=True)
    if moving:
        return Health.current("Moving", f"moving {', '.join(moving)}", moving=True)
    if all(step.owner is not None and step.owner.state == "finished" for step in steps.values()):
        return Health.current("Finished", END_TEXT if record.since != FOREVER else LATE_EDIT)
    nodes = {spec.node for spec in specs_of(state, name)}
    text = f"{count(len(steps), 'fragment')} running on {count(len(nodes), 'node')}"
    return Health.current("Running", text)


def _runs_as_before(state: RoundState, name: str) -> bool:
    """Whether each fragment of the plan in force has a process that works, of a query that is left alone."""
    return _work(state, specs_of(state, name) or state.records[name].specs)


def _runs_as_written(state: RoundState, name: str) -> bool:
    """Likewise, of a query whose newest plan is not written; before the cut of an edit the old one works."""
    record = state.before[name]
    return _work(state, record.leaving if record.since is None else record.specs)


def _work(state: RoundState, specs: Sequence[FragmentSpec]) -> bool:
    working = {f for f, all_of in state.processes.items() if any(p.state in WORKING for p in all_of)}
    return bool(specs) and all(spec.name in working for spec in specs)


def _leaving(state: RoundState, record: Record) -> str:
    """The fragments of the previous plan that get no further, and how they stand; the one that delivers when
    none is such a one."""
    idle = _idle_leaving(state, record)
    return ", ".join(f"{name} ({_standing(state, name)})" for name in idle) or record.leaving[-1].name


def _idle_leaving(state: RoundState, record: Record) -> list[str]:
    names = [spec.name for spec in record.leaving]
    return [name for name in names if name in state.steps and not serves(state.steps[name])]


def _is_refused(step: FragmentStep) -> bool:
    """Whether its process cannot run as it is told, and nothing else is on its way."""
    return step.owner is not None and step.owner.refused and step.phase != "moving"


def _standing(state: RoundState, fragment: str) -> str:
    """How a fragment that gets no further stands, in the words of its pod or of who refuses it."""
    step, refusal = state.steps[fragment], state.observed.refusals.get(fragment, "")
    owner, successor = step.owner, step.successor
    if owner is not None and owner.state in WORKING and elsewhere(step):
        return elsewhere(step)
    stands = f"is {owner.state if owner else step.phase}"
    why = owner.message if owner and owner.state not in WORKING else ""
    if successor is not None:
        stands += f", its successor on {successor.planned_node} is {successor.state}"
        why = refusal or successor.message or why
    elif refusal:
        why = f"cannot be started: {refusal}"
    return f"{stands} ({_last_line(why)})" if why.strip() else stands


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1][:LONGEST_REASON]


def fault_health(state: RoundState, name: str, fault: Fault) -> Health:
    """Of a query that cannot be planned."""
    age = state.observed.passed(state.desired.created.get(name, state.observed.now))
    if fault.waits:
        runs = name in state.records and _runs_as_before(state, name)
        if fault.waits == FAILED:
            return Health.failed(fault.waits, fault.message, ready=runs)
        return Health.in_progress(fault.waits, fault.message, ready=runs)
    if not fault.missing:
        return Health.failed("Invalid", fault.message)
    if age < state.settings.reference_grace:
        return Health.in_progress("ReferenceNotFound", fault.message)
    return Health.failed("ReferenceNotFound", fault.message)
