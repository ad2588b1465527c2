"""helm upgrade from an earlier commit's chart and images, under the queries that run with them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.e2e import flights
from tests.e2e.conftest import OPERATOR_NAMESPACE, fresh_namespace, install, namespace_of, uninstall
from tests.e2e.kubectl import CACHE, REPOSITORY, apply, wait_until
from tests.e2e.reference import judge

EARLIER = "743b58ab138ef5cdb417e25748b6edbc5ec72537"
"""Before executors, the Kafka exchange and what they changed in the CRDs, the lease and the exchange."""


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
        flights.start(namespace, hours=120, speed=0.5)
        assert flights.images(namespace) == {"weir-runtime:earlier"}

        install()
        wait_until(600, "the new image", lambda: flights.images(namespace) == {"weir-runtime:dev"})
        flights.wait_ready(namespace, 120)
        assert not flights.off_their_pin(namespace)
        judge(namespace, 400)
