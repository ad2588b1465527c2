"""The time of day of some processes, which can step; everyone else keeps the true one."""

from __future__ import annotations

import subprocess
from pathlib import Path


class SteppedClock:
    """For processes that are started with its `environment`. Needs a C compiler."""

    def __init__(self, folder: Path) -> None:
        self._offset = folder / "clock"
        self._offset.write_bytes(bytes(8))
        library = folder / "clock.so"
        source = Path(__file__).with_name("clock.c")
        command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True)
        self.environment = {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(self._offset)}

    def step(self, seconds: float) -> None:
        """To so many seconds off the true time, at once; eight bytes in place, which the processes map."""
        with self._offset.open("r+b") as file:
            file.write(round(seconds * 1e9).to_bytes(8, "little", signed=True))
