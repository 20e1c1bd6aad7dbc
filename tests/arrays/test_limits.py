"""What the rules allow in float32, the referee allows in float64; full vehicles stay full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacevrp.arrays.limits import TOLERANCE, as_amounts, as_limits
from spacevrp.env import Environment
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.tensors import stack
from spacevrp.tensors.fleet import stack_fleets

INF = np.inf


def test_a_limit_is_left_alone_where_the_rules_forgive_half_the_slack() -> None:
    limits = np.array([3.0, 0.6, INF])
    assert as_limits(limits, 2 * TOLERANCE, 1.0).tolist() == [3.0, 0.6, INF]
    assert as_limits(limits * 7, 14 * TOLERANCE, 7.0).tolist() == pytest.approx([3.0, 0.6, INF])


@given(
    st.floats(1e-6, 10.0), st.floats(1e-6, 2e-5), st.sampled_from([1.0, 0.1, 7e-3, 340.0, 2.0**11])
)
def test_a_moved_limit_forgives_half_the_slack(limit: float, part: float, unit: float) -> None:
    """As float32 adds it up: never more, and not much less."""
    slack = part * limit
    assume(abs(slack / 2 - TOLERANCE) > 1e-11)  # otherwise it is left alone
    moved = np.float32(as_limits(limit * unit, slack * unit, unit))
    allowed = float(moved + np.float32(TOLERANCE))
    assert allowed <= limit + slack / 2
    assert allowed >= limit + slack / 2 - 3e-7 * limit - 3e-7 * TOLERANCE


def follows(problem: Problem, nodes: Sequence[int]) -> bool:
    """Whether the rules, in float32, allow one route with these customers, in this order."""
    environment = Environment(stack([problem]))
    state = environment.begin(torch.tensor([[nodes[0]]]))
    if bool(state.stuck):
        return False
    for node in nodes[1:]:
        if not bool(environment.mask(state)[0, 0, node]):
            return False
        state = environment.step(state, torch.tensor([[node]]))
    return True


def tight(seed: int, length: float, time: float, excess: float, shared: bool) -> Problem:
    """Five customers in turn use up the length limit, every window and the day, but for excess."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 1, (6, 2))
    metres = np.linalg.norm(points[:, None] - points[None], axis=2) * length
    hours = metres if shared else metres * (rng.uniform(0.5, 2) * time / length)
    service = np.array([0, *rng.uniform(0, 0.2, 5)]) * time
    clock = 0.0
    closing = []
    for node in range(1, 6):
        clock += hours[node - 1, node]
        closing.append(clock)
        clock += service[node]
    clock += hours[5, 0]
    travelled = sum(metres[node - 1, node] for node in range(1, 6)) + metres[5, 0]
    windows = [(0, clock), *((0, closes) for closes in closing)]
    free: dict[str, Any] = {"allow_unservable": True, "service": service}
    if not shared:
        free["durations"] = hours
    loose = Problem.from_matrix(metres, windows=windows, max_length=travelled, **free)
    slack_time, slack_length = excess * loose.time_tolerance, excess * loose.length_tolerance
    return loose.replace(
        windows=[(0, closes - slack_time) for _, closes in windows],
        max_length=travelled - slack_length,
    )


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.floats(1e-3, 1e5),
    st.floats(1e-3, 1e5),
    st.sampled_from([0.0, 0.2, 1.3, 3.0, -3.0]),
    st.booleans(),
)
def test_the_rules_see_what_the_referee_sees(seed, length, time, excess, shared):
    """In any units. Between half the slack and the whole, the rules may be stricter."""
    problem = tight(seed, length, length if shared else time, excess, shared)
    route = [0, 1, 2, 3, 4, 5, 0]
    assert judge(problem, [route]).feasible == (excess <= 1.0)
    assert follows(problem, route[1:-1]) == (excess <= 1.0)


def test_timestamps_keep_their_seconds() -> None:
    windows = [(0, INF), *((1.6e9 + 60 * minute, 1.6e9 + 60 * minute + 5) for minute in (0, 20))]
    ways = np.full((3, 3), 600.0)
    for service, fits in ((600.0, True), (605.0, True), (605.1, False)):
        problem = Problem.from_matrix(ways, windows=windows, service=[0, service, 0])
        assert follows(problem, [1, 2]) == judge(problem, [[0, 1, 2, 0]]).feasible == fits


def test_fleets_have_units_of_time_too() -> None:
    metres = np.full((3, 3), 36_000.0)
    van = {"window": (1.5, 4.0), "max_length": 90_000.0}
    problem = Problem.from_matrix(metres, durations=metres / 36_000, vehicles=[van])
    batch, fleet = stack_fleets([problem], dtype=torch.float64)
    unit = problem.unit_of_time
    assert unit == 1.0
    assert float(batch.duration[0, 0, 1]) * unit == pytest.approx(1.0)
    assert float(batch.distance[0, 0, 1]) * problem.unit == pytest.approx(36_000)
    assert float(fleet.leaves_from) * unit == pytest.approx(1.5)
    assert float(fleet.back_by) * unit == pytest.approx(4.0)
    assert float(fleet.max_length) * problem.unit == pytest.approx(90_000)


# ----------------------------------------------------------------------------------------- amounts


def loaded(demand: Sequence[float], capacity: float, **features: Any) -> Problem:
    points = [(float(node), 0.0) for node in range(len(demand) + 1)]
    return Problem.from_coordinates(
        points, demand=[0, *demand], capacity=capacity, allow_unservable=True, **features
    )


@pytest.mark.parametrize(
    ("demand", "capacity", "steps", "room"),
    [
        ([3, 4, 5], 12, [3, 4, 5], 12),
        ([3, 4, 5], 12.9, [3, 4, 5], 12.9),
        ([30_000, 40_000], 100_000.7, [30_000, 40_000], 100_000),  # float32 keeps 100001 apart
        ([30e6, 70e6], 100e6, [3, 7], 10),
        ([30e6, 70e6 + 2], 100e6 + 7, [5e6, 11_666_667], 16_666_667),  # six at a time
        ([0.1, 0.2], 0.3, [1, 2], 3),
        (np.float32([0.1, 0.2, 0.7]), 1.0, [1, 2, 7], 10),
        ([4 / 30, 5 / 30], 0.3, [4, 5], 9),
        ([1 / 3, 2e-4], 1.0, [4_804_800, 2883], 14_414_400),
        ([5, 7], INF, [5, 7], INF),
    ],
)
def test_amounts_in_steps(demand, capacity, steps, room):
    goods = as_amounts(loaded(demand, capacity), 0, [capacity])
    assert goods.amounts.tolist() == [0, *steps]
    assert goods.capacities.tolist() == [room]


amounts = st.one_of(
    st.integers(1, 9).map(float),
    st.integers(1, 999).map(lambda number: number / 100),
    st.floats(0.01, 9.0),
    st.integers(1, 10**9).map(float),
    st.floats(0.0625, 9.0, width=32),
)
rules = st.sampled_from(["single", "separate", "paper"])


@given(st.lists(amounts, min_size=1, max_size=8), st.floats(0, 1), st.data())
def test_no_vehicle_takes_more_than_the_referee_lets_it(demand, part, data):
    """Deliveries alone: some of them fill the vehicle, and what the rules let in keeps to it."""
    some = data.draw(st.lists(st.sampled_from(demand), min_size=1, max_size=3))
    capacity = data.draw(st.sampled_from([sum(some), sum(some) * (0.5 + part), max(demand)]))
    problem = loaded(demand, capacity)
    batch = stack([problem])
    steps = batch.demand[0, 1:]
    assert torch.equal(steps, steps.round())  # float32 adds them up exactly
    used = torch.tensor(0.0)
    route = []
    for node, amount in enumerate(steps.tolist(), start=1):
        if used + amount <= batch.capacity[0] + batch.load_tolerance[0]:
            used = used + amount
            route.append(node)
    if route:
        codes = [v.code for v in judge(problem, [[0, *route, 0]]).violations]
        assert "capacity" not in codes


@given(
    st.lists(st.integers(1, 10**4), min_size=2, max_size=8),
    st.sampled_from([1.0, 0.1, 0.01, 1 / 3, 1 / 30, 1000.0]),
)
def test_who_fills_a_vehicle_exactly_still_fits(numbers: list[int], step: float) -> None:
    problem = loaded([number * step for number in numbers], sum(numbers) * step)
    goods = as_amounts(problem, 0, [problem.capacity])
    assert goods.amounts.sum() <= goods.capacities[0] + goods.tolerances[0]
    more = loaded([number * step for number in numbers], (sum(numbers) - 1) * step)
    goods = as_amounts(more, 0, [more.capacity])
    assert goods.amounts.sum() > goods.capacities[0] + goods.tolerances[0]


@settings(max_examples=40)
@given(
    st.lists(st.floats(0.01, 9.0).map(lambda x: round(x * np.pi, 9)), min_size=2, max_size=8),
    rules,
    st.data(),
)
def test_pickups_beside_deliveries(demand: list[float], rule: str, data: st.DataObject) -> None:
    signs = data.draw(st.lists(st.sampled_from([1, -1]), min_size=8, max_size=8))
    signed = [amount * sign for amount, sign in zip(demand, signs, strict=False)]
    capacity = data.draw(st.sampled_from([max(demand), sum(demand) / 2 + max(demand) / 2]))
    problem = loaded(signed, capacity, load_rule=rule)
    route = list(range(1, len(demand) + 1))
    if follows(problem, route):
        assert judge(problem, [[0, *route, 0]]).feasible


def test_kinds_of_load_have_steps_of_their_own() -> None:
    demand = [(0, 0), (0.1, 3), (0.2, 4)]
    vans = [{"capacity": (0.3, 7), "count": 1}, {"capacity": (0.5, INF)}]
    problem = Problem.from_coordinates([(0, 0), (1, 0), (2, 0)], demand=demand, vehicles=vans)
    _, fleet = stack_fleets([problem])
    assert fleet.loads[0].tolist() == [[0, 0], [1, 3], [2, 4]]
    assert fleet.capacity[0].tolist() == [[3, 7], [5, INF]]
    assert fleet.seen_capacity[0].tolist() == [5, 7]


def test_numbers_beyond_float32_are_no_limits() -> None:
    found = as_limits([1.0, 1e60, -1e60, np.inf], slack=1e-9, unit=1.0)
    assert found[0] == pytest.approx(1.0, abs=1e-4)
    assert found[1:].tolist() == [np.inf, -np.inf, np.inf]


def test_amounts_beyond_whole_numbers_of_the_machine() -> None:
    places = [(0, 0), (0, 1), (1, 0)]
    problem = Problem.from_coordinates(places, demand=[0, 2e99, 3e99], capacity=4e99)
    amounts = as_amounts(problem, 0, [problem.capacity])
    first, second = amounts.amounts[1:]
    held = amounts.capacities[0] + amounts.tolerances[0]
    assert max(first, second) <= held < first + second  # each fits, both do not
