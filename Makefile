# `make demo` and `make test` are all a newcomer needs; both make the environment first.
.DEFAULT_GOAL := help
.PHONY: help env demo test test-tutorial site fuzz lint pages clean
PY := .venv/bin/python

help: ## what can be made
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | sort | expand -t 18

env: ## .venv with the locked dependencies, and a Java for Spark
	@hack/env

demo: env ## the flights example on this machine: plan, run, drift, re-plan, audit; pictures in out/demo
	@$(PY) -m examples.flights.demo

test: env lint site ## every test that needs only the environment
	@$(PY) -m pytest -q --durations=15

site: env ## the docs as a site in out/site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet

test-tutorial: env ## docs/tutorial.md, command by command, on Spark (four minutes)
	@$(PY) -m pytest -q -o addopts="--import-mode=importlib --strict-markers -p no:cacheprovider" tests/tutorial

ROUNDS ?= 20
fuzz: env ## the tests on generated cases with new random seeds (printed; SEED= repeats one), ROUNDS=20 times or until one fails
	@for round in $$(seq $(ROUNDS)); do \
	  seed=$(or $(SEED),$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')); \
	  echo "round $$round; again: make fuzz ROUNDS=1 SEED=$$seed"; \
	  $(PY) -m pytest -q -m hypothesis --hypothesis-profile=fuzz --hypothesis-seed=$$seed --no-header || exit 1; \
	done

lint: env ## format, types, arrows between the rooms
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy --strict placement runtime operator tests
	@.venv/bin/lint-imports

pages: env ## makes the pages of docs/benchmarks again that are outdated, one after the other (hours; PAGES="weir bench iflow-64" for one)
	@commands="$${PAGES:-$$($(PY) -m weir_placement.bench.stamp docs/benchmarks)}"; \
	echo "$$commands" | while read -r command; do echo "$$command"; PATH="$(CURDIR)/.venv/bin:$$PATH" $$command || exit 1; done

clean: ## everything that was made here
	rm -rf .venv out .weir build .mypy_cache .ruff_cache

-include hack/e2e.mk
-include tests/soak/soak.mk
-include tests/nexmark/nexmark.mk
-include tests/api_server/api_server.mk
-include tests/kafka/kafka.mk
-include tests/store/store.mk
-include tests/chaos/chaos.mk
