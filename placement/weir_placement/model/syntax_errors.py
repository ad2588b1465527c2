"""What is wrong with a text that cannot be parsed: which token, where, and what was expected there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from weir_placement.model.amounts import count
from weir_placement.model.functions import UNIT_MICROS, WHY_REFUSED
from weir_placement.model.suggestion import near
from weir_placement.model.types import PLAIN

TOP_N = "filter in WHERE instead (the first rows of each window, top-N, are not supported yet)"
KEYWORDS = (
    *(
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "HAVING",
        "JOIN",
        "ON",
        "AND",
        "OR",
        "NOT",
        "BETWEEN",
        "UNION ALL",
    ),
    *("INTERVAL", "CASE", "WHEN", "THEN", "ELSE", "END", "LIKE", "IN", "IS", "NULL"),
)


_OPENING = ("WHERE", "ON", "HAVING", "AND", "OR", "(")
_CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "UNION", "LIMIT", "JOIN", "WINDOW")
_TABLE_FUNCTIONS = ("TABLE", "TUMBLE", "HOP", "CUMULATE", "SESSION")
_NO_TABLE = "Expected table name"
_ARGUMENTS = re.compile(r"The number of provided arguments \((\d+)\) .* supported arguments \((\d+)\)")


def wording(details: Mapping[str, Any], tokens: Sequence[Any], offset: int) -> tuple[str, int]:
    """(message, offset) of a parser's error at `offset`; `details` is how sqlglot describes it."""
    reason = str(details.get("description") or "it is nested too deeply").rstrip(".")
    at = next((i for i, token in enumerate(tokens) if token.start >= offset), len(tokens))
    if tokens and at == len(tokens) - 1 and _ends(reason, tokens[at]):
        at, offset = len(tokens), tokens[at].end + 1
    before = tokens[at - 1] if at else None
    here = f"before {tokens[at].text}" if at < len(tokens) else "at the end"
    if answer := _of_a_construct(reason, tokens, at, offset):
        return answer
    if before is not None and before.text == "," and at < len(tokens) and tokens[at].text.upper() in PLAIN:
        return f"a type is written behind AS, as in CAST(x AS {tokens[at].text.upper()})", offset
    if reason.startswith("Required keyword"):
        return f"something is missing after {before.text if before else ''}, {here}", offset
    if match := _ARGUMENTS.match(reason):
        most = count(int(match[2]), "argument")
        return f"{_call_around(tokens, at)} takes at most {most}, and has {match[1]} here", offset
    if reason.startswith(_NO_TABLE):
        return f"a stream's name is expected after {before.text if before else ''}, {here}", offset
    if match := re.match(r"Found multiple '([^']*)' clauses", reason):
        return f"{match[1]} appears twice; write it once, its conditions joined by AND", offset
    if reason == "Expected TYPE after CAST":
        return _no_type(tokens, at, offset)
    if reason == "Expecting )" and (length := _bare_length(tokens, at)):
        return f"a length of time is written in quotes here: '{length}'", tokens[at - 1].start
    if reason == "Expecting )":
        return f"a ( is not closed: a ) is expected {here}", offset
    if "Unexpected token" in reason:
        return _unexpected(tokens, at, offset)
    return re.sub(r"( for| but got)? <[^>]*>", "", reason), offset


def commas_between_conditions(tokens: Sequence[Any]) -> Iterator[tuple[str, int]]:
    """(message, offset) of each."""
    clauses = [""]
    for token in tokens:
        kind, word = token.token_type.name, token.text.upper()
        if kind == "L_PAREN":
            clauses.append("")
        elif kind == "R_PAREN" and len(clauses) > 1:
            clauses.pop()
        elif kind in _CLAUSES:
            clauses[-1] = word
        elif kind == "COMMA" and clauses[-1] in ("WHERE", "HAVING"):
            yield f"a comma joins no conditions of {clauses[-1]}; write AND", token.start


def _bare_length(tokens: Sequence[Any], at: int) -> str:
    """A number and a unit of time, as 1 hour, where a text is needed; "" where it is something else."""
    if not 0 < at < len(tokens) or tokens[at - 1].token_type.name != "NUMBER":
        return ""
    is_unit = tokens[at].text.upper().rstrip("S") in UNIT_MICROS
    return f"{tokens[at - 1].text} {tokens[at].text}" if is_unit else ""


def _call_around(tokens: Sequence[Any], at: int) -> str:
    """The name of the function whose parentheses a token is in."""
    depth = 0
    for i in range(min(at, len(tokens)) - 1, 0, -1):
        if tokens[i].text == "(" and not depth:
            return str(tokens[i - 1].text)
        depth += (tokens[i].text == ")") - (tokens[i].text == "(")
    return "a function"


def _of_a_construct(reason: str, tokens: Sequence[Any], at: int, offset: int) -> tuple[str, int] | None:
    """What is wrong with BETWEEN, AND, CASE, or a function in FROM; None where it is something else."""
    words = [token.text.upper() for token in tokens]
    if reason.startswith("Required keyword: 'high'"):
        return "BETWEEN needs two limits; write BETWEEN low AND high", offset
    if re.match(r"Required keyword: 'this' missing for .*\.(And|Or)'", reason):
        for i in range(1, len(words)):
            if words[i] in ("AND", "OR") and words[i - 1] in _OPENING:
                return f"something is missing between {words[i - 1]} and {words[i]}", tokens[i].start
    if reason == "Expected END after CASE":
        return f"CASE is not closed; write END after {tokens[min(at, len(tokens) - 1)].text}", offset
    for i in range(len(words) - 2):
        if words[i] in ("FROM", "JOIN") and words[i + 1] in _TABLE_FUNCTIONS and words[i + 2] == "(":
            function, right = (
                tokens[i + 1],
                "name a stream, and write GROUP BY window(event_time, '10 minutes')",
            )
            return f"{function.text}(...) is not supported in {words[i]}; {right}", function.start
    return None


def _ends(reason: str, last: Any) -> bool:
    """Whether the parser missed what comes after the last token, which it names also when it has read all."""
    if reason.startswith(_NO_TABLE):
        return last.text.upper() in ("FROM", "JOIN", ",")
    if reason.startswith("Required keyword"):
        return not _is_name(last) and last.token_type.name not in ("STRING", "NUMBER", "FROM", "R_PAREN")
    return reason == "Expecting )" and last.text != "("


def _no_type(tokens: Sequence[Any], at: int, offset: int) -> tuple[str, int]:
    name = tokens[at].text if at < len(tokens) and tokens[at].text != ")" else tokens[at - 1].text
    meant = near(name, PLAIN)
    return f"{name} is not a type; " + (
        f"did you mean {meant}?" if meant else f"use one of {', '.join(PLAIN)}"
    ), offset


def _unexpected(tokens: Sequence[Any], at: int, offset: int) -> tuple[str, int]:
    if at == len(tokens):
        return "the text ends too early", offset
    token, before = tokens[at], tokens[at - 1] if at else None
    dashed = _dashed(tokens, at)
    if dashed:
        return f"a name with a dash is written in backticks: `{dashed}`", offset
    if token.text == ")":
        return "this ) has no (", offset
    if before is not None and before.text.upper() == "TOP":
        return f"TOP is not supported: a stream never ends; {TOP_N}", before.start
    if before is not None and before.text.upper() == "AS" and token.text.isalpha() and not _is_name(token):
        return f"{token.text} is a keyword; write another name, or `{token.text}` in backticks", offset
    if token.text == "~":
        return "regular expressions are not supported; use LIKE", offset
    if any(each.text == ":" for each in tokens[max(at - 2, 0) : at]):
        return "JSON paths are not supported", offset
    for word in filter(None, (token, before)):
        meant = _keyword(word)
        if meant:
            return f"{word.text} is not expected here; did you mean {meant}?", word.start
    if before is not None and token.text == "(" and before.text.lower() in WHY_REFUSED:
        return (
            f"the function {before.text} is not supported: it {WHY_REFUSED[before.text.lower()]}",
            before.start,
        )
    if token.text == "." and before is not None and _is_name(before):  # `a.x b.y`: b was taken for an alias
        return f"{before.text} is not expected here; is a comma missing before it?", before.start
    if _is_name(token) or token.token_type.name in ("STRING", "NUMBER"):
        return f"{token.text} is not expected here; is a comma or an operator missing before it?", offset
    instead = {"&&": "AND", "||": "OR", "&": "AND", "|": "OR", "!": "NOT", "=>": ">="}.get(token.text)
    return f"{token.text} is not expected here" + (f"; write {instead}" if instead else ""), offset


def _dashed(tokens: Sequence[Any], at: int) -> str:
    """The name that dashes have cut, as hot-bids; "" when this is no such place."""
    parts = tokens[max(0, at - 1) :]
    name = ""
    for i, token in enumerate(parts):
        fits = _is_name(token) or token.token_type.name == "NUMBER" if i % 2 == 0 else token.text == "-"
        if not fits or (i and token.start != parts[i - 1].end + 1):
            break
        name += token.text
    return name.rstrip("-") if "-" in name.rstrip("-") else ""


def _keyword(token: Any) -> str:
    """The keyword that a name was probably meant to be."""
    word = token.text.upper()
    if token.token_type.name == "STRING" or word in KEYWORDS:
        return ""
    if word in ("GROUP", "ORDER", "UNION"):
        return {"GROUP": "GROUP BY", "ORDER": "ORDER BY", "UNION": "UNION ALL"}[word]
    meant = near(word, KEYWORDS) if _is_name(token) and len(word) > 2 else ""
    return meant if _one_slip(word, meant) else ""


def _one_slip(word: str, meant: str) -> bool:
    """Whether one letter is missing, added, changed, or two have changed places."""
    if not meant or abs(len(word) - len(meant)) > 1:
        return False
    if sorted(word) == sorted(meant):
        return True
    first = next(
        (i for i, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant))
    )
    rests = {(word[first + i :], meant[first + j :]) for i, j in ((1, 1), (0, 1), (1, 0))}
    return any(a == b for a, b in rests)


def _is_name(token: Any) -> bool:
    return token.token_type.name in ("VAR", "IDENTIFIER")


def unclosed(text: str) -> int | None:
    """Where a string or a quoted name begins that does not end; None when all do."""
    opened: tuple[str, int] | None = None
    for offset, character in enumerate(text):
        if opened is None and character in "'\"`":
            opened = (character, offset)
        elif opened is not None and character == opened[0]:
            opened = None
    return opened[1] if opened else None


def first_word(tokens: Iterable[Any]) -> str:
    """What is wrong with the beginning of a statement that is no SELECT; "" for a SELECT."""
    first = next(iter(tokens), None)
    if first is None or first.text.upper() in ("SELECT", "WITH", "(", "FROM", "VALUES", "TABLE"):
        return ""
    meant = " did you mean SELECT?" if near(first.text.upper(), ("SELECT",)) else ""
    only = "a query is one SELECT, or several with UNION ALL"
    return f"{first.text} is not supported;{meant or ' ' + only}"
