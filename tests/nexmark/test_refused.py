"""What a stream's SQL cannot say is refused in words, when it is planned."""

import pytest

from tests.nexmark.house import refusal
from tests.nexmark.refused import REFUSED


@pytest.mark.parametrize("name", REFUSED)
def test_the_text_of_the_benchmark_is_refused_with_a_reason(name: str) -> None:
    sql, reason = REFUSED[name]
    message = refusal({"sql": sql})
    assert message.startswith("spec.sql: ")
    assert reason in message
