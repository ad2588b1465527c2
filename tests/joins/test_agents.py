"""The distributed update: agents that know only their own part come to the plan of Algorithm 1."""

from __future__ import annotations

import gc
import pickle
from random import Random
from types import FunctionType, ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_placement.joins.agent import Agent, agents_of
from weir_placement.joins.central import central_update
from weir_placement.joins.delivery import deliver
from weir_placement.joins.greedy import nos_greedy
from weir_placement.joins.messages import Letter
from weir_placement.joins.operators import operator_sets
from weir_placement.joins.plan import breaches
from weir_placement.joins.streams import JoinStream, MultiwayJoin

from tests.joins.random_joins import changed_stream, joins, random_join

CHANGES = 10_000


@pytest.mark.parametrize("seed", range(10))
def test_distributed_and_central_updates_give_the_same_seps(seed: int) -> None:
    """1,000 changes a seed, 10,000 together; both start from the greedy plan and keep what they have."""
    random = Random(seed)
    for _ in range(CHANGES // 10 // 20):
        join = random_join(random, random.randint(2, 6))
        agents = agents_of(join, nos_greedy(join))
        for _ in range(20):
            index = random.randrange(join.width)
            join = join.changed(index, changed_stream(random, join.streams[index], index))
            deliver(agents, agents[index].observe(join.streams[index]))
            assert tuple(agent.sep for agent in agents) == nos_greedy(join)


@given(joins(most=6), st.integers(0, 2**32), st.booleans())
def test_after_each_change_the_nodes_have_the_sets_of_the_central_update(
    join: MultiwayJoin, seed: int, shuffled: bool
) -> None:
    """Also when messages come in any order."""
    random = Random(seed)
    plan = nos_greedy(join)
    agents = agents_of(join, plan)
    for _ in range(4):
        index = random.randrange(join.width)
        join = join.changed(index, changed_stream(random, join.streams[index], index))
        traffic = deliver(
            agents, agents[index].observe(join.streams[index]), lambda _: random.random() if shuffled else 1.0
        )
        update = central_update(join, plan, index)
        plan = update.plan
        assert tuple(agent.sep for agent in agents) == plan
        assert breaches(join, plan) == []
        assert tuple(agent.migration.operators for agent in agents) == update.operators == operator_sets(plan)
        assert {(s, to) for s, _, to in traffic.windows} == {(s, to) for s, _, to in update.windows}


def reachable(agent: Agent) -> dict[int, object]:
    """Everything that an agent refers to, classes, functions and modules apart."""
    objects: dict[int, object] = {}
    waiting: list[object] = [agent]
    while waiting:
        value = waiting.pop()
        if id(value) in objects or isinstance(value, type | FunctionType | ModuleType):
            continue
        objects[id(value)] = value
        waiting += gc.get_referents(value)
    return objects


@pytest.mark.parametrize("seed", range(20))
def test_an_agent_has_no_reference_to_another_or_to_what_another_can_change(seed: int) -> None:
    random = Random(seed)
    join = random_join(random, 5)
    agents = agents_of(join, nos_greedy(join))
    for index in range(5):
        deliver(agents, agents[index].observe(changed_stream(random, join.streams[index], index)))
    everything = [reachable(agent) for agent in agents]
    for agent, objects in zip(agents, everything, strict=True):
        assert [value for value in objects.values() if isinstance(value, Agent)] == [agent]
        own = [value for value in objects.values() if isinstance(value, JoinStream)]
        assert own == [agent.stream], "statistics of another stream have stayed with an agent"
    mutable = (list, dict, set, Agent)
    for number, objects in enumerate(everything):
        for others in everything[:number]:
            shared = [objects[key] for key in objects.keys() & others.keys()]
            assert not [value for value in shared if isinstance(value, mutable)]


class Apart(Agent):
    """An agent that is written down and read back around each message: nothing can be shared with it."""

    def receive(self, letter: Letter) -> list[Letter]:
        agent = pickle.loads(pickle.dumps(self.__dict__))
        self.__dict__.clear()
        self.__dict__.update(agent)
        answers = super().receive(pickle.loads(pickle.dumps(letter)))
        return [pickle.loads(pickle.dumps(answer)) for answer in answers]


@pytest.mark.parametrize("seed", range(20))
def test_agents_agree_when_state_and_messages_are_bytes_between_steps(seed: int) -> None:
    random = Random(seed)
    join = random_join(random, 5)
    agents = agents_of(join, nos_greedy(join))
    for agent in agents:
        agent.__class__ = Apart
    for _ in range(5):
        index = random.randrange(5)
        join = join.changed(index, changed_stream(random, join.streams[index], index))
        deliver(agents, agents[index].observe(join.streams[index]))
        assert tuple(agent.sep for agent in agents) == nos_greedy(join)


@given(joins(most=8), st.integers(0, 2**32))
def test_messages_stay_within_the_bound_of_algorithm_3(join: MultiwayJoin, seed: int) -> None:
    """O(m^3): a SEP is searched once, walked at most m - 1 times, and its parts are handed out once."""
    random = Random(seed)
    m = join.width
    agents = agents_of(join, nos_greedy(join))
    index = random.randrange(m)
    traffic = deliver(agents, agents[index].observe(changed_stream(random, join.streams[index], index)))
    changed, searched, walked, settled, handed_out = 1, m - 2, (m - 1) * m, 1, m
    assert traffic.modification <= m * (changed + searched + walked + settled + handed_out + 1)
    assert traffic.synchronisation <= 3 * (m - 1)
    assert traffic.migration - traffic.synchronisation == len(traffic.windows) <= m * m


def test_old_sets_stay_in_force_until_all_are_ready() -> None:
    random = Random(5)
    join = random_join(random, 5)
    agents = agents_of(join, nos_greedy(join))
    before = [agent.migration.operators for agent in agents]
    new = join.changed(1, changed_stream(random, join.streams[1], 1))
    waiting = agents[1].observe(new.streams[1])
    ready = set()
    while waiting:
        letter = waiting.pop(0)
        name = type(letter.body).__name__
        if name == "LocalReady":
            ready.add(letter.sender)
        if name == "GlobalReady":
            break
        assert [agent.migration.operators for agent in agents] == before
        waiting += agents[letter.receiver].receive(letter)
    changed = {
        k for k, (a, b) in enumerate(zip(before, operator_sets(nos_greedy(new)), strict=True)) if a != b
    }
    assert changed
    assert changed <= ready


def steady(width: int, rate: float) -> MultiwayJoin:
    streams = tuple(JoinStream(f"S{k + 1}", rate, 0.01, 150.0, rate / 2) for k in range(width))
    return MultiwayJoin(streams, random_join(Random(0), 2).costs)


def test_a_change_below_the_threshold_is_not_acted_on_and_adds_up() -> None:
    join = steady(4, 100.0)
    agents = agents_of(join, nos_greedy(join), threshold=0.1)
    plan = tuple(agent.sep for agent in agents)
    for rate in (103.0, 96.0, 104.0):
        assert agents[1].observe(JoinStream("S2", rate, 0.01, 150.0, 50.0)) == []
    assert agents[1].stream == join.streams[1]
    beyond = JoinStream("S2", 112.0, 0.01, 150.0, 50.0)
    deliver(agents, agents[1].observe(beyond))
    assert tuple(agent.sep for agent in agents) == nos_greedy(join.changed(1, beyond)) != plan


@pytest.mark.parametrize(
    "values", [{"selectivity": 0.02}, {"size": 300.0}, {"rate": 200.0}, {"window": 100.0}]
)
def test_each_statistic_can_pass_the_threshold(values: dict[str, float]) -> None:
    """Also f, which is in no cost of the stream's own step."""
    agents = agents_of(steady(3, 100.0), nos_greedy(steady(3, 100.0)), threshold=0.5)
    own = {"rate": 100.0, "selectivity": 0.01, "size": 150.0, "window": 50.0}
    assert agents[1].observe(JoinStream("S2", **own)) == []
    assert agents[1].observe(JoinStream("S2", **(own | values)))


def test_a_message_that_no_agent_sends_is_refused() -> None:
    agent = agents_of(steady(2, 100.0), nos_greedy(steady(2, 100.0)))[0]
    with pytest.raises(TypeError, match="not a migration message"):
        agent.receive(Letter(1, 0, "hello"))  # type: ignore[arg-type]


def statistics_in(value: object) -> list[JoinStream]:
    if isinstance(value, JoinStream):
        return [value]
    if isinstance(value, tuple):
        return [stream for part in value for stream in statistics_in(part)]
    if hasattr(value, "__dataclass_fields__"):
        return [s for field in value.__dataclass_fields__ for s in statistics_in(getattr(value, field))]
    return []


@given(joins(most=6), st.integers(0, 2**32))
def test_messages_carry_the_changed_streams_statistics_and_no_others(join: MultiwayJoin, seed: int) -> None:
    random = Random(seed)
    index = random.randrange(join.width)
    changed = changed_stream(random, join.streams[index], index)
    agents = agents_of(join, nos_greedy(join))
    waiting = agents[index].observe(changed)
    while waiting:
        letter = waiting.pop()
        assert set(statistics_in(letter.body)) <= {changed}
        waiting += agents[letter.receiver].receive(letter)


def test_a_dearer_stream_is_walked_to_its_place_and_a_cheaper_one_searched_for() -> None:
    """Both directions of stage 1: a rise needs no search, a fall asks the first stream of each chain."""
    join = steady(5, 100.0)
    agents = agents_of(join, nos_greedy(join))
    rise = deliver(agents, agents[1].observe(JoinStream("S2", 200.0, 0.01, 150.0, 100.0)))
    assert rise.kinds["Search"] == 0
    assert all(agent.sep.order[-1] == 1 for agent in agents if agent.node != 1)
    fall = deliver(agents, agents[1].observe(JoinStream("S2", 50.0, 0.01, 150.0, 25.0)))
    assert fall.kinds["Search"] == 4
    assert all(agent.sep.order[0] == 1 for agent in agents if agent.node != 1)


def test_other_streams_are_reordered_after_the_one_that_changed() -> None:
    """Stage 2: streams that did not change themselves change places with each other, too."""
    random = Random(11)
    reordered = 0
    for _ in range(50):
        join = random_join(random, 5)
        agents = agents_of(join, nos_greedy(join))
        before = [[s for s in agent.sep.order if s != 1] for agent in agents]
        new = join.changed(1, changed_stream(random, join.streams[1], 1))
        deliver(agents, agents[1].observe(new.streams[1]))
        reordered += before != [[s for s in agent.sep.order if s != 1] for agent in agents]
        assert breaches(new, tuple(agent.sep for agent in agents)) == []
    assert reordered >= 5
