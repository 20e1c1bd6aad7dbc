"""The test sets: reproducible to the bit, and true to the recipe."""

from __future__ import annotations

import hashlib
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacevrp.generators import generate, generate_arrays, recipe
from spacevrp.generators.stream import Streams
from spacevrp.generators.testsets import _prizes_by_distance
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS

NAMES = list(VARIANTS)
SIZES = st.integers(4, 12)


def possible(name: str, size: int) -> int:
    """The size, or the next even one where customers come in pairs."""
    return size + size % 2 if VARIANTS[name].features.pickup_delivery else size


# ---------------------------------------------------------------------------------- reproducibility

# A change here means that published instances have changed: never update these to please a test.
DIGESTS = {
    ("TSP", 10, 1, 0): "e76c6cbf5205d530c94655e54b905caa",
    ("CVRP", 100, 1, 0): "ed2132a9f0d432a19c0d2ffff309caef",
    ("ACVRPBTW", 20, 1, 3): "534b4c468052aa5053364a4d7bc75f21",
    ("AMDOCVRPBPLTW", 10, 7, 2): "80556c1f8fda9ed870404a49e565ec13",
    ("MDCVRPTW", 12, 2**40, 0): "2d05c282236aad5e878d8feff2dd532d",
    ("AOP", 10, 1, 5): "82b29a4e00aa8a982d303965a3380164",
    ("OP", 20, 1, 0): "27bd1edf9904fc9940c2b9be0df9088a",
    ("SPCTSP", 100, 1, 999): "694e9eb4dc786a9104b7e6f42cce1fd2",
    ("OPDCVRP", 10, 1, 0): "738cf8358e95ef66315964e8dc8197ef",
    ("APDTSP", 50, 3, 1): "d928cdc2ede1204942d8e8c569d093d5",
}


def digest(arrays: dict[str, Any]) -> str:
    """SHA-256 over the keys and the little-endian numbers of an instance, in the order of keys."""
    total = hashlib.sha256()
    for key in sorted(arrays):
        value = arrays[key]
        total.update(key.encode())
        total.update(
            str(value).encode() if value.dtype.kind == "U" else value.astype("<f8").tobytes()
        )
    return total.hexdigest()[:32]


@pytest.mark.parametrize(("key", "expected"), DIGESTS.items())
def test_published_instances_never_change(key: tuple[str, int, int, int], expected: str) -> None:
    name, size, seed, index = key
    assert digest(generate_arrays(name, size, 1, seed, first=index)) == expected


@given(st.sampled_from(NAMES), SIZES, st.integers(0, 2**64 - 1), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_an_instance_depends_on_its_own_number_only(name, size, seed, index):
    size = possible(name, size)
    (alone,) = generate(name, size, 1, seed, first=index)
    assert generate(name, size, 3, seed, first=index)[0] == alone
    if index:
        assert generate(name, size, 2, seed, first=index - 1)[1] == alone
    assert generate(VARIANTS[name], size, 1, seed, first=index + 1)[0] != alone


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 3}, "size: expected a whole number of at least 4, received 3"),
        ({"count": 0}, "count: expected a whole number from 1 to"),
        ({"seed": -1}, "seed: expected a whole number from 0 to"),
        ({"seed": 2**64}, "received 18446744073709551616"),
        ({"first": 1.5}, "first: expected a whole number from 0 to"),
    ],
)
def test_impossible_requests_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        generate("CVRP", **arguments)


# ---------------------------------------------------------------------------- every customer fits


def own_routes(problem: Problem) -> list[list[list[int]]]:
    """Plans that serve every customer, and those of a vehicle of its own from every depot."""
    if not problem.depots:
        return [[list(problem.customers)]]
    home = [] if problem.open_routes else [0]
    if problem.max_routes == 1:
        # In the order of their numbers, pickups come before deliveries.
        return [[[0, *problem.customers, *home]]]
    if problem.pairs:
        return [[[0, pickup, delivery, *home] for pickup, delivery in problem.pairs]]
    return [
        [[depot, node] + ([] if problem.open_routes else [depot]) for node in problem.customers]
        for depot in problem.depots
    ]


@given(st.sampled_from(NAMES), SIZES, st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_every_customer_can_be_served(name: str, size: int, seed: int) -> None:
    (problem,) = generate(name, possible(name, size), seed=seed)
    if problem.maximise_prize:
        for node in problem.customers:
            length = problem.distances.between(0, node) + problem.distances.between(node, 0)
            in_reach = length <= problem.max_length
            assert judge(problem, [[0, node, 0]]).feasible == in_reach
            assert in_reach or not VARIANTS[name].features.asymmetric
        return
    for plan in own_routes(problem):
        assert judge(problem, plan).violations == ()


def test_all_variants_are_what_they_claim_to_be() -> None:
    for name, variant in VARIANTS.items():
        (problem,) = generate(name, 10)
        assert problem.variant == name
        assert problem.load_rule == "single"
        assert problem.size == recipe.num_nodes(variant.features, 10)


# ---------------------------------------------------------------------------- the drawn quantities


@given(st.sampled_from([name for name in NAMES if name.startswith("A")]), SIZES)
@settings(max_examples=60, deadline=None)
def test_asymmetric_distances_are_closed_whole_millionths(name: str, size: int) -> None:
    matrix = generate_arrays(name, possible(name, size), seed=size)["matrix"][0]
    whole = np.rint(matrix * 10**6)
    assert (matrix == whole / 10**6).all()
    assert (np.diag(matrix) == 0).all()
    assert whole.max() < 10**6
    detours = (whole[:, :, None] + whole[None]).min(axis=1)
    assert (whole <= detours).all()
    assert (matrix != matrix.T).any()


@pytest.mark.parametrize("name", ["PDCVRP", "AOPDCVRP"])
def test_pickups_come_first_and_their_deliveries_match(name: str) -> None:
    for problem in generate(name, 8, 20):
        assert problem.pairs == ((1, 5), (2, 6), (3, 7), (4, 8))
        assert (problem.demand[1:5] < 0).all()
        assert (problem.demand[5:] == -problem.demand[1:5]).all()
        assert problem.capacity == 20


def test_an_instance_with_windows_rebuilt_from_its_stream() -> None:
    """The order of the draws is part of what is published: points, demand, centres, widths."""
    arrays = generate_arrays("MDCVRPTW", 6, 1, seed=5, first=2)
    stream = Streams.for_instances("MDCVRPTW", 6, 5, [2])
    points = stream.uniform(9, 2)[0].tolist()
    stream.whole(1, 10, 6)
    centres, widths = stream.uniform(6)[0], stream.uniform(6)[0]
    for customer in range(6):
        far = max(
            sqrt((x - points[3 + customer][0]) ** 2 + (y - points[3 + customer][1]) ** 2)
            for x, y in points[:3]
        )
        centre = far + centres[customer] * (3.0 - far - 0.2 - far)
        half = 0.1 + widths[customer] * 0.9
        opening, closing = arrays["tw"][0, 3 + customer]
        assert opening == pytest.approx(max(0.0, centre - half), abs=1e-12)
        assert closing == pytest.approx(min(3.0, centre + half), abs=1e-12)
    assert (arrays["tw"][0, :3] == [0.0, 3.0]).all()
    assert arrays["service"].tolist() == [[0.0] * 3 + [0.2] * 6]


def test_orienteering_prizes_worked_out_by_hand() -> None:
    prizes = _prizes_by_distance(np.array([[0.5, 1.0, 0.1, 0.0], [0.3, 0.2, 0.1, 0.05]]))
    # 1 + floor(49.5), 1 + 99, 1 + floor(9.9), 1 + 0; then 1 + 99, 1 + 66, 1 + 33, 1 + 16.
    expected = [[0.50, 1.00, 0.10, 0.01], [1.00, 0.67, 0.34, 0.17]]
    assert prizes == pytest.approx(np.array(expected), abs=1e-12)
