"""The webhook's certificate: each replica's own, trusted before it is served, renewed before its end."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from weir_operator.kube import certificate as certificates
from weir_operator.kube.admission import webhook_server
from weir_operator.kube.api import ApiError
from weir_operator.kube.certificate import (
    CONFIGURATION,
    TRUSTED,
    OwnCertificate,
    certificates_in,
    end_of,
    ends_within,
)
from weir_operator.kube.main import tell_end
from weir_operator.kube.rights import RIGHTS

from tests.kube.memory import Memory
from tests.kube.tls import serving, sign

HOST = "weir-webhook.weir-system.svc"


def cluster() -> Memory:
    """With the configuration as the chart makes it: nobody is trusted."""
    service = {"name": "weir-webhook", "namespace": "weir-system", "path": "/check", "port": 443}
    memory = Memory(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": CONFIGURATION,
            "metadata": {"name": "weir"},
            "webhooks": [
                {"name": "check.weir.dev", "clientConfig": {"service": service}, "failurePolicy": "Ignore"}
            ],
        }
    )
    memory.rights = RIGHTS
    return memory


def bundle(memory: Memory) -> str:
    text: str = memory.objects[CONFIGURATION, "", "weir"]["webhooks"][0]["clientConfig"].get("caBundle", "")
    return text


def trusted(memory: Memory) -> list[str]:
    return certificates_in(base64.b64decode(bundle(memory)).decode())


def replica(memory: Memory, folder: Path, name: str = "a") -> OwnCertificate:
    (folder / name).mkdir()
    own = OwnCertificate(memory.api, "weir", HOST, name, folder / name)
    own.begin()
    return own


async def test_the_api_server_trusts_each_replica_and_no_other_name(tmp_path: Path) -> None:
    memory = cluster()
    for name in ("a", "b"):
        own = replica(memory, tmp_path, name)
        async with serving(webhook_server(0, own)) as webhook:
            if trusted(memory):
                with pytest.raises(ssl.SSLCertVerificationError):
                    await webhook.ask(bundle(memory), HOST)  # of another replica alone
            own.look()
            served = await webhook.ask(bundle(memory), HOST)
            assert served["subjectAltName"] == (("DNS", HOST),)
            with pytest.raises(ssl.SSLCertVerificationError):
                await webhook.ask(bundle(memory), "other.weir-system.svc")
    assert len(trusted(memory)) == 2


async def test_it_is_renewed_before_its_end_and_trusted_before_it_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = cluster()
    with monkeypatch.context() as earlier:  # sixty days ago
        earlier.setattr(certificates, "VALID_DAYS", 29)
        earlier.setattr(certificates, "RENEW_DAYS", 1)
        own = replica(memory, tmp_path)
        own.look()
    (first,) = trusted(memory)
    assert ends_within(own.file, certificates.RENEW_DAYS)
    assert not ends_within(own.file, 1)

    def away(*_: str) -> None:
        raise ApiError(0, "no answer")

    async with serving(webhook_server(0, own, look=0.02)) as webhook:
        old = await webhook.ask(bundle(memory), HOST)
        memory.refuse = away
        with pytest.raises(ApiError):
            own.look()
        assert first in own.file.read_text()  # the one that is trusted
        memory.refuse = lambda *_: None
        own.look()
        assert not ends_within(own.file, certificates.RENEW_DAYS)
        new = await webhook.ask_until(
            bundle(memory), HOST, lambda c: c["serialNumber"] != old["serialNumber"]
        )
        assert new["notAfter"] != old["notAfter"]
    assert trusted(memory)[0] == first  # until every connection has gone
    assert trusted(memory)[1] in own.file.read_text()
    before = memory.objects[CONFIGURATION, "", "weir"]
    own.look()
    assert memory.objects[CONFIGURATION, "", "weir"] is before  # nothing is written while nothing changes


async def test_a_mounted_secret_is_served_and_so_is_its_successor(tmp_path: Path) -> None:
    authority = base64.b64encode(sign(tmp_path, [HOST]).encode()).decode()
    async with serving(webhook_server(0, None, mounted=tmp_path, look=0.02)) as webhook:
        old = await webhook.ask(authority, HOST)
        sign(tmp_path, [HOST], days=60)
        await webhook.ask_until(authority, HOST, lambda c: c["serialNumber"] != old["serialNumber"])


def test_what_others_write_is_kept_and_what_is_lost_comes_back(tmp_path: Path) -> None:
    memory = cluster()
    a, b = (replica(memory, tmp_path, name) for name in "ab")
    a.look()
    raced = memory.objects[CONFIGURATION, "", "weir"]

    def overtaken(verb: str, *_: str) -> None:
        if verb == "update" and memory.objects[CONFIGURATION, "", "weir"] is raced:
            memory.put({**raced, "metadata": {**raced["metadata"], "labels": {"changed": "meanwhile"}}})

    memory.refuse = overtaken
    b.look()
    assert len(trusted(memory)) == 1  # not written over the other's change
    b.look()
    configuration = memory.objects[CONFIGURATION, "", "weir"]
    assert len(trusted(memory)) == 2
    assert configuration["metadata"]["labels"] == {"changed": "meanwhile"}
    assert configuration["webhooks"][0]["failurePolicy"] == "Ignore"
    del configuration["webhooks"][0]["clientConfig"][
        "caBundle"
    ]  # an upgrade of the chart from an earlier version
    a.look()
    b.look()
    assert len(trusted(memory)) == 2


def test_certificates_of_earlier_pods_go_in_time(tmp_path: Path) -> None:
    memory = cluster()
    lasting = replica(memory, tmp_path, "lasting")
    lasting.look()
    for number in range(TRUSTED):
        replica(memory, tmp_path, f"pod-{number}").look()
    assert len(trusted(memory)) == TRUSTED
    assert not any(certificate in lasting.file.read_text() for certificate in trusted(memory))
    lasting.look()
    assert len(trusted(memory)) == TRUSTED
    assert trusted(memory)[-1] in lasting.file.read_text()


def test_nothing_is_trusted_before_the_configuration_exists(tmp_path: Path) -> None:
    memory = Memory()
    own = replica(memory, tmp_path)
    own.look()
    assert not memory.objects
    configuration: dict[str, Any] = cluster().objects[CONFIGURATION, "", "weir"]
    memory.put(configuration)
    own.look()
    assert len(trusted(memory)) == 1


def test_a_container_that_starts_again_keeps_its_certificate_and_its_key_is_closed(tmp_path: Path) -> None:
    own = replica(Memory(), tmp_path)
    text = own.file.read_text()
    own.begin()
    assert own.file.read_text() == text
    assert own.file.stat().st_mode & 0o077 == 0


def test_why_no_certificate_can_be_made_is_said(tmp_path: Path) -> None:
    own = OwnCertificate(Memory().api, "weir", "not a\nname", "a", tmp_path)
    with pytest.raises(OSError, match="openssl req: "):
        own.begin()
    assert not list(tmp_path.iterdir())


def test_a_file_without_a_certificate_ends_now(tmp_path: Path) -> None:
    (tmp_path / "own.pem").write_text("")
    assert ends_within(tmp_path / "own.pem", 0)


def test_its_end_is_counted(tmp_path: Path) -> None:
    own, metrics = replica(Memory(), tmp_path), CollectorRegistry()
    tell_end(metrics, own.file)

    def end() -> float:
        return metrics.get_sample_value("weir_operator_webhook_certificate_end_seconds") or 0.0

    first = end()
    assert first == end_of(own.file) > 0
    sign(tmp_path, [HOST], days=200)
    (tmp_path / "tls.crt").replace(own.file)
    assert end() > first
    own.file.unlink()
    assert end() == 0
