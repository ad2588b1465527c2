"""The columns of a query's result, under the names that its sink's readers see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weir_placement.model.fragment import OutputColumn
from weir_placement.model.operators import Operator
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.model.suggestion import suggestion
from weir_placement.rewrite.graph import OperatorGraph

from weir_operator.api.query import StreamQuery
from weir_operator.manifests.finding import Finding, Key


def output_columns(last: Operator) -> tuple[OutputColumn, ...]:
    """The sink's columns: `carrier` for `d.carrier`, or `d_carrier` where that would be ambiguous.

    Empty for operators that pass on the columns that they read: every column under its own name.
    """
    short = [name.rsplit(".", 1)[-1] for name in last.new_columns]
    output = [
        s if short.count(s) == 1 else n.replace(".", "_")
        for s, n in zip(short, last.new_columns, strict=True)
    ]
    return tuple(OutputColumn(*pair) for pair in zip(last.new_columns, output, strict=True))


def message_key_findings(
    item: StreamQuery, key: Key, query: Query, streams: Mapping[str, Stream]
) -> Iterator[Finding]:
    """Columns of a Kafka sink's `key` that the result does not have."""
    wanted = (item.spec.sink.kafka.key if item.spec.sink.kafka else None) or ()
    if not wanted or not query.operators:
        return
    last = query.operators[-1]
    names = [column.name for column in output_columns(last)]
    names = names or list(OperatorGraph(query, streams).columns[last.id] or ())
    for i, name in enumerate(wanted):
        if names and name not in names:
            path, right = f"spec.sink.kafka.key[{i}]", suggestion(name, names, "columns")
            yield Finding(key, path, f"the result has no column {name}", right)
