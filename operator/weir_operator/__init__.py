"""Weir's operator: the loop that observes, plans, applies and reports, and the command line."""

__version__ = "0.1.0"
"""Of Weir: package, images and chart (tests/house holds Chart.yaml and CHANGELOG.md to it)."""
