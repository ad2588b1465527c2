"""The chart grants exactly the rights that are listed with a reason."""

from __future__ import annotations

from typing import Any

from weir_operator.kube.rights import RIGHTS

from tests.chart.conftest import Render

Grant = tuple[str, str, str, str]  # group, resource, name of the only object or "", verb


def granted(role: dict[str, Any]) -> set[Grant]:
    return {
        (group, resource, name, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }


def listed(scope: str) -> set[Grant]:
    return {
        (r.group, resource, name, verb)
        for r in RIGHTS
        if r.scope == scope
        for resource in r.resources
        for name in r.only or [""]
        for verb in r.verbs
    }


def test_all_namespaces_are_one_cluster_role(render: Render) -> None:
    objects = render()
    (role,) = [o for o in objects if o["kind"] == "ClusterRole"]
    assert granted(role) == listed("cluster") | listed("namespace")
    assert {o["metadata"]["namespace"]: granted(o) for o in objects if o["kind"] == "Role"} == {
        "weir-system": listed("own")
    }


def test_watched_namespaces_are_roles_and_the_rest_stays_closed(render: Render) -> None:
    objects = render("watchNamespaces={a,b}")
    (role,) = [o for o in objects if o["kind"] == "ClusterRole"]
    assert granted(role) == listed("cluster")
    roles: dict[str, set[Grant]] = {}
    for role in (o for o in objects if o["kind"] == "Role"):
        roles.setdefault(role["metadata"]["namespace"], set()).update(granted(role))
    everywhere = listed("namespace")
    assert roles == {"a": everywhere, "b": everywhere, "weir-system": everywhere | listed("own")}
    bound = {o["metadata"]["namespace"] for o in objects if o["kind"] == "RoleBinding"}
    assert bound == roles.keys()
