"""The best choice of one plan a query among plans that are known: an integer program, solved by CP-SAT.

The relaxation's rounds leave several plans of each query, cheap at different shares and prices.
Chosen together they share flows and operators, and must fit the capacities: what planning one query
after the other cannot see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from weir_placement.model.problem import Problem
from weir_placement.network.ledger import TOLERANCE, FlowKey, Ledger, flows, steps
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.single import SinglePlacement, accept, sinks_of

SCALE = 10_000_000
"""Costs and loads as whole numbers: of the largest cost, of a capacity."""


def candidates(
    problem: Problem, space: PlanSpace, placements: Sequence[SinglePlacement]
) -> list[SinglePlacement]:
    """Those that would fit an empty cluster and keep the query's latency limit."""
    empty = Ledger(problem)
    sinks = sinks_of(problem, space)
    alone = (accept(empty, space, placed.root, sinks) for placed in placements)
    return [placed for placed in alone if isinstance(placed, SinglePlacement)]


def recombine(
    problem: Problem, choices: Mapping[str, Sequence[SinglePlacement]], seconds: float, seed: int
) -> dict[str, SinglePlacement] | None:
    """One placement of each query, the least network usage of all together within every capacity.

    The first of a query's choices is where the search starts. None when nothing fits in the time;
    CP-SAT's own limit is deterministic work, `seconds` of it, so that a run can be repeated.
    """
    from ortools.sat.python import cp_model  # takes about a second to load, and is seldom needed

    model = cp_model.CpModel()
    network = problem.cluster.network
    chosen: dict[str, list[cp_model.IntVar]] = {}
    carried: dict[FlowKey, tuple[cp_model.IntVar, float]] = {}
    running: dict[tuple[str, int], tuple[cp_model.IntVar, float, float]] = {}
    for name, placements in choices.items():
        chosen[name] = [model.new_bool_var("") for _ in placements]
        model.add_exactly_one(chosen[name])
        for n, (choice, placed) in enumerate(zip(chosen[name], placements, strict=True)):
            model.add_hint(choice, n == 0)
            for key, rate in dict(flows(placed.space, placed.root, placed.sink)).items():
                if key not in carried:
                    carried[key] = model.new_bool_var(""), rate
                model.add_implication(choice, carried[key][0])
            for step in steps(placed.root):
                if step.way < 0:
                    continue
                at = placed.space.signatures[step.stream], step.node
                ways = placed.space.ways
                cpu, memory = float(ways.cpu[step.way]), float(ways.memory[step.way])
                if at in running:
                    there, other_cpu, other_memory = running[at]
                    running[at] = there, max(cpu, other_cpu), max(memory, other_memory)
                else:
                    running[at] = model.new_bool_var(""), cpu, memory
                model.add_implication(choice, running[at][0])
    loads: dict[tuple[str, int, int], list[tuple[cp_model.IntVar, float]]] = {}
    for (_, a, b), (flow, rate) in carried.items():
        for key in (("egress", a, 0), ("ingress", b, 0), ("link", a, b)):
            loads.setdefault(key, []).append((flow, rate))
    for (_, node), (there, cpu, memory) in running.items():
        loads.setdefault(("cpu", node, 0), []).append((there, cpu))
        loads.setdefault(("memory", node, 0), []).append((there, memory))
    for (kind, a, b), parts in loads.items():
        room = _capacity(problem, kind, a, b)
        if isfinite(room) and sum(load for _, load in parts) > room:
            fit = int(SCALE * (1 + TOLERANCE))
            model.add(sum(int(SCALE * load / room) * at for at, load in parts if load > 0) <= fit)
    costs = {key: rate * network.link_latency(key[1], key[2]) for key, (_, rate) in carried.items()}
    largest = max(costs.values(), default=0.0) or 1.0
    model.minimize(sum(round(SCALE * costs[key] / largest) * at for key, (at, _) in carried.items()))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = seconds
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return {
        name: next(p for p, at in zip(placements, chosen[name], strict=True) if solver.value(at))
        for name, placements in choices.items()
    }


def _capacity(problem: Problem, kind: str, a: int, b: int) -> float:
    node = problem.cluster.nodes[a]
    if kind == "link":
        return problem.cluster.network.link_bandwidth(a, b)
    return {"cpu": node.cpu_capacity, "memory": node.memory, "egress": node.egress, "ingress": node.ingress}[
        kind
    ]
