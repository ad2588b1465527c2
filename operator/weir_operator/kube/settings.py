"""How the operator was installed: what the chart puts into its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SHORTEST_LEASE = 5
"""[s]: a request may take 2, and a lease is renewed three times in its duration."""
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True)
class OperatorSettings:
    """Each value comes from an environment variable; the chart's values.yaml describes them.

    An empty `watch_namespaces` means all; with an empty `prometheus_url` fragments are scraped directly.
    """

    runtime_image: str = "weir-runtime:dev"
    runtime_pull_policy: str = "IfNotPresent"
    runtime_pull_secrets: tuple[str, ...] = ()
    watch_namespaces: tuple[str, ...] = ()
    namespace: str = "default"  # the operator's own: leader election
    identity: str = "weir"  # the operator's pod
    claim: str = "weir-exchange"
    installation: str = ""  # whose what fragments leave on shared storage is; empty: of the cluster
    operator_class: str = ""  # of the PlacementPolicies that it serves
    trigger_ms: int = 200  # of every fragment: shortest time between two batches
    lease_seconds: int = 10  # of every fragment: a lease that was not renewed for so long may be taken
    executors: bool = True  # whether fragments may have executors: then drivers may create these pods
    hosts: bool = False  # whether fragments may share a process: then there are ConfigMaps for them
    prometheus_url: str = ""
    metrics_port: int = 8080
    webhook_port: int = 0  # 0: no webhook
    webhook_configuration: str = ""  # its name, where the operator makes the webhook's certificate itself
    webhook_host: str = ""  # the name in that certificate

    @staticmethod
    def of_environment(environment: Mapping[str, str] = os.environ) -> OperatorSettings:
        """Raises ValueError, which names the variable."""
        default = OperatorSettings()
        return OperatorSettings(
            runtime_image=environment.get("WEIR_RUNTIME_IMAGE", default.runtime_image),
            runtime_pull_policy=environment.get("WEIR_RUNTIME_PULL_POLICY", default.runtime_pull_policy),
            runtime_pull_secrets=_names(environment.get("WEIR_RUNTIME_PULL_SECRETS", "")),
            watch_namespaces=_names(environment.get("WEIR_WATCH_NAMESPACES", "")),
            namespace=environment.get("POD_NAMESPACE") or _own_namespace(),
            identity=environment.get("POD_NAME", "") or os.uname().nodename,
            claim=environment.get("WEIR_CLAIM", default.claim),
            installation=environment.get("WEIR_INSTALLATION", default.installation),
            operator_class=environment.get("WEIR_OPERATOR_CLASS", default.operator_class),
            trigger_ms=_number(
                environment, "WEIR_TRIGGER_MS", default.trigger_ms, 3_600_000, "a number of ms"
            ),
            lease_seconds=_number(
                environment,
                "WEIR_LEASE_SECONDS",
                default.lease_seconds,
                3600,
                "a number of s",
                SHORTEST_LEASE,
            ),
            executors=_flag(environment, "WEIR_EXECUTORS", default.executors),
            hosts=_flag(environment, "WEIR_HOSTS", default.hosts),
            prometheus_url=environment.get("WEIR_PROMETHEUS_URL", ""),
            metrics_port=_port(environment, "WEIR_METRICS_PORT", default.metrics_port),
            webhook_port=_port(environment, "WEIR_WEBHOOK_PORT", default.webhook_port),
            webhook_configuration=environment.get("WEIR_WEBHOOK_CONFIGURATION", ""),
            webhook_host=environment.get("WEIR_WEBHOOK_HOST", ""),
        )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _own_namespace() -> str:
    file = _ACCOUNT / "namespace"
    return file.read_text().strip() if file.exists() else "default"


def _flag(environment: Mapping[str, str], name: str, default: bool) -> bool:
    text = environment.get(name, "")
    if text not in ("", "true", "false"):
        raise ValueError(f"{name}: {text!r} is neither true nor false")
    return text == "true" if text else default


def _port(environment: Mapping[str, str], name: str, default: int) -> int:
    return _number(environment, name, default, 65535, "a port")


def _number(
    environment: Mapping[str, str], name: str, default: int, most: int, what: str, least: int = 0
) -> int:
    text = environment.get(name, "")
    if not text:
        return default
    if not text.isdigit() or not least <= int(text) <= most:
        raise ValueError(f"{name}: {text!r} is not {what}; write a whole number from {least} to {most}")
    return int(text)
