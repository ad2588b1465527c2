"""Rewriting: SQL to operators, swap rules, join orders, signatures (model.md section 4)."""
