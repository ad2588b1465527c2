"""Canonical signatures: streams are equal when the same operators were applied to the same inputs.

The order of joins and filters does not matter, nor do the names of aliases and operators.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from weir_placement.model.operators import Operator, Window

if TYPE_CHECKING:
    from weir_placement.network.join_block import JoinBlock


_ALIAS = re.compile(r"""'[^']*'|"[^"]*"|\b(\w+)\.""")  # not what stands in a string


def _digest(parts: Iterable[str]) -> str:
    return blake2b("\x1f".join(parts).encode(), digest_size=12).hexdigest()


def _renamed(text: str, labels: Mapping[str, str]) -> str:
    return _ALIAS.sub(lambda m: labels.get(m[1], m[1]) + "." if m[1] else m[0], text)


def _aliases_in(op: Operator) -> list[str]:
    texts = [*op.columns, op.time, *(i.expression for i in op.items)]
    found = dict.fromkeys(t.split(".")[0] for t in texts if "." in t)
    found.update(dict.fromkeys(side for w in op.windows for side in (w.left, w.right)))
    return list(found)


def operator_signature(op: Operator, inputs: Sequence[str], aliases: Sequence[str]) -> str:
    """Of one operator over streams with the given signatures; aliases become positions."""
    labels = {a: f"${i}" for i, a in enumerate(x for x in _aliases_in(op) if x in aliases)}
    items = sorted(f"{_renamed(i.name, labels)}={_renamed(i.expression, labels)}" for i in op.items)
    functions = sorted(
        f"{a.name}={a.function}({_renamed(a.expression or '*', labels)})" for a in op.aggregations
    )
    body = [_renamed(op.predicate, labels), _renamed(op.on, labels), _renamed(op.time, labels)]
    windows = sorted(_window(w, labels) for w in op.windows)
    return _digest([op.kind, *inputs, *body, *items, *functions, *windows, str(op.window), str(op.slide)])


class BlockSigner:
    """Signs the sets of a join block: what was joined, on what, within which windows, what is kept.

    Columns are written by the signature of their input, so aliases do not matter; inputs of equal
    signature (self-joins) are told apart by their order in the block.
    """

    def __init__(self, block: JoinBlock, leaves: Sequence[str]) -> None:
        seen: dict[str, int] = {}
        names: list[str] = []
        for leaf in leaves:
            seen[leaf] = seen.get(leaf, -1) + 1
            names.append(f"{leaf}#{seen[leaf]}")
        self.labels = {a: names[i] for i in range(len(names)) for a in block.beneath[i]}
        self.facts = [(1 << i, name) for i, name in enumerate(names)]
        self.facts += [(e.mask, _renamed(e.text, self.labels)) for e in block.edges if not e.equality]
        self.facts += [(1 << i | 1 << j, _window(w, self.labels)) for i, j, w in block.windows]
        self.facts += [
            (reads, _renamed(op.predicate, self.labels))
            for reads, op in block.filters
            if reads.bit_count() > 1
        ]
        self.facts.sort(key=lambda fact: fact[1])
        self.classes = [
            [(mask, _renamed(column, self.labels)) for column, mask in members.items()]
            for members in block.class_members
        ]

    def sign(self, mask: int, kept: Iterable[str] | None) -> str:
        """The signature of a set; `kept` are its columns, None when all of its inputs' are."""
        parts = ["join", *(fact for needs, fact in self.facts if not needs & ~mask)]
        equal = [sorted(c for side, c in members if side & mask) for members in self.classes]
        parts += sorted("=".join(e) for e in equal if len(e) > 1)
        parts += ["*"] if kept is None else sorted(_renamed(c, self.labels) for c in kept)
        return _digest(parts)


def _window(window: Window, labels: Mapping[str, str]) -> str:
    left, right = labels.get(window.left, window.left), labels.get(window.right, window.right)
    if left > right:
        return f"{right}-{left}:{-window.upper}:{-window.lower}"
    return f"{left}-{right}:{window.lower}:{window.upper}"
