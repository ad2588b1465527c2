"""Every topic and folder that objects name, with the field that names it."""

from __future__ import annotations

from collections.abc import Iterator

from weir_operator.api.connectors import DeadLetter, Files, KafkaTopic, Sink, Source
from weir_operator.api.policy import Exchange, FilesExchange, KafkaExchange
from weir_operator.manifests.finding import Key
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.queries import key_of

SINK, SOURCE, DEAD_LETTER, EXCHANGE = "spec.sink", "spec.source", "spec.source.deadLetter", "spec.exchange"


def topics(objects: Objects) -> Iterator[tuple[Key, str, KafkaTopic | KafkaExchange]]:
    """Of streams, queries and policies."""
    for key, parent, connector in _connectors(objects):
        if connector.kafka is not None:
            yield key, f"{parent}.kafka", connector.kafka


def folders(objects: Objects) -> Iterator[tuple[Key, str, Files | FilesExchange]]:
    """Of streams, queries and policies; those of a policy are on the claim where they have no uri."""
    for key, parent, connector in _connectors(objects):
        if connector.files is not None:
            yield key, f"{parent}.files", connector.files


def _connectors(objects: Objects) -> Iterator[tuple[Key, str, Source | DeadLetter | Sink | Exchange]]:
    for stream in objects.streams.values():
        key, source = Key("Stream", stream.metadata.namespace, stream.metadata.name), stream.spec.source
        if source is not None:
            yield key, SOURCE, source
            if source.dead_letter is not None:
                yield key, DEAD_LETTER, source.dead_letter
    for query in objects.queries.values():
        yield key_of(query), SINK, query.spec.sink
    for policy in objects.policies.values():
        yield Key("PlacementPolicy", "", policy.metadata.name), EXCHANGE, policy.spec.exchange
