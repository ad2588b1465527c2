"""From one StreamQuery to the model's Query: its references, its SQL or its graph."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import inf

from weir_placement.model.cluster import Node
from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.location import STORE
from weir_placement.model.operators import Operator
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.model.suggestion import suggestion

from weir_operator.api.node import Node as NodeObject
from weir_operator.api.query import StreamQuery
from weir_operator.api.stream import Stream as StreamObject
from weir_operator.manifests.cluster import open_to, resolve
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.graph import GraphBuilder
from weir_operator.manifests.limits import shown
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.requests import fragment_memory
from weir_operator.manifests.results import message_key_findings
from weir_operator.manifests.site import Site
from weir_operator.manifests.streams import readable_by


@dataclass(frozen=True)
class QueryScope:
    """What the queries of a policy refer to: streams, nodes, other objects. `memory` [bytes] is what each
    node has for fragments."""

    objects: Objects
    streams: Mapping[str, Stream]  # by full name; those with a broken schema are missing
    nodes: Sequence[Node]
    site: Site
    memory: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def tainted(self) -> tuple[str, ...]:
        """Names of the nodes that have a taint."""
        return tuple(name for name, node in self.objects.nodes.items() if node.spec.taints)

    @cached_property
    def least_memory(self) -> float:
        """[bytes] Of the smallest node."""
        return min(self.memory.values(), default=inf)


def key_of(item: StreamQuery) -> Key:
    """The query's identity."""
    return Key("StreamQuery", item.metadata.namespace, item.metadata.name)


def full_stream_name(name: str, namespace: str) -> str:
    """`ns/stream` of `ns.stream`, or of `stream` in the reader's namespace."""
    return name.replace(".", "/", 1) if "." in name else f"{namespace}/{name}"


def _stream_key(full_name: str) -> Key:
    return Key("Stream", *full_name.split("/", 1))


def model_query(item: StreamQuery, scope: QueryScope) -> tuple[Query | None, list[Finding]]:
    """The query, or None and what is wrong with it."""
    key, spec = key_of(item), item.spec
    deliver_to: tuple[str, ...] = ()
    findings: list[Finding] = []
    if spec.deliver_to.model_dump(exclude_none=True):
        deliver_to, findings = resolve(spec.deliver_to, scope.nodes, key, "spec.deliverTo")
    query, errors = _from_sql(item, scope) if spec.sql is not None else _from_graph(item, scope)
    findings += errors
    if query is not None:
        findings += message_key_findings(item, key, query, scope.streams)
    if query is None or findings:
        return None, findings
    limit = inf if spec.max_latency is None else spec.max_latency
    query = replace(
        query,
        deliver_to=deliver_to,
        max_latency=limit,
        priority=spec.priority,
        fixed_order=spec.order == "fixed",
        processes=1 + spec.resources.executors,
    )
    return _only_large_nodes(_only_open_nodes(query, item, scope), item, scope), []


def _readable(
    item: StreamQuery, names: Sequence[str], scope: QueryScope, paths: Sequence[str]
) -> list[Finding]:
    """Streams that do not exist, have errors, or belong to a namespace that does not share them."""
    key, namespace, findings = key_of(item), item.metadata.namespace, []
    for name, path in zip(names, paths, strict=True):
        stream = scope.objects.streams.get(name)
        short = name.removeprefix(f"{namespace}/").replace("/", ".")
        if stream is not None and not readable_by(stream, namespace):
            wrong = f"stream {short} is not shared with namespace {namespace}"
            findings.append(Finding(key, path, wrong, "add the namespace to its sharedWith", "NotAllowed"))
        elif stream is not None and stream.metadata.namespace != namespace and _on_its_claim(stream, scope):
            wrong = f"stream {short} is in files on the volume of namespace {stream.metadata.namespace}"
            right = f"pods of {namespace} do not mount it: run the query there, or read a topic"
            findings.append(Finding(key, path, wrong, right, "NotAllowed"))
        elif stream is None:
            readable = [
                n.removeprefix(f"{namespace}/").replace("/", ".")
                for n, s in scope.objects.streams.items()
                if readable_by(s, namespace)
            ]
            right = _elsewhere(item, name, scope) or suggestion(short, readable, "streams")
            findings.append(Finding.not_found(key, path, f"no stream {short}", right, _stream_key(name)))
        elif name not in scope.streams:
            findings.append(
                Finding.not_found(
                    key, path, f"stream {short} has errors", "fix the stream first", _stream_key(name)
                )
            )
    return findings


def _elsewhere(item: StreamQuery, name: str, scope: QueryScope) -> str:
    """What to write for a stream that has this name in another namespace; "" where there is none that the
    query may know of: those of files, and those that are shared with it."""
    namespace, plain = item.metadata.namespace, name.split("/", 1)[1]
    for other in scope.objects.streams.values():
        there, key = other.metadata.namespace, Key("Stream", other.metadata.namespace, plain)
        if other.metadata.name != plain or there == namespace:
            continue
        if readable_by(other, namespace):
            return f"write {there}.{plain}: it is in namespace {there}"
        if key in scope.objects.documents:
            shared = f"add {namespace} to its sharedWith"
            return f"it is in namespace {there}: write {there}.{plain}, and {shared}"
    return ""


def _on_its_claim(stream: StreamObject, scope: QueryScope) -> bool:
    return (
        scope.site.files is not None
        and stream.spec.source is not None
        and stream.spec.source.files is not None
        and stream.spec.source.files.location.kind != STORE
    )


def _from_sql(item: StreamQuery, scope: QueryScope) -> tuple[Query | None, list[Finding]]:
    from weir_placement.rewrite.sql import place_of_stream, stream_references

    key, sql = key_of(item), item.spec.sql or ""
    try:
        names = stream_references(sql, item.metadata.namespace)
        findings = []
        for name in names:
            within = place_of_stream(sql, item.metadata.namespace, name)
            findings += [replace(f, within=within) for f in _readable(item, [name], scope, ["spec.sql"])]
        if findings:
            return None, findings
        return _query(key.full_name, sql, tuple((name, scope.streams[name]) for name in names)), []
    except ExpressionError as error:
        return None, [Finding.of_expression(key, "spec.sql", each) for each in (error, *error.others)]


@lru_cache(maxsize=4096)
def _query(name: str, sql: str, streams: tuple[tuple[str, Stream], ...]) -> Query:
    """The statement's query. Cached: the operator reads all of them in every round, and few have changed."""
    from weir_placement.rewrite.sql import query_from_sql

    return query_from_sql(name, sql, dict(streams))


def _from_graph(item: StreamQuery, scope: QueryScope) -> tuple[Query | None, list[Finding]]:
    key, namespace, specs = key_of(item), item.metadata.namespace, item.spec.operators or []
    ids = {spec.id for spec in specs}
    first_use: dict[str, str] = {}  # name in `inputs` -> path of its first use
    for i, spec in enumerate(specs):
        for j, name in enumerate(spec.inputs):
            if name not in ids:
                first_use.setdefault(name, f"spec.operators[{i}].inputs[{j}]")
    findings: list[Finding] = []
    full = {name: full_stream_name(name, namespace) for name in first_use}
    findings += _readable(item, list(full.values()), scope, list(first_use.values()))
    aliases = {name: re.sub("-", "_", name.rsplit(".", 1)[-1]) for name in first_use}
    for name, alias in aliases.items():
        other = next((n for n in aliases if n != name and aliases[n] == alias), None)
        if other is not None and other < name:
            wrong = f"{name} and {other} would both get the alias {alias}"
            right = "write the query as SQL, with an alias for one of them"
            findings.append(Finding(key, first_use[name], wrong, right))
    streams = {aliases[n]: scope.streams[full[n]] for n in first_use if full[n] in scope.streams}
    runs = all(scope.objects.streams[full[n]].spec.source for n in first_use if full[n] in scope.streams)
    graph = GraphBuilder(key, streams, aliases, runs)
    operators = graph.build(specs)
    for i, spec in enumerate(specs):
        for j, node in enumerate(spec.nodes):
            if all(node != other.name for other in scope.nodes):
                right = suggestion(node, (n.name for n in scope.nodes), "nodes")
                path = f"spec.operators[{i}].nodes[{j}]"
                findings.append(Finding.not_found(key, path, f"no node {node}", right, Key("Node", "", node)))
    findings += graph.findings
    if findings:
        return None, findings
    from weir_placement.rewrite.joined_rate import within_all_windows

    return within_all_windows(Query(key.full_name, {aliases[n]: full[n] for n in first_use}, operators)), []


def _only_open_nodes(query: Query, item: StreamQuery, scope: QueryScope) -> Query:
    """The query kept off the nodes whose taints it does not tolerate, when another query does."""
    nodes, tolerated = scope.objects.nodes, item.spec.tolerations
    closed = {name for name in scope.tainted if not open_to(nodes[name], tolerated)}
    if not closed:
        return query
    if not any(node.schedulable and node.name in closed for node in scope.nodes):
        return query
    open_nodes = tuple(node.name for node in scope.nodes if node.schedulable and node.name not in closed)
    operators = tuple(replace(op, nodes=_open_of(op.nodes, open_nodes, closed)) for op in query.operators)
    return replace(query, operators=operators)


def _open_of(listed: tuple[str, ...], open_nodes: tuple[str, ...], closed: set[str]) -> tuple[str, ...]:
    """An operator's list of nodes without the closed ones. It is never empty, which would mean anywhere:
    instead it has a name that no node has, and that says in messages what is missing."""
    if not listed:
        return open_nodes or ("whose taints the query tolerates",)
    remaining = tuple(name for name in listed if name not in closed)
    return remaining or (f"{', '.join(listed)} whose taints the query tolerates",)


def _only_large_nodes(query: Query, item: StreamQuery, scope: QueryScope) -> Query:
    """The query kept off the nodes whose memory is less than one of its fragments requests. What others
    request there now does not count: it comes and goes, and what runs has its room."""
    resources = item.spec.resources
    requested = fragment_memory(resources.memory, resources.executors)
    if requested <= scope.least_memory:
        return query
    small = {name for name, memory in scope.memory.items() if memory < requested}

    def large(op: Operator) -> tuple[str, ...]:
        candidates = op.nodes or tuple(node.name for node in scope.nodes)
        remaining = tuple(name for name in candidates if name not in small)
        return remaining or (f"{', '.join(op.nodes)} {_missing_memory(item, scope, candidates)}".strip(),)

    return replace(query, operators=tuple(replace(op, nodes=large(op)) for op in query.operators))


def _missing_memory(item: StreamQuery, scope: QueryScope, nodes: Iterable[str]) -> str:
    """What none of the nodes has, in place of a node's name."""
    resources, most = item.spec.resources, max(scope.memory[name] for name in nodes)
    if fragment_memory(None, resources.executors) <= most:
        right = f"write at most {shown(most)} into spec.resources.memory, or add a larger node"
    else:
        fewer = ", or write fewer spec.resources.executors" if resources.executors else ""
        right = f"each of its pods needs {shown(fragment_memory(None, 0))}: add a larger node{fewer}"
    requested = fragment_memory(resources.memory, resources.executors)
    return f"with the {shown(requested)} of memory that each fragment requests: {right}"


def any_open(node: NodeObject, items: Sequence[StreamQuery]) -> bool:
    """Whether some query may run on the node."""
    if not node.spec.taints or not items:
        return open_to(node, ())
    return any(open_to(node, item.spec.tolerations) for item in items)
