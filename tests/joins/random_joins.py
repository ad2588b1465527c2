"""Joins with random statistics, ties on purpose."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st
from weir_placement.joins.streams import JoinStream, MultiwayJoin, StepCosts

PAPER = StepCosts(probe=1e-6, update=1e-6, latency=0.005, bandwidth=128_000.0)
"""1024 kbit/s and 5 ms as in section 5; NOS does not print c_p and c_u."""


def random_stream(random: Random, index: int) -> JoinStream:
    return JoinStream(
        f"S{index + 1}",
        rate=random.choice([50.0, 100.0, 200.0, random.uniform(0, 400)]),
        selectivity=random.choice([0.01, random.uniform(0, 0.05)]),
        size=random.choice([150.0, random.uniform(20, 400)]),
        window=random.choice([50.0, random.uniform(0, 200)]),
    )


def random_join(random: Random, width: int) -> MultiwayJoin:
    probe = random.choice([0.0, 1e-6, 1e-4, 1e-3])
    streams = tuple(random_stream(random, index) for index in range(width))
    return MultiwayJoin(streams, StepCosts(probe, random.choice([0.0, 1e-6, 1e-3]), 0.005, 128_000.0))


def changed_stream(random: Random, stream: JoinStream, index: int) -> JoinStream:
    """New values for some of a stream's statistics, for one of them in half of the cases."""
    other = random_stream(random, index)
    fields = ("rate", "selectivity", "size", "window")
    chosen = [random.choice(fields)] if random.random() < 0.5 else fields
    values = {field: getattr(other if field in chosen else stream, field) for field in fields}
    return JoinStream(stream.name, **values)


@st.composite
def joins(draw: st.DrawFn, most: int = 5) -> MultiwayJoin:
    width = draw(st.integers(2, most))
    return random_join(Random(draw(st.integers(0, 2**32))), width)
