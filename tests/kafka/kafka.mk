.PHONY: test-kafka
KAFKA_TESTS = $(PY) -m pytest -q -o addopts="--import-mode=importlib --strict-markers -p no:cacheprovider" --durations=5

# Two sessions, each with a broker of its own: a topic's move to a second broker that joins after fragments have run
# on the first one sometimes does not end.
test-kafka: env ## flows through a real Kafka broker (fetches its jars with Maven the first time)
	@$(KAFKA_TESTS) tests/kafka/test_exchange.py tests/kafka/test_zones.py
	@$(KAFKA_TESTS) tests/kafka/test_fragments.py
