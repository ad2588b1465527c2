"""The six steps that move an operator (D-CAPE, section 6.3, algorithm 6 and figure 35).

1. The new node learns that it will run the operator.
2. It is connected to the parents, so that results can flow from the moment at which it runs.
3. The children and streams are connected to it, and send no more to the old node. What comes waits there.
4. The old node works off what waits at its inputs, and is deactivated.
5. Its state goes to the new node.
6. Its last results reach the parents, its connections to them end, and the operator is activated.

The text, figure 35 and the listing do not agree. Our copy of the paper has no picture of figure 35; this is
the text's order. The listing deactivates (line 18) as soon as children are disconnected, where the text waits
until input queues "have dried up": without that, what waits is lost. The state is sent before the last
results are waited for, not after: it takes longest, and neither needs the other. Only activation needs both,
as a new result must not overtake an old one; tests/adaptation/test_reallocation.py shows what each wait does.

The listing looks parents and children up in the new distribution, where those that are yet to move are not.
Here operators move one after the other, parents first, and each step looks at the distribution as it then is.
It has nothing on operators that read streams; their streams are connected as children are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from weir_placement.adaptation.connections import Connection, ConnectionRequest, connections
from weir_placement.adaptation.dataflow_graph import DataflowGraph, OperatorRef
from weir_placement.adaptation.distribution_table import DistributionTable

Awaited = Literal["", "input-drained", "state-received", "output-received"]
"""What must be so before a step's requests are sent: the old node has read all that waits at the operator's
inputs; the new one has all of its state, and its parents all of its results."""


@dataclass(frozen=True)
class ReallocationStep:
    """A step of moving one operator; its requests go out together once all that it awaits is so."""

    number: int
    operator: OperatorRef
    requests: tuple[ConnectionRequest, ...]
    awaits: tuple[Awaited, ...] = ()


def reallocate(
    table: DistributionTable, new: DistributionTable, graph: DataflowGraph, lost: Collection[str] = ()
) -> Iterator[ReallocationStep]:
    """The steps for all operators that the new distribution has elsewhere (the difference table).

    O(operators) for each that moves. Connections that others of the old or new node share stay or exist
    already: nothing is sent for them. To `lost` nodes nothing is sent, and nothing of them is awaited: what
    was in their memory is gone, and an operator begins with the state that is stored elsewhere, if any is.
    """
    moves = table.differences(new)
    for ref in reversed([r for r in graph.operators if r in moves]):
        following = table.with_moves({ref: new[ref]})
        for step in _moved(ref, table, following, graph):
            if table[ref] in lost:
                step = replace(step, awaits=())
            yield replace(step, requests=tuple(r for r in step.requests if r.receiver not in lost))
        table = following


def _moved(
    ref: OperatorRef, table: DistributionTable, following: DistributionTable, graph: DataflowGraph
) -> Iterator[ReallocationStep]:
    old, new = table[ref], following[ref]
    before = connections(table, graph, deliveries=False)
    after = connections(following, graph, deliveries=False)
    opened, ended = sorted(after - before), sorted(before - after)
    yield ReallocationStep(1, ref, (ConnectionRequest("Announce", new, ref, old),))
    yield ReallocationStep(2, ref, _opened([c for c in opened if c.producer == ref]))
    inputs = _opened([c for c in opened if c.producer != ref])
    yield ReallocationStep(3, ref, (*inputs, *_closed([c for c in ended if c.producer != ref])))
    yield ReallocationStep(4, ref, (ConnectionRequest("DeActivate", old, ref),), ("input-drained",))
    yield ReallocationStep(5, ref, (ConnectionRequest("SendState", old, ref, new),))
    outputs = _closed([c for c in ended if c.producer == ref])
    activation = ConnectionRequest("Activate", new, ref)
    yield ReallocationStep(6, ref, (*outputs, activation), ("state-received", "output-received"))


def _opened(flows: list[Connection]) -> tuple[ConnectionRequest, ...]:
    """Whoever receives is ready before anything is sent."""
    requests = list[ConnectionRequest]()
    for producer, source, target in flows:
        requests.append(ConnectionRequest("ReceiveData", target, producer, source))
        if source:
            requests.append(ConnectionRequest("SendData", source, producer, target))
        else:
            requests.append(ConnectionRequest("StartStream", producer[1], producer, target))
    return tuple(requests)


def _closed(flows: list[Connection]) -> tuple[ConnectionRequest, ...]:
    """Sending ends before receiving does."""
    requests = list[ConnectionRequest]()
    for producer, source, target in flows:
        requests.append(ConnectionRequest("StopSend", source or producer[1], producer, target))
        requests.append(ConnectionRequest("StopReceive", target, producer, source))
    return tuple(requests)
