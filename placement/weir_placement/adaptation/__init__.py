"""Operators distributed and redistributed by what is measured: planned and simulated only, not run.

After D-CAPE: Timothy Sutherland, Elke A. Rundensteiner, "D-CAPE: A Self-Tuning Continuous Query Plan
Distribution Architecture", WPI-CS-TR-04-18, 2004. docs/papers.md (D-CAPE) says which file has which part of
the paper, and where the paper is odd.
"""
