"""The heap follows from the state that a fragment's operators keep."""

import pytest
from weir_placement.cost.flows import flows_of, scaled
from weir_placement.cost.heap import heap_mb
from weir_placement.model.operators import Filter, Join, Window
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.model.types import parse_schema

SECOND = 1_000_000


def heap(rate: float, reach: int, executors: int = 0) -> int:
    """[MiB] Of a join of two streams of 52-byte rows, 652 bytes each in state."""
    columns = parse_schema("k BIGINT, ts TIMESTAMP")
    streams = {f"d/{name}": Stream(f"d/{name}", rate, columns, ("n",), 52.0, "ts") for name in "ab"}
    window = Window("a", "b", -reach * SECOND, reach * SECOND)
    operators = (
        Filter("f", ("a",), predicate="a.k > 1", memory=10e9),
        Join("j", ("f", "b"), on="a.k = b.k", windows=(window,), row_overhead=600.0),
    )
    query = Query("d/q", {"a": "d/a", "b": "d/b"}, operators)
    flows = flows_of(query, streams, scaled(dict.fromkeys(streams, rate)))
    return heap_mb(operators, flows, 512, executors)


@pytest.mark.parametrize(
    ("rate", "reach", "executors", "expected"),
    [
        (100.0, 10, 0, 512),  # 1.3 MB
        (1_000.0, 60, 0, 512),  # 78 MB: 384 + 112 MiB
        (1_000.0, 300, 0, 1_024),  # 391 MB: 384 + 560 MiB
        (1_000.0, 300, 4, 640),  # a quarter each
        (1_000.0, 3_600, 0, 7_168),  # 4.7 GB
    ],
)
def test_heap_is_the_least_or_what_the_state_needs(
    rate: float, reach: int, executors: int, expected: int
) -> None:
    assert heap(rate, reach, executors) == expected
