"""Kopf's part: it watches, and every event only wakes the loop. Nothing here writes to an object."""

from __future__ import annotations

import asyncio
from typing import Any

import kopf

from weir_operator.kube import names
from weir_operator.kube.admission import Admission
from weir_operator.kube.leader import CANARY
from weir_operator.kube.liveness import Liveness
from weir_operator.kube.runner import Runner

KINDS = (
    "streams",
    "streamqueries",
    "inputprofiles",
    "placementpolicies",
    "networktopologies",
    "placements",
    "querysnapshots",
)


BACKOFFS = (1.0, 2.0, 5.0, *[10.0] * 8640)
"""[s] between tries of a watch: for a day, and never so long that the API server's return goes unnoticed."""
LAG_LOOK = 0.5  # [s]
FIRST_LOOK = 60.0  # [s]
CHECKED = tuple(plural for plural in KINDS if plural != "placements")


def registry(
    runner: Runner,
    liveness: Liveness,
    admission: Admission | None = None,
    server: kopf.WebhookServer | None = None,
    everywhere: bool = True,
    hosts: bool = False,
) -> kopf.OperatorRegistry:
    """Handlers for login, startup, events and cleanup: they leave no trace in users' objects.

    With `admission` also the validating webhook, which `server` serves; it changes no object either. Unless
    `everywhere`, only some namespaces are watched. `hosts`: what they say is watched too.
    """
    handlers = kopf.OperatorRegistry()
    lagging: list[asyncio.Task[None]] = []

    @kopf.on.login(registry=handlers)
    def login(**context: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_service_account(**context) or kopf.login_with_kubeconfig(**context)

    @kopf.on.startup(registry=handlers)
    def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        prepare(settings, everywhere)
        settings.admission.server = server

    @kopf.on.startup(registry=handlers)
    async def listen(**_: Any) -> None:
        lagging.append(asyncio.create_task(_measure_lag(liveness)))

    @kopf.on.startup(registry=handlers)
    def start(**_: Any) -> None:
        """The watches begin when the first round has ended: they read every object, as the round does, and
        both at once would be no faster, and would need the memory of both."""
        runner.start()
        runner.wait_for_first_round(FIRST_LOOK)

    @kopf.on.cleanup(registry=handlers)
    def stop(**_: Any) -> None:
        runner.stop()

    @kopf.on.cleanup(registry=handlers)
    async def stop_measuring_lag(**_: Any) -> None:
        for task in lagging:
            task.cancel()

    @kopf.on.event("", "v1", "nodes", when=_changed, registry=handlers)
    @kopf.on.event("", "v1", "pods", registry=handlers)
    def changed(**_: Any) -> None:
        runner.wake()

    @kopf.on.event("coordination.k8s.io", "v1", "leases", registry=handlers)
    def canary(**_: Any) -> None:
        liveness.renewal_watched()

    if hosts:
        kopf.on.event("", "v1", "configmaps", registry=handlers)(changed)
    for plural in KINDS:
        kopf.on.event(names.GROUP, plural, registry=handlers)(changed)
    if admission is not None:

        def check(*, body: kopf.Body, warnings: list[str], **context: Any) -> None:
            if context["operation"] not in ("CREATE", "UPDATE"):
                return
            answer = admission.answer(dict(body))
            warnings += answer.warnings
            if answer.complaint:
                raise kopf.AdmissionError(answer.complaint, code=422)

        for plural in CHECKED:
            kopf.on.validate(names.GROUP, plural, id="check", registry=handlers)(check)
    return handlers


async def _measure_lag(liveness: Liveness) -> None:
    """How late the event loop wakes: whatever keeps it busy delays the watches."""
    loop = asyncio.get_running_loop()
    while True:
        begin = loop.time()
        await asyncio.sleep(LAG_LOOK)
        liveness.woke_late(loop.time() - begin - LAG_LOOK)


def prepare(settings: kopf.OperatorSettings, everywhere: bool = True) -> None:
    """No peering, no posting, bounded watches, and only Weir's own pods and leases.

    Where only some namespaces are watched, Kopf must not look for new ones, nor for new kinds: the operator
    may not list namespaces, and with these `BACKOFFS` Kopf would try it for a day before the first watch.
    """
    settings.scanning.disabled = not everywhere
    settings.peering.standalone = True
    settings.posting.enabled = False
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    settings.watching.connect_timeout = 10
    settings.networking.error_backoffs = BACKOFFS
    settings.watching.label_selectors["pods"] = names.MANAGED
    settings.watching.label_selectors["configmaps"] = names.OF_HOSTS
    settings.watching.label_selectors["leases"] = ",".join(f"{k}={v}" for k, v in CANARY.items())


def _changed(body: kopf.Body, memo: kopf.Memo, **_: Any) -> bool:
    """Whether more of a node changed than its heartbeat, which every node sends every few minutes."""
    relevant = (
        str(body.get("spec")),
        str(body["metadata"].get("labels")),
        str(
            {
                k: v
                for k, v in (body["metadata"].get("annotations") or {}).items()
                if k.startswith(names.GROUP)
            }
        ),
        str([(c["type"], c["status"]) for c in body.get("status", {}).get("conditions") or ()]),
    )
    before, memo.relevant = memo.get("relevant"), relevant
    return bool(before != relevant)
