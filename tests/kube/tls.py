"""The validating webhook over TLS: the operator's own server, and a client that trusts whom the API server is
told to trust."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
import subprocess
import urllib.parse
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import kopf


class Webhook:
    """A server that runs, with a new `url` each time it listens anew; it refuses with these words, if any."""

    def __init__(self, refusal: str) -> None:
        self.url = ""
        self.starts = 0
        self.refusal = refusal
        self.listens = asyncio.Event()

    async def serve(self, server: kopf.WebhookServer) -> None:
        async def answer(request: Any, **_: Any) -> Any:
            response = {"uid": request["request"]["uid"], "allowed": not self.refusal}
            if self.refusal:
                response["status"] = {"code": 422, "message": self.refusal}
            return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}

        async for config in server(answer):  # type: ignore[arg-type]  # a protocol of keyword arguments
            self.url = config["url"]
            self.starts += 1
            self.listens.set()

    async def ask(self, ca_bundle: str, host: str) -> dict[str, Any]:
        """The certificate by which the server answered. Raises ssl.SSLCertVerificationError when it
        is not to be trusted."""
        context = ssl.create_default_context(cadata=base64.b64decode(ca_bundle).decode())
        port = urllib.parse.urlsplit(self.url).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=host)
        try:
            body = b'{"request": {"uid": "1"}}'
            head = [
                "POST /check HTTP/1.1",
                f"Host: {host}",
                "Connection: close",
                f"Content-Length: {len(body)}",
            ]
            writer.write("\r\n".join([*head, "", ""]).encode() + body)
            answer = await reader.read()
            if not answer.startswith(b"HTTP/1.1 200") or b'"allowed": true' not in answer:
                raise ConnectionError(answer)
            certificate: dict[str, Any] = writer.get_extra_info("ssl_object").getpeercert()
            return certificate
        finally:
            writer.close()

    async def ask_until(
        self, ca_bundle: str, host: str, wanted: Callable[[dict[str, Any]], bool]
    ) -> dict[str, Any]:
        """Again and again until it answers by a certificate that is wanted."""
        while True:
            try:
                certificate = await self.ask(ca_bundle, host)
                if wanted(certificate):
                    return certificate
            except ssl.SSLCertVerificationError:
                raise
            except OSError:
                pass  # between two servers
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def serving(server: kopf.WebhookServer, refusal: str = "") -> AsyncIterator[Webhook]:
    """The server, listening."""
    webhook = Webhook(refusal)
    async with asyncio.timeout(30):
        task = asyncio.create_task(webhook.serve(server))
        listens = asyncio.create_task(webhook.listens.wait())
        try:
            await asyncio.wait({task, listens}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
            yield webhook
        finally:
            for one in (task, listens):
                one.cancel()
            await asyncio.gather(task, listens, return_exceptions=True)


def sign(folder: Path, names: list[str], days: int = 30) -> str:
    """An authority, and by it tls.crt and tls.key for the names, as cert-manager writes them; the authority's
    PEM."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    if not (folder / "ca.crt").exists():
        openssl(
            "req",
            "-x509",
            *key,
            "-subj",
            "/CN=authority",
            "-days",
            "300",
            "-keyout",
            "ca.key",
            "-out",
            "ca.crt",
        )
    openssl("req", *key, "-subj", "/CN=webhook", "-keyout", "tls.key.new", "-out", "request")
    (folder / "extensions").write_text("subjectAltName = " + ",".join(f"DNS:{name}" for name in names))
    openssl("x509", "-req", "-in", "request", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", str(days), "-extfile", "extensions", "-out", "tls.crt.new")  # fmt: skip
    for name in ("tls.key", "tls.crt"):
        (folder / f"{name}.new").replace(folder / name)
    return (folder / "ca.crt").read_text()
