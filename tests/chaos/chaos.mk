.PHONY: chaos chaos-smoke
FAULTS ?= 1000
# As root: the runs mount a disk of their own, in a mount namespace that goes with them.
CHAOS = unshare --mount $(PY) -m tests.chaos

chaos: env ## FAULTS=1000 random faults on three running queries, each run audited; goes on where it was stopped
	@$(CHAOS) --until $(FAULTS)

# Each kind at least once, and those most often after which no Spark starts anew: a start is ten times what the
# other faults cost. Of 20, at least seven must strike within a batch.
SMOKE := kill,kill,lost volume,full disk,clock step,pause in a move,kill of the controller
SMOKE := $(SMOKE),pause,pause,pause,cut network,cut network,cut network,slow disk,slow disk,slow disk
SMOKE := $(SMOKE),slow network,slow network,restart of the broker or store,restart of the broker or store

chaos-smoke: env ## 20 of them in one run, over the three exchanges, audited
	@$(CHAOS) --seed 1 --each 20 --kinds "$(SMOKE)" --least 7 --results out/chaos/smoke.jsonl
