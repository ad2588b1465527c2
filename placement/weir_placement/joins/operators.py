"""Node operator sets: what each node does for the plan (NOS, Definition 2, table 2, section 4.1).

The plan of Example 1, with streams counted from 0 as everywhere in the code and from 1 in text:

>>> from weir_placement.joins.plan import Sep
>>> example = (Sep(0, (1, 2), (1, 1)), Sep(1, (0, 2), (0, 1)), Sep(2, (0, 1), (0, 0)))
>>> print(example[0])
([S2, S3], [1, 1])

Example 2, the set of each node:

>>> for node in range(3):
...     print(set_text(node_operators(node, [roles_of(sep)[node] for sep in example])))
{ship(S1, N2), ship(S1, N3)}
{join(S1, S2), join(S2, S1), ship(S1^2, N3), ship(S2, N3), ship(S2^1, N3), update(S1), update(S2)}
{join(S1^2, S3), join(S1^3, S2), join(S2^1, S3), join(S3, S1), ship(S2^3, N0), ship(S3^1, N0), ship(S3^2, N0),
 update(S1), update(S2), update(S3)}

Example 3, SEP_1 before and after its modification:

>>> for sep in (example[0], Sep(0, (2, 1), (0, 1))):
...     for node, role in enumerate(roles_of(sep)):
...         print(f"N{node + 1}", set_text(role_operators(node, role)))
N1 {ship(S1, N2)}
N2 {join(S1, S2), ship(S2^1, N3), update(S2)}
N3 {join(S2^1, S3), ship(S3^1, N0), update(S3)}
N1 {join(S1, S3), ship(S3^1, N2), update(S3)}
N2 {join(S3^1, S2), ship(S2^1, N0), update(S2)}
N3 {ship(S3, N1)}

The text of section 4.1 lets N_k ship S^i_k on whatever p_k is, so N3 would ship S3^1 in the last plan
although N1 has made it. Example 3 has it right, and so has the code: whoever has a result ships it, the
head's own node and the last step included.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weir_placement.joins.plan import Sep

QUERY_NODE = -1
"""N_0, where results go."""


@dataclass(frozen=True)
class TupleFlow:
    """Tuples that move: a source stream S_k (`head` None), or S^i_k, what SEP_i has after joining S_k."""

    stream: int
    head: int | None = None

    def __str__(self) -> str:
        return f"S{self.stream + 1}" if self.head is None else f"S{self.stream + 1}^{self.head + 1}"


@dataclass(frozen=True)
class WindowJoin:
    """join(left, S): new tuples of `left` probe the window of `stream` here."""

    left: TupleFlow
    stream: int

    def __str__(self) -> str:
        return f"join({self.left}, S{self.stream + 1})"


@dataclass(frozen=True)
class Update:
    """update(S): the window of `stream` is maintained here."""

    stream: int

    def __str__(self) -> str:
        return f"update(S{self.stream + 1})"


@dataclass(frozen=True)
class Ship:
    """ship(flow, N): tuples of `flow` go to `node`."""

    flow: TupleFlow
    node: int

    def __str__(self) -> str:
        return f"ship({self.flow}, N{self.node + 1})"


ChainOperator = WindowJoin | Update | Ship


@dataclass(frozen=True)
class Role:
    """A node's role in one SEP, from which alone its set NOS^i_k is derived.

    Attributes:
        head: i.
        joined_at: the node that this node's own stream is shipped to (bit 0); None for bit 1 and for the
            head.
        incoming: the flow that arrives, or the head stream; None when no flow comes by.
        joins: the streams whose windows are probed here, in order; this node's own first for bit 1.
        onward: where the last result goes: a node or QUERY_NODE; None when no flow comes by.
    """

    head: int
    joined_at: int | None = None
    incoming: TupleFlow | None = None
    joins: tuple[int, ...] = ()
    onward: int | None = None


def roles_of(sep: Sep) -> tuple[Role, ...]:
    """The role of every node, node k at index k. O(m)."""
    holder, flow = sep.head, TupleFlow(sep.head)
    shipped: dict[int, int] = {}
    visits: list[tuple[int, TupleFlow, list[int]]] = [(holder, flow, [])]
    for stream, bit in zip(sep.order, sep.bits, strict=True):
        if bit:
            holder = stream
            visits.append((holder, flow, []))
        else:
            shipped[stream] = holder
        visits[-1][2].append(stream)
        flow = TupleFlow(stream, sep.head)
    onward = [*(node for node, _, _ in visits[1:]), QUERY_NODE]
    roles = {k: Role(sep.head, joined_at=node) for k, node in shipped.items()}
    for (node, incoming, joins), target in zip(visits, onward, strict=True):
        roles[node] = Role(sep.head, None, incoming, tuple(joins), target)
    return tuple(roles[node] for node in range(len(sep.order) + 1))


def role_operators(node: int, role: Role) -> frozenset[ChainOperator]:
    """NOS^i_k from the node's own role alone. O(steps at the node)."""
    if role.incoming is None or role.onward is None:
        return frozenset([Ship(TupleFlow(node), role.joined_at)] if role.joined_at is not None else [])
    operators: set[ChainOperator] = set()
    flow = role.incoming
    for stream in role.joins:
        operators |= {WindowJoin(flow, stream), Update(stream)}
        flow = TupleFlow(stream, role.head)
    operators.add(Ship(flow, role.onward))
    return frozenset(operators)


def node_operators(node: int, roles: Iterable[Role]) -> frozenset[ChainOperator]:
    """NOS_k, the union over all SEPs (Definition 2), from the node's own roles alone."""
    return frozenset[ChainOperator]().union(*(role_operators(node, role) for role in roles))


def operator_sets(plan: Iterable[Sep]) -> tuple[frozenset[ChainOperator], ...]:
    """NOS_k of every node k, as the one that knows the whole plan derives them. O(m^2)."""
    roles = [roles_of(sep) for sep in plan]
    return tuple(node_operators(node, [by_node[node] for by_node in roles]) for node in range(len(roles)))


def set_text(operators: Iterable[ChainOperator]) -> str:
    """A set as the paper prints it, in alphabetical order."""
    return "{" + ", ".join(sorted(map(str, operators))) + "}"
