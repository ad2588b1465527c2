"""The papers' experiments: each writes a table (Markdown and CSV) and a plot for docs/benchmarks/."""

from __future__ import annotations

BENCHES: dict[str, str] = {
    "whitewater-small": "weir_placement.bench.whitewater:small",
    "whitewater-large": "weir_placement.bench.whitewater:large",
    "whitewater-example": "weir_placement.bench.example:example",
    "whitewater-16h": "weir_placement.bench.whitewater:sixteen_hours",
    "whitewater-limited": "weir_placement.bench.limited:limited_page",
    "whitewater-scale": "weir_placement.bench.headroom_scale:scale",
    "iflow-64": "weir_placement.bench.network_usage:iflow_64",
    "planetlab": "weir_placement.bench.network_usage:planetlab",
    "cluster-size": "weir_placement.bench.network_usage:cluster_size",
    "nos-adaptive": "weir_placement.bench.nos_adaptive:nos_adaptive",
    "nos-optimal": "weir_placement.bench.nos_optimal:nos_optimal_page",
    "robust": "weir_placement.bench.robust:robust_page",
    "joined-rates": "weir_placement.bench.joined_rates:joined_rates_page",
    "scale": "weir_placement.bench.scale:scale",
}
"""Name -> "module:function"; a function takes the folder that the page is written to."""
