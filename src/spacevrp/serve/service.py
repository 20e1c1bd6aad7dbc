"""What a server does, without HTTP: takes jobs, finds them again, judges plans."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from typing import Any

from spacevrp.engines.devices import cores
from spacevrp.formats.instance_json import instance_document
from spacevrp.many.engines import is_ray
from spacevrp.many.remote import RayActors, RemoteSolver
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.plan_documents import plain
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution
from spacevrp.serve.faults import Fault, missing, unexpected
from spacevrp.serve.jobs import Job, explain_briefly, new_id
from spacevrp.serve.metrics import Metrics
from spacevrp.serve.plans import FORMATS
from spacevrp.serve.requests import Stated, parse_json, read_plan, read_request
from spacevrp.serve.settings import Settings
from spacevrp.serve.store import Row, Store
from spacevrp.serve.workers import AnySolver, Workers
from spacevrp.solver import Solver

# Problems with more nodes wait in the store, not in memory, as their matrices are large.
_MOST_IN_MEMORY = 1_000
_NEWEST = 100
# Ends of the server, without a word, that a job may have been running at: it may be their cause.
_MOST_ENDS = 5


class Service:
    """One network, one queue and one store."""

    def __init__(self, settings: Settings, solver: AnySolver | None = None) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.held_bytes = 0  # of bodies that are being read or answered
        self.ending = False  # clients that wait are sent away
        self.store = Store(settings.data)
        try:
            self._left = self.store.unfinished()
        except (sqlite3.Error, ValueError) as error:
            raise SpacevrpError(f"{settings.data}: cannot be read: {error}") from None
        self.solver = solver or _make_solver(settings)
        count = settings.workers or cores()
        if isinstance(self.solver, RemoteSolver):
            count = self.solver.workers
        self.workers = Workers(self.solver, count, settings, self.store, self.metrics, self._again)

    def start(self) -> None:
        """Go on with what an earlier server left, then take new jobs."""
        for row in self._left:
            ends = int(row.about.get("ends", 0)) + (row.state == "running")
            row.about["ends"] = ends
            row.state = "queued"
            row.about.pop("stage", None)
            job = Job(row)
            if ends < _MOST_ENDS:
                self.workers.submit(job, limited=False)
            else:
                text = f"the server ended {ends} times while this job ran"
                self.workers.give_up(job, Fault(500, text))
        self._left = []
        self.workers.start()

    def send_away(self) -> None:
        """Have the clients that wait for jobs wait no longer: the server ends."""
        self.ending = True
        for job in list(self.workers.jobs.values()):
            job.wake()

    def stop(self) -> None:
        """End; what is not finished stays in the store."""
        self.workers.stop()
        self.store.close()
        if isinstance(self.solver, RemoteSolver):
            self.solver.close()

    # ------------------------------------------------------------------------------------- jobs

    def take(self, body: bytes, content_type: str, query: Mapping[str, str]) -> Job:
        """A new job, stored and waiting.

        Raises
        ------
        Fault
            Also 429 for a full queue, and 507 where the job could not be stored.
        """
        stated = read_request(body, content_type, query, self.settings)
        row = Row(new_id(), "queued", time.time(), content_type, dict(query), _about(stated))
        job = _job(row, stated)
        if stated.problem.size > _MOST_IN_MEMORY:
            job.problem = None
        self.workers.check_room(job)
        try:
            self.store.add(row, body)
        except (sqlite3.Error, OSError) as error:
            self.metrics.count("store_failures_total")
            self.workers.store_failing = True
            raise Fault(507, f"the job cannot be stored: {error}") from None
        self.workers.store_failing = False
        self.workers.submit(job, limited=False)
        return job

    def pass_by(self, stated: Stated) -> Job:
        """A job whose client waits for the answer: it is not stored."""
        row = Row(new_id(), "queued", time.time(), "", {}, _about(stated))
        job = _job(row, stated)
        job.stored = False
        self.workers.submit(job)
        return job

    def find(self, name: str) -> Job | Row:
        """A job by its id: as it is now, or as it was stored."""
        job = self.workers.jobs.get(name)
        found = job if job is not None and job.stored else self.store.find(name)
        if found is None:
            raise missing(f"job {name[:40]!r}")
        return found

    def end(self, name: str) -> None:
        """Stop a job and keep its best plan; a finished one stays as it is."""
        found = self.find(name)
        if isinstance(found, Job):
            self.workers.end(found)

    def remove(self, name: str) -> None:
        """Stop a job and forget all about it."""
        found = self.find(name)
        if isinstance(found, Job):
            raise Fault(409, "the job has not ended; stop it first", field="forget")
        self.store.remove(name)

    def describe(self, name: str, *, with_plan: bool = True) -> dict[str, Any]:
        """The document of a job."""
        found = self.find(name)
        if isinstance(found, Job):
            row, plan = found.now() if with_plan else (found.row, None)
            seconds, position = found.seconds, self.workers.position(found)
            if found.finished:
                seconds = row.about.get("seconds", seconds)
        else:
            row, plan, position = found, found.plan, None
            seconds = row.about.get("seconds", 0.0)
        document = _summary(row) | {"seconds": seconds, "position": position}
        document |= {key: row.about.get(key) for key in ("warnings", "notes", "stages", "error")}
        if with_plan:
            document["plan"] = plan
        return document

    def newest(self) -> dict[str, Any]:
        """The jobs that came last."""
        stored = self.store.newest(_NEWEST)
        held = [self.workers.jobs.get(row.id) for row in stored]  # it may have gone since
        return {
            "jobs": [
                _summary(row if job is None else job.row)
                for row, job in zip(stored, held, strict=True)
            ]
        }

    def plan_of(self, name: str) -> Solution:
        """The best plan of a job so far.

        Raises
        ------
        Fault
            409 where there is none yet.
        """
        found = self.find(name)
        if isinstance(found, Job) and found.best is not None:
            return found.best
        row = found.row if isinstance(found, Job) else found
        if row.best is None:
            raise Fault(409, f"job {name}: no plan yet ({row.state})")
        return read_plan(row.best, self._stated(row).problem, "plan")

    def problem_of(self, name: str) -> Problem:
        """The problem of a job."""
        found = self.find(name)
        if isinstance(found, Job) and found.problem is not None:
            return found.problem
        return self._stated(found.row if isinstance(found, Job) else found).problem

    def write_plan(self, name: str, kind: str) -> tuple[str, str, str]:
        """The best plan of a job in a format: its text, media type and suffix."""
        if kind not in FORMATS:
            raise unexpected("format", f"one of {', '.join(FORMATS)}", repr(kind[:40]))
        media_type, suffix, write = FORMATS[kind]
        plan = self.plan_of(name)
        try:
            return write(plan), media_type, suffix
        except SpacevrpError as error:
            raise Fault(422, str(error), field="format") from None

    def _stated(self, row: Row) -> Stated:
        """What the request of a stored job stated."""
        body = self.store.body(row.id)
        if body is None:
            raise missing(f"job {row.id}")
        return read_request(body, row.content_type, row.query, self.settings)

    def _again(self, job: Job) -> Problem:
        """The problem of a stored job; where there is a plan, it begins with that."""
        stated = self._stated(job.row)
        job.params, job.time, job.start = stated.params, stated.time, stated.start
        if job.row.best is not None and job.row.plan is None:
            job.start = read_plan(job.row.best, stated.problem, "start")
            job.offer(job.start)
        return stated.problem

    # ----------------------------------------------------------------------------- without solving

    def validate(self, body: bytes, content_type: str, query: Mapping[str, str]) -> dict[str, Any]:
        """What a problem is, in our own schema, without solving it."""
        stated = read_request(body, content_type, query, self.settings)
        problem = stated.problem
        try:
            document = instance_document(problem, tables=False)
        except SpacevrpError as error:
            raise Fault(422, str(error)) from None
        return {
            "valid": True,
            "name": problem.name,
            "variant": problem.variant_name,
            "customers": len(problem.customers),
            "depots": len(problem.depots),
            "vehicle_types": len(problem.fleet),
            "warnings": list(stated.warnings),
            "problem": document,
        }

    def check(self, body: bytes) -> dict[str, Any]:
        """The referee's verdict on a plan, of a problem in the body or of a job."""
        document = parse_json(body.decode("utf-8", errors="replace"))
        if "plan" not in document:
            raise unexpected("plan", "a plan", "none")
        if "job" in document:
            problem = self.problem_of(str(document["job"]))
            said: tuple[str, ...] = ()
        elif "problem" in document:
            stated = read_request(body, "application/json", {}, self.settings)
            problem, said = stated.problem, stated.warnings
        else:
            raise unexpected("problem", "a problem, or the id of a job as job", "neither")
        plan = read_plan(document["plan"], problem, "plan")
        explain_briefly(plan)
        told = plan.to_dict()
        return {
            "cost": plain(plan.cost),
            "feasible": plan.feasible,
            "violations": told["violations"],
            "warnings": list(said),
            "plan": told,
        }

    def health(self) -> dict[str, Any]:
        """Whether it can take jobs."""
        parts = {
            "storage": "failing" if self.workers.store_failing else "ok",
            "engine": "ok" if self.workers.room and not self.workers.engine_failing else "failing",
        }
        return {
            "status": "failing" if "failing" in parts.values() else "ok",
            "version": self.settings.version,
            **parts,
            "device": str(self.solver.device),
            **{name: int(value) for name, value in self.workers.gauges.items()},
        }


def _make_solver(settings: Settings) -> AnySolver:
    if not is_ray(settings.engine):
        return Solver(settings.weights, settings.device)
    return RemoteSolver(
        RayActors(
            settings.engine,
            workers=settings.workers,
            weights=settings.weights,
            device=settings.device,
        )
    )


def _about(stated: Stated) -> dict[str, Any]:
    problem = stated.problem
    return {
        "name": problem.name,
        "variant": problem.variant_name,
        "customers": len(problem.customers),
        "warnings": list(stated.warnings),
    }


def _job(row: Row, stated: Stated) -> Job:
    return Job(row, stated.problem, stated.params, stated.time, stated.start)


def _summary(row: Row) -> dict[str, Any]:
    told = ("name", "variant", "customers", "stage", "cost", "feasible")
    return {
        **{name: getattr(row, name) for name in ("id", "state", "created", "finished")},
        **{name: row.about.get(name) for name in told},
    }
