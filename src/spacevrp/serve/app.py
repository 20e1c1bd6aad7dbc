"""The server as an ASGI application: paths, answers, and what every request has to pass."""

from __future__ import annotations

import asyncio
import hmac
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spacevrp.problems.errors import SpacevrpError
from spacevrp.serve import metrics as prometheus
from spacevrp.serve import vroom
from spacevrp.serve.assets import policy_of, read_asset
from spacevrp.serve.faults import MEDIA_TYPE, Fault, as_fault, missing
from spacevrp.serve.jobs import Job
from spacevrp.serve.openapi import openapi
from spacevrp.serve.plans import FORMATS
from spacevrp.serve.requests import as_json
from spacevrp.serve.service import Service
from spacevrp.serve.settings import LOOPBACK, Settings
from spacevrp.serve.workers import complain

# A page of a plan has its script and style inside, and needs nothing else.
_POLICY_OF_PLANS = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:"
)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_HEARTBEAT = 15.0  # seconds between two signs of life on a stream of events
_GONE = 499  # the client went away; counted, never sent
# Seconds for a body to arrive, and how many of the largest may be held at the same time.
_ARRIVAL, _BODIES = 60.0, 8
_HELD = "spacevrp.held"  # bytes of a request's body, in its scope
Answer = Callable[[Request], Awaitable[Response]]


def create_app(service: Service) -> ASGIApp:
    """The application of a service, which it starts and stops."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        await asyncio.to_thread(service.start)
        yield
        await asyncio.to_thread(service.stop)

    answers = Answers(service)
    router = Router(
        [
            _route("/", GET=answers.page, POST=answers.vroom),
            _route("/health", GET=answers.health),
            _route("/metrics", GET=answers.metrics),
            _route("/openapi.json", GET=answers.openapi),
            _route("/page.json", GET=answers.about),
            _route("/v1/validate", POST=answers.validate),
            _route("/v1/check", POST=answers.check),
            _route("/v1/jobs", GET=answers.newest, POST=answers.take),
            _route("/v1/jobs/{job}", GET=answers.describe, DELETE=answers.end),
            _route("/v1/jobs/{job}/events", GET=answers.events),
            _route("/v1/jobs/{job}/plan", GET=answers.plan),
            _route("/{asset:path}", GET=answers.page),
        ],
        lifespan=lifespan,
    )
    return Guard(router, service)


def _route(path: str, **answers: Answer) -> Route:
    """All methods of a path; what others get names those that there are."""
    if "GET" in answers:
        answers["HEAD"] = answers["GET"]

    async def answer(request: Request) -> Response:
        if request.method not in answers:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(answers))})
        return await answers[request.method](request)

    route = Route(path, answer)
    route.methods = None  # a path without the method would be looked for elsewhere
    return route


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

        scope[_HELD] = 0
        scope["app"] = self  # so that the router raises instead of answering in plain text
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
            self.service.held_bytes -= scope[_HELD]
        path = scope.get("route")
        label = getattr(path, "path", "other")
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
            return _json(document, status, headers)
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
    if request.method in ("GET", "HEAD") and not _is_protected(request.scope["path"]):
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


class Answers:
    """One method for each path."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def vroom(self, request: Request) -> Response:
        """``POST /``: solve now and answer."""
        arrived = time.monotonic()
        text = _decode(await self._body(request))
        stated, plan = await asyncio.to_thread(vroom.read_vroom, text, self.service.settings)
        began = time.monotonic()
        if plan is None:
            job = self.service.pass_by(stated)
            if not await _wait(request, job):
                self.service.workers.end(job)
                raise ClientDisconnect
            if job.best is None or job.state == "failed":
                error = job.row.about.get("error") or {}
                raise Fault(int(error.get("status", 500)), str(error.get("detail", "stopped")))
            plan = job.best
        return _json(await asyncio.to_thread(vroom.answer, plan, arrived, began))

    async def take(self, request: Request) -> Response:
        """``POST /v1/jobs``."""
        body = await self._body(request)
        kind, query = request.headers.get("content-type", ""), _query(request)
        job = await asyncio.to_thread(self.service.take, body, kind, query)
        # With its plan: a small problem may be solved by now.
        document = await asyncio.to_thread(self.service.describe, job.id)
        return _json(document, 202, {"Location": f"/v1/jobs/{job.id}"})

    async def newest(self, request: Request) -> Response:
        """``GET /v1/jobs``."""
        return _json(await asyncio.to_thread(self.service.newest))

    async def describe(self, request: Request) -> Response:
        """``GET /v1/jobs/{id}``."""
        with_plan = _flag(request, "plan", default=True)
        name = request.path_params["job"]
        document = await asyncio.to_thread(self.service.describe, name, with_plan=with_plan)
        return _json(document)

    async def end(self, request: Request) -> Response:
        """``DELETE /v1/jobs/{id}``: stop and keep the best, or forget a finished one."""
        name = request.path_params["job"]
        if _flag(request, "forget", default=False):
            await asyncio.to_thread(self.service.remove, name)
            return Response(status_code=204)
        found = await asyncio.to_thread(self.service.find, name)
        await asyncio.to_thread(self.service.end, name)
        if isinstance(found, Job):
            await _wait(request, found)
        return _json(await asyncio.to_thread(self.service.describe, name))

    async def plan(self, request: Request) -> Response:
        """``GET /v1/jobs/{id}/plan?format=...``."""
        name, kind = request.path_params["job"], request.query_params.get("format", "json")
        text, media_type, suffix = await asyncio.to_thread(self.service.write_plan, name, kind)
        headers = {"Content-Disposition": f'inline; filename="plan-{name[:8]}.{suffix}"'}
        if kind == "html":
            headers["Content-Security-Policy"] = _POLICY_OF_PLANS
        return Response(text.encode("utf-8", errors="replace"), 200, headers, media_type)

    async def events(self, request: Request) -> Response:
        """``GET /v1/jobs/{id}/events``: server-sent events, those of the past first."""
        found = await asyncio.to_thread(self.service.find, request.path_params["job"])
        after = request.headers.get("last-event-id", "0")
        last = int(after) if after.isascii() and after.isdigit() and len(after) < 10 else 0
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(_stream(found, last), 200, headers, "text/event-stream")

    async def validate(self, request: Request) -> Response:
        """``POST /v1/validate``."""
        body = await self._body(request)
        kind, query = request.headers.get("content-type", ""), _query(request)
        return _json(await asyncio.to_thread(self.service.validate, body, kind, query))

    async def check(self, request: Request) -> Response:
        """``POST /v1/check``."""
        return _json(await asyncio.to_thread(self.service.check, await self._body(request)))

    async def health(self, request: Request) -> Response:
        """``GET /health``."""
        document = self.service.health()
        return _json(document, 200 if document["status"] == "ok" else 503)

    async def metrics(self, request: Request) -> Response:
        """``GET /metrics``."""
        text = self.service.metrics.text(self.service.workers.gauges)
        return Response(text, 200, media_type=prometheus.MEDIA_TYPE)

    async def openapi(self, request: Request) -> Response:
        """``GET /openapi.json``."""
        settings = self.service.settings
        return _json(openapi(settings.version, with_token=settings.token is not None))

    async def page(self, request: Request) -> Response:
        """``GET /`` and its assets: files of the package, and no others."""
        asset = request.path_params.get("asset") or "index.html"
        found = await asyncio.to_thread(read_asset, asset)
        if found is None:
            raise missing(f"/{asset[:100]}")
        content, kind = found
        policy = policy_of(self.service.settings.tiles)
        headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}
        return Response(content, 200, headers, kind)

    async def about(self, request: Request) -> Response:
        """``GET /page.json``: what the page has to know of its server."""
        settings = self.service.settings
        document = {
            "version": settings.version,
            "token": settings.token is not None,
            "max_time": settings.max_time,
            "max_customers": settings.max_customers,
            "formats": {name: suffix for name, (_, suffix, _) in FORMATS.items()},
            "tiles": settings.tiles,
            "tiles_credit": settings.tiles_credit,
        }
        return _json(document, headers={"Cache-Control": "no-cache"})

    async def _body(self, request: Request) -> bytes:
        """The body, as long as it is neither too long nor too slow, and there is room for it."""
        service, most = self.service, self.service.settings.max_body
        told = request.headers.get("content-length", "")
        body = bytearray()
        try:
            if not (told.isascii() and told.isdigit() and int(told[:18]) > most):
                async with asyncio.timeout(_ARRIVAL):
                    async for part in request.stream():
                        request.scope[_HELD] += len(part)
                        service.held_bytes += len(part)
                        if service.held_bytes > _BODIES * most:
                            raise self._refusal(
                                429, "body: expected fewer large bodies at once", "memory", "1"
                            )
                        body += part
                        if len(body) > most:
                            break
                    else:
                        return bytes(body)
        except TimeoutError:
            text = f"body: expected all of it within {_ARRIVAL:g} s"
            raise self._refusal(408, text, "slow") from None
        raise self._refusal(413, f"body: expected at most {most} bytes", "size")

    def _refusal(self, status: int, text: str, reason: str, again: str | None = None) -> Fault:
        """Of a body that is not read to its end, so that the connection is of no more use."""
        self.service.metrics.count("refused_total", reason=reason)
        headers = {"Connection": "close"} | ({} if again is None else {"Retry-After": again})
        return Fault(status, text, field="body", headers=headers)


async def _wait(request: Request, job: Job) -> bool:
    """Until a job has ended; False where the client went away before."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def listener() -> None:
        if job.finished:
            loop.call_soon_threadsafe(ended.set)

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    job.listen(listener)
    listener()
    tasks = [asyncio.ensure_future(ended.wait()), asyncio.ensure_future(gone())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        job.forget(listener)
        for task in tasks:
            task.cancel()
    return ended.is_set()


async def _stream(found: Any, last: int) -> AsyncIterator[bytes]:
    """Events after a number; of a job that runs, until it ends."""
    if not isinstance(found, Job):
        for event in found.about.get("events", ()):
            if event["number"] > last:
                yield _event(event)
        return
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def listener() -> None:
        loop.call_soon_threadsafe(changed.set)

    found.listen(listener)
    try:
        while True:
            changed.clear()
            ended = found.finished
            for event in found.events:
                if event["number"] > last:
                    last = event["number"]
                    yield _event(event)
            if ended:
                return
            try:
                await asyncio.wait_for(changed.wait(), _HEARTBEAT)
            except TimeoutError:
                yield b": still here\n\n"
    finally:
        found.forget(listener)


def _event(event: dict[str, Any]) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        event["number"],
        event["event"].encode(),
        as_json(event),
    )


def _query(request: Request) -> dict[str, str]:
    return {key: value for key, value in request.query_params.items()}


def _flag(request: Request, name: str, *, default: bool) -> bool:
    given = request.query_params.get(name)
    if given is None:
        return default
    if given.lower() not in ("true", "false", "1", "0"):
        raise Fault(422, f"{name}: expected true or false, received {given[:40]!r}", field=name)
    return given.lower() in ("true", "1")


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Fault(400, "body: expected UTF-8 text", field="body") from None


def _json(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(as_json(document), status, headers, "application/json")
