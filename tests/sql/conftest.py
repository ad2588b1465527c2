"""Streams of an auction house, as in the Nexmark benchmark."""

import pytest
from weir_placement.model.streams import Stream
from weir_placement.model.types import parse_schema


@pytest.fixture
def streams() -> dict[str, Stream]:
    schemas = {
        "bids": "auction BIGINT, bidder BIGINT, price DOUBLE, ts TIMESTAMP",
        "auctions": "id BIGINT, category INT, seller BIGINT, ts TIMESTAMP",
        "people": "id BIGINT, name STRING, ts TIMESTAMP",
    }
    distinct = {"bids": {"auction": 5000.0}}
    return {
        f"d/{name}": Stream(
            f"d/{name}", 100, parse_schema(ddl), ("n1",), 48, "ts", 10, distinct=distinct.get(name, {})
        )
        for name, ddl in schemas.items()
    }
