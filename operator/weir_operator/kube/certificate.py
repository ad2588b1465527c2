"""The certificate of the validating webhook, where the operator makes its own.

Each replica has a key that never leaves its pod, and adds its certificate to those that the API server trusts
(`caBundle` of the webhook's configuration). So the chart has nothing to make up when it is rendered, no
Secret is written or read, and a replica renews its certificate without the others.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import secrets
import ssl
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weir_operator.kube.api import Api, ApiError

log = logging.getLogger("weir")
CONFIGURATION = "ValidatingWebhookConfiguration"
VALID_DAYS = 90
RENEW_DAYS = 30  # before its end
LOOK = 10.0  # [s] between two looks at the certificate and at what the API server trusts
TRUSTED = 16
"""Certificates in a `caBundle`, the newest: more than there are replicas. Those of earlier pods go in time,
and a replica whose certificate is pushed out by others adds it again at its next look."""

_REQUEST = """
[req]
prompt = no
distinguished_name = subject
x509_extensions = extensions
[subject]
CN = {subject}
[extensions]
subjectAltName = DNS:{host}
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
"""


class OwnCertificate:
    """This replica's key and certificate, both in `file` (PEM), so that they are replaced at once.

    `configuration` is the webhook configuration's name, `host` the name that the API server asks for.
    """

    def __init__(self, api: Api, configuration: str, host: str, identity: str, folder: Path) -> None:
        self._api = api
        self._configuration = configuration
        self._host = host
        self._identity = identity
        self.file = folder / "own.pem"
        self._successor = folder / "successor.pem"

    def begin(self) -> None:
        """Have a certificate to serve with; who trusts it comes later. Raises OSError."""
        if not self.file.exists():
            self._make(self.file)

    def look(self) -> None:
        """Renew the certificate in time, and have the API server trust it. It is replaced only when its
        successor is trusted. Raises ApiError, and OSError when none can be made."""
        if ends_within(self.file, RENEW_DAYS) and not self._successor.exists():
            self._make(self._successor)
        files = [file for file in (self.file, self._successor) if file.exists()]
        trusted = self._trust([c for file in files for c in certificates_in(file.read_text())])
        if trusted and self._successor.exists():
            os.replace(self._successor, self.file)

    def look_on(self, stop: threading.Event) -> None:
        """Look again and again, until `stop`."""
        while not stop.is_set():
            try:
                self.look()
            except OSError as error:
                log.warning(
                    "the webhook's certificate is not trusted or not renewed; trying again: %s", error
                )
            stop.wait(LOOK)

    def _make(self, file: Path) -> None:
        """Key and certificate, appearing in `file` together."""
        # a subject of its own: some clients look for who signed a certificate by the name alone
        subject = f"{self._identity[:50]} {secrets.token_hex(4)}"
        request = _REQUEST.format(host=self._host, subject=subject)
        command = [
            *("openssl", "req", "-new", "-x509", "-sha256", "-days", str(VALID_DAYS)),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-config", "/dev/stdin", "-keyout", "/dev/stdout", "-out", "/dev/stdout"),
        ]
        completed = subprocess.run(command, input=request, capture_output=True, text=True, check=False)
        if completed.returncode or not certificates_in(completed.stdout):
            raise OSError(f"openssl req: {completed.stderr.strip() or 'no certificate'}")
        draft = file.with_suffix(".draft")
        draft.touch(mode=0o600)
        draft.write_text(completed.stdout)
        os.replace(draft, file)

    def _trust(self, certificates: list[str]) -> bool:
        """Whether the API server trusts them now; False while there is no configuration, or another replica
        changes it."""
        configuration = self._api.get(CONFIGURATION, "", self._configuration)
        if configuration is None:
            return False
        webhooks = [
            {**w, "clientConfig": trusting(w["clientConfig"], certificates)}
            for w in configuration["webhooks"]
        ]
        if webhooks == configuration["webhooks"]:
            return True
        try:
            self._api.replace({**configuration, "webhooks": webhooks})
        except ApiError as error:
            if error.status == 409:
                return False
            raise
        return True


def ends_within(file: Path, days: float) -> bool:
    """Whether the certificate in the file is, or within so many days will be, no longer valid."""
    return end_of(file) < time.time() + days * 86400


def end_of(file: Path) -> float:
    """When the file's first certificate ends [s since 1970]; 0 when there is none that can be read."""
    command = ["openssl", "x509", "-enddate", "-noout", "-in", str(file)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    _, equals, end = completed.stdout.strip().partition("notAfter=")
    return float(ssl.cert_time_to_seconds(end)) if equals else 0.0


def certificates_in(text: str) -> list[str]:
    """The certificates in a PEM text, each with its two lines around it."""
    return re.findall(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?", text, re.DOTALL)


def trusting(client_config: Mapping[str, Any], certificates: list[str]) -> dict[str, Any]:
    """The `clientConfig` of a webhook whose `caBundle` has these certificates, new ones at its end."""
    present = certificates_in(base64.b64decode(client_config.get("caBundle", "")).decode())
    missing = [certificate for certificate in certificates if certificate not in present]
    if not missing:
        return dict(client_config)
    bundle = "".join([*present, *missing][-TRUSTED:])
    return {**client_config, "caBundle": base64.b64encode(bundle.encode()).decode()}
