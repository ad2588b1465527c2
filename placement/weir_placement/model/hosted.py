"""Names under which leases are held: of fragments in a host (docs/runtime.md, "Hosts"), and nobody's."""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "host/"  # no machine's name has a slash, so no process is taken for a host


NOBODY = "nobody:0:1"
"""Holder of a lease that nobody has had."""


@dataclass(frozen=True)
class HostedHolder:
    """One attempt at a fragment in one incarnation of a host; no two attempts ever have the same name.

    Attributes:
        lease: where the host's own lease lies, which is renewed for all of its fragments.
        incarnation: the epoch of that lease.
        attempt: counted by the host's process over all its fragments.
    """

    lease: str
    incarnation: int
    attempt: int

    def __str__(self) -> str:
        return f"{PREFIX}{self.lease}:{self.incarnation}:{self.attempt}"

    @staticmethod
    def parse(text: str) -> HostedHolder | None:
        """None for a process that has its lease to itself."""
        lease, *numbers = text.removeprefix(PREFIX).rsplit(":", 2)
        if not text.startswith(PREFIX) or len(numbers) < 2 or not all(n.isdecimal() for n in numbers):
            return None
        incarnation, attempt = map(int, numbers)
        return HostedHolder(lease, incarnation, attempt)
