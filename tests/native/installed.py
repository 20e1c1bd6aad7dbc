"""``python installed.py [compiled | missing]``: is the search of the spacevrp installed here right?

For wheels and source archives: it needs NumPy alone, no PyTorch and no pytest.
"""

from __future__ import annotations

import sys

from spacevrp import Problem, native
from spacevrp.search import Stop, improve


def main(expected: str = "compiled") -> None:
    print(native.__file__, native.available())
    if expected == "missing":
        assert not native.available(), "expected no compiled search"
        assert native.MISSING.startswith("the compiled search is not installed")
        return
    assert native.available(), native.MISSING
    # Two rectangles of 3 by 4 with the depot at a corner of both; a vehicle holds three customers.
    places = [(0, 0), (3, 0), (3, 4), (0, 4), (-3, 0), (-3, -4), (0, -4)]
    problem = Problem.from_coordinates(places, demand=[0, 1, 1, 1, 1, 1, 1], capacity=3)
    (found,) = improve([problem], [None], stop=Stop(iterations=200))
    print(found)
    assert found.feasible
    assert abs(found.cost - 2 * 14) < 1e-9, found.cost


if __name__ == "__main__":
    main(*sys.argv[1:])
