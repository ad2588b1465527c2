"""Clients of Kafka: settings from a connector's options, and where a consumer reads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from kafka import KafkaConsumer, TopicPartition
from weir_placement.model.fragment import FragmentError

from weir_runtime import secrets

FETCH_WAIT_MS = 20
"""How long a broker may hold an answer back: whatever is asked next waits behind it."""

METADATA_MS = 2_000
"""How old what a client knows of leaders may be: asked for the end of a partition whose leader has moved, it
asks the old one again and again, and learns of the new one by age alone."""


NO_ANSWER = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
    }
)
"""Errors of librdkafka after which the brokers may answer when they are asked again."""

REFUSALS = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.ILLEGAL_SASL_STATE,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
"""Errors by which brokers say who may not log in, or has no right: time alone mends none of them."""


@cache
def silent_logger() -> logging.Logger:
    """For a client whose errors are told by whoever has it: without one it writes lines to standard error by
    the dozen while nobody answers."""
    logger = logging.getLogger("weir.kafka.silent")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


def in_words(error: KafkaException, brokers: str) -> str:
    """Why brokers were asked in vain."""
    cause = error.args[0]
    return f"no broker answers at {brokers}" if cause.code() in NO_ANSWER else str(cause.str())


def never_creating(network: Callable[..., Any], **config: Any) -> Any:
    """What a client of kafka-python speaks through, made so that to ask for a topic makes none, as one that
    has just been deleted: version 3.0 loses `allow_auto_create_topics` on its way there."""
    client = network(**config)
    client.cluster.config["allow_auto_create_topics"] = False
    return client


class BrokersRefuse(Exception):
    """The login, or a right that is needed."""


def client_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a client of kafka-python from a source's or a sink's options. User, password and
    authority come from files of mounted secrets. Raises FragmentError for what is missing."""
    settings: dict[str, Any] = {"bootstrap_servers": _brokers(options).split(",")}
    for name, value in _login(options.get("security") or {}).items():
        settings[_PYTHON_NAMES[name]] = value
    return settings


def librdkafka_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """As `client_settings`, of a client of librdkafka."""
    return {"bootstrap.servers": _brokers(options), **_login(options.get("security") or {})}


def reader_settings(options: Mapping[str, Any], group: str) -> dict[str, Any]:
    """Of a consumer of librdkafka that is told what to read. The client wants a name of a group; nothing is
    ever committed to it."""
    return {**librdkafka_settings(options), "group.id": group, "enable.auto.commit": False}


_PYTHON_NAMES = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
}
"""kafka-python's names of librdkafka's settings."""


def _brokers(options: Mapping[str, Any]) -> str:
    if not options.get("bootstrapServers"):
        raise FragmentError("kafka.bootstrapServers: missing; give the brokers' host:port")
    return str(options["bootstrapServers"])


def _login(security: Mapping[str, Any]) -> dict[str, Any]:
    if not security:
        return {}
    settings = {"security.protocol": security["protocol"]}
    if security["protocol"].startswith("SASL_"):
        settings["sasl.mechanism"] = security["mechanism"]
        for key in ("username", "password"):
            value = secrets.value(security["secretRef"], key, "kafka.security.secretRef")
            settings[f"sasl.{key}"] = value
    if security.get("caSecretRef"):
        settings["ssl.ca.location"] = str(secrets.FOLDER / security["caSecretRef"] / "ca.crt")
    return settings


def aim(consumer: KafkaConsumer, partition: TopicPartition, offset: int) -> None:
    """The consumer reads this partition alone, from `offset` on; what it has fetched from there is used."""
    if consumer.assignment() != {partition}:
        consumer.assign([partition])
        consumer.seek(partition, offset)
    elif consumer.position(partition) != offset:
        consumer.seek(partition, offset)
