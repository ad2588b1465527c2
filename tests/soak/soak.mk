.PHONY: soak
soak: env ## the runtime for long: 50 random queries, killed at every point, 20 moves with their pauses, 20 SIGKILLs, a backlog of 64 x 30 MB, a newer Spark (456 MB to download once)
	@WEIR_RANDOM_QUERIES=50 $(PY) -m pytest -q -s --import-mode=importlib -o addopts= tests/runtime/test_random_queries.py tests/soak
