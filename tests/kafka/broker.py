"""A Kafka broker as a process of this machine: KRaft, small, with a rack of its own."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError
from weir_runtime.session import java

from tests.kafka import login

ROOT = Path(__file__).parents[2]
CLUSTER_ID = "weir-test-0000000000000"
OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto")


@dataclass
class Broker:
    """One node; the first is the controller too."""

    node: int
    rack: str
    folder: Path
    port: int
    controller: int
    secure: int  # its port for those who log in over TLS
    process: subprocess.Popen[bytes]
    command: list[str]

    @property
    def address(self) -> str:
        """Of a client's bootstrapServers."""
        return f"127.0.0.1:{self.port}"

    @property
    def authority(self) -> Path:
        """The certificate by which clients know it."""
        return self.folder / "ca.crt"

    @property
    def options(self) -> dict[str, Any]:
        """As a fragment is told them."""
        return {"bootstrapServers": self.address}

    def stop(self) -> None:
        """At once."""
        self.process.kill()
        self.process.wait()

    def start_again(self) -> None:
        """On the same data and ports; returns at once."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, start_new_session=True)


def jars() -> Path:
    """Where they are; fetched the first time."""
    process = subprocess.run([ROOT / "hack/kafka-jars"], check=True, stdout=subprocess.PIPE, text=True)
    return Path(process.stdout.strip())


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def start_broker(
    folder: Path,
    node: int = 1,
    rack: str = "z1",
    after: Broker | None = None,
    line: Callable[[int], int] = int,
) -> Broker:
    """Returns when it serves, and when the first one, `after` which it is started, knows it. Clients are sent
    to the port that `line` gives for its own."""
    folder.mkdir(parents=True)
    login.authority(folder)
    port, secure, own = free_port(), free_port(), after.controller if after else free_port()
    first = after is None
    reached = f"PLAINTEXT://127.0.0.1:{port},SASL_SSL://127.0.0.1:{secure}"
    lines = {
        "process.roles": "broker,controller" if first else "broker",
        "node.id": str(node),
        "broker.rack": rack,
        "controller.quorum.voters": f"1@127.0.0.1:{own}",
        "listeners": reached + (f",CONTROLLER://127.0.0.1:{own}" if first else ""),
        "advertised.listeners": reached.replace(f":{port},", f":{line(port)},"),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
        "log.dirs": str(folder / "data"),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        "log.cleaner.enable": "false",
        "log.segment.bytes": str(2**20),
        "log.index.size.max.bytes": str(2**16),
        **login.listener(folder),
    }
    properties = folder / "server.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    command = [java(), "-Xmx192m", *OPTIONS, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    command += ["-cp", f"{jars()}/*"]
    arguments = ["format", "--cluster-id", CLUSTER_ID, "--config", str(properties), *login.scram()]
    log = (folder / "log").open("wb")
    subprocess.run([*command, "kafka.tools.StorageTool", *arguments], check=True, stdout=log, stderr=log)
    command += ["kafka.Kafka", str(properties)]
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    broker = Broker(node, rack, folder, port, own, secure, process, command)
    for known_to in filter(None, (broker, after)):
        _await(broker, known_to.address)
    return broker


def _await(broker: Broker, address: str, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while True:
        assert broker.process.poll() is None, (broker.folder / "log").read_text()[-2000:]
        assert time.monotonic() < deadline, f"no broker within {seconds} s; see {broker.folder}/log"
        try:
            admin = KafkaAdminClient(bootstrap_servers=address, bootstrap_timeout_ms=1000)
        except (KafkaError, OSError):
            time.sleep(0.1)
            continue
        broker_ids = {b["broker_id"] for b in admin.describe_cluster()["brokers"]}
        admin.close()
        if broker.node in broker_ids:
            return
        time.sleep(0.1)
