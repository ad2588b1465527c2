"""What may have been meant by a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggestion(name: str, choices: Iterable[str], what: str = "choices") -> str:
    """`did you mean X?`, or the list of choices. Case does not count.

    >>> suggestion("temprature", ["sensor", "temperature"])
    'did you mean temperature?'
    >>> suggestion("x", ["sensor", "temperature"], "columns")
    'columns: sensor, temperature'
    """
    names = sorted(set(choices))
    close = near(name, names)
    if close:
        return f"did you mean {close}?"
    if not names:
        return f"{what}: none"
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"{what}: {', '.join(names[:12])}{more}"


def near(name: str, choices: Iterable[str], least: float = 0.6) -> str:
    """The choice that is written most like a name; "" when none is so by `least`, from 0 to 1 (the same)."""
    folded = {choice.lower(): choice for choice in choices}
    matches = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=least)
    return next((folded[match] for match in matches), "")
