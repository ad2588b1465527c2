"""`make bench-links`: the highest input rate that each contender sustains over thin links between zones.

    python -m tests.bench.links.bench --queries flights,three-way --contenders plain-job,weir --seconds 120

Needs the cluster of `make cluster` and the machine to itself. What was measured is kept in out/links and on
the page after each rate; a later run under the same conditions adds to it. `--clean` removes what a
killed run left behind.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from kubernetes import client, config
from weir_operator.kube.api import Api
from weir_placement.bench.page import cell

from tests.bench.links import cluster, page
from tests.bench.links.contenders import PLACES, Setting, put
from tests.bench.links.measure import Bench
from tests.bench.links.pace import tell
from tests.bench.links.pods import feed, plain
from tests.bench.links.queries import PLAIN, ZONES
from tests.bench.links.shaping import limited, sites, unlimit
from tests.e2e.conftest import (
    OPERATOR_NAMESPACE,
    SHARED,
    claim_of,
    install,
    namespace_of,
    uninstall,
    volume_of,
)
from tests.e2e.kubectl import ENVIRONMENT, REPOSITORY, apply, get, kubectl

NAMESPACE = "bench-links"
ORDER = ("plain-job", "weir", "spark-default", "round-robin")


def main() -> None:
    """The command line."""
    options = arguments(sys.argv[1:])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)  # so that everything created is removed again
    places = sites(ZONES)
    if options.clean:
        unlimit(places)
        leave(SHARED / NAMESPACE)
        return
    subprocess.run(["hack/images/build", "--load", "--everywhere", "kafka"], check=True, cwd=REPOSITORY)
    conditions = page.Conditions(options.bits, options.payload, options.seconds, options.trigger)
    with namespace() as folder:
        setting = Setting(NAMESPACE, folder, options.payload, options.bits, options.trigger)
        prepare(setting, options.trigger)
        file = REPOSITORY / "out" / "links" / "results.json"
        repeated = [
            (chosen, name) for chosen in options.queries for name in options.contenders if options.again
        ]
        present = [r for r in page.load(file, conditions) if (r.queries, r.contender) not in repeated]
        bench = Bench(setting, places, conditions, api(), file, options.out, present)
        with limited(places, options.bits):
            bench.run(options.queries, options.contenders, options.minutes)
    for row in page.rows(bench.results, options.bits):
        print("\t".join(map(cell, row)))
    if bench.failed:
        raise SystemExit(f"could not be measured: {'; '.join(bench.failed)}")


def arguments(texts: Sequence[str]) -> argparse.Namespace:
    """Raises SystemExit for arguments that are not valid."""
    parser = argparse.ArgumentParser(description="input rates over thin links between zones")
    parser.add_argument("--queries", type=_several(PLAIN), default=list(PLAIN), help=",".join(PLAIN))
    parser.add_argument("--contenders", type=_several(PLACES), default=list(ORDER), help=",".join(ORDER))
    parser.add_argument("--seconds", type=float, default=120.0, help="for which each rate is held")
    parser.add_argument("--bits", type=int, default=20_000_000, help="[bits/s] width of each link")
    parser.add_argument("--payload", type=int, default=20_000, help="[bytes] per row, read by no query")
    parser.add_argument("--trigger", type=int, default=4000, help="[ms] least time between two batches")
    parser.add_argument(
        "--minutes", type=float, default=90.0, help="after which no further contender is started"
    )
    parser.add_argument("--again", action="store_true", help="also repeat what was measured before")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs" / "benchmarks")
    parser.add_argument("--clean", action="store_true", help="only remove what a killed run left behind")
    return parser.parse_args(texts)


def api() -> Api:
    """Of the cluster under test, whatever KUBECONFIG says: it is read when the client is imported."""
    configuration = client.Configuration()
    config.load_kube_config(ENVIRONMENT["KUBECONFIG"], client_configuration=configuration)
    return Api(client.ApiClient(configuration))


def _several(names: Collection[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        if wrong := [name for name in chosen if name not in names]:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(wrong)}; choose from {', '.join(names)}")
        return chosen

    return parse


def _interrupted(number: int, frame: object) -> NoReturn:
    raise SystemExit(f"ended by signal {number}")


@contextmanager
def namespace() -> Iterator[Path]:
    """The run's own namespace, with a volume; yields its folder. Afterwards all is removed."""
    folder = SHARED / NAMESPACE
    leave(folder)
    folder.mkdir(parents=True)
    (folder / "links").mkdir()
    for path in (folder, folder / "links"):
        path.chmod(0o777)  # the pods are not root
    try:
        apply([namespace_of(NAMESPACE), volume_of(NAMESPACE), claim_of(NAMESPACE)])
        yield folder
    finally:
        leave(folder)


def leave(folder: Path) -> None:
    """Nothing of this or an earlier run stays, nor the operator with its settings for it."""
    if get("namespace", OPERATOR_NAMESPACE):
        uninstall()
    if get("namespace", NAMESPACE):
        kubectl("delete", "namespace", NAMESPACE, "--timeout=180s", timeout=200)
    kubectl("delete", "persistentvolume", NAMESPACE, "--ignore-not-found")
    shutil.rmtree(folder, ignore_errors=True)


def prepare(setting: Setting, trigger: int) -> None:
    """Installs the operator and starts the brokers."""
    tell("installing the operator, starting the brokers")
    apply([namespace_of(OPERATOR_NAMESPACE)])
    install(f"fragments.triggerMs={trigger}", "replicas=1")
    for module in (feed, plain):
        path = Path(str(module.__file__))
        shutil.copy(path, setting.folder / "links" / path.name)
    put(setting, [*map(cluster.ballast, ZONES), *cluster.brokers()])
    names = [f"pod/kafka-{zone}" for zone in ZONES]
    kubectl("wait", "-n", setting.namespace, "--for=condition=Ready", *names, "--timeout=180s", timeout=200)


if __name__ == "__main__":
    main()
