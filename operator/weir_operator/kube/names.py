"""Names and labels that the operator gives to its objects, and by which it finds them again."""

from __future__ import annotations

from hashlib import sha256

GROUP = "weir.dev"
FIELD_MANAGER = "weir"

MANAGED_BY = "app.kubernetes.io/managed-by"
FRAGMENT = f"{GROUP}/fragment"
EPOCH = f"{GROUP}/epoch"
QUERY = f"{GROUP}/query"
ROLE = f"{GROUP}/role"  # driver, executor, sweep, leader; of a host: host, host-orders, host-state
HOST = f"{GROUP}/host"  # label of what belongs to a host: its name
SHARING = f"{GROUP}/sharing-class"  # annotation of a host's orders: hash of what its fragments have in common
HEAP = f"{GROUP}/heap-mb"  # annotation of a host's orders: of its JVM
CLASS = f"{GROUP}/operator-class"  # whose it is, where several releases share a cluster; none: of class ""
NODE = f"{GROUP}/node"  # annotation: the pod's planned node
BUILD = f"{GROUP}/build"  # annotation: hash of the spec and the template
SPEC = f"{GROUP}/spec"  # annotation: the FragmentSpec, mounted into the driver as a file
EXECUTOR = f"{GROUP}/executor"  # annotation: the template of executors, mounted into the driver as a file
EXECUTORS = f"{GROUP}/executors"  # label of an account whose driver may create executors
HANDOVER = f"{GROUP}/handover-epoch"  # annotation of a lease
CHANGE = f"{GROUP}/change"  # annotation of a lease: a Change as JSON
RELEASED = f"{GROUP}/released"  # annotation of a lease
APART = f"{GROUP}/apart"  # annotation of a lease: why its fragment is kept out of hosts

INSTALLATION = "WEIR_INSTALLATION"  # environment variable: whose what a fragment leaves is
RUNTIME_PORT = 8080  # of a driver: /metrics, /healthz, /readyz
SPARK_PORTS = {"spark-driver": 7078, "spark-blocks": 7079}  # of a driver with executors; theirs is the second
EXECUTOR_PATH = "/etc/weir/executor.json"

MANAGED = f"{MANAGED_BY}={FIELD_MANAGER}"
OF_FRAGMENTS = f"{MANAGED},{FRAGMENT}"
WORKERS = f"{OF_FRAGMENTS},{EPOCH},{ROLE} in (driver,executor)"
OF_HOSTS = f"{MANAGED},{HOST}"
DRIVERS = f"{OF_FRAGMENTS},{EPOCH},{ROLE}=driver"

_LONGEST = 52  # leaves room for "-e" and nine digits within the 63 of a label


def object_name(fragment: str) -> str:
    """The name of a fragment's objects: its own as a DNS label; long ones end in a hash.

    >>> object_name("hot-auctions-f1")
    'hot-auctions-f1'
    >>> object_name("default/Hot_Auctions.f1")
    'hot-auctions-f1-8c9638'
    """
    plain = fragment.rsplit("/", 1)[-1]
    label = "".join(c if c.isascii() and c.isalnum() else "-" for c in plain.lower()).strip("-")
    if label == plain and len(label) <= _LONGEST:
        return label
    return f"{label[: _LONGEST - 7].rstrip('-')}-{sha256(plain.encode()).hexdigest()[:6]}"


def pod_name(fragment: str, epoch: int) -> str:
    """One pod for a fragment and an epoch.

    >>> pod_name("hot-auctions-f1", 3)
    'hot-auctions-f1-e3'
    """
    return f"{object_name(fragment)}-e{epoch}"


def epoch_number(text: str) -> int | None:
    """The epoch that a label or annotation says; None for anything else.

    >>> epoch_number("12"), epoch_number("-1"), epoch_number("9" * 20)
    (12, None, None)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def labels(fragment: str, query: str, role: str | None = None) -> dict[str, str]:
    """Labels of an object of a fragment; `query` is `namespace/name`."""
    common = {
        MANAGED_BY: FIELD_MANAGER,
        "app.kubernetes.io/name": FIELD_MANAGER,
        FRAGMENT: object_name(fragment),
        QUERY: object_name(query),
    }
    return common | ({ROLE: role} if role else {})
