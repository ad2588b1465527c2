"""What Placements say of deleted queries, as versions before wrote it: it must be read for ever. Never change
the text here."""

from __future__ import annotations

import json
from typing import Any

from weir_operator.controller.owner import (
    KeptLease,
    Owner,
    Retained,
    placement_of_retained,
    read_owner,
    read_retained,
)
from weir_placement.model.change import Change

FORMAT_1 = """{
  "owner": {
    "uid": "77aa5a9e-0000-4000-8000-000000000002",
    "incarnation": "0d6b5a9e-0000-4000-8000-000000000001",
    "retain": 86400.0,
    "restored": "0d6b5a9e-0000-4000-8000-000000000001",
    "parts": {"spec.sink": "5e9d3c2b1a0f4e5d"},
    "leases": {
      "q-f-1": {"epoch": 3, "change": null},
      "q-g-2": {"epoch": 7, "change": {"lead": 20.0, "time": 1700000000000000, "passed": false}}
    }
  },
  "retained": {
    "format": 1,
    "query": "q",
    "uid": "77aa5a9e-0000-4000-8000-000000000002",
    "deleted": "2026-01-01T00:00:00Z",
    "until": "2026-01-02T00:00:00Z"
  }
}"""


def test_format_1_is_read_and_written_as_it_was() -> None:
    spec: dict[str, Any] = json.loads(FORMAT_1)
    owner, retained = read_owner(spec), read_retained(spec)
    leases = {"q-f-1": KeptLease(3), "q-g-2": KeptLease(7, Change(20.0, 1_700_000_000_000_000))}
    uids = [f"{start}5a9e-0000-4000-8000-00000000000{n}" for start, n in (("77aa", 2), ("0d6b", 1))]
    assert owner == Owner(
        uids[0], uids[1], 86_400.0, uids[1], parts={"spec.sink": "5e9d3c2b1a0f4e5d"}, leases=leases
    )
    assert retained == Retained("q", uids[0], 1_767_225_600.0, 1_767_312_000.0)
    assert {"owner": owner.stored(), "retained": retained.stored()} == spec
    assert placement_of_retained("default/q", uids[0]) == "default/q.77aa5a9e"


def test_a_placement_of_before_says_nothing_of_it() -> None:
    assert read_owner({"revision": 1}) == Owner()
    assert read_retained({"revision": 1}) is None
