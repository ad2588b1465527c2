"""The query of section 6.4 of WhiteWater: its streams, logs, and the plans that are compared.

Q = sigma(D=0) sigma(A=0) (AB join_B (BC join_C CD)), all input rates equal, windows of 5 s. The paper says
that the join on C is 100 times more selective than the one on B and that each selection lets one row in 100
through; it does not say how selective they are. Its two measured rates do, by its own cost model (`implied`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from weir_placement.fragments import Ends, Knobs, Layout, cut
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.fragment import FragmentSpec, Output
from weir_placement.model.operators import Filter, Join, Window
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Overheads, Problem, Query
from weir_placement.model.streams import Column, Stream
from weir_placement.search.auto import AUTO

from weir_operator.local.calibration import Calibration

PAPER_C1, PAPER_C2 = 8_517.0, 37_313.0
"""[tuples/s of each stream]"""
PAPER_SELECT, PAPER_JOIN = 20.0, 800.0
REACH = 5_000_000
"""[us] half of a join's window."""
TIMES = 100
"""A = 0 and D = 0 for one row in so many; so many times more keys has C than B."""
RATE = 1_000.0
"""[rows/s] of each stream in the problem; headroom is a factor on it."""
FILE_SECONDS = 0.5
"""[s] of event time in one file of a log."""
STREAMS = {"ab": ("a", "b"), "bc": ("b", "c"), "cd": ("c", "d")}
NODES = ("n1", "n2")
START = 1_600_000_000_000_000
COSTS = Calibration(
    {"filter": 0.86, "join": 46.15},
    5.07,
    10.72,
    Overheads(fragment_cpu=50_000.0, exchange_cost=10.72),
)
"""[CPU-us a row] as docs/benchmarks/calibration.md has them; memory is not limited here."""


def implied() -> float:
    """Keys of C with which the paper's model and costs give both of its rates.

    C2's fuller node carries join_C's rows and the selection on D: its capacity is
    (800 (1 + 1/100) + 20) x 37,313. C1 at 8,517 fills it: 800 (3 + y) + 20 (100 y^2 + y^2), y the rows that
    join_C gives for a row of one stream: 2 w r / keys.
    """
    capacity = (PAPER_JOIN * (1 + 1 / TIMES) + PAPER_SELECT) * PAPER_C2 / PAPER_C1
    square, line, rest = PAPER_SELECT * (TIMES + 1), PAPER_JOIN, 3 * PAPER_JOIN - capacity
    rows = (sqrt(line * line - 4 * square * rest) - line) / (2 * square)
    return 2 * REACH / 1e6 * PAPER_C1 / rows


KEYS_B = 1_400
KEYS_C = KEYS_B * TIMES
"""`implied`, rounded (a test compares)."""


def written() -> Query:
    """As in the paper: both selections above both joins; with measured costs."""
    join = {
        key: Join(
            f"join_{key}",
            inputs,
            (f"{left}.{key}", f"{right}.{key}"),
            on=f"{left}.{key} = {right}.{key}",
            windows=(Window(left, right, -REACH, REACH),),
            selectivity=1.0 / keys,
        )
        for key, inputs, left, right, keys in (
            ("c", ("bc", "cd"), "bc", "cd", KEYS_C),
            ("b", ("ab", "join_c"), "ab", "bc", KEYS_B),
        )
    }
    select = {
        column: Filter(f"select_{column[-1]}", (below,), (column,), f"{column} = 0", selectivity=1 / TIMES)
        for column, below in (("ab.a", "join_b"), ("cd.d", "select_a"))
    }
    operators = (join["c"], join["b"], select["ab.a"], select["cd.d"])
    return Query("bench/q", {name: f"bench/{name}" for name in STREAMS}, operators)


def streams() -> dict[str, Stream]:
    """Two keys and the event time each; they enter at the first node, over a network without limits."""
    return {
        f"bench/{name}": Stream(
            f"bench/{name}",
            RATE,
            (*(Column(c, "BIGINT", 8) for c in columns), Column("ts", "TIMESTAMP", 8)),
            ("n1",),
            24.0,
            "ts",
        )
        for name, columns in STREAMS.items()
    }


def problem(query: Query, nodes: int = 2) -> Problem:
    """On so many nodes of one core, with measured costs: reading is paid by whoever reads a source."""
    machines = tuple(Node(name, 1.0) for name in NODES[:nodes])
    return Problem(
        Cluster(machines, Network.uniform(nodes)),
        streams(),
        (COSTS.query(query),),
        overheads=COSTS.overheads,
    )


def on(query: Query, nodes: Mapping[str, str]) -> QueryPlan:
    """The query with its operators on the nodes given."""
    return QueryPlan(query, nodes, dict.fromkeys(query.sources, "n1"))


def as_written() -> QueryPlan:
    """C1: everything on one node."""
    query = COSTS.query(written())
    return on(query, dict.fromkeys((op.id for op in query.operators), "n1"))


def of_the_paper() -> QueryPlan:
    """C2: (sigma_A AB) join_B on one node, BC join_C (sigma_D CD) on the other."""
    join_c, join_b, select_a, select_d = written().operators
    operators = (
        replace(select_d, inputs=("cd",)),
        replace(join_c, inputs=("bc", "select_d")),
        replace(select_a, inputs=("ab",)),
        replace(join_b, inputs=("select_a", "join_c")),
    )
    query = COSTS.query(replace(written(), operators=operators))
    return on(query, {"select_d": "n1", "join_c": "n1", "select_a": "n2", "join_b": "n2"})


def headroom_plan() -> QueryPlan:
    """What `auto` makes of the written query on two nodes."""
    result = AUTO.plan(problem(written()), objective="headroom", seed=1, time_limit=5.0, options={})
    (plan,) = result.plan.queries
    return plan


@dataclass(frozen=True)
class Logs:
    """Where the logs of the three streams are; `rate` [rows/s of each in event time], `files` of each."""

    folder: Path
    rate: float
    files: int

    @staticmethod
    def write(folder: Path, rate: float, seconds: float, form: str) -> Logs:
        """Uniform keys, even gaps between rows; the same rows in both forms (arrow, parquet)."""
        count, files = round(rate * FILE_SECONDS), round(seconds / FILE_SECONDS)
        domain = {"a": TIMES, "b": KEYS_B, "c": KEYS_C, "d": TIMES}
        step = FILE_SECONDS * 1e6 / count
        for seed, (name, columns) in enumerate(STREAMS.items()):
            chance = np.random.default_rng(seed)
            (folder / name).mkdir(parents=True)
            for number in range(files):
                first = START + number * FILE_SECONDS * 1e6
                data = {c: pa.array(chance.integers(0, domain[c], count)) for c in columns}
                times = (first + np.arange(count) * step).astype(np.int64)
                table = pa.table({**data, "ts": pa.array(times, pa.timestamp("us", "UTC"))})
                path = folder / name / f"{number:010d}.{form}"
                if form == "parquet":
                    pq.write_table(table, path)
                else:
                    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                        writer.write_table(table)
        return Logs(folder, rate, files)


def specs(plan: QueryPlan, inbox: Path, root: Path, knobs: Knobs) -> tuple[FragmentSpec, ...]:
    """The plan's fragments over the logs that appear in `inbox`; rows are counted, not written."""
    sources = {name: {"files": {"uri": str(inbox / name), "format": "arrow"}} for name in STREAMS}
    ends = Ends(sources, Output("noop"), knobs=knobs)
    layout = Layout(str(root))
    return tuple(layout.stamp(s, 1, s.node, False) for s in cut(plan, streams(), ends, layout))
