"""The flights' rows come out of the locked package, in order of event time."""

from examples.flights.rows import COLUMNS, streams


def test_each_stream_has_its_rows_in_order() -> None:
    rows_by_stream = streams(24)
    assert set(rows_by_stream) == set(COLUMNS)
    for name, rows in rows_by_stream.items():
        assert list(rows.columns) == COLUMNS[name]
        assert rows["ts"].is_monotonic_increasing
        assert len(rows) > 500
        assert not rows.isna().any().any()
    assert len(rows_by_stream["arrivals"]) <= len(rows_by_stream["departures"])
