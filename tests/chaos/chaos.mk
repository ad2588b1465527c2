.PHONY: chaos chaos-smoke
FAULTS ?= 1000
# As root: the runs mount a disk of their own, in a mount namespace that goes with them.
CHAOS = unshare --mount $(PY) -m tests.chaos

chaos: env ## FAULTS=1000 random faults on three running queries, each run audited; goes on where it was stopped
	@$(CHAOS) --until $(FAULTS)

chaos-smoke: env ## 20 of them: one run, 6.5 minutes on 2 busy cores
	@$(CHAOS) --seed 1 --each 20 --results out/chaos/smoke.jsonl
