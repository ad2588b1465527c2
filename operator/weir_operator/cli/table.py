"""A PlanReport for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from rich.text import Text
from weir_placement.objectives import NETWORK_USAGE, OBJECTIVES, RATIO, Objective

from weir_operator.cli.columns import RowCells, TableColumn, console, table, tables
from weir_operator.planning.enough import enough_words, minimised
from weir_operator.planning.overload import overload
from weir_operator.planning.proof import over_space, proved

OPERATORS = (
    TableColumn("OPERATOR"),
    TableColumn("KIND"),
    TableColumn("READS", wraps=True),
    TableColumn("NODE"),
    TableColumn("ZONE", leaves=3),
    TableColumn("ROWS/S IN", number=True, wraps=True),
    TableColumn("ROWS/S OUT", number=True),
    TableColumn("CPU", number=True, leaves=2),
    TableColumn("MEMORY", number=True, leaves=1),
)
NODES = (
    TableColumn("NODE"),
    TableColumn("ZONE"),
    TableColumn("CPU", number=True),
    TableColumn("MEMORY", number=True),
    TableColumn("OUT", number=True),
    TableColumn("IN", number=True),
)
LEGEND = """headroom: how many times these rates the plan carries; latency: of the longest path
ROWS/S IN: of each input, in the order of READS; CPU of an operator: 1000m is a core
nodes: CPU and MEMORY in use, of what there is; OUT, IN: bytes over the network"""
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def amount(value: float | None, unit: str = "") -> str:
    """A number with three digits and a decimal prefix.

    >>> amount(12_345_678.0, "B/s"), amount(0.25), amount(None)
    ('12.3 MB/s', '0.25', '-')
    """
    if value is None:
        return "-"
    for factor, prefix in _PREFIXES:
        if abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".rstrip()


def duration(seconds: float | None) -> str:
    """Milliseconds below a second."""
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def times(headroom: float | None) -> str:
    """
    >>> times(8.043), times(0.9), times(150_000.0), times(None), times(inf)
    ('8.04x', '0.9x', '150,000x', 'unbounded', 'unbounded')
    """
    if headroom is None or headroom == inf:
        return "unbounded"
    return f"{headroom:,.0f}x" if headroom >= 100 else f"{headroom:.3g}x"


def print_report(
    report: Mapping[str, Any], zones: Mapping[str, str], places: Mapping[str, str] | None = None
) -> None:
    """Queries with their operators, nodes, what the figures are, and one line on how good the plan is.
    `places`: where rejected queries are written, as file:line."""
    out = console()
    operators = {
        query["name"]: [_operator(op, query["name"], zones) for op in query["operators"]]
        for query in report["queries"]
        if query["operators"]
    }
    headings = {query["name"]: _heading(query) for query in report["queries"]}
    for name, shown in tables(OPERATORS, operators, out.width):
        out.print(Text(headings[name], style="bold"), soft_wrap=True)  # a name may be wider
        out.print(shown)
        out.print()
    out.print(Text("nodes", style="bold"))
    out.print(table(NODES, [_node(node, zones) for node in report["nodes"]], out.width))
    out.print()
    out.print(Text(LEGEND, style="dim"))
    for query in report["queries"]:
        if not query["admitted"]:
            place = (places or {}).get(query["name"], "")
            name = f"{query['name']} ({place})" if place else query["name"]
            out.print(Text(f"rejected {name}: {query['reason']}", style="bold red"), soft_wrap=True)
    for reason in report.get("infeasible") or ():
        out.print(Text(f"infeasible: {reason}", style="bold red"))
    if text := overload(report):
        out.print(Text(text, style="bold red"))
    out.print(Text(summary(report), style="bold"))


def summary(report: Mapping[str, Any]) -> str:
    """How good the plan is, in one line."""
    value, bound, objective = report["objectiveValue"], report["bound"], OBJECTIVES[report["objective"]]
    if not any(query["admitted"] for query in report["queries"]):
        return "no query is placed"
    figure = report.get("objectiveReason") if value is None else _valued(objective, value)
    worst = "worst " if report.get("robust") else ""
    parts = [f"{worst}{objective.name} {figure}"]
    if words := enough_words(report):
        parts.append(words)
    if proved(report):
        parts.append(f"proved optimal{over_space(report)}")
    elif bound is not None:
        gap = report["gap"]
        gap_text = f", gap {gap:.1%}" if gap is not None else ""
        parts.append(f"bound {_valued(objective, bound)}{gap_text}{over_space(report)}")
    elif over_space(report) or minimised(report):
        parts.append(f"the best found{over_space(report)}")
    if report.get("robust"):
        parts.append(expected(report["robust"]))
    if report["binding"]:
        parts.append(f"binding: {report['binding']}")
    if value is None or objective is not NETWORK_USAGE:
        parts.append(f"{NETWORK_USAGE.words} {_valued(NETWORK_USAGE, report['networkUsageBytes'])}")
    work = f"{report['strategy']}, {report['evaluations']} evaluations in {duration(report['seconds'])}"
    return "; ".join([*parts, work])


def expected(robust: Mapping[str, Any]) -> str:
    """What a robust plan carries as expected, and what it gives up for its worst case."""
    text = f"expected {times(robust['expectedHeadroom'])}"
    nominal = robust["nominal"]
    if not nominal:
        return text
    other = f"the plan for what is expected has {times(nominal['headroom'])}, and {times(nominal['worst'])}"
    return f"{text} ({other} at worst)"


def _valued(objective: Objective, value: float) -> str:
    return times(value) if objective.symbol == RATIO else amount(value, objective.symbol)


def _operator(op: Mapping[str, Any], query: str, zones: Mapping[str, str]) -> RowCells:
    return (
        op["id"].split("/", 1)[-1],
        op["kind"],
        ", ".join(_short(name, query) for name in op["inputs"]),
        op["node"],
        zones.get(op["node"], ""),
        " + ".join(amount(rate) for rate in op["inputRate"]),
        amount(op["outputRate"]),
        _millicores(op["cpu"] / 1e3),
        amount(op["memoryBytes"], "B"),
    )


def _heading(query: Mapping[str, Any]) -> str:
    return (
        f"{query['name']}: headroom {times(query['headroom'])}, latency {duration(query['latencySeconds'])}"
    )


def _millicores(value: float) -> str:
    """Thousandths of a core.

    >>> _millicores(1480.0), _millicores(0.00456), _millicores(0.0), _millicores(2.5e27)
    ('1480m', '<0.01m', '0m', '2.5e+27m')
    """
    digits = ".0f" if 100 <= value < 1e9 else ".3g"
    return "<0.01m" if 0 < value < 0.01 else f"{value:{digits}}m"


def _short(name: str, query: str) -> str:
    """An input without its own query's name and namespace, which are clear from the table."""
    namespace, own = query.split("/", 1)
    return name.removeprefix(f"{own}/").removeprefix(f"{namespace}/")


def _node(node: Mapping[str, Any], zones: Mapping[str, str]) -> RowCells:
    return (
        node["name"],
        zones.get(node["name"], ""),
        _share(node["cpu"], node["cpuCapacity"]),
        _share(node["memoryBytes"], node["memoryCapacity"]),
        amount(node["egressBytesPerSecond"], "B/s"),
        amount(node["ingressBytesPerSecond"], "B/s"),
    )


def _share(load: float, capacity: float | None) -> Text:
    if not capacity:
        return Text("-" if not load else "over", style="red" if load else "")
    share = load / capacity
    return Text(f"{share:.0%}", style="red" if share > 0.9 else "yellow" if share > 0.7 else "")
