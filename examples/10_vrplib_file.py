"""A VRPLIB file in, a .sol file out."""

import tempfile
from pathlib import Path

import spacevrp

problem = spacevrp.read(Path(__file__).parent / "data" / "town.vrp")
solution = spacevrp.solve(problem, device="cpu")
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "town.sol"
    solution.save(path)
    print(path.read_text(), end="")
