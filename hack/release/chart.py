"""The chart's package: images by digest, Artifact Hub's annotations, the same bytes for the same commit."""

from __future__ import annotations

import gzip
import io
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

IMAGES = ("weir-operator", "weir-runtime")
KINDS_OF_CHANGE = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def package(
    repository: Path, version: str, registry: str, digests: Mapping[str, str], seconds: int, out: Path
) -> None:
    """Writes weir-VERSION.tgz. `digests` of the images by name; `seconds` since 1970 for every file in it."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "weir"
        shutil.copytree(repository / "charts/weir", tree)
        shutil.copy(repository / "LICENSE", tree)
        values = tree / "values.yaml"
        values.write_text(with_digests(values.read_text(), registry, digests))
        chart = tree / "Chart.yaml"
        notes = annotations(repository, version, registry, digests)
        chart.write_text(
            chart.read_text() + "".join(f"  {k}: |\n{_indented(text)}" for k, text in notes.items())
        )
        subprocess.run(["helm", "package", str(tree), "-d", folder], check=True, stdout=subprocess.DEVNULL)
        (package,) = Path(folder).glob("*.tgz")
        (out / f"weir-{version}.tgz").write_bytes(steady(package.read_bytes(), seconds))


def with_digests(values: str, registry: str, digests: Mapping[str, str]) -> str:
    """The text of values.yaml with registry and digests as defaults."""
    for image, digest in digests.items():
        pattern = rf'(repository: {image}\n(?:.*\n)??\s+digest: )""'
        values, count = re.subn(pattern, rf'\g<1>"{digest}"', values, count=1)
        assert count == 1, f"values.yaml: no digest below repository {image}"
    return values.replace('imageRegistry: ""', f"imageRegistry: {registry}", 1) if registry else values


def annotations(repository: Path, version: str, registry: str, digests: Mapping[str, str]) -> dict[str, str]:
    """Those of Artifact Hub that follow from other files, as YAML in text."""
    prefix = f"{registry}/" if registry else ""
    images = [
        {
            "name": name,
            "image": f"{prefix}{name}" + (f"@{digests[name]}" if name in digests else f":{version}"),
        }
        for name in IMAGES
    ]
    notes: dict[str, Any] = {
        "artifacthub.io/images": images,
        "artifacthub.io/changes": changes((repository / "CHANGELOG.md").read_text(), version),
        "artifacthub.io/crds": [_kind(file) for file in sorted((repository / "crds").glob("*.yaml"))],
    }
    return {name: yaml.safe_dump(value, sort_keys=False, width=10_000) for name, value in notes.items()}


def changes(changelog: str, version: str) -> list[dict[str, str]]:
    """The version's section of the changelog: a kind and a description for each point."""
    section = changelog.split(f"\n## [{version}]", 1)[1].split("\n## [", 1)[0]
    points = []
    for part in section.split("\n### ")[1:]:
        kind, _, text = part.partition("\n")
        assert kind in KINDS_OF_CHANGE, f"CHANGELOG.md: {kind} is not one of {sorted(KINDS_OF_CHANGE)}"
        for point in re.split(r"^- ", text, flags=re.M)[1:]:
            description = re.sub(r"[*`]", "", " ".join(point.split()))
            points.append({"kind": kind.lower(), "description": description})
    return points


def _kind(file: Path) -> dict[str, str]:
    crd = yaml.safe_load(file.read_text())
    (version,) = crd["spec"]["versions"]
    kind = crd["spec"]["names"]["kind"]
    return {
        "kind": kind,
        "version": version["name"],
        "name": crd["metadata"]["name"],
        "displayName": kind,
        "description": version["schema"]["openAPIV3Schema"]["description"],
    }


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def steady(package: bytes, seconds: int) -> bytes:
    """The same package without the times and owners at which it was made."""
    content = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(package)) as old,
        gzip.GzipFile(fileobj=content, mode="wb", mtime=seconds) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda m: (m.name.count("/") > 1, m.name)):
            member.mtime, member.uid, member.gid, member.uname, member.gname = seconds, 0, 0, "", ""
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member))
    return content.getvalue()
