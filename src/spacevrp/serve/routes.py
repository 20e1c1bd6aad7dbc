"""The paths of the server: what each takes and answers, and how that is described."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, ClassVar

from fastapi import APIRouter, Header, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from fastapi.routing import APIRoute
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from spacevrp.serve import metrics as prometheus
from spacevrp.serve import schemas, vroom
from spacevrp.serve.assets import policy_of, read_asset
from spacevrp.serve.faults import Fault, missing
from spacevrp.serve.jobs import Job
from spacevrp.serve.plans import FORMATS
from spacevrp.serve.requests import FLAGS, JSON, as_json, decode
from spacevrp.serve.schemas import TAKES_PLAN, TAKES_PROBLEM, TAKES_VROOM, faults
from spacevrp.serve.service import Service
from spacevrp.serve.store import Row

# A page of a plan has its script and style inside, and needs nothing else.
_POLICY_OF_PLANS = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:"
)
_HEARTBEAT = 15.0  # seconds between two signs of life on a stream of events
# Seconds for a body to arrive, and how many of the largest may be held at the same time.
_ARRIVAL, _BODIES = 60.0, 8
HELD = "spacevrp.held"  # bytes of a request's body, in its scope
_OPEN: dict[str, Any] = {"security": []}  # asks for no token
_PAGE = {"Cache-Control": "no-cache"}


class Operation(APIRoute):
    """What answers a method of a path: its documentation is its own, and it knows the others.

    So a method that the path does not have is 405 and names those that it has; the path would
    else be taken for one of a file.
    """

    methods: set[str]
    _methods_of: ClassVar[dict[str, set[str]]] = defaultdict(set)

    def __init__(self, path: str, endpoint: Callable[..., Any], **about: Any) -> None:
        summary, _, more = str(inspect.getdoc(endpoint)).partition("\n\n")
        about |= {"summary": summary.rstrip("."), "description": more}
        super().__init__(path, endpoint, **about)
        # The guard makes a GET of a HEAD.
        self._methods_of[path] |= self.methods | ({"HEAD"} if "GET" in self.methods else set())

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        if match is Match.PARTIAL and scope["method"] not in self._methods_of[self.path]:
            match = Match.FULL
        return match, found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in self.methods:
            allowed = ", ".join(sorted(self._methods_of[self.path]))
            raise HTTPException(405, headers={"Allow": allowed})
        await super().handle(scope, receive, send)


def _read_flag(given: Any) -> bool:
    try:
        return FLAGS[str(given).lower()]
    except KeyError:
        raise PydanticCustomError("flag", "true or false") from None


Flag = Annotated[bool, BeforeValidator(_read_flag)]
_FAULTS = faults(401, 403) | {"default": faults(500)[500]}
drop_in = APIRouter(tags=["VROOM"], route_class=Operation)
jobs = APIRouter(prefix="/v1/jobs", tags=["jobs"], responses=_FAULTS, route_class=Operation)
unsolved = APIRouter(prefix="/v1", tags=["checks"], responses=_FAULTS, route_class=Operation)
about = APIRouter(tags=["server"], route_class=Operation)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


@drop_in.post("/", response_model=schemas.VroomAnswer, **TAKES_VROOM)
async def solve_as_vroom(request: Request) -> Response:
    """VROOM's HTTP interface: solve now and answer."""
    service, arrived = _service(request), time.monotonic()
    text = decode(await read_body(request))
    stated, plan = await asyncio.to_thread(vroom.read_vroom, text, service.settings)
    began = time.monotonic()
    if plan is None:
        job = service.pass_by(stated)
        if not await _wait(request, job):
            service.workers.end(job)
            if service.ending:
                raise Fault(503, "the server is being stopped; ask again")
            raise ClientDisconnect
        if job.best is None or job.state == "failed":
            error = job.row.about.get("error") or {}
            raise Fault(int(error.get("status", 500)), str(error.get("detail", "stopped")))
        plan = job.best
    return answer_json(await asyncio.to_thread(vroom.answer, plan, arrived, began))


@jobs.post("", status_code=202, response_model=schemas.Job, **TAKES_PROBLEM)
async def take_job(request: Request) -> Response:
    """Solve a problem; Location names the job."""
    service, body = _service(request), await read_body(request)
    kind, query = request.headers.get("content-type", ""), dict(request.query_params)
    job = await asyncio.to_thread(service.take, body, kind, query)
    # With its plan: a small problem may be solved by now.
    document = await asyncio.to_thread(service.describe, job.id)
    return answer_json(document, 202, {"Location": f"/v1/jobs/{job.id}"})


@jobs.get("", response_model=schemas.Jobs)
async def list_jobs(request: Request) -> Response:
    """The newest jobs, without plans."""
    return answer_json(await asyncio.to_thread(_service(request).newest))


@jobs.get("/{job}", response_model=schemas.Job, responses=faults(404, 422))
async def describe_job(
    request: Request, job: str, plan: Annotated[Flag, Query(description="With its plan.")] = True
) -> Response:
    """A job with its best plan so far."""
    return answer_json(await asyncio.to_thread(_service(request).describe, job, with_plan=plan))


@jobs.delete(
    "/{job}",
    response_model=schemas.Job,
    responses={204: {"description": "Forgotten."}, **faults(404, 409, 422)},
)
async def end_job(
    request: Request,
    job: str,
    forget: Annotated[Flag, Query(description="Delete a finished job for good.")] = False,
) -> Response:
    """Stop a job and keep its best plan."""
    service = _service(request)
    if forget:
        await asyncio.to_thread(service.remove, job)
        return Response(status_code=204)
    found = await asyncio.to_thread(service.find, job)
    await asyncio.to_thread(service.end, job)
    if isinstance(found, Job):
        await _wait(request, found)
    return answer_json(await asyncio.to_thread(service.describe, job))


@jobs.get(
    "/{job}/events",
    response_class=StreamingResponse,
    response_description="A stream that ends with the job.",
    responses={200: {"content": {"text/event-stream": {"example": schemas.EVENT}}}, **faults(404)},
)
async def stream_events(
    request: Request,
    job: str,
    after: Annotated[
        str, Header(alias="Last-Event-ID", description="Skips events up to this number.")
    ] = "0",
) -> Response:
    """What happens to a job, as server-sent events.

    Events state, stage, plan, done, stopped and failed, each with number, seconds, stage and, of a
    plan, cost, feasible and unserved; those of the past first.
    """
    service = _service(request)
    found = await asyncio.to_thread(service.find, job)
    last = int(after) if after.isascii() and after.isdigit() and len(after) < 10 else 0
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(service, found, last), 200, headers, "text/event-stream")


@jobs.get(
    "/{job}/plan",
    response_class=Response,
    responses={
        200: {"content": {kind.partition(";")[0]: {} for kind, _, _ in FORMATS.values()}},
        **faults(404, 409, 422),
    },
)
async def write_plan(
    request: Request,
    job: str,
    format: Annotated[str, Query(json_schema_extra={"enum": list(FORMATS)})] = "json",
) -> Response:
    """The best plan so far in a format."""
    write = _service(request).write_plan
    text, media_type, suffix = await asyncio.to_thread(write, job, format)
    headers = {"Content-Disposition": f'inline; filename="plan-{job[:8]}.{suffix}"'}
    if format == "html":
        headers["Content-Security-Policy"] = _POLICY_OF_PLANS
    return Response(text.encode("utf-8", errors="replace"), 200, headers, media_type)


@unsolved.post("/validate", response_model=schemas.Validation, **TAKES_PROBLEM)
async def validate_problem(request: Request) -> Response:
    """Read a problem without solving it."""
    body = await read_body(request)
    kind, query = request.headers.get("content-type", ""), dict(request.query_params)
    return answer_json(await asyncio.to_thread(_service(request).validate, body, kind, query))


@unsolved.post("/check", response_model=schemas.Verdict, **TAKES_PLAN)
async def check_plan(request: Request) -> Response:
    """Judge a plan."""
    body = await read_body(request)
    return answer_json(await asyncio.to_thread(_service(request).check, body))


@about.get(
    "/health",
    response_model=schemas.Health,
    responses={503: {"description": "It cannot.", "model": schemas.Health}, **faults(403)},
    openapi_extra=_OPEN,
)
async def tell_health(request: Request) -> Response:
    """Whether the server can take jobs."""
    document = _service(request).health()
    return answer_json(document, 200 if document["status"] == "ok" else 503)


@about.get("/metrics", response_class=PlainTextResponse, responses=faults(401, 403))
async def tell_metrics(request: Request) -> Response:
    """Counters and histograms for Prometheus."""
    service = _service(request)
    text = service.metrics.text(service.workers.gauges)
    return Response(text, 200, media_type=prometheus.MEDIA_TYPE)


@about.get("/openapi.json", include_in_schema=False)
async def tell_openapi(request: Request) -> Response:
    """What this server offers."""
    return answer_json(request.app.openapi())


@about.get("/page.json", include_in_schema=False)
async def tell_page(request: Request) -> Response:
    """What the page has to know of its server."""
    settings = _service(request).settings
    document = {
        "version": settings.version,
        "token": settings.token is not None,
        "max_time": settings.max_time,
        "max_customers": settings.max_customers,
        "formats": {name: suffix for name, (_, suffix, _) in FORMATS.items()},
        "tiles": settings.tiles,
        "tiles_credit": settings.tiles_credit,
    }
    return answer_json(document, headers=_PAGE)


@about.get("/{asset:path}", include_in_schema=False)
@about.get("/", response_class=HTMLResponse, responses=faults(403), openapi_extra=_OPEN)
async def send_page(request: Request) -> Response:
    """The page."""
    asset = request.path_params.get("asset") or "index.html"
    found = await asyncio.to_thread(read_asset, asset)
    if found is None:
        raise missing(f"/{asset[:100]}")
    content, kind = found
    policy = policy_of(_service(request).settings.tiles)
    return Response(content, 200, {"Content-Security-Policy": policy, **_PAGE}, kind)


# The last is that of files, which has any path.
ROUTES = [route for part in (drop_in, jobs, unsolved, about) for route in part.routes]


async def read_body(request: Request) -> bytes:
    """The body, as long as it is neither too long nor too slow, and there is room for it."""
    service, told = _service(request), request.headers.get("content-length", "")
    most, body = service.settings.max_body, bytearray()
    try:
        if not (told.isascii() and told.isdigit() and int(told[:18]) > most):
            async with asyncio.timeout(_ARRIVAL):
                async for part in request.stream():
                    request.scope[HELD] += len(part)
                    service.held_bytes += len(part)
                    if service.held_bytes > _BODIES * most:
                        text = "body: expected fewer large bodies at once"
                        raise _refusal(service, 429, text, "memory")
                    body += part
                    if len(body) > most:
                        break
                else:
                    return bytes(body)
    except TimeoutError:
        text = f"body: expected all of it within {_ARRIVAL:g} s"
        raise _refusal(service, 408, text, "slow") from None
    raise _refusal(service, 413, f"body: expected at most {most} bytes", "size")


def _refusal(service: Service, status: int, text: str, reason: str) -> Fault:
    """Of a body that is not read to its end, so that the connection is of no more use."""
    service.metrics.count("refused_total", reason=reason)
    headers = {"Connection": "close"} | ({"Retry-After": "1"} if status == 429 else {})
    return Fault(status, text, field="body", headers=headers)


async def _wait(request: Request, job: Job) -> bool:
    """Until a job has ended; False where the client went away, or the server ends, before."""
    loop, ended, service = asyncio.get_running_loop(), asyncio.Event(), _service(request)

    def listener() -> None:
        if job.finished or service.ending:
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
    return job.finished


async def _stream(service: Service, found: Job | Row, last: int) -> AsyncIterator[bytes]:
    """Events after a number; of a job that runs, until it ends or the server does."""
    events = found.events if isinstance(found, Job) else found.about.get("events", ())
    newest = events[-1]["number"] if events else 0
    if last > newest:  # told by a server that was killed before it had stored them
        last = newest - 1
    if not isinstance(found, Job):
        for event in events:
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
            ended = found.finished or service.ending
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


def answer_json(
    document: Any, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """A document as the answer."""
    return Response(as_json(document), status, headers, JSON)
