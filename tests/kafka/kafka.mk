.PHONY: test-kafka test-kafka-zones
KAFKA_TESTS = $(PY) -m pytest -q -o addopts="--import-mode=importlib --strict-markers -p no:cacheprovider" --durations=5

test-kafka: env ## flows through a real Kafka broker (fetches its jars with Maven the first time)
	@$(KAFKA_TESTS) tests/kafka --ignore=tests/kafka/test_zone_move.py

# Not in the gate: about one time in three the second broker stops fetching ("marked as failed"), and the move of the
# topic does not end. Why is not known yet; the flow itself goes on where it was.
test-kafka-zones: env ## a topic follows its producer to another zone's broker
	@$(KAFKA_TESTS) tests/kafka/test_zone_move.py
