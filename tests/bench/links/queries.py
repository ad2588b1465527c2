"""The queries, as Weir reads them and as Spark does, and the Weir objects around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.bench.links.rows import STREAMS, RowStream
from tests.e2e.kubectl import REPOSITORY, Manifest

DELIVERY = "atlanta"
ZONES = ("newyork", "west", DELIVERY)
NAME = "links"
"""Of policy and topology."""
LATENCY = "5ms"
"""Between zones, as planners see it. The kernel here adds none."""
RATE = 20
"""[rows/s] nominal, of each stream; weather has a tenth. A headroom is a factor on it."""

MEMORY = "3Gi"
"""Of each fragment: a probe leaves it a backlog of wide rows."""

_FIVE = "INTERVAL 5 SECONDS"
THREE_WAY = f"""
SELECT ab.a, ab.b, bc.c, cd.d
FROM bc JOIN cd ON bc.c = cd.c AND bc.ts BETWEEN cd.ts - {_FIVE} AND cd.ts + {_FIVE}
JOIN ab ON ab.b = bc.b AND bc.ts BETWEEN ab.ts - {_FIVE} AND ab.ts + {_FIVE}
WHERE ab.a = 0 AND cd.d = 0
"""
"""Section 6.4 of WhiteWater: sigma(D=0) sigma(A=0) (AB join_B (BC join_C CD))."""

PLAIN = {
    "flights": {
        "delayed-weather": """
SELECT d.month, d.carrier, d.flight, d.origin, d.dep_delay, w.wind_speed, w.precip, w.visib
FROM departures d JOIN weather w ON d.month = w.month AND d.origin = w.origin
 AND d.ts BETWEEN w.ts AND w.ts + INTERVAL 999 MILLISECONDS
WHERE d.dep_delay >= 15""",
        "made-up-time": """
SELECT dw.month, dw.carrier, dw.flight, dw.origin, dw.dest, dw.dep_delay, a.arr_delay, dw.wind_speed
FROM (SELECT d.month, d.carrier, d.flight, d.origin, d.dest, d.dep_delay, d.ts, w.wind_speed
      FROM departures d JOIN weather w ON d.month = w.month AND d.origin = w.origin
       AND d.ts BETWEEN w.ts AND w.ts + INTERVAL 999 MILLISECONDS
      WHERE d.dep_delay >= 5) AS dw
JOIN arrivals a ON dw.month = a.month AND dw.carrier = a.carrier AND dw.flight = a.flight
 AND dw.origin = a.origin AND a.ts BETWEEN dw.ts AND dw.ts + INTERVAL 12 SECONDS
WHERE a.arr_delay < 0""",
        "by-carrier": """
SELECT d.carrier, window.start, window.end, count(*) AS departures, avg(d.dep_delay) AS mean_delay
FROM departures d GROUP BY d.carrier, window(d.ts, '6 seconds')""",
    },
    "three-way": {
        "three-way": f"""
SELECT ab.a, ab.b, j.c, j.d
FROM (SELECT bc.b, bc.c, cd.d, bc.ts FROM bc
      JOIN cd ON bc.c = cd.c AND bc.ts BETWEEN cd.ts - {_FIVE} AND cd.ts + {_FIVE}) AS j
JOIN ab ON ab.b = j.b AND j.ts BETWEEN ab.ts - {_FIVE} AND ab.ts + {_FIVE}
WHERE ab.a = 0 AND j.d = 0"""
    },
}
"""As in Spark: the first of two joins hands on one event time alone, for Spark takes no stream with two."""


def sql() -> dict[str, dict[str, str]]:
    """By set and name, as Weir reads them; the flights' as their example has them."""
    manifests = yaml.safe_load_all(Path(REPOSITORY / "examples/flights/queries.yaml").read_text())
    return {
        "flights": {q["metadata"]["name"]: q["spec"]["sql"] for q in manifests},
        "three-way": {"three-way": THREE_WAY},
    }


def broker(zone: str) -> str:
    """Address of a zone's broker."""
    return f"kafka-{zone}:9092"


def servers() -> str:
    """Of all brokers."""
    return ",".join(map(broker, ZONES))


def topics(chosen: str, prefix: str) -> dict[str, str]:
    """Zone of each topic: a stream's is where it enters, results are delivered in the third zone."""
    streams = {prefix + stream.name: stream.origin for stream in STREAMS[chosen]}
    return streams | {prefix + query: DELIVERY for query in PLAIN[chosen]}


def ddl(stream: RowStream) -> str:
    """Its columns with the payload and the time."""
    return f"{stream.ddl}, payload STRING, ts TIMESTAMP"


def weir_objects(
    namespace: str, chosen: str, prefix: str, payload: int, bits: int, strategy: str
) -> list[Manifest]:
    """Topology, policy, streams and queries. The plan stays: nothing moves while a rate is measured."""
    return [
        topology(bits),
        policy(strategy),
        *(stream_of(namespace, s, prefix, payload) for s in STREAMS[chosen]),
        *(query_of(namespace, name, text, prefix) for name, text in sql()[chosen].items()),
    ]


def topology(bits: int) -> Manifest:
    """Every link between two zones is as wide as tc makes it."""
    spec = {
        "default": {"latency": LATENCY, "bandwidth": f"{bits // 1000}k"},
        "within": {"latency": "0.1ms", "bandwidth": "10G"},
    }
    return _object("NetworkTopology", "", NAME, spec)


def policy(strategy: str) -> Manifest:
    """Headroom is what is measured; the flows between fragments are topics, so that links carry them."""
    spec: dict[str, Any] = {
        "objective": "headroom",
        "strategy": {"name": strategy},
        "topology": NAME,
        "drift": {"minHeadroom": 0, "minGain": 1_000_000},
        "moveBudget": {"moves": 0},
        "overheads": {
            "fragmentCpu": "100m",
            "fragmentMemory": "700Mi",
            "exchangeCost": 10,
            "exchangeLatency": "2s",
        },
        "exchange": {"kafka": {"bootstrapServers": servers(), "topicPrefix": f"{NAME}."}},
    }
    return _object("PlacementPolicy", "", NAME, spec)


def stream_of(namespace: str, stream: RowStream, prefix: str, payload: int) -> Manifest:
    """A stream in its zone; its rows are as wide as their payload makes them."""
    kafka = {"bootstrapServers": broker(stream.origin), "topic": prefix + stream.name}
    spec = {
        "schema": ddl(stream),
        "eventTime": {"column": "ts", "watermark": f"{stream.watermark_ms}ms"},
        "source": {"kafka": kafka},
        "origin": {"zone": stream.origin},
        "rate": RATE // 10 if stream.name == "weather" else RATE,
        "tupleBytes": payload + 150,
        "statistics": {"distinct": stream.distinct},
    }
    return _object("Stream", namespace, stream.name, spec)


def query_of(namespace: str, name: str, text: str, prefix: str) -> Manifest:
    """A query whose results are delivered to the third zone's broker."""
    spec = {
        "sql": text,
        "sink": {"kafka": {"bootstrapServers": broker(DELIVERY), "topic": prefix + name}},
        "deliverTo": {"zone": DELIVERY},
        "policy": NAME,
        "resources": {"memory": MEMORY},
    }
    return _object("StreamQuery", namespace, name, spec)


def _object(kind: str, namespace: str, name: str, spec: Manifest) -> Manifest:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "weir.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
