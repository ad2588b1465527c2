"""Who made a release from what: an in-toto statement with SLSA's provenance, signed if there is a key."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import Parse
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement

if TYPE_CHECKING:
    from main import Source

PREDICATE = "https://slsa.dev/provenance/v1"
PAYLOAD = "application/vnd.in-toto+json"
BUILD_TYPE = "urn:weir:make-release:v1"  # docs/release.md says what its parameters mean
LOCKS = ("requirements.lock", "hack/release/requirements.lock", "hack/versions.sh")


def statement(
    repository: Path,
    version: str,
    registry: str,
    source: Source,
    files: Mapping[str, str],
    images: Mapping[str, str],
) -> str:
    """JSON. `files` by name and sha256 in hex, `images` by name and digest as the registry has it."""
    descriptors = [
        {"name": name, "digest": {"sha256": digest}}
        for name, digest in [
            *files.items(),
            *((f"{registry}/{name}", digest.removeprefix("sha256:")) for name, digest in images.items()),
        ]
    ]
    materials = [{"name": "source", "digest": {"gitCommit": source.commit}}] + [
        {"name": name, "digest": {"sha256": sha256(repository / name)}} for name in LOCKS
    ]
    predicate = {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {"version": version, "registry": registry},
            "internalParameters": {"uncommittedChanges": source.uncommitted},
            "resolvedDependencies": materials,
        },
        "runDetails": {"builder": {"id": "urn:weir:a-maintainers-machine"}},
    }
    _validate(descriptors, predicate)
    return json.dumps({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": descriptors,
        "predicateType": PREDICATE,
        "predicate": predicate,
    })  # fmt: skip


def sha256(file: Path) -> str:
    """In hex."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _validate(descriptors: list[dict[str, Any]], predicate: dict[str, Any]) -> None:
    """By in-toto's and SLSA's own definitions, which refuse a field that they do not know."""
    subjects = [ResourceDescriptor(name=d["name"], digest=d["digest"]) for d in descriptors]
    for subject in subjects:
        subject.validate()
    Statement([subject.pb for subject in subjects], PREDICATE, predicate).validate()
    Parse(json.dumps(predicate), Provenance())


def sign(text: str, key: Path) -> str:
    """The statement in a DSSE envelope; `openssl dgst` makes the signature, of whatever kind the key is."""
    payload = text.encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)
    process = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", str(key)], input=signed, check=True, stdout=subprocess.PIPE
    )
    public = subprocess.run(
        ["openssl", "pkey", "-in", str(key), "-pubout", "-outform", "DER"], check=True, stdout=subprocess.PIPE
    ).stdout
    signature = {
        "keyid": hashlib.sha256(public).hexdigest(),
        "sig": base64.b64encode(process.stdout).decode(),
    }
    body = base64.b64encode(payload).decode()
    return json.dumps({"payloadType": PAYLOAD, "payload": body, "signatures": [signature]})
