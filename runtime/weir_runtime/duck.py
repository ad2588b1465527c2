"""Canonical expressions in DuckDB's dialect, with what they mean in Spark."""

from __future__ import annotations

import sqlglot
from sqlglot import expressions as sql


def duck(expression: str) -> str:
    """An expression for DuckDB, each column one quoted identifier."""
    tree = sqlglot.parse_one(expression, read="spark")

    def flat(node: sql.Expr) -> sql.Expr:
        if isinstance(node, sql.Column):
            return sql.column(".".join(part.name for part in node.parts), quoted=True)
        return node

    tree = tree.transform(flat)
    for node in reversed(list(tree.find_all(sql.Left, sql.Right, sql.Substring))):  # the inner ones first
        same = _as_in_spark(node)
        if node is tree:
            return same.sql(dialect="duckdb")
        node.replace(same)
    return str(tree.sql(dialect="duckdb"))


def _as_in_spark(node: sql.Expr) -> sql.Expr:
    """Positions from 0 and below, and lengths below 0: an empty text in Spark, another part in DuckDB."""
    text = node.this.sql(dialect="duckdb")
    if not isinstance(node, sql.Substring):
        length = _at_least_zero(node.expression.sql(dialect="duckdb"))
        name = "right" if isinstance(node, sql.Right) else "left"
        return sql.Anonymous(this=name, expressions=[_parsed(text), _parsed(length)])
    at = node.args["start"].sql(dialect="duckdb")
    start = f"(CASE WHEN {at} > 0 THEN {at} - 1 WHEN {at} < 0 THEN length({text}) + ({at}) ELSE {at} END)"
    begin = _at_least_zero(start)
    more = []
    if node.args.get("length") is not None:
        length = node.args["length"].sql(dialect="duckdb")
        more = [_parsed(_at_least_zero(f"{start} + ({length}) - {begin}"))]
    return sql.Anonymous(this="substr", expressions=[_parsed(text), _parsed(f"{begin} + 1"), *more])


def _at_least_zero(amount: str) -> str:
    """NULL stays what it is."""
    return f"(CASE WHEN {amount} < 0 THEN 0 ELSE {amount} END)"


def _parsed(text: str) -> sql.Expr:
    return sqlglot.parse_one(text, read="duckdb")
