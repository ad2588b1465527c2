"""What the API server refuses until a person changes something, told apart from what passes by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from weir_operator.controller.decision import WritePlacement
from weir_operator.controller.ports import Refused
from weir_operator.kube.api import ApiError, ObjectGone

REFUSALS = (400, 403, 413, 422)  # a quota, a limit range, the namespace's pod standard, a policy, a schema
TOO_LARGE = re.compile("request is too large|message larger than max|request entity too large", re.I)
"""What is said by etcd (of 1.5 MiB), by its client in the API server (2 MiB), by the API server (3 MiB). The
first two are its internal errors (500)."""


@contextmanager
def refusals(placement: WritePlacement | None = None) -> Iterator[None]:
    """What the API server will refuse again is Refused, in its words; where it is too large, with the size of
    the Placement that was to be written."""
    try:
        yield
    except ObjectGone:
        raise
    except ApiError as error:
        if TOO_LARGE.search(str(error)):
            raise Refused(_too_large(placement, error)) from None
        if error.status in REFUSALS:
            raise Refused(str(error)) from None
        raise


def _too_large(placement: WritePlacement | None, error: ApiError) -> str:
    if placement is None:
        return f"it is too large for the API server: {error}"
    size = len(json.dumps([placement.spec, placement.status])) / 2**20
    return (
        f"its plan and history have {size:.2f} MiB. With what the API server adds that is more than it takes "
        f"for an object: 1.5 MiB, or what --max-request-bytes of its etcd says ({error}). Divide the query "
        "into several, or let it read streams with fewer columns"
    )
