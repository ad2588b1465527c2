"""What the adapter relies on in the objects that it reads: every field that is used, of its type.

The API server checks the fields of its own kinds; labels and annotations hold whatever a tenant writes, and
an aggregated server or a newer version may differ. An object that is not so is left out, and said
(`unreadable`). Fields that are not used may hold anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from weir_operator.api.values import parse_quantity
from weir_operator.controller.times import seconds
from weir_operator.kube import names

_LONGEST_VALUE = 80  # letters of a value in a message
_TIME_ERROR = "time"
"""Type of an error whose message goes on after the value: `is not ...`; pydantic's own are sentences."""


def _time(text: str) -> str:
    try:
        seconds(text)
    except (ValueError, OverflowError):
        raise PydanticCustomError(_TIME_ERROR, "is not a time, as 2026-01-31T12:00:00Z") from None
    return text


def _quantity(amount: Any) -> Any:
    parse_quantity(amount)
    return amount


Time = Annotated[str, AfterValidator(_time)]
Quantities = dict[str, Annotated[Any, AfterValidator(_quantity)]]
NaturalNumber = Annotated[int, Field(ge=0, lt=2**31)]


class _Used(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, alias_generator=to_camel)


class _Owner(_Used):
    uid: str


class _Metadata(_Used):
    labels: dict[str, str] = {}
    annotations: dict[str, str] | None = None
    creation_timestamp: Time | None = None
    deletion_timestamp: Time = ""
    deletion_grace_period_seconds: NaturalNumber | None = None
    owner_references: list[_Owner] = []


class _Resources(_Used):
    requests: Quantities = {}
    limits: Quantities = {}


class _Container(_Used):
    resources: _Resources = _Resources()
    restart_policy: str = ""
    args: list[str] = []


class _Toleration(_Used):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class _PodSpec(_Used):
    node_name: str | None = None
    containers: list[_Container]
    init_containers: list[_Container] = []
    overhead: Quantities = {}
    resources: _Resources = _Resources()
    tolerations: list[_Toleration] | None = None


class _Running(_Used):
    started_at: Time | None = None


class _Waiting(_Used):
    reason: str | None = None
    message: str | None = None


class _Terminated(_Used):
    exit_code: int | None = None
    reason: str = ""
    message: str | None = None
    finished_at: Time | None = None


class _State(_Used):
    running: _Running = _Running()
    waiting: _Waiting | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(_Used):
    name: str = ""
    restart_count: NaturalNumber = 0
    state: _State | None = None
    last_state: _State | None = None


class _Condition(_Used):
    type: str
    status: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class _PodStatus(_Used):
    phase: str = ""
    reason: str = ""
    message: str | None = None
    pod_ip: str | None = Field(None, alias="podIP")
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None


class _Pod(_Used):
    metadata: _Metadata
    spec: _PodSpec
    status: _PodStatus = _PodStatus()


class _LeaseSpec(_Used):
    holder_identity: str | None = None
    lease_transitions: NaturalNumber | None = None
    lease_duration_seconds: Annotated[float, Field(ge=0, lt=2**31)] | None = None
    renew_time: Time | None = None


class _Lease(_Used):
    metadata: _Metadata
    spec: _LeaseSpec | None = None


class _Taint(_Used):
    key: str
    value: str | None = None
    effect: str | None = None
    time_added: Time | None = None


class _NodeSpec(_Used):
    taints: list[_Taint] | None = None


class _NodeStatus(_Used):
    conditions: list[_Condition] | None = None


class _Node(_Used):
    metadata: _Metadata
    spec: _NodeSpec | None = None
    status: _NodeStatus = _NodeStatus()


class _Fragment(_Used):
    name: str


class _PlacementSpec(_Used):
    fragments: list[_Fragment] | None = None


class _PlacementStatus(_Used):
    owned: list[str] | None = None


class _Placement(_Used):
    metadata: _Metadata
    spec: _PlacementSpec | None = None
    status: _PlacementStatus | None = None


class _ConfigMapRef(_Used):
    namespace: str | None = None
    name: str


class _Matrix(_Used):
    config_map_ref: _ConfigMapRef | None = None


class _TopologySpec(_Used):
    matrix: _Matrix | None = None


class _Topology(_Used):
    spec: _TopologySpec | None = None


class _PodTemplate(_Used):
    service_account_name: str | None = None


class _PolicySpec(_Used):
    allowed_namespaces: list[str] | None = None
    pod_template: _PodTemplate | None = None


class _Policy(_Used):
    spec: _PolicySpec | None = None


class _Series(_Used):
    last_observed_time: Time | None = None


class _Event(_Used):
    metadata: _Metadata
    series: _Series | None = None
    deprecated_last_timestamp: Time | None = None
    event_time: Time | None = None
    reason: str | None = None
    note: str | None = None


class _Other(_Used):
    metadata: _Metadata


_SHAPES: Mapping[str, type[_Used]] = {
    "Pod": _Pod,
    "Lease": _Lease,
    "Node": _Node,
    "Placement": _Placement,
    "NetworkTopology": _Topology,
    "PlacementPolicy": _Policy,
    "Event": _Event,
}


class BrokenField(ValueError):
    """Of an object: which field holds what, and what would be right."""

    def __init__(self, field: str, value: object, why: str) -> None:
        text = repr(value)
        short = text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
        super().__init__(f"{field}: {short} {why}")


def check(manifest: Mapping[str, Any]) -> None:
    """Raises BrokenField for the first field of an object that cannot be used."""
    try:
        _SHAPES.get(manifest["kind"], _Other).model_validate(manifest)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        message = first["msg"]
        why = message if first["type"] == _TIME_ERROR else f"is not usable: {message}"
        raise BrokenField(path, first["input"], why) from None


def check_fragment(manifest: Mapping[str, Any]) -> None:
    """Whether an object that has a fragment's labels is what it says; anybody may write labels.

    Raises BrokenField: another fragment's name than the label says in its own name, in the annotation of a
    Pod; or a Pod whose epoch is none.
    """
    meta = manifest["metadata"]
    fragment = meta["labels"][names.FRAGMENT]
    if manifest["kind"] != "Pod":
        if meta["name"] != fragment:
            raise BrokenField(f"metadata.labels.{names.FRAGMENT}", fragment, "is not the object's name")
        return
    epoch, annotation = (
        meta["labels"][names.EPOCH],
        (meta.get("annotations") or {}).get(names.FRAGMENT, fragment),
    )
    if names.epoch_number(epoch) is None:
        raise BrokenField(f"metadata.labels.{names.EPOCH}", epoch, "is not an epoch, as 1")
    if names.object_name(annotation) != fragment:
        why = f"is not the fragment of the label, {fragment}"
        raise BrokenField(f"metadata.annotations.{names.FRAGMENT}", annotation, why)
