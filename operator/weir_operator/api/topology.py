"""Kind NetworkTopology: latency and bandwidth between zones or nodes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from weir_operator.api.base import (
    API_VERSION,
    DATA_KEY_PATTERN,
    CelRule,
    LabelKey,
    Metadata,
    Model,
    Name,
    NodeName,
    ObjectStatus,
    exactly_one,
)
from weir_operator.api.values import Bits, Duration

ZONE_LABEL = "topology.kubernetes.io/zone"
PLACE_PATTERN = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
ZoneOrNode = Annotated[str, Field(max_length=253, pattern=PLACE_PATTERN)]


class LinkValues(Model):
    """Latency and bandwidth of a link; by default 0 and unlimited."""

    latency: Duration | None = Field(None, description="One-way latency; by default 0.")
    bandwidth: Bits | None = Field(None, description="Bits/s, such as 100M or 1G; by default unlimited.")


class Link(LinkValues):
    """A link between two zones or two nodes, in one direction unless both is true."""

    rules = (
        CelRule(
            cel="self.from != self.to",
            message="from and to are the same: name two ends; `within` is for links inside each zone",
            holds=lambda raw: raw.get("from") is None or raw.get("from") != raw.get("to"),
        ),
    )
    source: ZoneOrNode = Field(alias="from", description="Zone or node.")
    target: ZoneOrNode = Field(alias="to", description="Zone or node.")
    both: bool = Field(False, description="true: the same in both directions.")


class ConfigMapKey(Model):
    """One key of a ConfigMap."""

    namespace: Name = Field(description="Namespace of the ConfigMap.")
    name: Annotated[str, Field(max_length=253)] = Field(description="Name of the ConfigMap.")
    key: Annotated[str, Field(max_length=253, pattern=DATA_KEY_PATTERN)] = Field(
        description="Key of the data; with gzip as binary data it holds up to about 500 nodes."
    )


class Matrix(Model):
    """A matrix of latencies, one row of tab-separated numbers for each `from`."""

    rules = (exactly_one("configMapRef", "file"),)
    config_map_ref: ConfigMapKey | None = Field(None, description="The matrix is in a ConfigMap.")
    file: Annotated[str, Field(min_length=1, max_length=1024)] | None = Field(
        None, description="A text file, plain or .gz, relative to the manifest; only on the command line."
    )
    unit: Literal["s", "ms", "us"] = Field("ms", description="Unit of the numbers.")
    round_trip: bool = Field(False, description="true: the numbers are round-trip times and are halved.")
    nodes: Annotated[list[NodeName], Field(min_length=1, max_length=5000)] = Field(
        description="Names of the nodes (or zones), in the order of rows and columns.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )


class NetworkTopologySpec(Model):
    """The network between nodes, as plans assume it."""

    zone_label: LabelKey = Field(ZONE_LABEL, description="Node label that names the zone.")
    default: LinkValues = Field(default_factory=LinkValues, description="Between two zones without a link.")
    within: LinkValues = Field(default_factory=LinkValues, description="Between two nodes of a zone.")
    links: Annotated[list[Link], Field(max_length=2000)] = Field(
        default_factory=list,
        description="Links; one between two nodes overrides one between their zones.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["from", "to"]},
    )
    matrix: Matrix | None = Field(None, description="Measured latencies, which the links override.")
    measured: bool = Field(
        False, description="true: latencies measured between running fragments override those given here."
    )


class NetworkTopologyStatus(ObjectStatus):
    """How the topology was read."""

    nodes: int | None = Field(None, description="Nodes of the matrix.")


class NetworkTopology(Model):
    """Latency and bandwidth between zones, or between nodes."""

    api_version: Literal["weir.dev/v1alpha1"] = API_VERSION
    kind: Literal["NetworkTopology"] = "NetworkTopology"
    metadata: Metadata
    spec: NetworkTopologySpec = Field(default_factory=NetworkTopologySpec)
    status: NetworkTopologyStatus | None = None
