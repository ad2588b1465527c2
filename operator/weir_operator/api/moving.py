"""When fragments of a policy move, how many at a time, and when a new image is taken back."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from weir_operator.api.base import Model
from weir_operator.api.values import Duration


class Drift(Model):
    """When a plan in force is replaced by a better one."""

    min_headroom: Annotated[float, Field(ge=0)] = Field(
        1.1, description="The plan is changed when headroom falls below this."
    )
    min_gain: Annotated[float, Field(ge=0)] = Field(
        0.2, description="A plan that is better by this fraction is worth moving to; 0: never."
    )
    hold: Duration = Field(30.0, description="How long either must last before anything moves.")


class MoveBudget(Model):
    """How many fragments may move."""

    moves: Annotated[int, Field(ge=0, le=10000)] = Field(
        20, description="Maximum number of moves within a period."
    )
    period: Duration = Field(3600.0, description="Length of the period.")
    concurrent: Annotated[int, Field(ge=1, le=1000)] = Field(
        1,
        description="Maximum number of fragments of a namespace that move at a time, except off nodes that "
        "must be left.",
    )
    deadline: Duration = Field(
        300.0, description="Longest time of a move: then it is taken back, or goes to another node."
    )


class RolloutSpec(Model):
    """When a new image is taken back."""

    max_lag: Duration = Field(
        300.0,
        description="A new image is taken back when rows pile up before a query for so long (more than "
        "twice as many batches wait as before, and ten more); that it works is watched for as long. It is "
        "also taken back when a fragment does not start or work with it within `moveBudget.deadline`.",
    )
