"""`weir test`: rows in, rows expected."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from weir_operator.cli.exit_codes import DIFFERENT, OK

if TYPE_CHECKING:
    import pyarrow as pa

    from weir_operator.testing.cases import RowCase
    from weir_operator.testing.runs import StreamRunner

NamedRuns = list[tuple[str, Callable[[], "pa.Table | None"]]]
"""What a run is called, and what does it."""


def run_tests(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files with QueryTests, or folders of such files.")
    ],
    batch_only: Annotated[
        bool, typer.Option("--batch-only", help="Run as a batch only: seconds instead of half a minute.")
    ] = False,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", help="Seed of the orders and the batches in which rows arrive."),
    ] = 0,
) -> int:
    """Test queries: rows that go in and rows that must come out, in a YAML file beside the manifest.

    Each query runs as a batch (on DuckDB) and twice as a stream (on Spark, in pieces): with the rows in the
    order of the file, and in another one, in which no row is late. All three must give the expected rows.
    Sources, sinks, nodes and zones of the manifests do not matter.

    Exit code 0: all passed; 1: some did not; 2: bad input, with one line for each error.

    Example: the file expensive.test.yaml beside a manifest of the query `expensive` and its stream `bids`

      apiVersion: test.weir.dev/v1alpha1
      kind: QueryTest
      metadata: {name: only-expensive-bids}
      spec:
        rows:
          bids:
          - {auction: 1, price: 150, ts: "2026-01-31T12:00:00Z"}
          - {auction: 2, price: 99.5, ts: "2026-01-31T12:00:01Z"}
        expected:
        - {auction: 1, price: 150}

      weir test expensive.test.yaml

      weir test queries/ --batch-only
    """
    from weir_operator.testing.cases import load_cases
    from weir_operator.testing.judge import expected_table
    from weir_operator.testing.runs import run_as_batch, stream_runner

    cases = load_cases(paths)
    results = [run_as_batch(case) for case in cases]
    expected = [expected_table(case, result.schema) for case, result in zip(cases, results, strict=True)]
    failures = 0
    with nullcontext() if batch_only else stream_runner() as runner:
        for case, result, rows in zip(cases, results, expected, strict=True):
            runs: NamedRuns = [("as a batch", lambda result=result: result)]  # type: ignore[misc]
            failures += not _passes(case, rows, runs + (_streams(runner, case, seed) if runner else []))
    print(f"tests: {len(cases)}, failed: {failures}")
    return DIFFERENT if failures else OK


def _streams(runner: StreamRunner, case: RowCase, seed: int) -> NamedRuns:
    return [
        ("as a stream", lambda: runner.as_written(case, Random(seed))),
        (f"as a stream, out of order (--seed {seed})", lambda: runner.out_of_order(case, Random(seed))),
    ]


def _passes(case: RowCase, expected: pa.Table, runs: NamedRuns) -> bool:
    """Prints a line, and what differs; a run that differs is the last one."""
    from rich.console import Console

    from weir_operator.testing.judge import difference
    from weir_operator.testing.pieces import late_rows

    console = Console(highlight=False, soft_wrap=True)
    late = "".join(f"; late rows of {name}: {n}" for name, n in late_rows(case.rows, case.streams).items())
    for name, run in runs:
        wrong = difference(expected, run())
        if wrong:
            where = f"{case.document.file}:{case.document.line('spec.expected')}"
            console.print(f"FAIL  {case.name}: {name}: {wrong.summary()}{late} ({where})", style="red")
            console.print(wrong.table())
            return False
    console.print(f"pass  {case.name}: rows: {expected.num_rows}{late}")
    return True
