"""`weir run` outlives a round that fails, whatever the error is."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_operator.cli import main
from weir_operator.controller.decision import Decision
from weir_operator.controller.loop import Loop

from tests.local.test_machine import MANIFESTS


def test_a_failed_round_is_told_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds: list[int] = []

    def once(loop: Loop) -> Decision:
        rounds.append(1)
        if len(rounds) == 1:
            raise KeyError("tier")
        raise KeyboardInterrupt

    monkeypatch.setattr(Loop, "once", once)
    (tmp_path / "all.yaml").write_text(MANIFESTS.format(least="10", cordoned="false"))
    folder = ["--run-folder", str(tmp_path / "run")]
    assert main(["run", "-f", str(tmp_path / "all.yaml"), *folder]) == 0
    assert "a round failed; trying again: KeyError('tier')" in capsys.readouterr().out
    assert len(rounds) == 2
