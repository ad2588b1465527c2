"""A PlanReport for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from weir_operator.planning.proof import over_space, proved

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


def print_report(report: Mapping[str, Any], zones: Mapping[str, str]) -> None:
    """Queries, their operators, nodes, and one line on how good the plan is."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=not sys.stdout.isatty())
    if not sys.stdout.isatty():
        console.width = 200
    console.print(_operators(report, zones))
    console.print(_nodes(report, zones))
    for query in report["queries"]:
        if not query["admitted"]:
            console.print(Text(f"rejected {query['name']}: {query['reason']}", style="bold red"))
    for reason in report.get("infeasible") or ():
        console.print(Text(f"infeasible: {reason}", style="bold red"))
    console.print(Text(summary(report), style="bold"))


def summary(report: Mapping[str, Any]) -> str:
    """How good the plan is, in one line."""
    value, bound = report["objectiveValue"], report["bound"]
    parts = [f"{report['objective']} {amount(value) if value is not None else report.get('objectiveReason')}"]
    if proved(report):
        parts.append(f"proved optimal{over_space(report)}")
    elif bound is not None:
        gap = report["gap"]
        gap_text = f", gap {gap:.1%}" if gap is not None else ""
        parts.append(f"bound {amount(bound)}{gap_text}{over_space(report)}")
    elif over_space(report):
        parts.append(f"the best found{over_space(report)}")
    if report["binding"]:
        parts.append(f"binding: {report['binding']}")
    parts.append(f"network {amount(report['networkUsageBytes'], 'B')} in transit")
    work = f"{report['strategy']}, {report['evaluations']} evaluations in {duration(report['seconds'])}"
    return "; ".join([*parts, work])


def _operators(report: Mapping[str, Any], zones: Mapping[str, str]) -> Table:
    table = Table(title="Plan", title_justify="left", box=None, pad_edge=False)
    for name in ("QUERY", "OPERATOR", "KIND", "READS", "NODE", "ZONE"):
        table.add_column(name, no_wrap=True)
    for name in ("ROWS/S IN", "ROWS/S OUT", "CPU", "MEMORY"):
        table.add_column(name, justify="right", no_wrap=True)
    for query in report["queries"]:
        for i, op in enumerate(query["operators"]):
            table.add_row(
                _heading(query) if i == 0 else "",
                op["id"].split("/", 1)[-1],
                op["kind"],
                ", ".join(_short(name, query["name"]) for name in op["inputs"]),
                op["node"],
                zones.get(op["node"], ""),
                " + ".join(amount(rate) for rate in op["inputRate"]),
                amount(op["outputRate"]),
                f"{op['cpu'] / 1e3:.3g}m",
                amount(op["memoryBytes"], "B"),
            )
    return table


def _heading(query: Mapping[str, Any]) -> str:
    room = "unbounded" if query["headroom"] is None else f"{query['headroom']:.3g}x"
    return f"{query['name']} ({room}, {duration(query['latencySeconds'])})"


def _short(name: str, query: str) -> str:
    """An input without its own query's name and namespace, which are clear from the table."""
    namespace, own = query.split("/", 1)
    return name.removeprefix(f"{own}/").removeprefix(f"{namespace}/")


def _nodes(report: Mapping[str, Any], zones: Mapping[str, str]) -> Table:
    table = Table(title="Nodes", title_justify="left", box=None, pad_edge=False)
    for name in ("NODE", "ZONE"):
        table.add_column(name, no_wrap=True)
    for name in ("CPU", "MEMORY", "OUT", "IN"):
        table.add_column(name, justify="right", no_wrap=True)
    for node in report["nodes"]:
        table.add_row(
            node["name"],
            zones.get(node["name"], ""),
            _share(node["cpu"], node["cpuCapacity"]),
            _share(node["memoryBytes"], node["memoryCapacity"]),
            amount(node["egressBytesPerSecond"], "B/s"),
            amount(node["ingressBytesPerSecond"], "B/s"),
        )
    return table


def _share(load: float, capacity: float | None) -> Text:
    if not capacity:
        return Text("-" if not load else "over", style="red" if load else "")
    share = load / capacity
    return Text(f"{share:.0%}", style="red" if share > 0.9 else "yellow" if share > 0.7 else "")
