"""What a request states: a problem in any format, a plan to begin with, how it is solved.

Bodies are bytes of strangers: nothing in them names a file or an address that is opened.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spacevrp import formats
from spacevrp.formats.instance_json import instance_of
from spacevrp.formats.json_text import parse_text
from spacevrp.formats.stops import routes_from_json
from spacevrp.problems.conversion import show
from spacevrp.problems.errors import FormatError, SpacevrpError
from spacevrp.problems.keywords import nearest
from spacevrp.problems.leniency import unservable_allowed
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.problems.sources import recognise
from spacevrp.search import Stop, improve
from spacevrp.serve.faults import REQUEST, Fault, as_fault, unexpected
from spacevrp.serve.settings import Settings
from spacevrp.solver import SolveParams
from spacevrp.solver.budget import as_seconds

JSON, VROOM, ORTOOLS = (
    "application/json",
    "application/vnd.vroom+json",
    "application/vnd.ortools+json",
)
OWN = "application/vnd.spacevrp+json"
# Media type -> the suffix of a file of this kind, which readers look at where a text says nothing.
TEXTS = {
    "text/csv": ".csv",
    "text/x-vrplib": ".vrp",
    "application/x-vrplib": ".vrp",
    "text/plain": ".txt",
}
MEDIA_TYPES = (JSON, OWN, VROOM, ORTOOLS, *TEXTS)
_ANY_TYPE = f"one of {', '.join(MEDIA_TYPES)}"
# How a problem is read, and how it is solved; in the query or next to "problem".
_READING = ("variant", "rounding", "time_unit", "speed_kmh")
_SOLVING = tuple(name for name in SolveParams.__dataclass_fields__ if name != "batch_memory")
_ENVELOPE = ("problem", "content_type", "start", "plan", "job", "time", *_READING, *_SOLVING)
FLAGS = {"true": True, "false": False, "1": True, "0": False}
_PREFIX = "spacevrp-"  # of the folders in which texts become files
_FOLDER = re.compile(rf"[^\s'\"]*{_PREFIX}\w+[/\\]")
# Warnings are caught for the whole process, so that one request is read at a time.
_reading = threading.Lock()
Content = dict[str, Any] | str  # of a body: a document, or a text of some other format


@dataclass(frozen=True)
class Stated:
    """What a request states.

    ``plan`` is what it wants judged, ``start`` what to begin with, both as they stand in it.
    """

    problem: Problem
    params: SolveParams = field(default_factory=SolveParams)
    time: float | None = None
    start: Solution | None = None
    plan: Any = None
    warnings: tuple[str, ...] = ()


def read_request(
    body: bytes, content_type: str, query: Mapping[str, str], settings: Settings
) -> Stated:
    """What a body states, with the options of the query.

    Raises
    ------
    Fault
        400 for a body that is not what its type says, 413 for a problem that is too large, 415 for
        an unknown type, 422 for anything else that is wrong.
    """
    kind = content_type.partition(";")[0].strip().lower() or JSON
    if kind not in MEDIA_TYPES:
        raise unexpected("Content-Type", _ANY_TYPE, repr(kind[:100]), status=415)
    told: dict[str, Any] = {key: _plain(value) for key, value in query.items()}
    text = decode(body)
    content: Content = text
    if kind not in TEXTS:
        document = content = parse_json(text)
        if "problem" in document:
            _refuse_unknown(document, _ENVELOPE)
            told |= {key: value for key, value in document.items() if value is not None}
            content, kind = _inner(told)
    _refuse_unknown(told, _ENVELOPE)
    return state(kind, content, told, settings)


def state(kind: str, content: Content, told: Mapping[str, Any], settings: Settings) -> Stated:
    """The same of a document or a text, and the options told with it."""
    with _reading, unservable_allowed(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            problem = _read(kind, content, told, settings)
        except SpacevrpError as error:
            raise as_fault(error) from None
    check_size(problem, settings)
    if problem.name == REQUEST:  # for want of a name
        problem = problem.replace(name="")
    params, time = read_params(told, settings)
    said = [as_fault(SpacevrpError(_without_folder(str(one.message)))).detail for one in caught]
    start = None
    if told.get("start") is not None:
        start = read_plan(told["start"], problem, "start")
        if not start.feasible:
            start, note = repaired(problem, start)
            said.append(note)
    return Stated(problem, params, time, start, told.get("plan"), tuple(dict.fromkeys(said)))


def repaired(problem: Problem, plan: Solution) -> tuple[Solution | None, str]:
    """A feasible plan near one that breaks rules, None where there is none; and a note on it."""
    fault = f"start: {plan.violations[0].message}"
    try:
        (better,) = improve([problem], [plan], stop=Stop(iterations=1))
    except SpacevrpError as error:
        raise as_fault(error, "start") from None
    if better.feasible:
        return better, f"{fault}; the routes at fault were taken apart and made again"
    return None, f"{fault}; it was left out, as it could not be made feasible"


def _without_folder(text: str) -> str:
    """What a reader says, without the folder of its file, which callers need not know."""
    return _FOLDER.sub("", text)


def decode(body: bytes) -> str:
    """The text that a body is."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise unexpected("body", "UTF-8 text", f"byte {byte:#04x}", status=400) from None


def parse_json(text: str) -> dict[str, Any]:
    """The object that a body is, read strictly.

    Raises
    ------
    Fault
        400.
    """
    try:
        return parse_text(Path(REQUEST), text)
    except FormatError as error:
        raise as_fault(error, "body", status=400) from None


def _inner(told: dict[str, Any]) -> tuple[Content, str]:
    """The problem next to its options, and its type: a table, or a text of the type named."""
    held = told.pop("problem", None)
    kind = told.pop("content_type", None)
    if isinstance(held, dict):
        if kind not in (None, JSON, OWN, VROOM, ORTOOLS):
            raise unexpected("content_type", f"{JSON} for a table", show(kind))
        return held, kind or JSON
    if isinstance(held, str):
        kind = kind or "text/plain"
        if not isinstance(kind, str) or kind not in MEDIA_TYPES:
            raise unexpected("content_type", _ANY_TYPE, show(kind))
        return held if kind in TEXTS else parse_json(held), kind
    raise unexpected("problem", "a table or a text", show(held))


def _refuse_unknown(table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            likely = nearest(key, known)
            raise Fault(
                422, f"{key[:60]}: unknown; the nearest known is {likely!r}", field=key[:60]
            )


def _plain(value: str) -> Any:
    """A value of a query: a number or a flag where it is one."""
    if value in ("true", "false"):
        return FLAGS[value]
    for kind in (int, float):
        try:
            number = kind(value)
        except ValueError:
            continue
        return number if abs(number) < math.inf else value
    return value


def _read(kind: str, content: Content, told: Mapping[str, Any], settings: Settings) -> Problem:
    options = {key: told[key] for key in ("variant", "rounding", "time_unit") if key in told}
    for key, value in options.items():
        if not isinstance(value, str):
            raise unexpected(key, "a text", show(value))
    if isinstance(content, dict):
        if kind == VROOM or (kind == JSON and recognise(content) == "vroom"):
            speed = told.get("speed_kmh", settings.speed_kmh)
            unit = {key: options[key] for key in ("time_unit",) if key in options}
            return Problem.from_vroom(content, speed_kmh=speed, **unit)
        if kind == ORTOOLS:
            return Problem.from_ortools(content)
        return instance_of(Path(f"{REQUEST}.json"), content, **options)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        path = Path(folder) / f"{REQUEST}{TEXTS[kind]}"
        path.write_text(content, encoding="utf-8")
        try:
            problem = formats.read(path, **options)
        except SpacevrpError as error:
            raise SpacevrpError(_without_folder(str(error))) from error.__cause__
    if not isinstance(problem, Problem):
        raise unexpected("body", "one instance", "several")
    return problem


def check_size(problem: Problem, settings: Settings) -> None:
    """Refuse what is larger than this server solves."""
    if len(problem.customers) > settings.max_customers:
        most, received = settings.max_customers, str(len(problem.customers))
        raise unexpected("customers", f"at most {most}", received, status=413)


def read_params(told: Mapping[str, Any], settings: Settings) -> tuple[SolveParams, float | None]:
    """How a problem is solved, and for how long; None where the request does not say."""
    try:
        params = SolveParams.from_dict({key: told[key] for key in _SOLVING if key in told})
        time = None if told.get("time") is None else as_seconds(told["time"])
        if time is not None:
            params.check_time()
    except SpacevrpError as error:
        raise as_fault(error) from None
    if time is not None and time > settings.max_time:
        raise unexpected("time", f"at most {settings.max_time:g} s", f"{time:g} s")
    return params, time


def read_plan(given: Any, problem: Problem, field: str) -> Solution:
    """A plan of a problem, judged.

    Routes as lists of nodes, a plan as this server gives it, what ``spacevrp solve`` writes, or the
    text of a ``.sol`` or CSV file.
    """
    try:
        routes, vehicles = _routes(given, problem, field)
        return Solution.judged(problem, routes, vehicles)
    except SpacevrpError as error:
        raise as_fault(error, field) from None


def _routes(given: Any, problem: Problem, field: str) -> tuple[Any, Any]:
    """Routes, and the types of their vehicles where these stand next to them."""
    name = Path(REQUEST)
    if isinstance(given, list):
        return routes_from_json(name, field, given, problem), None
    if isinstance(given, str):
        head = given[:4096].lower().lstrip()
        suffix = ".sol" if "route #" in head or head.startswith(("cost ", "cost:")) else ".csv"
        with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder, _reading:
            path = Path(folder) / f"{REQUEST}{suffix}"
            path.write_text(given, encoding="utf-8")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    return formats.read_solution(path, problem).instances[0].routes, None
                except SpacevrpError as error:
                    raise SpacevrpError(_without_folder(str(error))) from None
    if isinstance(given, dict):
        held = given
        instances = given.get("instances")
        if isinstance(instances, list) and len(instances) == 1 and isinstance(instances[0], dict):
            held = instances[0]
        if "routes" not in held:
            raise unexpected(f"{field}, routes", "a list", "none")
        return routes_from_json(name, field, held["routes"], problem), held.get("vehicles")
    expected = "routes, a plan, or the text of a .sol or CSV file"
    raise unexpected(field, expected, show(given))


def as_json(document: Any) -> bytes:
    """A document as compact JSON."""
    return json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", errors="replace"
    )
