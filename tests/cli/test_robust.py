"""`--robust` and a policy's `robustness`: the plan, its price, and what is wrong with ranges, by field."""

import json

import pytest
from weir_operator.cli import main

SCENE = """
apiVersion: v1
kind: Node
metadata: {name: edge}
status: {allocatable: {cpu: 120m, memory: 4Gi}}
---
apiVersion: v1
kind: Node
metadata: {name: core, labels: {topology.kubernetes.io/zone: core}}
status: {allocatable: {cpu: 200m, memory: 4Gi}}
---
apiVersion: weir.dev/v1alpha1
kind: NetworkTopology
metadata: {name: thin}
spec: {default: {latency: 10ms, bandwidth: 9600}}
---
apiVersion: weir.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: default}
spec: {topology: thin}
---
apiVersion: weir.dev/v1alpha1
kind: Stream
metadata: {name: a}
spec: {schema: "k BIGINT", rate: 300, tupleBytes: 8, origin: {node: edge}}
---
apiVersion: weir.dev/v1alpha1
kind: InputProfile
metadata: {name: day}
spec:
  points:
  - {name: noon, rates: {a: 300}}
---
apiVersion: weir.dev/v1alpha1
kind: StreamQuery
metadata: {name: q}
spec:
  order: fixed
  profile: day
  operators:
  - {id: f, kind: filter, inputs: [a], predicate: a.k > 9, selectivity: 0.1, maxSelectivity: 0.6,
     cost: 100, nodes: [edge]}
  - {id: g, kind: filter, inputs: [f], predicate: a.k > 99, selectivity: 0.5, maxSelectivity: 0.5, cost: 400}
"""
POLICY = "spec: {topology: thin}"
RATES = "rates: {a: 300}"
RANGE = "selectivity: 0.1, maxSelectivity: 0.6"


@pytest.fixture
def scene(tmp_path):
    def written(*edits):
        text = SCENE
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        file = tmp_path / "scene.yaml"
        file.write_text(text)
        return file

    return written


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def nodes(report):
    return {op["id"]: op["node"] for query in report["queries"] for op in query["operators"]}


def planned(capsys, file, *arguments):
    code, out, _ = run(capsys, "plan", "-f", file, "-o", "json", *arguments)
    assert code == 0
    return json.loads(out)


def test_a_robust_plan_and_its_price(capsys, scene):
    file = scene()
    report = planned(capsys, file, "--robust")
    assert nodes(planned(capsys, file)) == {"q/f": "edge", "q/g": "core"}
    assert nodes(report) == {"q/f": "edge", "q/g": "edge"}
    assert report["proven"]
    assert report["objectiveValue"] == pytest.approx(120 / 102)
    assert report["robust"]["nominal"] == {"headroom": pytest.approx(4), "worst": pytest.approx(1200 / 1440)}
    assert report["robust"]["price"] == pytest.approx(2 / 7)
    assert "robust" not in planned(capsys, file)


def test_a_policy_says_it_as_the_flag_does(capsys, scene):
    flag = planned(capsys, scene(), "--robust")
    report = planned(capsys, scene((POLICY, "spec: {topology: thin, robustness: {}}")))
    assert report["robust"] == flag["robust"]
    assert nodes(report) == nodes(flag)


def test_the_table_says_what_is_expected_and_what_is_not(capsys, scene):
    _, out, _ = run(capsys, "plan", "-f", scene(), "--robust")
    line = out.splitlines()[-1]
    assert line.startswith(
        "worst headroom 1.18x; proved optimal; expected 2.86x (the plan for what is expected "
    )
    assert "has 4x, and 0.833x at worst)" in line


def test_a_given_plan_has_its_worst_headroom(capsys, scene, tmp_path):
    file, given = scene(), tmp_path / "plan.json"
    given.write_text(json.dumps(planned(capsys, file)))
    code, out, _ = run(capsys, "evaluate", "-f", file, "--plan", given, "--robust", "-o", "json")
    assert code == 0
    report = json.loads(out)
    assert report["objectiveValue"] == pytest.approx(1200 / 1440)
    assert report["robust"]["expectedHeadroom"] == pytest.approx(4)
    assert report["robust"]["nominal"] is None


@pytest.mark.parametrize(
    ("spec", "uncertain", "worst"),
    [
        ("{deviations: 0}", 1, 4.0),
        ("{rateFactor: 2}", 2, 60 / 102),
        ("{rateFactor: 2, deviations: 1}", 2, 120 / 102),
    ],
)
def test_how_much_deviates_at_once(capsys, scene, spec, uncertain, worst):
    report = planned(capsys, scene((POLICY, f"spec: {{topology: thin, robustness: {spec}}}")))
    assert report["robust"]["uncertain"] == uncertain
    assert report["objectiveValue"] == pytest.approx(worst)


def test_the_largest_rates_of_a_profile_and_factors_where_nothing_is_declared(capsys, scene):
    undeclared = (RANGE, "selectivity: 0.1")
    most = (RATES, f"{RATES}, maxRates: {{a: 600}}")
    assert planned(capsys, scene(most), "--robust")["objectiveValue"] == pytest.approx(60 / 102)
    report = planned(capsys, scene(undeclared), "--robust")
    assert report["robust"]["worstAt"] == ["selectivity of operator default/q/f"]
    assert report["objectiveValue"] == pytest.approx(2.5)  # the link, with two tenths of the rows


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            (RANGE, "selectivity: 0.7, maxSelectivity: 0.6"),
            "spec.operators[0].maxSelectivity: maxSelectivity must",
        ),
        ((RANGE, "maxSelectivity: 2"), "spec.operators[0].maxSelectivity: 2"),
        (
            (RATES, f"{RATES}, maxRates: {{a: 200}}"),
            "spec.points[0].maxRates.a: 200 is below the expected rate of 300",
        ),
        ((RATES, f"{RATES}, maxRates: {{b: 200}}"), "spec.points[0].maxRates.b: no stream b"),
        (
            (POLICY, "spec: {topology: thin, objective: network-usage, robustness: {}}"),
            "spec.robustness: robust plans are for objective headroom",
        ),
        (
            (POLICY, "spec: {topology: thin, strategy: {parameters: {clones: '2'}}, robustness: {}}"),
            "spec.robustness: robust plans have no clones",
        ),
        ((POLICY, "spec: {topology: thin, robustness: {deviations: -1}}"), "spec.robustness.deviations: -1"),
    ],
)
def test_what_is_wrong_has_its_field(capsys, scene, edit, message):
    code, _, err = run(capsys, "plan", "-f", scene(edit))
    assert code == 2
    assert message in err


def test_the_flag_for_another_objective(capsys, scene):
    code, _, err = run(capsys, "plan", "-f", scene(), "--robust", "--objective", "network-usage")
    assert code == 2
    assert "robust plans are for headroom, not network-usage" in err
