"""Explicit graphs: windows belong to pairs of streams, columns and types are checked on the way."""

import pytest
from weir_placement.model.operators import Window

from tests.manifests.scene import FILTER, JOIN, NODES, STREAMS, built, graph, messages, stream

COUNT = {"name": "n", "function": "count"}
WINDOWS = {
    "id": "g", "kind": "aggregate", "inputs": ["a"], "window": "2s", "groupBy": ["a.x"], "aggregates": [COUNT]
}  # fmt: skip
OVER = {
    "id": "h",
    "kind": "aggregate",
    "inputs": ["g"],
    "time": "window.end",
    "window": "4s",
    "aggregates": [COUNT],
}


def operators(*specs, extra=()):
    scene = built(*NODES, *STREAMS, *extra, graph("q", *specs))
    assert scene.findings == (), [str(f) for f in scene.findings]
    return scene.groups[0].problem.queries[0].operators


def test_a_window_is_half_open_to_both_sides_of_its_pair():
    (join,) = operators(JOIN)
    assert join.windows == (Window("a", "b", -5_000_000, 5_000_000),)
    assert join.half_width == 5.0
    assert join.columns == ("a.y", "b.y")


def test_what_is_said_is_not_estimated():
    fields = {"selectivity": 0.001, "cost": 800, "costPair": 2, "memory": "1Ki", "nodes": ["n1", "n2"]}
    (join,) = operators(JOIN | fields)
    assert (join.selectivity, join.cost, join.cost_pair, join.memory) == (0.001, 800.0, 2.0, 1024.0)
    assert join.nodes == ("n1", "n2")
    assert (join.delay, join.row_overhead, join.cost_out) == (0.0, 0.0, 0.0)  # Tables 3 and 4 of WhiteWater


def test_over_streams_with_a_source_rows_are_kept_as_spark_keeps_them():
    running = [stream(name, source={"files": {"uri": f"in/{name}"}}) for name in "ab"]
    (join,) = built(*NODES, *running, graph("q", JOIN)).groups[0].problem.queries[0].operators
    assert (join.delay, join.row_overhead) == (1.0, 600.0)
    (windows,) = built(*NODES, *running, graph("q", WINDOWS)).groups[0].problem.queries[0].operators
    assert (windows.delay, windows.memory) == (1.0, 500.0)


def test_an_equality_join_passes_one_over_the_most_distinct_values():
    streams = [
        stream("a", statistics={"distinct": {"y": 50}}),
        stream("b", statistics={"distinct": {"y": 200}}),
    ]
    (join,) = built(*NODES, *streams, graph("q", JOIN)).groups[0].problem.queries[0].operators
    assert join.selectivity == pytest.approx(1 / 200)


def test_a_third_stream_is_within_the_window_of_the_stream_that_it_is_joined_with():
    second = {"id": "k", "kind": "join", "inputs": ["j", "c"], "on": "b.x = c.x", "window": "2s"}
    joins = operators(JOIN, second, extra=[stream("c")])
    assert joins[1].windows == (Window("b", "c", -2_000_000, 2_000_000),)


def test_a_join_by_window_alone_binds_every_pair():
    first = {name: value for name, value in JOIN.items() if name != "on"}
    second = {"id": "k", "kind": "join", "inputs": ["j", "c"], "window": "2s"}
    joins = operators(first, second, extra=[stream("c")])
    assert [(w.left, w.right) for w in joins[1].windows] == [("a", "c"), ("b", "c")]


def test_an_aggregate():
    spec = {
        "id": "g", "kind": "aggregate", "inputs": ["a"], "window": "10s", "slide": "5s", "groupBy": ["a.x"],
        "aggregates": [COUNT, {"name": "m", "function": "max", "expression": "a.y"}],
    }  # fmt: skip
    (aggregate,) = operators(spec)
    assert (aggregate.time, aggregate.window, aggregate.slide) == ("a.ts", 10.0, 5.0)
    assert [(a.name, a.function, a.expression) for a in aggregate.aggregations] == [
        ("n", "count", None),
        ("m", "max", "a.y"),
    ]
    assert aggregate.columns == ("a.ts", "a.x", "a.y")


def test_a_union_gives_its_branches_the_same_names():
    branches = operators({"id": "u", "kind": "union", "inputs": ["a", "b"]})
    assert [(op.id, op.kind) for op in branches] == [("u-1", "project"), ("u-2", "project"), ("u", "union")]
    assert [item.name for item in branches[1].items] == ["x", "y", "ts"]
    assert branches[2].inputs == ("u-1", "u-2")


def test_windows_of_windows_of_a_union():
    union = {"id": "u", "kind": "union", "inputs": ["g", "h"]}
    other = WINDOWS | {"id": "h", "inputs": ["b"], "groupBy": ["b.x"]}
    above = OVER | {"id": "o", "inputs": ["u"], "time": "end", "groupBy": ["x"]}
    merged = operators(WINDOWS, other, union, above)
    assert (merged[-1].time, merged[-1].groups) == ("end", 100.0)


def test_groups_are_a_float_also_when_there_is_one():
    (aggregate,) = operators({name: value for name, value in WINDOWS.items() if name != "groupBy"})
    assert type(aggregate.groups) is float


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ([{"id": "u", "kind": "union", "inputs": ["a", "c"]}], "every branch needs x INT"),
        ([JOIN | {"inputs": ["a", "a"]}], "inputs: a is an input twice; write a self join as SQL"),
        ([FILTER, JOIN | {"inputs": ["f", "a"], "on": "a.x = 1"}], "inputs: stream a is on both sides"),
        ([JOIN, {"id": "g", "kind": "aggregate", "inputs": ["j"], "window": "1s",
                 "aggregates": [COUNT]}], "is missing; name the time column: a.ts, b.ts"),
        ([{"id": "p", "kind": "project", "inputs": ["a"], "columns": ["a.x"]},
          {"id": "f", "kind": "filter", "inputs": ["p"], "predicate": "a.y = 1"}], "operators[1].predicate"),
        ([FILTER | {"predicate": "reflect('java.lang.Runtime', 'getRuntime') = 1"}], "predicate: "),
        ([JOIN | {"on": "java_method('a', 'b') = a.x"}], "spec.operators[0].on: "),
        ([FILTER | {"predicate": "a.x"}], "a condition is needed"),
        ([WINDOWS, JOIN | {"inputs": ["g", "b"], "on": "a.x = b.x"}],
         "operators[1].inputs[0]: g comes from an aggregate or a union, whose rows have no event time"),
        ([{"id": "u", "kind": "union", "inputs": ["a", "b"]}, JOIN | {"inputs": ["d", "u"], "on": "d.x = x"}],
         "operators[1].inputs[1]: u comes from an aggregate or a union"),
        ([WINDOWS | {"time": "a.x"}], "a.x is not an event time here; name an event time: a.ts"),
        ([WINDOWS, OVER | {"time": "a.x"}],
         "a.x is not an event time here; name an event time: window.end, window.start"),
        ([WINDOWS, OVER | {"groupBy": ["window.start"]}],
         "operators[1].groupBy[0]: window.start is already the name of another column"),
        ([WINDOWS | {"aggregates": [COUNT, COUNT | {"name": "N"}]}],
         "operators[0].aggregates[1].name: N is already the name of another column of the result"),
        ([WINDOWS | {"aggregates": [COUNT | {"name": "_id"}]}], "_id is a name that the runtime reserves"),
        ([{"id": "u", "kind": "union", "inputs": ["d", "d2"]}], "_time is a name that the runtime reserves"),
    ],
)  # fmt: skip
def test_refusals(specs, message):
    others = [stream("c", schema="z STRING", eventTime=None)]
    others += [stream(name, schema="x INT, _time INT, ts TIMESTAMP") for name in ("d", "d2")]
    errors = messages(*NODES, *STREAMS, *others, graph("q", *specs))
    assert any(message in text for text in errors), errors
