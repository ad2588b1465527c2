"""What each function of SQL costs a row on Spark: the figures of `weir_placement.rewrite.function_costs`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from weir_placement.bench.machine import described
from weir_placement.bench.page import write
from weir_placement.model.expression_parser import parse_tree
from weir_placement.model.expressions import parse_expression, spark_text
from weir_placement.rewrite.function_costs import key_of
from weir_runtime.session import start_session

ROWS = 400_000
RUNS, WARM = 5, 3
LEAST = 0.005
"""[CPU-us] Less than this is within the noise of a run."""
TYPES = {
    **dict.fromkeys(("a.b", "a.c"), "BIGINT"),
    **dict.fromkeys(("a.d", "a.e"), "DOUBLE"),
    **dict.fromkeys(("a.s", "a.u", "a.n", "a.m"), "STRING"),
    "a.t": "TIMESTAMP",
}
"""Columns: b, c whole numbers, d, e in [0, 1), s, u texts of 20 characters, n a number, m a time as text."""
SAMPLES = (
    *("b + c", "b - c", "b * c", "d / e", "b % c", "b div c", "-b", "d < e", "d <= e", "d > e", "d >= e"),
    *("b = c", "b <> c", "b <=> c", "d < e AND b < c", "d < e OR b < c", "NOT (d < e)", "b IS NULL"),
    *("d BETWEEN e AND 0.9", "b IN (1, 2, 3)", "if(d < e, b, c)", "CASE WHEN d < e THEN b ELSE c END"),
    *("abs(d)", "sign(d)", "floor(d)", "ceil(d)", "sqrt(d)", "exp(d)", "ln(d)", "sin(d)", "cos(d)"),
    *("radians(d)", "power(d, e)", "round(d, 2)", "greatest(d, e)", "least(d, e)", "coalesce(b, c)"),
    *("nullif(b, c)", "isnan(d)", "isnull(s)", "isnotnull(s)", "pmod(b, c)"),
    *("lower(s)", "upper(s)", "length(s)", "s || u", "concat(s, u)", "substring(s, 3, 5)", "left(s, 5)"),
    *("right(s, 5)", "startswith(s, u)", "endswith(s, u)", "contains(s, 'xyz')", "instr(s, 'xyz')"),
    *("replace(s, 'a', 'bc')", "trim(s)", "md5(s)", "s LIKE '%xyz%'", "s ILIKE '%xyz%'"),
    *("to_date(t)", "year(t)", "quarter(t)", "month(t)", "weekofyear(t)", "day(t)", "dayofweek(t)"),
    *("dayofyear(t)", "weekday(t)", "hour(t)", "minute(t)", "second(t)", "date_trunc('HOUR', t)"),
    *("unix_micros(t)", "unix_millis(t)", "unix_seconds(t)", "timestamp_micros(b)"),
    *("t + INTERVAL 5 SECONDS", "CAST(d AS BIGINT)", "CAST(n AS DOUBLE)", "CAST(d AS STRING)"),
    *(
        "CAST(d AS INT)",
        "CAST(d AS FLOAT)",
        "CAST(b AS BOOLEAN)",
        "CAST(m AS TIMESTAMP)",
        "CAST(m AS DATE)",
        "CAST(d AS DECIMAL(10,2))",
    ),
)
"""One for each function: what it holds besides is measured before it."""
COMPOSED = (
    "md5(concat(s, CAST(b AS STRING), CAST(d AS STRING)))",
    "CASE WHEN s LIKE '%ab%' THEN upper(substring(s, 1, 8)) ELSE lower(u) END",
    "round(sqrt(power(d - e, 2) + power(e - 0.5, 2)) * 1000, 2)",
    "concat(left(s, 4), '-', replace(u, 'a', 'bc'), '-', CAST(hour(t) AS STRING))",
    "ln(1 + abs(sin(d) * cos(e))) + exp(d - e)",
    "b * 3 + c % 7 - b div 5",
)
"""Projections that no figure was made of, to compare the sums with."""


def functions(folder: Path) -> None:
    """`weir bench functions`: measures, writes the page; about five minutes."""
    spark = start_session()
    frame = _rows(spark)
    nothing = _cost(frame, "a.b")
    costs: dict[str, float] = {}
    rows: list[tuple[str | float, ...]] = []
    for sample in SAMPLES:
        text = parse_expression(sample, TYPES).text
        keys = [key for node in parse_tree(text).walk() if (key := key_of(node))]
        (key,) = set(keys) - set(costs) or {keys[0]}
        took = _cost(frame, text) - nothing - sum(costs.get(other, 0.0) for other in keys if other != key)
        costs[key] = max(round(took, 2) if took > 0.1 else round(took, 3), LEAST)
        rows.append((key, sample, costs[key]))
        print(*rows[-1], flush=True)
    for composed in COMPOSED:
        text = parse_expression(composed, TYPES).text
        took = _cost(frame, text) - nothing
        keys = [key for node in parse_tree(text).walk() if (key := key_of(node))]
        rows.append(("", composed, f"{took:.2f} measured, {sum(costs[key] for key in keys):.2f} by the sum"))
        print(*rows[-1], flush=True)
    spark.stop()
    text = f"{TEXT}\n\n{ROWS:,} rows; the least of {RUNS} runs after {WARM}. Machine: {described()}"
    write(folder, "functions", "What functions cost", text, HEAD, rows)


def _rows(spark: SparkSession) -> DataFrame:
    """Rows in memory, so that reading them costs the same and little each time."""
    digest = "substring(sha2(cast(id * {} as string), 256), 1, 20)"
    frame = spark.range(0, ROWS, 1, 1).selectExpr(
        "pmod(id * 7919, 100003) as `a.b`",
        "pmod(id * 104729, 997) + 1 as `a.c`",
        "rand(1) as `a.d`",
        "rand(2) as `a.e`",
        f"{digest.format(1)} as `a.s`",
        f"{digest.format(2)} as `a.u`",
        "cast(rand(3) * 1000 as string) as `a.n`",
        "cast(timestamp_micros(1600000000000000 + id * 1000003) as string) as `a.m`",
        "timestamp_micros(1600000000000000 + id * 1000003) as `a.t`",
    )
    frame = frame.cache()
    frame.count()
    return frame


def _cost(frame: DataFrame, text: str) -> float:
    """[CPU-us a row] of the threads that work on rows: neither compilation nor the collector's."""
    columns = [f"`{name}`" for name in TYPES]
    selected = frame.selectExpr(*columns, f"{spark_text(text)} as x")
    pid = frame.sparkSession.sparkContext._jvm.ProcessHandle.current().pid()  # type: ignore[union-attr]
    taken = []
    for _ in range(WARM + RUNS):
        before = _working(pid)
        selected.write.format("noop").mode("overwrite").save()
        after = _working(pid)
        taken.append(sum(spent - before.get(thread, 0) for thread, spent in after.items()))
    return min(taken[WARM:]) / 1e3 / ROWS


def _working(pid: int) -> dict[str, int]:
    """[ns] of CPU time of each of a JVM's threads that runs tasks."""
    spent = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # it has ended
            if (thread / "comm").read_text().startswith("Executor task"):
                spent[thread.name] = int((thread / "schedstat").read_text().split()[0])
    return spent


HEAD = ("function", "measured as", "CPU-us a row")
TEXT = """
A projection or selection costs what its kind does ([calibration](calibration.md)) and, for each function in
it, what is said here: CPU time of Spark's task threads for rows in memory, less that with a plain column.
Texts have 20 characters. Functions are named as the parser does. The last rows are projections that no figure
was made of: what they took, and the sum of their parts.
""".strip()
