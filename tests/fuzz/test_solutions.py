"""Hostile files of solutions through the reader and the referee, as ``spacevrp check`` does it."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import fuzz_corpus
from fuzz_property import COUNTS, check_message, close, fuzzed, naive_cost
from hostile_json import damaged_solutions
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.formats import FormatWarning, read, read_solution
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import as_routes, as_vehicles_of, judge

_DOOR = "solution files"
# Of the instances, some with one depot, none or several; closed and open.
_INSTANCES = (
    *("cvrp.vrp", "open.vrp", "depots.vrp", "roads.atsp", "solomon.txt", "own-prizes.json"),
    *("mixed.vrp", "prizes.vrp", "lilim.txt"),
)


def judge_hostile(instance: Problem, path: Path) -> str:
    """The outcome in a word; whatever is feasible must cost what it costs."""
    try:
        plans = read_solution(path, instance).instances
    except SpacevrpError as error:
        check_message(error, path)
        return "refused"
    kept = 0
    for plan in plans:
        try:
            verdict = judge(instance, plan.routes)
        except SpacevrpError as error:
            check_message(error)
            return "refused"
        for violation in verdict.violations:
            assert len(violation.message.splitlines()) == 1, violation.message
        if verdict.feasible:
            kept += 1
            served = [route for route in plan.routes if len(route) > 1 or not instance.depots]
            vehicles = as_vehicles_of(instance, as_routes(instance, served), plan.vehicles)
            assert close(verdict.cost, naive_cost(instance, served, vehicles)), plan.routes
            assert math.isfinite(verdict.cost)
    return "judged feasible" if kept else "judged infeasible"


@fuzzed(900)
@given(case=damaged_solutions(), name=st.sampled_from(_INSTANCES))
def test_solutions(tmp_path, watch, case, name):
    watch()
    instance_path, path = tmp_path / name, tmp_path / case[0]
    instance_path.write_bytes(fuzz_corpus.files()[name])
    path.write_bytes(case[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", FormatWarning)
        instance = read(instance_path)
        assert isinstance(instance, Problem)
        COUNTS[_DOOR, judge_hostile(instance, path)] += 1
