"""An answer of Valhalla's sources_to_targets: kilometres and seconds, a tour back to the start."""

import json
from pathlib import Path

import spacevrp

answer = json.loads((Path(__file__).parent / "data" / "valhalla_matrix.json").read_text())
problem = spacevrp.Problem.from_table(answer, depots=(), minimise="distances")
solution = spacevrp.solve(problem, device="cpu")
print(solution)
print(f"{solution.cost:.1f} km, {solution.plan.routes[0].driving / 60:.0f} minutes")
