"""The kinds by name: model, plural, scope, short name, printer columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from weir_operator.api.base import API_VERSION, CelRule, Model
from weir_operator.api.node import Node
from weir_operator.api.placement import Placement
from weir_operator.api.policy import PlacementPolicy
from weir_operator.api.profile import InputProfile
from weir_operator.api.query import StreamQuery
from weir_operator.api.query_snapshot import QuerySnapshot
from weir_operator.api.stream import Stream
from weir_operator.api.tenancy import LimitRange, ResourceQuota
from weir_operator.api.topology import NetworkTopology

Object = (
    Stream
    | StreamQuery
    | InputProfile
    | PlacementPolicy
    | NetworkTopology
    | Placement
    | QuerySnapshot
    | Node
    | ResourceQuota
    | LimitRange
)

MAX_NAME = 50
"""Longest name of an object: pods are named `<query>-<operator>-e<epoch>`, with at most 63 characters."""

NAME_RULE = CelRule(
    cel=f"size(self.metadata.name) <= {MAX_NAME}",
    message=f"the name may have at most {MAX_NAME} characters: pods are named after it",
    holds=lambda raw: (
        not isinstance(raw.get("metadata"), Mapping) or len(str(raw["metadata"].get("name", ""))) <= MAX_NAME
    ),
    field="metadata.name",
)


@dataclass(frozen=True)
class PrinterColumn:
    """A column of `kubectl get`."""

    name: str
    type: Literal["string", "integer", "number", "date"]
    path: str
    priority: int = 0


@dataclass(frozen=True)
class Kind:
    """One kind of the group."""

    name: str
    plural: str
    short: str
    model: type[Model]
    columns: tuple[PrinterColumn, ...]
    namespaced: bool = True


READY = PrinterColumn("READY", "string", '.status.conditions[?(@.type=="Ready")].status')
REASON = PrinterColumn("REASON", "string", '.status.conditions[?(@.type=="Ready")].reason', priority=1)
MESSAGE_PATH = '.status.conditions[?(@.type=="Ready")].message'
AGE = PrinterColumn("AGE", "date", ".metadata.creationTimestamp")

KINDS: tuple[Kind, ...] = (
    Kind(
        "Stream",
        "streams",
        "wst",
        Stream,
        (
            READY,
            PrinterColumn("RATE", "string", ".spec.rate"),
            PrinterColumn("ZONE", "string", ".spec.origin.zone"),
            PrinterColumn("NODE", "string", ".spec.origin.node"),
            REASON,
            AGE,
        ),
    ),
    Kind(
        "StreamQuery",
        "streamqueries",
        "wsq",
        StreamQuery,
        (
            READY,
            PrinterColumn("REASON", "string", REASON.path),
            PrinterColumn("FRAGMENTS", "string", ".status.ready"),
            PrinterColumn("HEADROOM", "number", ".status.headroom"),
            PrinterColumn("REVISION", "integer", ".status.revision"),
            PrinterColumn("LATENCY", "number", ".status.latencySeconds", priority=1),
            PrinterColumn("NODES", "string", ".status.nodes", priority=1),
            PrinterColumn("MESSAGE", "string", MESSAGE_PATH, priority=1),
            AGE,
        ),
    ),
    Kind(
        "InputProfile",
        "inputprofiles",
        "wip",
        InputProfile,
        (READY, PrinterColumn("POINTS", "string", ".spec.points[*].name"), REASON, AGE),
    ),
    Kind(
        "PlacementPolicy",
        "placementpolicies",
        "wpp",
        PlacementPolicy,
        (
            READY,
            PrinterColumn("OBJECTIVE", "string", ".spec.objective"),
            PrinterColumn("STRATEGY", "string", ".spec.strategy.name"),
            PrinterColumn("MODE", "string", ".spec.mode"),
            PrinterColumn("HEADROOM", "number", ".status.headroom"),
            REASON,
            AGE,
        ),
        namespaced=False,
    ),
    Kind(
        "NetworkTopology", "networktopologies", "wnt", NetworkTopology, (READY, REASON, AGE), namespaced=False
    ),
    Kind(
        "Placement",
        "placements",
        "wpl",
        Placement,
        (
            PrinterColumn("READY", "string", ".status.ready"),
            PrinterColumn("HEADROOM", "number", ".status.headroom"),
            PrinterColumn("REVISION", "integer", ".spec.revision"),
            PrinterColumn("RETAINED", "string", ".spec.retained.until"),
            PrinterColumn("NODES", "string", ".status.nodes", priority=1),
            PrinterColumn("FRAGMENTS", "string", ".spec.fragments[*].name", priority=1),
            AGE,
        ),
    ),
    Kind(
        "QuerySnapshot",
        "querysnapshots",
        "wqs",
        QuerySnapshot,
        (
            READY,
            PrinterColumn("QUERY", "string", ".status.query"),
            PrinterColumn("TAKEN", "string", ".status.taken"),
            PrinterColumn("SIZE", "string", ".status.size"),
            REASON,
            AGE,
        ),
    ),
)

MODELS: dict[tuple[str, str], type[Model]] = {
    **{(API_VERSION, kind.name): kind.model for kind in KINDS},
    ("v1", "Node"): Node,
    ("v1", "ResourceQuota"): ResourceQuota,
    ("v1", "LimitRange"): LimitRange,
}
"""Model by apiVersion and kind."""

CLUSTER_SCOPED = frozenset({"Node", *(kind.name for kind in KINDS if not kind.namespaced)})
