"""helm upgrade from an earlier commit's chart and images, under the queries that run with them: a new runtime
image rolls fragment by fragment, an unchanged one restarts nothing."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter

import pytest
from weir_operator.api.policy import PlacementPolicySpec

from tests.e2e import flights
from tests.e2e.conftest import OPERATOR_NAMESPACE, fresh_namespace, install, namespace_of, uninstall
from tests.e2e.kubectl import CACHE, REPOSITORY, apply, condition, get, kubectl, wait_until
from tests.e2e.reference import judge_so_far

EARLIER = "743b58ab138ef5cdb417e25748b6edbc5ec72537"
"""Before executors, the Kafka exchange and what they changed in the CRDs, the lease and the exchange."""

QUERIES = ("made-up-time", "by-carrier")
"""Two joins and windows: the state and the flows that there are."""


@pytest.fixture
def earlier(release: None) -> None:
    """The chart and the images of `EARLIER`, in the place of this tree's."""
    tree = CACHE / f"earlier-{EARLIER[:7]}"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    try:
        with subprocess.Popen(["git", "archive", EARLIER], cwd=REPOSITORY, stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "-C", str(tree)], stdin=archive.stdout, check=True)
        assert archive.returncode == 0, f"this clone has no commit {EARLIER}: git fetch --unshallow"
        build = f"{tree}/hack/images/build --load --tag earlier weir-operator weir-runtime"
        subprocess.run(build.split(), check=True)
        uninstall()
        apply([namespace_of(OPERATOR_NAMESPACE)])
        install(tree=tree, tag="earlier")
    finally:
        shutil.rmtree(tree)


def test_queries_of_an_earlier_commit_are_upgraded(earlier: None, request: pytest.FixtureRequest) -> None:
    with fresh_namespace(request.session) as namespace:
        flights.run(namespace, flights.only(flights.manifests(namespace, 700, 0.2), QUERIES), QUERIES)
        assert flights.images(namespace) == {"weir-runtime:earlier"}
        before = flights.uids(namespace)

        install()
        wait_until(600, "every driver runs the new image", lambda: rolled(namespace, "weir-runtime:dev"))
        flights.wait_ready(namespace, 120, QUERIES)
        now = flights.uids(namespace)
        assert not set(now) & set(before)
        assert not flights.off_their_pin(namespace)
        assert not flights.events(namespace, "FragmentFailed")

        install("podLabels.round=two")  # other operator pods, the same runtime
        kubectl("rollout", "status", "deployment/weir", "-n", OPERATOR_NAMESPACE, "--timeout=120s")
        flights.wait_ready(namespace, 60, QUERIES)
        judge_so_far(namespace, 300, QUERIES)
        assert flights.uids(namespace) == now


def rolled(namespace: str, image: str) -> bool:
    """Whether every driver runs the image; until then one fragment after the other moves, and no query stops
    being Ready."""
    pods = flights.drivers(namespace)
    lives = Counter(pod["metadata"]["labels"]["weir.dev/fragment"] for pod in pods)
    twice = [fragment for fragment, count in lives.items() if count > 1]
    assert len(twice) <= PlacementPolicySpec().move_budget.concurrent, f"at a time: {twice}"
    for query in get("wsq", "-n", namespace):
        ready = condition(query, "Ready")
        assert ready.get("status") == "True", f"{query['metadata']['name']}: {ready}"
    return {pod["spec"]["containers"][0]["image"] for pod in pods} == {image}
