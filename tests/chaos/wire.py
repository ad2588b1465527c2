"""A line between clients and a server of this machine, which can be cut, broken and slowed."""

from __future__ import annotations

import asyncio
import contextlib
import threading


class Wire:
    """Clients connect to `port`, and reach the server that it leads to as long as it carries."""

    def __init__(self) -> None:
        self._target = 0
        self._refusing = False
        self._delay = 0.0  # [s] of each piece
        self._carrying = asyncio.Event()  # else what is sent waits, as behind a switch that drops packets
        self._carrying.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._connect, "127.0.0.1", 0))
        self.port = int(self._server.sockets[0].getsockname()[1])
        threading.Thread(target=self._loop.run_forever, daemon=True, name="wire").start()

    def lead_to(self, port: int) -> int:
        """A server's port; the one that clients are told instead."""
        self._target = port
        return self.port

    def cut(self) -> None:
        """Nothing gets through, and nobody is told."""
        self._loop.call_soon_threadsafe(self._carrying.clear)

    def refuse(self) -> None:
        """Every connection ends, and every new one at once."""
        self._loop.call_soon_threadsafe(self._break)

    def slow(self, delay: float) -> None:
        """Each piece comes so much later [s]."""
        self._delay = delay

    def mend(self) -> None:
        """As new."""
        self._refusing, self._delay = False, 0.0
        self._loop.call_soon_threadsafe(self._carrying.set)

    def stop(self) -> None:
        """Nobody listens any more: a client that is left waits between two tries, which it does not where
        each connection is taken and then ended."""
        self._loop.call_soon_threadsafe(self._server.close)
        self.refuse()

    def _break(self) -> None:
        self._refusing = True
        for writer in self._writers:
            writer.transport.abort()

    async def _connect(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        if self._refusing:
            to_client.transport.abort()
            return
        await self._carrying.wait()
        try:
            server, to_server = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            to_client.transport.abort()
            return
        ends = {to_client, to_server}
        self._writers |= ends
        await asyncio.gather(self._carry(client, to_server), self._carry(server, to_client))
        self._writers -= ends

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                await self._carrying.wait()
                if self._delay:
                    await asyncio.sleep(self._delay)
                writer.write(data)
                await writer.drain()
        writer.close()
