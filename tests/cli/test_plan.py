"""`weir plan` and `weir evaluate` from the shell's side: exit codes, formats, what is imported."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from weir_operator.cli import main

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"


@pytest.fixture
def flights(tmp_path):
    folder = tmp_path / "flights"
    shutil.copytree(FLIGHTS, folder)
    return folder


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_contract_of_the_plan_as_json(capsys):
    code, out, _ = run(capsys, "plan", "-f", FLIGHTS, "-o", "json")
    report = json.loads(out)
    assert code == 0
    assert (report["apiVersion"], report["kind"]) == ("weir.dev/v1alpha1", "PlanReport")
    head = "strategy objective seed seconds evaluations objectiveValue bound gap proven binding"
    assert set(head.split()) | {"queries", "flows", "nodes", "networkUsageBytes"} <= set(report)
    query = next(q for q in report["queries"] if q["name"] == "default/delayed-weather")
    assert {"admitted", "reason", "headroom", "latencySeconds", "operators"} <= set(query)
    fields = "id kind inputs node sharedWith inputRate outputRate cpu memoryBytes"
    for operator in query["operators"]:
        assert set(fields.split()) <= set(operator)
        assert operator["node"] in {node["name"] for node in report["nodes"]}
    for flow in report["flows"]:
        assert set(flow) == {"stream", "from", "to", "bytesPerSecond", "relay"}


def test_yaml_says_the_same_as_json(capsys):
    arguments = ("plan", "-f", FLIGHTS, "--seed", "1", "-o")
    as_json = json.loads(run(capsys, *arguments, "json")[1])
    as_yaml = yaml.safe_load(run(capsys, *arguments, "yaml")[1])
    assert as_yaml["queries"] == as_json["queries"]
    assert as_yaml["flows"] == as_json["flows"]


def test_the_table_has_every_operator_and_node(capsys):
    report = json.loads(run(capsys, "plan", "-f", FLIGHTS, "-o", "json")[1])
    _, out, _ = run(capsys, "plan", "-f", FLIGHTS)
    for query in report["queries"]:
        assert query["name"] in out
        for operator in query["operators"]:
            assert operator["id"].split("/")[1] in out
    assert all(node["name"] in out for node in report["nodes"])


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("html", b"<!")])
def test_pictures(capsysbinary, kind, start):
    assert main(["plan", "-f", str(FLIGHTS), "-o", kind]) == 0
    assert capsysbinary.readouterr().out.startswith(start)


def test_a_picture_of_the_hierarchy(capsysbinary):
    assert main(["plan", "-f", str(FLIGHTS), "-o", "svg", "--hierarchy"]) == 0
    assert b"clusters of at most 16" in capsysbinary.readouterr().out


def test_a_picture_of_what_has_changed(capsysbinary, tmp_path):
    before = tmp_path / "plan.json"
    assert main(["plan", "-f", str(FLIGHTS), "-o", "json"]) == 0
    before.write_bytes(capsysbinary.readouterr().out)
    command = ["plan", "-f", str(FLIGHTS), "--since", str(before), "-o", "svg"]
    assert main(command) == 0
    assert b"What moved: 0 operators" in capsysbinary.readouterr().out
    assert main([*command, "--strategy", "round-robin", "--objective", "headroom"]) == 0
    picture = capsysbinary.readouterr().out.decode()
    assert "moved to west-1" in picture
    assert "moved here from newyork-1" in picture


@pytest.mark.parametrize(
    ("report", "wrong"),
    [
        ({}, "field 'nodes' is missing"),
        ({"nodes": 1, "queries": []}, "a field has a value of the wrong kind ('int' object is not iterable)"),
        ({"nodes": [], "queries": [], "flows": []}, "field 'objective' is missing"),
    ],
)
def test_a_picture_since_what_is_no_plan(capsys, tmp_path, report, wrong):
    before = tmp_path / "plan.json"
    before.write_text(json.dumps({"kind": "PlanReport", **report}))
    code, _, err = run(capsys, "plan", "-f", FLIGHTS, "--since", before, "-o", "svg")
    assert code == 2
    assert err.startswith(f"{before}: {wrong}")


def test_a_strategy_that_refuses_a_value_is_bad_input(capsys):
    options = ("--strategy", "top-down", "--set", "maxClusterSize=1")
    code, _, err = run(capsys, "plan", "-f", FLIGHTS, *options)
    assert code == 2
    assert "--set maxClusterSize=1: 1 is not allowed; give a whole number of at least 2" in err


def test_a_plan_scores_the_same_when_it_is_read_back(capsys, tmp_path):
    _, out, _ = run(capsys, "plan", "-f", FLIGHTS, "-o", "json")
    (tmp_path / "plan.json").write_text(out)
    code, again, _ = run(capsys, "evaluate", "-f", FLIGHTS, "--plan", tmp_path / "plan.json", "-o", "json")
    before, after = json.loads(out), json.loads(again)
    assert code == 0
    assert after["networkUsageBytes"] == pytest.approx(before["networkUsageBytes"])
    assert after["nodes"] == before["nodes"]
    headrooms = [{q["name"]: q["headroom"] for q in report["queries"]} for report in (before, after)]
    assert headrooms[0] == headrooms[1]


@pytest.mark.parametrize("objective", ["headroom", "network-usage"])
def test_a_plan_is_valued_by_its_own_objective(capsys, tmp_path, objective):
    limits = ("--strategy", "auto", "--objective", objective, "--time-limit", "1")
    _, out, _ = run(capsys, "plan", "-f", FLIGHTS, *limits, "-o", "json")
    (tmp_path / "plan.json").write_text(out)
    code, again, _ = run(capsys, "evaluate", "-f", FLIGHTS, "--plan", tmp_path / "plan.json", "-o", "json")
    before, after = json.loads(out), json.loads(again)
    assert (code, after["objective"]) == (0, objective)
    assert after["objectiveValue"] == pytest.approx(before["objectiveValue"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "it is not a PlanReport"),
        ("{", "Expecting"),
        ('{"kind": "PlanReport", "queries": 5}', "plan.json: "),
    ],
)
def test_what_is_no_plan(capsys, tmp_path, text, message):
    (tmp_path / "plan.json").write_text(text)
    code, _, err = run(capsys, "evaluate", "-f", FLIGHTS, "--plan", tmp_path / "plan.json")
    assert code == 2
    assert message in err


def test_every_error_of_every_file_on_one_line_each(capsys, flights):
    edit(flights / "queries.yaml", "profile: flights", "profle: flights")
    edit(flights / "streams.yaml", "watermark: 200ms", "watermark: 200")
    edit(flights / "cluster.yaml", "latency: 0.2ms", "latency: fast")
    code, out, err = run(capsys, "plan", "-f", flights)
    lines = err.splitlines()
    assert code == 2
    assert out == ""
    assert len(lines) == 7
    assert f"{flights / 'cluster.yaml'}:29: NetworkTopology flights: spec.within.latency: " in lines[0]
    assert '"fast" is not a duration; write it with its unit' in lines[0]
    assert sum("spec.profle: no such field; did you mean profile?" in line for line in lines) == 3
    assert sum("spec.eventTime.watermark: 200 is not a duration" in line for line in lines) == 3


def test_bad_sql_has_its_line(capsys, flights):
    edit(flights / "queries.yaml", "WHERE d.dep_delay >= 15", "WHERE d.dep_dely >= 15")
    code, _, err = run(capsys, "plan", "-f", flights)
    assert code == 2
    assert "StreamQuery default/delayed-weather: spec.sql: there is no column" in err
    assert "dep_dely" in err
    assert len(err.splitlines()) == 1


def test_a_rejected_query_is_exit_1_and_says_why(capsys, flights):
    edit(flights / "queries.yaml", "  profile: flights", "  profile: flights\n  maxLatency: 1us")
    code, out, _ = run(capsys, "plan", "-f", flights, "-o", "json")
    rejected = [query for query in json.loads(out)["queries"] if not query["admitted"]]
    assert code == 1
    assert rejected
    assert all(query["reason"] for query in rejected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--strategy", "magic"], "no strategy magic"),
        (["--set", "x"], "--set x: write KEY=VALUE"),
        (["--set", "nonsense=1"], "--set nonsense=1: no such option"),
        (["-o", "tabel"], "tabel"),
        (["-f", "nowhere"], "nowhere: no such file or folder"),
    ],
)
def test_bad_arguments_are_exit_2(capsys, arguments, message):
    code, _, err = run(capsys, "plan", "-f", FLIGHTS, *arguments)
    assert code == 2
    assert message in err


def test_two_policies_plan_one_after_the_other(capsys, flights):
    first = {"priority": 5, "topology": "flights"}
    policy = {"apiVersion": "weir.dev/v1alpha1", "kind": "PlacementPolicy", "metadata": {"name": "first"}}
    (flights / "first.json").write_text(json.dumps({**policy, "spec": first}))
    head, _, tail = (flights / "queries.yaml").read_text().rpartition("policy: flights")
    (flights / "queries.yaml").write_text(f"{head}policy: first{tail}")
    code, out, err = run(capsys, "plan", "-f", flights, "-o", "json")
    assert code == 0, err
    report = json.loads(out)
    assert [head["policy"] for head in report["policies"]] == ["first", "flights"]
    assert len(report["queries"]) == 3


def test_planning_needs_neither_spark_nor_kubernetes():
    code = (
        "import sys; from weir_operator.cli import main\n"
        f"assert main(['plan', '-f', {str(FLIGHTS)!r}, '-o', 'json']) == 0\n"
        "found = {'pyspark', 'kubernetes', 'kopf', 'aiohttp', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "assert not found, found\n"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


def test_a_quota_makes_plans_smaller_or_refuses_by_name(capsys, flights):
    quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: small}}\nspec: {{hard: {{pods: '{}'}}}}\n"
    free = json.loads(run(capsys, "plan", "-f", flights, "-o", "json")[1])
    assert free["fragments"] > 3
    (flights / "quota.yaml").write_text(quota.format(3))
    code, out, _ = run(capsys, "plan", "-f", flights, "-o", "json")
    report = json.loads(out)
    assert (code, report["fragments"], report["infeasible"]) == (0, 3, [])
    assert len(report["queries"]) == 3
    (flights / "quota.yaml").write_text(quota.format(2))
    code, out, _ = run(capsys, "plan", "-f", flights)
    assert code == 1
    assert "pods of ResourceQuota default/small" in " ".join(out.split())


def test_a_plan_that_does_not_carry_the_expected_rates_is_infeasible_by_name(capsys, tmp_path, flights):
    _, out, _ = run(capsys, "plan", "-f", flights, "-o", "json")
    (tmp_path / "plan.json").write_text(out)
    edit(flights / "policy.yaml", "departures: 150", "departures: 9000000")
    code, again, _ = run(capsys, "evaluate", "-f", flights, "--plan", tmp_path / "plan.json", "-o", "json")
    report = json.loads(again)
    assert code == 1
    assert report["bindingShare"] > 1
    assert report["infeasible"][0].startswith(f"{report['binding']} at ")
    assert len(report["infeasible"]) == len(set(report["infeasible"])) > 1


def test_a_plan_that_falls_behind_says_so(capsys, tmp_path):
    sample = tmp_path / "loads.csv"
    sample.write_text("machine,at\nm1,2026-01-31T12:00:00Z\nm2,2026-01-31T12:00:02Z\n")
    folder = tmp_path / "loads"
    assert main(["init", str(sample), "--folder", str(folder)]) == 0
    capsys.readouterr()
    arguments = ("plan", "-f", folder, "--objective", "headroom")
    beginning = "falls behind: at these rates the plan carries only 0."
    assert beginning not in run(capsys, *arguments)[1]
    edit(folder / "weir.yaml", "rate: '1'", "rate: 900M")
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    line = next(line for line in out.splitlines() if line.startswith(beginning))
    assert line.endswith(" of them; cpu of node here is short: lower rates or windows, or add nodes")
