"""The types that expressions are given are those that Spark computes, and no row makes them fail."""

from __future__ import annotations

import re

import pytest
from weir_placement.model.expressions import aggregation_type, parse_expression
from weir_placement.model.functions import BINARY, EXTRACT, FUNCTIONS, NAMED, TRUNCATE
from weir_placement.model.operators import Aggregation
from weir_placement.model.types import normalise

TYPES = {
    "a.t": "TINYINT",
    "a.h": "SMALLINT",
    "a.x": "INT",
    "a.b": "BIGINT",
    "a.f": "FLOAT",
    "a.y": "DOUBLE",
    "a.m": "DECIMAL(10,2)",
    "a.w": "DECIMAL(38,10)",
    "a.s": "STRING",
    "a.ok": "BOOLEAN",
    "a.d": "DATE",
    "a.ts": "TIMESTAMP",
    "a.n": "TIMESTAMP_NTZ",
}
NUMBERS = ["t", "h", "x", "b", "f", "y", "m", "w"]
WHOLE = ["t", "h", "x", "b"]
EXPRESSIONS = [
    *(f"a.{p} {o} a.{q}" for o in ("+", "-", "*", "/", "%") for p in NUMBERS for q in NUMBERS),
    *(f"a.{p} div a.{q}" for p in WHOLE for q in WHOLE),
    *(f"a.{p} {o} {n}" for o in ("+", "*", "/", "%") for p in NUMBERS for n in ("2", "0.5", "1e1", "0")),
    *(f"coalesce(a.{p}, a.{q})" for p in NUMBERS for q in NUMBERS),
    *(f"{g}(a.{p}, a.{q})" for g in ("greatest", "least") for p in NUMBERS for q in NUMBERS[::3]),
    *(f"nullif(a.{p}, 1)" for p in NUMBERS),
    *(f"pmod(a.{p}, a.{q})" for p in NUMBERS for q in NUMBERS),
    *(f"{g}(a.{p})" for g in ("abs", "sign", "floor", "ceil", "sqrt", "exp", "ln", "isnan") for p in NUMBERS),
    *(f"{g}(a.y)" for g in ("sin", "cos", "radians")),
    *(f"round(a.{p}, {n})" for p in NUMBERS for n in (0, 1, 3)),
    *(f"-a.{p}" for p in NUMBERS),
    *(f"power(a.{p}, 2)" for p in NUMBERS),
    *(f"CASE WHEN a.ok THEN a.{p} ELSE a.{q} END" for p in NUMBERS for q in NUMBERS),
    *(f"CAST(a.{p} AS {k})" for p in NUMBERS for k in ("INT", "BIGINT", "DOUBLE", "STRING", "DECIMAL(5,1)")),
    *(f"CAST(a.s AS {k})" for k in ("INT", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN", "DECIMAL(5,1)")),
    *(f"{g}({c})" for g in ("year", "quarter", "month", "weekofyear", "day", "dayofmonth", "dayofweek",
                            "dayofyear", "weekday", "to_date") for c in ("a.d", "a.ts", "a.n")),
    *(f"{g}(a.ts)" for g in ("hour", "minute", "second", "unix_micros", "unix_millis", "unix_seconds")),
    *(f"EXTRACT({u} FROM a.ts)" for u in EXTRACT),
    *(f"date_trunc('{u}', a.ts)" for u in TRUNCATE),
    "timestamp_micros(a.b)", "a.m + -2", "a.m * (3)", "coalesce(a.m, 1)", "100 / a.m", "a.m - 1234",
    "a.ts + INTERVAL 5 MINUTES", "a.n - INTERVAL 1 DAY",
    "lower(a.s)", "upper(a.s)", "length(a.s)", "concat(a.s, 'x')", "a.s || \"it's\"", "substring(a.s, 1, 2)",
    "substring(a.s, 2)", "left(a.s, 2)", "right(a.s, 2)", "startswith(a.s, 'x')", "endswith(a.s, 'x')",
    "contains(a.s, 'x')", "instr(a.s, 'x')", "replace(a.s, 'x', 'y')", "md5(a.s)", "trim(a.s)", "ltrim(a.s)",
    "rtrim(a.s)", "a.s LIKE 'x%' AND NOT a.ok OR a.x <=> 1", "a.s ILIKE 'X_'", "a.x IN (1, 2)",
    "a.x BETWEEN 1 AND 2.5", "a.s IS NULL", "a.ok IS NOT TRUE", "isnull(a.x)", "isnotnull(a.x)",
    "if(a.ok, a.x, a.b)", "CASE a.x WHEN 1 THEN 'one' END", "a.ts > TIMESTAMP '2026-01-31 12:00:00'",
    "a.d = DATE '2026-01-31'", "1 = 1", "2147483648", "a.x <> 1 AND a.x >= 0 AND a.x < 9 AND a.x <= 9",
]  # fmt: skip


def test_every_function_and_operator_is_tried() -> None:
    written = " ".join(parse_expression(e, TYPES).spark for e in EXPRESSIONS)
    functions = set(re.findall(r"(\w+)\(", written))
    assert {f.name for f in [*FUNCTIONS.values(), *NAMED.values()]} <= functions
    assert all(f" {operator} " in written for operator, _ in BINARY.values())


@pytest.fixture(scope="module")
def frame():  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f
    from weir_runtime.session import start_session

    spark = start_session(app="types")
    rows = [
        "1, 1, 1, 1, '1', '1', 1, 1, 'x y', true, '2026-01-31', '2026-01-31 12:00:00', '2026-01-31 12:00:00'",
        "0, 0, 0, 0, '0', '0', 0, 0, '', false, '1970-01-01', '1970-01-01', '1970-01-01'",
        "-128, -32768, -2147483648, -9223372036854775808, 'NaN', 'Infinity', -99999999.99, "
        "-9999999999999999999999999999.9, '1e99', null, '9999-12-31', '9999-12-31', '9999-12-31'",
        ", ".join(["null"] * 13),
    ]
    raw = spark.sql("SELECT * FROM VALUES " + ", ".join(f"({row})" for row in rows))
    names = zip(raw.columns, TYPES.items(), strict=True)
    return raw.select(*(f.col(old).cast(kind).alias(name) for old, (name, kind) in names))


def test_spark_computes_the_types_that_are_inferred(frame) -> None:  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    parsed = [parse_expression(text, TYPES) for text in EXPRESSIONS]
    computed = frame.select(*(f.expr(p.spark).alias(f"e{i}") for i, p in enumerate(parsed)))
    kinds = [normalise(field.dataType.simpleString()) for field in computed.schema.fields]
    wrong = [(p.text, p.type, kind) for p, kind in zip(parsed, kinds, strict=True) if p.type != kind]
    assert not wrong, f"(expression, inferred, Spark's): {wrong}"
    # a sink computes every column of every row; collecting would be limited by Python's years
    computed.write.format("noop").mode("overwrite").save()


def test_aggregates_have_the_types_that_are_inferred(frame) -> None:  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    wrong = []
    for function in ("sum", "avg", "min", "max", "count"):
        for name in (f"a.{n}" for n in NUMBERS):
            inferred = aggregation_type(Aggregation("n", function, name), TYPES)  # type: ignore[arg-type]
            computed = frame.agg(getattr(f, function)(f.col(f"`{name}`")))
            kind = normalise(computed.schema.fields[0].dataType.simpleString())
            if kind != inferred:
                wrong.append((function, TYPES[name], inferred, kind))
    assert not wrong, f"(function, argument, inferred, Spark's): {wrong}"
