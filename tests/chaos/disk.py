"""A disk of a run's own: a file system in a file, which can be full, and can stand still."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SIZE = 512 * 2**20


class Disk:
    """Mounted at `folder`. Needs root, best in a mount namespace of its own (`unshare --mount`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        image = folder.with_suffix(".img")
        folder.mkdir(parents=True)
        with image.open("wb") as file:
            file.truncate(SIZE)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", str(image)], check=True)
        subprocess.run(["mount", "-o", "loop,noatime", str(image), str(folder)], check=True)
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Not a byte is left."""
        with self._ballast.open("wb") as file:
            free = os.statvfs(self.folder)
            for size in (free.f_bavail * free.f_frsize, *[2**20] * 64, *[4096] * 512):
                try:
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), size)
                except OSError:
                    continue

    def clear(self) -> None:
        """Takes away what `fill` put there."""
        self._ballast.unlink()

    def stall(self, seconds: float) -> subprocess.Popen[bytes]:
        """Whoever writes waits for so long. Its end is in the process's own hands, so that one who dies
        meanwhile leaves nobody waiting for ever."""
        script = 'fsfreeze --freeze "$0"; sleep "$1"; fsfreeze --unfreeze "$0"'
        return subprocess.Popen(["sh", "-c", script, str(self.folder), str(seconds)], start_new_session=True)
