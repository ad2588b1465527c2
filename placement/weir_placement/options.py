"""Options of a strategy: fields of a frozen dataclass that stands beside the strategy's function.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Options:
...     alpha: float = option(0.5, "share of moves that change nodes, not the logical plan", most=1)
...     items: int | None = option(None, "items at most", none="any", name="max-items")
>>> read(Options, {"max-items": "7"})
Options(alpha=0.5, items=7)
>>> read(Options, {"alpha": "2"})
Traceback (most recent call last):
    ...
weir_placement.options.OptionError: option alpha: 2 is not allowed; give a number from 0 to 1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from math import inf, isfinite
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_type_hints

Value = int | float | bool | None
O = TypeVar("O")  # noqa: E741  the dataclass of a strategy's options

LARGEST = 10**15
"""Whole numbers go no further: compiled code has 64 bits, and doubles some of them."""
SWITCH = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}


class OptionError(ValueError):
    """An option that a strategy does not have, or a value that it cannot have; `right` would be possible."""

    def __init__(self, name: str, wrong: str, right: str) -> None:
        super().__init__(f"option {name}: {wrong}; {right}")
        self.name, self.wrong, self.right = name, wrong, right


@dataclass(frozen=True)
class Option:
    """One option; `objective` is the only one for which it means anything, "" when it does for all.

    `none` is the word for a value of None, where that is possible ("any").
    """

    name: str
    type: type
    default: Value
    help: str
    unit: str = ""
    least: float = 0.0
    most: float = inf
    none: str = ""
    objective: str = ""

    @property
    def accepts(self) -> str:
        """What is possible, in words."""
        if self.type is bool:
            return "on or off"
        text = "a whole number" if self.type is int else "a number"
        if self.most < inf:
            text += f" from {self.least:g} to {self.most:g}"
        elif self.least > -inf:
            text += f" of at least {self.least:g}"
        return f"{text}, or {self.none}" if self.none else text

    def shown(self, value: Value) -> str:
        """A value as `--set` takes it."""
        if value is None:
            return self.none
        if isinstance(value, bool):
            return "on" if value else "off"
        return f"{value:g}" if value < LARGEST else str(value)

    def read(self, text: str) -> Value:
        """The value of a text.

        Raises:
            OptionError: it is none, or out of bounds.
        """
        if self.none and text == self.none:
            return None
        value = SWITCH.get(text.lower()) if self.type is bool else self._number(text)
        if value is None:
            raise OptionError(self.name, f"{text} is not allowed", f"give {self.accepts}")
        return value

    def _number(self, text: str) -> int | float | None:
        try:
            number = float(text)
        except ValueError:
            return None
        if not (isfinite(number) and self.least <= number <= self.most):
            return None
        if self.type is float:
            return number
        return int(number) if number.is_integer() and abs(number) <= LARGEST else None


def option(
    default: Value,
    help: str,
    *,
    name: str = "",
    unit: str = "",
    least: float = 0.0,
    most: float = inf,
    none: str = "",
    objective: str = "",
) -> Any:
    """A field of a class of options; its name with hyphens is the option's if `name` does not say another."""
    about = {"name": name, "help": help, "unit": unit, "least": least, "most": most}
    return field(default=default, metadata={**about, "none": none, "objective": objective})


@dataclass(frozen=True)
class NoOptions:
    """A strategy without options."""


def options_of(kind: type[Any]) -> Mapping[str, Option]:
    """The options of a class, by name."""
    types = get_type_hints(kind)
    options = {}
    for each in fields(kind):
        about = dict(each.metadata)
        name = about.pop("name") or each.name.replace("_", "-")
        plain = next(iter(get_args(types[each.name])), types[each.name])  # of `int | None`, int
        default: Any = each.default
        options[name] = Option(name, plain, default, **about)
    return MappingProxyType(options)


def errors(kind: type[Any], texts: Mapping[str, str], objective: str = "") -> Iterator[OptionError]:
    """What is wrong with some settings."""
    options = options_of(kind)
    for name, text in texts.items():
        if name not in options:
            yield OptionError(name, "no such option", f"options: {', '.join(options) or 'none'}")
            continue
        only = options[name].objective
        if only and objective and only != objective:
            yield OptionError(name, f"{name} is for {only} only", f"leave it out for {objective}")
            continue
        try:
            options[name].read(text)
        except OptionError as error:
            yield error


def read(kind: type[O], texts: Mapping[str, str], objective: str = "") -> O:
    """The options with their defaults where `texts` has nothing.

    Raises:
        OptionError: the first of `errors`.
    """
    for error in errors(kind, texts, objective):
        raise error
    options = options_of(kind)
    named = {each.name: name for each, name in zip(fields(kind), options, strict=True)}  # type: ignore[arg-type]
    return kind(**{key: options[name].read(texts[name]) for key, name in named.items() if name in texts})
