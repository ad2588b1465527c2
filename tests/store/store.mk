.PHONY: test-store
test-store: env ## flows through a real S3 server (builds one from Go modules the first time)
	@$(PY) -m pytest -q -o addopts="--import-mode=importlib --strict-markers -p no:cacheprovider" --durations=5 tests/store
