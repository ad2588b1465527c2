"""What faults befall: three queries in cells of their own, a Kafka broker and an S3 server behind wires, and
sources that grow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.chaos.cell import Cell, Remote, wait_for
from tests.chaos.life import Life
from tests.chaos.wire import Wire
from tests.kafka.broker import start_broker
from tests.runtime.replayer import Replayer
from tests.store.server import start_server


class Testbed:
    """Everything of a run below `root`; `stop` leaves its files."""

    def __init__(self, root: Path) -> None:
        to_broker, to_store = Wire(), Wire()
        self._store = start_server(root / "s3")
        try:
            self._broker = start_broker(root / "broker", line=to_broker.lead_to)
        except BaseException:
            self._store.stop()
            raise
        places = {
            "sources": str(root / "sources"),
            "broker": f"127.0.0.1:{to_broker.port}",
            "store": f"http://127.0.0.1:{to_store.lead_to(self._store.port)}",
        }
        remotes = {
            "folder": None,
            "topic": Remote(self._broker, to_broker),
            "store": Remote(self._store, to_store),
        }
        self.replayers = [Replayer(root / "sources" / name, every=0.5) for name in "ab"]
        for replayer in self.replayers:
            replayer.start()
        self.cells = [Cell(query, root / query, places, remote) for query, remote in remotes.items()]

    def lives(self) -> list[tuple[Cell, Life]]:
        """Every fragment's newest process."""
        return [(cell, life) for cell in self.cells for life in cell.lives()]

    def wait_for_all(self, condition: Callable[[Cell], bool], seconds: float) -> bool:
        """Whether it came true of every cell in time; controllers that end are started again."""

        def holds() -> bool:
            for cell in self.cells:
                cell.supervise()
            return all(condition(cell) for cell in self.cells)

        return bool(wait_for(holds, seconds))

    def finish(self) -> None:
        """The sources come to their end."""
        for replayer in self.replayers:
            replayer.finish.set()

    def stop(self) -> None:
        """Every process ends."""
        self.finish()
        for cell in self.cells:
            cell.stop()
        self._broker.stop()
        self._store.stop()
