"""Weir's operator: the loop that observes, plans, applies and reports, and the command line."""
