"""The few verbs of the Kubernetes API that the operator uses, on plain dictionaries.

Calls block and carry a timeout: the loop that makes them runs in a thread of its own.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from weir_operator.controller.counts import Counts
from weir_operator.controller.ports import Gone, Unreachable
from weir_operator.kube.names import FIELD_MANAGER

TIMEOUT = (5.0, 30.0)  # [s] to connect, and to read
WRITES_AT_A_TIME = 16
PAGE = 500  # objects a page of a list

_TERMINATING = "NamespaceTerminating"
"""Cause in the `Status` of a creation in a namespace that is being removed."""
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_PAIR = re.compile(r"\\\\|(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})")
"""An escaped backslash, or the two escapes of one character."""

_RESOURCES: dict[str, tuple[str, str, bool]] = {
    # kind: API version, plural, namespaced
    "Namespace": ("v1", "namespaces", False),
    "Node": ("v1", "nodes", False),
    "Pod": ("v1", "pods", True),
    "ConfigMap": ("v1", "configmaps", True),
    "ServiceAccount": ("v1", "serviceaccounts", True),
    "PersistentVolume": ("v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims", True),
    "ResourceQuota": ("v1", "resourcequotas", True),
    "LimitRange": ("v1", "limitranges", True),
    "Event": ("events.k8s.io/v1", "events", True),
    "Lease": ("coordination.k8s.io/v1", "leases", True),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets", True),
    "Role": ("rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", "rolebindings", True),
    "CustomResourceDefinition": ("apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "ValidatingWebhookConfiguration": (
        "admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
        False,
    ),
    "SelfSubjectAccessReview": ("authorization.k8s.io/v1", "selfsubjectaccessreviews", False),
    "Stream": ("weir.dev/v1alpha1", "streams", True),
    "StreamQuery": ("weir.dev/v1alpha1", "streamqueries", True),
    "InputProfile": ("weir.dev/v1alpha1", "inputprofiles", True),
    "PlacementPolicy": ("weir.dev/v1alpha1", "placementpolicies", False),
    "NetworkTopology": ("weir.dev/v1alpha1", "networktopologies", False),
    "Placement": ("weir.dev/v1alpha1", "placements", True),
    "QuerySnapshot": ("weir.dev/v1alpha1", "querysnapshots", True),
}


class ApiError(OSError):
    """The API server refused, or did not answer (`status` 0); `reason` is its one word, if it gave one."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class NoAnswer(ApiError, Unreachable):
    """The API server did not answer, or its answer cannot be read."""

    def __init__(self, message: str) -> None:
        super().__init__(0, message)


class ObjectGone(ApiError, Gone):
    """The namespace is being terminated, or the object is gone."""


def path_of(kind: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """The path of a kind, a namespace, or one object.

    >>> path_of("Pod", "default", "a", "eviction")
    '/api/v1/namespaces/default/pods/a/eviction'
    >>> path_of("Placement")
    '/apis/weir.dev/v1alpha1/placements'
    """
    version, plural, namespaced = _RESOURCES[kind]
    parts = ["/apis" if "/" in version else "/api", version]
    if namespaced and namespace:
        parts += ["namespaces", namespace]
    return "/".join([*parts, plural, *filter(None, (name, subresource))])


def connect(context: str | None = None) -> Api:
    """The API server of the cluster that this runs in, or of the kubeconfig (its `context`)."""
    configuration = client.Configuration()
    configuration.connection_pool_maxsize = WRITES_AT_A_TIME + 4
    try:
        if context:
            config.load_kube_config(context=context, client_configuration=configuration)
        elif Path(config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION).expanduser().exists():
            config.load_kube_config(client_configuration=configuration)
        else:  # not `load_config`, which prints that it does this
            config.load_incluster_config(client_configuration=configuration)
    except config.ConfigException as error:
        raise ApiError(0, f"no cluster to connect to: {error}") from None
    return Api(client.ApiClient(configuration), client.ApiClient(once(configuration)))


def once(configuration: client.Configuration) -> client.Configuration:
    """The configuration for writes: none is sent twice, for the first may have been carried out, and another
    replica may lead by now. The next round sees what is still to be written."""
    result = copy.deepcopy(configuration)
    result.retries = False
    return result


class Api:
    """Objects are plain dictionaries, addressed by their kind; every failure is an `ApiError`."""

    def __init__(self, api_client: client.ApiClient, writes: client.ApiClient | None = None) -> None:
        self._client = api_client
        self._writes = writes or api_client  # for all but GET
        self.calls: Counts[tuple[str, int]] = Counts()  # by verb and code of the answer, 0 without one

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | str | None = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Any:
        """One request; the decoded answer."""
        headers = {"Accept": "application/json", "Content-Type": content_type}
        answer = self._answer(method, path, headers, body, query)
        try:
            return orjson.loads(answer) if answer else None
        except ValueError as error:
            raise NoAnswer(f"{method} {path}: the answer is not JSON: {error}") from None

    def text(self, path: str) -> str:
        """The raw answer to a GET, for `/metrics`."""
        return self._answer("GET", path, {"Accept": "*/*"}).decode()

    def _answer(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | str | None = None,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """The answer to one request. Raises ApiError for an error, and when there is no answer."""
        sender = self._client if method == "GET" else self._writes
        request = sender.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params=dict(headers),
            body=body,
            auth_settings=["BearerToken"],
        )
        code = 0
        try:
            response = sender.call_api(*request, _request_timeout=TIMEOUT)
            code = response.status
            answer = bytes(response.read())
        except ApiException as error:
            code = error.status or 0
            raise _refusal(code, error.body, f"{error.status} {error.reason}") from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            code = 0
            raise NoAnswer(f"{method} {path}: {error}") from None
        finally:
            self.calls.add((method, code))
        if response.status >= 400:
            raise _refusal(response.status, answer, f"{method} {path}: {response.reason}")
        return answer

    def get(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        """The object, or None when there is none."""
        try:
            manifest: dict[str, Any] = self.call("GET", path_of(kind, namespace, name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        return manifest

    def list(
        self, kind: str, namespace: str = "", selector: str = "", fields: str = ""
    ) -> Iterator[dict[str, Any]]:
        """Objects of a kind, page by page; each with `apiVersion` and `kind`, and without its
        `managedFields`, which make up most of it and are not needed here."""
        query = {"limit": str(PAGE)}
        if selector:
            query["labelSelector"] = selector
        if fields:
            query["fieldSelector"] = fields
        while True:
            page = self.call("GET", path_of(kind, namespace), query=query)
            for item in page["items"]:
                item["metadata"].pop("managedFields", None)
                yield {"apiVersion": _RESOURCES[kind][0], "kind": kind, **item}
            following = page["metadata"].get("continue")
            if not following:
                return
            query["continue"] = following

    def apply(self, manifest: Mapping[str, Any], manager: str = FIELD_MANAGER, subresource: str = "") -> Any:
        """Server-side apply: the fields given here are ours, all others stay as they are."""
        meta = manifest["metadata"]
        path = path_of(manifest["kind"], meta.get("namespace", ""), meta["name"], subresource)
        query = {"fieldManager": manager, "force": "true"}
        return self.call("PATCH", path, _yaml(manifest), query, _APPLY)

    def create(self, manifest: Mapping[str, Any]) -> bool:
        """Create an object; False when it exists already. Any other conflict is an error: of a quota that
        others use up at the same time, say, and then there is no object."""
        path = path_of(manifest["kind"], manifest["metadata"].get("namespace", ""))
        try:
            self.call("POST", path, manifest, {"fieldManager": FIELD_MANAGER})
        except ApiError as error:
            if error.status == 409 and error.reason == "AlreadyExists":
                return False
            raise
        return True

    def replace(self, manifest: Mapping[str, Any]) -> Any:
        """Replace an object, which must not have changed since it was read (409 otherwise)."""
        meta = manifest["metadata"]
        path = path_of(manifest["kind"], meta.get("namespace", ""), meta["name"])
        return self.call("PUT", path, manifest, {"fieldManager": FIELD_MANAGER})

    def merge(
        self, kind: str, namespace: str, name: str, patch: Mapping[str, Any], subresource: str = ""
    ) -> Any:
        """Change the given fields of an object that exists (404 otherwise)."""
        path = path_of(kind, namespace, name, subresource)
        return self.call("PATCH", path, patch, {"fieldManager": FIELD_MANAGER}, _MERGE)

    def delete(self, kind: str, namespace: str, name: str, uid: str = "") -> bool:
        """Delete an object, in the background; False when it is gone, or its uid is another."""
        body: dict[str, Any] = {"propagationPolicy": "Background"}
        if uid:
            body["preconditions"] = {"uid": uid}
        try:
            self.call("DELETE", path_of(kind, namespace, name), body)
        except ApiError as error:
            if error.status in (404, 409):
                return False
            raise
        return True


def _yaml(manifest: Mapping[str, Any]) -> str:
    """JSON that is YAML too, as which the API server reads what is applied: it refuses the two halves by
    which JSON escapes a character above U+FFFF, such as an emoji in a query's text."""
    return _PAIR.sub(lambda pair: json.loads(f'"{pair[1]}"') if pair[1] else pair[0], json.dumps(manifest))


def _causes(answer: Mapping[str, Any]) -> list[Any]:
    """Reasons of the causes that a `Status` object gives."""
    details = answer.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return [cause.get("reason") for cause in causes or () if isinstance(cause, dict)]


def _refusal(status: int, body: str | bytes | None, otherwise: str) -> ApiError:
    """What a `Status` object says, or `otherwise` where there is none."""
    try:
        answer = json.loads(body or "{}")
    except ValueError:
        answer = {}
    answer = answer if isinstance(answer, dict) else {}
    message = str(answer.get("message") or otherwise)
    if status == 0:
        return NoAnswer(message)
    if status == 403 and _TERMINATING in _causes(answer):
        return ObjectGone(status, message)
    return ApiError(status, message, str(answer.get("reason", "")))
