"""Hierarchical network partitions and the planners that work on them (seed 004, section 3)."""
