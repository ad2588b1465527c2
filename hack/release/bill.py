"""What is in an image, as CycloneDX: Python packages by cyclonedx-py; Debian's and jars once it is built."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

DEBIAN = "dpkg-query -W -f 'deb ${Package} ${Version} ${Architecture}\\n'"
JARS = "find / -xdev -name '*.jar' -not -type l -exec sha256sum {} + 2>/dev/null | sed 's/^/jar /'"


def write_bill(repository: Path, image: str, version: str, built: str, out: Path) -> None:
    """Writes IMAGE-VERSION.cdx.json; `built` is the image's name in the local engine, empty without one."""
    lines = locked(repository, image)
    command = [str(Path(sys.executable).parent / "cyclonedx-py"), "requirements", "--output-reproducible",
               "--sv", "1.6", "-"]  # fmt: skip
    process = subprocess.run(command, input=lines, check=True, stdout=subprocess.PIPE, text=True)
    bill = json.loads(process.stdout)
    bill["metadata"]["component"] = {
        "type": "container",
        "bom-ref": image,
        "name": image,
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    bill["components"] += inside(built) if built else []
    bill["compositions"] = [{"aggregate": "complete" if built else "incomplete", "assemblies": [image]}]
    text = json.dumps(bill, indent=1, sort_keys=True) + "\n"
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"release: the bill of {image} is not valid: {error}")
    (out / f"{image}-{version}.cdx.json").write_text(text)


def locked(repository: Path, image: str) -> str:
    """The lines of requirements.lock that the image's Dockerfile installs."""
    dockerfile = (repository / "hack/images" / image.removeprefix("weir-") / "Dockerfile").read_text()
    match = re.search(r"python3 /opt/weir/locked\.py ([^<]+)<", dockerfile)
    assert match, f"{image}: no locked.py in its Dockerfile"
    roots = match[1].replace("\\", " ").split()
    command = [sys.executable, str(repository / "hack/images/locked.py"), *roots]
    lock = (repository / "requirements.lock").read_text()
    return subprocess.run(command, input=lock, check=True, stdout=subprocess.PIPE, text=True).stdout


def inside(built: str) -> list[dict[str, Any]]:
    """Debian's packages and the jars of an image, each as a component."""
    command = [
        "docker",
        "run",
        "--rm",
        "--network=none",
        "--user=0",
        "--entrypoint=sh",
        built,
        "-c",
        f"{DEBIAN}; {JARS}",
    ]
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return components(process.stdout)


def components(listing: str) -> list[dict[str, Any]]:
    """Of lines `deb NAME VERSION ARCHITECTURE` and `jar SHA256 PATH`."""
    result: dict[str, dict[str, Any]] = {}
    for line in listing.splitlines():
        kind, *rest = line.split()
        if kind == "deb":
            name, version, architecture = rest
            purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}?arch={architecture}"
            part = {"type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl}
        else:
            digest, path = rest
            name = path.rsplit("/", 1)[1]
            part = {
                "type": "file",
                "name": name,
                "bom-ref": path,
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
        result[str(part["bom-ref"])] = part
    return list(result.values())
