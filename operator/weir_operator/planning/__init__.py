"""From problems to plans, the same for the command line and the loop: which strategy a policy means, what the
plans of others leave of the nodes and budgets, and plans that run beside a problem that has changed."""
