"""The time limit in compiled code: searches ask `over` at every step, and end when it says so."""

from __future__ import annotations

import time
from typing import Any

from numba import types

from weir_placement.search.kernel.entry_codes import LATE, STEPS_TAKEN
from weir_placement.search.kernel.jit import State, jit

_clock_gettime: Any = types.ExternalFunction(
    "clock_gettime", types.intc(types.intc, types.CPointer(types.int64))
)
MONOTONIC = time.CLOCK_MONOTONIC
BETWEEN = 64
"""Steps from one look at the clock to the next: a look takes as long as a tenth of an evaluation."""


@jit
def over(st: State) -> bool:
    """Whether the time limit has passed; it stays so. Counts the steps of the search."""
    st.out[STEPS_TAKEN] += 1
    if st.out[STEPS_TAKEN] % BETWEEN == 0:
        _clock_gettime(MONOTONIC, st.clock)
        if st.clock[0] * 1_000_000_000 + st.clock[1] >= st.clock[2]:
            st.out[LATE] = 1
    return bool(st.out[LATE] != 0)
