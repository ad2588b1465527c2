"""What a benchmark ran on."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path


def processor() -> str:
    """The processor's model as the kernel names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def commit() -> str:
    """The commit of the source that runs; `unknown` outside of a clone."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    return process.stdout.strip() or "unknown"


def described() -> str:
    """Processor, cores, load, Python and libraries in one sentence."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "ortools"))
    return (
        f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} when the run ended, "
        f"Python {platform.python_version()}, {libraries}."
    )
