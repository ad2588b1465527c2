"""LimitRanges of a namespace: defaults that its pods get, and bounds that a fragment's pods must keep.

As in the API server's LimitRanger, a container's missing limits and requests are filled in, then each
container and each pod is checked against every bound. The pods of fragments have one container.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from weir_operator.api.tenancy import LimitRange, LimitRangeItem
from weir_operator.api.values import format_quantity
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.requests import PodAmounts

PATHS = {"cpu": "spec.resources.cpu", "memory": "spec.resources.memory"}


def with_defaults(pod: PodAmounts, ranges: Iterable[LimitRange]) -> PodAmounts:
    """The pod as it is admitted. Of several defaults for one resource the API server may take any: here the
    largest counts."""
    requests, limits = dict(pod.requests), dict(pod.limits)
    for _, item in _containers(ranges):
        for resource, amount in _default_limits(item).items():
            if resource not in pod.limits:
                limits[resource] = max(limits.get(resource, 0.0), amount)
        for resource, amount in {**item.min, **_default_limits(item), **item.default_request}.items():
            if resource not in pod.requests:
                requests[resource] = max(requests.get(resource, 0.0), amount)
    return PodAmounts(requests, limits)


def _containers(ranges: Iterable[LimitRange]) -> Iterator[tuple[LimitRange, LimitRangeItem]]:
    return (
        (limit_range, item)
        for limit_range in ranges
        for item in limit_range.spec.limits
        if item.type == "Container"
    )


def _default_limits(item: LimitRangeItem) -> Mapping[str, float]:
    """By resource; a maximum serves as a default too."""
    return {**item.max, **item.default}


def limit_findings(key: Key, pod: PodAmounts, ranges: Iterable[LimitRange]) -> Iterator[Finding]:
    """Why the LimitRanges of its namespace forbid a query's pods; `pod` is without their defaults."""
    all_ranges = list(ranges)
    admitted = with_defaults(pod, all_ranges)
    for limit_range, item in _containers(all_ranges):
        for resource, limit in _default_limits(item).items():
            requested = pod.requests.get(resource, 0.0)
            if resource not in pod.limits and requested > limit:
                wrong = (
                    f"requests {shown(requested)} of {resource}, above the default limit of {shown(limit)}"
                )
                yield _finding(key, resource, f"{wrong} in {_name(limit_range)}")
    for limit_range in all_ranges:
        for item in limit_range.spec.limits:
            if item.type in ("Container", "Pod"):
                for resource, wrong in _violations(admitted, item):
                    yield _finding(key, resource, f"{wrong} for a {item.type} in {_name(limit_range)}")


def _violations(pod: PodAmounts, item: LimitRangeItem) -> Iterator[tuple[str, str]]:
    """(resource, what is wrong) for each bound of an item that the pod breaks."""
    for resource, least in item.min.items():
        requested, limit = pod.requests.get(resource, 0.0), pod.limits.get(resource)
        if requested < least:
            yield resource, f"requests {shown(requested)} of {resource}, below the minimum of {shown(least)}"
        elif limit is not None and limit < least:
            yield (
                resource,
                f"has a limit of {shown(limit)} of {resource}, below the minimum of {shown(least)}",
            )
    for resource, most in item.max.items():
        requested, limit = pod.requests.get(resource, 0.0), pod.limits.get(resource)
        if limit is None:
            yield resource, f"has no limit for {resource}, but the maximum is {shown(most)}"
        elif (more := max(requested, limit)) > most:
            verb = "requests" if requested > most else "has a limit of"
            yield resource, f"{verb} {shown(more)} of {resource}, above the maximum of {shown(most)}"
    for resource, ratio in item.max_limit_request_ratio.items():
        requested, limit = pod.requests.get(resource, 0.0), pod.limits.get(resource, 0.0)
        if not requested or not limit:
            yield resource, f"lacks a request or a limit for {resource}, whose ratio may be at most {ratio:g}"
        elif limit / requested > ratio:
            text = f"has a limit that is {limit / requested:g} times its request for {resource}"
            yield resource, f"{text}, above the maximum of {ratio:g} times"


def _finding(key: Key, resource: str, wrong: str) -> Finding:
    right = "request another amount, or change the LimitRange"
    return Finding(key, PATHS.get(resource, "spec.resources"), f"each pod {wrong}", right, "NotAllowed")


def _name(limit_range: LimitRange) -> str:
    return f"LimitRange {limit_range.metadata.namespace}/{limit_range.metadata.name}"


def shown(amount: float) -> str:
    """A quantity as people write it."""
    return str(format_quantity(amount))
