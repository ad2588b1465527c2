"""Drift on the flights example: only what must move moves, after the hold time, outside the cooldown."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from weir_operator.controller.desired_state import DesiredState, Group
from weir_operator.controller.group_replan import GroupReplan
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.record import Record
from weir_operator.controller.refusal_memory import RefusalMemory
from weir_operator.controller.replan import replan
from weir_operator.local.machine import Machine, Options
from weir_placement.fragments import Knobs

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"
MANIFESTS = tuple(str(FLIGHTS / f"{name}.yaml") for name in ("streams", "queries", "cluster", "policy"))


@dataclass
class DriftStory:
    """Rounds at given times under given rates; records are carried from one to the next."""

    group: Group
    desired: DesiredState
    records: dict[str, Record] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    memory: RefusalMemory = field(default_factory=RefusalMemory)

    def round(self, at: float, load: float) -> GroupReplan:
        """`load` [rows/s] of departures and of arrivals; 0: nothing was measured."""
        streams = {"departures": load, "arrivals": load, "weather": load / 12}
        rates = {f"default/{name}": rate for name, rate in streams.items()} if load else {}
        group = GroupReplan(self.group, self.desired, at, dict(self.records), {}, rates)
        replan(group, self.memory)
        self.records = group.records
        self.messages += [event.message for event in group.events]
        return group

    def nodes(self) -> dict[str, str]:
        return {
            f"{name}/{op}": node
            for name, record in self.records.items()
            if record.plan
            for op, node in record.plan.nodes.items()
        }


@pytest.fixture
def story(tmp_path: Path) -> DriftStory:
    machine = Machine(Options(MANIFESTS, tmp_path, tmp_path, Knobs()), lambda findings: None)
    snapshot = ObservedState(1000.0, machine.cluster.observe().objects)
    state = machine.loop.desired_state(snapshot, machine.loop.settings)
    (group,) = state.groups
    it = DriftStory(group, state, {name: Record(name) for name in group.queries})
    it.round(1000.0, 0)
    return it


def moved(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name.rsplit("/", 1)[0] for name in before if before[name] != after[name]}


def test_the_quiet_plan_fits_and_stays(story: DriftStory) -> None:
    before = story.nodes()
    for second in range(0, 600, 5):
        story.round(2000.0 + second, 150)
    assert story.nodes() == before


def test_a_load_that_rises_moves_one_fragment_of_one_query_after_the_hold_time(story: DriftStory) -> None:
    before = story.nodes()
    low = story.round(2000.0, 650).evaluation
    assert low is not None
    assert low.headroom is not None
    assert low.headroom < 1.1
    story.round(2004.0, 650)
    assert story.nodes() == before, "the hold time of 5 s is not over"
    story.round(2006.0, 650)
    assert moved(before, story.nodes()) == {"default/made-up-time"}
    assert story.records["default/made-up-time"].revision == 2
    better = story.round(2007.0, 650).evaluation
    assert better is not None
    assert better.headroom is not None
    assert better.headroom >= 1.1


def test_a_short_peak_moves_nothing(story: DriftStory) -> None:
    before = story.nodes()
    for second in range(0, 120, 4):
        story.round(2000.0 + second, 650 if second % 8 == 0 else 150)
    assert story.nodes() == before


def test_noise_around_the_load_never_makes_it_move_back_and_forth(story: DriftStory) -> None:
    for second in range(0, 900, 3):
        story.round(2000.0 + second, 650 * (1.1 if second % 6 else 0.9))
    assert story.records["default/made-up-time"].revision == 2


def test_an_exhausted_budget_says_why_nothing_moves(story: DriftStory) -> None:
    policy = story.group.policy
    budget = policy.move_budget.model_copy(update={"moves": 0})
    story.group = type(story.group)(
        story.group.name,
        policy.model_copy(update={"move_budget": budget}),
        story.group.problem,
        story.group.queries,
    )
    before = story.nodes()
    for second in range(0, 60, 5):
        story.round(2000.0 + second, 650)
    assert story.nodes() == before
    decision, *earlier = story.records["default/made-up-time"].status["decisions"]
    assert len(earlier) == 1, "only the first plan"
    assert "stay: headroom is below 1.1 (bandwidth of link newyork-1 -> west-1), but moveBudget" in decision
    assert "but moveBudget (0 in 1h) is used up (11 times since 1970-01-01T00:33:25Z)" in decision


def test_a_rolled_back_query_is_not_moved_by_drift(story: DriftStory) -> None:
    for second in (0, 6):
        story.round(2000.0 + second, 650)
    first = story.records["default/made-up-time"]
    pinned = {**story.records, "default/made-up-time": type(first)(**{**vars(first), "pinned": 1})}
    story.records = pinned
    for second in range(0, 600, 5):
        story.round(2100.0 + second, 650)
    nodes = story.nodes()
    assert nodes["default/made-up-time/join-d-with-w"] == "newyork-1"
    assert story.records["default/made-up-time"].revision == 3


def test_a_rolled_back_query_says_that_the_rollback_keeps_it(story: DriftStory) -> None:
    """And what its neighbours say is that no move of theirs helps, not how many moves they have left."""
    test_a_rolled_back_query_is_not_moved_by_drift(story)
    decision, *earlier = story.records["default/made-up-time"].status["decisions"]
    assert "but a rollback keeps it at revision 1 until `weir unpin default/made-up-time`" in decision
    assert "times since" in decision
    assert not any("stay: " in line for line in earlier)
    (stays,) = [line for line in story.records["default/by-carrier"].status["decisions"] if "stay: " in line]
    assert "no move raises it by minGain (20%) while default/made-up-time may not move (" in stays


def test_a_query_that_has_just_moved_says_that_it_waits(story: DriftStory) -> None:
    for second in (0, 6):
        story.round(2000.0 + second, 650)
    for second in range(7, 20):
        story.round(2000.0 + second, 2000)
    decision = story.records["default/made-up-time"].status["decisions"][0]
    assert "but it has changed within the cooldown (15s) (" in decision
