"""A fragment's metrics out of Prometheus' text exposition format."""

from __future__ import annotations

from collections import defaultdict

from prometheus_client.parser import text_string_to_metric_families

from weir_operator.controller.observed_state import FragmentMetrics, OperatorMetrics


def parse_metrics(text: str, fragment: str, epoch: int, at: float) -> FragmentMetrics:
    """One reading, taken at `at` [s since 1970]; the metrics' names are in docs/runtime.md."""
    total: dict[str, float] = defaultdict(float)
    last: dict[str, float] = {}
    rows_in: dict[str, float] = {}
    rows_out: dict[str, float] = {}
    links: dict[str, float] = {}
    silent: dict[str, float] = {}
    missing: dict[str, int] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            operator = sample.labels.get("operator")
            total[sample.name] += sample.value
            last[sample.name] = sample.value
            if sample.name == "weir_rows_in_total" and operator:
                rows_in[operator] = sample.value
            elif sample.name == "weir_rows_out_total" and operator:
                rows_out[operator] = sample.value
            elif sample.name == "weir_link_seconds" and operator:
                links[operator] = sample.value
            elif sample.name == "weir_silent_seconds" and operator:
                silent[operator] = sample.value
            elif sample.name == "weir_missing_file" and operator:
                missing[operator] = int(sample.value)
    return FragmentMetrics(
        fragment=fragment,
        epoch=epoch,
        at=at,
        backlog=total["weir_backlog_batches"],
        bytes_out=total["weir_published_bytes_total"],
        cpu_seconds=total["weir_cpu_seconds_total"],
        published=last.get("weir_publish_timestamp_seconds", 0.0),
        batches=total["weir_batches_total"],
        state_rows=total["weir_state_rows"],
        state_bytes=total["weir_state_bytes"],
        watermark_lag=last.get("weir_watermark_lag_seconds", 0.0),
        batch_seconds=last.get("weir_batch_duration_seconds", 0.0),
        late_rows=total["weir_late_rows_total"],
        dropped_rows=total["weir_dropped_rows_total"],
        lost_rows=total["weir_lost_rows_total"],
        lost_files=total["weir_lost_files_total"],
        held_back=bool(total["weir_held_back"]),
        unreachable=bool(total["weir_unreachable"]),
        idle_partitions=total["weir_idle_partitions"],
        operators={name: OperatorMetrics(rows, rows_out.get(name, 0.0)) for name, rows in rows_in.items()},
        links=links,
        silent=silent,
        missing=missing,
    )
