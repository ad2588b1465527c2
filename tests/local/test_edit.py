"""An edit that changes the results of a running query, on this machine with real Spark: rows up to the cut
are the old query's, later ones the new query's, and there is no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from weir_operator.controller.desired_state import DesiredQuery
from weir_operator.controller.record import Record, read_record
from weir_operator.local.audit import expected_rows, sink_rows
from weir_runtime.audit import compare

from tests.local.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    it = Place(tmp_path)
    yield it
    it.end()


def record(place: Place) -> Record:
    (placement,) = place.machine.cluster.store.placements()
    return read_record(placement)


def has_ended(place: Place) -> bool:
    """Whether the fragments in force have, whatever those before them have done."""
    states = {name: state for (name, _), (_, state) in place.states().items()}
    specs = record(place).specs
    return bool(specs) and all(states.get(spec.name) == "finished" for spec in specs)


def query(place: Place) -> DesiredQuery:
    """As it is asked for now."""
    return place.group().queries["default/sums"]


def ends(table: pa.Table) -> pa.ChunkedArray:
    """[us] Of the windows."""
    (column,) = (name for name in table.column_names if name.split(".")[-1] == "end")
    return table.column(column).cast(pa.timestamp("us")).cast(pa.int64())


def test_each_row_is_of_the_query_that_was_asked_for_at_its_time(place: Place) -> None:
    loop = place.machine.loop
    loop.settings = replace(loop.settings, change_lead=5.0)
    place.feed(25)
    place.until(lambda: place.running_on("n1") and bool(sink_files(place)), "rows of the old query")

    def feeds_until_it_is_left() -> bool:
        place.feed(1)
        return not record(place).leaving and record(place).generation > 1

    queries = [query(place)]
    place.say(least=30)
    place.until(feeds_until_it_is_left, "the cut is passed")
    cut = record(place).since
    assert cut
    place.feed(25, end=True)
    place.until(lambda: has_ended(place), "the end of the new query")

    queries.append(query(place))
    old, new = (expected_rows(each, place.group().problem.streams) for each in queries)
    sink = queries[0].ends.sink
    before, after = pc.less_equal(ends(old), cut), pc.greater(ends(new), cut)
    parts = (old.filter(before), new.filter(after))
    assert all(part.num_rows for part in parts)
    assert not compare(old, new).good, "the edit matters"
    names = [column.column for column in sink.columns]
    want = pa.concat_tables(parts).select(names)
    verdict = compare(want, sink_rows(sink, want.slice(0, 0)))
    print(f"{verdict} of {verdict.rows} rows, {parts[0].num_rows} of them up to the cut")
    assert verdict.good, verdict.examples


def sink_files(place: Place) -> list[Path]:
    return list((place.folder / "out" / "sums").glob("*.parquet"))
