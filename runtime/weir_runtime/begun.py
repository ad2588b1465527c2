"""Which checkpoint a plan has begun: what it has published is known by that, also where it cannot be built
any more because its inputs refuse it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from weir_placement.model.fragment import FragmentSpec

from weir_runtime.names import read_json, write_whole
from weir_runtime.times import clock_of

NAME = "begun.json"
"""In a fragment's checkpoint folder, of one that delivers."""


@dataclass(frozen=True)
class Begun:
    """
    Attributes:
        checkpoint: the name of its folder.
        back: [us] by how much the plan's rows may be behind its watermark.
    """

    checkpoint: str
    back: int

    def clock(self, watermark_ms: int) -> int:
        """As of `SparkPlan`."""
        return clock_of(watermark_ms, self.back)


def begun(spec: FragmentSpec) -> Begun | None:
    """None: no life of it has begun, or those of a version that left no note."""
    raw = read_json(Path(spec.checkpoint) / NAME)
    return Begun(**raw) if raw else None


def note_begun(spec: FragmentSpec, present: Begun) -> None:
    """Called with the lease, when the sink is claimed and nothing of this life is published."""
    if begun(spec) != present:
        write_whole(Path(spec.checkpoint) / NAME, json.dumps(asdict(present)))
