"""Plans one query against what runs: the exact program over given sites, made to fit capacities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.cost.latency import longest_path
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Problem
from weir_placement.network.dynamic_program import CostTable, Step, delivered, solve, tree
from weir_placement.network.ledger import TOLERANCE, Derivation, Ledger, flows, steps
from weir_placement.network.plan_space import PlanSpace

MAX_REPAIRS = 100
"""Programs solved for one query before it is given up as not fitting."""


@dataclass(frozen=True)
class SinglePlacement:
    """A query's plan tree over node indexes, its sink (-1: anywhere) and its own cost [bytes]."""

    space: PlanSpace
    root: Step
    sink: int
    cost: float


@dataclass(frozen=True)
class Refusal:
    """Why a query has no plan; `stuck`: one operator or flow fits nowhere even alone; `late`: a plan that all
    but its limit of latency allows."""

    reason: str
    stuck: bool = False
    late: SinglePlacement | None = None


def sinks_of(problem: Problem, space: PlanSpace) -> Ints:
    """Node indexes of the query's delivery nodes."""
    return np.array([problem.cluster.index[n] for n in space.query.deliver_to], np.int64)


def latencies(problem: Problem, sites: Ints) -> Floats:
    """Shape (C, C) [s] between sites."""
    network = problem.cluster.network
    group = network.group[sites]
    matrix = np.asarray(network.latency[group[:, None], group], float)
    every = np.arange(len(sites))
    matrix[every, every] = 0.0
    return matrix


def presence(ledger: Ledger, space: PlanSpace, sites: Ints, reuse: bool = True) -> tuple[Floats, Ints]:
    """Where streams are already: sources where they enter, advertised streams where they run, each
    (T, C) as `solve` wants it."""
    problem = ledger.problem
    index = problem.cluster.index
    present = np.full((space.ways.streams, len(sites)), np.inf)
    shared = np.full(present.shape, -1, np.int64)
    position = {n: i for i, n in enumerate(sites.tolist())}
    for stream, alias in space.aliases.items():
        for name in problem.streams[space.query.sources[alias]].origins:
            at = position.get(index.get(name, -1))
            if at is not None:
                present[stream, at] = 0.0
    if not reuse:
        return present, shared
    for stream, signature in enumerate(space.signatures):
        if signature in ledger.advertised:
            for node, running in ledger.advertised[signature].items():
                if node in position and translate(space, stream, running) is not None:
                    present[stream, position[node]] = 0.0
        if signature in ledger.arrivals:
            for node, origins in ledger.arrivals[signature].items():
                if node in position:
                    sources = (position[o] for o in origins if o in position)
                    shared[stream, position[node]] = next(
                        (o for o in sources if present[stream, o] == 0.0), -1
                    )
    return present, shared


def translate(space: PlanSpace, stream: int, running: Derivation) -> Step | None:
    """A running stream as a plan tree of this query's own ways; None when the query has no such way."""
    if stream in space.aliases:
        return Step(stream, running.node, -1)
    signatures = sorted(i.signature for i in running.inputs)
    for way in range(space.ways.start[stream], space.ways.start[stream + 1]):
        inputs = space.ways.inputs_of(way)
        if sorted(space.signatures[i] for i in inputs) != signatures:
            continue
        left = list(running.inputs)
        steps: list[Step] = []
        for i in inputs:
            match = next(r for r in left if r.signature == space.signatures[i])
            left.remove(match)
            below = translate(space, int(i), match)
            if below is not None:
                steps.append(below)
        if len(steps) == len(inputs):
            return Step(stream, running.node, way, tuple(steps))
    return None


def placing(ledger: Ledger, space: PlanSpace, sites: Ints, full: bool = False) -> Floats:
    """Shape (W, C): 0 where a way may run now, infinite elsewhere; `full` nodes may be exceeded."""
    problem = ledger.problem
    nodes = problem.cluster.nodes
    room, memory = ledger.cpu[sites] * (1 + TOLERANCE), ledger.memory[sites] * (1 + TOLERANCE)
    fits = (space.ways.cpu[:, None] <= room) & (space.ways.memory[:, None] <= memory)
    fits |= full & (room > -np.inf)
    open_ = ledger.schedulable[sites]
    if open_.all() and not problem.pinned and not problem.forbidden and not space.restricted:
        return np.where(fits, 0.0, np.inf)
    force = {p.operator: p.node for p in problem.in_force if p.query == space.query.name}
    name = space.query.name
    for way, recipe in enumerate(space.recipes):
        for op in recipe:
            key = f"{name}/{op.id}"
            banned = problem.forbidden.get(key, frozenset())
            pinned = problem.pinned.get(key)
            for i, site in enumerate(sites):
                at = nodes[site].name
                fits[way, i] &= (
                    (pinned is None or at == pinned)
                    and (not op.nodes or at in op.nodes)
                    and at not in banned
                    and (bool(open_[i]) or force.get(op.id) == at)
                )
    return np.where(fits, 0.0, np.inf)


def favour(problem: Problem, space: PlanSpace, sites: Ints, place: Floats, scale: float) -> None:
    """Breaks ties for the plan in force: elsewhere a way costs 1e-9 of the whole more."""
    force = {p.operator: p.node for p in problem.in_force if p.query == space.query.name}
    position = {int(n): i for i, n in enumerate(sites)}
    for way, recipe in enumerate(space.recipes):
        node = problem.cluster.index.get(force.get(recipe[0].id, ""), -1)
        place[way] += 1e-9 * scale
        if node in position:
            place[way, position[node]] -= 1e-9 * scale


def place_query(
    ledger: Ledger,
    space: PlanSpace,
    sites: Ints,
    reuse: bool = True,
    only: Mapping[int, int] | None = None,
) -> SinglePlacement | Refusal:
    """The cheapest plan over `sites` that fits, given what runs.

    The program sees every capacity against each operator and flow alone; where several of the
    query's own together are too much for a node or link, the lightest of them is kept off and the
    program runs again. With a latency limit, each second on the way is charged more and more until
    the limit holds.

    Args:
        sites: node indexes to consider; must hold origins and sinks.
        only: stream -> its one allowed way (a fixed join order).
    """
    problem = ledger.problem
    present, shared = presence(ledger, space, sites, reuse)
    place = placing(ledger, space, sites)
    if only is not None:
        for stream, way in only.items():
            others = np.arange(space.ways.start[stream], space.ways.start[stream + 1])
            place[others[others != way]] = np.inf
    latency = latencies(problem, sites)
    if problem.in_force:
        favour(problem, space, sites, place, float(space.ways.bytes_per_second.max() * latency.max()))
    position = {n: i for i, n in enumerate(sites.tolist())}
    sinks = np.array([position[s] for s in sinks_of(problem, space).tolist()], np.int64)
    limit = None  # asked for only when some flow does not fit: then it is wanted for all
    hurry = 0.0  # [bytes/s] added to every stream's weight, to shorten paths
    reason = ""
    for _ in range(MAX_REPAIRS):
        weight = space.ways.bytes_per_second + hurry
        table = solve(space.ways, latency, present, place, limit, shared, weight)
        cost, node, sink = delivered(table, sinks)
        if not np.isfinite(cost):
            return Refusal(reason or _blocked(ledger, space, sites, table), stuck=not reason)
        root = on_nodes(ledger, space, tree(table, space.ways, space.ways.streams - 1, node), sites.tolist())
        placed = SinglePlacement(space, root, -1 if sink < 0 else int(sites[sink]), cost)
        over = next(ledger.overloads(space, root, placed.sink), None)
        if over is not None:
            kind, at, reason = over
            if kind == "flow" and limit is None:
                limit = ledger.limit(sites)
                continue
            if not _keep_off(space, root, place, position, kind, at):
                return Refusal(reason)
            continue
        if space.query.max_latency < np.inf:
            path = longest_path(problem, query_plan(problem, placed))
            if path > space.query.max_latency * (1 + TOLERANCE):
                reason = (
                    f"the fastest plan found takes {path:.6g} s, the limit is {space.query.max_latency:.6g} s"
                )
                if hurry > 1e9 * max(1.0, float(space.ways.bytes_per_second.max())):
                    return Refusal(reason, late=placed)
                hurry = max(hurry * 2.0, 1e-3 * float(space.ways.bytes_per_second.max()), 1e-9)
                continue
        return placed
    return Refusal(reason)


def on_nodes(ledger: Ledger, space: PlanSpace, step: Step, sites: Sequence[int]) -> Step:
    """A tree over sites as one over nodes, reused streams written out with all that they are made from."""
    node = sites[step.node]
    if step.way < 0 and step.stream not in space.aliases:
        running = ledger.advertised[space.signatures[step.stream]][node]
        translated = translate(space, step.stream, running)
        assert translated is not None, "a stream is advertised to a query only if it can be translated"
        return translated
    return Step(step.stream, node, step.way, tuple([on_nodes(ledger, space, i, sites) for i in step.inputs]))


def _keep_off(
    space: PlanSpace, root: Step, place: Floats, position: Mapping[int, int], kind: str, node: int
) -> bool:
    """Forbids a node to the lightest way placed there; whether there was one."""
    loads = space.ways.memory if kind == "memory" else space.ways.cpu
    there = [
        s for s in steps(root) if s.node == node and s.way >= 0 and np.isfinite(place[s.way, position[node]])
    ]
    if not there:
        return False
    lightest = min(there, key=lambda s: (float(loads[s.way]), s.way))
    place[lightest.way, position[node]] = np.inf
    return True


def _blocked(ledger: Ledger, space: PlanSpace, sites: Ints, table: CostTable) -> str:
    """Which stream cannot be made anywhere, and the capacity that is short."""
    for t in range(space.ways.streams):
        if np.isfinite(table.available[t]).any():
            continue
        if t in space.aliases:
            return f"stream {space.signatures[t]} enters at no node of the cluster"
        ways = range(space.ways.start[t], space.ways.start[t + 1])
        below = {int(i) for w in ways for i in space.ways.inputs_of(w)}
        if any(not np.isfinite(table.available[i]).any() for i in below):
            continue
        op = space.recipes[ways[0]][0].id
        cpu, memory = min(space.ways.cpu[w] for w in ways), min(space.ways.memory[w] for w in ways)
        best = int(sites[np.argmax(ledger.cpu[sites])])
        name = ledger.problem.cluster.nodes[best].name
        return (
            f"operator {space.query.name}/{op} fits no node: it needs {cpu:.6g} CPU-us/s and "
            f"{memory:.6g} bytes; the most free CPU is {ledger.cpu[best]:.6g} CPU-us/s on node {name} "
            f"with {ledger.memory[best]:.6g} bytes free"
        )
    return f"query {space.query.name}: no path with enough bandwidth from its sources to its sink"


def query_plan(problem: Problem, placed: SinglePlacement, ledger: Ledger | None = None) -> QueryPlan:
    """The placement as the model's plan; with a ledger it says what other plans there share."""
    cluster = problem.cluster.nodes
    operators, nodes, origins = placed.space.operators(placed.root)
    shared = {}
    if ledger is not None:
        keys = placed.space.operator_keys(placed.root)
        users = {op: ledger.operators.get((keys[op][0], node), 0) for op, node in nodes.items()}
        shared = {op: f"{keys[op][0]}:{keys[op][1]}@{nodes[op]}" for op in nodes if users[op] > 1}
    return QueryPlan(
        query=replace(placed.space.query, operators=operators),
        nodes={op: cluster[n].name for op, n in nodes.items()},
        origins={alias: cluster[n].name for alias, n in origins.items()},
        sink="" if placed.sink < 0 else cluster[placed.sink].name,
        shared=shared,
    )


def accept(ledger: Ledger, space: PlanSpace, root: Step, sinks: Ints) -> SinglePlacement | Refusal:
    """A plan tree as a placement with its cheapest sink, if it fits what is free."""
    network = ledger.network
    sink = min((int(s) for s in sinks), key=lambda s: (network.link_latency(root.node, s), s), default=-1)
    over = next(ledger.overloads(space, root, sink), None)
    if over is not None:
        return Refusal(over[2])
    cost = sum(rate * network.link_latency(a, b) for (_, a, b), rate in flows(space, root, sink))
    placed = SinglePlacement(space, root, sink, cost)
    if space.query.max_latency < np.inf:
        path = longest_path(ledger.problem, query_plan(ledger.problem, placed))
        if path > space.query.max_latency * (1 + TOLERANCE):
            reason = f"the plan takes {path:.6g} s, the limit is {space.query.max_latency:.6g} s"
            return Refusal(reason, late=placed)
    return placed
