"""A service on a port."""

from __future__ import annotations

import socket

import uvicorn

from spacevrp.problems.errors import SpacevrpError
from spacevrp.serve.app import create_app
from spacevrp.serve.service import Service
from spacevrp.serve.settings import Settings

# Connections beyond these are turned away before anything of them is read.
_CONNECTIONS = 2_048
_SHUTDOWN = 10  # seconds for open answers when it ends


def listen(settings: Settings) -> socket.socket:
    """The socket of a server.

    Raises
    ------
    SpacevrpError
        Where the address is no address of this machine, or is taken.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server(
            (settings.host, settings.port), family=family, backlog=_CONNECTIONS
        )
    except (OSError, OverflowError) as error:
        where = f"{settings.host}, port {settings.port}"
        raise SpacevrpError(f"{where}: cannot be listened on: {error}") from None


def serve(settings: Settings, listening: socket.socket) -> int:
    """Serve until interrupted or terminated; jobs that are not finished stay in the store."""
    service = Service(settings)
    config = uvicorn.Config(
        create_app(service),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        loop="asyncio",
        http="h11",
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_SHUTDOWN,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[listening])
    return 0 if server.started else 2
