"""A planning problem: one snapshot, from which `plan` is a pure function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from weir_placement.model.cluster import Cluster
from weir_placement.model.operators import Operator
from weir_placement.model.streams import Stream


@dataclass(frozen=True)
class Query:
    """A directed acyclic graph of operators from sources to one sink.

    `sources` maps an alias used by operators and columns to a stream's full name; `operators` are
    in topological order, the last one feeds the sink; `deliver_to` are node names (any of them;
    empty: anywhere, delivery costs nothing). `processes` work for each of its fragments (a driver and its
    executors), and each costs the overheads of a fragment. Fragments of one `sharing_class` on one node are
    in one host; "": each process is a host of its own.
    """

    name: str  # namespace/name
    sources: Mapping[str, str]
    operators: tuple[Operator, ...]
    deliver_to: tuple[str, ...] = ()
    max_latency: float = inf  # [s]
    priority: int = 0
    fixed_order: bool = False
    processes: int = 1
    sharing_class: str = ""


@dataclass(frozen=True)
class Overheads:
    """What running costs beside the operators; all 0 in the papers' benchmarks, calibrated in life."""

    fragment_cpu: float = 0.0  # [CPU-us/s] of each process of a fragment
    fragment_memory: float = 0.0  # [bytes] of each process of a fragment
    exchange_cost: float = 0.0  # [CPU-us a tuple] at each end of an exchange
    exchange_latency: float = 0.0  # [s] a fragment on an idle node: until its batch begins, and the batch
    batch_cost: float = 0.0  # [CPU-us] a batch of each process of a fragment, with one row or a thousand
    input_batch_cost: float = 0.0  # [CPU-us] a batch, for each source or exchange that a fragment reads
    state_batch_cost: float = 0.0  # [CPU-us] a batch, for each input of an operator that keeps rows
    batch_rate: float = 1.0  # [batches/s] of each fragment
    host_cpu: float = 0.0  # [CPU-us/s] of each host, whatever it runs
    host_memory: float = 0.0  # [bytes] of each host, whatever it runs

    @property
    def process_cpu(self) -> float:
        """[CPU-us/s] of each process of a fragment, whatever rows come."""
        return self.fragment_cpu + self.batch_cost * self.batch_rate

    @property
    def input_cpu(self) -> float:
        """[CPU-us/s] of each source or exchange that a fragment reads, whatever rows come."""
        return self.input_batch_cost * self.batch_rate

    @property
    def state_cpu(self) -> float:
        """[CPU-us/s] of each input of an operator that keeps rows, whatever rows come."""
        return self.state_batch_cost * self.batch_rate


@dataclass(frozen=True)
class Robustness:
    """The rates and selectivities that a plan must carry beside the expected ones (model.md section 10).

    Any `deviations` of them (None: all) are at their largest at once: a rate at that of `max_rates`, which
    has one mapping for each point of the profile, a selectivity at its operator's `max_selectivity`.
    """

    deviations: int | None = None
    max_rates: tuple[Mapping[str, float], ...] = ()


Unit = Literal["", "cores", "bytes"]


@dataclass(frozen=True)
class Budget:
    """What the fragments of some queries may ask for together, on whichever nodes: a namespace's quota.

    `each` is what one fragment of a query asks for, by the query's full name, and `state` what its fragments
    ask for beside that, however many there are: the heap for its state. It is what processes request, not
    what the model says that they use.
    """

    name: str  # "requests.cpu of ResourceQuota team/small"
    left: float  # [unit] of `hard`, others' use taken off
    hard: float
    each: Mapping[str, float]
    unit: Unit = ""
    state: Mapping[str, float] = field(default_factory=dict)
    resource: str = ""  # "requests.cpu", as its namespace's quota or its policy's limit names it

    def of(self, query: str, fragments: int) -> float:
        """What a query with so many fragments asks for; 0 of one that is not among them."""
        return fragments * self.each.get(query, 0.0) + (self.state.get(query, 0.0) if fragments else 0.0)


@dataclass(frozen=True)
class Placed:
    """Where a plan in force runs an operator: `(query, operator id) -> node` is the key of moves."""

    query: str
    operator: str
    node: str


@dataclass(frozen=True)
class Problem:
    """Everything a strategy may look at.

    `profile` is a set of points: rates [tuples/s] by stream name, missing streams at their nominal
    rate; the empty tuple means one point with every nominal rate. `pinned` and `forbidden` are by
    `query/operator`. `in_force` is the running plan: fewer moves from it break ties. A plan has no more
    fragments than its `budgets` allow. `raised` has for each point the `query/operator` whose selectivity is
    at its largest there (empty: none anywhere). With `robustness` a plan is for the worst of its points.
    `enough` is the headroom that is wanted: of the plans that have it the cheapest is best (None: the one
    with the most headroom is).
    """

    cluster: Cluster
    streams: Mapping[str, Stream]
    queries: tuple[Query, ...]
    profile: tuple[Mapping[str, float], ...] = ()
    overheads: Overheads = field(default_factory=Overheads)
    pinned: Mapping[str, str] = field(default_factory=dict)
    forbidden: Mapping[str, frozenset[str]] = field(default_factory=dict)
    in_force: tuple[Placed, ...] = ()
    budgets: tuple[Budget, ...] = ()
    raised: tuple[frozenset[str], ...] = ()
    robustness: Robustness | None = None
    enough: float | None = None
    max_cluster_size: int = 16
    tier_label: str = ""

    def points(self) -> tuple[Mapping[str, float], ...]:
        """The profile's points with every stream's rate [tuples/s] filled in."""
        nominal = {name: stream.rate for name, stream in self.streams.items()}
        return tuple({**nominal, **point} for point in self.profile) or (nominal,)
