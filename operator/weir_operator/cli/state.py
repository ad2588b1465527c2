"""What runs, on this machine or in a cluster, and commands that act on it: they write the Placement (on this
machine, a file beside it), never the user's object."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from weir_operator.cli.exit_codes import BAD_INPUT
from weir_operator.cli.inputs import Namespace, OptionalPaths
from weir_operator.cli.run import DEFAULT_FOLDER, RunFolder
from weir_operator.controller.times import timestamp

Context = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="NAME",
        help="The cluster of this context; by default the run folder, or the current cluster.",
    ),
]
QueryName = Annotated[str, typer.Argument(metavar="QUERY", help="A query, as name or namespace/name.")]
PlanHash = Annotated[
    str, typer.Argument(metavar="PLAN", help="Hash of a proposed plan; see `weir explain QUERY`.")
]
Revision = Annotated[int, typer.Argument(metavar="REVISION", help="Number of a plan; see `weir status`.")]


def approve(
    query: QueryName,
    plan: PlanHash,
    minutes: Annotated[
        int, typer.Option("--minutes", metavar="N", min=1, help="Minutes after which the approval expires.")
    ] = 60,
    run_folder: RunFolder = DEFAULT_FOLDER,
    context: Context = None,
) -> int:
    """Let one proposed plan of a query come into force (policy mode Manual), and no other.

    Example:

      weir approve by-carrier 1f6a0c2b9d3e
    """
    store, name, placement = _find(run_folder, context, query)
    if placement is None:
        return _unknown(query)
    proposed = (placement["status"].get("proposed") or {}).get("hash")
    if proposed != plan:
        print(
            f"{name}: plan {plan} is not proposed; the proposed plan is {proposed or 'none'}", file=sys.stderr
        )
        return BAD_INPUT
    until = timestamp(time.time() + 60 * minutes)
    store.set_revision(name, approval={"plan": plan, "until": until}, approved=None)
    print(f"{name}: plan {plan} approved until {until}")
    return 0


def rollback(
    query: QueryName, revision: Revision, run_folder: RunFolder = DEFAULT_FOLDER, context: Context = None
) -> int:
    """Return a query to an earlier plan and keep it there until `weir unpin`.

    Example:

      weir rollback by-carrier 1
    """
    store, name, placement = _find(run_folder, context, query)
    if placement is None:
        return _unknown(query)
    revisions = [entry["revision"] for entry in placement["status"].get("history") or []]
    if revision not in revisions:
        choices = ", ".join(map(str, revisions)) or "none"
        print(f"{name}: no revision {revision} in the history; revisions: {choices}", file=sys.stderr)
        return BAD_INPUT
    store.set_revision(name, pinned=revision)
    print(f"{name}: returns to revision {revision}, and stays there until `weir unpin {query}`")
    return 0


def unpin(query: QueryName, run_folder: RunFolder = DEFAULT_FOLDER, context: Context = None) -> int:
    """Let a query that was rolled back follow its policy again.

    Example:

      weir unpin by-carrier
    """
    store, name, placement = _find(run_folder, context, query)
    if placement is None:
        return _unknown(query)
    if placement["spec"].get("pinned") is None:
        print(f"{name}: was not pinned; it follows its policy")
        return 0
    store.set_revision(name, pinned=None)
    print(f"{name}: unpinned; it follows its policy again")
    return 0


def explain(
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="A query that runs here.")] = None,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Show objects with all defaults; by default the built-in ones.")
    ] = False,
    filename: OptionalPaths = None,
    region: Annotated[
        Path | None,
        typer.Option(
            "--region", metavar="FILE", help="With -f: draw the feasible rates of two streams (svg or png)."
        ),
    ] = None,
    run_folder: RunFolder = DEFAULT_FOLDER,
    context: Context = None,
    namespace: Namespace = "default",
) -> int:
    """Explain why a query is where it is: its operators and nodes, what binds, the last ten decisions.

    With -f and no query it plans the manifests for headroom and shows what binds and what binds next, what
    one more core or Mbit/s is worth at each node, and the plan without each constraint. With --defaults it
    shows objects as Weir reads them, with every default.

    Examples:

      weir explain by-carrier

      weir explain -f examples/flights

      weir explain -f PATH --region region.svg # where queries read two streams

      weir explain --defaults                  # the built-in policy and topology

      weir explain --defaults -f examples/flights
    """
    if defaults:
        from weir_operator.cli.defaults import print_defaults

        return print_defaults(filename or [], namespace)
    if query is not None and filename:
        raise typer.BadParameter(f"give the query {query} or -f {filename[0]}, not both")
    if region is not None and not filename:
        raise typer.BadParameter(f"--region {region}: give -f PATH as well")
    if query is None and filename:
        from weir_operator.cli.prices import print_prices

        return print_prices(filename, namespace, region)
    if query is None:
        raise typer.BadParameter("give a QUERY, or -f PATH, or --defaults")
    from weir_operator.cli.why import print_why

    store, name, placement = _find(run_folder, context, query, namespace)
    return 0 if print_why(store, name, placement) else _unknown(name)


def store_of(run_folder: Path, context: str | None) -> Any:
    """The run folder's, if it exists and no context is given; otherwise the cluster's."""
    from weir_operator.local.store import RunStore

    store = RunStore(run_folder)
    if context or not store.there():
        from weir_operator.kube.store import reachable

        if cluster := reachable(context):
            return cluster
        if context:
            raise typer.BadParameter(f"--context {context}: no cluster has this context")
        raise typer.BadParameter(
            f"nothing has run in {run_folder}, and there is no cluster: start a run with `weir run -f PATH`, "
            "or name its folder with --run-folder, or a cluster with --context"
        )
    return store


def _find(
    run_folder: Path, context: str | None, query: str, namespace: str = "default"
) -> tuple[Any, str, dict[str, Any] | None]:
    store = store_of(run_folder, context)
    name = full_name(query, namespace)
    return store, name, placement_of(store.placements(), name)


def full_name(query: str, namespace: str = "default") -> str:
    """namespace/name of a query that a user names; `namespace`: where that has none."""
    return query if "/" in query else f"{namespace}/{query}"


def placement_of(placements: Iterable[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """That of a query (namespace/name); None: there is none."""
    from weir_operator.controller.record import name_of

    return next((placement for placement in placements if name_of(placement) == name), None)


def _unknown(query: str) -> int:
    print(f"{query}: no such query; see `weir status`", file=sys.stderr)
    return BAD_INPUT
