"""The compiled part: one evaluator and the searches over it. Imported only to compile it (see `compiled`)."""
