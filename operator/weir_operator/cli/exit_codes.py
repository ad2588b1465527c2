"""Exit codes of `weir`: DIFFERENT is also "some query was rejected"."""

OK, DIFFERENT, BAD_INPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 70, 130
