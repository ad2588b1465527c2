"""Snapshots of a query: a consistent cut of its fragments as a folder, taken while they run."""
