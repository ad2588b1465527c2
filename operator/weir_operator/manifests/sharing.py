"""Which queries' fragments share a host on a node (docs/runtime.md, "Hosts")."""

from __future__ import annotations

import hashlib
import json

from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.api.query import StreamQuery


def sharing_class(item: StreamQuery, policy: PlacementPolicySpec) -> str:
    """Equal for queries of one policy whose fragments on a node share a host; "" where each has its own. The
    environment's values may be secret: of them it has a digest."""
    if policy.fragments.isolation == "Dedicated" or item.spec.resources.executors or item.spec.sink.console:
        return ""
    environment = sorted((entry.name, entry.value or "") for entry in item.spec.env)
    digest = hashlib.sha256(json.dumps(environment).encode()).hexdigest()[:8]
    return f"{item.metadata.namespace} {digest}"
