"""What to write where a text must match a pattern, in words."""

from __future__ import annotations

from weir_operator.api import base, connectors, policy, profile, query, schedule, stream, topology

_NAME = "write a name of lower-case letters, digits and '-'"

PATTERN_WORDS = {
    base.NAME_PATTERN: _NAME,
    base.NODE_NAME_PATTERN: "write a name of lower-case letters, digits, '-' and '.'",
    base.NAMESPACE_PATTERN: _NAME,
    base.LABEL_PATTERN: "write a label's key, as example.com/name",
    base.LABEL_VALUE_PATTERN: "write a label's value: letters, digits, '-', '_' and '.'",
    base.IDENTIFIER_PATTERN: "write an identifier: letters, digits and '_'",
    base.OPERATOR_ID_PATTERN: "write an id: letters, digits, '-' and '_'",
    base.DATA_KEY_PATTERN: "write a key of its data: letters, digits, '-', '_' and '.'",
    connectors.TOPIC_PATTERN: "write the name of a topic: letters, digits, '-', '_' and '.'",
    connectors.ENDPOINT_PATTERN: "write http:// or https://, a host and its port, such as http://minio:9000",
    connectors.REGION_PATTERN: "write a region, such as eu-central-1",
    policy.STRATEGY_PATTERN: "write a strategy; `weir strategies` lists them",
    policy.PREFIX_PATTERN: "write the beginning of topics' names: letters, digits, '-', '_' and '.'",
    profile.STREAM_NAME_PATTERN: "write the name of a stream, or namespace.stream",
    query.INPUT_PATTERN: "write a stream, namespace.stream, or the id of an earlier operator",
    query.COLUMN_PATTERN: "write a column as stream.column",
    schedule.PATTERN: schedule.RIGHT,
    stream.READERS_PATTERN: "write a namespace, or '*' for all",
    topology.PLACE_PATTERN: "write the name of a zone or node: letters, digits, '-', '_' and '.'",
}
"""By pattern."""
