"""Random acyclic queries of filters, joins and unions for the tests of distributions."""

from hypothesis import strategies as st
from weir_placement.model.operators import Filter, Join, Operator, Union, Window
from weir_placement.model.problem import Query
from weir_placement.model.streams import Column, Stream

NODES = ["a", "b", "c", "d"]


def row(length: int, name: str = "q") -> Query:
    """Filters one after the other."""
    ops = [Filter(f"o{i}", (f"o{i - 1}" if i else "s",), cost=10.0) for i in range(length)]
    return Query(name, {"s": f"{name}-s"}, tuple(ops))


@st.composite
def random_queries(draw: st.DrawFn, most: int = 8) -> Query:
    """Each operator reads sources or earlier ones; the last is the root, others may be read by none."""
    name = draw(st.sampled_from(["q", "r"]))
    sources = [f"t{i}" for i in range(draw(st.integers(1, 3)))]
    made_names, ops = list(sources), list[Operator]()
    for i in range(draw(st.integers(1, most))):
        first, second = (draw(st.sampled_from(made_names)) for _ in range(2))
        kind = draw(st.sampled_from(["filter", "join", "union"]))
        if kind == "filter":
            ops.append(Filter(f"o{i}", (first,), cost=draw(st.floats(1, 100))))
        elif kind == "join":
            window = (Window("t0", "t0", -1_000_000, 1_000_000),)
            ops.append(Join(f"o{i}", (first, second), windows=window, selectivity=0.01, cost=50.0))
        else:
            ops.append(Union(f"o{i}", (first, second), cost=5.0))
        made_names.append(f"o{i}")
    return Query(name, {alias: f"{name}-{alias}" for alias in sources}, tuple(ops))


def streams_of(*queries: Query, rate: float = 10.0) -> dict[str, Stream]:
    columns = (Column("v", "BIGINT", 100.0),)
    names = {stream for query in queries for stream in query.sources.values()}
    return {name: Stream(name, rate, columns, tuple(NODES), 100.0) for name in names}
