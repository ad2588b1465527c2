"""Soak tests use what the tests of the runtime stand on."""

from tests.runtime.sessions import run, spark

__all__ = ["run", "spark"]
