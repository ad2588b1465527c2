"""The operator reads how it was installed from its environment; a wrong value is named with its variable."""

from __future__ import annotations

import pytest
from weir_operator.kube.settings import OperatorSettings


@pytest.mark.parametrize(("text", "value"), [("", True), ("true", True), ("false", False)])
def test_whether_there_are_executors(text: str, value: bool) -> None:
    assert OperatorSettings.of_environment({"WEIR_EXECUTORS": text}).executors is value


@pytest.mark.parametrize(
    ("name", "text"), [("WEIR_EXECUTORS", "no"), ("WEIR_LEASE_SECONDS", "4"), ("WEIR_WEBHOOK_PORT", "high")]
)
def test_a_wrong_value_is_named(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: '{text}' is "):
        OperatorSettings.of_environment({name: text})
