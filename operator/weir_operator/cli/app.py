"""The typer application over the commands in use, and what errors print."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer

from weir_operator import __version__
from weir_operator.cli.exit_codes import BAD_INPUT, INTERNAL
from weir_operator.manifests.finding import ManifestError


def run(functions: Mapping[str, Callable[..., Any]], arguments: Sequence[str]) -> int:
    """Runs `weir ARGUMENTS...` with these commands; returns the exit code."""
    app = typer.Typer(
        name="weir",
        help="Places streaming queries on a cluster. Every command has --help with examples.",
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name, function in functions.items():
        app.command(name)(function)
    try:
        result = typer.main.get_command(app).main(list(arguments), prog_name="weir", standalone_mode=False)
        return int(result or 0)
    except ManifestError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except typer.Exit as error:
        return error.exit_code
    except typer.Abort:
        print("aborted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader is gone (`| head`): nothing more can be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # click's usage errors
            error.show()
            return BAD_INPUT
        traceback.print_exc()
        print("internal error: this is a bug in Weir, not in the input", file=sys.stderr)
        return INTERNAL


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
