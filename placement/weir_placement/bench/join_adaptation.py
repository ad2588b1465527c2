"""The adaptive experiment of NOS (section 5) in simulation: one stream's rate goes up and down.

Time goes in steps of 10 ms. What a plan costs in a step is what equations 1 and 2 say for the rates of that
step and for what the windows have in them then. Tuples come evenly spaced, as those of the paper's data
generator, with a random phase a stream and run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from weir_placement.joins.agent import agents_of
from weir_placement.joins.central import CentralUpdate, central_update, synchronisation_messages
from weir_placement.joins.delivery import Traffic, deliver, message_bytes
from weir_placement.joins.greedy import nos_greedy
from weir_placement.joins.messages import Letter, WindowContent
from weir_placement.joins.plan import plan_cost
from weir_placement.joins.streams import JoinStream, MultiwayJoin, StepCosts, windowed

STEP = 0.01
UNTIL = 9.5
WINDOW = 0.5
SIZE = 150.0
SELECTIVITY = 0.01
LOW, USUAL, HIGH = 50.0, 100.0, 200.0
FIRST_CHANGE, HALF_PERIOD = 1.5, 2.0
MEASURED_EVERY = 0.2
MEASURED_OVER = 0.1
THRESHOLD = 0.2
CHANGING = 1
CENTRE = 0
OPERATOR_NUMBERS = 4
"""A kind, a stream, its head and a node."""


def costs(probe: float = 1e-6) -> StepCosts:
    """1024 kbit/s and 5 ms as in section 5; NOS does not print c_p and c_u, which are alike here [s]."""
    return StepCosts(probe, probe, 0.005, 1_024_000 / 8)


def rate_at(time: float) -> float:
    """[tuples/s] of the changing stream."""
    return HIGH if time >= FIRST_CHANGE and int((time - FIRST_CHANGE) / HALF_PERIOD) % 2 == 0 else LOW


def arrivals(phase: float) -> list[float]:
    """Times [s] of the changing stream's tuples from one window before 0, evenly spaced at each rate."""
    times, due, step = [], phase, 1e-4
    for number in range(int(-WINDOW / step), int(UNTIL / step)):
        due += rate_at(number * step) * step
        if due >= 1.0:
            times.append(number * step)
            due -= 1.0
    return times


def count(times: Sequence[float], begin: float, end: float) -> int:
    """How many of the ascending times are in (begin, end]."""
    return bisect_right(times, end) - bisect_right(times, begin)


@dataclass(frozen=True)
class Situation:
    """The join as it is at each step: true rates, windows with what is in them."""

    width: int
    costs: StepCosts
    times: tuple[float, ...]

    def at(self, time: float) -> MultiwayJoin:
        """The statistics at a time [s]."""
        window = float(count(self.times, time - WINDOW, time))
        return self._join(JoinStream(f"S{CHANGING + 1}", rate_at(time), SELECTIVITY, SIZE, window))

    def measured(self, time: float) -> JoinStream:
        """What the changing stream's node makes of the last 100 ms; the window is what it will come to."""
        rate = count(self.times, time - MEASURED_OVER, time) / MEASURED_OVER
        return windowed(f"S{CHANGING + 1}", rate, SELECTIVITY, SIZE, WINDOW)

    def _join(self, changing: JoinStream) -> MultiwayJoin:
        others = [windowed(f"S{k + 1}", USUAL, SELECTIVITY, SIZE, WINDOW) for k in range(self.width)]
        return MultiwayJoin((*others[:CHANGING], changing, *others[CHANGING + 1 :]), self.costs)


def situation(width: int, seed: int, probe: float = 1e-6) -> Situation:
    """One run's arrivals."""
    return Situation(width, costs(probe), tuple(arrivals(Random(seed).random())))


@dataclass(frozen=True)
class Overhead:
    """One change of the plan: seconds that all nodes and links together spend, and how long it takes [s]."""

    time: float
    rises: bool
    modification: float
    migration: float
    windows: float
    elapsed: float
    messages: int

    @property
    def total(self) -> float:
        """[s], windows that are copied included."""
        return self.modification + self.migration + self.windows


@dataclass
class Course:
    """A run: [s/s] at each step for the plan in force, and what the changes took."""

    cost: list[float] = field(default_factory=list)
    overheads: list[Overhead] = field(default_factory=list)


def fixed_and_foreseeing(run: Situation) -> tuple[list[float], list[float]]:
    """[s/s] of the first plan kept, and of Algorithm 1's plan for each step's true statistics."""
    first = nos_greedy(run.at(0.0))
    joins = [run.at(STEP * number) for number in range(round(UNTIL / STEP))]
    return [plan_cost(join, first) for join in joins], [plan_cost(join, nos_greedy(join)) for join in joins]


def adaptive(run: Situation, *, central: bool, offset: float = 0.0) -> Course:
    """The plan follows what is measured every 200 ms, from `offset` [s] on; one change at a time."""
    join = run.at(0.0)
    plan = nos_greedy(join)
    agents = agents_of(join, plan, THRESHOLD)
    course, following, ready, every = Course(), plan, 0.0, round(MEASURED_EVERY / STEP)
    for number in range(round(UNTIL / STEP)):
        time = number * STEP
        if time >= ready:
            plan = following
        if number and (number - round(offset / STEP)) % every == 0 and plan == following:
            measured = run.measured(time)
            letters = agents[CHANGING].observe(measured)
            if letters:
                rises = measured.rate > join.streams[CHANGING].rate
                join = join.changed(CHANGING, measured)
                update = central_update(join, plan, CHANGING, CENTRE)
                traffic = deliver(agents, letters, _seconds_on(run.at(time)))
                following = tuple(agent.sep for agent in agents)
                if following != plan:
                    overhead = (
                        _central_overhead(run.at(time), update, time, rises)
                        if central
                        else _distributed_overhead(run.at(time), traffic, time, rises)
                    )
                    course.overheads.append(overhead)
                    ready = time + overhead.elapsed
        course.cost.append(plan_cost(run.at(time), plan))
    return course


def shipped(join: MultiwayJoin, size: float) -> float:
    """[s], T(size) of one message or window."""
    return join.costs.latency + size / join.costs.bandwidth


def window_seconds(join: MultiwayJoin, stream: int) -> float:
    """[s] to copy what is in a window over one link."""
    return shipped(join, join.streams[stream].window * join.streams[stream].size)


def _seconds_on(join: MultiwayJoin) -> Callable[[Letter], float]:
    def seconds(letter: Letter) -> float:
        if isinstance(letter.body, WindowContent):
            return window_seconds(join, letter.body.stream)
        return shipped(join, message_bytes(letter.body))

    return seconds


def _distributed_overhead(join: MultiwayJoin, traffic: Traffic, time: float, rises: bool) -> Overhead:
    return Overhead(
        time,
        rises,
        sum(shipped(join, size) for size in traffic.modification_sizes),
        sum(shipped(join, size) for size in traffic.migration_sizes),
        sum(window_seconds(join, stream) for stream, _, _ in traffic.windows),
        traffic.elapsed,
        traffic.total,
    )


def _central_overhead(join: MultiwayJoin, update: CentralUpdate, time: float, rises: bool) -> Overhead:
    """The same synchronisation through a coordinator, so that only the update differs."""
    report = shipped(join, message_bytes((0.0,) * 4))
    small = shipped(join, message_bytes(0))
    sets = [
        shipped(join, message_bytes((0,) * OPERATOR_NUMBERS * len(update.operators[node])))
        for node in update.affected
        if node != CENTRE
    ]
    windows = [window_seconds(join, stream) for stream, _, _ in update.windows]
    synchronisation = synchronisation_messages(len(update.affected), all_to_all=False)
    return Overhead(
        time,
        rises,
        report + sum(sets),
        small * (update.requests + synchronisation),
        sum(windows),
        report + max(sets, default=0.0) + small + max(windows, default=0.0) + 2 * small,
        update.messages(all_to_all=False),
    )
