"""A query that was deleted by mistake and taken up again, on this machine with real Spark: no row is missing,
doubled or wrong, as if it had only been away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from weir_operator.local.audit import audit

from tests.local.place import MANIFESTS, Place

QUERY = """
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {name: sums}
spec:
  order: fixed
  operators:
    - {id: f, kind: filter, inputs: [clicks], predicate: "clicks.v > 10", nodes: [n1]}
    - id: a
      kind: aggregate
      inputs: [f]
      window: 10s
      groupBy: [clicks.k]
      aggregates: [{name: n, function: count}, {name: total, function: sum, expression: clicks.v}]
      nodes: [n2]
  sink: {files: {uri: out/sums, format: parquet}}
"""
REST = [
    text for text in MANIFESTS.format(least=10, cordoned="false").split("---") if "StreamQuery" not in text
]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    it = Place(tmp_path)
    yield it
    it.end()


def apply(place: Place, *queries: str) -> None:
    place.say(text="---".join([*REST, *queries]))


def sink_files(place: Place) -> list[Path]:
    return list((place.folder / "out" / "sums").glob("*.parquet"))


def folders(place: Place) -> set[str]:
    """Checkpoints and flows."""
    run = place.folder / "run"
    return {
        str(path.relative_to(run)) for what in ("checkpoints", "exchange") for path in run.glob(f"{what}/*/*")
    }


def test_a_query_is_deleted_and_taken_up_with_its_windows(place: Place) -> None:
    apply(place, QUERY)
    place.feed(25)
    place.until(lambda: len(place.states()) == 2 and bool(sink_files(place)), "rows of the query")
    state = folders(place)
    assert len(state) == 3, "two checkpoints and the flow between them"

    apply(place)
    place.until(lambda: not place.states(), "the end of its processes")
    (kept,) = place.machine.cluster.store.placements()
    uid = kept["spec"]["retained"]["uid"]
    place.feed(10)
    place.machine.loop.exchange.sweep(place.machine.loop.last.keep or frozenset(kept["status"]["owned"]))
    assert folders(place) == state

    place.machine = place.build()
    apply(place, QUERY + f"  restoreFrom: {{retained: {uid}}}\n")
    place.feed(10, end=True)
    place.until(
        lambda: len(place.states()) == 2 and {s for _, s in place.states().values()} == {"finished"},
        "the end of the input",
    )
    assert folders(place) == state
    query = place.group().queries["default/sums"]
    verdict = audit(query, place.group().problem.streams)
    print(f"{verdict} of {verdict.rows} rows")
    assert verdict.good, verdict.examples
    assert verdict.rows > 0
    (placement,) = place.machine.cluster.store.placements()
    assert placement["metadata"]["name"] == "sums"
    assert placement["spec"]["owner"]["restored"] == uid
