"""What a chain carries after every set of streams, for the dynamic programs over sets."""

from __future__ import annotations

import numpy as np

from weir_placement.array_types import Floats
from weir_placement.joins.streams import MultiwayJoin


def carried_by_set(join: MultiwayJoin, head: int) -> tuple[Floats, Floats]:
    """Rates [tuples/s] and sizes [bytes], shape (2^(m-1),), as Partial.joined has them for one set.

    Bit b of a set is the b-th stream that is not the head. O(2^(m-1)).
    """
    own = join.streams[head]
    rates, selectivities, sizes = (np.array([value]) for value in (own.rate, own.selectivity, own.size))
    for stream in (*join.streams[:head], *join.streams[head + 1 :]):
        matches = np.minimum(selectivities, stream.selectivity) * stream.window
        rates = np.concatenate([rates, rates * matches])
        selectivities = np.concatenate([selectivities, np.maximum(selectivities, stream.selectivity)])
        sizes = np.concatenate([sizes, sizes + stream.size])
    return rates, sizes
