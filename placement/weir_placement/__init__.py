"""Weir's planner: pure functions from a snapshot of the cluster and its queries to a plan."""
