"""Fixtures of the tests of the runtime."""

from sessions import run, spark

__all__ = ["run", "spark"]
