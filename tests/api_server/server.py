"""An API server and its etcd as processes of this machine, without node, scheduler or controller.

So nothing is collected after its owner, no quota is counted, no namespace ends and no pod starts, unless a
test says so: what is tested is what the API server itself does with what is written.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from kubernetes import client
from weir_operator.kube.api import Api, once

ROOT = Path(__file__).parents[2]
OPERATOR = "weir-operator"
USERS = {"admin": "system:masters", OPERATOR: "weir", "tenant": "tenants"}
"""Who may ask, each by a token that is the name, and his group."""


@cache
def programs() -> Path:
    """The folder of the programs, built the first time."""
    subprocess.run([ROOT / "hack/tools", "kube"], check=True)
    return Path(os.environ.get("WEIR_CACHE", Path.home() / ".cache/weir"), "bin")


@dataclass
class ApiServer:
    """Returns from `start` when it is ready; one folder keeps its state, so that it can be started again."""

    folder: Path
    port: int
    etcd_port: int
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        """Both programs; on the same data and ports when it was stopped before."""
        self.start_etcd()
        self.start_api()

    def start_etcd(self) -> None:
        """Returns at once. Writes are not synced to the disk, which nobody's crash shall be survived on."""
        peer, own = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{self.etcd_port}"
        self._run("etcd", "etcd", "--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync",
                  "--listen-client-urls", own, "--advertise-client-urls", own, "--listen-peer-urls", peer,
                  "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
                  "--log-level", "error")  # fmt: skip

    def start_api(self) -> None:
        """Returns when it is ready."""
        keys = self.folder / "keys"
        if not keys.exists():
            kubeadm = ["kubeadm", "init", "phase", "certs", "sa", "--cert-dir", str(keys)]
            subprocess.run(kubeadm, executable=programs() / "kube", check=True, capture_output=True)
        tokens = "".join(f"{user},{user},{user},{group}\n" for user, group in USERS.items())
        (self.folder / "tokens").write_text(tokens)
        self._run("kube", "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
                  "--etcd-compaction-interval=0", f"--cert-dir={self.folder / 'tls'}",
                  "--bind-address=127.0.0.1", f"--secure-port={self.port}", "--authorization-mode=RBAC",
                  f"--token-auth-file={self.folder / 'tokens'}", "--service-cluster-ip-range=10.0.0.0/24",
                  "--service-account-issuer=https://kubernetes.default.svc",
                  f"--service-account-key-file={keys / 'sa.pub'}",
                  f"--service-account-signing-key-file={keys / 'sa.key'}")  # fmt: skip
        self.until(self.ready)

    def until(self, condition: Callable[[], bool]) -> None:
        """Waits for it, at most 120 s, and only while the API server lives."""
        deadline, log = time.monotonic() + 120, self.folder / "kube-apiserver.log"
        while not condition():
            assert self.processes[-1].poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, f"not within 120 s; see {log}"
            time.sleep(0.1)

    def _run(self, program: str, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes.append(
                subprocess.Popen([name, *arguments], executable=programs() / program, stdout=log, stderr=log)
            )

    def stop_api(self) -> None:
        """The API server alone, at once."""
        process = self.processes.pop()
        process.kill()
        process.wait()

    def stop(self) -> None:
        """Both, at once."""
        while self.processes:
            self.stop_api()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def authority(self) -> Path:
        """Of its certificate, which it has made itself."""
        return self.folder / "tls/apiserver.crt"

    def ready(self) -> bool:
        if not self.authority.exists():
            return False
        request = urllib.request.Request(f"{self.url}/readyz", headers={"Authorization": "Bearer admin"})
        context = ssl.create_default_context(cafile=str(self.authority))
        try:
            with urllib.request.urlopen(request, timeout=5, context=context) as answer:
                return bool(answer.read() == b"ok")
        except OSError:
            return False

    def api(self, user: str) -> Api:
        """The operator's own client, as one of `USERS`."""
        configuration = client.Configuration(host=self.url, api_key={"BearerToken": f"Bearer {user}"})
        configuration.ssl_ca_cert = str(self.authority)
        return Api(client.ApiClient(configuration), client.ApiClient(once(configuration)))

    def kubeconfig(self, user: str) -> Path:
        """A file for programs that read one."""
        cluster = {"server": self.url, "certificate-authority": str(self.authority)}
        path = self.folder / f"{user}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": user}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": user}}],
        }))  # fmt: skip
        return path

    def compact(self) -> None:
        """Forgets every version but the last: who goes on from an older one is answered 410."""
        revision = self._etcd("range", {"key": "AA=="})["header"]["revision"]
        self._etcd("compaction", {"revision": revision, "physical": True})

    def _etcd(self, verb: str, body: Mapping[str, Any]) -> Any:
        url = f"http://127.0.0.1:{self.etcd_port}/v3/kv/{verb}"
        with urllib.request.urlopen(url, json.dumps(body).encode(), timeout=30) as answer:
            return json.load(answer)


def start_api_server(folder: Path) -> ApiServer:
    """On ports that are free now."""
    server = ApiServer(folder, free_port(), free_port())
    try:
        server.start()
    except BaseException:
        server.stop()
        raise
    return server


def free_port() -> int:
    """It may be taken again by the time it is used; nothing else here takes any."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
