"""The server as a FastAPI application, and what every request has to pass."""

from __future__ import annotations

import asyncio
import hmac
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spacevrp.problems.errors import SpacevrpError
from spacevrp.serve import vroom
from spacevrp.serve.faults import MEDIA_TYPE, Fault, as_fault, unexpected
from spacevrp.serve.requests import as_json
from spacevrp.serve.routes import HELD, ROUTES, answer_json
from spacevrp.serve.service import Service
from spacevrp.serve.settings import LOOPBACK, Settings
from spacevrp.serve.workers import complain

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_GONE = 499  # the client went away; counted, never sent


def create_app(service: Service) -> FastAPI:
    """The application of a service, which it starts and stops."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        await asyncio.to_thread(service.start)
        yield
        await asyncio.to_thread(service.stop)

    app = _Application(
        title="spacevrp",
        version=service.settings.version,
        license_info={"name": "MIT"},
        routes=ROUTES,
        lifespan=lifespan,
        # The pages of FastAPI load their scripts from elsewhere.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        exception_handlers=dict.fromkeys((HTTPException, RequestValidationError), _pass_on),
    )
    app.state.service = service
    app.add_middleware(Guard, service=service)
    return app


async def _pass_on(request: Request, error: Exception) -> Response:
    """Leave it to the guard: it makes answers of all failures."""
    raise error


class _Application(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """What the server offers, made of its operations, and whether it asks for a token."""
        if self.openapi_schema is None:
            document = super().openapi()
            if self.state.service.settings.token is not None:
                document["security"] = [{"token": []}]
                scheme = {"type": "http", "scheme": "bearer"}
                document["components"]["securitySchemes"] = {"token": scheme}
            else:
                for path in document["paths"].values():
                    for operation in path.values():
                        operation["responses"].pop("401", None)
        return super().openapi()


class Guard:
    """What every request passes: host, origin and token; and what every failure becomes."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), _GONE

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        # A HEAD is a GET to all but the server below, which sends no body.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        scope = {**scope, "method": method, HELD: 0}
        request = Request(scope, receive)
        try:
            check_access(request, self.service.settings)
            await self.app(scope, receive, sending)
        except ClientDisconnect:
            pass
        except Exception as error:
            if status != _GONE:  # the answer has begun, and can only be cut off
                complain(error)
            else:
                await self._refuse(request, error)(scope, receive, sending)
        finally:
            self.service.held_bytes -= scope[HELD]
        label = getattr(scope.get("route"), "path", "other")
        self.service.metrics.count("requests_total", path=label, status=str(status))
        if not label.endswith("/events"):
            spent = time.monotonic() - began
            self.service.metrics.observe("request_seconds", spent, path=label)

    def _refuse(self, request: Request, error: Exception) -> Response:
        fault = error
        if isinstance(error, HTTPException):
            headers = dict(error.headers or {})
            text = f"{request.method} {request.scope['path'][:100]}: {error.detail}"
            fault = Fault(error.status_code, text, headers=headers)
        elif isinstance(error, RequestValidationError):
            told = error.errors()[0]
            fault = unexpected(str(told["loc"][-1]), told["msg"], repr(told["input"])[:42])
        elif isinstance(error, SpacevrpError):
            fault = as_fault(error)
        elif isinstance(error, MemoryError):
            fault = Fault(413, "body: too large for this machine's memory", field="body")
        elif isinstance(error, sqlite3.Error | OSError):
            self.service.metrics.count("store_failures_total")
            fault = Fault(507, "the server has no place to store this")
        elif not isinstance(error, Fault):
            self.service.metrics.count("faults_total")
            complain(error)
            fault = Fault(500, "the server made a mistake")
        assert isinstance(fault, Fault)
        if request.method == "POST" and request.scope["path"] == "/":
            status, document, headers = vroom.refusal(fault)
            return answer_json(document, status, headers)
        return Response(as_json(fault.document()), fault.status, fault.headers, MEDIA_TYPE)


def check_access(request: Request, settings: Settings) -> None:
    """Refuse foreign pages, foreign names of this host, and callers without the token.

    Raises
    ------
    Fault
        401 or 403.
    """
    host = request.headers.get("host", "")
    origin = request.headers.get("origin")
    try:
        site = None if origin is None else urlsplit(origin).netloc
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        raise Fault(403, "Host: expected the name of a host", field="Host") from None
    if site is not None and site.lower() != host.lower():
        raise Fault(403, "Origin: requests of other sites are not answered", field="Origin")
    if settings.token is None:
        if settings.is_local and name.lower() not in LOOPBACK:
            raise Fault(403, "Host: expected a name of this machine; see --token", field="Host")
        return
    if request.method == "GET" and not _is_protected(request.scope["path"]):
        return
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    right = hmac.compare_digest(given.strip().encode("latin-1"), settings.token.encode())
    if scheme.lower() != "bearer" or not right:
        raise Fault(
            401,
            "Authorization: expected the bearer token of this server",
            field="Authorization",
            headers={"WWW-Authenticate": 'Bearer realm="spacevrp"'},
        )


def _is_protected(path: str) -> bool:
    """The page and ``/health`` hold nothing of anyone's; the path is that which is routed by."""
    return path.startswith("/v1") or path == "/metrics"
