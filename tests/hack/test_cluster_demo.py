"""What `make cluster-demo` does and says, with programs in the place of kubectl and helm.

tests/e2e/test_readme.py runs it on a real cluster."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
BUILD = REPOSITORY / "hack/images/build"
DRIVERS = {
    True: "by-carrier f1 weir-worker2",
    False: "by-carrier f1 weir-worker\nmade-up-time j1 weir-worker",
}
KUBECTL = f"""#!/bin/bash
cd {{folder}}
echo "kubectl $*" >>log
case "$*" in
  "get nodes") [[ ! -f no-cluster ]] ;;
  "get namespace flights") [[ -f earlier ]] ;;
  *"wait --for=condition=Ready"*) [[ -f asked ]] || {{{{ touch asked; exit 1; }}}} ; [[ ! -f never-ready ]] ;;
  *"get streamqueries"*) echo "by-carrier: Ready   made-up-time: PodsNotReady" ;;
  *"role=driver"*) if [[ -f drained ]]; then echo "{DRIVERS[True]}"; else echo "{DRIVERS[False]}"; fi ;;
  *job/replay*) n=$(($(cat rows 2>/dev/null || echo 0) + 7)); echo $n >rows; echo "by-carrier: $n rows" ;;
  drain*) [[ ! -f stuck ]] || {{{{ echo "error: evicting pod: no"; exit 1; }}}}; touch drained ;;
esac
"""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """WEIR_CACHE with programs that answer at once."""
    programs = {"kubectl": KUBECTL.format(folder=tmp_path), "helm": "#!/bin/bash\n", "sleep": "#!/bin/bash\n"}
    programs["helm"] += f'echo "helm $*" >>{tmp_path}/log\n'
    (tmp_path / "bin").mkdir()
    for name, text in programs.items():
        path = tmp_path / "bin" / name
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "shared-weir" / "flights").mkdir(parents=True)
    (tmp_path / "shared-weir" / "flights" / "of-an-earlier-demo").touch()
    return tmp_path


def demo(cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "WEIR_CLUSTER"}
    return subprocess.run(
        [REPOSITORY / "hack/cluster/demo"],
        env=environment | {"WEIR_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Its lines without the seconds."""
    return [line.partition("s  ")[2] or line for line in done.stderr.splitlines()]


def test_it_installs_without_a_value_and_drains_the_worker_with_most_drivers(cache: Path) -> None:
    done = demo(cache)
    assert done.returncode == 0, done.stderr
    log = (cache / "log").read_text()
    (helm,) = [line for line in log.splitlines() if line.startswith("helm")]
    assert "--set" not in helm
    assert f"apply -k {REPOSITORY}/hack/cluster/flights" in log
    lines = said(done)
    assert any(line.startswith("draining weir-worker, ") for line in lines)
    assert "  by-carrier: Ready   made-up-time: PodsNotReady" in lines  # why it is not Ready yet
    now = lines.index("weir-worker is empty; the plan now:")
    assert lines[now + 1].strip() == DRIVERS[True]
    assert sum(" rows" in line for line in lines[:now]) >= 3
    assert any(" rows" in line for line in lines[now:])
    assert "uncordon weir-worker\n" in log
    assert not list((cache / "shared-weir" / "flights").iterdir())


def test_an_earlier_demo_is_replaced(cache: Path) -> None:
    (cache / "earlier").touch()
    assert demo(cache).returncode == 0
    log = (cache / "log").read_text()
    assert log.index("delete namespace flights") < log.index("apply -k")


def test_without_a_cluster_it_says_how_to_make_one(cache: Path) -> None:
    (cache / "no-cluster").touch()
    done = demo(cache)
    assert (done.returncode, done.stderr) == (1, "error: no cluster answers; make one first: make cluster\n")


def test_a_drain_that_fails_is_told_with_its_reason_and_the_worker_is_given_back(cache: Path) -> None:
    (cache / "stuck").touch()
    done = demo(cache)
    assert done.returncode == 1
    assert "kubectl drain weir-worker failed: error: evicting pod: no. Look further: " in done.stderr
    assert "uncordon weir-worker\n" in (cache / "log").read_text()


NODES = ("weir-control-plane", "weir-worker", "weir-worker3")
ON = {
    "weir-operator": NODES,  # the chart's pods go anywhere
    "weir-runtime": NODES[1:],
    "kafka": NODES[:1],
    "weir-flights": NODES[:1],
    "prometheus": NODES[:1],
}


@pytest.mark.parametrize("image", ON)
def test_images_are_on_the_nodes_where_pods_with_them_go(image: str) -> None:
    functions = f"source <(sed -n '/^belongs()/,/^}}/p' {BUILD}); EVERYWHERE=false"
    there = [
        node
        for node in NODES
        if subprocess.run(["bash", "-c", f"{functions}; belongs {image} {node}"]).returncode == 0
    ]
    assert tuple(there) == ON[image]


@pytest.mark.parametrize(("tag", "image", "named"), [
    ("dev", "weir-operator", True), ("dev", "weir-runtime", True), ("dev", "kafka", False),
    ("earlier", "weir-operator", False),
])  # fmt: skip
def test_what_the_chart_names_without_a_value_is_on_the_nodes(tag: str, image: str, named: bool) -> None:
    """Else a plain `helm install` ends in ImagePullBackOff."""
    version = yaml.safe_load((REPOSITORY / "charts/weir/Chart.yaml").read_text())["appVersion"]
    script = f"""
    shopt -s extglob
    source <(sed -n '/^save()/,/^}}/p' {BUILD})
    step() {{ :; }}
    docker() {{ echo "$*"; }}
    TAG={tag} REPO={REPOSITORY} save {image} /tmp/image.tar"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    *_, saved = done.stdout.splitlines()
    names = f"{image}:{tag}" + (f" {image}:{version}" if named else "")
    assert saved == f"save -o /tmp/image.tar {names}"


def test_the_example_on_that_cluster_is_the_example() -> None:
    """The overlay takes examples/flights as it is, and changes what only this cluster needs."""
    overlay = yaml.safe_load((REPOSITORY / "hack/cluster/flights/kustomization.yaml").read_text())
    assert overlay["resources"] == ["../../../examples/flights", "volume.yaml"]
    assert {patch["target"]["kind"] for patch in overlay["patches"]} == {
        "PersistentVolumeClaim",
        "Job",
        "Deployment|Job",
    }
