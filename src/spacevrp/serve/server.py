"""A service on a port."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from spacevrp.problems.errors import SpacevrpError
from spacevrp.serve.app import create_app
from spacevrp.serve.service import Service
from spacevrp.serve.settings import Settings

# Connections beyond these are turned away before anything of them is read.
_CONNECTIONS = 2_048
# Seconds for open answers when it ends: less than the ten after which containers are killed.
_SHUTDOWN = 5
_HEAD = 30.0  # seconds for the head of a request


def listen(settings: Settings) -> socket.socket:
    """The socket of a server.

    Raises
    ------
    SpacevrpError
        Where the address is no address of this machine, or is taken.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listening = socket.create_server(
            (settings.host, settings.port), family=family, backlog=_CONNECTIONS
        )
    except (OSError, OverflowError) as error:
        where = f"{settings.host}, port {settings.port}"
        raise SpacevrpError(f"{where}: cannot be listened on: {error}") from None
    # Connections inherit it: asyncio sets it only where a socket names its protocol, which these do
    # not, and small answers would wait for the client to confirm what came before.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


class Connection(H11Protocol):
    """A connection that is closed where the head of a request does not come in time.

    One that sends a byte now and then would be kept for ever, and there are only so many.
    """

    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._await_head()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """No longer wait."""
        super().connection_lost(exc)
        if self._head is not None:
            self._head.cancel()

    def _await_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
        self._head = self.loop.call_later(_HEAD, self._hang_up)

    def _hang_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def config_of(service: Service, **more: Any) -> uvicorn.Config:
    """How a service is run."""
    return uvicorn.Config(
        create_app(service),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        loop="asyncio",
        http=Connection,
        ws="none",
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_SHUTDOWN,
        **more,
    )


class Server(uvicorn.Server):
    """Says when it is ready; when it ends, sends clients away that wait for jobs."""

    def __init__(self, service: Service, ready: str = "", **more: Any) -> None:
        super().__init__(config_of(service, **more))
        self._service = service
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin."""
        await super().startup(sockets)
        if self.started and self._ready:
            print(self._ready, file=sys.stderr, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        self._service.send_away()
        await super().shutdown(sockets)


def serve(settings: Settings, listening: socket.socket, ready: str = "") -> int:
    """Serve until interrupted or terminated; jobs that are not finished stay in the store.

    ``ready`` is printed when requests are answered.
    """
    service = Service(settings)
    if threading.current_thread() is threading.main_thread():
        # Ray leaves a handler of its own, with an exit code that says something else.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    server = Server(service, ready)
    server.run(sockets=[listening])
    return 0 if server.started else 2
