"""What bodies and answers look like: models and examples, of which the OpenAPI document is made.

Problems are read by the package's own readers, whose errors say more than a schema can.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from spacevrp.serve.faults import MEDIA_TYPE
from spacevrp.serve.requests import JSON, MEDIA_TYPES, TEXTS

PROBLEM: dict[str, Any] = {
    "name": "four stops",
    "coordinates": [[0, 0], [3, 0], [3, 4], [0, 4], [0, 8]],
    "demand": [0, 2, 1, 2, 1],
    "capacity": 4,
}
ROUTES = [[0, 1, 2, 0], [0, 3, 4, 0]]
VROOM: dict[str, Any] = {
    "vehicles": [{"id": 1, "start_index": 0, "end_index": 0, "capacity": [4]}],
    "jobs": [
        {"id": 7, "location_index": 1, "delivery": [2], "service": 300},
        {"id": 8, "location_index": 2, "delivery": [1], "time_windows": [[0, 3600]]},
    ],
    "matrices": {"car": {"durations": [[0, 600, 700], [610, 0, 300], [720, 310, 0]]}},
}
EVENT = (
    'id: 3\nevent: plan\ndata: {"number":3,"event":"plan","seconds":0.4,"stage":"improve",'
    '"cost":24.0,"feasible":true,"unserved":0}\n\n'
)
_CSV = "id,x,y,demand\ndepot,0,0,0\na,3,0,2\nb,3,4,1\n"
_VRPLIB = (
    "NAME : small\nTYPE : CVRP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EUC_2D\nCAPACITY : 4\n"
    "NODE_COORD_SECTION\n1 0 0\n2 3 0\n3 3 4\nDEMAND_SECTION\n1 0\n2 2\n3 1\n"
    "DEPOT_SECTION\n1\n-1\nEOF\n"
)
_PROBLEM = {
    "type": "object",
    "description": "An instance in our own schema (docs/formats.md), or the JSON of VROOM or of an "
    "OR-Tools example, which is recognised.",
    "examples": [PROBLEM],
}


def _tidy(schema: dict[str, Any]) -> None:
    """A member that is left out has no value, not null; and its name is title enough."""
    for told in schema["properties"].values():
        told.pop("default", None)
        told.pop("title", None)


def _absent(**about: Any) -> Any:
    """A member that may be left out."""
    return Field(None, **about)


class _Model(BaseModel):
    model_config = ConfigDict(json_schema_extra=_tidy)


class Options(_Model):
    """How a problem is read and solved."""

    time: float | str = _absent(description="Seconds, or such as 5s.", examples=[5, "5s"])
    seed: int = _absent(ge=0, description="Of everything random.")
    network: bool = _absent(description="Whether the network plans.")
    search: bool = _absent(description="Whether the search improves.")
    variant: str = _absent(description="Where it does not follow from the problem.")
    rounding: str = _absent(description="Of distances.")
    time_unit: Literal["s", "min", "h"] = _absent(
        description="Of a table of stops, or of VROOM's JSON."
    )
    speed_kmh: float = _absent(description="Travel as the crow flies, for want of a matrix.")


class Request(Options):
    """A problem next to what is said of it.

    A problem may also be the body itself, with the other members in the query.
    """

    problem: dict[str, Any] | str = Field(description="A table, or a text.")
    content_type: str = _absent(
        description="Of a problem as text.", json_schema_extra={"enum": list(MEDIA_TYPES)}
    )
    start: list[Any] | dict[str, Any] | str = _absent(
        description="A plan to begin with: routes, a plan, or the text of .sol or CSV.",
        examples=[ROUTES],
    )


class Fault(_Model):
    """What is wrong with a request (RFC 9457)."""

    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["demand, node 3: expected a number, received 'x'"])
    field: str = _absent(examples=["demand"])
    node: int = _absent(examples=[3])
    expected: str = _absent(examples=["a number"])
    received: str = _absent(examples=["'x'"])


class Summary(_Model):
    """A job in short."""

    id: str
    state: Literal["queued", "running", "done", "stopped", "failed"]
    created: float = Field(description="Seconds since 1970.")
    finished: float | None
    name: str
    variant: str
    customers: int
    stage: Literal["start", "construct", "improve", "judge"] | None
    cost: float | None
    feasible: bool | None


class Jobs(_Model):
    """The newest jobs."""

    jobs: list[Summary]


class Plan(_Model):
    """Totals, every stop of every route, and what is not served and why."""

    name: str
    variant: str
    cost: float | None
    feasible: bool
    violations: list[dict[str, Any]]
    totals: dict[str, Any]
    skipped: list[Any]
    routes: list[dict[str, Any]]
    unserved: list[dict[str, Any]] = Field(
        description="With the reason, and the change that would serve them."
    )


class Job(Summary):
    """A job with its best plan so far."""

    seconds: float = Field(description="Spent on solving it.")
    position: int | None = Field(description="Problems before it.")
    warnings: list[str]
    notes: list[str] | None
    stages: list[dict[str, Any]] | None = Field(description="What each stage took.")
    error: Fault | None
    plan: Plan | None = _absent(description="Left out where the query says plan=false.")


class Verdict(_Model):
    """What the referee says of a plan."""

    cost: float | None
    feasible: bool
    violations: list[dict[str, Any]]
    warnings: list[str]
    plan: Plan


class Validation(_Model):
    """What a problem is."""

    valid: Literal[True]
    name: str
    variant: str
    customers: int
    depots: int
    vehicle_types: int
    warnings: list[str]
    problem: dict[str, Any] = Field(description="The same in our own schema.")


class Health(_Model):
    """Whether a server can take jobs."""

    status: Literal["ok", "failing"]
    version: str
    storage: Literal["ok", "failing"]
    engine: Literal["ok", "failing"]
    device: str
    queue_length: int
    running: int
    workers: int


class VroomAnswer(_Model):
    """VROOM's answer."""

    code: Literal[0]
    summary: dict[str, Any]
    unassigned: list[dict[str, Any]]
    routes: list[dict[str, Any]]


class VroomError(_Model):
    """VROOM's answer where there is no plan: 2 for the input, 3 for want of a routing engine."""

    code: Literal[1, 2, 3, 4]
    error: str


Answers = dict[int | str, dict[str, Any]]


def faults(*codes: int, **told: Any) -> Answers:
    """Answers that say what is wrong; ``told`` where not as our own faults do."""
    told = told or {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Fault"}}}}
    answers: Answers = {code: {"description": HTTPStatus(code).phrase, **told} for code in codes}
    if 429 in answers:
        answers[429]["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    return answers


def _taking(content: dict[str, Any], answers: Answers, **more: Any) -> dict[str, Any]:
    """What is told of an operation with a body, which is read by none but the operation itself."""
    body = {"requestBody": {"required": True, "content": content}}
    return {"openapi_extra": body | more, "responses": answers}


# What may become of every request with a body: the last is a disk that is full.
_BODY = (400, 408, 413, 422, 429, 507)
_JSON_PROBLEM = {
    "schema": {"anyOf": [Request.model_json_schema(), _PROBLEM]},
    "examples": {
        "with options": {"value": {"problem": PROBLEM, "time": 5}},
        "from a plan": {"value": {"problem": PROBLEM, "start": ROUTES}},
        "a problem alone": {"value": PROBLEM},
        "VROOM": {"value": VROOM},
    },
}
TAKES_PROBLEM = _taking(
    {kind: {"schema": _PROBLEM} for kind in MEDIA_TYPES}
    | {kind: {"schema": {"type": "string"}, "example": _VRPLIB} for kind in TEXTS}
    | {"text/csv": {"schema": {"type": "string"}, "example": _CSV}, JSON: _JSON_PROBLEM},
    faults(*_BODY, 415),
    parameters=[
        {"name": name, "in": "query", "schema": schema}
        for name, schema in Options.model_json_schema()["properties"].items()
    ],
)
_JSON_PLAN = {
    "schema": {
        "type": "object",
        "required": ["plan"],
        "anyOf": [{"required": ["problem"]}, {"required": ["job"]}],
    },
    "examples": {
        "of a problem": {"value": {"problem": PROBLEM, "plan": ROUTES}},
        "of a job": {"value": {"job": "0123456789abcdef", "plan": ROUTES}},
    },
}
TAKES_PLAN = _taking({JSON: _JSON_PLAN}, faults(*_BODY, 404))
TAKES_VROOM = _taking(
    {JSON: {"schema": {"type": "object"}, "example": VROOM}},
    faults(400, 401, 403, 408, 413, 429, 500, 507, model=VroomError),
)
