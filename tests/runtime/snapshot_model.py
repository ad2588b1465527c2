"""Fragments that leave the files that Spark and the publisher leave, without either."""

from __future__ import annotations

import json
from pathlib import Path

from weir_placement.model.fragment import Input, Output
from weir_placement.model.location import Location

from tests.runtime.support import COLUMNS, files_output, fragment

KEPT = 100
"""Batches of which a fragment keeps its files, as Spark does, and a flow its own."""


class Running:
    """A fragment that does in small steps what Spark and the publisher do: offsets, state, batch, commit."""

    def __init__(self, root: Path, name: str, upstream: Running | None, sink: Path | None = None) -> None:
        self.flow = root / "exchange" / name
        self.upstream, self.readers = upstream, list[Running]()
        if upstream:
            upstream.readers.append(self)
            read = Input(upstream.flow.name, "exchange", flow=Location("folder", str(upstream.flow)))
        else:
            read = Input("a", "source", source={"rate": {}}, columns=COLUMNS, event_time="ts")
        output = Output("exchange", flow=Location("folder", str(self.flow)))
        output = files_output(sink, "k") if sink else output
        self.spec = fragment(root, name, [read], [], output)
        self.folder = Path(self.spec.checkpoint) / "0123456789ab"
        self.batch, self.phase, self.next, self.position = 0, 0, 0, 0
        for folder in ("offsets", "commits", "state/0/0"):
            (self.folder / folder).mkdir(parents=True)
        self.flow.mkdir(parents=True)
        (self.folder / "numbering.json").write_text('{"format": 1, "numbering": "n", "spark": "4.2.0"}')

    def step(self) -> None:
        """The next one of the four."""
        (self._plan, self._work, self._publish, self._commit)[self.phase]()
        self.phase = (self.phase + 1) % 4

    def _plan(self) -> None:
        if self.upstream:
            self.next = max((int(p.stem) + 1 for p in self.upstream.flow.glob("*.arrow")), default=0)
        end = {"input": self.spec.inputs[0].name, "at": {"next": self.next, "of": "n"}}
        text = f'v1\n{{"batchWatermarkMs": 0}}\n{json.dumps(end)}'
        (self.folder / "offsets" / str(self.batch)).write_text(text)

    def _work(self) -> None:
        (self.folder / "state" / "0" / "0" / f"{self.batch + 1}.delta").write_text(str(self.next))

    def _publish(self) -> None:
        (self.flow / f"{self.batch:010d}.arrow").write_text(str(self.batch))

    def _commit(self) -> None:
        (self.folder / "commits" / str(self.batch)).write_text("v1\n{}")
        self.position = self.next
        old = self.batch - KEPT
        for name in (f"offsets/{old}", f"commits/{old}", f"state/0/0/{old}.delta"):
            (self.folder / name).unlink(missing_ok=True)
        if self.readers:
            slowest = min(reader.position for reader in self.readers)
            for path in self.flow.glob("*.arrow"):
                if int(path.stem) < slowest - KEPT:
                    path.unlink()
        self.batch += 1
