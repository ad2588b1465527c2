"""One node's part of the switch from old to new operator sets (NOS, section 4.3).

The two phases of the paper with its coordinator variant: the node whose statistics changed gathers
local-ready and sends global-ready. It is known to all that take part, so nobody is elected. Windows that a
node has not kept until now are asked for where they have been, as soon as one SEP needs them; old sets stay
in force until global-ready.

Reliable delivery is taken for granted, as in NOS; the order in which messages come is not. One change is
carried to its end before the next begins.
"""

from __future__ import annotations

from weir_placement.joins.messages import (
    Body,
    GlobalReady,
    Letter,
    LocalReady,
    Prepare,
    Report,
    RoleChange,
    WindowContent,
    WindowRequest,
)
from weir_placement.joins.operators import ChainOperator, Role, Update, node_operators


class Migration:
    """A node's sets, old and new, and what it still waits for.

    Attributes:
        roles: its role in each SEP that is in force, by head.
        operators: the set in force, derived from `roles`.
    """

    def __init__(self, node: int, roles: dict[int, Role]) -> None:
        self.node, self.roles = node, dict(roles)
        self.operators = node_operators(node, self.roles.values())
        self._changes: list[RoleChange] = []
        self._prepared: Prepare | None = None
        self._windows_asked: set[int] = set()
        self._windows_filled: set[int] = set()
        self._seps_open = 0
        self._affected: dict[int, int] = {}
        self._not_ready: set[int] = set()

    def coordinate(self, seps: int) -> None:
        """This node's statistics changed: it waits for the reports on that many SEPs."""
        self._seps_open, self._affected = seps, {}

    def role_changed(self, change: RoleChange) -> list[Letter]:
        """A new role, to be in force when all migrate."""
        self._changes.append(change)
        return self._request_windows(change) + self._local_ready()

    def receive(self, sender: int, body: Body) -> list[Letter]:
        """What a message of the migration makes this node send.

        Raises:
            TypeError: it is none.
        """
        match body:
            case Report(_, affected):
                return self._reported(affected)
            case Prepare() as prepare:
                self._prepared = prepare
                return self._local_ready()
            case WindowRequest(stream):
                return [Letter(self.node, sender, WindowContent(stream))]
            case WindowContent(stream):
                self._windows_filled.add(stream)
                return self._local_ready()
            case LocalReady():
                self._not_ready.discard(sender)
                return [] if self._not_ready else self._send_all(GlobalReady())
            case GlobalReady():
                self._switch()
                return []
        raise TypeError(f"node {self.node}: not a migration message: {body}")

    def _reported(self, affected: tuple[int, ...]) -> list[Letter]:
        for node in affected:
            self._affected[node] = self._affected.get(node, 0) + 1
        self._seps_open -= 1
        if self._seps_open:
            return []
        self._not_ready = set(self._affected)
        return [Letter(self.node, n, Prepare(self.node, count)) for n, count in self._affected.items()]

    def _send_all(self, body: Body) -> list[Letter]:
        return [Letter(self.node, node, body) for node in self._affected]

    def _next_roles(self) -> dict[int, Role]:
        return {**self.roles, **{change.role.head: change.role for change in self._changes}}

    def _request_windows(self, change: RoleChange) -> list[Letter]:
        """At once, before other SEPs are done, for each window that the node neither keeps nor waits for."""
        in_place = kept_windows(self.operators)
        missing = [pair for pair in change.windows if pair[0] not in in_place | self._windows_asked]
        self._windows_asked |= {stream for stream, _ in missing}
        return [Letter(self.node, place, WindowRequest(stream)) for stream, place in missing]

    def _local_ready(self) -> list[Letter]:
        if self._prepared is None or len(self._changes) < self._prepared.changes:
            return []
        if self._windows_asked - self._windows_filled:
            return []
        return [Letter(self.node, self._prepared.trigger, LocalReady())]

    def _switch(self) -> None:
        self.roles = self._next_roles()
        self.operators = node_operators(self.node, self.roles.values())
        self._changes, self._prepared = [], None
        self._windows_asked, self._windows_filled = set(), set()


def kept_windows(operators: frozenset[ChainOperator]) -> set[int]:
    """The streams whose windows a set maintains."""
    return {operator.stream for operator in operators if isinstance(operator, Update)}
