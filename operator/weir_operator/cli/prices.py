"""`weir explain -f`: what binds, what a core or a Mbit/s is worth, the plan without each constraint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from weir_placement.explain import Gain
    from weir_placement.model.plan import Plan
    from weir_placement.model.problem import Problem


def print_prices(filename: list[str], namespace: str, region: Path | None) -> int:
    """Plans for headroom and prints what binds and what binds next, what more capacity is worth, and the plan
    without each constraint; every line as soon as it is computed."""
    from weir_placement.explain import prices, tightest, without
    from weir_placement.report import report
    from weir_placement.strategies import STRATEGIES

    from weir_operator.manifests.load import load
    from weir_operator.planning.enough import enough_words

    groups = load(filename, namespace).built.groups
    if region is not None:
        for planned in groups:
            _check_region(planned.problem, region)
    for planned in groups:
        problem = planned.problem
        plan = STRATEGIES["auto"].plan
        result = plan(problem, objective="headroom", seed=1, time_limit=5.0, options={})
        if problem.enough is not None:
            print(f"planned: {enough_words(report(problem, result))}, headroom {_shown(result.value)}")
            problem = replace(problem, enough=None)  # what more capacity is worth shows in the most headroom
            result = plan(problem, objective="headroom", seed=1, time_limit=5.0, options={})
        print(f"headroom {_shown(result.value)}, bound {_shown(result.bound)}")
        for rejected in result.plan.rejected:
            print(f"  rejected: {rejected.query}: {rejected.reason}")
        for word, constraint in zip(
            ("binds:", "next:", "next:", "next:"), tightest(problem, result.plan), strict=False
        ):
            print(f"  {word:6} {constraint}, at {constraint.root:.4g} times the profile")
        print("with more capacity (headroom of the new plan):", flush=True)
        _print(prices(problem, result.plan, result.value))
        print("without a constraint (headroom of the new plan):", flush=True)
        _print(without(problem, result.value))
        if region is not None:
            _draw(problem, result.plan, region)
    return 0


def _shown(value: float | None) -> str:
    return "unbounded" if value is None else f"{value:.6g}"


def _print(gains: Iterable[Gain]) -> None:
    for gain in gains:
        more = "" if gain.gain is None else f" (+{gain.gain:.4g})"
        print(f"  {gain.change}: {_shown(gain.headroom)}{more}", flush=True)


def _streams(problem: Problem) -> list[str]:
    return sorted({stream for query in problem.queries for stream in query.sources.values()})


def _check_region(problem: Problem, path: Path) -> None:
    """Raises BadParameter: there are not two streams to draw, or the file cannot be a picture."""
    from weir_placement.model.amounts import count

    if path.suffix not in (".svg", ".png"):
        raise typer.BadParameter(f"--region {path}: name a .svg or .png file")
    streams = _streams(problem)
    if len(streams) != 2:
        wrong = f"the queries read {count(len(streams), 'stream')} ({', '.join(streams) or 'none'})"
        raise typer.BadParameter(f"--region {path}: {wrong}; give queries over two")


def _draw(problem: Problem, plan: Plan, path: Path) -> None:
    """As figures 2 and 3 of WhiteWater: the boundary, the profile, the line from the origin through it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from weir_placement.explain import feasible_region

    first, second = _streams(problem)
    boundary = feasible_region(problem, plan, first, second)
    profile = problem.points()[0]
    figure, axes = pyplot.subplots(layout="constrained")
    axes.fill_between(boundary[:, 0], boundary[:, 1], alpha=0.3, label="feasible")
    axes.plot(boundary[:, 0], boundary[:, 1])
    axes.plot([profile[first]], [profile[second]], "o", label="profile")
    axes.axline((0, 0), (profile[first], profile[second]), linestyle="--", linewidth=1)
    axes.set(xlabel=f"{first} [tuples/s]", ylabel=f"{second} [tuples/s]", xlim=(0, None), ylim=(0, None))
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)
