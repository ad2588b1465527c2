"""Plans within budgets: which queries are admitted, and how their plans get few enough fragments."""
