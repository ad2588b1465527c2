"""The client of the API server, over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kubernetes import client
from weir_operator.kube.api import Api, ApiError, NoAnswer, ObjectGone, once

REFUSAL = {"kind": "Status", "apiVersion": "v1", "message": "no endpoints available"}


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "managedFields": [{"manager": "kubelet"}]}, "spec": {}}


PAGES = {
    "": {"metadata": {"continue": "more"}, "items": [pod("a"), pod("b")]},
    "more": {"metadata": {}, "items": [pod("c")]},
}

NOT_CREATED: dict[str, dict[str, Any]] = {
    "there": {"kind": "Status", "reason": "AlreadyExists", "message": 'pods "there" already exists'},
    "counted": {
        "kind": "Status",
        "reason": "Conflict",
        "message": "resourcequotas: the object has been modified",
    },
    "late": {
        "kind": "Status",
        "reason": "Forbidden",
        "message": "pods is forbidden",
        "details": {"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]},
    },
    "denied": {"kind": "Status", "reason": "Forbidden", "message": "because it is being terminated, say I"},
}


@pytest.fixture
def api() -> Iterator[Api]:
    class ApiHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
            if path == "/api/v1/pods":
                self.answer(200, json.dumps(PAGES[query.get("continue", [""])[0]]))
            elif path == "/metrics":
                self.answer(200, "up 1\n")
            else:
                self.answer(503, json.dumps(REFUSAL))

        def do_PATCH(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.answer(200, json.dumps(yaml.load(text, yaml.CSafeLoader)))

        def do_POST(self) -> None:
            thing = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = NOT_CREATED[thing["metadata"]["name"]]
            self.answer(403 if status["reason"] == "Forbidden" else 409, json.dumps(status))

        def answer(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), ApiHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    configuration = client.Configuration(host=f"http://127.0.0.1:{server.server_address[1]}", retries=0)
    yield Api(client.ApiClient(configuration))
    server.shutdown()
    server.server_close()


def test_a_list_goes_on_to_its_last_page_and_leaves_out_what_nobody_needs(api: Api) -> None:
    pods = list(api.list("Pod"))
    assert [p["metadata"] for p in pods] == [{"name": "a"}, {"name": "b"}, {"name": "c"}]
    assert {(p["kind"], p["apiVersion"]) for p in pods} == {("Pod", "v1")}


def test_only_what_is_there_already_is_not_created_without_an_error(api: Api) -> None:
    """A quota that others use up at the same time is a conflict too, and then there is no pod."""
    assert not api.create({"kind": "Pod", **pod("there")})
    with pytest.raises(ApiError, match="resourcequotas: the object has been modified") as conflict:
        api.create({"kind": "Pod", **pod("counted")})
    assert conflict.value.status == 409


def test_an_answer_that_is_an_error_is_no_text(api: Api) -> None:
    assert api.text("/metrics") == "up 1\n"
    with pytest.raises(ApiError, match="no endpoints available") as refused:
        api.text("/api/v1/namespaces/n/pods/p:8080/proxy/metrics")
    assert refused.value.status == 503


def test_a_write_that_is_not_answered_is_not_sent_again() -> None:
    """It may have been carried out, and another replica may lead by now."""
    sent: list[str] = []

    class Silent(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            sent.append(self.path)
            self.close_connection = True
            self.connection.close()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    configuration = client.Configuration(host=f"http://127.0.0.1:{server.server_address[1]}")
    api = Api(client.ApiClient(configuration), client.ApiClient(once(configuration)))
    with pytest.raises(NoAnswer):
        api.replace({"kind": "Lease", "metadata": {"namespace": "a", "name": "l"}})
    server.shutdown()
    server.server_close()
    assert len(sent) == 1


printable = st.text(st.characters(codec="utf-8", exclude_characters="\x7f"))


@given(text=printable | st.sampled_from(["😀", "\\ud83d\\ude00", "\\😀\\", "\u2028\x85\ufeff"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_applied_is_read_as_yaml(api: Api, text: str) -> None:
    """The API server's reader refuses halves of characters; this one would give them as they are."""
    manifest = {"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "a"}, "data": {text: [text, 1.5]}}
    assert api.apply(manifest) == manifest


def test_the_cause_says_that_a_namespace_is_going_and_not_the_message(api: Api) -> None:
    refused = {}
    for name in ("late", "denied"):
        with pytest.raises(ApiError) as raised:
            api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "a", "name": name}})
        refused[name] = type(raised.value)
    assert refused == {"late": ObjectGone, "denied": ApiError}
