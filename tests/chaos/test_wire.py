"""A wire carries, keeps silent, refuses and delays as it is told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.chaos.wire import Wire


@pytest.fixture
def wire() -> Iterator[Wire]:
    """To a server that sends back what it gets."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=echo, args=(client,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        wire = Wire()
        wire.lead_to(server.getsockname()[1])
        yield wire


def echo(client: socket.socket) -> None:
    with client:
        while data := client.recv(65_536):
            client.sendall(data)


def connected(wire: Wire) -> socket.socket:
    return socket.create_connection(("127.0.0.1", wire.port), 30)


def test_what_is_sent_while_it_is_cut_comes_when_it_is_mended(wire: Wire) -> None:
    with connected(wire) as client:
        client.sendall(b"1")
        assert client.recv(1) == b"1"
        wire.cut()
        client.sendall(b"2")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(1)
        wire.mend()
        client.settimeout(30)
        assert client.recv(1) == b"2"


def test_a_wire_that_refuses_ends_connections_old_and_new(wire: Wire) -> None:
    with connected(wire) as old:
        old.sendall(b"1")
        assert old.recv(1) == b"1"
        wire.refuse()
        assert ends(old)
        with connected(wire) as new:
            assert ends(new)
        wire.mend()
        with connected(wire) as mended:
            mended.sendall(b"3")
            assert mended.recv(1) == b"3"


def ends(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True
