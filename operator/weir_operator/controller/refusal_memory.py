"""What is remembered of queries that could not be planned, or were only proposed; `refusals` uses it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

AGAIN = 600.0
"""[s] after which it is searched all the same: a search that its time limit ended may have been unlucky."""


@dataclass(frozen=True)
class Outcome:
    """How the search for a query's plan ended, on what ground; without refusal and error: in a proposal."""

    ground: str
    at: float  # [s since 1970]
    refusal: str = ""
    error: Exception | None = None


@dataclass
class RefusalMemory:
    """Outcomes by query. It is the loop's: a controller that starts anew searches once more."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def recall(self, query: str, ground: str, now: float) -> Outcome | None:
        """How the search on that ground ended, if that is not long ago."""
        outcome = self.outcomes.get(query)
        return outcome if outcome and outcome.ground == ground and now - outcome.at < AGAIN else None

    def forget_all_but(self, queries: Iterable[str]) -> None:
        """Queries that are no more."""
        present = set(queries)
        self.outcomes = {name: outcome for name, outcome in self.outcomes.items() if name in present}
