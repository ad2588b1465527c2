"""Fixtures of Nexmark's queries: the one Spark session of all tests that run fragments here."""

from tests.runtime.sessions import run, spark

__all__ = ["run", "spark"]
