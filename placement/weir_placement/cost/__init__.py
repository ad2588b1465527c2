"""What operators, links and nodes cost (model.md sections 2, 3 and 5): one file a concept."""
