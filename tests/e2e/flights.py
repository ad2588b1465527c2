"""The flights example in a namespace of a test, exactly as its kustomization says it."""

from __future__ import annotations

import json
from dataclasses import dataclass
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
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"


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
    found = []
    for manifest in yaml.safe_load_all(kubectl("kustomize", "examples/flights")):
        if manifest["kind"] == "Namespace":
            continue
        if "namespace" in manifest["metadata"]:
            manifest["metadata"]["namespace"] = namespace
        if manifest["kind"] in ("Deployment", "Job"):
            manifest["spec"]["template"]["spec"] |= ON_CONTROL_PLANE
        if manifest["kind"] == "Job":
            container = manifest["spec"]["template"]["spec"]["containers"][0]
            given = ["--servers", "kafka:9092", "--hours", str(hours), "--speed", str(speed), *more]
            container["args"] = given
        if manifest["kind"] == "PersistentVolumeClaim":
            manifest["spec"]["storageClassName"] = ""
        found.append(manifest)
    return found


def start(namespace: str, hours: int, speed: float, *more: str) -> None:
    """Broker, queries and replay (`more`: its other options); returns when every query is Ready where it was
    planned."""
    run(namespace, manifests(namespace, hours, speed, *more))


def run(namespace: str, objects: list[Manifest]) -> None:
    """As `start`, with the manifests of `manifests` as a test has changed them."""
    apply([o for o in objects if o["kind"] != "Job"])
    kubectl("wait", "-n", namespace, "--for=condition=Available", "deployment/kafka", "--timeout=120s")
    apply([o for o in objects if o["kind"] == "Job"])
    wait_ready(namespace, 400)
    assert drivers(namespace)
    assert not off_their_pin(namespace)


def topic(namespace: str, name: str) -> list[Message]:
    """Every message that the topic has now, in order; none when there is no such topic yet."""
    found = [line.split(":") for line in kafka_tool(namespace, OFFSETS).splitlines()]
    count = sum(int(end) for topic_name, _, end in found if topic_name == name)
    if not count:
        return []
    wanted = ("--from-beginning", "--max-messages", str(count), "--timeout-ms", "60000")
    text = kafka_tool(namespace, CONSUMER, "--topic", name, *wanted, "--property", "print.headers=true")
    lines = (line.split("\t") for line in text.splitlines() if line.endswith("}"))
    messages = [Message(line[0] if len(line) > 1 else "", json.loads(line[-1])) for line in lines]
    assert len(messages) == count, f"{len(messages)} of {count} messages of {name} were read"
    return messages


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


def off_their_pin(namespace: str) -> list[str]:
    """Driver pods that do not run on the node of their plan."""
    return [
        f"{pod['metadata']['name']} on {pod['spec'].get('nodeName')}"
        for pod in drivers(namespace)
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
    found = [s for p in get("pods", "-n", namespace, pod) for s in p["status"].get("containerStatuses", [])]
    return sum(state["restartCount"] for state in found)
