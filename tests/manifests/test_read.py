"""Files, folders and standard input to objects; every error has its file and line."""

import io
import json
import textwrap
from pathlib import Path

import pytest
from weir_operator.manifests.finding import ManifestError
from weir_operator.manifests.load import load
from weir_operator.manifests.read import read

from tests.manifests.scene import FILTER, NODES, graph, stream

TWO = textwrap.dedent(
    """\
    # a comment
    apiVersion: weir.dev/v1alpha1
    kind: Stream
    metadata: {name: a}
    spec:
      schema: x INT
      sharedWith:
        - one
        - two
    ---
    {"apiVersion": "weir.dev/v1alpha1", "kind": "Stream", "metadata": {"name": "b"}, "spec": {}}
    """
)


def test_several_documents_and_json_in_one_file(tmp_path):
    (tmp_path / "x.yaml").write_text(TWO)
    documents, findings = read([str(tmp_path / "x.yaml")])
    assert findings == []
    assert [d.raw["metadata"]["name"] for d in documents] == ["a", "b"]


def test_lines_of_fields(tmp_path):
    (tmp_path / "x.yaml").write_text(TWO)
    first = read([str(tmp_path / "x.yaml")])[0][0]
    assert first.line() == 2
    assert first.line("spec.schema") == 6
    assert first.line("spec.sharedWith[1]") == 9
    assert first.line("spec.notThere.at.all") == 5


def test_a_folder_like_kubectl(tmp_path):
    (tmp_path / "b.yaml").write_text(TWO)
    (tmp_path / "a.json").write_text('{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}')
    (tmp_path / "notes.txt").write_text("not: [a manifest")
    (tmp_path / ".hidden.yaml").write_text("not: [a manifest")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "c.yaml").write_text("not: [a manifest")
    documents, findings = read([str(tmp_path)])
    assert findings == []
    assert [d.raw["metadata"]["name"] for d in documents] == ["n", "a", "b"]


def test_standard_input_and_lists():
    node = '{"kind": "Node", "apiVersion": "v1"}'
    text = f'{{"kind": "List", "apiVersion": "v1", "items": [{node}, {node}]}}'
    documents, _ = read(["-"], io.StringIO(text))
    assert [(d.raw["kind"], d.file) for d in documents] == [("Node", "<stdin>")] * 2


def test_objects_of_others_are_passed_over():
    text = "---\n".join(
        f"apiVersion: {version}\nkind: {kind}\n"
        for version, kind in [("batch/v1", "Job"), ("v1", "Namespace"), ("apps/v1", "Stream")]
    )
    documents, _ = read(["-"], io.StringIO(text))
    assert [d.raw["apiVersion"] for d in documents] == ["apps/v1"]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: [1, 2\nb: 3\n", 2, "is not YAML"),
        ("kind: A\nkind: B\n", 2, "field kind is written twice"),
        ("spec: {x: 1, x: 2}\n", 1, "field x is written twice"),
        ("? [a]\n: b\n", 1, "a field's name; write a text"),
        ("a: &a [*a]\n", 1, "contains itself"),
        ("just text\n", 1, "is not an object"),
        ("- kind: Node\n", 1, "is not an object"),
    ],
)
def test_what_is_no_manifest(text, line, problem):
    documents, findings = read(["-"], io.StringIO(text))
    assert documents == []
    assert findings[0].line == line
    assert problem in str(findings[0])


def test_a_small_file_does_not_become_a_huge_object():
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)
    )
    documents, findings = read(["-"], io.StringIO(bomb))
    assert documents == []
    assert "aliases stand for more than" in str(findings[0])


def test_names_and_dates_stay_as_they_are_written():
    documents, _ = read(["-"], io.StringIO("apiVersion: weir.dev/x\non: 2020-01-01\ny: yes\n"))
    assert documents[0].raw == {"apiVersion": "weir.dev/x", "on": "2020-01-01", "y": True}


def test_a_path_that_is_not_there():
    assert str(read(["nowhere.yaml"])[1][0]) == "nowhere.yaml: no such file or folder"


def test_a_stream_of_another_namespace_with_errors_is_told_once(tmp_path: Path) -> None:
    """Its name in the query, `shop.clicks`, is not the name of the object."""
    raw = [
        *NODES,
        stream("clicks", "shop", sharedWith=["default"], schema=7),
        graph("q", {**FILTER, "inputs": ["shop.clicks"], "predicate": "clicks.x = 0"}),
    ]
    (tmp_path / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": raw}))
    with pytest.raises(ManifestError) as error:
        load([str(tmp_path)])
    assert [finding.path for finding in error.value.findings] == ["spec.schema"]
