"""What becomes of a query whose source has lost rows that it has not read (`onDataLoss`)."""

from __future__ import annotations

from collections.abc import Mapping

from weir_placement.model.fragment import FragmentError

ON_LOSS = ("Fail", "Continue")


class DataLoss(ValueError):
    """Rows were deleted before they were read, and the policy is Fail."""


class Losses:
    """Of one source.

    Args:
        kind: the key of the Stream's `source`.
        subject: which one, for messages.

    Raises:
        FragmentError: a policy that there is not.
    """

    def __init__(self, kind: str, subject: str, policy: str) -> None:
        if policy not in ON_LOSS:
            raise FragmentError(f"source.{kind}.onDataLoss: {policy!r} is not one of {', '.join(ON_LOSS)}")
        self._kind = kind
        self._subject = subject
        self._fail = policy == "Fail"

    def check(self, message: str) -> None:
        """Raises DataLoss for what is gone, unless the policy is Continue."""
        if self._fail:
            raise DataLoss(
                f"{self._subject}: {message}; "
                f"with `onDataLoss: Continue` in source.{self._kind} the query continues with what remains"
            )

    def check_rows(self, counts: Mapping[str, int], message: str) -> None:
        """The same of rows by partition, which stand in `message` at {}; nothing when there are none."""
        if counts:
            rows = (f"{count} rows of partition {key}" for key, count in sorted(counts.items()))
            self.check(message.format(", ".join(rows)))
