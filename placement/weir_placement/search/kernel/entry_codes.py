"""The commands of `entry.run`, the names of their parameters, and the words of `out` that searches leave.

Command: its integer parameters, its real ones, in the order in which `run` hands them on.
"""

(
    EVALUATE,
    SCATTER,
    ANNEAL,
    CLIMB,
    TABU,
    REACTIVE,
    EXHAUST,
    PLACE,
    POLISH,
    BOUND,
    SETTLE,
    PACK,
    CONSOLIDATE,
) = range(13)

PARAMETERS: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {
    EVALUATE: ((), ()),
    SCATTER: ((), ()),
    ANNEAL: (("temperatures", "iterations"), ("alpha", "hot", "cold", "goal")),
    CLIMB: (("iterations", "moves"), ()),
    TABU: (("iterations", "list_size", "moves"), ("goal",)),
    REACTIVE: (("iterations", "cycle", "moves"), ("list_size", "increase", "decrease", "goal")),
    EXHAUST: (("steps", "cheapest"), ("best",)),
    PLACE: (("steps", "cheapest"), ("best",)),
    POLISH: (("rounds",), ()),
    BOUND: (("check",), ("x",)),
    SETTLE: (("iterations",), ("goal",)),
    PACK: (("packings",), ()),
    CONSOLIDATE: (("rounds",), ()),
}
INTEGERS, REALS = 3, 4
"""Parameters of each type, at most."""

PHYSICAL, LOGICAL, BOTH = 1, 2, 3
"""Which moves a search makes: bits."""
ANY, NOT_TABU, NOT_RECENT = range(3)
"""Which neighbours are admissible: all; those whose move is not tabu, or that beat the best; those
that were not visited of late."""
PLAIN, PACKED, PREPARE = range(3)
"""What `BOUND` does: compares the least load of families of nodes with their capacity; packs the largest
operators as well; writes down what both start from."""

EVALUATIONS = 0
"""Configurations evaluated so far."""
MOVE = 1
"""Kind, item, and what a chosen move is made of: words 1 to 4."""
GAVE_UP = 5
"""1: the budget of steps, the time limit or a table was too small for a proof."""
STEPS = 6
"""Placement steps so far."""
LOGICAL_PLANS = 7
"""Logical plans visited."""
LISTED = 8
"""Streams in the list of `ties`."""
STEPS_TAKEN = 9
"""How often `clock.over` was asked."""
LATE = 10
"""1: the time limit has passed."""
SUMS = 11
"""How often a node's loads were summed."""
