"""Times that come again, as cron writes them; in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field

from weir_operator.api.values import refuse

FIELD = r"[0-9A-Za-z*/,#-]+"
PATTERN = rf"^{FIELD}( {FIELD}){{4}}$"
RIGHT = "write minute, hour, day, month and weekday, such as 0 3 * * * for 3:00 UTC"


def check_schedule(text: str) -> str:
    """The text. Raises PydanticCustomError for one that means nothing, or never comes."""
    try:
        next(CronSim(text, datetime(2026, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        raise refuse(f"is not a schedule ({error})", RIGHT) from None
    except StopIteration:
        raise refuse("never comes", RIGHT) from None
    return text


def last_due(schedule: str, now: float) -> float | None:
    """When it came last, at or before `now` [s since 1970]; None: it never has.

    >>> last_due("0 3 * * *", 1_767_236_400.0) == last_due("0 3 * * *", 1_767_236_400.0 + 86_399)
    True
    """
    after = datetime.fromtimestamp(int(now) // 60 * 60 + 60, UTC)
    due = next(CronSim(schedule, after, reverse=True), None)
    return due.timestamp() if due else None


Schedule = Annotated[str, Field(max_length=128, pattern=PATTERN), AfterValidator(check_schedule)]
