"""What shells and kubectl need: completion, and the plugin with its krew manifest."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
from weir_operator.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bash_completion(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", "bash"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        (["weir", "st"], ["strategies", "status"]),
        (["weir", "plan", "--str"], ["--strategy"]),
        (["weir", "run", "--until"], ["--until-finished"]),
        (["weir", "query", "--no"], ["--no-follow"]),
        (["weir", "plan", "-f", "mani"], ["manifests.yaml"]),
        (["weir", "rollback", "--str"], []),
    ],
)
def test_bash_completes_commands_options_and_files(
    bash_completion: str, tmp_path: Path, words: list[str], choices: list[str]
) -> None:
    (tmp_path / "manifests.yaml").touch()
    script = f"{bash_completion}\nCOMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _weir\n"
    script += 'printf "%s\\n" "${COMPREPLY[@]}"'
    output = subprocess.check_output(["bash", "-c", script], cwd=tmp_path, text=True)
    assert output.split() == choices


def test_every_shell_has_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        assert set(COMMANDS) <= set(capsys.readouterr().out.replace("'", " ").replace('"', " ").split())


def test_the_plugin_is_packed_as_its_manifest_says(tmp_path: Path) -> None:
    uri = "https://example.org/kubectl-weir.tar.gz"
    subprocess.run([ROOT / "hack/plugin/make", "0.1.0", uri, tmp_path], check=True, stdout=subprocess.PIPE)
    manifest = yaml.safe_load((tmp_path / "weir.yaml").read_text())
    (platform,) = manifest["spec"]["platforms"]
    archive = tmp_path / "kubectl-weir-0.1.0.tar.gz"
    assert manifest["spec"]["version"] == "v0.1.0"
    assert platform["uri"] == uri
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    with tarfile.open(archive) as tar:
        assert {file["from"] for file in platform["files"]} == set(tar.getnames())
        assert tar.getmember(platform["bin"]).mode & 0o111
    (tmp_path / "bin").mkdir()
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path / "bin"], check=True)
    weir = tmp_path / "bin" / "weir"
    weir.write_text('#!/bin/sh\necho "weir $*"\n')
    weir.chmod(0o755)
    command = [tmp_path / "bin" / "kubectl-weir", "status", "--context", "x"]
    assert subprocess.check_output(command, env={"PATH": f"{weir.parent}:/bin:/usr/bin"}) == (
        b"weir status --context x\n"
    )
    missing = subprocess.run(command, env={"PATH": "/bin:/usr/bin"}, capture_output=True, text=True)
    assert missing.returncode == 127
    assert "not on the PATH" in missing.stderr
