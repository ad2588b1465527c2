"""`--enough` and a policy's `headroom`: the plan, what was minimised in words, and what is wrong with it."""

import json

import pytest
from weir_operator.cli import main

NODE = """
apiVersion: v1
kind: Node
metadata: {name: %s}
status: {allocatable: {cpu: "1", memory: 4Gi}}
---"""
SCENE = (
    "".join(NODE % name for name in ("edge", "core", "hub"))
    + """
apiVersion: weir.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: default}
spec: {}
---
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {name: a}
spec:
  {schema: "k BIGINT, ts TIMESTAMP", eventTime: {column: ts}, rate: 50, tupleBytes: 16, origin: {node: edge}}
---
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {name: b}
spec:
  {schema: "k BIGINT, ts TIMESTAMP", eventTime: {column: ts}, rate: 50, tupleBytes: 16, origin: {node: hub}}
---
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {name: q}
spec:
  sql: >-
    SELECT a.k, b.ts FROM a, b WHERE a.k = b.k AND a.k > 5
    AND a.ts BETWEEN b.ts - INTERVAL 5 SECONDS AND b.ts + INTERVAL 5 SECONDS
"""
)


@pytest.fixture
def scene(tmp_path):
    def written(policy="spec: {}"):
        file = tmp_path / "scene.yaml"
        file.write_text(SCENE.replace("spec: {}", policy))
        return file

    return written


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def planned(capsys, *arguments):
    return json.loads(run(capsys, "plan", *arguments, "-o", "json")[1])


def test_a_policy_and_an_option_say_what_headroom_is_enough(scene, capsys):
    most = planned(capsys, "-f", scene())
    assert "enough" not in most
    assert most["fragments"] > 1
    expected = {"headroom": 2.0, "reached": True, "hosts": 1, "leastHosts": 1}
    by_policy = planned(capsys, "-f", scene("spec: {headroom: {}}"))
    assert by_policy["enough"] == expected
    assert (by_policy["fragments"], by_policy["bound"], by_policy["proven"]) == (1, None, True)
    assert 2 <= by_policy["objectiveValue"] < most["objectiveValue"]
    by_option = planned(capsys, "-f", scene("spec: {headroom: {enough: 3}}"), "--enough", "2")
    assert by_option["enough"] == expected


def test_plan_picture_and_explain_say_what_was_minimised(scene, capsys):
    file = scene("spec: {headroom: {}}")
    words = "2x is enough: hosts (1), then network usage minimised"
    assert f"{words}; proved optimal" in run(capsys, "plan", "-f", file)[1]
    assert words in run(capsys, "plan", "-f", file, "-o", "svg")[1]
    out = run(capsys, "explain", "-f", file)[1]
    assert out.startswith(f"planned: {words}, headroom ")


def test_where_no_plan_has_enough_the_headroom_is_the_most(scene, capsys):
    most = planned(capsys, "-f", scene())
    code, out, _ = run(capsys, "plan", "-f", scene(), "--enough", "100000", "-o", "json")
    report = json.loads(out)
    assert code == 0
    assert report["objectiveValue"] == pytest.approx(most["objectiveValue"])
    assert report["enough"]["reached"] is False
    words = "100000x would be enough, but the plan does not have it"
    assert words in run(capsys, "plan", "-f", scene(), "--enough", "100000")[1]


def test_fragments_of_one_class_share_a_host(scene, capsys):
    report = planned(capsys, "-f", scene("spec: {fragments: {isolation: Shared}}"), "--enough", "2")
    assert report["enough"]["hosts"] == 1
    dear = "spec: {fragments: {isolation: Shared}, overheads: {hostCpu: 600m}, headroom: {}}"
    on_one = planned(capsys, "-f", scene(dear))
    assert [round(node["cpu"]) > 600_000 for node in on_one["nodes"]].count(True) == 1


def test_a_given_plan_is_not_said_to_be_the_cheapest(scene, capsys, tmp_path):
    file = scene("spec: {headroom: {}}")
    given = tmp_path / "plan.json"
    given.write_text(run(capsys, "plan", "-f", file, "-o", "json")[1])
    out = run(capsys, "evaluate", "-f", file, "--plan", given)[1]
    assert "2x is enough: 1 host;" in out
    assert "minimised" not in out


def test_it_is_about_headroom_as_expected(scene, capsys):
    usage = ("--objective", "network-usage", "--strategy", "exact-dp")
    code, _, err = run(capsys, "plan", "-f", scene(), "--enough", "2", *usage)
    assert code == 2
    assert (
        "--enough: plans for network-usage have no headroom that is enough; give --objective headroom" in err
    )
    code, _, err = run(capsys, "plan", "-f", scene(), "--enough", "2", "--robust")
    assert code == 2
    assert "--enough: robust plans have the most headroom at their worst; leave it out" in err


@pytest.mark.parametrize("value", ["0", "-1"])
def test_a_headroom_is_above_0(scene, capsys, value):
    code, _, err = run(capsys, "plan", "-f", scene(f"spec: {{headroom: {{enough: {value}}}}}"))
    assert code == 2
    assert "spec.headroom.enough" in err
    code, _, err = run(capsys, "plan", "-f", scene(), "--enough", value)
    assert code == 2
    assert "write a number above 0" in err
