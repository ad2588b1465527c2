# The cluster under test, the images, and the tests on them.
.PHONY: test-chart cluster cluster-demo cluster-down images e2e e2e-smoke e2e-smoke-kafka e2e-smoke-store scale bench-links release
REGISTRY ?=
TAG ?= dev

test-chart: env ## the Helm chart: lint, schemas, rights, alerts (needs go; builds helm and kubeconform once)
	@$(PY) -m pytest -q -o addopts="--strict-markers -p no:cacheprovider" tests/chart

cluster: ## a real Kubernetes cluster on this machine (kind), with the images loaded
	@hack/cluster/up
	@hack/images/build --load
	@hack/tools helm

cluster-demo: env cluster ## the operator and the flights on that cluster: rows arrive, and a drain moves them
	@hack/cluster/demo

cluster-down: ## deletes it, and stops the Docker engine if `make cluster` started it
	@hack/cluster/down

images: ## builds the images; REGISTRY=host/path TAG=v1 pushes them there
	@hack/images/build --tag $(TAG) $(if $(REGISTRY),--registry $(REGISTRY))

VERSION ?=
KEY ?=
release: ## chart package, SBOMs, provenance, checksums; VERSION=0.1.0, REGISTRY=host/path pushes images, KEY=key.pem signs
	@hack/release/release --version "$(VERSION)" $(if $(REGISTRY),--registry $(REGISTRY)) $(if $(KEY),--key $(KEY))

e2e-smoke: env cluster ## Helm install, flights Ready where planned, audited, a SIGKILL, uninstall
	@$(PY) -m pytest -q -x --durations=10 tests/e2e/test_smoke.py

e2e-smoke-kafka: env cluster ## the same with Kafka between fragments
	@$(PY) -m pytest -q -x --durations=10 tests/e2e/test_smoke_kafka.py

e2e-smoke-store: env cluster ## the same with an object store between fragments
	@$(PY) -m pytest -q -x --durations=10 tests/e2e/test_smoke_store.py

e2e: env cluster ## every test that needs the cluster
	@$(PY) -m pytest -q --durations=20 tests/e2e

scale: env ## the operator beside 1,000 nodes, 1,000 queries and 10,000 foreign pods, simulated by kwok
	@bash -c 'source hack/lib.sh; source hack/cluster/tools.sh; build_kubernetes; ensure_kwok'
	@KUBECONFIG=$${WEIR_CACHE:-$$HOME/.cache/weir}/kubeconfig-scale $(PY) -m tests.bench.scale.scale

BENCH_LINKS ?=
bench-links: env cluster ## input rates over thin links: a Spark job, Spark's placement, round-robin, Weir (about 50 minutes)
	@$(PY) -m tests.bench.links.bench $(BENCH_LINKS)
