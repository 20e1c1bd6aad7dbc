"""A service on a port."""

from __future__ import annotations

import uvicorn

from spacevrp.serve.app import create_app
from spacevrp.serve.service import Service
from spacevrp.serve.settings import Settings

# Connections beyond these are turned away before anything of them is read.
_CONNECTIONS = 2_048
_SHUTDOWN = 10  # seconds for open answers when it ends


def serve(settings: Settings) -> int:
    """Serve until interrupted or terminated; jobs that are not finished stay in the store."""
    service = Service(settings)
    config = uvicorn.Config(
        create_app(service),
        host=settings.host,
        port=settings.port,
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
    server.run()
    return 0 if server.started else 2
