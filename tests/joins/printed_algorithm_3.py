"""Algorithm 3 of NOS as it is printed, on one SEP: what the mended one is compared with.

Line 3 asks whether the cost of the changed stream's own step has increased; anything else goes to line 12.
Lines 6 and 14 may leave r undefined: then nothing is swapped, and line 18, which starts at r + 1, does not
run.
"""

from __future__ import annotations

from weir_placement.joins.optimal import with_bits
from weir_placement.joins.plan import Sep, flows
from weir_placement.joins.streams import MultiwayJoin, step_cost


def printed_update(old: MultiwayJoin, new: MultiwayJoin, sep: Sep, changed: int) -> Sep:
    """The SEP after `changed`'s statistics went from those in `old` to those in `new`."""
    if changed == sep.head:
        return sep  # No C(k-1, k) of this SEP is the head's: "for each SEP_i" finds no k.
    order = list(sep.order)
    k = order.index(changed)

    def cost(join: MultiwayJoin, position: int, stream: int) -> float:
        flow = flows(join, Sep(sep.head, tuple(order), (0,) * len(order)))[position]
        return step_cost(flow, join.streams[stream], join.costs).cost

    def forward(j: int) -> None:
        later = range(j + 1, len(order))
        r = min(later, key=lambda p: cost(new, j, order[p]), default=j)
        if cost(new, j, order[r]) < cost(new, j, order[j]):
            order[j], order[r] = order[r], order[j]

    before, after = cost(old, k, changed), cost(new, k, changed)
    if after > before:
        for j in range(k, len(order)):
            forward(j)
    else:
        dearer = (p for p in range(k) if cost(new, p, changed) < cost(new, p, order[p]))
        r = next(dearer, None)
        if r is not None:
            order[r], order[k] = order[k], order[r]
            for j in range(r + 1, len(order)):
                forward(j)
    return with_bits(new, sep.head, tuple(order))
