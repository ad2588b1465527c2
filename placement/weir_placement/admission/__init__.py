"""Admission, allocation and reuse of shared streams as one decision: planned only, not run.

After SQPR: E. Kalyvianaki, W. Wiesemann, Q. H. Vu, D. Kuhn and P. Pietzuch, "SQPR: Stream Query Planning with
Reuse". docs/model.md section 6 is the model, docs/papers.md (SQPR) says which file has which part of the
paper.
"""
