"""Writes what is published of a version (see docs/release.md); run by the tools of requirements.lock."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from bill import write_bill
from bundle import write_bundle
from chart import IMAGES, package, steady
from provenance import sha256, sign, statement

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class ReleaseSource:
    """What the release is made of; `seconds` since 1970 are the commit's: so one gives the same files."""

    commit: str
    seconds: int
    uncommitted: bool

    @staticmethod
    def here() -> ReleaseSource:
        commit, seconds = output("git", "log", "-1", "--format=%H %ct").split()
        return ReleaseSource(commit, int(seconds), bool(output("git", "status", "--porcelain")))


def output(*command: str) -> str:
    """Of a command that succeeds; its own words are on this one's standard error."""
    return subprocess.run(
        command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def objections(version: str, source: ReleaseSource, published: bool) -> list[str]:
    """Why this version cannot be released from this tree; a rehearsal may come earlier."""
    match = re.search(
        r'^__version__ = "(.+)"$', (REPOSITORY / "operator/weir_operator/__init__.py").read_text(), re.M
    )
    assert match
    reasons = []
    if version != match[1]:
        reasons.append(
            f"VERSION: {version} is not this tree's {match[1]}; write it into "
            "operator/weir_operator/__init__.py, charts/weir/Chart.yaml and README.md, and CHANGELOG.md"
        )
    day = re.search(rf"^## \[{re.escape(version)}\] - (.+)$", (REPOSITORY / "CHANGELOG.md").read_text(), re.M)
    if not day:
        reasons.append(f"CHANGELOG.md: no section '## [{version}] - YYYY-MM-DD'")
    elif published and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day[1]):
        reasons.append(f"CHANGELOG.md: section [{version}]: {day[1]} is not a day, as 2026-01-31")
    if published and source.uncommitted:
        reasons.append("the tree has changes that are not committed: commit or remove them")
    return reasons


def push(version: str, registry: str) -> dict[str, str]:
    """Builds the images and pushes them; the digest of each."""
    build = ["hack/images/build", "--tag", version, "--registry", registry, *IMAGES]
    subprocess.run(build, cwd=REPOSITORY, check=True, stdout=sys.stderr)
    return {image: pushed_digest(image, version, registry) for image in IMAGES}


def pushed_digest(image: str, version: str, registry: str) -> str:
    """sha256:... under which the registry has the image."""
    name = f"{registry}/{image}"
    digests = json.loads(
        output("docker", "image", "inspect", "--format", "{{json .RepoDigests}}", f"{name}:{version}")
    )
    for digest in digests or ():
        if digest.startswith(f"{name}@"):
            return str(digest).removeprefix(f"{name}@")
    sys.exit(f"release: {name}:{version} has no digest after its push; the registry has named: {digests}")


def pack_bundle(version: str, seconds: int, out: Path) -> None:
    """Writes weir-olm-VERSION.tgz, of the chart's package in `out`."""
    created = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    examples: dict[str, dict[str, Any]] = {}
    for name in ("policy", "streams", "queries"):
        for thing in yaml.safe_load_all((REPOSITORY / f"examples/flights/{name}.yaml").read_text()):
            examples.setdefault(thing["kind"], thing)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "weir-olm"
        write_bundle(out / f"weir-{version}.tgz", version, created, list(examples.values()), tree)
        archive = Path(shutil.make_archive(f"{folder}/bundle", "gztar", folder, "weir-olm"))
        (out / f"weir-olm-{version}.tgz").write_bytes(steady(archive.read_bytes(), seconds))


def main() -> None:
    parser = argparse.ArgumentParser(prog="release")
    parser.add_argument("--version", required=True)
    parser.add_argument("--registry", default="")
    parser.add_argument("--key", type=Path, help="PEM of a private key")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    version, registry = arguments.version, arguments.registry.rstrip("/")
    source = ReleaseSource.here()
    if reasons := objections(version, source, bool(registry)):
        sys.exit("\n".join(f"release: {reason}" for reason in reasons))
    os.environ["SOURCE_DATE_EPOCH"] = str(source.seconds)
    out = arguments.out or REPOSITORY / "out/release" / version
    out.mkdir(parents=True, exist_ok=True)
    for stale in out.iterdir():
        stale.unlink()
    digests = push(version, registry) if registry else {}
    package(REPOSITORY, version, registry, digests, source.seconds, out)
    pack_bundle(version, source.seconds, out)
    for image in IMAGES:
        write_bill(REPOSITORY, image, version, f"{registry}/{image}:{version}" if registry else "", out)
    files = {file.name: sha256(file) for file in sorted(out.iterdir())}
    text = statement(REPOSITORY, version, registry, source, files, digests)
    if arguments.key:
        (out / f"weir-{version}.intoto.jsonl").write_text(sign(text, arguments.key) + "\n")
    else:
        (out / f"weir-{version}.intoto.json").write_text(text + "\n")
    lines = [f"{sha256(file)}  {file.name}\n" for file in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(lines))
    print(f"{out}:", *sorted(file.name for file in out.iterdir()), sep="\n  ")


if __name__ == "__main__":
    main()
