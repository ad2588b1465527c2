"""No argument is left out: a call with more than its function takes is refused."""

import pytest
from weir_placement.model.argument_counts import MOST
from weir_placement.model.constants import wrong_constant
from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.expressions import parse_expression, type_of
from weir_placement.model.functions import ALL_NAMES

PATTERNS = ("NNNNN", "SSSSS", "SNNNN", "SSNNN", "SSSNN", "TTTTT", "UTTTT", "USSSS", "BNNNN")
FORMS = {"N": "1{i}", "S": "'text{i}'", "T": "TIMESTAMP '2026-01-0{i} 00:00:00'", "U": "YEAR", "B": "a.ok"}


@pytest.mark.parametrize("name", sorted({*MOST, *ALL_NAMES}))
def test_every_argument_that_is_taken_is_written_again(name: str) -> None:
    for pattern in PATTERNS:
        for count in range(1, 6):
            arguments = [FORMS[kind].format(i=i) for i, kind in enumerate(pattern[:count], 1)]
            try:
                text = parse_expression(f"{name}({', '.join(arguments)})", {"a.ok": "BOOLEAN"}).text
            except ExpressionError:
                continue
            left_out = [a for a in arguments if a.removeprefix("TIMESTAMP ").lower() not in text.lower()]
            assert not left_out, (name, arguments, text)


@pytest.mark.parametrize(
    "text", ["round(a.x, 1, 2)", "lower(a.s) = upper(a.s, floor(a.x, 1))", "int(a.x, 2)"]
)
def test_too_many_arguments_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"takes at most \d arguments?, and has \d here"):
        parse_expression(text, {"a.x": "DOUBLE", "a.s": "STRING"})


def test_arguments_are_those_of_the_call_alone() -> None:
    assert parse_expression("floor(greatest(a.x, power(a.x, 2)))", {"a.x": "DOUBLE"}).type == "BIGINT"


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (
            "TIMESTAMP",
            ["2026", "2026-1-1", "2026-01-01 1:2", "2026-01-01T12:00:00 CET", "epoch", " 2026-01-01 "],
        ),
        ("DATE", ["2026-02-28", "2024-02-29", "2026-01-01T", "2026-01-01 12:60"]),
        ("INT", ["5", " 5.7 ", "+5", "-2147483648", "5."]),
        ("DOUBLE", ["1e3", ".5", "5d", "NaN", "-inf", "Infinity"]),
        ("DECIMAL(10,2)", ["1e3", "99999999999"]),
        ("BOOLEAN", ["T", "yes", "0"]),
        ("STRING", ["anything"]),
    ],
)
def test_what_spark_reads_is_no_wrong_constant(kind: str, texts: list[str]) -> None:
    assert [text for text in texts if wrong_constant(text, kind)] == []


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (
            "TIMESTAMP",
            ["2026-13-01", "31.01.2026", "2026-01-01 24:00:00", "20260131", "12", "12:00:00", "now"],
        ),
        ("DATE", ["2026-02-30", "2026-00-01", "yesterday"]),
        ("INT", ["abc", "1e3", "0x10", "2147483648", "", "1_000"]),
        ("DOUBLE", ["1,000", "0x10", ""]),
        ("DECIMAL(10,2)", ["5d", "nan"]),
        ("BOOLEAN", ["on", "ja"]),
    ],
)
def test_what_spark_cannot_read_is_a_wrong_constant(kind: str, texts: list[str]) -> None:
    assert [text for text in texts if not wrong_constant(text, kind)] == []


def test_what_was_stored_keeps_its_constants() -> None:
    assert type_of("CAST('abc' AS INT)", {}) == "INT"
