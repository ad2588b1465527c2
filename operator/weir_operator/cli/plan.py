"""`weir plan` and `weir evaluate`: manifests in, a plan or its score out; no cluster, no Spark."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weir_operator.cli.exit_codes import BAD_INPUT, DIFFERENT
from weir_operator.cli.inputs import (
    Namespace,
    ObjectiveName,
    Paths,
    Seed,
    SetOptions,
    StrategyName,
    TimeLimit,
    pairs,
    positive,
    warn,
)

if TYPE_CHECKING:
    from weir_placement.model.problem import Problem

    from weir_operator.manifests.objects import Objects
    from weir_operator.pictures.pen import ImageFormat


class PlanFormat(StrEnum):
    """Output formats of a plan."""

    table = "table"
    json = "json"
    yaml = "yaml"
    svg = "svg"
    png = "png"
    html = "html"


IMAGES: Mapping[PlanFormat, ImageFormat] = {
    PlanFormat.svg: "svg",
    PlanFormat.png: "png",
    PlanFormat.html: "html",
}

OutputOption = Annotated[
    PlanFormat, typer.Option("-o", "--output", help="Output format; the plan goes to standard output.")
]

Robust = Annotated[
    bool,
    typer.Option(
        "--robust",
        help="For the worst of the rates and selectivities that may be, as a policy with `robustness` says; "
        "without one, of selectivities up to twice as large as expected.",
    ),
]


Enough = Annotated[
    float | None,
    typer.Option(
        "--enough",
        metavar="X",
        help="A headroom beyond which more is not wanted: of all plans that have it the one with the fewest "
        "hosts, then the least network usage. By default as the policy's `headroom` says.",
        callback=positive,
    ),
]


def plan(
    filename: Paths,
    strategy: StrategyName = None,
    objective: ObjectiveName = None,
    set_: SetOptions = None,
    seed: Seed = None,
    time_limit: TimeLimit = None,
    output: OutputOption = PlanFormat.table,
    robust: Robust = False,
    enough: Enough = None,
    hierarchy: Annotated[
        bool,
        typer.Option("--hierarchy", help="Draw the hierarchy of partitions with the flows in it."),
    ] = False,
    since: Annotated[
        Path | None,
        typer.Option(
            "--since",
            metavar="FILE",
            help="Draw what has changed since a plan that `weir plan -o json` has written.",
        ),
    ] = None,
    namespace: Namespace = "default",
) -> int:
    """Plan the queries of manifests: which operator runs on which node. Needs no cluster and no Spark.

    Exit code 0: all planned; 1: a query was rejected; 2: bad input, with one line for each error.

    Examples:

      weir plan -f examples/flights

      weir plan -f examples/flights --objective headroom --strategy annealing --seed 1 -o json

      weir plan -f examples/flights --objective headroom --strategy auto --robust

      weir plan -f examples/flights --objective headroom --strategy auto --enough 2

      kubectl get nodes -o yaml | weir plan -f QUERIES -f - -o svg > plan.svg
    """
    from weir_operator.manifests.load import load
    from weir_operator.planning.merged_report import merged
    from weir_operator.planning.policies import Overrides, plan_policies

    if hierarchy and output not in IMAGES:
        raise typer.BadParameter(f"--hierarchy is drawn: give -o {', '.join(IMAGES)}")
    if since and output not in IMAGES:
        raise typer.BadParameter(f"--since is drawn: give -o {', '.join(IMAGES)}")
    if since and hierarchy:
        raise typer.BadParameter("--since and --hierarchy are two pictures: give one of them")
    loaded = load(filename, namespace, robust=robust)
    warn(loaded)
    overrides = Overrides(strategy, objective, pairs(set_), seed, time_limit, enough)
    if not any(group.problem.queries for group in loaded.built.groups):
        print("no query to plan: give a StreamQuery that is not suspended", file=sys.stderr)
        return BAD_INPUT
    planned = plan_policies(loaded.built.groups, overrides)
    report = merged(planned)
    zones = {node.name: node.zone for node in planned[0].problem.cluster.nodes}
    if hierarchy:
        sys.stdout.buffer.write(_hierarchy(report, planned[0].problem, output))
        sys.stdout.buffer.flush()
    else:
        write(report, output, zones, since, _rejected_places(report, loaded.objects))
    return DIFFERENT if any(not query["admitted"] for query in report["queries"]) else 0


def evaluate(
    filename: Paths,
    plan: Annotated[
        Path, typer.Option("--plan", metavar="FILE", help="A plan that `weir plan -o json` has written.")
    ],
    robust: Robust = False,
    output: OutputOption = PlanFormat.table,
    namespace: Namespace = "default",
) -> int:
    """Score a given plan against manifests: headroom, loads, latency, what binds.

    Exit code 0: feasible; 1: infeasible (`infeasible` names each resource that the expected rates overload);
    2: bad input.

    Examples:

      weir plan -f examples/flights -o json > plan.json

      weir evaluate -f examples/flights --plan plan.json
    """
    from weir_operator.manifests.load import load
    from weir_operator.planning.given_plan import evaluate_plan

    loaded = load(filename, namespace, robust=robust)
    warn(loaded)
    planned = evaluate_plan(loaded.built.groups, plan)
    zones = {node.name: node.zone for node in planned.problem.cluster.nodes}
    write(planned.report, output, zones)
    return DIFFERENT if planned.report.get("infeasible") else 0


def _hierarchy(report: dict[str, Any], problem: Problem, output: PlanFormat) -> bytes:
    from weir_placement.hierarchy.partition import hierarchy_of

    from weir_operator.pictures.hierarchy import hierarchy_picture

    tree = hierarchy_of(problem.cluster, problem.tier_label, problem.max_cluster_size)
    names = [node.name for node in problem.cluster.nodes]
    return hierarchy_picture(report, tree, names, IMAGES[output])


def _rejected_places(report: Mapping[str, Any], objects: Objects) -> dict[str, str]:
    """file:line of what keeps each rejected query from being placed: its limit of latency, or itself."""
    from weir_operator.manifests.finding import Key

    places = {}
    for query in report["queries"]:
        document = objects.documents.get(Key("StreamQuery", *query["name"].split("/", 1)))
        if document is not None and not query["admitted"]:
            path = "spec.maxLatency" if query["late"] else ""
            places[query["name"]] = f"{document.file}:{document.line(path)}"
    return places


def write(
    report: dict[str, Any],
    output: PlanFormat,
    zones: dict[str, str],
    since: Path | None = None,
    places: Mapping[str, str] | None = None,
) -> None:
    """Write a PlanReport to standard output; a picture with what has changed since that of a file."""
    if output is PlanFormat.table:
        from weir_operator.cli.table import print_report

        print_report(report, zones, places)
    elif output is PlanFormat.json:
        print(json.dumps(report, indent=1))
    elif output is PlanFormat.yaml:
        import yaml

        print(yaml.dump(report, Dumper=yaml.CSafeDumper, sort_keys=False, width=110), end="")
    else:
        from weir_operator.pictures.draw import picture

        drawn = _since(since, report, output, zones) if since else picture(report, IMAGES[output], zones)
        sys.stdout.buffer.write(drawn)
        sys.stdout.buffer.flush()


def _since(file: Path, report: dict[str, Any], output: PlanFormat, zones: dict[str, str]) -> bytes:
    from weir_operator.pictures.content import read
    from weir_operator.pictures.draw import picture
    from weir_operator.planning.given_plan import read_report, refused

    before = read_report(file)
    try:
        read(before)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise refused(file, error) from None
    return picture(report, IMAGES[output], zones, before)
