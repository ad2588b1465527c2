"""Starting and stopping one process of a fragment: its rights, its lease, its Pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from weir_operator.api.values import parse_quantity
from weir_operator.controller.decision import Start
from weir_operator.controller.ports import Refused
from weir_operator.kube import names
from weir_operator.kube.access import build_role_binding_spec, build_role_spec, build_service_account_spec
from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.driver_pod import Driver, DriverTemplate, build_driver_pod_spec
from weir_operator.kube.executor_pod import account_annotations, with_executors
from weir_operator.kube.lease import build_lease_spec
from weir_operator.kube.owner_references import OwnerReference
from weir_operator.kube.ownership import delete_own, made_for
from weir_operator.manifests.requests import cores_of, heap_of, share


def driver_of(action: Start, owner: OwnerReference, query: Mapping[str, Any]) -> Driver:
    """What the Pod is made from; `query` is the StreamQuery, {} when it is gone.

    What the query requests is for the whole fragment: driver and executors have equal shares, and heaps.
    """
    spec, query_spec = action.spec, query.get("spec") or {}
    resources = query_spec.get("resources") or {}
    requests = {name: parse_quantity(resources[name]) for name in ("cpu", "memory") if name in resources}
    cpu, memory = share(requests.get("cpu"), requests.get("memory"), spec.executors, spec.heap_mb)
    sized = replace(
        spec, port=names.RUNTIME_PORT, cores=cores_of(cpu, spec.cores), heap_mb=heap_of(memory, spec.heap_mb)
    )
    return Driver(
        namespace=spec.namespace,
        fragment=spec.name,
        epoch=spec.epoch,
        node=spec.node,
        query=action.query,
        spec=sized.to_json(),
        build=action.build,
        cpu=cpu,
        memory=memory,
        owner=owner,
        standby=spec.standby,
        tolerations=tuple(query_spec.get("tolerations") or ()),
        env=tuple(map(_variable, query_spec.get("env") or ())),
        labels=query_spec.get("labels") or {},
        secrets=tuple(sorted({*secrets_of(action), *_secrets_of_variables(query_spec.get("env") or ())})),
    )


def _variable(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A query's environment variable in a container's form."""
    secret = entry.get("secretRef")
    if not secret:
        return {"name": entry["name"], "value": entry.get("value") or ""}
    return {
        "name": entry["name"],
        "valueFrom": {"secretKeyRef": {"name": secret["name"], "key": secret["key"]}},
    }


def _secrets_of_variables(env: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Secrets that environment variables come from. They are mounted too: a variable keeps the value that it
    had when the process started, and only a file shows the process that it has to restart."""
    for entry in env:
        if entry.get("secretRef"):
            yield str(entry["secretRef"]["name"])


def secrets_of(action: Start) -> tuple[str, ...]:
    """Names of the Secrets that the fragment's sources, flows and sink refer to."""
    return secrets_in(*action.spec.connectors)


def secrets_in(*connectors: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of all Secrets that connectors refer to."""
    secrets: set[str] = set()
    unread = list(connectors)
    while unread:
        for key, value in unread.pop().items():
            if isinstance(value, Mapping):
                unread.append(value)
            elif key in ("secretRef", "caSecretRef") and value:
                secrets.add(str(value))
    return tuple(sorted(secrets))


def start_fragment(
    api: Api,
    action: Start,
    owner: OwnerReference,
    query: Mapping[str, Any],
    template: DriverTemplate,
    hosts: Iterable[str] = (),
) -> None:
    """Create the Pod of this fragment and epoch, after what it needs. `hosts`: accounts of those that it
    leaves, which have its Lease until then.

    A Pod cannot be changed in place: one of another build is deleted, and a later round creates it anew.
    """
    driver = driver_of(action, owner, query)
    present = api.get("Pod", driver.namespace, names.pod_name(driver.fragment, driver.epoch))
    if present is not None:
        _replace_if_needed(api, present, action)
        return
    about = (driver.namespace, driver.fragment, driver.query, owner)
    pod, notes = build_driver_pod_spec(driver, template), None
    if action.spec.executors:
        if template.service_account:  # annotations on it would not limit it: it must not create pods
            raise Refused(
                f"the policy's podTemplate.serviceAccountName is {template.service_account!r}: for queries "
                "with executors it must be unset, so that each fragment has an account of its own"
            )
        pod, notes = with_executors(pod, driver, template), account_annotations(driver, template)
    if not template.service_account:
        api.apply(build_service_account_spec(*about, executors=notes))
    api.apply(build_role_spec(*about, executors=notes is not None))
    api.apply(build_role_binding_spec(*about, account=template.service_account, more=hosts))
    api.apply(build_lease_spec(*about))
    api.create(pod)


def _replace_if_needed(api: Api, pod: Mapping[str, Any], action: Start) -> None:
    meta = pod["metadata"]
    if not made_for(pod, action.spec.name):
        raise Refused(
            f"pod {meta['name']} already exists and was not created by Weir; delete it, or rename the query"
        )
    if "deletionTimestamp" in meta:
        raise ApiError(409, f"pod {meta['name']} is still terminating")
    other_build = (meta.get("annotations") or {}).get(names.BUILD) != action.build
    if other_build or pod.get("status", {}).get("phase") == "Failed":
        api.delete("Pod", meta["namespace"], meta["name"], meta["uid"])
        raise ApiError(409, f"pod {meta['name']} is being replaced")


def clean_up(api: Api, namespace: str, fragment: str) -> None:
    """Delete what a fragment had. The lease last: as long as it exists, the rest is tried again."""
    for kind in ("PodDisruptionBudget", "RoleBinding", "Role", "ServiceAccount", "Lease"):
        delete_own(api, kind, namespace, fragment)


def stop_fragment(api: Api, namespace: str, fragment: str, epoch: int) -> None:
    """Delete the Pod with its grace period; on a lost node it ends when the node returns."""
    delete_own(api, "Pod", namespace, fragment, names.pod_name(fragment, epoch))
