"""The smoke test once more, with Kafka between fragments: right to the row, and no topic is left."""

from __future__ import annotations

from tests.e2e import flights
from tests.e2e.conftest import SHARED, uninstall
from tests.e2e.kubectl import wait_until
from tests.e2e.reference import judge
from tests.e2e.test_smoke import HOURS, SPEED, assert_nothing_is_left

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
PREFIX = "weir."


def test_flights_over_kafka_are_right_to_the_row_and_leave_no_topic(isolation: str, namespace: str) -> None:
    objects = flights.manifests(namespace, HOURS, SPEED)
    policy = flights.policy_of(objects)
    policy["spec"]["fragments"] = {"isolation": isolation}
    policy["spec"]["exchange"] = {"kafka": {"bootstrapServers": "kafka:9092", "topicPrefix": PREFIX}}
    flights.run(namespace, objects)

    victim = flights.workers(namespace)[0]["metadata"]["name"]
    flights.kill(namespace, victim)
    wait_until(300, f"{victim} runs again", lambda: flights.restarted_and_ready(namespace, victim))
    assert ours(namespace), "flows are topics"
    assert not (SHARED / namespace / "exchange" / namespace).exists(), "and no files"

    judge(namespace, 300)
    assert not flights.off_their_pin(namespace)

    uninstall()
    assert_nothing_is_left(namespace)
    assert ours(namespace) == []


def ours(namespace: str) -> list[str]:
    """Topics and consumer groups of the namespace's flows."""
    topics = [line.split(":")[0] for line in flights.kafka_tool(namespace, flights.OFFSETS).splitlines()]
    groups = flights.kafka_tool(namespace, GROUPS, "--list").splitlines()
    return sorted({name for name in topics + groups if name.startswith(f"{PREFIX}{namespace}.")})
