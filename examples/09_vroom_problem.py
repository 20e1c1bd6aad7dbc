"""A problem written for VROOM, timestamps and all; and a plan as VROOM would answer."""

import json
from pathlib import Path

import spacevrp

document = json.loads((Path(__file__).parent / "data" / "vroom.json").read_text())
problem = spacevrp.Problem.from_vroom(document)
solution = spacevrp.solve(problem, device="cpu")
print(solution)
print(json.dumps(solution.to_vroom()["summary"]))
