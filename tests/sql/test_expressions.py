"""Expressions are parsed, checked, and written again with qualified columns."""

import pytest
from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.expressions import conjunction, conjuncts, parse_expression, parse_predicate

TYPES = {
    "a.x": "INT",
    "a.s": "STRING",
    "a.ts": "TIMESTAMP",
    "a.d": "DATE",
    "a.m": "DECIMAL(10,2)",
    "b.x": "DOUBLE",
    "b.ts": "TIMESTAMP",
    "b.end": "INT",
    "b.ok": "BOOLEAN",
}

WRITTEN = [
    # as a user writes it, canonical, Spark, type
    ("A.X>1", "a.x > 1", "`a.x` > 1", "BOOLEAN"),
    ("s like 'x%' and not ok", "a.s LIKE 'x%' AND NOT b.ok", "`a.s` LIKE 'x%' AND NOT `b.ok`", "BOOLEAN"),
    ("a.s not like 'x%'", "NOT (a.s LIKE 'x%')", "NOT (`a.s` LIKE 'x%')", "BOOLEAN"),
    (
        "not s not ilike 'x' or ok",
        "NOT (NOT (a.s ILIKE 'x')) OR b.ok",
        "NOT (NOT (`a.s` ILIKE 'x')) OR `b.ok`",
        "BOOLEAN",
    ),
    ("a.s not in ('a')", "NOT (a.s IN ('a'))", "NOT (`a.s` IN ('a'))", "BOOLEAN"),
    ("a.x not between 1 and 2", "NOT (a.x BETWEEN 1 AND 2)", "NOT (`a.x` BETWEEN 1 AND 2)", "BOOLEAN"),
    ("not a.s is null", "a.s IS NOT NULL", "`a.s` IS NOT NULL", "BOOLEAN"),
    ("a.x between 1 and 2", "a.x BETWEEN 1 AND 2", "`a.x` BETWEEN 1 AND 2", "BOOLEAN"),
    ("a.s in ('a',\"it's\")", "a.s IN ('a', \"it's\")", "`a.s` IN ('a', \"it's\")", "BOOLEAN"),
    ("b.end + 1", "b.`end` + 1", "`b.end` + 1", "INT"),
    ("a.x - (1 - 2)", "a.x - (1 - 2)", "`a.x` - (1 - 2)", "INT"),
    ("(a.x + 1) * 2", "(a.x + 1) * 2", "(`a.x` + 1) * 2", "INT"),
    ("a.x * 1.5", "a.x * 1.5", "`a.x` * 1.5", "DECIMAL(13,1)"),
    ("a.x / 2", "a.x / 2", "`a.x` / 2", "DOUBLE"),
    (
        "a.ts - interval 1 hour 5 minutes",
        "a.ts - INTERVAL '3900' SECOND",
        "`a.ts` - INTERVAL '3900' SECOND",
        "TIMESTAMP",
    ),
    (
        "interval '1' millisecond + a.ts",
        "a.ts + INTERVAL '0.001000' SECOND",
        "`a.ts` + INTERVAL '0.001000' SECOND",
        "TIMESTAMP",
    ),
    ("extract(hour from a.ts)", "hour(a.ts)", "hour(`a.ts`)", "INT"),
    ("year(a.d)", "year(a.d)", "year(`a.d`)", "INT"),
    (
        "case when a.x > 1 then a.m end",
        "CASE WHEN a.x > 1 THEN a.m END",
        "CASE WHEN `a.x` > 1 THEN `a.m` END",
        "DECIMAL(10,2)",
    ),
    ("coalesce(a.x, b.x)", "coalesce(a.x, b.x)", "coalesce(`a.x`, `b.x`)", "DOUBLE"),
    ("date '2013-01-01'", "CAST('2013-01-01' AS DATE)", "CAST('2013-01-01' AS DATE)", "DATE"),
]


@pytest.mark.parametrize(("text", "canonical", "spark", "kind"), WRITTEN)
def test_written_again(text: str, canonical: str, spark: str, kind: str) -> None:
    parsed = parse_expression(text, TYPES)
    assert (parsed.text, parsed.spark, parsed.type) == (canonical, spark, kind)
    assert parse_expression(canonical, TYPES) == parsed, "the canonical text is a fixed point"


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("a.x = 1 AND\n  x > 2", (2, 3), "ambiguous; write a.x or b.x"),
        ("a.x > a.y", (1, 7), "no column a.y"),
        ("a.s = 3", (1, 1), r"compares a.s \(STRING\) with 3 \(INT\); write '3'"),
        ("a.ts > '2013-01-01'", (1, 1), "write TIMESTAMP '2013-01-01'"),
        ("a.x + a.s", (1, 1), "needs numbers, not STRING"),
        ("a.x AND b.ok", (1, 1), r"AND needs BOOLEAN, not a.x \(INT\)"),
        ("a.ts - b.ts", (1, 1), "unix_micros"),
        ("a.ts + INTERVAL 1 MONTH", (1, 8), "a month has no fixed length"),
        ("a.x + ", (1, 5), "not an expression"),
        ("a.x = 1; DROP TABLE x", (1, 10), "not an expression"),
        ("lower(a.x)", (1, 1), "lower needs a STRING"),
        ("CASE WHEN b.ok THEN a.x ELSE a.s END", (1, 11), "cannot be mixed"),
    ],
)
def test_errors_have_a_place(text: str, place: tuple[int, int], reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason) as caught:
        parse_expression(text, TYPES)
    if "MONTH" not in text and not text.endswith("+ "):
        assert (caught.value.line, caught.value.column) == place


def test_a_condition_is_a_truth_value() -> None:
    assert parse_predicate("b.ok", TYPES).columns == ("b.ok",)
    with pytest.raises(ExpressionError, match=r"a\.x \+ 1 is an INT"):
        parse_predicate("a.x + 1", TYPES)


def test_split_at_and_and_joined_again() -> None:
    whole = parse_predicate("a.x = 1 AND (b.x > 2 OR ok) AND (a.s = 'x' AND NOT ok)", TYPES)
    parts = conjuncts(whole.text)
    assert [p.text for p in parts] == ["a.x = 1", "b.x > 2 OR b.ok", "a.s = 'x'", "NOT b.ok"]
    assert [p.columns for p in parts] == [("a.x",), ("b.ok", "b.x"), ("a.s",), ("b.ok",)]
    assert conjunction(p.text for p in parts) == whole.text
    assert conjuncts("") == ()
