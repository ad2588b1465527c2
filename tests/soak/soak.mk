.PHONY: soak
soak: env ## the runtime for long: 50 random queries, 20 moves, 20 SIGKILLs at random points, pauses of moves
	@$(PY) -m pytest -q -s --import-mode=importlib -o addopts= tests/soak
