"""Problems read otherwise: the same costs both ways, worked examples, and who is read otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.reductions import (
    everybody_served,
    other_reductions,
    pays_to_serve,
    plain_reduction,
)
from spacevrp.problems.referee import judge
from spacevrp.problems.solution import Solution
from spacevrp.problems.variants import VARIANTS

OPEN = [n for n, v in VARIANTS.items() if v.features.open_routes and v.features.asymmetric]
SEVERAL = [n for n, v in VARIANTS.items() if v.features.multi_depot]
FIRST = [  # linehauls first, and then home
    n
    for n, v in VARIANTS.items()
    if v.features.backhaul_last and not v.features.multi_depot and not v.features.open_routes
]
OTHERS = OPEN + [name for name in SEVERAL + FIRST if name not in OPEN]


@pytest.mark.parametrize("name", list(VARIANTS))
def test_who_is_read_otherwise(name: str) -> None:
    """Several depots, open routes where distances have nothing of a map, linehauls first, pairs
    for vehicles that hold few, and high penalties."""
    features = VARIANTS[name].features
    few = features.pickup_delivery and features.capacity
    (problem,) = generate(name, 20, 1)
    high = features.prize_collecting and pays_to_serve(problem)
    reductions = other_reductions(problem)
    assert bool(reductions) == (few or high or name in OTHERS)
    assert all(reduction.in_place != high for reduction in reductions)


# Two depots at 0 and 10 on a line, customers at 1, 2, 8 and 9.
LINE = [(0.0, 0.0), (10.0, 0.0), (1.0, 0.0), (2.0, 0.0), (8.0, 0.0), (9.0, 0.0)]


def on_the_line(**features: object) -> Problem:
    return Problem.from_coordinates(
        LINE, depots=(0, 1), demand=[0, 0, 1, 1, 1, 1], capacity=4, **features
    )


def test_several_depots_are_one() -> None:
    (reduction,) = other_reductions(on_the_line())
    form = reduction.problem
    assert form.depots == (0,)
    assert not reduction.exact
    # To each customer the depot is as near as the nearer one.
    assert form.distances.from_node(0).tolist() == [0, 1, 2, 2, 1]
    assert form.variant_name == "CVRP"
    # One route seems to cost 1 + 1 + 6 + 1 + 1; from either depot and back to it, it is 18.
    routes = [(0, 1, 2, 3, 4, 0)]
    assert judge(form, routes).cost == pytest.approx(10)
    assert judge(on_the_line(), reduction.map_back(routes)).cost == pytest.approx(18)
    # Two routes go to their own depots.
    assert reduction.map_back([(0, 2, 1, 0), (0, 3, 4, 0)]) == [(0, 3, 2, 0), (1, 4, 5, 1)]


def test_routes_that_no_depot_can_take_are_cut_in_two() -> None:
    problem = on_the_line(max_length=17.0)
    (reduction,) = other_reductions(problem)
    routes = reduction.map_back([(0, 1, 2, 3, 4, 0)])
    assert routes == [(0, 2, 3, 0), (1, 4, 5, 1)]
    assert judge(problem, routes).cost == pytest.approx(8)
    # And where that does not help, the referee hears of it.
    hopeless = on_the_line(max_length=17.0, max_routes=1)
    (reduction,) = other_reductions(hopeless)
    verdict = judge(hopeless, reduction.map_back([(0, 1, 2, 3, 4, 0)]))
    assert [v.code for v in verdict.violations] == ["fleet"]


def test_ways_home_are_free() -> None:
    problem = Problem.from_matrix(
        [[0, 5, 9], [9, 0, 1], [1, 9, 0]], demand=[0, 1, 1], capacity=2, open_routes=True
    )
    (reduction,) = other_reductions(problem)
    assert reduction.exact
    assert reduction.problem.distances.matrix().tolist() == [[0, 5, 9], [0, 0, 1], [0, 9, 0]]
    assert reduction.problem.variant_name == "ACVRP"
    assert reduction.map_back([(0, 1, 2, 0)]) == ((0, 1, 2),)
    assert judge(problem, [(0, 1, 2)]).cost == judge(reduction.problem, [(0, 1, 2, 0)]).cost == 6


def test_open_routes_may_end_after_the_depot_closes() -> None:
    """Customer 1 is served from 2 to 5, customer 2 from 6 to 9, and the depot closes at 3."""
    problem = Problem.from_matrix(
        [[0, 2, 9], [9, 0, 1], [1, 9, 0]],
        demand=[0, 1, 1],
        capacity=2,
        service=[0, 3, 3],
        windows=[(0, 3), (0, 4), (0, 9)],
        open_routes=True,
    )
    (reduction,) = other_reductions(problem)
    assert judge(problem, [(0, 1, 2)]).feasible
    assert judge(reduction.problem, [(0, 1, 2, 0)]).feasible


def test_from_backhauls_to_linehauls_leads_home() -> None:
    """Customers at 1 and 2 get goods, the one at -3 gives some: from it to them it is 4 and 5."""
    problem = Problem.from_coordinates(
        [(0, 0), (1, 0), (0, 2), (0, 3)], demand=[0, 1, 1, -1], capacity=2, backhaul_last=True
    )
    (reduction,) = other_reductions(problem)
    assert reduction.exact
    lengths = reduction.problem.distances.matrix()
    assert lengths[3].tolist() == [3, 4, 5, 0]
    changed = lengths != problem.distances.matrix()
    assert np.argwhere(changed).tolist() == [[3, 1], [3, 2]]
    assert reduction.problem.variant_name == "ACVRPBP"


def test_what_is_left_as_it_is() -> None:
    mapped = on_the_line().replace(depots=(0,), open_routes=True)
    assert other_reductions(mapped) == []  # the model has learned open routes on maps
    apart = on_the_line(windows=[(0, 9), (0, 8), *[(0, 9)] * 4])
    assert other_reductions(apart) == []  # it makes a difference which depot it is
    durations = [[float(a != b) for a in range(6)] for b in range(6)]
    timed = Problem.from_coordinates(LINE, depots=(0, 1), durations=durations)
    assert other_reductions(timed) == []  # the nearest may not be the quickest
    assert plain_reduction(mapped).problem is mapped


def couriers(**features: object) -> Problem:
    """Two pairs on a line: from 1 to 3, from 2 to 4, the depot at 0."""
    line = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0)]
    return Problem.from_coordinates(
        line,
        **{
            "pairs": [(1, 3), (2, 4)],
            "demand": [0, -1, -1, 1, 1],
            "capacity": 1,
            "depots": (0,),
            **features,
        },
    )


def test_deliveries_seem_nearer_where_few_loads_fit() -> None:
    problem = couriers()
    first, second = other_reductions(problem)
    for reduction, by in ((first, 0.7), (second, 0.4)):
        assert reduction.problem is problem  # rules and costs are its own
        assert reduction.exact
        assert reduction.shown is not None
        assert reduction.shown.distances.matrix()[0].tolist() == [0, 1, 2, 3 * by, 4 * by]
        assert reduction.shown.distances.matrix()[4].tolist() == [4, 3, 2, 1 * by, 0]
        assert reduction.shown.pairs == problem.pairs
        plan = ((0, 1, 3, 2, 4, 0),)
        assert reduction.map_back(plan) == plan


# ------------------------------------------------------------------------------ prize collecting


def on_a_line(*penalty: float) -> Problem:
    """Customers at 1, 2 and 10 on a line from the depot at 0."""
    return Problem.from_coordinates([(0, 0), (1, 0), (2, 0), (10, 0)], penalty=[0, *penalty])


def test_when_it_pays_to_serve() -> None:
    """The nearest are 1, 1 and 8 away, 10 / 3 in the mean: one and a half times that is 5."""
    assert pays_to_serve(on_a_line(5.1, 5.1, 5.1))
    assert not pays_to_serve(on_a_line(4.9, 4.9, 4.9))
    assert not pays_to_serve(on_a_line(np.inf, np.inf, np.inf))  # all must be served
    # Where only the way back is short, that counts.
    one_way = Problem.from_matrix([[0, 9, 9], [1, 0, 9], [9, 1, 0]], penalty=[0, 1.6, 1.6])
    assert pays_to_serve(one_way)
    assert not pays_to_serve(one_way.replace(penalty=[0, 1.4, 1.4]))


def test_plans_for_all_customers_are_plans() -> None:
    (problem,) = generate("SPCTSP", 10, 1)
    reduction = everybody_served(problem)
    whole = reduction.problem
    assert not whole.features.prize_collecting
    assert not whole.features.stochastic_prizes
    tour = (3, 1, 2, 4, 0, *range(5, 11))
    served = Solution.judged(whole, [tour])
    assert served.feasible
    routes = reduction.map_back([tour])
    assert routes == ((0, *range(5, 11), 3, 1, 2, 4, 0),)
    assert Solution.judged(problem, routes).cost == pytest.approx(served.cost)
