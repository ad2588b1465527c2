"""A plan with more fragments than its budgets allow is brought within them.

Neighbouring fragments are put together, each time the two whose union leaves the best plan; where that ends
too early, and as another start, queries get the fewest fragments that they can have (`compact`). Then
fragments and operators move as long as that makes the plan better, and the better end is taken. Plans are
compared as `cost.evaluation` judges them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import perf_counter

from weir_placement.budget.compact import fewest_fragments
from weir_placement.cost.allowed import allowed_nodes
from weir_placement.cost.budget import exceeded, fits, fragments_of, requested, shortages
from weir_placement.cost.evaluation import Evaluation, evaluate
from weir_placement.cost.flows import fragment_ends, readers
from weir_placement.fragments import groups_of
from weir_placement.model.cluster import REFERENCE_CORE, Node
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Problem, Query
from weir_placement.objectives import Objective

NODES = 8
"""Nodes tried for a fragment beside the present ones: the emptiest of those that it may use."""
ROUNDS = 20
"""Moves, at most, that make a plan better once it fits."""
GAIN = 1e-9
FLOOR = 0.01
"""Share of a node that is taken to be free, however much the queries of other budgets load it."""
HUGE = 1e300


@dataclass
class Fitting:
    """Puts fragments together until the budgets are kept."""

    problem: Problem
    objective: Objective
    deadline: float
    evaluations: int = 0

    def fit(self, plan: Plan) -> Plan | dict[str, str]:
        """The plan within its budgets, or the least important query that must go, with the reason."""
        whole = plan
        while over := exceeded(self.problem, whole):
            names = frozenset(q.query.name for q in whole.queries if q.query.name in over[0].each)
            part = Plan(tuple(q for q in whole.queries if q.query.name in names))
            beside = self._beside(whole, names)
            starts = [self._compact(beside, part)]
            if fewer := self._fewer(beside, part):
                starts.append(fewer)
            ends = [self._better(beside, start) for start in starts]
            fitted = max(ends, key=lambda end: (not exceeded(beside, end), self._rank(beside, end)))
            changed = {q.query.name: q for q in fitted.queries}
            whole = replace(whole, queries=tuple(changed.get(q.query.name, q) for q in whole.queries))
            reasons = self._wrong(evaluate(replace(self.problem, budgets=()), whole))
            if reasons or exceeded(beside, fitted):
                text = "; ".join(
                    [*map(str, shortages(self.problem, plan)), *(f"with fewer: {r}" for r in reasons)]
                )
                return {_by_importance(part)[-1].name: text}
        return whole

    def _beside(self, plan: Plan, names: frozenset[str]) -> Problem:
        """The problem of these queries alone, on what the others leave of the nodes at the profile."""
        problem = replace(self.problem, queries=tuple(q for q in self.problem.queries if q.name in names))
        others = Plan(tuple(q for q in plan.queries if q.query.name not in names))
        if not others.queries:
            return problem
        loads = evaluate(replace(self.problem, budgets=()), others).loads

        def left(node: Node) -> Node:
            if node.name not in loads:
                return node
            used = loads[node.name]
            cpu = max(FLOOR * node.cpu, node.cpu - used.cpu(1.0) / (REFERENCE_CORE * node.speed))
            memory = max(FLOOR * node.memory, node.memory - used.memory(1.0))
            return replace(node, cpu=cpu, memory=memory)

        nodes = tuple(left(node) for node in problem.cluster.nodes)
        return replace(problem, cluster=replace(problem.cluster, nodes=nodes))

    def _fewer(self, problem: Problem, plan: Plan) -> Plan | None:
        """Neighbours put together, one pair after the other; None when no pair is left that could be."""
        while exceeded(problem, plan):
            best = self._best(problem, plan, self._unions(problem, plan))
            if best is None or perf_counter() > self.deadline:
                return None
            plan = best
        return plan

    def _compact(self, problem: Problem, plan: Plan) -> Plan:
        """The least important queries with the fewest fragments that they can have, until it fits."""
        placed = {q.query.name: q for q in plan.queries}
        written = {query.name: query for query in problem.queries}
        fragments = fragments_of(plan)
        for query in reversed(_by_importance(plan)):
            if all(fits(b, requested(b, fragments)) for b in problem.budgets):
                break
            placed[query.name] = fewest_fragments(problem, written[query.name])
            fragments[query.name] = len(fragment_ends(placed[query.name]))
        return Plan(tuple(placed.values()))

    def _better(self, problem: Problem, plan: Plan) -> Plan:
        """Fragments and operators moved while that makes the plan better."""
        rank = self._rank(problem, plan)
        for _ in range(ROUNDS):
            if perf_counter() > self.deadline:
                break
            moved = self._best(problem, plan, self._moves(problem, plan))
            if moved is None or exceeded(problem, moved):
                break
            better = self._rank(problem, moved)
            if not (_above(better[0], rank[0]) or (better[0] >= rank[0] and _above(better[1], rank[1]))):
                break
            plan, rank = moved, better
        return plan

    def _best(self, problem: Problem, plan: Plan, others: Iterable[QueryPlan]) -> Plan | None:
        """Of the plans with one query placed otherwise, that can be carried out."""
        best: tuple[tuple[float, float], Plan] | None = None
        for other in others:
            changed = Plan(tuple(other if q.query.name == other.query.name else q for q in plan.queries))
            rank = self._rank(problem, changed)
            if rank[0] > -HUGE and (best is None or rank > best[0]):
                best = rank, changed
            if perf_counter() > self.deadline:
                break
        return best[1] if best else None

    def _wrong(self, evaluation: Evaluation) -> tuple[str, ...]:
        """What keeps a plan from being carried out; if its value is that at the profile, it must carry it."""
        if self.objective.at_profile and evaluation.feasible and evaluation.rank < 1 - GAIN:
            return (str(evaluation.binding),)
        return tuple(map(str, evaluation.reasons))

    def _rank(self, problem: Problem, plan: Plan) -> tuple[float, float]:
        self.evaluations += 1
        evaluation = evaluate(replace(problem, budgets=()), plan)
        if self._wrong(evaluation):
            return -HUGE, 0.0
        value, tie = self.objective.rank(evaluation)
        return min(value, HUGE), min(tie, HUGE)

    def _unions(self, problem: Problem, plan: Plan) -> Iterator[QueryPlan]:
        """Two neighbouring fragments on one node, so that there is one less."""
        free = _free(problem, plan)
        for placed in (q for q in plan.queries if not q.shared):
            before = len(fragment_ends(placed))
            for operators in _pairs(placed):
                for node in _nodes(problem, placed, operators, free):
                    changed = _moved(problem, placed, operators, node)
                    if len(fragment_ends(changed)) < before:
                        yield changed

    def _moves(self, problem: Problem, plan: Plan) -> Iterator[QueryPlan]:
        """One fragment or operator elsewhere, with no more fragments than there are."""
        free = _free(problem, plan)
        for placed in (q for q in plan.queries if not q.shared):
            before = len(fragment_ends(placed))
            groups = [frozenset(op.id for op in members) for members in groups_of(placed).values()]
            single = [frozenset({op.id}) for op in placed.query.operators]
            for operators in dict.fromkeys([*groups, *single]):
                for node in _nodes(problem, placed, operators, free):
                    changed = _moved(problem, placed, operators, node)
                    if changed != placed and len(fragment_ends(changed)) <= before:
                        yield changed


def _above(value: float, other: float) -> bool:
    return value > other + GAIN * abs(other)


def _by_importance(plan: Plan) -> list[Query]:
    """The queries of a plan by falling priority."""
    return sorted((placed.query for placed in plan.queries), key=lambda q: (-q.priority, q.name))


def _pairs(placed: QueryPlan) -> Iterator[frozenset[str]]:
    """The operators of each two fragments of which one alone reads the other."""
    groups = groups_of(placed)
    of = {op.id: last for last, members in groups.items() for op in members}
    consumers = readers(placed.query)
    for last, members in groups.items():
        following = {of[op.id] for op in consumers[last]}
        if len(following) == 1:
            yield frozenset(op.id for op in (*members, *groups[following.pop()]))


def _free(problem: Problem, plan: Plan) -> dict[str, float]:
    """CPU that is left of each node."""
    loads = evaluate(replace(problem, budgets=()), plan).loads
    nodes = problem.cluster.nodes
    return {n.name: n.cpu_capacity - (loads[n.name].cpu(1.0) if n.name in loads else 0.0) for n in nodes}


def _nodes(
    problem: Problem, placed: QueryPlan, operators: frozenset[str], free: Mapping[str, float]
) -> list[str]:
    """Where all of some operators may run: the present nodes, then the emptiest others."""
    members = [op for op in placed.query.operators if op.id in operators]
    allowed = set.intersection(*(set(allowed_nodes(problem, placed.query, op)) for op in members))
    present = {placed.nodes[op] for op in operators} & allowed
    others = sorted(allowed - present, key=lambda n: (-free[n], n))
    return [*sorted(present), *others[:NODES]]


def _moved(problem: Problem, placed: QueryPlan, operators: frozenset[str], node: str) -> QueryPlan:
    """Operators on one node; streams that enter there, and rows that may be delivered there, go nowhere."""
    query = placed.query
    origins = dict(placed.origins)
    for alias, stream in query.sources.items():
        consumers = {op.id for op in query.operators if alias in op.inputs}
        if consumers <= operators and node in problem.streams[stream].origins:
            origins[alias] = node
    last = query.operators[-1].id
    sink = node if last in operators and node in query.deliver_to else placed.sink
    nodes = {op: node if op in operators else at for op, at in placed.nodes.items()}
    return replace(placed, nodes=nodes, origins=origins, sink=sink)
