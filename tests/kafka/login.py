"""How a broker under test is logged in to: its authority, a user, and both ways to say the password."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from weir_runtime.session import java

USER, PASSWORD = "weir", "a long one with blanks"
MECHANISMS = ("PLAIN", "SCRAM-SHA-512")
_STORE = "only-for-tests"
_MODULES = "org.apache.kafka.common.security"


def authority(folder: Path) -> Path:
    """A key that vouches for itself, in `keys.p12`; what clients trust is returned."""
    keytool = [str(Path(java()).with_name("keytool")), "-keystore", str(folder / "keys.p12")]
    keytool += ["-storetype", "PKCS12", "-storepass", _STORE, "-alias", "broker"]
    about = ["-dname", "CN=broker", "-ext", "san=ip:127.0.0.1", "-ext", "bc=ca:true", "-validity", "2"]
    trusted = folder / "ca.crt"
    for command in (
        ["-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", *about],
        ["-exportcert", "-rfc", "-file", str(trusted)],
    ):
        subprocess.run([*keytool, *command], check=True, capture_output=True)
    return trusted


def listener(folder: Path) -> Mapping[str, str]:
    """Settings of a broker whose listener SASL_SSL takes the user."""
    prefix, plain = "listener.name.sasl_ssl", f"{_MODULES}.plain.PlainLoginModule required"
    return {
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        f"{prefix}.plain.sasl.jaas.config": f'{plain} user_{USER}="{PASSWORD}";',
        f"{prefix}.scram-sha-512.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(folder / "keys.p12"),
        "ssl.keystore.password": _STORE,
    }


def scram() -> tuple[str, ...]:
    """Arguments of the storage tool that make the user known for SCRAM."""
    return ("--add-scram", f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]")
