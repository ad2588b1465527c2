"""Rewriting: SQL to operators, swap rules, join orders, signatures (model.md section 4).

`sql.query_from_sql` makes the written plan, `rewriter.Rewriter` its legal moves and every plan that
they reach, `shape.signature` the canonical name of a stream.
"""
