"""What a picture of a plan shows, read from its PlanReport (docs/cli.md, "The plan as JSON")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from weir_placement.objectives import OBJECTIVES

from weir_operator.planning.difference import PlanReport
from weir_operator.planning.enough import enough_words, minimised
from weir_operator.planning.overload import carried
from weir_operator.planning.proof import over_space, proved

EntryChange: TypeAlias = Literal["same", "new", "rate", "gone"]  # since an earlier plan


@dataclass(frozen=True)
class FragmentContent:
    """Connected operators of one query on one node; `operators` are (kind, id) in plan order.

    Against an earlier plan `moved` are the ids of those that have come (`new`) or left (`gone`), and `note`
    says where from or where to.
    """

    query: str
    operators: tuple[tuple[str, str], ...]
    change: EntryChange = "same"
    moved: frozenset[str] = frozenset()
    note: str = ""


@dataclass
class NodeContent:
    """One node: its load against its capacity, what enters it, runs on it and is delivered there."""

    name: str
    zone: str
    cpu: float = 0.0  # share of its capacity, 0 to 1 and above
    memory: float = 0.0  # share of its capacity
    was_cpu: float | None = None  # by an earlier plan
    was_memory: float | None = None
    binds: bool = False
    sources: list[str] = field(default_factory=list)
    fragments: list[FragmentContent] = field(default_factory=list)
    deliveries: list[str] = field(default_factory=list)

    @property
    def idle(self) -> bool:
        """Nothing enters, runs or is delivered here."""
        return not (self.sources or self.fragments or self.deliveries)


@dataclass(frozen=True)
class FlowContent:
    """Streams that travel together from one node to another; `was` is their rate by an earlier plan."""

    source: str
    target: str
    bytes_per_second: float
    streams: tuple[str, ...]
    binds: bool
    change: EntryChange = "same"
    was: float | None = None


@dataclass(frozen=True)
class Content:
    """Everything a picture shows."""

    title: str
    subtitles: tuple[str, ...]
    nodes: tuple[NodeContent, ...]
    flows: tuple[FlowContent, ...]


def read(report: PlanReport, zones: Mapping[str, str] | None = None) -> Content:
    """The content of a report; `zones` maps node name -> zone."""
    zones = zones or {}
    binding = tuple((report.get("bindingAt") or {}).get("nodes", ()))
    nodes = {
        item["name"]: NodeContent(
            item["name"],
            zones.get(item["name"], ""),
            _share(item["cpu"], item["cpuCapacity"]),
            _share(item["memoryBytes"], item["memoryCapacity"]),
            binds=binding == (item["name"],),
        )
        for item in report["nodes"]
    }
    for query in report["queries"]:
        if query["admitted"]:
            _read_query(query, nodes, report["flows"])
    _read_entries(report, nodes)
    subtitles = tuple(filter(None, (_subtitle(report), enough_words(report))))
    return Content(_title(report), subtitles, tuple(nodes.values()), _flows(report, binding))


def _share(load: float, capacity: float | None) -> float:
    return load / capacity if capacity else 0.0


def _read_query(
    query: Mapping[str, Any], nodes: Mapping[str, NodeContent], flows: Sequence[Mapping[str, Any]]
) -> None:
    operators = query["operators"]
    node_of = {op["id"]: op["node"] for op in operators}
    home = {op["id"]: op["id"] for op in operators}  # operator -> first operator of its fragment

    def find(name: str) -> str:
        while home[name] != name:
            name = home[name]
        return name

    for op in operators:
        for upstream in op["inputs"]:
            if node_of.get(upstream) == op["node"]:
                home[find(op["id"])] = find(upstream)
    groups: dict[str, list[tuple[str, str]]] = {}
    for op in operators:
        short = op["id"].rsplit("/", 1)[-1]
        groups.setdefault(find(op["id"]), []).append((op["kind"], short))
    for first, members in groups.items():
        nodes[node_of[first]].fragments.append(FragmentContent(query["name"], tuple(members)))
    if operators:
        nodes[_delivery(operators, flows)].deliveries.append(query["name"].rsplit("/", 1)[-1])


def _delivery(operators: Sequence[Mapping[str, Any]], flows: Sequence[Mapping[str, Any]]) -> str:
    """Where the last operator's rows leave its node for, if they do; else where they are made."""
    last = operators[-1]
    sent = [flow["to"] for flow in flows if flow["stream"] == last["id"] and flow["to"] != last["node"]]
    return str(sent[0]) if sent else str(last["node"])


def _read_entries(report: PlanReport, nodes: Mapping[str, NodeContent]) -> None:
    """A source enters where its flows begin, or where its only readers are."""
    node_of = {op["id"]: op["node"] for q in report["queries"] for op in q.get("operators", [])}
    entries: dict[str, set[str]] = {}
    for flow in report["flows"]:
        if flow["stream"] not in node_of and not flow.get("relay"):
            entries.setdefault(flow["stream"], set()).add(flow["from"])
    for query in report["queries"]:
        for op in query.get("operators", []):
            for upstream in op["inputs"]:
                if upstream not in node_of and upstream not in entries:
                    entries.setdefault(upstream, set()).add(op["node"])
    for stream, places in sorted(entries.items()):
        for place in places & nodes.keys():
            nodes[place].sources.append(stream.rsplit("/", 1)[-1])


def _flows(report: PlanReport, binding: tuple[str, ...]) -> tuple[FlowContent, ...]:
    together: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for flow in report["flows"]:
        if flow["from"] != flow["to"]:
            together.setdefault((flow["from"], flow["to"]), []).append(flow)
    operators = {op["id"] for query in report["queries"] for op in query.get("operators", [])}
    return tuple(
        FlowContent(
            source,
            target,
            sum(f["bytesPerSecond"] for f in flows),
            tuple(f["stream"] if f["stream"] in operators else f["stream"].rsplit("/", 1)[-1] for f in flows),
            binds=set(binding) == {source, target},
        )
        for (source, target), flows in together.items()
    )


def _title(report: PlanReport) -> str:
    admitted = sum(bool(query["admitted"]) for query in report["queries"])
    value = report.get("objectiveValue")
    figure = "unbounded" if value is None else f"{value:,.4g}"
    unit = OBJECTIVES[report["objective"]].unit if report["objective"] in OBJECTIVES else ""
    proof = "proved optimal" if proved(report) else _gap(report.get("gap"))
    over = over_space(report)
    proof = f"{proof or 'the best found'}{over}" if over or minimised(report) else proof
    rejected = len(report["queries"]) - admitted
    queries = f"{admitted} quer{'y' if admitted == 1 else 'ies'}" + (
        f", {rejected} rejected" if rejected else ""
    )
    behind = " · falls behind" if carried(report) else ""
    objective = f"{report['objective']} {figure} {unit}".rstrip()
    return f"{queries} · {objective}{behind}" + (f" · {proof}" if proof else "")


def _gap(gap: float | None) -> str:
    return "" if gap is None else f"within {gap:.1%} of the bound"


def _subtitle(report: PlanReport) -> str:
    binding = f"binds: {report['binding']}" if report.get("binding") else "nothing binds"
    usage = report.get("networkUsageBytes")
    return binding + ("" if usage is None else f" · network usage {quantity(usage)}B in transit")


def quantity(value: float) -> str:
    """A number with a decimal prefix: 1234 -> `1.2 k`."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g} "
