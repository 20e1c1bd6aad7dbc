"""What the server offers, as an OpenAPI 3.1 document with examples."""

from __future__ import annotations

from typing import Any

from spacevrp.serve.faults import MEDIA_TYPE
from spacevrp.serve.plans import FORMATS
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
_CSV = "id,x,y,demand\ndepot,0,0,0\na,3,0,2\nb,3,4,1\n"
_VRPLIB = (
    "NAME : small\nTYPE : CVRP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EUC_2D\nCAPACITY : 4\n"
    "NODE_COORD_SECTION\n1 0 0\n2 3 0\n3 3 4\nDEMAND_SECTION\n1 0\n2 2\n3 1\n"
    "DEPOT_SECTION\n1\n-1\nEOF\n"
)
_TEXT_EXAMPLES = {"text/csv": _CSV, "text/x-vrplib": _VRPLIB}

_SCHEMAS: dict[str, Any] = {
    "Problem": {
        "type": "object",
        "description": "An instance in our own schema (docs/formats.md), or the JSON of VROOM or "
        "of an OR-Tools example, which is recognised.",
        "examples": [PROBLEM],
    },
    "Request": {
        "type": "object",
        "description": "A problem next to what is said of it. A problem may also be the body "
        "itself, with the other members in the query.",
        "required": ["problem"],
        "properties": {
            "problem": {"type": ["object", "string"], "description": "A table, or a text."},
            "content_type": {"enum": list(MEDIA_TYPES), "description": "Of a problem as text."},
            "time": {"type": ["number", "string"], "examples": [5, "5s"]},
            "start": {
                "description": "A plan to begin with: routes, a plan, or the text of .sol or CSV."
            },
            "seed": {"type": "integer", "minimum": 0},
            "network": {"type": "boolean"},
            "search": {"type": "boolean"},
            "variant": {"type": "string"},
            "rounding": {"type": "string"},
            "time_unit": {"enum": ["s", "min", "h"]},
            "speed_kmh": {"type": "number"},
        },
        "examples": [{"problem": PROBLEM, "time": 5, "start": ROUTES}],
    },
    "Job": {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "state": {"enum": ["queued", "running", "done", "stopped", "failed"]},
            "stage": {"enum": [None, "start", "construct", "improve", "judge"]},
            "created": {"type": "number", "description": "Seconds since 1970."},
            "finished": {"type": ["number", "null"]},
            "name": {"type": "string"},
            "variant": {"type": "string"},
            "customers": {"type": "integer"},
            "cost": {"type": ["number", "null"]},
            "feasible": {"type": ["boolean", "null"]},
            "seconds": {"type": "number", "description": "Spent on solving it."},
            "position": {"type": ["integer", "null"], "description": "Problems before it."},
            "warnings": {"type": "array", "items": {"type": "string"}},
            "notes": {"type": ["array", "null"], "items": {"type": "string"}},
            "stages": {"type": ["array", "null"], "description": "What each stage took."},
            "error": {"anyOf": [{"$ref": "#/components/schemas/Fault"}, {"type": "null"}]},
            "plan": {"anyOf": [{"$ref": "#/components/schemas/Plan"}, {"type": "null"}]},
        },
    },
    "Plan": {
        "type": "object",
        "description": "Totals, every stop of every route, violations, and unserved stops with "
        "the reason and the change that would serve them.",
        "properties": {
            "cost": {"type": ["number", "null"]},
            "feasible": {"type": "boolean"},
            "violations": {"type": "array"},
            "totals": {"type": "object"},
            "routes": {"type": "array"},
            "skipped": {"type": "array"},
            "unserved": {"type": "array"},
        },
    },
    "Verdict": {
        "type": "object",
        "properties": {
            "cost": {"type": ["number", "null"]},
            "feasible": {"type": "boolean"},
            "violations": {"type": "array"},
            "warnings": {"type": "array"},
            "plan": {"$ref": "#/components/schemas/Plan"},
        },
    },
    "Validation": {
        "type": "object",
        "properties": {
            "valid": {"const": True},
            "name": {"type": "string"},
            "variant": {"type": "string"},
            "customers": {"type": "integer"},
            "depots": {"type": "integer"},
            "vehicle_types": {"type": "integer"},
            "warnings": {"type": "array"},
            "problem": {"type": "object", "description": "The same in our own schema."},
        },
    },
    "Fault": {
        "type": "object",
        "description": "RFC 9457.",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "field": {"type": "string"},
            "node": {"type": "integer"},
            "expected": {"type": "string"},
            "received": {"type": "string"},
        },
        "examples": [
            {
                "type": "about:blank",
                "title": "Unprocessable Entity",
                "status": 422,
                "detail": "demand, node 3: expected a number, received 'x'",
                "field": "demand",
                "node": 3,
                "expected": "a number",
                "received": "'x'",
            }
        ],
    },
}


def _schema(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _faults(*codes: int) -> dict[str, Any]:
    about = {
        400: "Not what its type says.",
        401: "The token is missing or wrong.",
        404: "No such job.",
        408: "The body did not arrive in time.",
        409: "Not now.",
        413: "Too large.",
        415: "An unknown type.",
        422: "The field at fault is named.",
        429: "No room at present; see Retry-After.",
        507: "The job cannot be stored.",
    }
    return {
        str(code): {
            "description": about[code],
            "content": {MEDIA_TYPE: {"schema": _schema("Fault")}},
        }
        for code in codes
    }


def _answer(about: str, name: str, **more: Any) -> dict[str, Any]:
    return {"description": about, "content": {JSON: {"schema": _schema(name)}}, **more}


def _problem_body() -> dict[str, Any]:
    content: dict[str, Any] = {
        kind: {"schema": {"type": "string"}, "example": _TEXT_EXAMPLES.get(kind, _VRPLIB)}
        for kind in TEXTS
    }
    for kind in MEDIA_TYPES:
        if kind not in TEXTS:
            content[kind] = {"schema": _schema("Problem")}
    content[JSON] = {
        "schema": {"anyOf": [_schema("Request"), _schema("Problem")]},
        "examples": {
            "with options": {"value": {"problem": PROBLEM, "time": 5}},
            "from a plan": {"value": {"problem": PROBLEM, "start": ROUTES}},
            "a problem alone": {"value": PROBLEM},
            "VROOM": {"value": VROOM},
        },
    }
    return {"required": True, "content": content}


_JOB = {"name": "job", "in": "path", "required": True, "schema": {"type": "string"}}


def _query(name: str, schema: dict[str, Any], about: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": about}


def openapi(version: str, *, with_token: bool) -> dict[str, Any]:
    """The document; ``with_token`` where the server asks for one."""
    told = [
        _query("time", {"type": ["number", "string"]}, "Seconds, or such as 5s."),
        _query("seed", {"type": "integer", "minimum": 0}, "Of everything random."),
    ]
    # What may become of every request with a body.
    bodies = (400, 408, 413, 422, 429)
    vroom: dict[str, Any] = {
        "summary": "VROOM's HTTP interface: solve now and answer",
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": {"type": "object"}, "example": VROOM}},
        },
        "responses": {
            "200": {"description": "VROOM's answer, code 0."},
            "400": {"description": 'An error of the input: {"code": 2, "error": ...}.'},
            "408": {"description": "The body did not arrive in time."},
            "413": {"description": 'Too large: {"code": 4, "error": ...}.'},
            "429": {"description": "No room at present; see Retry-After."},
            "500": {"description": "Code 1, or 3 where a routing engine would be needed."},
        },
    }
    job = {"200": _answer("The job.", "Job"), **_faults(404, 422)}
    paths: dict[str, Any] = {
        "/": {
            "post": vroom,
            "get": {"summary": "The page", "security": [], "responses": _page()},
        },
        "/v1/jobs": {
            "post": {
                "summary": "Solve a problem",
                "parameters": told,
                "requestBody": _problem_body(),
                "responses": {
                    "202": _answer("Taken; Location names it.", "Job"),
                    **_faults(*bodies, 415, 507),
                },
            },
            "get": {"summary": "The newest jobs", "responses": _plain("Jobs without plans.")},
        },
        "/v1/jobs/{job}": {
            "get": {
                "summary": "A job with its best plan so far",
                "parameters": [_JOB, _query("plan", {"type": "boolean"}, "Without it: false.")],
                "responses": job,
            },
            "delete": {
                "summary": "Stop a job and keep its best plan",
                "parameters": [
                    _JOB,
                    _query("forget", {"type": "boolean"}, "Delete a finished job for good."),
                ],
                "responses": job | {"204": {"description": "Forgotten."}} | _faults(409),
            },
        },
        "/v1/jobs/{job}/events": {
            "get": {
                "summary": "What happens to a job, as server-sent events",
                "description": "Events state, stage, plan, done, stopped and failed, each with "
                "number, seconds, stage and, of a plan, cost, feasible and unserved. Last-Event-ID "
                "skips those before.",
                "parameters": [_JOB],
                "responses": {
                    "200": {
                        "description": "A stream that ends with the job.",
                        "content": {
                            "text/event-stream": {
                                "example": "id: 3\nevent: plan\n"
                                'data: {"number":3,"event":"plan","seconds":0.4,"stage":"improve",'
                                '"cost":24.0,"feasible":true,"unserved":0}\n\n'
                            }
                        },
                    },
                    **_faults(404),
                },
            }
        },
        "/v1/jobs/{job}/plan": {
            "get": {
                "summary": "The best plan so far in a format",
                "parameters": [_JOB, _query("format", {"enum": list(FORMATS)}, "Default: json.")],
                "responses": {
                    "200": {
                        "description": "The plan.",
                        "content": {kind.partition(";")[0]: {} for kind, _, _ in FORMATS.values()},
                    },
                    **_faults(404, 409, 422),
                },
            }
        },
        "/v1/validate": {
            "post": {
                "summary": "Read a problem without solving it",
                "requestBody": _problem_body(),
                "responses": {
                    "200": _answer("A problem, in our own schema.", "Validation"),
                    **_faults(*bodies, 415),
                },
            }
        },
        "/v1/check": {
            "post": {
                "summary": "Judge a plan",
                "requestBody": {
                    "required": True,
                    "content": {
                        JSON: {
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
                    },
                },
                "responses": {
                    "200": _answer("The referee's verdict.", "Verdict"),
                    **_faults(*bodies, 404),
                },
            }
        },
        "/health": {
            "get": {
                "summary": "Whether the server can take jobs",
                "security": [],
                "responses": _plain("It can.") | {"503": {"description": "The store fails."}},
            }
        },
        "/metrics": {"get": {"summary": "For Prometheus", "responses": _plain("Text.")}},
    }
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "spacevrp", "version": version, "license": {"name": "MIT"}},
        "paths": paths,
        "components": {"schemas": _SCHEMAS},
    }
    if with_token:
        document["security"] = [{"token": []}]
        scheme = {"type": "http", "scheme": "bearer"}
        document["components"] |= {"securitySchemes": {"token": scheme}}
        for path in paths.values():
            for operation in path.values():
                if operation.get("security") != []:
                    operation["responses"] |= _faults(401)
        vroom["responses"]["401"] = {"description": "The token is missing or wrong."}
    return document


def _plain(about: str) -> dict[str, Any]:
    return {"200": {"description": about}}


def _page() -> dict[str, Any]:
    return {"200": {"description": "HTML.", "content": {"text/html": {}}}}
