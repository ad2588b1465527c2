"""The chart's Grafana dashboard."""

from __future__ import annotations

import json
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_dashboard_asks_only_for_metrics_that_exist() -> None:
    documented = (REPOSITORY / "docs/runtime.md").read_text()
    own = (REPOSITORY / "operator/weir_operator/kube/self_metrics.py").read_text()
    dashboard = json.loads((REPOSITORY / "charts/weir/files/dashboard.json").read_text())
    names = {
        word
        for panel in dashboard["panels"]
        for word in "".join(
            c if c.isalnum() or c == "_" else " " for c in panel["targets"][0]["expr"]
        ).split()
        if word.startswith("weir_")
    }
    assert names
    assert not {name for name in names if name not in documented and name not in own}
