"""Small systems to plan for: base streams on hosts, composite streams that several operators make."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st
from weir_placement.admission.system import DataStream, HostResources, SharedOperator, StreamSystem

WHOLE = st.integers(1, 4).map(float)
LIMITS = st.one_of(st.just(float("inf")), st.integers(2, 8).map(float))


@st.composite
def systems(draw, hosts=3, bases=3, memory=True):
    """Up to these many hosts and base streams; every set of them is a stream, by each way to halve it."""
    count = draw(st.integers(1, hosts))
    width = draw(st.integers(2, bases))
    resources = tuple(
        HostResources(
            f"h{number}",
            float(draw(st.integers(1, 9))),
            draw(LIMITS) if memory else float("inf"),
            draw(LIMITS),
            draw(LIMITS),
        )
        for number in range(count)
    )
    links = None
    if draw(st.booleans()):
        links = np.array([[draw(LIMITS) for _ in range(count)] for _ in range(count)])
    streams, operators = [], []
    index: dict[frozenset[int], int] = {}
    for base in range(width):
        index[frozenset({base})] = len(streams)
        streams.append(DataStream("ABCD"[base], draw(WHOLE), frozenset({draw(st.integers(0, count - 1))})))
    for size in range(2, width + 1):
        for members in combinations(range(width), size):
            whole = frozenset(members)
            index[whole] = len(streams)
            streams.append(DataStream("".join("ABCD"[m] for m in members), draw(WHOLE)))
            for left in (frozenset(part) for k in range(1, size) for part in combinations(members, k)):
                if min(members) in left:
                    inputs = (index[left], index[whole - left])
                    operators.append(
                        SharedOperator(inputs, index[whole], draw(WHOLE), draw(WHOLE) if memory else 0.0)
                    )
    return StreamSystem(resources, tuple(streams), tuple(operators), links)


def composites(system: StreamSystem) -> list[int]:
    """Streams that operators make."""
    return [stream for stream in range(len(system.streams)) if system.makers[stream]]
