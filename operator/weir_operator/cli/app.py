"""The typer application over the commands in use, and what errors print."""

from __future__ import annotations

import errno
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from weir_operator import __version__
from weir_operator.cli.exit_codes import BAD_INPUT, INTERNAL
from weir_operator.manifests.finding import ManifestError
from weir_operator.manifests.texts import SUFFIXES

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a write fails with that there is no room for."""


def run(functions: Mapping[str, Callable[..., Any]], arguments: Sequence[str]) -> int:
    """Runs `weir ARGUMENTS...` with these commands; returns the exit code."""
    app = typer.Typer(
        name="weir",
        help="Places streaming queries on a cluster. Every command has --help with examples.\n\n"
        "Exit codes: 0 done; 1 a query is rejected, a test fails, something differs; 2 bad input, nothing is "
        "done; 70 a bug in Weir.",
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name, function in functions.items():
        app.command(name, help=_flowing(inspect.getdoc(function) or ""))(function)
    try:
        result = typer.main.get_command(app).main(list(arguments), prog_name="weir", standalone_mode=False)
        sys.stdout.flush()
        return int(result or 0)
    except ManifestError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except typer.Exit as error:
        return error.exit_code
    except typer.Abort:
        print("aborted", file=sys.stderr)
        return 130
    except (BrokenPipeError, SystemExit) as error:
        # Typer and Rich make an exit with 1 of a broken pipe.
        if not isinstance(error.__context__ or error, BrokenPipeError):
            raise
        # The reader is gone (`| head`): nothing more can be written.
        _write_no_more()
        return 0
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # click's usage errors
            print(_usage(error, arguments), file=sys.stderr)
            return BAD_INPUT
        if isinstance(error, OSError) and _is_named(error.filename, arguments):
            print(f"{error.filename}: {error.strerror}", file=sys.stderr)
            return BAD_INPUT
        if isinstance(error, OSError) and error.errno in FULL and not error.filename:
            print(f"weir: cannot write: {error.strerror}; make room, or write elsewhere", file=sys.stderr)
            _write_no_more()
            return BAD_INPUT
        if _is_of_a_cluster(error):
            look = "see `kubectl cluster-info` and `kubectl auth can-i --list`"
            print(f"weir: the cluster: {error}; {look}", file=sys.stderr)
            return BAD_INPUT
        traceback.print_exc()
        print("internal error: this is a bug in Weir, not in the input", file=sys.stderr)
        return INTERNAL


def _write_no_more() -> None:
    """What waits to be written to standard output is thrown away: writing it would fail again at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _flowing(text: str) -> str:
    """A help text whose paragraphs wrap where the terminal ends; indented lines, the examples, stay.

    >>> _flowing("One.\\n\\nTwo\\nlines.\\n\\n  weir plan")
    'One.\\n\\nTwo lines.\\n\\n  weir plan'
    """
    return re.sub(r"(?<=[^\n])\n(?=[^\s])", " ", text)


def _usage(error: Any, arguments: Sequence[str]) -> str:
    """One line about a wrong command line."""
    command = error.ctx.command_path if getattr(error, "ctx", None) else "weir"
    message = str(error.format_message()).rstrip(".?") or "no command"
    option = getattr(error, "param", None)
    if option is not None and message.startswith("Invalid value"):
        written = _written(option.opts, arguments)
        if option.param_type_name == "argument":
            written = _written_argument(option, error.ctx, arguments)
        message = f"{option.opts[-1]}{written}: {_as_advice(str(error.message))}"
    message = message.replace("Invalid value for ", "").removeprefix("Invalid value: ")
    # `weir plan a.yaml` and `weir plan -f *.yaml`
    pairs = zip(["", *arguments], arguments, strict=False)
    if command == "weir" and re.search(r"option: -[vV]$|command 'version'$", message):
        message += "; write weir --version"
    if command == "weir init" and "extra argument" in message:
        message += "; a stream has one sample: run `weir init` for each, or put all rows into one file first"
    files = [word for before, word in pairs if not before.startswith("-") and Path(word).suffix in SUFFIXES]
    context = getattr(error, "ctx", None)
    takes_files = context is not None and any("-f" in each.opts for each in context.command.params)
    if files and takes_files and ("extra argument" in message or "--filename" in message):
        message += f"; write -f before each file: {' '.join(f'-f {file}' for file in files[:3])}"
    return f"{command}: {message}; see `{command} --help`"


def _written(names: Sequence[str], arguments: Sequence[str]) -> str:
    """The value that the command line has for an option, after a blank."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if word in names:
            return f" {following}"
        if word.partition("=")[0] in names:
            return f" {word.partition('=')[2]}"
    return ""


def _written_argument(argument: Any, context: Any, words: Sequence[str]) -> str:
    """The value that the command line has for an argument, after a blank."""
    options = {name: each for each in context.command.params for name in each.opts}
    values, before = [], None
    for word in words[1:]:
        if not word.startswith("-") and (before is None or before.is_flag):
            values.append(word)
        before = options.get(word) if word.startswith("-") else None
    names = [each.name for each in context.command.params if each.param_type_name == "argument"]
    index = names.index(argument.name)
    return f" {values[index]}" if index < len(values) else ""


_ADVICE = {
    # what the parser of options says -> what would be right
    r"Input should be a valid integer.*": "write a whole number",
    r"Input should be a valid number.*": "write a number",
    r"Input should be greater than or equal to (.*)": r"write a number of at least \1",
    r"Input should be less than or equal to (.*)": r"write a number of at most \1",
    r"(?:Value error, )?.* is not one of (.*)": r"write one of \1",
}


def _as_advice(message: str) -> str:
    for pattern, advice in _ADVICE.items():
        if match := re.fullmatch(pattern, message.rstrip(".")):
            return match.expand(advice).replace("'", "")
    return message


def _is_of_a_cluster(error: Exception) -> bool:
    """Whether an API server refused, or did not answer. Its client is loaded where one is spoken to."""
    client = sys.modules.get("weir_operator.kube.api")
    return client is not None and isinstance(error, client.ApiError)


def _is_named(path: object, arguments: Sequence[str]) -> bool:
    """Whether the command line names a path, or a folder above it: then what is wrong with it is no bug."""
    if not isinstance(path, str | Path):
        return False
    words = {Path(word.rpartition("=")[2]).absolute() for word in arguments if word}
    return not words.isdisjoint({Path(path).absolute(), *Path(path).absolute().parents})


def _print_version(requested: bool) -> None:
    """Called for every command: whether --version is given."""
    if not requested:
        return
    print(f"weir {__version__}")
    raise typer.Exit()


def _root(
    show_version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
    ),
) -> None:
    """The options of `weir` itself."""
