"""A manifest with a query, and tests beside it."""

from __future__ import annotations

from pathlib import Path

MANIFEST = """
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {name: bids}
spec:
  schema: auction BIGINT, price DOUBLE, ts TIMESTAMP
  eventTime: {column: ts, watermark: 5s}
  source: {kafka: {bootstrapServers: "kafka:9092", topic: bids}}
  origin: {zone: nowhere}
---
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {name: auctions}
spec:
  schema: id BIGINT, seller STRING, ts TIMESTAMP
  eventTime: {column: ts, watermark: 0s}
  source: {files: {uri: in/auctions, format: csv}}
---
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {name: sums}
spec:
  sql: |
    SELECT b.auction, window.end, count(*) AS n, sum(b.price) AS total FROM bids b
    WHERE b.price > 10 GROUP BY b.auction, window(b.ts, '10 seconds')
  sink: {files: {uri: out/sums}}
  deliverTo: {node: nobody}
---
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {name: sellers}
spec:
  sql: |
    SELECT b.price, a.seller FROM bids b JOIN auctions a
    ON b.auction = a.id AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 10 SECONDS
"""

SUMS = """
apiVersion: test.weir.dev/v1alpha1
kind: QueryTest
metadata: {name: late-bids-do-not-count}
spec:
  query: sums
  rows:
    bids:
    - {auction: 1, price: 20, ts: "2026-01-31T12:00:05Z"}
    - {auction: 1, price: 30.5, ts: 2026-01-31T12:00:00Z}
    - {auction: 1, price: 5, ts: 2026-01-31T12:00:01Z}
    - {auction: 2, price: 11, ts: 2026-01-31T12:00:21Z}
    - {auction: 2, price: 99, ts: 2026-01-31T12:00:17.5Z}
    - {auction: 1, price: 99, ts: 2026-01-31T12:00:09Z}  # late
  expected:
  - {auction: 1, end: 2026-01-31T12:00:10Z, n: 2, total: 50.5}
  - {auction: 2, end: 2026-01-31T12:00:20Z, n: 1, total: 99}
  - {auction: 2, end: 2026-01-31T12:00:30Z, n: 1, total: 11}
"""

SELLERS = """
apiVersion: test.weir.dev/v1alpha1
kind: QueryTest
metadata: {name: bids-within-ten-seconds}
spec:
  query: default/sellers
  rows:
    auctions:
    - {id: 1, seller: ann, ts: 2026-01-31T12:00:00Z}
    - {id: 2, ts: 2026-01-31T12:00:30Z}
    bids:
    - {auction: 1, price: 1.5, ts: 2026-01-31T12:00:10Z}
    - {auction: 1, price: 2.5, ts: 2026-01-31T12:00:10.000001Z}
    - {auction: 2, price: 3.5, ts: 2026-01-31T12:00:30Z}
    - {auction: 3, price: 4.5, ts: 2026-01-31T12:00:30Z}
  expected:
  - {price: 1.5, seller: ann}
  - {price: 3.5, seller: null}
"""


def write(folder: Path, *tests: str) -> Path:
    """The folder with the manifest and a file of tests."""
    (folder / "queries.yaml").write_text(MANIFEST)
    (folder / "queries.test.yaml").write_text("---".join(tests))
    return folder
