"""A plan with an operator cloned by key gives the rows of the query as written."""

from __future__ import annotations

from pathlib import Path

from tests.runtime.queries import verdict
from tests.runtime.sessions import Run
from tests.soak.cloned_plan import COLUMNS, OPERATORS, fragments, logs


def test_clones_on_two_nodes_give_the_rows_of_one_join(run: Run, tmp_path: Path) -> None:
    """Each fragment to its end, one after the other; audited against the query without clones."""
    sources = logs(tmp_path)
    specs = fragments(tmp_path, sources)
    assert {spec.node for spec in specs} == {"n1", "n2"}
    for spec in specs:
        run(spec)
    result = verdict(tmp_path, sources, OPERATORS, COLUMNS)
    assert result.good, f"{result}\n{result.examples}"
    assert result.rows > 100
