"""An answer of openrouteservice's matrix: open routes, whose drivers go home from the last stop."""

import json
from pathlib import Path

import spacevrp

answer = json.loads((Path(__file__).parent / "data" / "ors_matrix.json").read_text())
problem = spacevrp.Problem.from_table(
    answer, depots=2, demand=[1, 1, 0, 1, 1], capacity=3, open_routes=True
)
solution = spacevrp.solve(problem, device="cpu")
print(solution)
