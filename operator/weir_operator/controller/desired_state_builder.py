"""Raw objects to a `DesiredState`: parsed, checked and built by `manifests`, as the command line does it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from weir_placement.fragments import Ends, Knobs
from weir_placement.model.fragment import Output
from weir_placement.model.problem import Overheads, Query

from weir_operator.api.query import StreamQuery, StreamQuerySpec
from weir_operator.api.query_pods import Toleration
from weir_operator.api.values import parse_quantity
from weir_operator.controller.beginning import Beginning, beginning
from weir_operator.controller.desired_state import DesiredQuery, DesiredState, Fault, Group, suspended_query
from weir_operator.controller.observed_state import Manifest, ObservedState
from weir_operator.controller.raw_fields import created, generation, part, parts
from weir_operator.controller.record import name_of, read_record
from weir_operator.controller.settings import Settings
from weir_operator.controller.source_hash import source_hash, source_parts
from weir_operator.controller.times import seconds
from weir_operator.manifests.cluster import NodeUsage, declared_memory, shut_out
from weir_operator.manifests.finding import Finding
from weir_operator.manifests.network import Read
from weir_operator.manifests.objects import Objects, Reader
from weir_operator.manifests.problem import PolicyProblem, build
from weir_operator.manifests.requests import fragment_memory
from weir_operator.manifests.results import output_columns
from weir_operator.manifests.site import ANYWHERE, FilesPlace, Site

log = logging.getLogger("weir.objects")
Calibrated = Callable[[Query], Query]


@dataclass
class DesiredStateBuilder:
    """Called in every round; `matrices` reads the files or ConfigMaps of topologies by name.

    Args:
        knobs: how processes run (heap, trigger); does not change rows.
        calibrate: puts this machine's measured costs in place of the defaults by kind.
        overheads: calibrated ones, for policies that declare none.
        executors: whether fragments may have executors, which are pods.
        site: where relative URIs lie.
    """

    matrices: Callable[[Objects], Mapping[str, Read]] = lambda objects: {}
    knobs: Knobs = field(default_factory=Knobs)
    calibrate: Calibrated = lambda query: query
    overheads: Overheads = field(default_factory=Overheads)
    executors: bool = False
    site: Site = ANYWHERE
    read: Reader = field(default_factory=Reader)

    def __call__(self, observed: ObservedState, settings: Settings) -> DesiredState:
        """What the observed objects ask for; their errors become faults of the queries that need them."""
        manifests = [o for o in observed.objects if o.get("kind") != "Placement"]
        placements = {name_of(o): o for o in observed.objects if o.get("kind") == "Placement"}
        raw = {name_of(o): o for o in manifests if o.get("kind") == "StreamQuery"}
        sources = {name_of(o): part(o, "spec").get("source") for o in manifests if o.get("kind") == "Stream"}
        objects, findings = self.read(manifests)
        usage = {name: NodeUsage(r.cpu, r.memory) for name, r in observed.foreign.items()}
        specs = {name: part(manifest, "spec") for name, manifest in raw.items()}
        policies = {name: str(spec.get("policy") or "default") for name, spec in specs.items()}
        built = build(
            objects,
            usage=usage,
            read=self.matrices(objects),
            quota_usage=observed.quota_usage,
            site=self.site,
            policies=set(policies.values()),
            in_force=partial(_sink_in_force, placements, self.site),
        )
        faults = _faults([*findings, *built.findings], raw)
        beginnings: dict[str, Beginning] = {}
        for name, manifest in raw.items():
            try:
                beginnings[name] = beginning(observed, placements, manifest, self.site.tenants)
            except Exception as error:  # whatever it is: the others go on
                faults.setdefault(name, _unreadable(name, manifest, error))
                continue
            if refusal := beginnings[name].refusal:
                faults.setdefault(name, Fault(refusal, False, generation(manifest, 1)))
        lost, cordoned = _nodes(observed, settings, objects)
        groups = tuple(
            self._group(source, objects, raw, sources, beginnings, faults) for source in built.groups
        )
        planned = {name for group in groups for name in group.queries}
        for name in set(raw) - planned - set(faults):
            wrong = f"not planned: PlacementPolicy {policies[name]} or a Stream that it reads has errors"
            faults[name] = Fault(f"{wrong}; their conditions name the fields", True, generation(raw[name], 1))
        return DesiredState(
            groups=groups,
            faults={n: f for n, f in faults.items() if n in raw and n not in planned},
            lost=lost,
            not_ready=lost & _node_names(observed),
            nodes=_node_names(observed),
            cordoned=cordoned,
            closed=_closed(objects),
            errors=_errors([*findings, *built.findings]),
            created={name: created(o) for name, o in raw.items()},
            statuses={name: part(o, "status") for name, o in raw.items()},
            policies=policies,
            suspended=frozenset(name for name, spec in specs.items() if spec.get("suspend") is True),
            readers={name: frozenset(item.spec.shared_with) for name, item in objects.streams.items()},
            unreadable_nodes=_node_names(observed) - objects.nodes.keys(),
            uids={name: _uid(o) for name, o in raw.items()},
            retain=_retain(specs, policies, objects),
        )

    def _group(
        self,
        source: PolicyProblem,
        objects: Objects,
        raw: Mapping[str, Manifest],
        sources: Mapping[str, Any],
        beginnings: Mapping[str, Beginning],
        faults: dict[str, Fault],
    ) -> Group:
        """A policy's queries; `faults` grows by those for which this ends with an error."""
        queries: dict[str, DesiredQuery] = {}
        planned = {q.name: q for q in source.problem.queries}
        for name, item in objects.queries.items():
            if item.spec.policy != source.policy.metadata.name or name in faults:
                continue
            read = planned[name].sources.values() if name in planned else ()
            if nowhere := sorted({stream for stream in read if not sources.get(stream)}):
                wrong = f"not planned: Stream {nowhere[0]} has no spec.source; write where its rows are"
                faults[name] = Fault(wrong, True, generation(raw[name], 1))
                continue
            try:
                query = self._query(source, item, planned.get(name), raw[name], sources, beginnings[name])
            except Exception as error:
                faults[name] = _unreadable(name, raw[name], error)
                continue
            if query is not None:
                queries[name] = query
        problem = replace(source.problem, queries=tuple(a.model for a in queries.values() if not a.suspended))
        if problem.overheads == Overheads():
            problem = replace(problem, overheads=self.overheads)
        topology = objects.topology(source.policy.spec.topology)
        measured = topology is not None and topology.spec.measured
        return Group(source.policy.metadata.name, source.policy.spec, problem, queries, measured)

    def _query(
        self,
        source: PolicyProblem,
        item: StreamQuery,
        query: Query | None,
        manifest: Manifest,
        sources: Mapping[str, Any],
        begins: Beginning,
    ) -> DesiredQuery | None:
        """A query that is to be planned (`query`) or is suspended; None for all others."""
        if query is None:
            if not item.spec.suspend:
                return None
            return suspended_query(f"{item.metadata.namespace}/{item.metadata.name}", generation(manifest, 1))
        query = self.calibrate(query if self.executors else replace(query, processes=1))
        streams = query.sources.items()
        ends = Ends(
            {
                alias: self.site.anchored(
                    _source(sources[stream], source.problem.streams[stream].rate), stream.split("/")[0]
                )
                for alias, stream in streams
            },
            sink_of(item.spec, query, self.site),
            begins.incarnation,
            replace(self.knobs, executors=item.spec.resources.executors if self.executors else 0),
            round(source.policy.spec.exchange.retention * 1e6),
            flows=source.policy.spec.exchange.flows(),
            bad_rows={
                alias: self._bad_rows(sources[stream], query.name.split("/")[0]) for alias, stream in streams
            },
        )
        return DesiredQuery(
            query,
            ends,
            source_hash(query, ends, source),
            generation(manifest, 1),
            nodes={op.id: tuple(op.nodes) for op in item.spec.operators or () if op.nodes},
            pods=pods_of(item.spec),
            dedicated=item.spec.isolation == "Dedicated",
            parts=source_parts(query, ends, source),
            restore=begins.restore,
            snapshot=begins.snapshot,
        )

    def _bad_rows(self, source: Mapping[str, Any], namespace: str) -> Mapping[str, Any]:
        """A Stream's settings for bad rows; a dead-letter folder is in the query's namespace."""
        settings = {key: source[key] for key in BAD_ROWS if source.get(key)}
        if "deadLetter" in settings:
            settings["deadLetter"] = self.site.anchored(settings["deadLetter"], namespace)
        return {} if settings == {"onBadRow": "DeadLetter"} else settings


BAD_ROWS = ("onBadRow", "deadLetter")
"""Fields of a source beside its kind."""


def _unreadable(name: str, manifest: Manifest, error: Exception) -> Fault:
    log.error("%s cannot be read", name, exc_info=error)
    return Fault(f"it cannot be read: {error!r}", False, generation(manifest, 1))


def sink_of(spec: StreamQuerySpec, query: Query, site: Site) -> Output:
    """The query's sink as its last fragment gets it."""
    sink = spec.sink.model_dump(by_alias=True, exclude_none=True, mode="json")
    kind, connector = next(iter(site.anchored(sink, query.name.split("/")[0]).items()))
    # what is false is left out, as before there was such a field: it is part of the fragment's name
    options = {key: value for key, value in connector.items() if key != "uri" and value is not False}
    uri = connector.get("uri", "")
    return Output(kind, uri, options, output_columns(query.operators[-1]) if query.operators else ())  # type: ignore[arg-type]  # one of its kinds: checked by Sink


def pods_of(spec: StreamQuerySpec) -> str:
    """The fields of a query that affect only its pods, as text; empty when it sets none."""
    own = {"env", "labels", "tolerations", "resources"}
    raw = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, include=own)
    own_fields = {name: raw[name] for name in ("env", "labels", "tolerations") if raw.get(name)}
    requests = raw.get("resources") or {}
    own_fields |= {name: requests[name] for name in ("cpu", "memory") if name in requests}
    return json.dumps(own_fields, sort_keys=True) if own_fields else ""


def _source(source: Mapping[str, Any], rate: float) -> Mapping[str, Any]:
    """A Stream's source as a fragment gets it: a generator without a rate has the stream's."""
    source = {key: value for key, value in source.items() if key not in BAD_ROWS}
    if "rate" not in source:
        return source
    options = source["rate"] or {}
    return {"rate": {**options, "rowsPerSecond": parse_quantity(str(options.get("rowsPerSecond", rate)))}}


def _uid(query: Manifest) -> str:
    return str(part(query, "metadata").get("uid") or "")


def _retain(
    specs: Mapping[str, Mapping[str, Any]], policies: Mapping[str, str], objects: Objects
) -> dict[str, float]:
    """By query whose policy can be read: how long it is kept when it is deleted [s]."""
    retain = {}
    for name, spec in specs.items():
        if policy := objects.policy(policies[name]):
            retention = policy.spec.retention.deleted_queries
            retain[name] = 0.0 if spec.get("deletionPolicy") == "Delete" else retention
    return retain


def _sink_in_force(placements: Mapping[str, Manifest], site: Site, query: str) -> FilesPlace | None:
    """Where a query's running fragments write files."""
    try:
        specs = read_record(placements[query]).specs
    except (ValueError, LookupError, TypeError, AttributeError):  # none, or one that Weir did not write
        return None
    outputs = (spec.output for spec in specs if spec.output.kind == "files")
    output = next(outputs, None)
    return site.place(output.files, query.split("/")[0]) if output else None


def _faults(findings: list[Finding], raw: Mapping[str, Manifest]) -> dict[str, Fault]:
    faults: dict[str, Fault] = {}
    for finding in findings:
        key = finding.object
        if key is None or key.kind != "StreamQuery" or key.full_name not in raw:
            continue
        name, missing = key.full_name, finding.reason == "ReferenceNotFound"
        before = faults.get(name)
        message = f"{before.message}; {finding.message}" if before else finding.message
        faults[name] = Fault(
            message, missing and (before is None or before.missing), generation(raw[name], 1)
        )
    return faults


def _errors(findings: list[Finding]) -> dict[tuple[str, str, str], str]:
    """What is wrong with each object, in one message."""
    messages: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings:
        if finding.object is not None:
            key = (finding.object.kind, finding.object.namespace, finding.object.name)
            messages.setdefault(key, []).append(finding.message)
    return {key: "; ".join(texts) for key, texts in messages.items()}


def _nodes(
    observed: ObservedState, settings: Settings, objects: Objects
) -> tuple[frozenset[str], frozenset[str]]:
    """Nodes that do not answer or are deleted, and nodes that are cordoned."""
    lost = set()
    for node in (o for o in observed.objects if o.get("kind") == "Node"):
        for condition in parts(part(node, "status"), "conditions"):
            if condition.get("type") == "Ready" and condition.get("status") != "True":
                silence = observed.passed(seconds(condition.get("lastTransitionTime")))
                if silence > settings.node_grace:
                    lost.add(node["metadata"]["name"])
    cordoned = {name for name, node in objects.nodes.items() if node.spec.unschedulable}
    deleted = {p.planned_node for p in observed.processes} - {""} - _node_names(observed)
    return frozenset(lost | deleted), frozenset(cordoned - lost)


def _node_names(observed: ObservedState) -> frozenset[str]:
    """Of all Nodes, also those that cannot be read."""
    nodes = (part(o, "metadata") for o in observed.objects if o.get("kind") == "Node")
    return frozenset(str(meta.get("name")) for meta in nodes)


def _closed(objects: Objects) -> dict[str, frozenset[str]]:
    """Query -> nodes that admit no pod of it: with a taint that it does not tolerate (an autoscaler's,
    somebody else's pool), or with less memory than a fragment requests."""
    nodes, memory = objects.nodes, {name: declared_memory(node) for name, node in objects.nodes.items()}
    tainted = {name: node for name, node in nodes.items() if node.spec.taints}
    closed_to: dict[tuple[tuple[Toleration, ...], int], frozenset[str]] = {}
    result = {}
    for query, item in objects.queries.items():
        tolerated, resources = tuple(item.spec.tolerations), item.spec.resources
        own = tolerated, fragment_memory(resources.memory, resources.executors)
        if own not in closed_to:
            closed_to[own] = frozenset(
                [name for name, node in tainted.items() if shut_out(node, tolerated)]
                + [name for name, present in memory.items() if present < own[1]]
            )
        if closed_to[own]:
            result[query] = closed_to[own]
    return result
