"""Expressions over columns: parsed (`expression_parser`), checked, and written again from the tree.

No text of a user reaches Spark: what comes out here is generated, node by node, from an allow-list
(`functions.py`); anything else is refused with its place. The written form (`text`) has qualified
columns (`d.carrier > 'A'`); the Spark form has each column as one quoted identifier
(`` `d.carrier` > 'A' ``), because the runtime's frames have columns literally so named.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn

from weir_placement.model import types
from weir_placement.model.expression_parser import ExpressionError, parse_tree, place_of
from weir_placement.model.expression_writer import Writer
from weir_placement.model.mixed_types import as_number
from weir_placement.model.operators import Aggregation, Item
from weir_placement.model.streams import Stream

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node


@dataclass(frozen=True)
class Expression:
    """A checked expression: canonical `text`, the qualified `columns` it reads (sorted), its `type`
    (a normalised Spark type, `NULL`, or "" when the columns' types were not given)."""

    text: str
    columns: tuple[str, ...]
    type: str

    @property
    def spark(self) -> str:
        """The same as Spark SQL over columns with qualified names."""
        return spark_text(self.text)


def source_types(streams: Mapping[str, Stream]) -> dict[str, str]:
    """`alias.column` -> type of every column of sources, by alias."""
    return {f"{alias}.{c.name}": c.type for alias, stream in streams.items() for c in stream.columns}


def parse_expression(text: str, column_types: Mapping[str, str]) -> Expression:
    """Parse `text`, resolve its columns among `column_types` (qualified name -> type), check it.

    A column may be written without its alias when only one source has it.

    Raises:
        ExpressionError: not an expression, an unknown or ambiguous column, something outside the
            allow-list, or operands whose types do not go together.
    """
    return write(parse_tree(text), text, column_types)


def parse_predicate(text: str, column_types: Mapping[str, str]) -> Expression:
    """As `parse_expression`, for a condition.

    Raises:
        ExpressionError: also when it is not a truth value.
    """
    parsed = parse_expression(text, column_types)
    if parsed.type not in ("", "BOOLEAN", "NULL"):
        raise ExpressionError(
            f"a condition is needed, but {parsed.text} is {types.with_article(parsed.type)}", text, 0
        )
    return parsed


@lru_cache(maxsize=4096)
def conjuncts(text: str) -> tuple[Expression, ...]:
    """A canonical condition split at AND (column types are not known here); none of ""."""
    if not text:
        return ()
    return tuple(write(node, text, None) for node in split_and(parse_tree(text)))


def conjunction(texts: Iterable[str]) -> str:
    """The canonical AND of canonical conditions; "" when there are none."""
    parts = [f"({t})" if _is_or(t) else t for t in texts if t]
    return " AND ".join(parts)


@lru_cache(maxsize=4096)
def _is_or(text: str) -> bool:
    return type(parse_tree(text)).__name__ == "Or"


@lru_cache(maxsize=4096)
def columns_of(text: str) -> tuple[str, ...]:
    """The columns that a canonical expression reads, sorted."""
    return write(parse_tree(text), text, None).columns if text else ()


def equality_sides(
    text: str, kinds: Container[str] = ("EQ",)
) -> tuple[frozenset[str], frozenset[str]] | None:
    """The columns that each side of a canonical equality reads; None when the condition is anything else.
    With "NullSafeEQ" among `kinds`, `<=>` is an equality too.

    >>> equality_sides("a.x = floor(b.y)")
    (frozenset({'a.x'}), frozenset({'b.y'}))
    """
    node = parse_tree(text)
    if type(node).__name__ not in kinds:
        return None
    left, right = (frozenset(write(side, text, None).columns) for side in (node.this, node.expression))
    return left, right


@lru_cache(maxsize=4096)
def spark_text(text: str) -> str:
    """A canonical expression as Spark SQL; checked against the allow-list again.

    Raises:
        ExpressionError: outside the allow-list.
    """
    writer = Writer(lambda name: f"`{name.replace('`', '``')}`", None, _refuse_in(text), text)
    return writer.write(parse_tree(text)).text


@lru_cache(maxsize=4096)
def _typed(text: str, column_types: tuple[tuple[str, str], ...]) -> str:
    return write(parse_tree(text), text, dict(column_types), checks_constants=False).type


def type_of(text: str, column_types: Mapping[str, str]) -> str:
    """The type of a canonical expression over columns of these types.

    Raises:
        ExpressionError: operands whose types do not go together.
    """
    columns = columns_of(text)
    return _typed(text, tuple((c, column_types[c]) for c in columns if c in column_types))


def item_type(item: Item, column_types: Mapping[str, str]) -> str:
    """The type of a projection's item; an item that is only NULL has no type and is refused.

    Raises:
        ExpressionError: see `type_of`.
    """
    kind = type_of(item.expression, column_types)
    if kind == "NULL":
        raise ExpressionError(f"{item.name}: NULL has no type; write CAST(NULL AS ...)", item.expression, 0)
    return kind


def aggregation_type(aggregation: Aggregation, column_types: Mapping[str, str]) -> str:
    """The type of an aggregate, as Spark computes it.

    Raises:
        ExpressionError: a sum or average of what is not a number.
    """
    if aggregation.function == "count":
        return "BIGINT"
    text = aggregation.expression or ""
    kind = type_of(text, column_types)
    if aggregation.function in ("min", "max"):
        return kind
    if types.family(kind) != "number":
        right = as_number((text, kind))
        wrong = f"{aggregation.function} needs a number, but {text} is {types.with_article(kind)}"
        raise ExpressionError(f"{wrong}; write {right}" if right else wrong, text, 0)
    if kind.startswith("DECIMAL"):
        precision, scale = types.decimal_digits(kind)
        if aggregation.function == "sum":
            return f"DECIMAL({min(precision + 10, 38)},{scale})"
        return f"DECIMAL({min(precision + 4, 38)},{min(scale + 4, 38)})"
    return "BIGINT" if aggregation.function == "sum" and kind in types.INTEGERS else "DOUBLE"


def write(
    node: Node, text: str, column_types: Mapping[str, str] | None, checks_constants: bool = True
) -> Expression:
    """The checked expression of a tree; `text` is where its places point to. Constants are checked where
    the columns' types are known: what was written down before may have any."""
    columns: set[str] = set()

    def column(name: str) -> str:
        columns.add(name)
        return canonical_name(name)

    checks_constants = checks_constants and column_types is not None
    written = Writer(column, column_types, _refuse_in(text), text, checks_constants).write(node)
    return Expression(written.text, tuple(sorted(columns)), written.type)


def canonical_name(name: str) -> str:
    """A qualified name as it is written in an expression: parts that SQL reserves are quoted."""
    return ".".join(f"`{part}`" if part.upper() in _reserved() else part for part in name.split("."))


@lru_cache(maxsize=1)
def _reserved() -> frozenset[str]:
    from sqlglot import Dialect

    tokenizer = Dialect.get_or_raise("spark").tokenizer_class
    return frozenset(word for key in tokenizer.KEYWORDS for word in key.upper().split())


def split_and(node: Node) -> list[Node]:
    """The operands of nested ANDs, left to right, without parentheses around them."""
    pending, parts = [node], []
    while pending:
        item = pending.pop()
        name = type(item).__name__
        if name == "Paren":
            pending.append(item.this)
        elif name == "And":
            pending += [item.expression, item.this]
        else:
            parts.append(item)
    return parts


def _refuse_in(text: str) -> Callable[[Node, str], NoReturn]:
    def refuse(node: Node, message: str) -> NoReturn:
        raise ExpressionError(message, text, place_of(node))

    return refuse
