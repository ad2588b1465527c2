"""Weir's runtime: one fragment of a plan as one Spark Structured Streaming application."""
