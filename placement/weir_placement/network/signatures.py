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


def _digest(parts: Iterable[str]) -> str:
    return blake2b("\x1f".join(parts).encode(), digest_size=12).hexdigest()


def _renamed(text: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"\b(\w+)\.", lambda m: labels.get(m[1], m[1]) + ".", text)


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


def block_signature(block: JoinBlock, mask: int, leaves: Sequence[str], columns: Iterable[str]) -> str:
    """Of a set of a block's inputs, joined and filtered, with `columns` kept."""
    members = sorted((i for i in range(len(block.inputs)) if mask >> i & 1), key=lambda i: (leaves[i], i))
    labels = {a: f"${k}" for k, i in enumerate(members) for a in block.beneath[i]}
    equal = sorted(
        "=".join(sorted({_renamed(c, labels) for e in edges if not e.mask & ~mask for c in e.columns}))
        for edges in block.classes
    )
    others = sorted(_renamed(e.text, labels) for e in block.edges if not e.equality and not e.mask & ~mask)
    windows = sorted(_window(w, labels) for i, j, w in block.windows if mask >> i & 1 and mask >> j & 1)
    filters = sorted(
        _renamed(op.predicate, labels)
        for reads, op in block.filters
        if not reads & ~mask and reads.bit_count() > 1
    )
    kept = sorted(_renamed(c, labels) for c in columns)
    return _digest(
        ["join", *(leaves[i] for i in members), *(e for e in equal if e), *others, *windows, *filters, *kept]
    )


def _window(window: Window, labels: Mapping[str, str]) -> str:
    left, right = labels.get(window.left, window.left), labels.get(window.right, window.right)
    if left > right:
        return f"{right}-{left}:{-window.upper}:{-window.lower}"
    return f"{left}-{right}:{window.lower}:{window.upper}"
