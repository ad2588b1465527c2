"""What the API server really grants: to the operator, and to a driver."""

from __future__ import annotations

from weir_operator.kube.access import build_role_binding_spec, build_role_spec, build_service_account_spec
from weir_operator.kube.owner_references import OwnerReference
from weir_operator.kube.rights import RIGHTS

from tests.e2e.conftest import OPERATOR_NAMESPACE, RELEASE
from tests.e2e.kubectl import apply, kubectl

EVERYBODYS = ("selfsubject",)  # granted to every account by the cluster itself


def granted(account: str, namespace: str) -> dict[tuple[str, str], set[str]]:
    """`kubectl auth can-i --list`: verbs by resource and resource name."""
    verbs_of: dict[tuple[str, str], set[str]] = {}
    for line in kubectl("auth", "can-i", "--list", f"--as={account}", "-n", namespace).splitlines()[1:]:
        resource, _, rest = line.partition(" ")
        if not resource or resource.startswith(EVERYBODYS):
            continue
        _, names, verbs = (part.split("]")[0].split() for part in rest.split("[")[1:])
        for name in names or [""]:
            verbs_of.setdefault((resource, name), set()).update(verbs)
    return verbs_of


def listed(*scopes: str) -> dict[tuple[str, str], set[str]]:
    """The rights that are written down with a reason, as `granted` gives them."""
    verbs_of: dict[tuple[str, str], set[str]] = {}
    for right in RIGHTS:
        for resource in right.resources if right.scope in scopes else ():
            plural, _, part = resource.partition("/")
            kind = (f"{plural}.{right.group}" if right.group else plural) + (f"/{part}" if part else "")
            for name in right.only or [""]:
                verbs_of.setdefault((kind, name), set()).update(right.verbs)
    return verbs_of


def test_the_operator_may_what_is_listed_with_a_reason_and_nothing_else(isolation: str) -> None:
    account = f"system:serviceaccount:{OPERATOR_NAMESPACE}:{RELEASE}"
    scopes = ("cluster", "namespace", "own", *(("hosts",) if isolation == "Shared" else ()))
    assert granted(account, OPERATOR_NAMESPACE) == listed(*scopes)


def test_a_driver_may_keep_its_own_lease_and_nothing_else(namespace: str) -> None:
    about = (namespace, "q-f1", f"{namespace}/q", OwnerReference("none", "none"))
    objects = [build_service_account_spec(*about), build_role_spec(*about), build_role_binding_spec(*about)]
    for manifest in objects:
        del manifest["metadata"]["ownerReferences"]  # there is no Placement that could own them
    apply(objects)
    may = granted(f"system:serviceaccount:{namespace}:q-f1", namespace)
    assert may == {("leases.coordination.k8s.io", "q-f1"): {"get", "update", "watch"}}
