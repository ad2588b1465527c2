"""The state that users' objects ask for: problems by policy, and why a query cannot be planned."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from weir_placement.fragments import Ends
from weir_placement.model.fragment import Output
from weir_placement.model.problem import Problem, Query

from weir_operator.api.policy import PlacementPolicySpec


@dataclass(frozen=True)
class DesiredQuery:
    """One StreamQuery that can be planned."""

    model: Query
    ends: Ends
    source: str  # hash of all that its rows depend on
    generation: int
    suspended: bool = False
    unplannable: bool = False  # it cannot be planned now: what is in force stays, where nodes allow it
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of operators with a list of nodes
    pods: str = ""  # what its pods take from the query itself, apart from the plan
    dedicated: bool = False  # a process for each fragment, whatever its policy says
    parts: Mapping[str, str] = field(
        default_factory=dict
    )  # hashes of what `source` is made of, by what it is
    restore: str = ""  # the Placement of the deleted query whose state it takes up
    snapshot: str = ""  # the snapshot (namespace/name) from which it begins


def suspended_query(name: str, generation: int) -> DesiredQuery:
    """A query of which nothing shall run, whatever else it says."""
    nothing = Ends({}, Output("noop"))
    return DesiredQuery(Query(name, {}, ()), nothing, "", generation, suspended=True)


@dataclass(frozen=True)
class Fault:
    """Why a query cannot be planned. `missing`: it refers to an object that may be applied later."""

    message: str
    missing: bool = False
    generation: int = -1
    waits: str = ""  # reason of a condition: nothing is wrong with the query, it begins or changes later


@dataclass(frozen=True)
class Group:
    """The queries of one policy: they are planned together."""

    name: str
    policy: PlacementPolicySpec
    problem: Problem
    queries: Mapping[str, DesiredQuery]
    measured_links: bool = False  # latencies measured between fragments override the topology's
    planned: bool = True  # false: its policy cannot be read

    def only(self, names: Collection[str]) -> Group:
        """The group with these of its queries alone."""
        queries = {name: query for name, query in self.queries.items() if name in names}
        models = tuple(query for query in self.problem.queries if query.name in names)
        return replace(self, queries=queries, problem=replace(self.problem, queries=models))


@dataclass(frozen=True)
class DesiredState:
    """Groups by falling priority; `faults` by query; `lost` nodes do not answer, `cordoned` ones take no new
    work, `closed` ones admit no pod of a query (taints, memory). `policies` (by query) and `suspended` are
    what queries say, also those that have errors."""

    groups: tuple[Group, ...]
    faults: Mapping[str, Fault] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()
    not_ready: frozenset[str] = frozenset()  # those of `lost` that are still there
    nodes: frozenset[str] = frozenset()  # all that are there
    cordoned: frozenset[str] = frozenset()
    closed: Mapping[str, frozenset[str]] = field(default_factory=dict)  # query -> nodes
    created: Mapping[str, float] = field(default_factory=dict)  # query -> [s since 1970]
    errors: Mapping[tuple[str, str, str], str] = field(default_factory=dict)  # (kind, namespace, name) -> why
    statuses: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # query -> its present status

    policies: Mapping[str, str] = field(default_factory=dict)
    suspended: frozenset[str] = frozenset()
    readers: Mapping[str, frozenset[str]] = field(default_factory=dict)  # stream -> `sharedWith`
    unreadable_nodes: frozenset[str] = frozenset()  # what they have is unknown
    uids: Mapping[str, str] = field(default_factory=dict)  # query -> uid
    retain: Mapping[str, float] = field(default_factory=dict)  # query -> how long it is kept when deleted [s]

    def nodes_to_leave(self, query: str) -> frozenset[str]:
        """The nodes that a query has to leave: they would no longer admit a pod of it."""
        return self.cordoned | self.closed.get(query, frozenset())

    def unusable_nodes(self, query: str) -> frozenset[str]:
        """The nodes on which nothing of a query can stay: lost, or to be left."""
        return self.lost | self.nodes_to_leave(query)

    def has(self, query: str) -> bool:
        """Whether something of a query is to be planned or kept, or stopped because it is suspended."""
        return any(query in group.queries for group in self.groups)

    def without(self, faulty: Mapping[str, str], waits: str = "") -> DesiredState:
        """The state in which these queries (name -> why) are not planned: they stay as they are. With `waits`
        (a reason) nothing is wrong with them."""
        if not faulty:
            return self
        groups, faults = [], dict(self.faults)
        for group in self.groups:
            faults |= {
                n: Fault(faulty[n], False, a.generation, waits)
                for n, a in group.queries.items()
                if n in faulty
            }
            groups.append(group.only(group.queries.keys() - faulty.keys()))
        return replace(self, groups=tuple(groups), faults=faults)
