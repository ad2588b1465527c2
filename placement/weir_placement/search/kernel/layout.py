"""Memory layout of a search: named fields in one int64 and one float64 array.

The compiled code gets a pointer to the first. The integer array begins with the dimensions and the
offsets of every field. Item i is a source alias, an operator or a sink; scenario s is one piece of
one point of the profile. Fields marked * change during a search.
"""

from __future__ import annotations

from functools import cache
from math import prod

SOURCE, FILTER, PROJECT, JOIN, AGGREGATE, UNION, SINK = range(7)
SOURCE_NODE, JOIN_REGION, AGGREGATE_NODE, SUM_NODE, SAME_NODE, BLOCK_REGION = range(6)
"""Nodes of the upper bound's program; SAME_NODE gives what another node gives, BLOCK_REGION is a region whose
joins have their conditions from `kernel.blocks`."""

FLOAT_BASE, HEAD = 0, 1
"""Word 0 of the integer array is the address of the float array; dimensions and offsets follow."""

DIMENSIONS = (
    "items",
    "nodes",
    "scenarios",
    "degree",
    "uses",
    "queries",
    "words",
    "points",
    "flags",
    "slots",
    "choices",
    "groups",
    "tabu_size",
    "visited_size",
    "path_size",
    "families",
    "set_limit",
    "blocks",
    "block_aliases",
    "block_pairs",
    "factors",
    "queued",
    "classes",
)
NETWORK, OVERHEAD, LATENCY = 1, 2, 4
"""Bits of `flags`: some egress, ingress or link is limited; exchanges or fragments cost something;
some latency is limited."""

INTS: tuple[tuple[str, str], ...] = (
    ("kind", "items"),
    ("first", "items+1"),  # slots of item i: first[i] .. first[i + 1]
    ("child", "slots"),  # * the item that a slot reads
    ("readers", "items"),  # how many slots read item i: a search never changes it
    ("reader", "items*uses"),  # * those items
    ("node", "items"),  # * -1: a result that is delivered nowhere
    ("choice_first", "items"),  # candidates of item i: choice[choice_first[i] .. choice_last[i] - 1]
    ("choice_last", "items"),
    ("choice", "choices"),  # candidate nodes; items with equal ones share them
    ("head", "nodes"),  # * lists of the items on each node
    ("following", "items"),  # *
    ("previous", "items"),  # *
    ("group_first", "groups+1"),
    ("group_item", "items"),  # items of one stream: sources of the same name
    ("group", "items"),
    ("free", "items"),  # 1: may change places with a neighbour
    ("set", "items"),  # * bit mask of the aliases below
    ("own", "items"),  # aliases that a predicate names
    ("joins", "items"),  # * bit mask of the joins below, itself included
    ("above", "items"),  # joins that a filter was written above
    ("beneath", "items"),  # aliases that a filter was written above
    ("block", "items"),  # of a join that has its conditions from `kernel.blocks`; -1: they are its own
    ("block_bit", "blocks"),  # the first alias of a block in `set`: its aliases are one after the other
    ("block_alias", "blocks"),  # where they begin in `near` and `equal`
    ("block_pair", "blocks"),  # where its pairs begin in `half` and `reach`
    ("block_size", "blocks"),  # aliases
    ("block_factor", "blocks"),  # where its sets begin in `factor`
    ("near", "block_aliases"),  # aliases of the block that a window ties to an alias
    ("equal", "block_aliases"),  # and an equality
    ("columns", "items*words"),  # that a filter reads, a projection keeps
    ("query", "items"),
    ("sharing", "items"),  # number of the sharing class of an operator's query; -1: its processes are hosts
    ("counted", "classes"),  # the last sum of a node that has charged a class's host
    ("opened", "classes*nodes"),  # * operators of each class on each node
    ("alike", "nodes"),  # equal numbers: nodes that can be exchanged in whatever a plan is judged by
    ("sink", "queries"),
    ("force", "items"),  # node in force, -2: new
    ("capped", "scenarios*items"),  # aggregates at their limit in this scenario
    ("point", "scenarios"),
    ("low", "items"),  # * range of powers of x in a rate
    ("high", "items"),  # *
    ("stamp", "nodes"),
    ("touched", "nodes+1"),
    ("stack", "items*4+8"),
    ("best_node", "items"),
    ("best_child", "slots"),
    ("kept_node", "items"),
    ("kept_child", "slots"),
    ("random", "2"),
    ("tabu", "tabu_size"),
    ("visited", "visited_size"),
    ("path", "path_size"),  # moves from the written plan to the present one
    ("order", "items"),  # of placement in an exact search
    ("tried", "items"),
    ("twin", "nodes"),  # equal numbers: nodes that can be exchanged
    ("out", "32"),
    ("clock", "3"),  # seconds and nanoseconds of the last look, and the time limit [ns] (`kernel.clock`)
    ("regions", "items*32+64"),  # the program of `kernel.bound`
    ("pack_node", "items"),
    ("set_list", "set_limit"),  # connected sets of streams
    ("set_aliases", "512"),  # aliases of each set of a region's leaves
)
FLOATS: tuple[tuple[str, str], ...] = (
    ("cost", "items"),
    ("cost_pair", "items"),
    ("cost_out", "items"),
    ("selectivity", "points*items"),  # * at each point of the profile; of a join with 2 w in it
    ("pairs", "items"),  # * 2 w of a join
    ("retention", "items"),  # * seconds that a join keeps rows
    ("row_overhead", "items"),
    ("delay", "items"),  # of a join: seconds that it keeps rows longer
    ("half", "block_pairs"),  # half of the narrowest window between two aliases of a block [s]
    ("reach", "block_pairs"),  # the furthest apart that rows of two aliases join [s]
    ("factor", "points*factors"),  # the rate of each set of a block over the product of its sources' rates
    ("memory", "items"),  # what does not depend on rates
    ("group_memory", "items"),  # of an aggregate, for each row/s that leaves it
    ("processes", "items"),  # of a fragment that the item ends
    ("limit", "items"),  # an aggregate's largest output
    ("source_rate", "scenarios*items"),
    ("fixed_width", "items"),  # of sources, projections and aggregates; -1: that of the inputs
    ("width", "items"),  # *
    ("rate", "scenarios*items*degree"),  # *
    ("cpu", "nodes"),
    ("memory_of", "nodes"),
    ("egress", "nodes"),
    ("ingress", "nodes"),
    ("core", "nodes"),
    ("latency", "nodes*nodes"),
    ("bandwidth", "nodes*nodes"),
    ("until", "scenarios"),
    ("max_latency", "queries"),
    ("overheads", "8"),  # as of `fields.fill_costs`
    ("root", "nodes"),  # * the largest x that a node's constraints allow
    ("old_root", "nodes+1"),
    ("scratch", "degree*8+nodes*degree"),
    ("arrival", "items"),
    ("load_at", "queued*3"),  # cpu, egress and ingress of the nodes at one x (`kernel.latency`)
    ("link_at", "queued*queued"),  # and loads of the links
    ("region_number", "points*items*8"),  # of the program of `kernel.bound`, at each point
    ("region_rate", "items*2"),
    ("region_raw", "items*2"),
    ("region_shrink", "items*2"),
    ("set_rate", "set_limit"),
    ("set_work", "8192"),
    ("family_outside", "families*items"),  # the largest capacity that an item may have outside of the family
    ("family_capacity", "families"),
    ("largest", "items"),  # the largest capacity that an item may have
    ("pack_size", "items"),
    ("pack_rest", "items+1"),
    ("need", "items*2*points"),
    ("left", "nodes*2*points"),
    ("rest", "items*2*points+2*points"),
    ("flow", "items*points"),  # * rates at one x
    ("full", "nodes*2"),  # * from word `nodes` on: fullness of the fullest resource at one x (`kernel.crowd`)
    ("crowd", "nodes*2"),  # * its power
    ("enough", "1"),  # a headroom beyond which more counts for nothing; from 1e300 on: there is none
    ("target", "nodes"),  # network usage with a part of a query on each node (`kernel.consolidate`)
    ("key", "16"),  # * of `kernel.ties`: the present one, then that to beat of `kernel.cheapest`
)


def size(expression: str, dims: dict[str, int]) -> int:
    """The length of a field: sums of products of dimensions and numbers."""
    return sum(number * prod(dims[name] for name in names) for number, names in _terms(expression))


@cache
def _terms(expression: str) -> list[tuple[int, list[str]]]:
    products = [term.split("*") for term in expression.split("+")]
    return [(prod(int(f) for f in p if f.isdigit()), [f for f in p if not f.isdigit()]) for p in products]
