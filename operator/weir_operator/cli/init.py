"""`weir init`: manifests from a sample."""

from __future__ import annotations

import re
import shutil
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weir_operator.cli.exit_codes import BAD_INPUT, OK
from weir_operator.cli.inputs import below_folders

if TYPE_CHECKING:
    from weir_operator.sampling.sample import Sample

QUERY_END = "-counts"
"""Of the first query's name, after that of the stream."""


def _writable(path: Path | None) -> Path | None:
    return path if path is None else below_folders(path)


def init(
    sample: Annotated[
        str,
        typer.Argument(metavar="SAMPLE", help="A .csv, .json, .parquet file, or kafka://HOST:PORT/TOPIC."),
    ],
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the stream; by default the file's or the topic's.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="COLUMN", help="The event-time column; by default a guess."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="DIR", help="Where to write; by default the name.", callback=_writable
        ),
    ] = None,
) -> int:
    """Write manifests from a sample of rows: a stream, a first query over it, and this machine as a node.

    The stream has the sample's columns with their types, the event time, the rate, how late rows come, and
    how many distinct values columns have. A file is copied under the name under which a source reads it,
    followed by END. Nothing that is there is overwritten.

    Exit code 0: written; 2: no stream can be made of the sample, or a file is there.

    Examples:

      weir init readings.csv

      weir plan -f readings

      weir run -f readings --until-finished --console

      weir init kafka://localhost:9092/orders --time created
    """
    from weir_operator.sampling.sample import read_file, typed
    from weir_operator.sampling.sample_error import SampleError
    from weir_operator.sampling.topic import brokers_and_topic, read_topic

    if name is not None and (wrong := _wrong_name(name)):
        print(wrong, file=sys.stderr)
        return BAD_INPUT
    from_topic = sample.startswith("kafka://")
    if "://" in sample and not from_topic:
        print(f"{sample}: is not read from there; download it, and give the local file", file=sys.stderr)
        return BAD_INPUT
    try:
        content = read_topic(sample) if from_topic else read_file(Path(sample))
        own = name or _name(brokers_and_topic(sample)[1] if from_topic else Path(sample).stem)
    except SampleError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    try:
        rows = typed(content, time)
    except SampleError as error:
        print(f"{sample}: {error}", file=sys.stderr)
        return BAD_INPUT
    target = folder or Path(own)
    manifest, log = target / "weir.yaml", target / "in" / own
    if existing := next((path for path in (manifest, log) if path.exists()), None):
        print(f"{existing}: already exists; give another --folder or --name", file=sys.stderr)
        return BAD_INPUT
    if from_topic:
        brokers, topic = brokers_and_topic(sample)
        source: dict[str, Any] = {"kafka": {"bootstrapServers": brokers, "topic": topic}}
    else:
        source = _copied(Path(sample), log, rows)
    _write(manifest, rows, own, source, target / "out" / f"{own}{QUERY_END}")
    _tell(rows, own, target, manifest)
    return OK


def _wrong_name(name: str) -> str:
    """What is wrong with a stream's name, and what would be right; "" for a good one."""
    from weir_operator.api.base import NAME_PATTERN
    from weir_operator.api.kinds import MAX_NAME

    most = MAX_NAME - len(QUERY_END)
    if len(name) <= most and re.fullmatch(NAME_PATTERN, name):
        return ""
    right = f"write a-z, 0-9 and -, at most {most} characters, as --name {_name(name)}"
    return f"--name {name!r} cannot be the name of a stream; {right}"


def _name(text: str) -> str:
    """A name of an object, of which SQL needs no quotes where that can be; letters lose their accents.

    >>> _name("My States"), _name("états"), _name("2026")
    ('my-states', 'etats', 's-2026')
    """
    letters = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    plain = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")
    return (plain if plain[:1].isalpha() else f"s-{plain}".strip("-"))[:40].rstrip("-")


def _copied(path: Path, log: Path, sample: Sample) -> dict[str, Any]:
    from weir_runtime.names import END, batch_name

    from weir_operator.sampling.manifest import folder_source

    log.mkdir(parents=True)
    shutil.copyfile(path, log / batch_name(0, sample.content.form))
    (log / END).touch()
    return folder_source(log, sample.content.form)


def _write(manifest: Path, sample: Sample, name: str, source: dict[str, Any], sink: Path) -> None:
    from weir_operator.sampling.manifest import manifests

    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(manifests(sample, name, source, str(sink)) + "\n")


def _tell(sample: Sample, name: str, target: Path, manifest: Path) -> None:
    from weir_placement.model.amounts import count
    from weir_runtime.arrow_types import UNIX_UNITS

    from weir_operator.api.values import parse_quantity
    from weir_operator.sampling import statistics
    from weir_operator.sampling.columns import almost_numbers
    from weir_operator.sampling.sample import almost_times

    rate, origin = statistics.rate(sample)
    columns, rows = count(len(sample.types), "column"), count(sample.rows.num_rows, "row")
    print(f"{manifest}: stream {name}, {columns}, {rows} looked at")
    form = (
        f"{UNIX_UNITS[sample.unit]} since 1970: unixTimes" if sample.unit else "UTC where no zone is written"
    )
    print(f"  event time {sample.time} ({form})")
    print(f"  rows come at most {statistics.disorder(sample)} s late (watermark)")
    figure = f"{parse_quantity(rate):g}" if rate[-1].isalpha() else rate
    print(f"  {figure} {'row' if figure == '1' else 'rows'}/s, {origin}")
    for column, why in sample.content.columns.omitted.items():
        print(f"  left out: column {column!r}: {why}")
    for column, unit in sample.perhaps_times.items():
        print(f"  {column} may be {UNIX_UNITS[unit]} since 1970; it is {sample.types[column]} here")
    for column, near in almost_times(sample.content).items():
        print(f"  {column} is STRING here: {near}")
    for column, value in almost_numbers(sample.types, sample.content.values).items():
        right = "write numbers as 10.5, and nothing where there is none"
        print(f"  {column} is STRING here, as {value[:40]!r} is no number: {right}")
    if sample.bad:
        bad = count(sample.bad, "row")
        where = "the dead letters (`weir query --bad`)"
        print(f"  {bad} cannot be read and would go to {where}; the first: {sample.reason}")
    print(f"next: weir plan -f {target}; weir run -f {target} --until-finished --console")
