"""Longitudes and latitudes alone: metres as the crow flies, minutes at 25 km/h, a map to share."""

import json
import tempfile
from pathlib import Path

import spacevrp

problem = spacevrp.Problem.from_lonlat(
    [(13.377, 52.516), (13.413, 52.522), (13.335, 52.505), (13.440, 52.505), (13.361, 52.535)],
    ids=["depot", "tower", "zoo", "bridge", "harbour"],
    speed_kmh=25,
    time_unit="min",
    demand=[0, 2, 1, 2, 1],
    capacity=4,
    windows=[
        ("06:00", "10:00"),
        ("06:30", "07:00"),
        (None, None),
        ("07:00", "08:00"),
        (None, None),
    ],
    service=[0, 8, 8, 8, 8],
)
solution = spacevrp.solve(problem, device="cpu")
print(solution)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "routes.geojson"
    solution.save(path)
    print(f"{len(json.loads(path.read_text())['features'])} features for a map")
