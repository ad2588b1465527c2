"""The page that `make bench-links` writes, also from half a run."""

from __future__ import annotations

from pathlib import Path

from tests.bench.links import page
from tests.bench.links.lag import Trial
from tests.bench.links.search import Found

CONDITIONS = page.Conditions(20_000_000, 4000, 120.0, 2000)


def trial(rate: float, slope: float) -> Trial:
    links = {"newyork>atlanta": 2_000_000.0, "west>atlanta": 500_000.0}
    return Trial(rate, rate, slope, 3.0, 120.0, 1.2, links)


PLAIN = page.LinkResult("flights", "plain-job", Found((trial(200, 0.0), trial(230, 0.1))), {"plain": "n3"})
WEIR = page.LinkResult("flights", "weir", Found((trial(1000, 0.0),)), {"f1": "n1"})
STUCK = page.LinkResult("flights", "round-robin", Found((trial(100, 0.5),)), {})


def test_rows_have_ratios_over_the_plain_job() -> None:
    rows = {
        str(row[1]): dict(zip(page.HEADER, row, strict=True)) for row in page.rows([WEIR, PLAIN], 20_000_000)
    }
    plain, weir = rows["one plain Spark job in the delivery zone"], rows["Weir's plan"]
    assert plain["sustained [rows/s]"] == 200
    assert plain["not flat at [rows/s]"] == 230
    assert weir["x plain job"] == 5
    assert weir["not flat at [rows/s]"] == "-"
    assert weir["fullest link"] == "newyork>atlanta"
    assert weir["of its width"] == "80%"
    assert weir["[bytes] a row over links"] == 2500


def test_what_is_not_known_is_not_made_up() -> None:
    (row,) = page.rows([STUCK], 20_000_000)
    shown = dict(zip(page.HEADER, row, strict=True))
    assert shown["sustained [rows/s]"] == "< 100"
    assert shown["x plain job"] == "-"
    beside = {row[1]: row[3] for row in page.rows([STUCK, PLAIN], 20_000_000)}
    assert beside["Weir, round-robin plan"] == "< 0.50"
    (alone,) = page.rows([WEIR], 20_000_000)
    assert dict(zip(page.HEADER, alone, strict=True))["x plain job"] == "-"


def test_the_page_has_table_plot_and_links(tmp_path: Path) -> None:
    page.publish(tmp_path, CONDITIONS, [WEIR, PLAIN, STUCK], "make bench-links")
    text = (tmp_path / "bench-links.md").read_text()
    assert "| flights | Weir's plan | 1000 | 5 |" in text
    assert "newyork>atlanta" in text
    assert "4000 bytes" in text
    assert (tmp_path / "bench-links.png").stat().st_size > 0
    assert len((tmp_path / "bench-links.csv").read_text().splitlines()) == 4


def test_a_later_run_under_the_same_conditions_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "out" / "results.json"
    assert page.load(file, CONDITIONS) == []
    page.save(file, CONDITIONS, [PLAIN, STUCK])
    assert page.load(file, CONDITIONS) == [PLAIN, STUCK]
    assert page.load(file, page.Conditions(20_000_000, 1000, 120.0, 2000)) == []
