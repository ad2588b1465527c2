"""What the API server refuses until a person changes something, told apart from what passes by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weir_operator.controller.ports import Refused
from weir_operator.kube.api import ApiError, ObjectGone

REFUSALS = (400, 403, 413, 422)  # a quota, a limit range, the namespace's pod standard, a policy, a schema


@contextmanager
def refusals() -> Iterator[None]:
    """What the API server will refuse again is Refused, in its words."""
    try:
        yield
    except ObjectGone:
        raise
    except ApiError as error:
        if error.status in REFUSALS:
            raise Refused(str(error)) from None
        raise
