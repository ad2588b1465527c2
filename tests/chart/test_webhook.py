"""The webhook's certificate in its three ways: what the chart renders is what the operator serves by."""

from __future__ import annotations

import base64
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
from weir_operator.kube import main
from weir_operator.kube.admission import MOUNTED, webhook_server
from weir_operator.kube.certificate import CONFIGURATION
from weir_operator.kube.settings import OperatorSettings

from tests.chart.conftest import CHART, Manifest, Render, run
from tests.chart.test_rights import granted, listed, of_operator
from tests.kube.memory import Memory
from tests.kube.tls import serving, sign

BY_CERT_MANAGER = "webhook.certificate.certManager.enabled=true"
HOST = "weir-webhook.weir-system.svc"


def the(kind: str, objects: list[Manifest]) -> Manifest:
    (only,) = [o for o in objects if o["kind"] == kind]
    return only


def asked(objects: list[Manifest]) -> tuple[str, dict[str, Any]]:
    """The name that the API server asks for, and its `clientConfig`."""
    (webhook,) = the(CONFIGURATION, objects)["webhooks"]
    service = webhook["clientConfig"]["service"]
    return f"{service['name']}.{service['namespace']}.svc", webhook["clientConfig"]


def pod(objects: list[Manifest]) -> dict[str, Any]:
    spec: dict[str, Any] = the("Deployment", objects)["spec"]["template"]["spec"]
    return spec


def settings(objects: list[Manifest]) -> OperatorSettings:
    """As the operator reads them in its pod."""
    return OperatorSettings.of_environment(
        {e["name"]: e["value"] for e in pod(objects)["containers"][0]["env"] if "value" in e}
    )


def volume(objects: list[Manifest]) -> dict[str, Any]:
    """What is mounted where the operator looks for the certificate, and may it write there."""
    (mount,) = [m for m in pod(objects)["containers"][0]["volumeMounts"] if m["mountPath"] == str(MOUNTED)]
    (volume,) = [v for v in pod(objects)["volumes"] if v["name"] == mount["name"]]
    return {**volume, "writable": not mount.get("readOnly", False)}


async def test_the_operator_makes_its_own(
    render: Render, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = render("webhook.enabled=true")
    assert volume(objects) == {
        "name": "webhook",
        "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"},
        "writable": True,
    }
    memory = Memory(the(CONFIGURATION, objects))
    monkeypatch.setattr(main, "MOUNTED", tmp_path)
    stop = threading.Event()
    stop.set()
    own = main.own_certificate(memory.api, settings(objects), stop)
    assert own is not None
    own.look()
    host, _ = asked(objects)
    async with serving(webhook_server(0, own)) as webhook:
        trusted = memory.objects[CONFIGURATION, "", "weir"]["webhooks"][0]["clientConfig"]["caBundle"]
        assert (await webhook.ask(trusted, host))["subjectAltName"] == (("DNS", HOST),)
    assert granted(of_operator(objects)) == listed("cluster") | listed("namespace") | listed("webhook")


async def test_cert_manager_makes_it(render: Render, tmp_path: Path) -> None:
    objects = render("webhook.enabled=true", BY_CERT_MANAGER)
    host, client = asked(objects)
    assert "caBundle" not in client  # cert-manager writes it, from:
    source = the(CONFIGURATION, objects)["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
    certificates = {o["metadata"]["name"]: o["spec"] for o in objects if o["kind"] == "Certificate"}
    issuers = {o["metadata"]["name"]: o["spec"] for o in objects if o["kind"] == "Issuer"}
    leaf = certificates[source.removeprefix("weir-system/")]
    assert volume(objects)["secret"]["secretName"] == leaf["secretName"]
    # who signs the leaf lasts ten years, so a renewed leaf is trusted at once
    authority = issuers[leaf["issuerRef"]["name"]]["ca"]["secretName"]
    (root,) = [c for c in certificates.values() if c["secretName"] == authority]
    assert root["isCA"] is True
    assert issuers[root["issuerRef"]["name"]] == {"selfSigned": {}}
    ca = sign(tmp_path, leaf["dnsNames"])
    assert main.own_certificate(Memory().api, settings(objects), threading.Event()) is None
    async with serving(webhook_server(0, None, mounted=tmp_path)) as webhook:
        await webhook.ask(base64.b64encode(ca.encode()).decode(), host)
    assert granted(of_operator(objects)) == listed("cluster") | listed("namespace")


def test_cert_managers_issuer_may_be_a_given_one(render: Render) -> None:
    issuer = {"name": "company", "kind": "ClusterIssuer"}
    fields = [f"webhook.certificate.certManager.issuerRef.{k}={v}" for k, v in issuer.items()]
    objects = render("webhook.enabled=true", BY_CERT_MANAGER, *fields)
    assert the("Certificate", objects)["spec"]["issuerRef"] == issuer
    assert not [o for o in objects if o["kind"] == "Issuer"]


async def test_a_secret_has_it(render: Render, tmp_path: Path) -> None:
    ca = sign(tmp_path, [HOST])
    objects = render(
        "webhook.enabled=true",
        "webhook.certificate.secretName=corporate",
        f"webhook.certificate.caBundle={ca}",
    )
    assert volume(objects)["secret"]["secretName"] == "corporate"
    assert not volume(objects)["writable"]
    host, client = asked(objects)
    assert main.own_certificate(Memory().api, settings(objects), threading.Event()) is None
    async with serving(webhook_server(0, None, mounted=tmp_path)) as webhook:
        await webhook.ask(client["caBundle"], host)
        with pytest.raises(ssl.SSLCertVerificationError):
            await webhook.ask(client["caBundle"], "other.weir-system.svc")


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (["webhook.certificate.secretName=a"], "webhook.certificate.caBundle: give the PEM"),
        (["webhook.certificate.secretName=a", BY_CERT_MANAGER], "give secretName or certManager, not both"),
        (["webhook.certificate.caBundle=/etc/ca.pem"], "caBundle"),
        (["webhook.certificate.certManager.issuer=a"], "issuer"),
    ],
)
def test_a_certificate_that_nobody_could_trust_is_refused(wrong: list[str], word: str) -> None:
    options = [f"--set={setting}" for setting in ("webhook.enabled=true", *wrong)]
    process = run("helm", "template", "weir", str(CHART), "--kube-version", "1.34.0", *options)
    assert process.returncode != 0
    assert word in process.stderr


def test_no_secret_is_in_the_chart(render: Render) -> None:
    for way in ([], [BY_CERT_MANAGER]):
        assert not [o for o in render("webhook.enabled=true", *way) if o["kind"] == "Secret"]
