.PHONY: test-api
test-api: env ## the API server in memory against a real one, and the operator on both (needs go; builds one once)
	@WEIR_API_SERVER=real $(PY) -m pytest -q --durations=5 tests/api_server
