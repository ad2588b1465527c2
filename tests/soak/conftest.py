"""Soak tests use what the tests of the runtime stand on."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "runtime"))

from sessions import run, spark

__all__ = ["run", "spark"]
