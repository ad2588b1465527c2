"""The papers' experiments: each writes a table (Markdown and CSV) and a plot for docs/benchmarks/."""
