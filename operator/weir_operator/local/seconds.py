"""Time that passes over restarts of the controller."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any


def seconds_since(entry: Mapping[str, Any], what: str) -> float:
    """By the clock since the machine's start, which nobody sets; very long where that is not known, or was
    before it."""
    passed = time.monotonic() - float(entry.get(what, math.inf))
    return passed if passed >= 0.0 else math.inf
