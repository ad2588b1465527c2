"""Reports of plans, made up: chains of operators on nodes."""

from typing import Any

from hypothesis import strategies as st

LETTERS = st.characters(categories=["Ll", "Lu", "Lo", "Nd", "Mn", "So"])  # also wide, combining and pictorial
NAMES = st.text(LETTERS | st.sampled_from("-.mW"), min_size=1, max_size=60)


def operator(query: str, name: str, inputs: list[str], node: str) -> dict[str, Any]:
    return {"id": f"{query}/{name}", "kind": "filter", "inputs": inputs, "node": node}


def report(
    placing: list[list[int]], nodes: int, named: list[str] | None = None, query_names: list[str] | None = None
) -> dict[str, Any]:
    """One chain of operators for each entry of `placing`, on nodes by their numbers; `named` are the nodes'
    names, `query_names` the queries'."""
    named = named or [f"n{i}" for i in range(nodes)]
    query_names = query_names or [f"q{i}" for i in range(len(placing))]
    queries, flows = [], []
    for query, chain in zip(query_names, placing, strict=False):
        upstream, where, operators = "default/s", named[0], []
        for i, n in enumerate(chain):
            operators.append(operator(query, f"o{i}", [upstream], named[n]))
            if where != named[n]:
                flows.append({"stream": upstream, "from": where, "to": named[n], "bytesPerSecond": 1500.0})
            upstream, where = f"{query}/o{i}", named[n]
        queries.append({"name": f"default/{query}", "admitted": True, "operators": operators})
    loads = {"cpu": 1e6, "cpuCapacity": 4e6, "memoryBytes": 1e9, "memoryCapacity": 8e9}
    return {
        "objective": "headroom",
        "objectiveValue": 1.5,
        "bound": 1.5,
        "gap": 0.0,
        "proven": True,
        "binding": f"cpu of node {named[0]}",
        "bindingAt": {"resource": "cpu", "nodes": [named[0]]},
        "queries": queries,
        "flows": flows,
        "nodes": [{"name": name, **loads} for name in named],
        "networkUsageBytes": 12.0,
    }


@st.composite
def plans(draw: st.DrawFn, nodes: int = 26, operators: int = 40) -> tuple[dict[str, Any], dict[str, str]]:
    """A report of 1 to 40 operators on up to 26 nodes of any names in 1 to 13 zones, and the nodes' zones."""
    count = draw(st.integers(1, nodes))
    names = draw(st.lists(NAMES, min_size=count, max_size=count, unique=True))
    zones = draw(st.lists(NAMES, min_size=1, max_size=13, unique=True))
    placing: list[list[int]] = []
    while (left := operators - sum(map(len, placing))) and (not placing or draw(st.booleans())):
        placing.append(draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=min(left, 8))))
    query_names = draw(st.lists(NAMES, min_size=len(placing), max_size=len(placing), unique=True))
    return report(placing, count, names, query_names), {name: draw(st.sampled_from(zones)) for name in names}
