"""Roads with one-way streets and gaps: an answer of OSRM's table service.

Where the answer holds null no road leads from one place to the other, and no plan uses one.
"""

import json
from pathlib import Path

import spacevrp

answer = json.loads((Path(__file__).parent / "data" / "osrm_table.json").read_text())
names = [waypoint["name"] for waypoint in answer["sources"]]
missing = sum(entry is None for row in answer["distances"] for entry in row)

problem = spacevrp.Problem.from_table(
    answer,
    ids=names,
    depots="warehouse",
    demand=[0] + [3, 5, 2, 4] * 3,
    capacity=14,
    windows=[("08:00", "16:00")] + [("08:00", "12:00"), (None, None), ("09:00", "15:00")] * 4,
    service=[0] + [300] * 12,
    time_unit="s",  # as the answer's durations
)
print(f"{problem.variant_name}: {problem.size} places, {missing} roads that are not there")
solution = spacevrp.solve(problem, device="cpu")
print(solution)
