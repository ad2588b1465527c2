"""The API server asks the webhook by the certificates that replicas have added, and by renewed ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from weir_operator.kube import certificate as certificates
from weir_operator.kube.admission import webhook_server
from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.certificate import CONFIGURATION, OwnCertificate

from tests.api_server.server import OPERATOR, ApiServer, free_port
from tests.kube.tls import serving

REFUSAL = "not in this test"


def configuration(port: int) -> dict[str, Any]:
    """As the chart's, but for one namespace, and with an address in the place of a Service."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": CONFIGURATION,
        "metadata": {"name": "weir"},
        "webhooks": [
            {
                "name": "check.weir.dev",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Ignore",
                "timeoutSeconds": 5,
                "clientConfig": {"url": f"https://localhost:{port}/check"},
                "rules": [
                    {
                        "apiGroups": ["weir.dev"],
                        "apiVersions": ["v1alpha1"],
                        "operations": ["CREATE"],
                        "resources": ["inputprofiles"],
                    }
                ],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
            }
        ],
    }


def refusal(admin: Api) -> str:
    """What the webhook says of an object; empty when it is not asked or not trusted."""
    profile = {
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "InputProfile",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"points": [{"name": "v", "rates": {"a": 1}}]},
    }
    try:
        admin.call(
            "POST", "/apis/weir.dev/v1alpha1/namespaces/default/inputprofiles", profile, {"dryRun": "All"}
        )
    except ApiError as error:
        return str(error)
    return ""


async def until(holds: Callable[[], bool]) -> None:
    """The API server learns of a changed configuration within a moment."""
    async with asyncio.timeout(30):
        while not await asyncio.to_thread(holds):
            await asyncio.sleep(0.1)


async def test_it_is_asked_with_each_certificate_from_when_it_is_trusted(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, port = server.api("admin"), free_port()
    assert await asyncio.to_thread(admin.create, configuration(port))

    def replica(name: str) -> OwnCertificate:
        (tmp_path / name).mkdir()
        own = OwnCertificate(server.api(OPERATOR), "weir", "localhost", name, tmp_path / name)
        own.begin()
        return own

    try:
        first, second = replica("a"), replica("b")
        async with serving(webhook_server(port, first, look=0.05), REFUSAL) as webhook:
            assert await asyncio.to_thread(refusal, admin) == ""  # nobody is trusted: it fails open
            await asyncio.to_thread(second.look)
            await asyncio.to_thread(first.look)
            await until(lambda: REFUSAL in refusal(admin))
            monkeypatch.setattr(certificates, "RENEW_DAYS", certificates.VALID_DAYS + 1)
            before, answers = first.file.read_text(), webhook.starts
            await asyncio.to_thread(first.look)
            monkeypatch.undo()
            assert first.file.read_text() != before
            await until(lambda: webhook.starts > answers)
            await until(lambda: REFUSAL in refusal(admin))
        async with serving(webhook_server(port, second), REFUSAL):
            await until(lambda: REFUSAL in refusal(admin))
    finally:
        admin.delete(CONFIGURATION, "", "weir")
