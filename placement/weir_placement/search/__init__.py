"""Searches for the plan with the greatest headroom (WhiteWater, section 5): one file an algorithm."""
