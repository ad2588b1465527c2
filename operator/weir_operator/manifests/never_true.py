"""Conditions and calculations that give nothing whatever the rows are: told as a warning.

Only what the constants alone make certain: comparisons with NULL, of two numbers, limits of one column that
exclude each other, divisions by zero, and texts of no letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING, cast

from weir_placement.model.expression_parser import ExpressionError, parse_tree, place_of
from weir_placement.model.expressions import split_and

from weir_operator.api.query import StreamQuery
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.queries import key_of

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node

_SIGNS = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_TURNED = {"LT": "GT", "LTE": "GTE", "GT": "LT", "GTE": "LTE"}
_LENGTHS = {"Left": "expression", "Right": "expression", "Substring": "length"}
"""Where functions have the number of letters that they take."""
_NEVER = "so no row ever passes"


def never_true(objects: Objects) -> list[Finding]:
    """A finding for each such part of a query that can be read. Complexity: linear in the text."""
    findings = []
    for query in objects.queries.values():
        for path, text, conditions, parts in _texts(query):
            wrong = [*_conditions(conditions), *(each for part in parts for each in _calculations(part))]
            findings += [_finding(key_of(query), path, text, node, message) for node, message in wrong]
    return [objects.place(finding) for finding in findings]


def _texts(query: StreamQuery) -> Iterator[tuple[str, str, list[Node], list[Node]]]:
    """(path, text, conditions that a row must all meet, expressions)."""
    from weir_placement.rewrite.statement import Statement

    try:
        for select in Statement(query.spec.sql).selects if query.spec.sql else ():
            conditions = [*select.conditions, *select.having]
            items = [item.node for item in select.items]
            yield "spec.sql", query.spec.sql or "", conditions, [*items, *select.keys, *conditions]
        for i, spec in enumerate(query.spec.operators or ()):
            if spec.predicate:
                parts = split_and(parse_tree(spec.predicate))
                yield f"spec.operators[{i}].predicate", spec.predicate, parts, parts
    except ExpressionError:
        return  # an error of its own


def _finding(key: Key, path: str, text: str, node: Node, message: str) -> Finding:
    return Finding.of_expression(key, path, ExpressionError(message, text, place_of(node)))


def _conditions(parts: Iterable[Node]) -> Iterator[tuple[Node, str]]:
    """(node, what is wrong) of conditions that no row meets, alone or together."""
    limits: dict[str, tuple[float, bool, float, bool, str]] = {}  # column: low, open, high, open, as written
    texts: dict[str, tuple[str, str]] = {}  # column: what it is to be, as written
    for part in parts:
        wrong = _alone(part)
        if wrong is not None:
            yield part, f"{_sql(part)} is never true, {_NEVER}{wrong}"
            continue
        for column, text in _equal_texts(part):
            other, before = texts.setdefault(column, (text, _sql(part)))
            if other != text:
                yield part, f"{before} AND {_sql(part)} is never true, {_NEVER}"
        for column, sign, value in _limits(part):
            low, low_open, high, high_open, before = limits.get(column, (-inf, False, inf, False, ""))
            if sign in ("GT", "GTE", "EQ"):
                low, low_open = max((low, low_open), (value, sign == "GT"))
            if sign in ("LT", "LTE", "EQ"):
                high, is_closed = min((high, not high_open), (value, sign != "LT"))
                high_open = not is_closed
            written = f"{before} AND {_sql(part)}" if before else _sql(part)
            if low > high or (low == high and (low_open or high_open)):
                yield part, f"{written} is never true, {_NEVER}"
                break
            limits[column] = (low, low_open, high, high_open, written)


def _alone(part: Node) -> str | None:
    """What to write for a condition that is never true ("": nothing); None for any other."""
    name = type(part).__name__
    if name == "Boolean":
        return None if part.this else ""
    if name == "Between":
        low, high = _number(part.args["low"]), _number(part.args["high"])
        if low is None or high is None or low <= high:
            return None
        return f"; write {_sql(part.this)} BETWEEN {_sql(part.args['high'])} AND {_sql(part.args['low'])}"
    if name in ("Not", "In"):
        tested = part.this if name == "Not" else part
        kinds = [type(each).__name__ for each in tested.args.get("expressions") or ()]
        certain = any if name == "Not" else all  # one NULL hides what is not in a list
        if type(tested).__name__ == "In" and kinds and certain(kind == "Null" for kind in kinds):
            return "; leave out NULL" if name == "Not" else f"; write {_sql(tested.this)} IS NULL"
        return None
    if name not in _SIGNS:
        return None
    left, right = part.this, part.expression
    for side, other in ((left, right), (right, left)):
        if type(side).__name__ == "Null":
            words = {"EQ": "IS NULL", "NEQ": "IS NOT NULL"}.get(name)
            return f"; write {_sql(other)} {words}" if words else ""
    if _text(left) is not None and _text(right) is not None:
        hint = f"; a column is written without quotes, or in backticks: `{_text(left)}`"
        return hint if (_text(left) == _text(right)) is not (name == "EQ") and name in ("EQ", "NEQ") else None
    a, b = _number(left), _number(right)
    if a is None or b is None:
        return None
    holds = {"EQ": a == b, "NEQ": a != b, "LT": a < b, "LTE": a <= b, "GT": a > b, "GTE": a >= b}
    return None if holds[name] else ""


def _limits(part: Node) -> Iterator[tuple[str, str, float]]:
    """(column, comparison, number) of each limit that a condition sets to a column."""
    name = type(part).__name__
    if name == "Between":
        sides = [("GTE", part.this, part.args["low"]), ("LTE", part.this, part.args["high"])]
    elif name in _TURNED or name == "EQ":
        sides = [(name, part.this, part.expression), (_TURNED.get(name, name), part.expression, part.this)]
    else:
        return
    for sign, column, limit in sides:
        value = _number(limit)
        if type(column).__name__ == "Column" and value is not None:
            yield _sql(column).lower(), sign, value


def _equal_texts(part: Node) -> Iterator[tuple[str, str]]:
    """(column, text) of a condition that a column is a text."""
    if type(part).__name__ == "EQ":
        for column, other in ((part.this, part.expression), (part.expression, part.this)):
            text = _text(other)
            if type(column).__name__ == "Column" and text is not None:
                yield _sql(column).lower(), text


def _calculations(part: Node) -> Iterator[tuple[Node, str]]:
    for each in part.walk():
        node = cast("Node", each)
        if type(node).__name__ in ("Div", "Mod", "IntDiv") and _number(node.expression) == 0:
            yield node, f"{_sql(node)} divides by zero, so it is always NULL"
        if type(node).__name__ == "Coalesce" and not node.expressions:
            this = _sql(node.this)
            yield node, f"one argument, so this is {this} itself; add what it is to be where that is NULL"
        length = node.args.get(_LENGTHS.get(type(node).__name__, ""))
        letters = _number(length) if length is not None else None
        if letters is not None and letters <= 0:
            yield node, f"a length of {letters:g} takes no letter, so this is always empty"


def _number(node: Node) -> float | None:
    name = type(node).__name__
    if name in ("Paren", "Neg"):
        inner = _number(node.this)
        return inner if inner is None or name == "Paren" else -inner
    return float(node.name) if name == "Literal" and not node.args.get("is_string") else None


def _text(node: Node) -> str | None:
    return node.name if type(node).__name__ == "Literal" and node.args.get("is_string") else None


def _sql(node: Node) -> str:
    return node.sql("spark")
