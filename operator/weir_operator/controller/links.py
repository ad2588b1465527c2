"""Latencies that fragments measured to their producers, put into the model.

The last measurement of each link is kept in the Placement's status, even when nothing flows there any
more: otherwise a slow link that a fragment has left would look as fast as declared, and be used again.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from statistics import median

import numpy as np
from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.problem import Problem

from weir_operator.controller.observed_state import FragmentMetrics, Process
from weir_operator.controller.record import Record

CHANGE = 0.2
"""A measurement that differs by no more than this fraction of the last one is not recorded."""

Links = Mapping[tuple[str, str], float]
"""(from node, to node) -> one-way latency [s]."""


def measured_links(
    specs: Iterable[FragmentSpec],
    readings: Mapping[str, FragmentMetrics],
    processes: Mapping[str, Iterable[Process]],
) -> dict[tuple[str, str], float]:
    """Of the links between a query's fragments, by where they really run; a fragment that is being moved is
    left out."""
    specs = list(specs)
    producer = {spec.operators[-1].id: spec.name for spec in specs if spec.operators}
    at: dict[str, str] = {}
    for spec in specs:
        running = [p.node for p in processes.get(spec.name, ()) if p.state in ("running", "standby")]
        if len(running) == 1:
            at[spec.name] = running[0]
    links: dict[tuple[str, str], float] = {}
    for spec in specs:
        reading = readings.get(spec.name)
        for name, seconds in (reading.links if reading else {}).items():
            source, target = at.get(producer.get(name, "")), at.get(spec.name)
            if source and target and source != target:
                links[source, target] = seconds
    return links


def remember(record: Record, links: Links, nodes: Container[str]) -> Record:
    """The record with new measurements that differ, and without those of nodes that no longer exist."""
    before: Mapping[str, float] = record.status.get("links") or {}
    current = {key: s for key, s in before.items() if all(end in nodes for end in key.split(" "))}
    for (source, target), seconds in links.items():
        key = f"{source} {target}"
        if key not in current or abs(seconds - current[key]) > CHANGE * current[key]:
            current[key] = round(seconds, 7)
    return record.with_status(links=current) if current != before else record


def remembered(records: Iterable[Record]) -> dict[tuple[str, str], float]:
    """The median of each link over all records."""
    every: dict[tuple[str, str], list[float]] = {}
    for record in records:
        for key, seconds in (record.status.get("links") or {}).items():
            source, target = key.split(" ")
            every.setdefault((source, target), []).append(float(seconds))
    return {link: median(values) for link, values in every.items()}


def with_links(problem: Problem, links: Links) -> Problem:
    """The problem whose network has the measured latencies: between two groups of nodes (zones, or nodes
    that the topology names) the median over their measured links, for both directions where only one
    was measured."""
    network, index = problem.cluster.network, problem.cluster.index
    between: dict[tuple[int, int], list[float]] = {}
    for (source, target), seconds in links.items():
        if source in index and target in index:
            groups = int(network.group[index[source]]), int(network.group[index[target]])
            between.setdefault(groups, []).append(seconds)
    if not between:
        return problem
    latency = np.array(network.latency, float)
    for (a, b), values in between.items():
        latency[a, b] = median(values)
        if (b, a) not in between:
            latency[b, a] = median(values)
    cluster = replace(problem.cluster, network=replace(network, latency=latency))
    return replace(problem, cluster=cluster)
