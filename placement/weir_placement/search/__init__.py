"""Searches for the plan with the greatest headroom (000 section 5): one file an algorithm."""
