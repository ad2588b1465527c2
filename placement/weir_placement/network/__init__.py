"""Network usage as an objective (seed 004, model.md section 5): join order, placement and reuse at once."""
