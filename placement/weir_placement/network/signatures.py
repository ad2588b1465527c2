"""Canonical signatures: streams are equal when the same operators were applied to the same inputs.

The order of joins and filters does not matter, nor do the names of aliases and operators. What is
signed is worked out once for all queries of one shape (`Signer`); names of streams come in last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from weir_placement.model.operator_form import semantics
from weir_placement.model.operators import Operator, Window

if TYPE_CHECKING:
    from weir_placement.network.join_block import JoinBlock

ALIAS = re.compile(r"""'[^']*'|"[^"]*"|(?<![\w.])(\w+)\.""")  # not what stands in a string

Signer = Callable[[Sequence[str], Sequence[str]], Iterable[str]]
"""(signatures of the streams before it, stream names by position of their alias) -> the next ones."""


def sign(signers: Iterable[Signer], names: Sequence[str]) -> tuple[str, ...]:
    """The signatures of all streams of a query whose sources are `names`."""
    signatures: list[str] = []
    for signer in signers:
        signatures += signer(signatures, names)
    return tuple(signatures)


def source_signer(position: int) -> Signer:
    """A source is known by its stream's name."""
    return lambda _, names: (names[position],)


def operator_signer(op: Operator, inputs: Sequence[int], aliases: Sequence[str]) -> Signer:
    """Of what one operator makes of streams; aliases are written by the order of their appearance."""
    labels = {a: f"${i}" for i, a in enumerate(x for x in op.aliases if x in aliases)}
    fields = semantics(op)
    for name in ("id", "kind", "inputs", "columns"):
        del fields[name]
    parts = [renamed(fields.pop(name), labels) for name in ("predicate", "on", "time")]
    parts += sorted(
        f"{renamed(i['name'], labels)}={renamed(i['expression'], labels)}" for i in fields.pop("items")
    )
    parts += sorted(
        f"{a['name']}={a['function']}({renamed(a['expression'] or '*', labels)})"
        for a in fields.pop("aggregations")
    )
    parts += sorted(_window(Window(**w), labels) for w in fields.pop("windows"))
    parts += [str(fields.pop("window")), str(fields.pop("slide"))]
    parts += [f"{name}={renamed(str(value), labels)}" for name, value in fields.items()]
    return lambda signatures, _: (_digest([op.kind, *(signatures[i] for i in inputs), *parts]),)


def renamed(text: str, labels: Mapping[str, str]) -> str:
    """A text with the aliases before its columns' names replaced."""
    return ALIAS.sub(lambda m: labels.get(m[1], m[1]) + "." if m[1] else m[0], text)


def _digest(parts: Iterable[str]) -> str:
    return blake2b("\x1f".join(parts).encode(), digest_size=12).hexdigest()


def _window(window: Window, labels: Mapping[str, str]) -> str:
    left, right = labels.get(window.left, window.left), labels.get(window.right, window.right)
    return _bounded(left, right, window.lower, window.upper)


def _bounded(left: str, right: str, lower: int, upper: int) -> str:
    return f"{right}-{left}:{-upper}:{-lower}" if left > right else f"{left}-{right}:{lower}:{upper}"


Piece = tuple[int | str, ...]
"""A text cut at its aliases: positions of aliases among what stands between them."""


class BlockSigner:
    """Signs the sets of a join block: what was joined, on what, within which windows, what is kept.

    Columns are written by the signature of their input, so aliases do not matter; inputs of equal
    signature (self-joins) are told apart by their order in the block.
    """

    def __init__(self, block: JoinBlock, leaves: Sequence[int], aliases: Sequence[str]) -> None:
        self._position = {a: i for i, a in enumerate(aliases)}
        self._leaves = tuple(leaves)
        self._beneath = [tuple(self._position[a] for a in beneath) for beneath in block.beneath]
        self._texts = [(e.mask, self._pieces(e.text)) for e in block.edges if not e.equality]
        self._texts += [
            (reads, self._pieces(op.predicate)) for reads, op in block.filters if reads.bit_count() > 1
        ]
        self._windows = [
            (1 << i | 1 << j, self._position[w.left], self._position[w.right], w.lower, w.upper)
            for i, j, w in block.windows
        ]
        self._classes = [
            [(mask, self._pieces(column)) for column, mask in members.items()]
            for members in block.class_members
        ]
        self._sets: list[tuple[int, tuple[Piece, ...] | None]] = []

    def add(self, mask: int, columns: Iterable[str] | None) -> None:
        """The next set to sign; `columns` are its columns, None when all of its inputs' are."""
        self._sets.append((mask, None if columns is None else tuple(self._pieces(c) for c in columns)))

    def _pieces(self, text: str) -> Piece:
        pieces: list[int | str] = []
        end = 0
        for match in ALIAS.finditer(text):
            if match[1] in self._position:
                pieces += [text[end : match.start(1)], self._position[match[1]]]
                end = match.end(1)
        return (*pieces, text[end:])

    @cached_property
    def _inside(self) -> list[tuple[list[int], list[list[int]], tuple[Piece, ...] | None]]:
        """For each set: its facts, its members of each class where two or more meet, what it keeps."""
        masks = [1 << i for i in range(len(self._leaves))]
        masks += [mask for mask, _ in self._texts] + [mask for mask, *_ in self._windows]
        result = []
        for mask, columns in self._sets:
            facts = [n for n, needs in enumerate(masks) if not needs & ~mask]
            classes = [[n for n, (side, _) in enumerate(c) if side & mask] for c in self._classes]
            result.append((facts, classes, columns))
        return result

    def __call__(self, signatures: Sequence[str], names: Sequence[str]) -> list[str]:
        """The signatures of the sets, in the order in which they were added."""
        occurrences: dict[str, int] = {}
        inputs = []
        labels = [""] * len(names)
        for leaf, beneath in zip(self._leaves, self._beneath, strict=True):
            at = signatures[leaf]
            occurrences[at] = occurrences.get(at, -1) + 1
            inputs.append(f"{at}#{occurrences[at]}")
            for n, alias in enumerate(beneath):
                labels[alias] = inputs[-1] if len(beneath) == 1 else f"{inputs[-1]}/{names[alias]}#{n}"

        def written(pieces: Piece) -> str:
            return "".join([p if isinstance(p, str) else labels[p] for p in pieces])

        facts = inputs + [written(pieces) for _, pieces in self._texts]
        facts += [_bounded(labels[i], labels[j], lower, upper) for _, i, j, lower, upper in self._windows]
        columns = [[written(pieces) for _, pieces in members] for members in self._classes]
        digests = []
        for inside, classes, columns_kept in self._inside:
            parts = sorted([facts[n] for n in inside])
            equal = [
                sorted([column[n] for n in group]) for column, group in zip(columns, classes, strict=True)
            ]
            parts += sorted(["=".join(e) for e in equal if len(e) > 1])
            parts += ["*"] if columns_kept is None else sorted(map(written, columns_kept))
            digests.append(_digest(["join", *parts]))
        return digests
