"""Leader election by a Lease in the operator's namespace: one replica acts, the other only watches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from weir_operator.controller.times import micro_time
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError

LEADER_LEASE = "weir-operator"
CANARY = {names.ROLE: "leader"}  # label by which the operator's own watch finds the Lease
DURATION = 15  # [s]
RENEW = 5.0  # [s]


class Leader:
    """One replica's view. A holder counts as gone when its Lease has not changed for the Lease's duration
    on this replica's own clock, so clocks need not agree."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        identity: str,
        clock: Callable[[], float] = time.monotonic,
        operator_class: str = "",
    ) -> None:
        self._name = f"{LEADER_LEASE}-{operator_class}" if operator_class else LEADER_LEASE
        self._api = api
        self._namespace = namespace
        self._identity = identity
        self._clock = clock
        self._record: tuple[str, str] | None = None  # holder and renewal last seen
        self._since = 0.0
        self._renewed = float("-inf")
        self.unanswered = False  # the last campaign: nobody else can have won meanwhile

    def leads(self) -> bool:
        """Whether this replica may write now: it holds the Lease and renewed it in time."""
        return self._clock() - self._renewed < DURATION * 2 / 3

    def campaign(self) -> bool:
        """Renew the Lease or take it if it is free; call every `RENEW` seconds. True while leading."""
        start = self._clock()
        try:
            lease = self._api.get("Lease", self._namespace, self._name)
            if lease is None:
                won = self._api.create(self._manifest({}, 1))
            elif self._free(lease):
                spec = lease.get("spec") or {}
                changes = int(spec.get("leaseTransitions") or 0) + (
                    spec.get("holderIdentity") != self._identity
                )
                self._api.replace(self._manifest(lease["metadata"], changes))
                won = True
            else:
                won = False
        except ApiError as error:
            self.unanswered = error.status == 0 or error.status >= 500
            return self.leads()  # no answer, or another was faster: an earlier renewal lasts its time
        self.unanswered = False
        self._renewed = start if won else float("-inf")
        return self.leads()

    def usurp(self, seconds: int) -> None:
        """Take the Lease from whoever holds it: for this many seconds nobody leads.

        Replicas notice at their next renewal, and in any case after `DURATION` seconds.
        """
        while True:
            lease = self._api.get("Lease", self._namespace, self._name) or {"metadata": {}}
            manifest = self._manifest(
                lease["metadata"], int((lease.get("spec") or {}).get("leaseTransitions") or 0) + 1
            )
            manifest["spec"]["leaseDurationSeconds"] = seconds
            try:
                if "resourceVersion" in lease["metadata"]:
                    self._api.replace(manifest)
                    return
                if self._api.create(manifest):
                    return
            except ApiError as error:
                if error.status != 409:
                    raise

    def resign(self) -> None:
        """Let the other replica begin at once."""
        if not self.leads():
            return
        self._renewed = float("-inf")
        lease = self._api.get("Lease", self._namespace, self._name)
        if lease and lease["spec"].get("holderIdentity") == self._identity:
            self._api.replace({**lease, "spec": {**lease["spec"], "holderIdentity": ""}})

    def _free(self, lease: dict[str, Any]) -> bool:
        spec = lease.get("spec") or {}
        holder, renewed = spec.get("holderIdentity") or "", spec.get("renewTime") or ""
        now = self._clock()
        if (holder, renewed) != self._record:
            self._record, self._since = (holder, renewed), now
        duration = float(spec.get("leaseDurationSeconds") or DURATION)
        return holder in ("", self._identity) or now - self._since > duration

    def _manifest(self, meta: dict[str, Any], changes: int) -> dict[str, Any]:
        labels = {**(meta.get("labels") or {}), **CANARY, "app.kubernetes.io/name": "weir"}
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {**meta, "name": self._name, "namespace": self._namespace, "labels": labels},
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": DURATION,
                "leaseTransitions": changes,
                "renewTime": micro_time(time.time()),
            },
        }
