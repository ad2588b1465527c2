"""Connections of a distribution, their order, and how many a node has (table 3, algorithm 4, section 4.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from weir_placement.adaptation.dataflow_graph import DataflowGraph, OperatorRef
from weir_placement.adaptation.distribution_table import DistributionTable

RequestType = Literal[
    "Activate",
    "DeActivate",
    "SendData",
    "ReceiveData",
    "StopSend",
    "StopReceive",
    "SendStatistics",
    "Shutdown",
    "Restart",
    "StartStream",
    "Announce",
    "SendState",
]
"""Table 3, and what algorithms 4 and 6 send beside it: StartStream (to a stream's source), Announce
(algorithm 6, line 4) and SendState (line 19)."""

SAFE_CONNECTIONS = 12
"""Section 4.4: a processor carries 8 to 12 connections without doing notably less; 12 in section 5.2.2."""


class ConnectionRequest(NamedTuple):
    """A message to a node, or to a stream's source: what to do about an operator.

    Attributes:
        kind: by table 3.
        receiver: node, or a stream's name for StartStream.
        subject: operator whose output flows or which is switched; ("", stream) for a source stream.
        peer: the node at the other end; "" where there is none.
    """

    kind: RequestType
    receiver: str
    subject: OperatorRef
    peer: str = ""


class Connection(NamedTuple):
    """A stream from one node to another, once for all its readers there; `source` "" is outside (a stream's
    source), as is `target` "" (whom results are delivered to)."""

    producer: OperatorRef
    source: str
    target: str


def connections(
    table: DistributionTable, graph: DataflowGraph, *, deliveries: bool = True
) -> set[Connection]:
    """All connections of a distribution. O(operators + flows).

    Source streams come from machines of their own, as in the paper's testbed, so each of their readers' nodes
    is connected to the source. Without `deliveries` they are counted as the paper counts them in figures 19
    and 20: a plan of 6 streams in 12 pieces has 11 + 6 = 17.
    """
    result = set[Connection]()
    for ref, node in table.nodes.items():
        result.update(Connection(("", stream), "", node) for stream in graph.streams[ref])
        targets = {table[parent] for parent in graph.parents[ref]}
        result.update(Connection(ref, node, target) for target in targets if target != node)
        if deliveries and ref in graph.roots:
            result.add(Connection(ref, node, ""))
    return result


def connections_by_node(table: DistributionTable, graph: DataflowGraph) -> Counter[str]:
    """How many connections each node has, in and out, deliveries among them."""
    return Counter(end for c in connections(table, graph) for end in (c.source, c.target) if end)


def connect(table: DistributionTable, graph: DataflowGraph) -> Iterator[ConnectionRequest]:
    """Algorithm 4: the requests that activate a distribution, in the order in which they are sent.

    As printed, but for three things. Operators come parents first, so that an operator which is activated
    never sends to one that is not; the paper leaves the order of the table open. Each flow is connected once,
    from its reader's side: lines 7 to 16 connect each flow twice, once from either end. And streams start
    last, when everything that they feed is active: line 19 starts one as soon as its first reader is, while
    readers elsewhere may not listen yet. Flows inside a node need no connection. O(operators + flows).
    """
    started, connected = dict[str, None](), set[tuple[OperatorRef, str]]()
    for ref in reversed(list(graph.operators)):
        node = table[ref]
        yield ConnectionRequest("Activate", node, ref)
        for child in graph.children[ref]:
            if table[child] != node and (child, node) not in connected:
                connected.add((child, node))
                yield ConnectionRequest("ReceiveData", node, child, table[child])
                yield ConnectionRequest("SendData", table[child], child, node)
        for stream in graph.streams[ref]:
            yield ConnectionRequest("ReceiveData", node, ("", stream))
            started[stream] = None
    for stream in started:
        yield ConnectionRequest("StartStream", stream, ("", stream))
