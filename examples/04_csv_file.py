"""A file of stops with longitudes, latitudes and times of day, as a spreadsheet exports it."""

from pathlib import Path

import spacevrp

problem = spacevrp.read(Path(__file__).parent / "data" / "stops.csv")
solution = spacevrp.solve(problem, device="cpu")
print(solution)
