"""Tiers of distribution managers: each sees the nodes of its own tier (D-CAPE, section 4.2, figure 9)."""

from __future__ import annotations

from collections.abc import Iterable

from weir_placement.model.cluster import Node


def tier_nodes(nodes: Iterable[Node], label: str) -> dict[str, frozenset[str]]:
    """The nodes of each tier, by the value of a label: `RunningState.within` is what its manager sees.

    Raises:
        ValueError: a node without the label.

    >>> near = [Node("a", 1, labels={"site": "x"}), Node("b", 1, labels={"site": "y"})]
    >>> tier_nodes(near, "site")
    {'x': frozenset({'a'}), 'y': frozenset({'b'})}
    """
    groups: dict[str, set[str]] = {}
    for node in nodes:
        if label not in node.labels:
            raise ValueError(
                f"node {node.name} has no label {label}, by which nodes are in tiers; give it one"
            )
        groups.setdefault(node.labels[label], set()).add(node.name)
    return {name: frozenset(members) for name, members in sorted(groups.items())}
