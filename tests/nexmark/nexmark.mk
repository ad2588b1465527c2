.PHONY: nexmark
nexmark: env ## Nexmark's queries on 200,000 events, as a backlog and fed live, against DuckDB
	@WEIR_NEXMARK_EVENTS=200000 $(PY) -m pytest -q -s --import-mode=importlib -o addopts= tests/nexmark
