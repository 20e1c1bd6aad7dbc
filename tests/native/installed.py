"""``python installed.py [compiled | missing]``: does the spacevrp installed here solve a problem?

For wheels and source archives: it needs what these bring, no PyTorch and no pytest.
"""

from __future__ import annotations

import sys

from spacevrp import Problem, Solver, native
from spacevrp.problems.errors import SpacevrpError
from spacevrp.search import Stop, improve


def main(expected: str = "compiled") -> None:
    print(native.__file__, native.available())
    if expected == "missing":
        assert not native.available(), "expected no compiled search"
        assert native.MISSING.startswith("the compiled search is not installed")
        message = "none"
        try:
            Solver()
        except SpacevrpError as error:
            message = str(error)
        print(message)
        assert "spacevrp[torch]" in message, "expected a line that says what to install"
        return
    assert native.available(), native.MISSING
    # Two rectangles of 3 by 4 with the depot at a corner of both; a vehicle holds three customers.
    places = [(0, 0), (3, 0), (3, 4), (0, 4), (-3, 0), (-3, -4), (0, -4)]
    problem = Problem.from_coordinates(places, demand=[0, 1, 1, 1, 1, 1, 1], capacity=3)
    (found,) = improve([problem], [None], stop=Stop(iterations=200))
    print(found)
    assert found.feasible
    assert abs(found.cost - 2 * 14) < 1e-9, found.cost
    solved = Solver(device="cpu", engine="native").solve(problem)
    assert abs(solved.cost - 2 * 14) < 1e-9, solved.cost
    assert "torch" not in sys.modules


if __name__ == "__main__":
    main(*sys.argv[1:])
