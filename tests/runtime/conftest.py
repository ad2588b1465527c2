"""Fixtures of the tests of the runtime."""

from tests.runtime.sessions import run, spark

__all__ = ["run", "spark"]
