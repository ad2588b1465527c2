"""From plans in force to actions: fragments, the next step of each, what is wanted no more, budgets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from weir_placement.model.fragment import FragmentSpec

from weir_operator.controller.change import leaving_specs, questions, specs_in_force
from weir_operator.controller.decision import Action, Protect, Start
from weir_operator.controller.moves import Step, Wanted, next_step, removal
from weir_operator.controller.room import beside, counted
from weir_operator.controller.work import Work, specs_of
from weir_operator.controller.world import Asked, Group


def cut_all(work: Work) -> None:
    """Fragments of every plan in force, into `work.specs`."""
    for group in work.world.groups:
        for name, asked in group.queries.items():
            record = work.records[name]
            held = asked.suspended or name in work.held
            if not held and (specs := specs_in_force(work, group, asked, record)):
                work.specs[name] = specs


def _surroundings(group: Group, image: str) -> str:
    """What all processes of a group run in."""
    return f"{group.name} {group.policy.pod_template.model_dump_json(exclude_defaults=True)} {image}"


def _build(spec: FragmentSpec, surroundings: str, pods: str) -> str:
    """Hash of what a process is told beside node, zone and epoch, and of what it runs in: another one means
    another process."""
    output = replace(spec.output, consumers=())
    told = replace(spec, node="", zone="", epoch=0, lease="", state="", output=output)
    text = f"{told.to_json()} {surroundings}" + (f" {pods}" if pods else "")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _present_build(work: Work, fragment: str) -> str:
    """Of the newest process that works; "" without one. A fragment that goes is not replaced for an edit."""
    live = [p for p in work.processes.get(fragment, ()) if p.state not in ("stopped", "lost", "failed")]
    return max(live, key=lambda p: p.epoch).build if live else ""


def step_all(work: Work) -> None:
    """Fragments that moves are under way for go first, so that the limit holds for new ones."""
    wanted: dict[str, Wanted] = {}
    for group in work.world.groups:
        surroundings = _surroundings(group, work.settings.image)
        for name, asked in group.queries.items():
            leaving: tuple[FragmentSpec, ...] = ()
            if not asked.suspended and name not in work.held:
                leaving = leaving_specs(work, group, work.records[name])
            going = {old.name for old in leaving}
            for spec in (*specs_of(work, name), *leaving):
                spec = replace(spec, zone=_zone(group, spec.node))
                build = _build(spec, surroundings, asked.pods)
                if spec.name in going:
                    build = _present_build(work, spec.name) or build
                wanted[spec.name] = Wanted(spec, build, name, group.name)
    under_way = 0
    room = beside(work, {fragment: want.query for fragment, want in wanted.items()})
    order = sorted(wanted, key=lambda f: (not _moves_now(work, f), f))
    for fragment in order:
        want, seen = wanted[fragment], work.processes.get(fragment, [])
        lease = work.snapshot.leases.get(fragment)
        forced = any(p.node in work.world.lost | work.world.leaves(want.query) for p in seen)
        may = forced or under_way < work.settings.concurrent_moves
        fits = not counted(seen) or room.fits(want.query)
        step = next_step(want, seen, lease, work.settings.layout, may, work.settings.standby, fits)
        if counted(seen) and any(isinstance(action, Start) for action in step.actions):
            room.take(want.query)
        under_way += step.phase == "moving"
        work.steps[fragment] = step
    for record in work.records.values():
        for question in questions(work, record):
            if question.fragment in work.steps:
                step = work.steps[question.fragment]
                work.steps[question.fragment] = replace(step, actions=(*step.actions, question))
    _remove_unwanted(work, wanted)


def _zone(group: Group, node: str) -> str:
    cluster = group.problem.cluster
    return cluster.nodes[cluster.index[node]].zone if node in cluster.index else ""


def _moves_now(work: Work, fragment: str) -> bool:
    return len({p.epoch for p in work.processes.get(fragment, [])}) > 1


def _remove_unwanted(work: Work, wanted: Mapping[str, Wanted]) -> None:
    """Fragments of edited, suspended and deleted queries. Those of an edited query stay until all of the
    new plan run; those of one that has become faulty stay as they are."""
    owners = _owners(work)
    for fragment in sorted(set(work.processes) | set(work.snapshot.leases)):
        if fragment in wanted:
            continue
        query = owners.get(fragment, "")
        if query in work.world.faults:
            continue
        asked = _asked(work, query)
        news = [work.steps[s.name] for s in specs_of(work, query)]
        if asked and not asked.suspended and (query in work.refused or any(_young(s) for s in news)):
            continue
        suspended = asked is not None and asked.suspended
        work.steps[fragment] = removal(fragment, query, work.processes.get(fragment, []), not suspended)


def _young(step: Step) -> bool:
    return step.phase in ("waiting", "starting")


def _owners(work: Work) -> dict[str, str]:
    """Fragment -> query, also for fragments of plans that are no more: the Placements' history knows them."""
    owners = {}
    for name, record in work.records.items():
        for entry in record.status.get("owned") or []:
            owners[entry] = name
    return owners


def _asked(work: Work, query: str) -> Asked | None:
    return next((g.queries[query] for g in work.world.groups if query in g.queries), None)


def actions(work: Work) -> list[Action]:
    """Steps in order: what is wanted first, then what goes, then budgets."""
    actions: list[Action] = []
    for fragment in sorted(work.steps, key=lambda f: (work.steps[f].phase in ("stopping", "gone"), f)):
        actions += work.steps[fragment].actions
    return actions + list(_protection(work))


def _protection(work: Work) -> list[Protect]:
    """A budget for each fragment that runs; none once the time that a drain may be held up is over."""
    result: list[Protect] = []
    wanted: dict[str, Protect] = {}
    for group in work.world.groups:
        for name in group.queries:
            for spec in specs_of(work, name):
                held = work.snapshot.budget_since.get(spec.name)
                over = held is not None and work.snapshot.now - held > group.policy.drain_timeout
                stuck = spec.node in work.world.leaves(name) and work.steps[spec.name].phase == "running"
                if (
                    work.steps[spec.name].phase in ("running", "moving", "starting")
                    and not over
                    and not stuck
                ):
                    wanted[spec.name] = Protect(spec.name, name, True, spec.executors)
    result += [wanted[fragment] for fragment in sorted(set(wanted) - work.snapshot.protected)]
    owners = _owners(work)
    for fragment in sorted(work.snapshot.protected - set(wanted)):
        result.append(Protect(fragment, owners.get(fragment, ""), False))
    return result
