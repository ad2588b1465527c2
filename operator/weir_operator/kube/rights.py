"""Every right that the operator needs, with its reason. The chart grants exactly these: a test compares.

Scope `cluster` is granted by a ClusterRole in any case; scope `namespace` in each watched namespace (by the
same ClusterRole when all are watched), and so is scope `hosts` where fragments may share processes; scope
`own` in the operator's namespace alone; scope `webhook` by that ClusterRole where the webhook is enabled and
the operator makes its certificate itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Right:
    """Verbs on resources of one API group (`only`: on objects of these names), and why each is needed."""

    scope: Literal["cluster", "namespace", "hosts", "own", "webhook"]
    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    reason: str
    only: tuple[str, ...] = ()


RIGHTS: tuple[Right, ...] = (
    Right(
        "cluster",
        "",
        ("nodes",),
        ("list", "watch"),
        "capacity, zone, taints, readiness; a change wakes the loop",
    ),
    Right(
        "cluster",
        "",
        ("pods",),
        ("list", "watch"),
        "what other pods request on each node, in every namespace; a change of a driver wakes the loop",
    ),
    Right(
        "cluster",
        "",
        ("namespaces",),
        ("get",),
        "of kube-system alone, whose uid names the installation: "
        "a sweep removes only what is recorded as its own",
        only=("kube-system",),
    ),
    Right(
        "cluster",
        "apiextensions.k8s.io",
        ("customresourcedefinitions",),
        ("list", "watch"),
        "Kopf begins to watch a kind when its definition appears",
    ),
    Right(
        "cluster",
        "weir.dev",
        ("placementpolicies", "networktopologies"),
        ("list", "watch"),
        "how to plan; the only kinds of the group that are not in a namespace",
    ),
    Right(
        "cluster",
        "weir.dev",
        ("placementpolicies/status", "networktopologies/status"),
        ("patch",),
        "report whether they are valid",
    ),
    Right(
        "namespace",
        "weir.dev",
        ("streams", "streamqueries", "inputprofiles"),
        ("list", "watch"),
        "what users ask for; never written",
    ),
    Right(
        "namespace",
        "weir.dev",
        ("streams/status", "streamqueries/status", "inputprofiles/status"),
        ("patch",),
        "conditions and numbers: the only part of a user's object that is written",
    ),
    Right(
        "namespace",
        "weir.dev",
        ("placements",),
        ("get", "list", "watch", "create", "patch", "delete"),
        "the plan in force of each query: looked up before the first one is written "
        "(server-side apply needs create and patch)",
    ),
    Right("namespace", "weir.dev", ("placements/status",), ("patch",), "what runs, and the plan's history"),
    Right(
        "namespace",
        "weir.dev",
        ("querysnapshots",),
        ("get", "list", "watch", "create", "delete"),
        "which snapshots are asked for; created by schedules of queries, deleted when their time is over; "
        "get because the pod that copies one is granted it",
    ),
    Right(
        "namespace",
        "weir.dev",
        ("querysnapshots/status",),
        ("patch", "update"),
        "whether it is complete; update because the pod that copies one says there what it holds",
    ),
    Right(
        "namespace",
        "",
        ("pods",),
        ("get", "create", "delete"),
        "one driver for each fragment and epoch: looked up, created, deleted; and sweepers of leftover "
        "files; drivers with executors are granted these, and list and watch",
    ),
    Right(
        "namespace",
        "",
        ("persistentvolumeclaims",),
        ("list",),
        "which namespaces may have files of deleted queries",
    ),
    Right(
        "namespace",
        "",
        ("resourcequotas", "limitranges"),
        ("list",),
        "what a namespace lets its fragments request: no plan is made whose pods would be refused",
    ),
    Right(
        "namespace",
        "",
        ("serviceaccounts",),
        ("get", "create", "patch", "delete"),
        "an account of its own for each fragment; read, so that only Weir's own is deleted",
    ),
    Right(
        "namespace",
        "coordination.k8s.io",
        ("leases",),
        ("get", "list", "watch", "create", "update", "patch", "delete"),
        "a Lease for each fragment (created, read, marked for a hand-over, deleted) and the replicas' own; "
        "get, update and watch also because drivers are granted them, and nobody may grant rights that they "
        "do not have",
    ),
    Right(
        "namespace",
        "policy",
        ("poddisruptionbudgets",),
        ("get", "list", "create", "patch", "delete"),
        "delay an eviction until the fragment has moved",
    ),
    Right(
        "namespace",
        "rbac.authorization.k8s.io",
        ("roles", "rolebindings"),
        ("get", "create", "patch", "delete"),
        "grant a driver its Lease by name; without escalate or bind: never more than the operator has",
    ),
    Right(
        "hosts",
        "",
        ("configmaps",),
        ("get", "list", "watch", "create", "update", "delete"),
        "what a host of several fragments shall run, and what it says; get, update and watch also because "
        "hosts are granted them, each on its own two by name",
    ),
    Right("own", "", ("configmaps",), ("get",), "measured latencies that a NetworkTopology refers to"),
    Right(
        "namespace",
        "events.k8s.io",
        ("events",),
        ("create", "list"),
        "publish decisions on the query; read why a driver's volumes are not mounted, which only events say",
    ),
    Right(
        "webhook",
        "admissionregistration.k8s.io",
        ("validatingwebhookconfigurations",),
        ("get", "update"),
        "of the release's name alone: each replica adds its own certificate to those that are trusted; "
        "no key is stored in the cluster",
        only=("weir",),
    ),
)


def markdown() -> str:
    """The table of docs/security.md."""
    lines = ["| Where | Group | Resources | Verbs | Why |", "|---|---|---|---|---|"]
    for right in RIGHTS:
        resources, verbs = ", ".join(right.resources), ", ".join(right.verbs)
        lines.append(f"| {right.scope} | {right.group or 'core'} | {resources} | {verbs} | {right.reason} |")
    return "\n".join(lines) + "\n"
