"""Addresses of brokers: what no client of Kafka takes, and what it takes with a port that nobody wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator

from weir_placement.model.odd_signs import odd_letter

from weir_operator.manifests.connections import topics
from weir_operator.manifests.finding import Finding, shown
from weir_operator.manifests.objects import Objects

_SERVER = re.compile(
    r"((PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL)://)?([\w.-]+|\[[0-9a-f:.]+\])(:(\d+))?", re.ASCII | re.I
)
_OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
LAST_PORT = 65_535
FIELD = "bootstrapServers"


def broker_findings(objects: Objects) -> Iterator[Finding]:
    """Of each address that is none."""
    for key, path, topic in topics(objects):
        for server in servers(topic.bootstrap_servers):
            match = _SERVER.fullmatch(server)
            if match is None:
                without = _OTHER_SCHEME.sub("", server)
                right = without if _SERVER.fullmatch(without) else "host:port, such as localhost:9092"
                wrong = f"{shown(server)} is not the address of a broker"
                yield Finding(key, f"{path}.{FIELD}", wrong, f"write {right}{odd_letter(server)}")
            elif match[5] and not 0 < int(match[5]) <= LAST_PORT:
                wrong = f"{shown(server)} has no port that there is"
                yield Finding(key, f"{path}.{FIELD}", wrong, f"write one from 1 to {LAST_PORT}")


def without_port(objects: Objects) -> Iterator[Finding]:
    """Of each address that has no port."""
    for key, path, topic in topics(objects):
        for server in servers(topic.bootstrap_servers):
            match = _SERVER.fullmatch(server)
            if match and not match[5]:
                wrong = f"{shown(server)} has no port, so clients take 9092"
                yield Finding(key, f"{path}.{FIELD}", wrong, f"write {server}:9092, or the broker's own")


def servers(text: str) -> list[str]:
    """Of a list with commas."""
    return [server.strip() for server in text.split(",") if server.strip()] or [text]
