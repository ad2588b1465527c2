"""Removes what fragments that are gone have left on the shared volume, in Kafka, and on object stores.

    python -m weir_runtime.sweep ROOT NAMESPACE [FRAGMENT TO KEEP]...

The operator mounts no volume of a namespace: it runs this there, and starts no fragment in the
namespace before it has ended. WEIR_TOPICS is a JSON list of brokers with flows of the namespace
(bootstrapServers, topicPrefix, security), WEIR_STORES one of object stores (uri, endpoint, region,
secretRef, caSecretRef); where they do not answer, flows stay until the next sweep.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weir_placement.model.fragment import FragmentError

TOPICS = "WEIR_TOPICS"
"""Environment variable."""
STORES = "WEIR_STORES"
"""Another."""

FOLDERS = ("exchange", "checkpoints", "late")


def sweep(root: Path, namespace: str, keep: frozenset[str]) -> list[Path]:
    """Folders of fragments that are not in `keep`; they are gone afterwards. Raises OSError."""
    gone = [
        folder
        for what in FOLDERS
        for folder in sorted((root / what / namespace).glob("*"))
        if folder.name not in keep
    ]
    for folder in gone:
        shutil.rmtree(folder)
    return gone


def sweep_topics(brokers: Mapping[str, Any], namespace: str, keep: frozenset[str]) -> list[str]:
    """Topics and groups of fragments that are not in `keep`; or why they stay."""
    from weir_runtime.topic import KafkaError, remove

    prefix = f"{brokers['topicPrefix']}{namespace}."
    try:
        return [f"removed {name}" for name in remove(brokers, prefix, lambda name: name not in keep)]
    except (KafkaError, FragmentError) as error:
        return [f"topics {prefix}* stay: {error}"]


def sweep_store(flows: Mapping[str, Any], namespace: str, keep: frozenset[str]) -> list[str]:
    """Flows of fragments that are not in `keep`; or why they stay."""
    from weir_runtime.store import StoreError, remove

    try:
        return [f"removed {uri}" for uri in remove(flows, namespace, lambda name: name not in keep)]
    except (StoreError, FragmentError) as error:
        return [f"flows {flows['uri']}/{namespace}/* stay: {error}"]


def main(arguments: list[str]) -> int:
    """Prints what was removed."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    for folder in sweep(Path(arguments[0]), arguments[1], frozenset(arguments[2:])):
        print(f"removed {folder}")
    for brokers in json.loads(os.environ.get(TOPICS, "[]")):
        for line in sweep_topics(brokers, arguments[1], frozenset(arguments[2:])):
            print(line)
    for flows in json.loads(os.environ.get(STORES, "[]")):
        for line in sweep_store(flows, arguments[1], frozenset(arguments[2:])):
            print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
