"""The recipe's numbers, as the specification of the instances lists them."""

from __future__ import annotations

from math import inf

import pytest

from spacevrp.generators import recipe
from spacevrp.problems.errors import ProblemError
from spacevrp.problems.variants import VARIANTS


@pytest.mark.parametrize(
    ("name", "size", "limit"),
    [
        ("CVRPL", 100, 3.0),
        ("AMDCVRPBL", 100, 0.6),
        ("CVRP", 100, inf),
        ("OP", 20, 2.0),
        ("OP", 100, 4.0),
        ("OP", 4, 2.0),
        ("OP", 75, 3.5),
        ("OP", 1000, 4.0),
        ("AOP", 20, 1.0),
    ],
)
def test_length_limits(name: str, size: int, limit: float) -> None:
    assert recipe.max_length(VARIANTS[name].features, size) == pytest.approx(limit, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("CVRP", 3, "size: expected a whole number of at least 4, received 3"),
        ("CVRP", 10.0, "size: expected a whole number of at least 4, received 10.0"),
        ("PDTSP", 7, "size: expected an even number, as customers come in pairs, received 7"),
    ],
)
def test_impossible_sizes_are_refused(name: str, size: int, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        recipe.check_size(VARIANTS[name].features, size)
    assert str(caught.value) == message
