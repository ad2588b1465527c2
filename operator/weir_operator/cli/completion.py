"""`weir completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib import import_module
from typing import Annotated

import typer

CommandOptions = Mapping[str, Sequence[tuple[str, str]]]
"""By command: (option, help)."""


class Shell(StrEnum):
    """Shells that can be given completion."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell.", metavar="SHELL")]) -> int:
    """Print completion of commands and options for a shell: bash, zsh or fish.

    Examples:

      source <(weir completion bash)

      weir completion fish > ~/.config/fish/completions/weir.fish
    """
    print(_fish(_options()) if shell is Shell.fish else _bash(_options(), shell), end="")
    return 0


def _options() -> CommandOptions:
    from weir_operator.cli import COMMANDS

    app = typer.Typer(add_completion=False)
    for name, place in COMMANDS.items():
        module, function = place.split(":")
        app.command(name)(getattr(import_module(module), function))
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {
        name: [
            (option, (parameter.help or "").split(";")[0].rstrip("."))
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option.startswith("-")
        ]
        for name, command in commands.items()
    }


def _bash(options: CommandOptions, shell: Shell) -> str:
    """For zsh too, which takes bash's."""
    first = "autoload -U +X bashcompinit && bashcompinit\n" if shell is Shell.zsh else ""
    cases = "".join(
        f"    {name}) words='{' '.join(option for option, _ in texts)} --help' ;;\n"
        for name, texts in options.items()
    )
    return f"""{first}_weir() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words='--version --help'
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(options)} $words" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _weir weir kubectl-weir
"""


def _fish(options: CommandOptions) -> str:
    lines = [f"complete -c weir -n __fish_use_subcommand -f -a '{' '.join(options)}'"]
    for name, texts in options.items():
        for option, text in texts:
            kind = "-l" if option.startswith("--") else "-s"
            quoted = text.replace("\\", "").replace("'", "\\'")
            condition = f"'__fish_seen_subcommand_from {name}'"
            lines.append(f"complete -c weir -n {condition} {kind} {option.lstrip('-')} -d '{quoted}'")
    return "\n".join(lines) + "\n"
