"""`weir test --batch-only`: what passes, what differs, and what is wrong with a test."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_operator.cli import main

from tests.row_tests.cases import MANIFEST, SELLERS, SUMS, write

BAD_ROWS = """
apiVersion: test.weir.dev/v1alpha1
kind: QueryTest
metadata: {name: typos}
spec:
  query: sums
  rows:
    bids:
    - {auction: 1, prise: 20, ts: 2026-01-31T12:00:05Z}
    - {auction: one, ts: 2026-01-31T12:00:05Z}
    - {auction: 1}
    bits: []
  expected: []
"""
UNIX_STREAM = """
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {name: s}
spec:
  schema: k INT, ts TIMESTAMP
  eventTime: {column: ts}
  source: {kafka: {bootstrapServers: "k:9092", topic: t, unixTimes: {ts: ms}}}
---
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {name: q}
spec: {sql: "SELECT s.k, s.ts FROM s", sink: {console: {}}}
"""
UNIX_TEST = """
apiVersion: test.weir.dev/v1alpha1
kind: QueryTest
metadata: {name: moments}
spec:
  rows: {s: [{k: 1, ts: 1769860800000}]}
  expected: [{k: 1, ts: "2026-01-31T12:00:00Z"}]
"""
BAD_RESULT = """
apiVersion: test.weir.dev/v1alpha1
kind: QueryTest
metadata: {name: typos}
spec:
  query: sellers
  rows: {}
  expected:
  - {price: 1.5, sellar: ann}
  - {price: much, seller: ann}
"""


def batch_only(folder: Path) -> int:
    return main(["test", str(folder), "--batch-only"])


def test_rows_as_expected_pass_whatever_nodes_and_zones_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert batch_only(write(tmp_path, SUMS, SELLERS)) == 0
    assert capsys.readouterr().out.splitlines() == [
        "pass  late-bids-do-not-count: rows: 3; late rows of default/bids: 1",
        "pass  bids-within-ten-seconds: rows: 2",
        "tests: 2, failed: 0",
    ]


def test_numbers_are_times_where_the_stream_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "weir.yaml").write_text(UNIX_STREAM)
    (tmp_path / "one.test.yaml").write_text(UNIX_TEST)
    assert batch_only(tmp_path) == 0
    (tmp_path / "one.test.yaml").write_text(UNIX_TEST.replace("1769860800000", "1769860800"))
    assert batch_only(tmp_path) == 2
    assert (
        "spec.rows.s[0]: cannot be read: ts: 1769860800 ms since 1970 is in 1970: unixTimes says ms; is it s?"
        in capsys.readouterr().err
    )


def test_rows_that_differ_are_shown_below_one_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = SUMS.replace("n: 2, total: 50.5", "n: 2, total: 50.6")
    assert batch_only(write(tmp_path, wrong, SELLERS)) == 1
    head, names, first, second, *_, end = capsys.readouterr().out.splitlines()
    assert head.startswith("FAIL  late-bids-do-not-count: as a batch: 1 missing (-), 1 unexpected (+)")
    assert head.endswith(f"({tmp_path}/queries.test.yaml:15)")
    assert names.split() == ["auction", "end", "n", "total"]
    assert first.split() == ["+", "1", "2026-01-31T12:00:10Z", "2", "50.5"]
    assert second.split() == ["-", "1", "2026-01-31T12:00:10Z", "2", "50.6"]
    assert end == "tests: 2, failed: 1"


def test_a_row_too_many_counts_as_often_as_it_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = "  - {price: 1.5, seller: ann}\n"
    assert batch_only(write(tmp_path, SELLERS.replace(row, 3 * row))) == 1
    assert "as a batch: 2 missing (-) (" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("test", "messages"),
    [
        (
            BAD_ROWS,
            [
                ":9: QueryTest typos: spec.rows.bids[0].prise: no column prise; did you mean price?",
                ":10: QueryTest typos: spec.rows.bids[1]: cannot be read: ",
                ":11: QueryTest typos: spec.rows.bids[2]: cannot be read: no ts; the schema is auction",
                ":12: QueryTest typos: spec.rows.bits: the query reads no stream bits; did you mean bids?",
            ],
        ),
        (
            BAD_RESULT,
            [
                ":9: QueryTest typos: spec.expected[0].sellar: the query has no column sellar; did you",
                ":9: QueryTest typos: spec.expected[0]: seller is not written; write every",
                ":10: QueryTest typos: spec.expected[1]: a value has another type; the result's",
            ],
        ),
        (SUMS.replace("query: sums", "query: sum"), ["spec.query: no query sum; did you mean sums?"]),
        (SUMS.replace("  query: sums\n", ""), ["is missing; write one of default/sellers, default/sums"]),
        (SUMS.replace("expected:", "expect:"), ["spec.expect: no such field; did you mean expected?"]),
        (SUMS.replace("  query", "  manifests: [other.yaml]\n  query"), ["no such file or folder"]),
        (
            SUMS.replace("test.weir.dev/v1alpha1", "v1"),
            ["write an object with apiVersion: test.weir.dev/"],
        ),
    ],
    ids=["rows", "result", "unknown query", "no query", "field", "manifests", "no test"],
)
def test_what_is_wrong_with_a_test_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], test: str, messages: list[str]
) -> None:
    assert batch_only(write(tmp_path, test)) == 2
    errors = capsys.readouterr().err
    for message in messages:
        assert message in errors


def test_errors_of_the_manifests_are_told_with_their_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, SUMS)
    (tmp_path / "queries.yaml").write_text(MANIFEST.replace("price DOUBLE", "price DUBBLE"))
    assert batch_only(tmp_path) == 2
    assert f"{tmp_path}/queries.yaml:6: Stream default/bids: spec.schema: " in capsys.readouterr().err


def test_plans_of_the_folder_pass_over_its_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, SUMS)
    main(["plan", "-f", str(tmp_path)])
    assert "queries.test.yaml" not in capsys.readouterr().err
