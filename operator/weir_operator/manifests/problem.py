"""From all objects to planning problems, one for each policy, and findings about each object.

The command line prints the findings, the operator writes them into conditions, in the same words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from weir_placement.model.cluster import REFERENCE_CORE, Cluster
from weir_placement.model.problem import Overheads, Problem, Query
from weir_placement.model.streams import Stream
from weir_placement.model.suggestion import suggestion
from weir_placement.strategies import STRATEGIES, select

from weir_operator.api.policy import PlacementPolicy
from weir_operator.api.query import StreamQuery
from weir_operator.manifests.brokers import broker_findings
from weir_operator.manifests.cluster import NodeUsage, declared_memory, model_node, node_findings, selects
from weir_operator.manifests.consequences import NO_NODE
from weir_operator.manifests.finding import Finding, Key, isolated
from weir_operator.manifests.network import Read, network
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.options import objective_findings, option_findings
from weir_operator.manifests.profiles import expected_points, profile_findings, with_ranges
from weir_operator.manifests.queries import (
    QueryScope,
    any_open,
    key_of,
    model_query,
)
from weir_operator.manifests.references import check_references
from weir_operator.manifests.sharing import sharing_class
from weir_operator.manifests.sinks import WrittenPlaces, nothing_in_force, sink_findings
from weir_operator.manifests.site import ANYWHERE, Site
from weir_operator.manifests.streams import model_stream
from weir_operator.manifests.tenancy import QuotaUsage, Tenancy


@dataclass(frozen=True)
class PolicyProblem:
    """The queries of one policy, planned together."""

    policy: PlacementPolicy
    problem: Problem


@dataclass(frozen=True)
class Built:
    """`groups` by falling priority of their policies; queries with findings are in none of them."""

    groups: tuple[PolicyProblem, ...]
    findings: tuple[Finding, ...]

    def of(self, key: Key) -> tuple[Finding, ...]:
        """The findings about one object."""
        return tuple(finding for finding in self.findings if finding.object == key)


def build(
    objects: Objects,
    *,
    usage: Mapping[str, NodeUsage] | None = None,
    read: Mapping[str, Read] | None = None,
    quota_usage: QuotaUsage | None = None,
    site: Site = ANYWHERE,
    policies: Collection[str] = (),
    robust: bool = False,
    in_force: WrittenPlaces = nothing_in_force,
) -> Built:
    """Problems from objects.

    Args:
        usage: by node, what pods that are not Weir's request.
        read: by name of a NetworkTopology, how the bytes of its matrix are read.
        quota_usage: by query, what its own pods use of the quotas that count them.
        site: where they are to run, if that is known.
        policies: those that get a group also without a query that can be read.
        robust: those without a `robustness` get the default one.
        in_force: where queries that run write.
    """
    findings = [finding for node in objects.nodes.values() for finding in node_findings(node)]
    if not objects.nodes:
        findings.append(NO_NODE)
    by_policy: dict[str, list[StreamQuery]] = {}
    tenancy = Tenancy(objects)
    for item in objects.queries.values():
        policy = objects.policy(item.spec.policy)
        findings += isolated(key_of(item), partial(_checked, item, objects, policy, tenancy, site), None)[1]
        if policy is not None:
            by_policy.setdefault(item.spec.policy, []).append(item)
    for snapshot in objects.snapshots.values():
        findings += site.copied(snapshot)
    for name in policies:
        if objects.policy(name) is not None:
            by_policy.setdefault(name, [])
    for policy in objects.policies.values():
        key = Key("PlacementPolicy", "", policy.metadata.name)
        findings += isolated(key, partial(_policy_checked, policy, objects, site), None)[1]
    findings += profile_findings(objects)
    findings += sink_findings(objects, site, in_force)
    findings += broker_findings(objects)
    faulty = {finding.object for finding in findings}
    groups = []
    for name in sorted(by_policy, key=lambda n: (-_priority(objects, n), n)):
        about = (objects, name, by_policy[name], usage or {}, read or {}, faulty, site)
        group, errors = isolated(Key("PlacementPolicy", "", name), partial(_policy_problem, *about), None)
        findings += errors
        groups += [group] if group else []
    if objects.limit_ranges:
        for i, group in enumerate(groups):
            heap_findings = list(tenancy.heap_findings(group.problem))
            findings += heap_findings
            groups[i] = replace(group, problem=_without(group.problem, heap_findings))
    if objects.quotas or any(group.policy.spec.limits for group in groups):
        planned = frozenset(query.name for group in groups for query in group.problem.queries)
        groups = [
            replace(r, problem=tenancy.with_budgets(r.problem, r.policy, planned, quota_usage or {}))
            for r in groups
        ]
    if not groups:  # nothing is planned, but streams and the network are still checked
        findings += _policy_problem(objects, "default", [], usage or {}, read or {}, faulty, site)[1]
    ranged = [replace(g, problem=with_ranges(g.problem, g.policy, objects, robust)) for g in groups]
    return Built(tuple(ranged), tuple(dict.fromkeys(findings)))


def _without(problem: Problem, findings: Sequence[Finding]) -> Problem:
    """The problem without the queries that have findings."""
    wrong = {finding.object for finding in findings}
    queries = tuple(q for q in problem.queries if Key("StreamQuery", *q.name.split("/")) not in wrong)
    return replace(problem, queries=queries)


def _checked(
    item: StreamQuery, objects: Objects, policy: PlacementPolicy | None, tenancy: Tenancy, site: Site
) -> tuple[None, list[Finding]]:
    return None, [*check_references(item, objects, policy, site), *tenancy.findings(item, policy)]


def _priority(objects: Objects, name: str) -> int:
    policy = objects.policy(name)
    return policy.spec.priority if policy else 0


def _policy_checked(policy: PlacementPolicy, objects: Objects, site: Site) -> tuple[None, list[Finding]]:
    return None, list(_policy_findings(policy, objects, site))


def _policy_findings(policy: PlacementPolicy, objects: Objects, site: Site) -> Iterator[Finding]:
    key, spec = Key("PlacementPolicy", "", policy.metadata.name), policy.spec
    yield from site.login(spec.exchange.kafka, key, "spec.exchange.kafka")
    yield from site.keys(spec.exchange.files, key, "spec.exchange.files")
    if spec.strategy.name not in STRATEGIES:
        right = suggestion(spec.strategy.name, STRATEGIES, "strategies")
        yield Finding(key, "spec.strategy.name", f"no strategy {spec.strategy.name}", right)
    else:
        strategy = select(spec.strategy.name, spec.objective)
        yield from objective_findings(key, "spec.objective", spec.strategy.name, spec.objective)
        yield from option_findings(key, strategy, spec.objective, spec.strategy.parameters)
    if objects.topology(spec.topology) is None:
        right = suggestion(spec.topology, {"default", *objects.topologies}, "topologies")
        missing = Key("NetworkTopology", "", spec.topology)
        yield Finding.not_found(key, "spec.topology", f"no NetworkTopology {spec.topology}", right, missing)


def _policy_problem(
    objects: Objects,
    name: str,
    items: Sequence[StreamQuery],
    usage: Mapping[str, NodeUsage],
    read: Mapping[str, Read],
    faulty: set[Key | None],
    site: Site,
) -> tuple[PolicyProblem, list[Finding]]:
    policy = objects.policy(name)
    assert policy is not None
    topology = objects.topology(policy.spec.topology) or objects.topology("default")
    assert topology is not None
    nodes = [
        model_node(
            node, policy.spec, usage.get(key, NodeUsage()), topology.spec.zone_label, any_open(node, items)
        )
        for key, node in objects.nodes.items()
    ]
    findings = list(_selects_none(policy, objects))
    links, errors = network(topology, nodes, read.get(topology.metadata.name, _no_matrix))
    findings += errors
    streams: dict[str, Stream] = {}
    for full_name, stream_object in objects.streams.items():
        key = Key("Stream", *full_name.split("/", 1))
        stream, errors = isolated(key, partial(model_stream, stream_object, nodes, site), None)
        findings += errors
        if stream is not None and not errors:
            streams[full_name] = stream
    memory = {key: declared_memory(node) - policy.spec.reserve.memory for key, node in objects.nodes.items()}
    scope, queries = QueryScope(objects, streams, nodes, site, memory), []
    sound = Key("PlacementPolicy", "", name) not in faulty  # its topology may be applied later
    for item in items:
        query, errors = isolated(key_of(item), partial(_modelled, item, scope, policy), None)
        findings += errors
        if (
            query is not None
            and sound
            and Key("StreamQuery", *query.name.split("/")) not in faulty
            and not item.spec.suspend
        ):
            queries.append(query)
    findings += _over_limit(policy, items)
    over = {finding.object for finding in findings}
    queries = [q for q in queries if Key("StreamQuery", *q.name.split("/")) not in over]
    overheads = policy.spec.overheads
    read_streams = {stream for query in queries for stream in query.sources.values()}
    problem = Problem(
        cluster=Cluster(tuple(nodes), links),
        streams={n: s for n, s in streams.items() if n in read_streams},
        queries=tuple(sorted(queries, key=lambda q: (-q.priority, q.name))),
        profile=expected_points(objects, items, read_streams),
        overheads=Overheads(
            overheads.fragment_cpu * REFERENCE_CORE,
            overheads.fragment_memory,
            overheads.exchange_cost,
            overheads.exchange_latency,
            overheads.batch_cost,
            overheads.input_batch_cost,
            overheads.state_batch_cost,
            overheads.batch_rate,
            overheads.host_cpu * REFERENCE_CORE,
            overheads.host_memory,
        ),
        enough=policy.spec.headroom.enough if policy.spec.headroom else None,
        max_cluster_size=policy.spec.hierarchy.max_cluster_size,
        tier_label=policy.spec.hierarchy.tier_label or "",
    )
    return PolicyProblem(policy, problem), findings


def _modelled(
    item: StreamQuery, scope: QueryScope, policy: PlacementPolicy
) -> tuple[Query | None, list[Finding]]:
    query, findings = model_query(item, scope)
    return query and replace(query, sharing_class=sharing_class(item, policy.spec)), findings


def _selects_none(policy: PlacementPolicy, objects: Objects) -> Iterator[Finding]:
    """A finding about a `nodeSelector` that no node has."""
    selector = policy.spec.node_selector
    selected = any(selects(policy.spec, node) for node in objects.nodes.values())
    if selector and objects.nodes and not selected:
        wrong = f"no node has {', '.join(f'{name}={value}' for name, value in selector.items())}"
        key, right = Key("PlacementPolicy", "", policy.metadata.name), "label a node, or select by another"
        yield Finding.not_found(key, "spec.nodeSelector", wrong, right, Key("Node", "", ""))


def _no_matrix(_: object) -> bytes:
    raise KeyError("there is nowhere to read it from")


def _over_limit(policy: PlacementPolicy, items: Sequence[StreamQuery]) -> Iterator[Finding]:
    """Queries in excess of the limit for their namespace; those of the lowest priority are refused."""
    for limit in policy.spec.limits:
        if limit.queries is None:
            continue
        running = [i for i in items if i.metadata.namespace == limit.namespace and not i.spec.suspend]
        running.sort(key=lambda i: (-i.spec.priority, i.metadata.creation_timestamp, i.metadata.name))
        for item in running[limit.queries :]:
            key = Key("StreamQuery", item.metadata.namespace, item.metadata.name)
            count = f"{limit.queries} of the {len(running)} queries"
            wrong = f"policy {policy.metadata.name} allows only {count} in namespace {limit.namespace}"
            right = "suspend others, raise its priority, or raise the policy's limit"
            yield Finding(key, "spec.policy", wrong, right, "NotAllowed")
