"""The written plan, operator by operator on the node with the fewest of them ([1]_, algorithm 2).

References
----------
.. [1] Timothy Sutherland, Elke A. Rundensteiner, "D-CAPE: A Self-Tuning Continuous Query Plan Distribution
       Architecture", WPI-CS-TR-04-18, 2004.
"""

from __future__ import annotations

from weir_placement.options import NoOptions
from weir_placement.search.encode import Encoding
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import SearchResult, strategy


def search(encoding: Encoding, options: NoOptions, deadline: float) -> SearchResult:
    """Workload is the number of operators, as in the paper; of equals the first node. An operator that may
    run on some nodes only is counted there. O(operators x nodes)."""
    nodes, children = encoding.configuration()
    operators = [0] * len(encoding.problem.cluster)
    for i, item in enumerate(encoding.items):
        if item.op is not None and item.candidates:
            nodes[i] = min(item.candidates, key=operators.__getitem__)
            operators[nodes[i]] += 1
    encoding.put((nodes, children))
    return SearchResult(encoding.run(code.EVALUATE))


ROUND_ROBIN = strategy("round-robin", "D-CAPE, algorithm 2", "none: a comparator", search, NoOptions)
