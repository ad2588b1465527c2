"""The distributed update of node operator sets: one agent a node (NOS, Algorithm 3, sections 4.2.2 and 4.3).

An agent holds the statistics of its own stream, its own SEP's order and bits, its own step and role in each
other SEP, and nothing of the others; what it learns of them is in messages. For each SEP the node whose
statistics changed (the trigger) tells the head's node, a Search asks the earlier streams where the trigger's
stream has become cheaper than they are, and a Walk verifies the rest of the order until no stream is cheaper
than one before it.

Where this is not Algorithm 3 as it is printed ("the mend": a selection sort from the first step that may have
changed, equal costs by index):

- Line 3 asks only whether C(k-1, k) has increased. Another f_k, or t_k where the flow is shipped, leaves it
  as it is and changes what later steps carry; the head's own rate is in no C(k-1, k) of its SEP at all.
  Counterexample: in the SEP of A with (rate, f, t, w) = (50, 0.01, 200, 50), order D, B, C with
  D (50, 0.01, 100, 100), B as A, C (200, 0.01, 200, 50), A's rate halves: B is cheaper than D from then on,
  and no line of the algorithm notices. Here every change walks: from the first step for the head's stream,
  else from its own step or the one after it.
- A cost that has increased at step k may have decreased at an earlier one (a higher rate, a smaller window):
  line 3 then asks later streams only. Here the earlier ones are asked unless rate, size and window all have
  grown or stayed.
- Lines 6 and 14 leave r undefined where no stream is cheaper, so line 18 has nowhere to start. Here r is k.
- A stream is inserted, not swapped, which leaves the order of the others as it was; sorted it is the same.

tests/joins/test_mend.py has the counterexamples. Messages: a SEP is searched once, walked at most m - 1
times over at most m links, and handed out once: O(m^3) for all SEPs.
"""

from __future__ import annotations

from collections.abc import Sequence

from weir_placement.joins.messages import (
    Body,
    Changed,
    Letter,
    Report,
    Rival,
    RoleChange,
    Search,
    Settled,
    SettledStep,
    Walk,
)
from weir_placement.joins.migration import Migration
from weir_placement.joins.operators import Role, roles_of
from weir_placement.joins.plan import JoinExecutionPlan, Sep, flows
from weir_placement.joins.streams import JoinStream, MultiwayJoin, Partial, StepCosts, source, step_cost


class Agent:
    """One node with its stream.

    Attributes:
        node: its index, which is its stream's.
        stream: the statistics that it last acted on; later ones below the threshold are not in them.
        costs: what work and links cost, the same everywhere.
        sep: its own stream's execution plan.
        steps: its stream's step in each other SEP, by head.
        threshold: [fraction], see `observe`.
        migration: its part of the switch from old to new sets, with the operators in force.
    """

    def __init__(
        self,
        node: int,
        stream: JoinStream,
        costs: StepCosts,
        sep: Sep,
        steps: dict[int, SettledStep],
        roles: dict[int, Role],
        threshold: float = 0.0,
    ) -> None:
        self.node, self.stream, self.costs, self.sep = node, stream, costs, sep
        self.steps, self.threshold = dict(steps), threshold
        self.migration = Migration(node, roles)

    def observe(self, stream: JoinStream) -> list[Letter]:
        """Acts on new statistics of the own stream if they matter: O(m) messages to begin with.

        They matter when one of them has moved by more than `threshold`, relative to what was last acted on,
        or the cost of this stream's step in another SEP has, or what the flow is after it (section 4.2: "the
        change in the execution cost at a node exceeds the threshold"; two statistics may multiply in a cost).
        """
        if not self._matters(stream):
            return []
        old, self.stream = self.stream, stream
        self.migration.coordinate(len(self.steps) + 1)
        letters = []
        for head, step in self.steps.items():
            cost, bit = step_cost(step.before, stream, self.costs)
            self.steps[head] = now = step._replace(cost=cost, bit=bit)
            rises = stream.rate >= old.rate and stream.size >= old.size and stream.window >= old.window
            letters.append(self._to(head, Changed(head, self.node, stream, now, cost > step.cost, rises)))
        return letters + self._walked(Walk(self.node, self.node, self.sep.order, 0, (), source(stream)))

    def receive(self, letter: Letter) -> list[Letter]:
        """What a message makes this node send; also to itself, which costs nothing.

        Raises:
            TypeError: a kind of message that no agent sends.
        """
        match letter.body:
            case Changed() as changed:
                return self._rearrange(changed)
            case Search() as search:
                return self._compare(search)
            case Walk() as walk:
                return self._visit(walk)
            case Settled(walk):
                return self._adopt(walk)
            case RoleChange() as change:
                if change.step is not None:
                    self.steps[change.role.head] = change.step
                return self.migration.role_changed(change)
            case other:
                return self.migration.receive(letter.sender, other)

    def _matters(self, stream: JoinStream) -> bool:
        pairs = list(zip(_statistics(self.stream), _statistics(stream), strict=True))
        for arriving in (step.before for step in self.steps.values()):
            pairs += zip(arriving.joined(self.stream), arriving.joined(stream), strict=True)
            was, now = (step_cost(arriving, s, self.costs).cost for s in (self.stream, stream))
            pairs.append((was, now))
        return any(abs(now - was) > self.threshold * abs(was) for was, now in pairs)

    def _rearrange(self, changed: Changed) -> list[Letter]:
        """At the head's node: where to begin, from its own order (algorithm 3, lines 3 to 18)."""
        order, step = self.sep.order, changed.step
        position = order.index(changed.stream)
        after = order[position + 1 :]
        if changed.dearer and after:
            walk = Walk(self.node, changed.stream, (*after, changed.stream), 0, (), step.before)
        else:
            flow = step.before.joined(changed.mover)
            walk = Walk(self.node, changed.stream, (changed.stream, *after), 1, (step,), flow)
        if changed.rises_only or position == 0:
            return self._walked(walk)
        return [self._to(order[0], Search(changed.mover, order[:position], 0, walk))]

    def _compare(self, search: Search) -> list[Letter]:
        """At an earlier stream's node: is the mover cheaper in this place?"""
        walk, own = search.otherwise, self.steps[search.otherwise.head]
        cost, bit = step_cost(own.before, search.mover, self.costs)
        if (cost, walk.trigger) < (own.cost, self.node):
            later = tuple(stream for stream in walk.order if stream != walk.trigger)
            order = (walk.trigger, *search.earlier[search.at :], *later)
            step = SettledStep(walk.trigger, own.before, cost, bit)
            return self._visit(
                Walk(walk.head, walk.trigger, order, 1, (step,), own.before.joined(search.mover))
            )
        if search.at + 1 < len(search.earlier):
            following = search.earlier[search.at + 1]
            return [self._to(following, Search(search.mover, search.earlier, search.at + 1, walk))]
        return self._walked(walk)

    def _visit(self, walk: Walk) -> list[Letter]:
        """At a later stream's node: is it cheaper at a step before? If none has been, here is its place."""
        placed, flow, rival = walk.placed, walk.flow, self._rival(walk)
        if rival is None:
            self.steps[walk.head] = step = self._step(flow)
            placed, flow = (*placed, step), flow.joined(self.stream)
        return self._walked(Walk(walk.head, walk.trigger, walk.order, walk.at + 1, placed, flow, rival))

    def _rival(self, walk: Walk) -> Rival | None:
        for position, step in enumerate(walk.placed):
            if walk.rival and position > walk.rival.position:
                break
            cost = step_cost(step.before, self.stream, self.costs).cost
            leader = step if not walk.rival or position < walk.rival.position else walk.rival
            if (cost, self.node) < (leader.cost, leader.stream):
                return Rival(position, cost, self.node)
        return walk.rival

    def _step(self, flow: Partial) -> SettledStep:
        cost, bit = step_cost(flow, self.stream, self.costs)
        return SettledStep(self.node, flow, cost, bit)

    def _walked(self, walk: Walk) -> list[Letter]:
        """On to the next node, or again from the place that the rival takes, or done."""
        if walk.at < len(walk.order):
            return [self._to(walk.order[walk.at], walk)]
        if walk.rival is None:
            return [self._to(walk.head, Settled(walk))]
        position, _, winner = walk.rival
        rest = tuple(stream for stream in walk.order[position:] if stream != winner)
        order = (*walk.order[:position], winner, *rest)
        before = walk.placed[position].before
        again = Walk(walk.head, walk.trigger, order, position, walk.placed[:position], before)
        return [self._to(winner, again)]

    def _adopt(self, walk: Walk) -> list[Letter]:
        """At the head's node: the new SEP, and to each node its new role (algorithm 3, steps 2 and 3)."""
        old, prefix = self.sep, len(self.sep.order) - len(walk.order)
        bits = (*old.bits[:prefix], *(step.bit for step in walk.placed))
        self.sep = Sep(self.node, (*old.order[:prefix], *walk.order), bits)
        moved = (
            walk.trigger != old.order[prefix] and walk.trigger == walk.order[0]
        )  # by a search, without a visit
        places = _window_places(old)
        changes: dict[int, RoleChange] = {}
        for node, (was, now) in enumerate(zip(roles_of(old), roles_of(self.sep), strict=True)):
            step = walk.placed[0] if moved and node == walk.trigger else None
            if was != now or step:
                windows = tuple((s, places[s]) for s in now.joins if s not in was.joins)
                changes[node] = RoleChange(walk.trigger, now, step, windows)
        letters = [self._to(node, change) for node, change in changes.items()]
        return [*letters, self._to(walk.trigger, Report(self.node, tuple(changes)))]

    def _to(self, receiver: int, body: Body) -> Letter:
        return Letter(self.node, receiver, body)


def _statistics(stream: JoinStream) -> tuple[float, float, float, float]:
    return stream.rate, stream.selectivity, stream.size, stream.window


def _window_places(sep: Sep) -> dict[int, int]:
    return {stream: node for node, role in enumerate(roles_of(sep)) for stream in role.joins}


def agents_of(join: MultiwayJoin, plan: JoinExecutionPlan, threshold: float = 0.0) -> list[Agent]:
    """The agents after the first plan was handed out (section 3): each gets only its own role. O(m^3)."""
    steps: list[dict[int, SettledStep]] = [{} for _ in plan]
    for sep in plan:
        for flow, stream in zip(flows(join, sep), sep.order, strict=False):
            cost, bit = step_cost(flow, join.streams[stream], join.costs)
            steps[stream][sep.head] = SettledStep(stream, flow, cost, bit)
    roles: Sequence[tuple[Role, ...]] = [roles_of(sep) for sep in plan]
    return [
        Agent(
            node,
            join.streams[node],
            join.costs,
            plan[node],
            steps[node],
            {head: by_node[node] for head, by_node in enumerate(roles)},
            threshold,
        )
        for node in range(join.width)
    ]
