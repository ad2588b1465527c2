"""A part of PlacementPolicy: what headroom is enough."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from weir_operator.api.base import Model


class HeadroomSpec(Model):
    """Plans that cost least among those that have enough headroom."""

    enough: Annotated[float, Field(gt=0, le=1_000_000)] = Field(
        2.0,
        description="A headroom beyond which more is not wanted, at every point of the profile: of all plans "
        "that have it the one with the fewest hosts, then the least network usage. Where none has it, the "
        "one with the most. The default works off what has piled up in an outage in as long as that took.",
    )
