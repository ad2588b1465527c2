"""Nothing outside the allow-list can be written: not a function, not a clause, not a literal's end."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.expressions import parse_expression, spark_text
from weir_placement.model.functions import FUNCTIONS, NAMED
from weir_placement.model.types import parse_schema

TYPES = {"a.x": "INT", "a.s": "STRING", "a.ts": "TIMESTAMP"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("reflect('java.lang.Runtime', 'getRuntime') = 'x'", "reflect"),
        ("java_method('java.lang.System', 'exit', 1) = 1", "java_method"),
        ("try_reflect('java.lang.System', 'exit', 1) = 1", "try_reflect"),
        ("a.x > 1 AND lower(reflect('a', 'b')) = 'x'", "reflect"),
        ("TRANSFORM(a.x) USING 'sh' AS (y)", "TRANSFORM"),
        ("transform(array(1), x -> x + 1)", "transform is not supported: it could run any code"),
        ("(SELECT max(x) FROM a) > 1", "subquery"),
        ("EXISTS (SELECT 1)", "EXISTS"),
        ("a.x IN (SELECT 1)", "subquery"),
        ("my_udf(a.x)", "my_udf"),
        ("db.my_udf(a.x)", "catalogs"),
        ("sum(a.x) OVER ()", "OVER"),
        ("row_number() OVER (ORDER BY a.x)", "OVER"),
        ("sum(a.x)", "aggregate"),
        ("count(*)", "aggregate"),
        ("rand() < 0.5", "rand "),
        ("rand(7) < 0.5", "rand "),
        ("uuid() = 'x'", "uuid "),
        ("now() > a.ts", "now"),
        ("current_timestamp > a.ts", "CURRENT_TIMESTAMP"),
        ("current_timestamp() > a.ts", "current_timestamp "),
        ("current_date > a.ts", "CURRENT_DATE"),
        ("unix_timestamp() > 1", "unix_timestamp"),
        ("monotonically_increasing_id() = 1", "monotonically_increasing_id"),
        ("input_file_name() = 'x'", "input_file_name"),
        ("a.x = :p", "parameters"),
        ("a.x = ?", "parameters"),
        ("a.s RLIKE '(a+)+$'", "regular expressions"),
        ("array(1)[0] = 1", "arrays"),
        ("a.x -> 1", "lambda"),
        ("struct(a.x) IS NULL", "struct "),
        ("from_json(a.s, 'a INT') IS NULL", "from_json "),
        ("read_files('x')", "read_files"),
        ("java.lang.Runtime(a.x)", "catalogs"),
        ("CAST(a.s AS ARRAY<INT>) IS NULL", "plain type"),
        ("a.s = 'x\\' OR 1=1 --'", "backslash"),
        ("a.s = 'it''s'", "side by side"),
        ("a.s = r'x'", "RAWSTRING|RAW_STRING|RawString"),
        ("a.s = 'x\x00'", "control character"),
        ("a.x = 1 UNION SELECT 1", "not an expression"),
        ("a.x = 1; SELECT 1", "not an expression"),
        ("a.x = (((" + "(" * 200 + "1", "nested more than"),
        ("a.x = 1" + " OR a.x = 1" * 2000, "at most"),
    ],
)
def test_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(ExpressionError, match=named):
        parse_expression(text, TYPES)
    with pytest.raises(ExpressionError):
        spark_text(text)


@pytest.mark.parametrize(
    "ddl",
    [
        "a INT, b INT DEFAULT reflect('a', 'b')",
        "a INT GENERATED ALWAYS AS (java_method('a','b'))",
        "a INT COMMENT 'x'",
        "a ARRAY<INT>",
        "a MAP<STRING, INT>",
        "a STRUCT<b: INT>",
        "a VARIANT",
        "a INT) USING parquet LOCATION '/etc/passwd' --",
        "`a``; DROP TABLE x` INT",
        "a.b INT",
        "a INT, A STRING",
        "a",
        "",
        "a INT,",
        "a DECIMAL(39,0)",
        "a DECIMAL(2,3)",
        "a INTERVAL",
        "a INT, _ID STRING",
    ],
)
def test_schemas_have_plain_types_only(ddl: str) -> None:
    with pytest.raises(ValueError, match=r"column|plain type|digits"):
        parse_schema(ddl)


WORDS = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|[A-Za-z_]\w*")
KEYWORDS = {
    "AND",
    "OR",
    "NOT",
    "IS",
    "NULL",
    "TRUE",
    "FALSE",
    "IN",
    "BETWEEN",
    "LIKE",
    "ILIKE",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST",
    "AS",
}
KEYWORDS |= {"INTERVAL", "SECOND", "div", "if", "date_trunc", "round", "trim", "ltrim", "rtrim"}
TYPES_WRITTEN = {"INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "STRING", "DATE", "TIMESTAMP"}
TYPES_WRITTEN |= {"DECIMAL", "BOOLEAN", "BINARY", "TIMESTAMP_NTZ"}
CALLS = {f.name for f in [*FUNCTIONS.values(), *NAMED.values()]}

pieces = st.sampled_from(
    [
        "a.x",
        "a.s",
        "a.ts",
        "1",
        "2.5",
        "'q'",
        '"it\'s"',
        "(",
        ")",
        ",",
        "+",
        "-",
        "*",
        "/",
        "%",
        "=",
        "<",
        ">",
        "<=",
        "<>",
        "AND",
        "OR",
        "NOT",
        "IS",
        "NULL",
        "BETWEEN",
        "IN",
        "LIKE",
        "||",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "reflect(",
        "java_method(",
        "lower(",
        "abs(",
        "coalesce(",
        "CAST(",
        "AS",
        "INT",
        "SELECT",
        "FROM",
        "UNION",
        "INTERVAL",
        "5",
        "MINUTE",
        "rand()",
        "now()",
        ";",
        "--",
        "/*",
        "*/",
        "`",
        "'",
        '"',
        "\\",
        "$$",
        "{{",
        "}}",
        "${x}",
        "@",
        "#",
        "x->",
        "OVER",
        "USING",
        "TRANSFORM(",
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(pieces, min_size=1, max_size=12))
def test_whatever_comes_out_is_made_of_known_words(parts: list[str]) -> None:
    """Random mixtures: either refused with our error, or Spark's text has allowed words only."""
    try:
        written = parse_expression(" ".join(parts), TYPES).spark
    except ExpressionError:
        return
    for word in WORDS.findall(written):
        if word[0] == "`":
            assert word[1:-1] in TYPES
        elif word[0] not in "'\"":
            assert word in KEYWORDS | TYPES_WRITTEN | CALLS, written
    assert not set(re.sub(r"'[^']*'|\"[^\"]*\"", "", written)) & set(";\\${}@#[]"), written


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=20))
def test_strings_cannot_leave_their_quotes(text: str) -> None:
    try:
        written = parse_expression(f"a.s = '{text}'", TYPES).spark
    except ExpressionError:
        return
    literal = written.removeprefix("`a.s` = ")
    if literal != written and literal[0] in "'\"":
        assert literal[-1] == literal[0]
        assert literal[0] not in literal[1:-1]
        assert "\\" not in literal
