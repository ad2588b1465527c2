"""The command line `weir` (and `kubectl weir`): a module for each group of commands, imported on use."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from weir_operator.cli.exit_codes import INTERRUPTED

COMMANDS: dict[str, str] = {
    "plan": "weir_operator.cli.plan:plan",
    "evaluate": "weir_operator.cli.plan:evaluate",
    "strategies": "weir_operator.cli.strategies:strategies",
    "init": "weir_operator.cli.init:init",
    "test": "weir_operator.cli.row_tests:run_tests",
    "run": "weir_operator.cli.run:run",
    "query": "weir_operator.cli.query:query",
    "bench": "weir_operator.cli.bench:bench",
    "calibrate": "weir_operator.cli.calibrate:calibrate",
    "status": "weir_operator.cli.status:status",
    "explain": "weir_operator.cli.state:explain",
    "approve": "weir_operator.cli.state:approve",
    "rollback": "weir_operator.cli.state:rollback",
    "unpin": "weir_operator.cli.state:unpin",
    "snapshot": "weir_operator.cli.snapshot:snapshot",
    "diff": "weir_operator.cli.diff:diff",
    "help": "weir_operator.cli.pages:help_page",
    "completion": "weir_operator.cli.completion:completion",
    "crds": "weir_operator.cli.crds:crds",
    "operator": "weir_operator.cli.operator:operator",
    "uninstall": "weir_operator.cli.operator:uninstall",
}
"""Command -> "module:function". A command's options are its function's parameters, its help the docstring."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # while modules load; a command that is at work has its own words
        return INTERRUPTED


def _run(arguments: Sequence[str] | None) -> int:
    from weir_operator.cli.app import run

    words = list(sys.argv[1:] if arguments is None else arguments)
    command = next((word for word in words if not word.startswith("-")), "")
    names = [command] if command in COMMANDS else list(COMMANDS)
    functions = {}
    for name in names:
        module, function = COMMANDS[name].split(":")
        functions[name] = getattr(import_module(module), function)
    return run(functions, words)
