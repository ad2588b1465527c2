"""From plans in force to actions: fragments, the next step of each, removals, disruption budgets."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from weir_placement.model.fragment import FragmentSpec

from weir_operator.controller.change import cut_requests, leaving_specs, specs_in_force
from weir_operator.controller.decision import Action, Protect, Start
from weir_operator.controller.desired_state import DesiredQuery, Group
from weir_operator.controller.in_force import may_read
from weir_operator.controller.moves import DesiredFragment, FragmentStep, next_step, removal
from weir_operator.controller.quota_ledger import QuotaLedger, beside_running, counted_by_quota
from weir_operator.controller.retention import before_its_first, is_over
from weir_operator.controller.rollout import choose_images, with_image
from weir_operator.controller.round_state import RoundState, specs_of


def cut_fragments(state: RoundState) -> None:
    """Fragments of every plan in force, into `state.specs`."""
    for group in state.desired.groups:
        for name, desired in group.queries.items():
            record = state.records[name]
            with state.guard(name):  # after an error its processes stay as they are
                if not may_read(state.desired, record.plan):
                    state.revoked.add(name)
                if desired.suspended or name in state.blocked or name in state.revoked:
                    continue
                if specs := specs_in_force(state, group, desired, record):
                    state.specs[name] = specs


def _surroundings(group: Group, image: str) -> str:
    """What all processes of a group have in common: their pod template and image."""
    return f"{group.name} {group.policy.pod_template.model_dump_json(exclude_defaults=True)} {image}"


def _shares(group: Group, desired: DesiredQuery, spec: FragmentSpec) -> bool:
    """Whether a fragment runs in a host. With executors it has a driver of its own, and rows for the terminal
    are what its process prints."""
    shared = group.policy.fragments.isolation == "Shared" and not desired.dedicated
    return shared and not spec.executors and spec.output.kind != "console"


def _build(spec: FragmentSpec, surroundings: str, pods: str) -> str:
    """Hash of a process's spec apart from node, zone and epoch, and of what it runs in: when it differs, the
    process is replaced."""
    output = replace(spec.output, consumers=())
    identity = replace(spec, node="", zone="", epoch=0, lease="", state="", output=output)
    text = f"{identity.identity_text()} {surroundings}" + (f" {pods}" if pods else "")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _reaches_as(old: FragmentSpec, specs: Iterable[FragmentSpec]) -> bool:
    """Whether the spec of this name among `specs` reads and writes as `old` does."""
    return any((s.inputs, s.output) == (old.inputs, old.output) for s in specs if s.name == old.name)


def _present_build(state: RoundState, fragment: str) -> str:
    """Of the newest live process; "" without one. A fragment that is leaving is not replaced for an edit."""
    live = [p for p in state.processes.get(fragment, ()) if p.state not in ("stopped", "lost", "failed")]
    return max(live, key=lambda p: p.epoch).build if live else ""


def _present_image(state: RoundState, fragment: str) -> str:
    """Of the newest process that says what it runs."""
    processes = [p for p in state.processes.get(fragment, ()) if p.image]
    return max(processes, key=lambda p: p.epoch).image if processes else ""


def choose_steps(state: RoundState) -> None:
    """Fragments that are moving already come first, so that they count against the limit on moves."""
    choose_images(state)
    desired_fragments = _desired_fragments(state)
    state.builds = {name: fragment.build for name, fragment in desired_fragments.items()}
    queries = {name: fragment.query for name, fragment in desired_fragments.items()}
    ledger, moves = beside_running(state, queries), MovesUnderWay(state)
    for fragment in sorted(desired_fragments, key=lambda f: (not _moves_now(state, f), f)):
        desired = desired_fragments[fragment]
        with state.guard(desired.query):
            step = _step(state, desired, ledger, moves.admit(desired))
            state.steps[fragment] = step
            if step.phase == "moving" and fragment not in state.overdue:
                moves.add(desired)
    for name, record in state.records.items():
        with state.guard(name):
            for request in cut_requests(state, record):
                if request.fragment in state.steps:
                    step = state.steps[request.fragment]
                    state.steps[request.fragment] = replace(step, actions=(*step.actions, request))
    for name in state.failed:  # of a query, all fragments have a step or none
        if any(spec.name not in state.steps for spec in specs_of(state, name)):
            leave_alone(state, name)
    _remove_unwanted(state, desired_fragments)


class MovesUnderWay:
    """Moves in one round, in all and by policy and namespace, and how many there may be."""

    def __init__(self, state: RoundState) -> None:
        self._most = state.settings.concurrent_moves
        self._most_of = {g.name: g.policy.move_budget.concurrent for g in state.desired.groups}
        self._counts: Counter[tuple[str, str]] = Counter()

    def admit(self, fragment: DesiredFragment) -> bool:
        """Whether one more may begin."""
        mine = self._counts[self._key(fragment)] < self._most_of[fragment.policy]
        return mine and self._counts.total() < self._most

    def add(self, fragment: DesiredFragment) -> None:
        """One more."""
        self._counts[self._key(fragment)] += 1

    def _key(self, fragment: DesiredFragment) -> tuple[str, str]:
        return fragment.policy, fragment.query.split("/")[0]


def leave_alone(state: RoundState, query: str) -> None:
    """Nothing is done about a query in this round."""
    own = {spec.name for spec in state.specs.pop(query, ())} | {
        fragment for fragment, owner in _owners(state).items() if owner == query
    }
    for fragment in own:
        state.steps.pop(fragment, None)


def _desired_fragments(state: RoundState) -> dict[str, DesiredFragment]:
    """By name, the fragments that shall run: of plans in force, and of those that end at a cut."""
    result: dict[str, DesiredFragment] = {}
    for group in state.desired.groups:
        image = state.images[group.name]
        as_before = group.policy.pod_template.image  # then the operator's own is as it was
        surroundings = _surroundings(
            with_image(group, image, state.settings), state.settings.image if as_before else image
        )
        for name, desired in group.queries.items():
            with state.guard(name):
                result.update(_fragments_of(state, group, desired, name, surroundings))
    return result


def _fragments_of(
    state: RoundState, group: Group, desired: DesiredQuery, name: str, surroundings: str
) -> dict[str, DesiredFragment]:
    leaving: tuple[FragmentSpec, ...] = ()
    if not desired.suspended and name not in state.blocked:
        leaving = leaving_specs(state, group, state.records[name])
    # one whose logins have changed is replaced; otherwise one that is leaving is not, for an edit
    as_before = {old.name for old in state.records[name].leaving if _reaches_as(old, leaving)}
    result = {}
    for spec in (*specs_of(state, name), *leaving):
        spec = replace(spec, zone=_zone(group, spec.node))
        shared = _shares(group, desired, spec)
        build = _build(spec, surroundings + (" shared" if shared else ""), desired.pods)
        if spec.name in as_before or desired.unplannable or name in state.held_images:
            build = _present_build(state, spec.name) or build
        image = (name in state.held_images and _present_image(state, spec.name)) or state.images[group.name]
        result[spec.name] = DesiredFragment(spec, build, name, group.name, image, shared)
    return result


def _step(state: RoundState, fragment: DesiredFragment, ledger: QuotaLedger, may_move: bool) -> FragmentStep:
    """The next step of one fragment; a process that it starts beside another is booked in the ledger."""
    name, query = fragment.spec.name, fragment.query
    processes, lease = state.processes.get(name, []), state.observed.leases.get(name)
    unusable = state.desired.unusable_nodes(query)
    forced = any(process.node in unusable for process in processes)
    beside = bool(counted_by_quota(processes))
    fits = not beside or ledger.fits(query)
    settings = state.settings
    waits = name not in state.overdue
    if lease is None and not processes and (before := before_its_first(state, query, name)):
        return FragmentStep((before,), "starting")
    step = next_step(
        fragment, processes, lease, settings.layout, forced or may_move, settings.standby, fits, waits
    )
    if beside and any(isinstance(action, Start) for action in step.actions):
        ledger.reserve(query)
    return step


def _zone(group: Group, node: str) -> str:
    cluster = group.problem.cluster
    return cluster.nodes[cluster.index[node]].zone if node in cluster.index else ""


def _moves_now(state: RoundState, fragment: str) -> bool:
    return len({p.epoch for p in state.processes.get(fragment, [])}) > 1


def _remove_unwanted(state: RoundState, desired_fragments: Mapping[str, DesiredFragment]) -> None:
    """Fragments of edited, suspended and deleted queries. Those of an edited query stay until the whole new
    plan runs; those of a query that has become faulty stay as they are."""
    owners = _owners(state)
    for fragment in sorted(set(state.processes) | set(state.observed.leases)):
        if fragment in desired_fragments:
            continue
        query = owners.get(fragment, "")
        with state.guard(query):
            desired = _desired_query(state, query)
            stopped = query in state.revoked or (desired is not None and desired.suspended)
            stopped = stopped or (
                query in state.records and not is_over(state.records[query], state.observed)
            )
            if query in state.desired.faults and not stopped:
                continue
            steps = [state.steps[s.name] for s in specs_of(state, query)]
            if desired and not stopped and (query in state.refusals or any(_young(s) for s in steps)):
                continue
            state.steps[fragment] = removal(fragment, query, state.processes.get(fragment, []), not stopped)


def _young(step: FragmentStep) -> bool:
    return step.phase in ("waiting", "starting")


def _owners(state: RoundState) -> dict[str, str]:
    """Fragment -> query, also for fragments of earlier plans, which the Placements' statuses list."""
    owners = {}
    for name, record in state.records.items():
        for entry in record.owned:
            owners[entry] = name
    return owners


def _desired_query(state: RoundState, query: str) -> DesiredQuery | None:
    return next((g.queries[query] for g in state.desired.groups if query in g.queries), None)


def actions(state: RoundState) -> list[Action]:
    """Steps in order: fragments that stay first, then those that go, then disruption budgets."""
    actions: list[Action] = []
    for fragment in sorted(state.steps, key=lambda f: (state.steps[f].phase in ("stopping", "gone"), f)):
        actions += state.steps[fragment].actions
    return actions + list(_protection(state))


def _protection(state: RoundState) -> list[Protect]:
    """A budget for each fragment that runs, until a drain of its node has been held up for `drainTimeout`."""
    result: list[Protect] = []
    budgets: dict[str, Protect] = {}
    for group in state.desired.groups:
        for name in group.queries:
            for spec in specs_of(state, name):
                since = state.observed.budget_since.get(spec.name)
                over = since is not None and state.observed.passed(since) > group.policy.drain_timeout
                stuck = (
                    spec.node in state.desired.nodes_to_leave(name)
                    and state.steps[spec.name].phase == "running"
                )
                if (
                    state.steps[spec.name].phase in ("running", "moving", "starting")
                    and not over
                    and not stuck
                ):
                    budgets[spec.name] = Protect(spec.name, name, True, spec.executors)
    result += [budgets[fragment] for fragment in sorted(set(budgets) - state.observed.protected)]
    owners = _owners(state)
    for fragment in sorted(state.observed.protected - set(budgets)):
        query = owners.get(fragment, "")
        if query not in state.failed:
            result.append(Protect(fragment, query, False))
    return result
