"""An OLM bundle (registry+v1) from the rendered chart.

Deployment, account and rights go into the ClusterServiceVersion. Operator Lifecycle Manager (OLM) applies no
admission policy, so a bundle's operator admits no executors; and it runs no hook.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

NAMESPACE = "weir-system"
SETTINGS = ("fragments.executors=false", "crds.keep=false")
CHANNEL = "alpha"
ANNOTATIONS = {
    "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
    "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
    "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
    "operators.operatorframework.io.bundle.package.v1": "weir",
    "operators.operatorframework.io.bundle.channels.v1": CHANNEL,
    "operators.operatorframework.io.bundle.channel.default.v1": CHANNEL,
}
BESIDE = ("CustomResourceDefinition", "Service", "PodDisruptionBudget")
"""Kinds that OLM applies as they are; ClusterRoles for people too."""
IN_VERSION = ("Deployment", "ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding")
LEFT_OUT = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "Job")
"""Those that confine executors, of which there are none; and the hook, in whose place somebody runs
`weir uninstall --budgets`."""

DESCRIPTION = (
    "Weir places streaming queries on a cluster whose nodes and links differ, runs each part as a pinned "
    "Spark application, and moves only what must move. Before you remove it run `weir uninstall --budgets`: "
    "drains of nodes would wait for the budgets that it leaves."
)

Manifest = dict[str, Any]


def write_bundle(chart: Path, version: str, created: str, examples: list[Manifest], folder: Path) -> None:
    """`chart` is a package or a folder, `created` a time as 2026-01-31T00:00:00Z. Raises ValueError for an
    object of the chart that has no place in a bundle."""
    objects = rendered(chart)
    manifests, metadata = folder / "manifests", folder / "metadata"
    manifests.mkdir(parents=True)
    metadata.mkdir()
    for thing in objects:
        if thing["kind"] in BESIDE or _for_people(thing):
            thing["metadata"].pop("namespace", None)
            _write(manifests / f"{thing['metadata']['name']}.{thing['kind'].lower()}.yaml", thing)
        elif thing["kind"] not in (*IN_VERSION, *LEFT_OUT, "ClusterRole"):
            raise ValueError(f"the bundle has no place for {thing['kind']} {thing['metadata']['name']}")
    text = cluster_service_version(objects, version, created, examples)
    _write(manifests / f"weir.v{version}.clusterserviceversion.yaml", text)
    _write(metadata / "annotations.yaml", {"annotations": ANNOTATIONS})
    labels = "".join(f"LABEL {name}={value}\n" for name, value in ANNOTATIONS.items())
    (folder / "bundle.Dockerfile").write_text(
        f"FROM scratch\n{labels}COPY manifests /manifests/\nCOPY metadata /metadata/\n"
    )


def rendered(chart: Path) -> list[Manifest]:
    """The chart's objects, as OLM is to apply them."""
    options = [f"--set={setting}" for setting in SETTINGS]
    command = ["helm", "template", "weir", str(chart), "-n", NAMESPACE, "--kube-version", "1.34.0", *options]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [thing for thing in yaml.safe_load_all(text) if thing]


def cluster_service_version(
    objects: list[Manifest], version: str, created: str, examples: list[Manifest]
) -> Manifest:
    """What OLM installs the operator by."""
    of = {kind: [o for o in objects if o["kind"] == kind] for kind in {o["kind"] for o in objects}}
    (deployment,) = of["Deployment"]
    (account,) = of["ServiceAccount"]
    (role,) = of["Role"]
    (cluster_role,) = [o for o in of["ClusterRole"] if not _for_people(o)]
    name = account["metadata"]["name"]
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"weir.v{version}",
            "annotations": {
                "alm-examples": json.dumps(examples),
                "capabilities": "Full Lifecycle",
                "categories": "Streaming & Messaging",
                "containerImage": deployment["spec"]["template"]["spec"]["containers"][0]["image"],
                "createdAt": created,
                "description": "Places streaming queries on a cluster and keeps them where they belong",
                "operatorframework.io/suggested-namespace": NAMESPACE,
            },
        },
        "spec": {
            "displayName": "Weir",
            "description": DESCRIPTION,
            "version": version,
            "maturity": "alpha",
            "minKubeVersion": "1.30.0",
            "keywords": ["streaming", "spark", "sql", "kafka"],
            "provider": {"name": "Weir"},
            "maintainers": [],
            "installModes": [
                {"type": mode, "supported": mode == "AllNamespaces"}
                for mode in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
            ],
            "customresourcedefinitions": {"owned": [_owned(crd) for crd in of["CustomResourceDefinition"]]},
            "install": {
                "strategy": "deployment",
                "spec": {
                    "deployments": [
                        {
                            "name": deployment["metadata"]["name"],
                            "label": deployment["metadata"]["labels"],
                            "spec": deployment["spec"],
                        }
                    ],
                    "clusterPermissions": [{"serviceAccountName": name, "rules": cluster_role["rules"]}],
                    "permissions": [{"serviceAccountName": name, "rules": role["rules"]}],
                },
            },
        },
    }


def _for_people(thing: Manifest) -> bool:
    """A ClusterRole that is added to Kubernetes' own."""
    labels = thing["metadata"].get("labels") or {}
    return thing["kind"] == "ClusterRole" and any("/aggregate-to-" in label for label in labels)


def _owned(crd: Manifest) -> dict[str, str]:
    (version,) = crd["spec"]["versions"]
    kind = crd["spec"]["names"]["kind"]
    return {
        "name": crd["metadata"]["name"],
        "kind": kind,
        "version": version["name"],
        "displayName": kind,
        "description": version["schema"]["openAPIV3Schema"]["description"],
    }


def _write(file: Path, thing: Manifest) -> None:
    file.write_text(yaml.safe_dump(thing, sort_keys=False, width=10_000))
