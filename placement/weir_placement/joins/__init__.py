"""Multi-way window joins whose plan follows the statistics of their streams: planned only, not run.

After NOS: T. M. Tran and B. S. Lee, "Distributed Adaptive Windowed Stream Join Processing", University of
Vermont. Every stream heads a chain of one-way joins; each node of the chain holds a node operator set.
docs/model.md section 7 is the model, docs/papers.md (NOS) says which file has which part of the paper.
"""
