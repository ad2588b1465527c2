"""The CRDs are the models', structural, and small enough for `kubectl apply`."""

import re
from pathlib import Path

import pytest
import yaml
from weir_operator.api.crds import MAX_BYTES, crd, files
from weir_operator.api.kinds import KINDS

FOLDER = Path(__file__).parents[2] / "crds"
CHART_FOLDER = Path(__file__).parents[2] / "charts/weir/files/crds"


def schemas(node, path=""):
    """Every schema within a schema, with its path."""
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from schemas(child, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in node:
            yield from schemas(node[name], f"{path}[{name}]")


def root(kind):
    return crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def test_the_folder_is_what_the_models_give():
    generated = dict(files())
    on_disk = {file.name: file.read_text() for file in FOLDER.glob("*.yaml")}
    assert on_disk == generated, "run `weir crds`"


@every_kind
def test_it_is_far_below_the_limit(kind):
    assert all(len(text.encode()) < MAX_BYTES / 4 for _, text in files())


@every_kind
def test_it_is_structural(kind):
    for path, node in schemas(root(kind)):
        free = node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")
        assert "type" in node or free, path
        assert not {"$ref", "allOf", "title", "const", "$defs"} & set(node), path
        assert not isinstance(node.get("additionalProperties"), bool), path
        assert "anyOf" not in node or node.get("x-kubernetes-int-or-string"), path
        assert not ("properties" in node and "additionalProperties" in node), path


@every_kind
def test_no_spec_has_a_default(kind):
    assert [path for path, node in schemas(root(kind)["properties"]["spec"]) if "default" in node] == []


@every_kind
def test_a_new_object_is_not_called_seen(kind):
    status = root(kind)["properties"]["status"]
    if kind.name == "Placement":  # made and read by the operator alone: a -1 would stay, and never be healthy
        assert "default" not in status
        assert "default" not in status["properties"]["observedGeneration"]
        return
    assert status["default"] == {"observedGeneration": -1}
    assert status["properties"]["observedGeneration"]["default"] == -1


@every_kind
def test_everything_that_grows_is_bounded_so_that_cel_fits_its_budget(kind):
    for path, node in schemas(root(kind)):
        if path.startswith(".metadata") or path in (".apiVersion", ".kind"):
            continue
        if node.get("type") == "array":
            assert "maxItems" in node, path
            assert "x-kubernetes-list-type" in node, path
        if node.get("type") == "string":
            assert "maxLength" in node or "enum" in node, path
        if "additionalProperties" in node:
            assert "maxProperties" in node, path


@every_kind
def test_keys_of_map_lists_are_required(kind):
    for path, node in schemas(root(kind)):
        if node.get("x-kubernetes-list-type") == "map":
            for key in node["x-kubernetes-list-map-keys"]:
                assert key in node["items"]["required"], path


@every_kind
def test_every_field_of_a_spec_is_described(kind):
    bare = [
        path
        for path, node in schemas(root(kind)["properties"]["spec"])
        if path and "]" not in path[-1:] and not node.get("description")
    ]
    assert bare == []


@every_kind
def test_names_category_and_columns(kind):
    spec = crd(kind)["spec"]
    assert spec["names"]["categories"] == ["weir"]
    assert re.fullmatch(r"w[a-z]{2}", spec["names"]["shortNames"][0])
    version = spec["versions"][0]
    assert version["subresources"] == {"status": {}}
    assert version["additionalPrinterColumns"][-1]["name"] == "AGE"


def test_a_query_shows_what_a_person_wants_to_know():
    query = next(kind for kind in KINDS if kind.name == "StreamQuery")
    names = [
        c["name"]
        for c in crd(query)["spec"]["versions"][0]["additionalPrinterColumns"]
        if not c.get("priority")
    ]
    assert names == ["READY", "REASON", "FRAGMENTS", "HEADROOM", "REVISION", "AGE"]


@every_kind
def test_what_grows_with_the_cluster_or_a_message_is_shown_by_wide_alone(kind):
    """`kubectl get` neither folds nor cuts: one long column moves all that follow out of sight."""
    columns = crd(kind)["spec"]["versions"][0]["additionalPrinterColumns"]
    long = (".status.nodes", ".message", "[*].name") if kind.name in ("StreamQuery", "Placement") else ()
    assert not [c for c in columns if c["jsonPath"].endswith(long) and not c.get("priority")]


def test_exactly_one_of_sql_and_operators_is_a_cel_rule():
    text = dict(files())["streamqueries.weir.dev.yaml"]
    rules = yaml.safe_load(text)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert "[has(self.sql), has(self.operators)].exists_one(x, x)" in str(rules["x-kubernetes-validations"])


def test_the_chart_has_copies_of_them_as_helm_packs_only_its_own_folder() -> None:
    crds = {file.name: file.read_text() for file in FOLDER.glob("*.yaml")}
    copies = {file.name: file.read_text() for file in CHART_FOLDER.glob("*.yaml")}
    assert copies == crds, "run: cp crds/*.yaml charts/weir/files/crds/"
