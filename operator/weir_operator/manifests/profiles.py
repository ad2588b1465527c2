"""The points of InputProfiles: the rates that are expected, and where a policy has a `robustness` how far
rates and selectivities may exceed what is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from weir_placement.model.operators import Filter, Join, Operator
from weir_placement.model.problem import Problem, Robustness
from weir_placement.model.suggestion import suggestion

from weir_operator.api.policy import PlacementPolicy
from weir_operator.api.query import StreamQuery
from weir_operator.api.robustness import RobustnessSpec
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.queries import full_stream_name

Rates = tuple[tuple[str, float], ...]
"""By full stream name, sorted."""


def profile_findings(objects: Objects) -> Iterator[Finding]:
    for item in objects.profiles.values():
        namespace = item.metadata.namespace
        key = Key("InputProfile", namespace, item.metadata.name)
        for i, point in enumerate(item.spec.points or ()):
            for field, rates in (("rates", point.rates), ("maxRates", point.max_rates)):
                for name in rates:
                    if full_stream_name(name, namespace) not in objects.streams:
                        streams = (n.removeprefix(f"{namespace}/").replace("/", ".") for n in objects.streams)
                        right, path = suggestion(name, streams, "streams"), f"spec.points[{i}].{field}.{name}"
                        missing = Key("Stream", *full_stream_name(name, namespace).split("/", 1))
                        yield Finding.not_found(key, path, f"no stream {name}", right, missing)
            for name, most in point.max_rates.items():
                stream = objects.streams.get(full_stream_name(name, namespace))
                if stream is not None and most < (rate := point.rates.get(name, stream.spec.rate)):
                    wrong = f"{most:g} is below the expected rate of {rate:g}"
                    path = f"spec.points[{i}].maxRates.{name}"
                    yield Finding(key, path, wrong, f"give at least {rate:g}, or leave it out")


def _points(
    objects: Objects, items: Sequence[StreamQuery], streams: set[str]
) -> Iterator[tuple[Rates, Rates]]:
    """Expected and largest rates of every profile that one of the queries names."""
    for name in dict.fromkeys(f"{i.metadata.namespace}/{i.spec.profile}" for i in items if i.spec.profile):
        profile = objects.profiles.get(name)
        if profile is None:
            continue
        for point in profile.spec.points or ():
            expected, most = (
                {full_stream_name(n, profile.metadata.namespace): r for n, r in rates.items()}
                for rates in (point.rates, point.max_rates)
            )
            yield (
                tuple(sorted((n, r) for n, r in expected.items() if n in streams)),
                tuple(sorted((n, r) for n, r in most.items() if n in streams)),
            )


def expected_points(
    objects: Objects, items: Sequence[StreamQuery], streams: set[str]
) -> tuple[Mapping[str, float], ...]:
    """The points of every profile that a query of the policy names, as rates by full stream name."""
    return tuple(
        dict(rates) for rates in dict.fromkeys(rates for rates, _ in _points(objects, items, streams))
    )


def with_ranges(problem: Problem, policy: PlacementPolicy, objects: Objects, robust: bool) -> Problem:
    """The problem with the policy's `robustness`; `robust`: with the default one where it has none."""
    spec = policy.spec.robustness or (RobustnessSpec() if robust else None)
    if spec is None:
        return problem
    items = [i for i in objects.queries.values() if i.spec.policy == policy.metadata.name]
    points = list(dict.fromkeys(_points(objects, items, set(problem.streams))))
    problem = replace(problem, profile=tuple(dict(rates) for rates, _ in points))
    largest = [dict(rates) for _, rates in points] or [{}]
    most = tuple(
        {name: declared.get(name, rate * spec.rate_factor) for name, rate in expected.items()}
        for expected, declared in zip(problem.points(), largest, strict=True)
    )
    queries = tuple(
        replace(query, operators=tuple(_with_range(op, spec.selectivity_factor) for op in query.operators))
        for query in problem.queries
    )
    return replace(problem, queries=queries, robustness=Robustness(spec.deviations, most))


def _with_range(op: Operator, factor: float) -> Operator:
    """The operator with the largest selectivity that is declared, else so many times the expected one."""
    if isinstance(op, Filter | Join) and not op.max_selectivity:
        return op.changed(max_selectivity=min(1.0, op.selectivity * factor))
    return op
