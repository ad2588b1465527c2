"""The allow-list: every function that an expression may call, with its types.

What is not in these tables cannot be written: the text for Spark is generated from them, so
`reflect`, `java_method` and whatever Spark adds later have no way in. All of them are
deterministic, total, and depend on nothing but their arguments (time zone: UTC).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from weir_placement.model import types

TypeRule = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class Function:
    """A function as Spark spells it.

    Attributes:
        name: Spark's name.
        keys: where sqlglot keeps the arguments, in Spark's order; a key with `?` may be missing, one
            with `*` holds any number. Empty for functions that sqlglot does not know (`expressions`).
        families: the family of each argument: Number, String, Boolean, Timestamp, Moment (timestamp
            or date), Integer, Literal integer, Any, or `=` (the common type of all); the last repeats.
        result: a type, or a rule over the argument types.
        minimum, maximum: number of arguments of a function with `*` or without keys.
    """

    name: str
    keys: str
    families: str
    result: str | TypeRule
    minimum: int = 1
    maximum: int = 1


def _first(arguments: Sequence[str]) -> str:
    return arguments[0]


def _floor(arguments: Sequence[str]) -> str:
    kind = arguments[0]
    if not kind.startswith("DECIMAL"):
        return "BIGINT"
    precision, scale = types.decimal_digits(kind)
    return f"DECIMAL({min(precision - scale + 1, 38)},0)"


def _double_only(name: str, keys: str = "this") -> Function:
    return Function(name, keys, "N", "DOUBLE")


def _part(name: str) -> Function:
    return Function(name, "this", "M", "INT")


FUNCTIONS: dict[str, Function] = {
    # sqlglot's class -> function
    "Abs": Function("abs", "this", "N", _first),
    "Sign": _double_only("sign"),
    "Floor": Function("floor", "this", "N", _floor),
    "Ceil": Function("ceil", "this", "N", _floor),
    "Sqrt": _double_only("sqrt"),
    "Exp": _double_only("exp"),
    "Ln": _double_only("ln"),
    "Sin": _double_only("sin"),
    "Cos": _double_only("cos"),
    "Radians": _double_only("radians"),
    "Pow": Function("power", "this expression", "NN", "DOUBLE"),
    "Greatest": Function("greatest", "this expressions*", "=", types.common, 2, 20),
    "Least": Function("least", "this expressions*", "=", types.common, 2, 20),
    "Coalesce": Function("coalesce", "this expressions*", "=", types.common, 1, 20),
    "Nullif": Function("nullif", "this expression", "=", _first),
    "IsNan": Function("isnan", "this", "N", "BOOLEAN"),
    "Lower": Function("lower", "this", "S", "STRING"),
    "Upper": Function("upper", "this", "S", "STRING"),
    "Length": Function("length", "this", "S", "INT"),
    "Concat": Function("concat", "expressions*", "S", "STRING", 1, 20),
    "Substring": Function("substring", "this start length?", "SII", "STRING"),
    "Left": Function("left", "this expression", "SI", "STRING"),
    "Right": Function("right", "this expression", "SI", "STRING"),
    "StartsWith": Function("startswith", "this expression", "SS", "BOOLEAN"),
    "EndsWith": Function("endswith", "this expression", "SS", "BOOLEAN"),
    "Contains": Function("contains", "this expression", "SS", "BOOLEAN"),
    "StrPosition": Function("instr", "this substr", "SS", "INT"),
    "Replace": Function("replace", "this expression replacement", "SSS", "STRING"),
    "MD5": Function("md5", "this", "S", "STRING"),
    "Year": _part("year"),
    "Quarter": _part("quarter"),
    "Month": _part("month"),
    "WeekOfYear": _part("weekofyear"),
    "Day": _part("day"),
    "DayOfMonth": _part("day"),
    "DayOfWeek": _part("dayofweek"),
    "DayOfYear": _part("dayofyear"),
    "Hour": _part("hour"),
    "Minute": _part("minute"),
    "Second": _part("second"),
    "TsOrDsToDate": Function("to_date", "this", "M", "DATE"),
    "UnixMicros": Function("unix_micros", "this", "T", "BIGINT"),
    "UnixMillis": Function("unix_millis", "this", "T", "BIGINT"),
    "UnixSeconds": Function("unix_seconds", "this", "T", "BIGINT"),
}

NAMED: dict[str, Function] = {
    # functions that sqlglot keeps by name only
    "pmod": Function("pmod", "", "NN", lambda a: types.arithmetic("%", *a), 2, 2),
    "isnull": Function("isnull", "", "A", "BOOLEAN"),
    "isnotnull": Function("isnotnull", "", "A", "BOOLEAN"),
    "weekday": Function("weekday", "", "M", "INT"),
    "timestamp_micros": Function("timestamp_micros", "", "I", "TIMESTAMP"),
}

EXTRACT = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "DAY": "day",
    "HOUR": "hour",
    "MINUTE": "minute",
}
TRUNCATE = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")

UNIT_MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}

BINARY: dict[str, tuple[str, int]] = {
    # sqlglot's class -> (operator, precedence)
    "Or": ("OR", 1),
    "And": ("AND", 2),
    "EQ": ("=", 4),
    "NEQ": ("<>", 4),
    "LT": ("<", 4),
    "LTE": ("<=", 4),
    "GT": (">", 4),
    "GTE": (">=", 4),
    "NullSafeEQ": ("<=>", 4),
    "Add": ("+", 6),
    "Sub": ("-", 6),
    "DPipe": ("||", 6),
    "Mul": ("*", 7),
    "Div": ("/", 7),
    "Mod": ("%", 7),
    "IntDiv": ("div", 7),
}

WHY_REFUSED: dict[str, str] = {
    # classes and names worth more than "not supported"
    "Window": "window functions (OVER) need all rows of a partition; group by a time window instead "
    "(the first rows of each group, top-N, are not supported yet)",
    "Subquery": "a subquery inside an expression is not supported; join its stream instead",
    "Select": "a subquery inside an expression is not supported; join its stream instead",
    "Exists": "EXISTS is not supported; join the other stream within a time window",
    "Star": "* is only allowed as an item of SELECT, without EXCEPT, and in count(*)",
    "Placeholder": "parameters are not supported; write the value",
    "Parameter": "parameters are not supported; write the value",
    "Lambda": "lambda functions are not supported",
    "RegexpLike": "regular expressions are not supported; use LIKE",
    "Interval": "an interval must be added to or taken from a timestamp, in units from "
    "MICROSECOND to WEEK (a month has no fixed length)",
    "StrToUnix": "unix_timestamp is not supported; use unix_seconds(timestamp)",
    "timestamp_millis": "fails on large numbers; write timestamp_micros(x * 1000)",
    "Dot": "functions of catalogs or packages are not supported; a name is quoted in backticks, as in "
    "`a`.`column`, for what is in double quotes is text",
    "Filter": "FILTER is not supported; write sum(if(condition, 1, 0)), or sum(if(condition, x, 0))",
    "datediff": "has another form here: write (unix_seconds(a) - unix_seconds(b)) div 86400",
    "Escape": "LIKE with ESCAPE is not supported",
    "Bracket": "arrays and maps are not supported",
    "JSONExtract": "lambda functions and JSON paths are not supported",
    "QueryTransform": "TRANSFORM is not supported: it could run any program",
    "AtTimeZone": "time zones are not supported; times are UTC",
}
WHY_REFUSED |= dict.fromkeys(
    [
        *("rand", "randn", "random", "uuid", "shuffle", "now", "curdate", "localtimestamp"),
        *("current_timestamp", "current_date", "current_time", "current_user", "current_database"),
        *("current_schema", "current_catalog", "current_timezone", "session_user", "user", "version"),
        *("getdate", "sysdate", "today"),
        *("monotonically_increasing_id", "spark_partition_id", "input_file_name"),
    ],
    "gives a different value each time it runs, so a replay would change the result",
)
WHY_REFUSED |= dict.fromkeys(
    ["reflect", "java_method", "try_reflect", "transform", "python_udf"], "could run any code"
)
WHY_REFUSED |= dict.fromkeys(
    ["session", "session_window"],
    "opens session windows; use window(event_time, '10 minutes')",
)
WHY_REFUSED |= dict.fromkeys(
    ["tumble", "hop", "cumulate", "time_bucket", "sliding"],
    "has another name here: write window(event_time, 'length') or window(event_time, 'length', 'slide')",
)
WHY_REFUSED |= dict.fromkeys(["mean", "average"], "is called avg here")
WHY_REFUSED |= dict.fromkeys(
    ["date_format", "to_char", "format_number", "format_string", "printf"],
    "writes values as a text of a chosen form; use year, month, day, hour, date_trunc, or CAST(x AS STRING)",
)
WHY_REFUSED |= dict.fromkeys(
    ["get_json_object", "json_extract", "from_json", "to_json", "json_tuple"],
    "reads JSON within a value; give the stream a column for each field that a query needs",
)
WHY_REFUSED |= dict.fromkeys(
    ["regexp_extract", "regexp_replace", "regexp_like", "rlike", "split"],
    "uses regular expressions; use LIKE, instr, substring or replace",
)
ALL_NAMES = tuple(
    sorted(
        {function.name for function in (*FUNCTIONS.values(), *NAMED.values())}
        | {"count", "sum", "avg", "min", "max", "cast", "date_trunc", "extract", "trim", "round", "if", "nvl"}
        | {"window", "ltrim", "rtrim"}
    )
)
"""What may be called, as it is written."""
AGGREGATES = frozenset(
    [
        *("Count", "Sum", "Avg", "Min", "Max", "First", "Last", "AnyValue", "ArrayAgg", "CountIf"),
        *("Stddev", "StddevPop", "StddevSamp", "Variance", "VariancePop", "Median", "Quantile"),
        *("ApproxDistinct",),
    ]
)
