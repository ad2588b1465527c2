"""Times as the API server writes them, and as seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime


def seconds(text: str | None) -> float:
    """Seconds since 1970; 0 when there is no time.

    >>> seconds("1970-01-01T00:01:00Z"), seconds("1970-01-01T00:00:00.500000Z"), seconds(None)
    (60.0, 0.5, 0.0)
    """
    return datetime.fromisoformat(text).timestamp() if text else 0.0


def timestamp(at: float) -> str:
    """As statuses carry it.

    >>> timestamp(60.25)
    '1970-01-01T00:01:00Z'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(at: float) -> str:
    """A `MicroTime`, as leases and events carry it.

    >>> micro_time(60.25)
    '1970-01-01T00:01:00.250000Z'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
