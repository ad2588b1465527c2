"""The chart grants the operator exactly the rights that are listed with a reason, and people theirs."""

from __future__ import annotations

from typing import Any

import yaml
from weir_operator.kube.rights import RIGHTS

from tests.chart.conftest import REPOSITORY, Manifest, Render

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


def of_operator(objects: list[Manifest]) -> Manifest:
    """Its ClusterRole."""
    (role,) = [o for o in objects if o["kind"] == "ClusterRole" and o["metadata"]["name"] == "weir"]
    return role


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
    role = of_operator(objects)
    assert granted(role) == listed("cluster") | listed("namespace")
    assert {o["metadata"]["namespace"]: granted(o) for o in objects if o["kind"] == "Role"} == {
        "weir-system": listed("own")
    }


def test_objects_for_hosts_are_granted_where_fragments_may_share_a_process(render: Render) -> None:
    assert granted(of_operator(render("fragments.hosts=true"))) == (
        listed("cluster") | listed("namespace") | listed("hosts")
    )


def test_watched_namespaces_are_roles_and_the_rest_stays_closed(render: Render) -> None:
    objects = render("watchNamespaces={a,b}")
    role = of_operator(objects)
    assert granted(role) == listed("cluster")
    roles: dict[str, set[Grant]] = {}
    for role in (o for o in objects if o["kind"] == "Role"):
        roles.setdefault(role["metadata"]["namespace"], set()).update(granted(role))
    everywhere = listed("namespace")
    assert roles == {"a": everywhere, "b": everywhere, "weir-system": everywhere | listed("own")}
    bound = {o["metadata"]["namespace"] for o in objects if o["kind"] == "RoleBinding"}
    assert bound == roles.keys()


LABEL = "rbac.authorization.k8s.io/aggregate-to-"
READ = {"get", "list", "watch"}
WRITE = {"create", "update", "patch", "delete", "deletecollection"}


def for_people(objects: list[Manifest]) -> dict[str, set[Grant]]:
    """What the chart adds to each of Kubernetes' own roles."""
    return {
        label.removeprefix(LABEL): granted(o)
        for o in objects
        if o["kind"] == "ClusterRole"
        for label, value in o["metadata"]["labels"].items()
        if label.startswith(LABEL) and value == "true"
    }


def test_people_get_rights_by_kubernetes_own_roles(render: Render) -> None:
    """Kubernetes' edit has what view has, admin what edit has."""
    crds = [yaml.safe_load(file.read_text())["spec"] for file in (REPOSITORY / "crds").glob("*.yaml")]
    every = {crd["names"]["plural"] for crd in crds}
    of_users = {crd["names"]["plural"] for crd in crds if crd["scope"] == "Namespaced"} - {"placements"}
    assert of_users >= {"streams", "streamqueries", "inputprofiles"}

    def rights(kinds: set[str], verbs: set[str]) -> set[Grant]:
        return {("weir.dev", kind, "", verb) for kind in kinds for verb in verbs}

    assert for_people(render()) == {
        "view": rights(every, READ),
        "edit": rights(of_users, WRITE),
        "admin": rights({"placements"}, {"patch"}),
    }
    assert for_people(render("rbac.aggregate=false")) == {}


def test_people_may_write_no_status_and_no_kind_of_the_cluster(render: Render) -> None:
    for grants in for_people(render("watchNamespaces={a}")).values():
        for _, resource, _, verb in grants:
            assert "/" not in resource
            assert verb in READ or resource not in ("placementpolicies", "networktopologies")
