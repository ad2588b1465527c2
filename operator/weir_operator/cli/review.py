"""Two sets of manifests compared without a cluster: what a pull request would move."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from weir_operator.cli.table import amount, duration
from weir_operator.manifests.load import Loaded, load
from weir_operator.planning.difference import Difference, QueryChange, compare, lines, moves
from weir_operator.planning.merged_report import merged
from weir_operator.planning.policies import Overrides, plan_policies, with_report_in_force


def review(base: Sequence[str], paths: Sequence[str], namespace: str) -> Difference:
    """The plan of `paths` compared with the plan of `base`, which counts as in force: of two equally good
    plans the one with fewer moves is chosen.

    Raises:
        ManifestError: either side has errors.
    """
    old, new = load(base, namespace), load(paths, namespace)
    before = _plan(old, None)
    return compare(before, _plan(new, before), _edited(old, new))


def written(difference: Difference, output: str) -> str:
    """The difference as text, markdown or json."""
    if output == "json":
        return json.dumps(asdict(difference), indent=1)
    return markdown(difference) if output == "markdown" else text(difference)


def _plan(loaded: Loaded, before: Any) -> dict[str, Any]:
    """The merged PlanReport of manifests; the plan `before` counts as in force."""
    groups = loaded.built.groups
    planned = plan_policies(with_report_in_force(groups, before) if before else groups, Overrides())
    return merged(planned) if planned else {"queries": [], "networkUsageBytes": 0.0, "binding": None}


def _edited(old: Loaded, new: Loaded) -> set[str]:
    """Queries in both of which the spec, or that of a stream of theirs, differs."""
    streams = {
        name
        for name in old.objects.streams.keys() & new.objects.streams.keys()
        if old.objects.streams[name].spec != new.objects.streams[name].spec
    }
    reads = {
        query.name: set(query.sources.values())
        for group in new.built.groups
        for query in group.problem.queries
    }
    return {
        name
        for name in old.objects.queries.keys() & new.objects.queries.keys()
        if old.objects.queries[name].spec != new.objects.queries[name].spec
        or reads.get(name, set()) & streams
    }


def text(difference: Difference) -> str:
    """For a terminal."""
    if not difference:
        return "no change"
    return "\n".join([*lines(difference), f"headroom {_pair(difference.headroom)}", _usage(difference)])


def markdown(difference: Difference) -> str:
    """For a comment on a pull request."""
    if not difference:
        return "**Weir:** no query's plan changes.\n"
    count = len(difference.queries)
    head = f"**Weir:** {count} {'query changes' if count == 1 else 'queries change'}, "
    moving = moves(difference.queries)
    head += "1 operator moves.\n" if moving == 1 else f"{moving} operators move.\n"
    usage = [amount(value, "B") for value in difference.network_usage]
    figures = [
        "| | before | after |",
        "|---|---|---|",
        f"| headroom | {amount(difference.headroom[0])} | {amount(difference.headroom[1])} |",
        f"| network usage | {usage[0]} | {usage[1]} |",
        f"| binding | {difference.binding[0] or '-'} | {difference.binding[1] or '-'} |",
        "",
        "| query | change | operators | headroom | latency |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([head, *figures, *map(_row, difference.queries), ""])


def _row(change: QueryChange) -> str:
    places = []
    for name, old, new in change.operators:
        where = f"`{old}` → `{new}`" if old and new and old != new else f"`{new or old}`"
        places.append(f"{name} {'**removed** from ' if not new else ''}{where}")
    what = f"{change.change}: {change.reason}" if change.reason else change.change
    headroom = " → ".join(amount(value) for value in change.headroom)
    latency = " → ".join(duration(value) for value in change.latency)
    cells = (change.query, what, "<br>".join(places), headroom, latency)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _pair(values: tuple[float | None, float | None]) -> str:
    return f"{amount(values[0])} -> {amount(values[1])}"


def _usage(difference: Difference) -> str:
    before, after = (amount(value, "B") for value in difference.network_usage)
    return f"network usage {before} -> {after}"
