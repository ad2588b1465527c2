"""Clients of Kafka: settings from a connector's options, and where a consumer reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from weir_placement.model.fragment import FragmentError

from weir_runtime import secrets

FETCH_WAIT_MS = 20
"""How long a broker may hold an answer back: whatever is asked next waits behind it."""

METADATA_MS = 2_000
"""How old what a client knows of leaders may be: asked for the end of a partition whose leader has moved, it
asks the old one again and again, and learns of the new one by age alone."""


def client_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a client of kafka-python from a source's or a sink's options. User, password and
    authority come from files of mounted secrets. Raises FragmentError for what is missing."""
    if not options.get("bootstrapServers"):
        raise FragmentError("kafka.bootstrapServers: missing; give host:port of the brokers")
    settings: dict[str, Any] = {"bootstrap_servers": options["bootstrapServers"].split(",")}
    security = options.get("security")
    if not security:
        return settings
    settings["security_protocol"] = security["protocol"]
    if security["protocol"].startswith("SASL_"):
        settings["sasl_mechanism"] = security["mechanism"]
        for key in ("username", "password"):
            value = secrets.value(security["secretRef"], key, "kafka.security.secretRef")
            settings[f"sasl_plain_{key}"] = value
    if security.get("caSecretRef"):
        settings["ssl_cafile"] = str(secrets.FOLDER / security["caSecretRef"] / "ca.crt")
    return settings


def aim(consumer: KafkaConsumer, partition: TopicPartition, offset: int) -> None:
    """The consumer reads this partition alone, from `offset` on; what it has fetched from there is used."""
    if consumer.assignment() != {partition}:
        consumer.assign([partition])
        consumer.seek(partition, offset)
    elif consumer.position(partition) != offset:
        consumer.seek(partition, offset)
