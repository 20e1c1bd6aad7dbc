"""What pictures say: colours that stay apart, verdicts in words, the legend."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spacevrp.plots.content import (
    COLOURS,
    colour_of,
    dashes_of,
    depot_kinds,
    headline,
    looks_of,
    stop_kinds,
    verdict,
)
from spacevrp.problems.fleet import Vehicle
from spacevrp.problems.plan_text import describe_problem
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

Build = Callable[..., Problem]
# Apart in OKLab by more than these; 0.02 is about what a reader just notices.
FLOOR, FLOOR_WITHOUT_RED_OR_GREEN = 0.08, 0.045
# What light does without cones for green or for red (Machado, Oliveira and Fernandes, 2009).
NO_GREEN = [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.011820, 0.042940, 0.968881],
]
NO_RED = [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
]


def linear_light(colours: tuple[str, ...]) -> np.ndarray:
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colours]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(light: np.ndarray) -> np.ndarray:
    """Björn Ottosson's perceptual space, from linear light."""
    cones = light @ np.transpose(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    return np.cbrt(np.clip(cones, 0, None)) @ np.transpose(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )


@pytest.mark.parametrize(
    ("eyes", "floor"),
    [
        (np.eye(3), FLOOR),
        (NO_GREEN, FLOOR_WITHOUT_RED_OR_GREEN),
        (NO_RED, FLOOR_WITHOUT_RED_OR_GREEN),
    ],
)
def test_thirty_colours_stay_apart_and_dark_enough_for_paper(eyes: object, floor: float) -> None:
    points = oklab(np.clip(linear_light(COLOURS) @ np.transpose(eyes), 0, 1))
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert len(COLOURS) >= 30
    assert apart[~np.eye(len(COLOURS), dtype=bool)].min() > floor
    assert points[:, 0].max() < 0.85  # white is 1


def test_a_hundred_routes_differ_by_colour_or_dashes() -> None:
    assert len({(colour_of(r), dashes_of(r)) for r in range(100)}) == 100
    assert not any(dashes_of(r) for r in range(30))  # the second cue comes with the second round


LOADED = {"demand": [0, 6, 4, 3, 7], "capacity": 10}
PRIZES = {"prize": [0, 1, 2, 3, 4], "penalty": [0, 1, 1, 1, 1], "min_prize": 5.0, "max_routes": 1}
LATE = {"windows": [(0, 99)] + [(0, 0.5)] * 4, "allow_unservable": True}
BROKEN = "breaks a rule: route 1 leaves with a load of {}, capacity is 10"


@pytest.mark.parametrize(
    ("features", "routes", "said"),
    [
        (LOADED, [[0, 1, 2, 0], [0, 3, 4, 0]], []),
        (LOADED, [[0, 1, 2, 0]], ["partial: 2 of 4 stops unserved"]),
        (LOADED, [[0, 1, 2, 3, 4, 0]], [BROKEN.format(20)]),
        # Not partial: it would not be legal without.
        (LOADED, [[0, 1, 2, 3, 0]], ["1 of 4 stops unserved", BROKEN.format(13)]),
        (PRIZES, [[0, 1, 0]], ["partial: prize 1 of at least 5"]),
    ],
)
def test_the_verdict_in_words(four_customers: Build, features, routes, said) -> None:
    assert verdict(Solution.judged(four_customers(**features), routes)) == said


@pytest.mark.parametrize(
    ("demand", "load", "broken"),
    [([0, 6, 4, 3, 7], "20/10", BROKEN.format(20)), ([0, 8, -3, 2, 0], "10/10", "")],
)
def test_loads_of_routes_without_the_depot_are_those_of_the_rules(
    four_customers: Build, demand, load, broken
) -> None:
    """On board before the first stop are 20; or 10, which become 2, 5, 3 and 3."""
    solution = Solution.judged(four_customers(demand=demand, capacity=10), [[1, 2, 3, 4]])
    (look,), (route,) = looks_of(solution), solution.plan.routes
    assert look.load == load
    assert (broken in verdict(solution)) == bool(broken)
    assert route.peak_load == float(load.split("/")[0])


def test_many_broken_rules_are_counted(four_customers: Build) -> None:
    lines = verdict(Solution.judged(four_customers(**LATE), [[0, node, 0] for node in range(1, 5)]))
    assert len(lines) == 4
    assert lines[-1] == "and 1 more times: window"


def test_kinds_of_depots() -> None:
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (2, 0), (3, 0)],
        depots=[0, 1, 2],
        vehicles=[Vehicle("a", start=0), Vehicle("b", start=1, end=2)],
    )
    kinds = {kind.label: kind.nodes for kind in depot_kinds(problem)}
    assert kinds == {"depot": (0,), "depot, start only": (1,), "depot, end only": (2,)}
    assert len({kind.marker for kind in depot_kinds(problem)}) == 3


def test_pickups_next_to_pairs_are_marked_as_such() -> None:
    line = [(place, 0) for place in range(5)]
    problem = Problem.from_coordinates(line, demand=[0, -2, 2, -3, 4], pairs=[(1, 2)])
    kinds = {kind.label: kind.nodes for kind in stop_kinds(problem, range(1, 5))}
    assert kinds == {"delivery": (2, 4), "pickup": (1, 3)}


def test_titles_of_problems_without_a_name_are_plain() -> None:
    """Of what does not fit, the number is told."""
    line = [(place, 0) for place in range(3)]
    load = {"demand": [0, 1, 1], "capacity": 3}
    optional = {"windows": [(0, 9)] * 3, "penalty": [0, 5, 5], **load}
    problem = Problem.from_coordinates(line, **optional)
    assert describe_problem(problem) == "VRP with capacity, time windows, optional stops"
    assert headline(problem).startswith("VRP with capacity, time windows, optional stops")
    vans = [{"capacity": 3, "max_stops": 5}]
    rules = Problem.from_coordinates(line, vehicles=vans, **optional)
    assert describe_problem(rules, 40) == "VRP with capacity and 4 more"
    assert describe_problem(rules).endswith("optional stops, 1 vehicle type, limited stops")
    named = Problem.from_coordinates(line, vehicles=vans, **load)
    assert describe_problem(named, 40) == "CVRP (1 vehicle type, limited stops)"
    assert describe_problem(named, 20) == "CVRP"
    assert describe_problem(Problem.from_coordinates(line, windows=[(0, 9)] * 3), 9) == "VRP"
