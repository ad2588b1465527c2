.PHONY: test-kafka
KAFKA_TESTS = $(PY) -m pytest -q -o addopts="--import-mode=importlib --strict-markers -p no:cacheprovider" --durations=5

test-kafka: env ## flows through a real Kafka broker (fetches its jars with Maven the first time)
	@$(KAFKA_TESTS) tests/kafka
