"""JSON schemas of built-in kinds from Kubernetes' own API description, of others from their CRDs."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]

KINDS = {
    "Deployment": "api.apps.v1",
    "Job": "api.batch.v1",
    "ValidatingWebhookConfiguration": "api.admissionregistration.v1",
    "ValidatingAdmissionPolicy": "api.admissionregistration.v1",
    "ValidatingAdmissionPolicyBinding": "api.admissionregistration.v1",
    "Secret": "api.core.v1",
    "Service": "api.core.v1",
    "ServiceAccount": "api.core.v1",
    "ConfigMap": "api.core.v1",
    "Namespace": "api.core.v1",
    "PersistentVolumeClaim": "api.core.v1",
    "Pod": "api.core.v1",
    "Lease": "api.coordination.v1",
    "ClusterRole": "api.rbac.v1",
    "ClusterRoleBinding": "api.rbac.v1",
    "Role": "api.rbac.v1",
    "RoleBinding": "api.rbac.v1",
    "PodDisruptionBudget": "api.policy.v1",
    "NetworkPolicy": "api.networking.v1",
    "CustomResourceDefinition": "apiextensions-apiserver.pkg.apis.apiextensions.v1",
}


def _module(path: str, pin: str) -> Path:
    """The folder of a Go module in the version that hack/ pins: no schema site is asked."""
    version = re.search(rf"^{pin}=(\S+)", (REPOSITORY / "hack/versions.sh").read_text(), re.M)
    assert version
    process = subprocess.run(
        ["go", "mod", "download", "-json", f"{path}@{version[1]}"], capture_output=True, text=True, check=True
    )
    return Path(json.loads(process.stdout)["Dir"])


@functools.cache
def _definitions() -> dict[str, Any]:
    folder = _module("k8s.io/kubernetes", "KUBERNETES")
    definitions: dict[str, Any] = json.loads((folder / "api/openapi-spec/swagger.json").read_text())[
        "definitions"
    ]
    for definition in definitions.values():
        if "properties" in definition:
            definition.setdefault("additionalProperties", False)
    for name in definitions:
        if name.endswith((".Quantity", ".IntOrString")):
            definitions[name] = {"type": ["string", "number"]}
        elif name.endswith((".JSONSchemaProps", ".FieldsV1", ".RawExtension", ".JSON")):
            definitions[name] = {"type": ["object", "string", "number", "boolean", "array", "null"]}
    return definitions


def write_schemas(folder: Path) -> None:
    """`<kind in lower case>.json` for each kind, as kubeconform looks for them."""
    definitions = _definitions()
    for kind, package in KINDS.items():
        schema = {"$ref": f"#/definitions/io.k8s.{package}.{kind}", "definitions": definitions}
        (folder / f"{kind.lower()}.json").write_text(json.dumps(schema))
    for text in (*_own_crds(), *_cert_manager_crds(), _olm_crd()):
        crd = yaml.safe_load(text)
        schema = _closed(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
        (folder / f"{crd['spec']['names']['kind'].lower()}.json").write_text(json.dumps(schema))


def _own_crds() -> Iterator[str]:
    for file in (REPOSITORY / "crds").glob("*.yaml"):
        yield file.read_text()


def _cert_manager_crds() -> Iterator[str]:
    folder = _module("github.com/cert-manager/cert-manager", "CERT_MANAGER") / "deploy/crds"
    for name in ("certificates", "issuers"):
        lines = (folder / f"crd-{name}.yaml").read_text().splitlines()
        yield "\n".join(line for line in lines if "{{" not in line)  # Helm's, only about labels


def _olm_crd() -> str:
    folder = _module("github.com/operator-framework/api", "OLM_API") / "crds"
    return (folder / "operators.coreos.com_clusterserviceversions.yaml").read_text()


def _closed(schema: Any) -> Any:
    """An API server says of a field that is in no schema that it is unknown; JSON schema must be told so."""
    if isinstance(schema, list):
        return [_closed(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        closed.setdefault("additionalProperties", False)
    return closed
