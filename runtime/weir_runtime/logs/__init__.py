"""Replayable logs of batches: what a fragment can read, one file a kind."""
