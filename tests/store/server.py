"""An S3 server as a process of this machine: objects are files of a folder, names are taken once."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
KEYS = {"AWS_ACCESS_KEY_ID": "weir-test", "AWS_SECRET_ACCESS_KEY": "weir-test-secret"}
REGION = "eu-central-1"
BUCKET = "flows"


@dataclass
class StoreServer:
    """It has one bucket."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    command: list[str]
    authority: Path | None = None

    @property
    def options(self) -> dict[str, Any]:
        """As a fragment is told them, whose variables have the keys."""
        scheme = "https" if self.authority else "http"
        return {"endpoint": f"{scheme}://127.0.0.1:{self.port}", "region": REGION}

    def stop(self) -> None:
        """At once."""
        self.process.kill()
        self.process.wait()

    def start_again(self) -> None:
        """On the same data and port; returns at once."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, start_new_session=True)


@cache
def program() -> Path:
    """Built the first time."""
    subprocess.run([ROOT / "hack/tools", "versitygw"], check=True)
    return Path(os.environ.get("WEIR_CACHE", Path.home() / ".cache/weir"), "bin/versitygw")


def start_server(folder: Path, certificate: tuple[Path, Path] | None = None) -> StoreServer:
    """Returns when it answers; with a certificate and its key it speaks TLS."""
    for name in (f"data/{BUCKET}", "metadata"):
        (folder / name).mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = int(listening.getsockname()[1])
    command = [str(program()), "--port", f"127.0.0.1:{port}", "--region", REGION, "--quiet"]
    command += ["--access", KEYS["AWS_ACCESS_KEY_ID"], "--secret", KEYS["AWS_SECRET_ACCESS_KEY"]]
    if certificate:
        command += ["--cert", str(certificate[0]), "--key", str(certificate[1])]
    command += ["posix", "--sidecar", str(folder / "metadata"), str(folder / "data")]
    log = (folder / "log").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    deadline = time.monotonic() + 60
    while True:
        assert process.poll() is None, (folder / "log").read_text()[-2000:]
        assert time.monotonic() < deadline, f"no server within 60 s; see {folder}/log"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
            continue
        return StoreServer(folder, port, process, command, certificate[0] if certificate else None)
