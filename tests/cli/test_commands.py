"""The application itself: help with examples everywhere, exit codes of errors."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
import typer
from weir_operator.cli import COMMANDS, main, pages


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name, capsys):
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example" in out
    assert f"weir {name}" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_every_word_of_an_option(name, capsys):
    """A unit in brackets would be taken as a style, and left out."""
    module, function = COMMANDS[name].split(":")
    app = typer.Typer(add_completion=False)
    app.command(name)(getattr(import_module(module), function))
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out.split()
    for parameter in typer.main.get_command(app).params:
        help_text = getattr(parameter, "help", None) or ""
        assert set(help_text.split()) <= set(shown), parameter.name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_documentation(name):
    assert f"`weir {name}" in (Path(__file__).parents[2] / "docs" / "cli.md").read_text()


def test_help_lists_every_command(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in COMMANDS)


@pytest.mark.parametrize("arguments", [["plann"], ["plan"], ["plan", "--nonsense"], ["--nonsense"]])
def test_wrong_usage_is_exit_2_and_no_traceback(arguments, capsys):
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("weir")
    assert "Traceback" not in err


def test_a_bug_is_exit_70_and_said_to_be_one(monkeypatch, capsys):
    module, function = COMMANDS["strategies"].split(":")

    def broken() -> int:
        raise RuntimeError("boom")

    monkeypatch.setattr(import_module(module), function, broken)
    assert main(["strategies"]) == 70
    assert "internal error" in capsys.readouterr().err


def test_crds_are_written_and_checked(tmp_path, capsys):
    folder = tmp_path / "crds"
    assert main(["crds", str(folder)]) == 0
    assert main(["crds", str(folder), "--check"]) == 0
    file = folder / "streams.weir.dev.yaml"
    file.write_text(file.read_text().replace("wst", "wsx"))
    (folder / "old.yaml").write_text("")
    assert main(["crds", str(folder), "--check"]) == 1
    err = capsys.readouterr().err
    assert "streams.weir.dev.yaml: differs" in err
    assert "old.yaml: differs" in err


def test_strategies_are_listed_with_their_papers(capsys):
    from weir_placement.strategies import STRATEGIES

    assert main(["strategies"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in STRATEGIES)
    assert main(["strategies", "no-such"]) == 2


def test_help_prints_the_pages_that_messages_name(capsys):
    assert main(["help"]) == 0
    listed = capsys.readouterr().out
    assert "weir help sql" in listed
    for page in ("sql", "troubleshooting", "files"):
        assert main(["help", page]) == 0
        assert capsys.readouterr().out.startswith("# ")
    assert main(["help", "squel"]) == 2
    assert "did you mean sql?" in capsys.readouterr().err
    assert main(["help", "xyzzy"]) == 2
    error = capsys.readouterr().err
    assert " more" not in error
    assert all(f"weir help {name}" in listed for name in error.partition("pages: ")[2].strip().split(", "))


def test_help_has_the_pages_that_its_index_links(capsys):
    assert main(["help", "INDEX"]) == 0
    links = re.findall(r"\]\(([^):#]+\.md)\)", capsys.readouterr().out)
    assert "guides/kafka.md" in links
    for link in links:
        path = Path(link)
        name = path.parent.name if path.stem == "README" else path.stem
        assert main(["help", name.upper()]) == 0
        assert main(["help", link]) == 0 or path.stem == "README"
        assert capsys.readouterr().out.startswith("# ")
    folders = {f"docs/{place}/*.md".replace("/./", "/") for place in pages.PLACES}
    installed = tomllib.loads((pages.OF_THE_SOURCE.parent / "pyproject.toml").read_text())
    assert {
        glob for globs in installed["tool"]["setuptools"]["data-files"].values() for glob in globs
    } == folders


def test_help_finds_the_pages_of_an_installation(capsys, monkeypatch, tmp_path):
    (tmp_path / "sql.md").write_text("# SQL here\n")
    monkeypatch.setattr(pages, "OF_THE_SOURCE", tmp_path / "none")
    monkeypatch.setattr(pages, "INSTALLED", tmp_path)
    assert main(["help", "sql"]) == 0
    assert capsys.readouterr().out == "# SQL here\n"


WEIR = "import sys; from weir_operator.cli import main; sys.exit(main())"


@pytest.mark.parametrize("command", [["--version"], ["help", "sql"]])
def test_a_full_disk_behind_standard_output_is_one_line(command: list[str]) -> None:
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-c", WEIR, *command]
        ended = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.stderr == "weir: cannot write: No space left on device; make room, or write elsewhere\n"
    assert ended.returncode == 2
