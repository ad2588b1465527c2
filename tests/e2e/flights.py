"""The flights example in a namespace of a test, exactly as its kustomization says it."""

from __future__ import annotations

import base64
import copy
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.kubectl import CLUSTER, Manifest, apply, condition, get, kubectl, wait_until

STREAMS = ("departures", "arrivals", "weather")
QUERIES = ("delayed-weather", "made-up-time", "by-carrier")
ON_CONTROL_PLANE = {
    "nodeSelector": {"kubernetes.io/hostname": f"{CLUSTER}-control-plane"},
    "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}],
}
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
READ_TOPICS = Path(__file__).with_name("read_topics.py")


@dataclass(frozen=True)
class Message:
    """A message of a topic: its headers, and its value as JSON."""

    headers: str
    value: dict[str, Any]


def manifests(namespace: str, hours: int, speed: float, *more: str) -> list[Manifest]:
    """The objects of `kubectl kustomize examples/flights`, moved into the namespace of a test.

    Kafka and the replay run beside the control plane, so that workers can be drained and frozen; the
    claim is the namespace's static volume.
    """
    objects = []
    for manifest in yaml.safe_load_all(kubectl("kustomize", "examples/flights")):
        if manifest["kind"] == "Namespace":
            continue
        if "namespace" in manifest["metadata"]:
            manifest["metadata"]["namespace"] = namespace
        if manifest["kind"] in ("Deployment", "Job"):
            manifest["spec"]["template"]["spec"] |= ON_CONTROL_PLANE
        if manifest["kind"] == "Job":
            container = manifest["spec"]["template"]["spec"]["containers"][0]
            arguments = ["--servers", "kafka:9092", "--hours", str(hours), "--speed", str(speed), *more]
            container["args"] = arguments
            objects.append(reader_of(manifest))
        if manifest["kind"] == "PersistentVolumeClaim":
            manifest["spec"]["storageClassName"] = ""
        objects.append(manifest)
    return objects


def policy_of(objects: list[Manifest]) -> Manifest:
    """The flights' policy."""
    (policy,) = [o for o in objects if o["kind"] == "PlacementPolicy"]
    return policy


def only(objects: list[Manifest], queries: tuple[str, ...]) -> list[Manifest]:
    """The objects without the other queries: each fragment is a process that takes a share of the machine."""
    return [o for o in objects if o["kind"] != "StreamQuery" or o["metadata"]["name"] in queries]


def start(namespace: str, hours: int, speed: float, *more: str) -> None:
    """Broker, queries and replay (`more`: its other options); returns when every query is Ready where it was
    planned."""
    run(namespace, manifests(namespace, hours, speed, *more))


def run(
    namespace: str, objects: list[Manifest], queries: tuple[str, ...] = QUERIES, force: bool = True
) -> None:
    """As `start`, with the manifests of `manifests` as a test has changed them, and what queries it left."""
    apply([o for o in objects if o["kind"] != "Job"], force)
    kubectl("wait", "-n", namespace, "--for=condition=Available", "deployment/kafka", "--timeout=120s")
    apply([o for o in objects if o["kind"] == "Job"])
    wait_ready(namespace, 400, queries)
    assert workers(namespace)
    assert not off_their_pin(namespace)


def topics(namespace: str, names: Iterable[str]) -> dict[str, list[Message]]:
    """Every message that each topic has now, in order; none when there is no such topic yet."""
    messages: dict[str, list[Message]] = {name: [] for name in names}
    reader = ("exec", "-i", "-n", namespace, "reader", "--", "/opt/venv/bin/python", "-", *messages)
    packed = base64.b64decode(kubectl(*reader, stdin=READ_TOPICS.read_text(), timeout=180))
    for line in zlib.decompress(packed).decode().splitlines():
        name, headers, value = json.loads(line)
        messages[name].append(Message(headers, json.loads(value)))
    return messages


def reader_of(job: Manifest) -> Manifest:
    """A pod like the replay's, for `topics`: one process reads them all, where each of the broker's own tools
    would cost a JVM."""
    spec = copy.deepcopy(job["spec"]["template"]["spec"]) | {"terminationGracePeriodSeconds": 0}
    (container,) = spec["containers"]
    del container["args"]
    container |= {"name": "reader", "command": ["sleep", "infinity"]}
    namespace = job["metadata"]["namespace"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "reader", "namespace": namespace},
        "spec": spec,
    }


def kafka_tool(namespace: str, tool: str, *arguments: str) -> str:
    """Standard output of one of the broker's tools."""
    command = ("/opt/kafka/entrypoint.sh", tool, "--bootstrap-server", "kafka:9092", *arguments)
    broker = ("-n", namespace, "exec", "deployment/kafka", "-c", "kafka")
    return kubectl(*broker, "--", *command, timeout=180)


def wait_ready(namespace: str, seconds: float, names: tuple[str, ...] = QUERIES) -> None:
    """Until every query is Ready, as `kubectl wait` would see it; tells their conditions if not."""

    def conditions() -> dict[str, str]:
        queries = get("streamqueries", "-n", namespace)
        return {
            q["metadata"]["name"]: "; ".join(
                f"{c['type']}={c['status']} {c.get('reason')} {c.get('message', '')}"
                for c in q.get("status", {}).get("conditions", [])
            )
            for q in queries
        }

    def ready() -> bool:
        queries = {q["metadata"]["name"]: q for q in get("streamqueries", "-n", namespace)}
        return all(
            name in queries
            and condition(queries[name], "Ready").get("status") == "True"
            and condition(queries[name], "Ready").get("observedGeneration")
            == queries[name]["metadata"]["generation"]
            for name in names
        )

    try:
        wait_until(seconds, "queries Ready", ready, every=1)
    except AssertionError as error:
        raise AssertionError(f"{error}: {json.dumps(conditions(), indent=1)}") from None


def drivers(namespace: str) -> list[Manifest]:
    """Driver pods that are not on their way out."""
    pods = get("pods", "-n", namespace, "-l", "weir.dev/role=driver")
    return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def workers(namespace: str) -> list[Manifest]:
    """Pods in which fragments run, one or several, and that are not on their way out."""
    pods = get("pods", "-n", namespace, "-l", "weir.dev/role in (driver,host)")
    return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def uids(namespace: str) -> dict[str, str]:
    """Of each driver, by its pod's name."""
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in drivers(namespace)}


def off_their_pin(namespace: str) -> list[str]:
    """Drivers and hosts that do not run on the node of their plan."""
    return [
        f"{pod['metadata']['name']} on {pod['spec'].get('nodeName')}"
        for pod in workers(namespace)
        if pod["spec"].get("nodeName") != pod["metadata"]["annotations"]["weir.dev/node"]
    ]


def wait_replayed(namespace: str, seconds: float) -> None:
    """Until the replay Job has sent every row."""
    kubectl(
        "wait",
        "-n",
        namespace,
        "--for=condition=Complete",
        "job/replay",
        f"--timeout={seconds:.0f}s",
        timeout=seconds + 30,
    )


def kill(namespace: str, pod: str) -> None:
    """SIGKILL for every process of the pod's container, as the out-of-memory killer would."""
    kubectl("exec", "-n", namespace, pod, "--", "bash", "-c", "kill -KILL -1 || true")


def nodes_of(namespace: str) -> dict[str, str]:
    """Node of each driver that is not on its way out, by its pod's name."""
    return {p["metadata"]["name"]: p["spec"].get("nodeName", "") for p in drivers(namespace)}


def homes(namespace: str, query: str) -> set[tuple[str, str]]:
    """Fragment and node of each driver of a query."""
    return {
        (pod["metadata"]["labels"]["weir.dev/fragment"], pod["spec"].get("nodeName", ""))
        for pod in drivers(namespace)
        if pod["metadata"]["labels"]["weir.dev/query"] == query
    }


def moving(namespace: str) -> list[str]:
    """Queries that say that they move."""
    queries = get("streamqueries", "-n", namespace)
    return [q["metadata"]["name"] for q in queries if condition(q, "Moving").get("status") == "True"]


def events(namespace: str, reason: str) -> list[tuple[str, str]]:
    """Query and text of each event that was published for the reason."""
    objects = get("events.v1.events.k8s.io", "-n", namespace)
    return [(e["regarding"]["name"], e["note"]) for e in objects if e["reason"] == reason]


def revisions(namespace: str) -> dict[str, int]:
    """Revision of the plan in force, by query."""
    return {o["metadata"]["name"]: o["spec"]["revision"] for o in get("wpl", "-n", namespace)}


def generations(namespace: str) -> dict[str, int]:
    """How often the spec of each of Weir's objects has changed, by kind and name."""
    kinds = "streams,streamqueries,inputprofiles,placements,placementpolicies,networktopologies"
    items = get(kinds, "-n", namespace)
    return {f"{o['kind']}/{o['metadata']['name']}": o["metadata"]["generation"] for o in items}


def images(namespace: str) -> set[str]:
    """Images of the drivers that are not on their way out."""
    return {pod["spec"]["containers"][0]["image"] for pod in drivers(namespace)}


def restarted_and_ready(namespace: str, pod: str) -> bool:
    """Whether the driver's container was started again and is ready."""
    return restarts(namespace, pod) > 0 and all(
        state["ready"]
        for p in get("pods", "-n", namespace, pod)
        for state in p["status"]["containerStatuses"]
    )


def restarts(namespace: str, pod: str) -> int:
    """How often the containers of a pod were started again."""
    statuses = [
        s for p in get("pods", "-n", namespace, pod) for s in p["status"].get("containerStatuses", [])
    ]
    return sum(state["restartCount"] for state in statuses)
