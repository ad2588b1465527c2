"""The rows of a run's queries, read from their sinks as they come, and `weir query`, which shows them."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from weir_operator.cli import main
from weir_operator.controller.decision import WritePlacement
from weir_operator.local.results import RunResults
from weir_operator.local.store import RunStore
from weir_placement.model.fragment import Output
from weir_placement.model.location import Location
from weir_runtime.logs.bad_rows import BadRow
from weir_runtime.logs.dead_letters import bad_rows_of
from weir_runtime.names import write_whole
from weir_runtime.side_log import side_log_of

from tests.runtime.support import fragment, source


def started(root: Path, output: Output, name: str = "q-p1-1", query: str = "q") -> None:
    """As if a process had been started that delivers there."""
    spec = fragment(root, name, [source("a", root / "in")], (), output, query=query)
    write_whole(root / "processes" / f"{name}-e1.spec.json", spec.to_json())
    RunStore(root).write_placement(WritePlacement(f"default/{query}", {}, {}))


def put(folder: Path, name: str, *rows: dict[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), folder / name)


def test_files_are_read_once_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    out = tmp_path / "out"
    started(tmp_path, Output("files", str(out)))
    started(tmp_path, Output("exchange", flow=Location("folder", str(tmp_path / "flow"))), "q-f1-2")
    results = RunResults(tmp_path)
    assert list(results.new_rows()) == []
    put(out, "b-0000000000.parquet", {"k": 1}, {"k": 2})
    put(out, "a-0000000000.parquet", {"k": 3})
    put(out, ".c-0000000000.parquet.1", {"k": 9})
    os.utime(out / "b-0000000000.parquet", ns=(1, 1))
    assert [row["k"] for _, row in results.new_rows()] == [1, 2, 3]
    (out / "a-0000000001.parquet").touch()
    with pytest.raises(pa.ArrowInvalid):
        list(results.new_rows())
    put(out, "a-0000000001.parquet", {"k": 4})
    assert list(results.new_rows()) == [("default/q", {"k": 4})]


def test_brokers_that_do_not_answer_are_told_by_the_field_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each look was a failed round of `weir run`, among the client's own lines."""
    monkeypatch.setattr("weir_operator.local.results.ANSWER", 1.5)
    started(tmp_path, Output("kafka", options={"topic": "t", "bootstrapServers": "localhost:1"}))
    started(tmp_path, Output("files", str(tmp_path / "out")), "r-p1-1", "r")
    put(tmp_path / "out", "0000000000.parquet", {"k": 1})
    results = RunResults(tmp_path)
    assert list(results.new_rows()) == [("default/r", {"k": 1})], "the others are read"
    assert results.silent == {"default/q": "spec.sink.kafka: no broker answers at localhost:1"}
    results.close()
    assert capfd.readouterr().err == ""


def test_rows_on_a_console_are_lines_of_the_logs(tmp_path: Path) -> None:
    started(tmp_path, Output("console"))
    logs = tmp_path / "logs"
    logs.mkdir()
    log = logs / "q-p1-1-e1.log"
    log.write_text('starting\n{"k": 1}\n{"k": 2')
    results = RunResults(tmp_path)
    assert [row["k"] for _, row in results.new_rows()] == [1]
    with log.open("a") as file:
        file.write('2}\nWARN {"k": 3}\n')
    (logs / "q-p1-1-e2.log").write_text('{"k": 4}\n')
    assert [row["k"] for _, row in results.new_rows()] == [22, 4]


def test_the_command_shows_rows_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started(tmp_path, Output("files", str(tmp_path / "out")))
    put(tmp_path / "out", "a-0000000000.parquet", {"k": 1, "s": "x"}, {"k": 2, "s": None}, {"k": 3, "s": "y"})
    folder = ["--run-folder", str(tmp_path)]
    assert main(["query", "q", *folder]) == 0  # nothing runs: no row can come
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"k": 1, "s": "x"},
        {"k": 2, "s": None},
        {"k": 3, "s": "y"},
    ]
    assert main(["query", "default/q", "--limit", "2", *folder]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_query_that_is_not_there_or_keeps_no_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ["--no-follow", "--run-folder", str(tmp_path)]
    assert main(["query", "q", *folder]) == 2
    assert "no query default/q; start `weir run` first" in capsys.readouterr().err
    started(tmp_path, Output("noop"))
    assert main(["query", "p", *folder]) == 2
    assert "no query default/p; there are default/q" in capsys.readouterr().err
    assert main(["query", "q", *folder]) == 2
    assert "default/q: its sink is noop" in capsys.readouterr().err


def test_a_query_that_waits_says_at_once_where_it_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("weir_operator.cli.query.PATIENCE", 0.1)
    assert main(["query", "q", "--run-folder", str(tmp_path / "nowhere")]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(
        f"no `weir run` is at work in {tmp_path}/nowhere: waiting 0 s for one; --run-folder"
    )
    assert second.endswith("no query default/q; start `weir run` first")


def test_a_query_that_the_run_does_not_have_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("weir_operator.cli.query.READING", 0.1)
    RunStore(tmp_path).attend()
    write_whole(tmp_path / "objects.json", json.dumps({"StreamQuery/default/hot": {}}))
    assert main(["query", "q", "--run-folder", str(tmp_path)]) == 2
    assert "no query default/q; there are default/hot" in capsys.readouterr().err


def test_the_command_shows_bad_rows_with_their_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started(tmp_path, Output("files", str(tmp_path / "out")))
    [spec] = RunResults(tmp_path).fragments()
    letters = bad_rows_of(spec.inputs[0], str(Path(spec.sidelog) / "a"))
    letters.put(
        "0000000000", "in/0000000000.csv", [BadRow(1, "column n: x cannot be read as BIGINT", b"x,1")]
    )
    letters.put("0000000001", "in/0000000001.csv", [BadRow(None, "is not CSV", None)])
    assert main(["query", "q", "--bad", "--run-folder", str(tmp_path)]) == 0
    first, second = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert first == {
        "stream": spec.inputs[0].stream,
        "source": "in/0000000000.csv",
        "row": 2,
        "reason": "column n: x cannot be read as BIGINT",
        "text": "x,1",
    }
    assert (second["reason"], second["text"], "row" in second) == ("is not CSV", None, False)


def test_the_command_shows_bad_rows_of_plans_before_an_edit_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the plan in force has read again is in the letters of both; those of another query are none."""
    started(tmp_path, Output("files", str(tmp_path / "out")))
    [spec] = RunResults(tmp_path).fragments()
    for fragment_name, query, rows in [
        (Path(spec.sidelog).name, "default/q", (2, 3)),
        ("q-p1-0", "default/q", (1, 2)),
        ("r-p1-0", "default/r", (7,)),
    ]:
        side_log = Path(spec.sidelog).with_name(fragment_name)
        side_log.mkdir(parents=True, exist_ok=True)
        side_log_of(side_log, query)
        for row in rows:
            letter = BadRow(row, "column n: x cannot be read as BIGINT", b"x,1")
            letters = bad_rows_of(spec.inputs[0], str(side_log / "a"))
            letters.put(f"{row:010d}", "in/0000000000.csv", [letter])
    assert main(["query", "q", "--bad", "--no-follow", "--run-folder", str(tmp_path)]) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(letter["row"] for letter in shown) == [2, 3, 4]
    assert {letter["stream"] for letter in shown} == {spec.inputs[0].stream}


def test_bad_rows_that_go_elsewhere_are_not_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    item = replace(source("a", tmp_path / "in"), bad_rows={"deadLetter": {"kafka": {"topic": "letters"}}})
    spec = fragment(tmp_path, "q-p1-1", [item], (), Output("files", str(tmp_path / "out")))
    write_whole(tmp_path / "processes" / "q-p1-1-e1.spec.json", spec.to_json())
    assert main(["query", "q", "--bad", "--run-folder", str(tmp_path)]) == 2
    assert f"bad rows of stream {item.stream} go to topic letters" in capsys.readouterr().err
