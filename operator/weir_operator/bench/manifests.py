"""How long manifests take to read: what `weir bench scale`, which begins in memory, leaves out."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from weir_placement.bench.machine import described
from weir_placement.bench.page import write

from weir_operator.manifests.load import load
from weir_operator.manifests.read import read

STREAMS = 300
SIZES = ((100, 100), (1_000, 100), (100, 1_000), (1_000, 1_000))
"""(nodes, queries)"""

STREAM = """
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {{name: s{n}}}
spec:
  schema: k BIGINT, v DOUBLE, ts TIMESTAMP
  eventTime: {{column: ts, watermark: 1s}}
  source: {{files: {{uri: in/s{n}, format: arrow}}}}
  origin: {{node: n{at}}}
  rate: 100
"""
QUERY = """
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {{name: q{n}}}
spec:
  sql: |
    SELECT a.k, a.v, b.v AS w FROM s{a} a
    JOIN s{b} b ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 5 SECONDS AND a.ts + INTERVAL 5 SECONDS
    WHERE a.v > {n}
  sink: {{files: {{uri: out/q{n}, format: parquet}}}}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {{name: n{n}}}
status: {{allocatable: {{cpu: "4", memory: 16Gi}}}}
"""


def documents(nodes: int, queries: int) -> Iterator[str]:
    """Nodes, streams and queries of two streams each."""
    for n in range(nodes):
        yield NODE.format(n=n)
    for n in range(STREAMS):
        yield STREAM.format(n=n, at=n * 7 % nodes)
    for n in range(queries):
        yield QUERY.format(n=n, a=n % STREAMS, b=(n * 13 + 1) % STREAMS)


def manifests(folder: Path) -> None:
    """`weir bench manifests`: reading, checking and translating to a planning problem, by size."""
    rows: list[tuple[str | float, ...]] = []
    for nodes, queries in SIZES:
        with tempfile.TemporaryDirectory(prefix="weir-manifests-") as name:
            path = Path(name) / "all.yaml"
            path.write_text("---".join(documents(nodes, queries)))
            begin = time.process_time()
            read([name])
            parsed = time.process_time() - begin
            load([name])
            rows.append((nodes, queries, parsed, time.process_time() - begin - parsed))
            print(*rows[-1], flush=True)
    text = (
        f"CPU time on one core. {STREAMS} streams; each query joins two of them. Loading contains the "
        f"parsing and ends with the problem that a planner gets. {described()}"
    )
    head = ("nodes", "queries", "parsing YAML [s]", "loading in all [s]")
    write(folder, "manifests", "From YAML to a planning problem", text, head, rows)
