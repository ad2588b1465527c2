"""The page counts what the runs' results say."""

from __future__ import annotations

from tests.chaos.page import page


def test_sums_over_runs() -> None:
    fault = {"fragment": "f", "aimed": "", "seconds": 2.0, "recovery": 4.0}
    row = {"rows": 500, "missing": 0, "doubled": 0, "wrong": 0}
    runs = [
        {
            "seed": 1,
            "stuck": "",
            "faults": [fault | {"kind": "kill", "in_batch": True}],
            "audit": {"topic": row},
        },
        {
            "seed": 2,
            "stuck": "f: running",
            "faults": [fault | {"kind": "kill", "in_batch": False, "recovery": 8.0}],
            "audit": {"topic": row | {"missing": 3}},
        },
    ]
    text = page(runs, "## Found\n")
    assert "2 runs, 2 faults, 1 of them within a batch" in text
    assert "Missing 3, doubled 0, wrong 0 of 1,000 rows." in text
    assert "In 1 runs (seeds 2) a query stood still" in text
    assert "3 of their rows had not been delivered yet" in text
    assert "stood still" not in page(runs[:1], "")
    assert "| kill | 2 | 1 | 2.0 | 6.0 | 8.0 |" in text
    assert "pause" not in text, "what never struck has no line"
