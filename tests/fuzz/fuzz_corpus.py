"""Small valid files of every format: what the fuzzers start from."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = Path(__file__).parents[2] / "examples" / "data"

CVRP = """\
NAME : corner
COMMENT : four customers
TYPE : CVRP
DIMENSION : 5
VEHICLES : 3
CAPACITY : 10
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 3 0
3 0 4
4 3 4
5 7.5 -2
DEMAND_SECTION
1 0
2 1
3 2
4 3
5 6
DEPOT_SECTION
 1
 -1
EOF
"""
TIMED = CVRP.replace("TYPE : CVRP", "TYPE : CVRPTW\nSERVICE_TIME : 2").replace(
    "DEPOT_S", "TIME_WINDOW_SECTION\n1 0 90\n2 0 19\n3 5 29\n4 0 31\n5 4 80.5\nDEPOT_S"
)
BACKHAULS = CVRP.replace("TYPE : CVRP", "TYPE : VRPB").replace(
    "DEPOT_S", "BACKHAUL_SECTION\n3\n4\n-1\nDEPOT_S"
)
SEVERAL_DEPOTS = (
    CVRP.replace("TYPE : CVRP", "TYPE : MDVRP\nDISTANCE : 40")
    .replace(" 1\n -1", " 1\n 2\n -1")
    .replace("2 1\n", "2 0\n")
)
# PyVRP's dialect: vehicles one by one, prizes, pairs. What is priced is judged, but not solved yet.
MIXED = (
    CVRP.replace("TYPE : CVRP", "TYPE : HFVRP")
    .replace("CAPACITY : 10\n", "VEHICLES_MAX_DURATION : 60\n")
    .replace(
        "DEPOT_SECTION\n 1\n -1",
        "CAPACITY_SECTION\n1 6\n2 6\n3 12\nVEHICLES_FIXED_COST_SECTION\n1 2\n2 2\n3 5.5\n"
        "VEHICLES_ALLOWED_CLIENTS_SECTION\n1 2 3 4 5\n2 2 3\n3 3 4 5\nDEPOT_SECTION\n 1",
    )
)
PRICED = TIMED.replace("TYPE : CVRPTW", "TYPE : SDVRPTW\nVEHICLES_MAX_DURATION : 60").replace(
    "DEPOT_S",
    "VEHICLES_DEPOT_SECTION\n1 1\n2 1\n3 1\nVEHICLES_UNIT_DISTANCE_COST_SECTION\n1 2\n2 2\n3 1\n"
    "DEPOT_S",
)
PRIZES = TIMED.replace("TYPE : CVRPTW", "TYPE : PCVRPTW").replace(
    "DEPOT_S", "PRIZE_SECTION\n1 0\n2 0\n3 4\n4 20\n5 1.5\nDEPOT_S"
)
PAIRS = """\
NAME : p
TYPE : PDPTW
DIMENSION : 5
CAPACITY : 10
EDGE_WEIGHT_TYPE : EXACT_2D
NODE_COORD_SECTION
1 0 0
2 3 0
3 3 4
4 0 4
5 0 8
PICKUP_AND_DELIVERY_SECTION
1 0 0 100 0 0 0
2 4 5 50 2 0 4
3 -6 0 60 2 5 0
4 -4 0 70 2 2 0
5 6 7.5 80 2 0 3
DEPOT_SECTION
1
-1
EOF
"""
SPACE = "NAME : s\nTYPE : TSP\nVEHICLES : 1\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EUC_3D\n" + (
    "NODE_COORD_SECTION\n1 0 0 0\n2 1 2 3\n3 4 0 1\nEOF\n"
)
LILIM = """\
2 10 1
0 0 0 0 0 100 0 0 0
1 3 0 4 5 50 2 0 3
2 3 4 -6 0 60 2 4 0
3 0 4 -4 0 70 2 1 0
4 0 8 6 7.5 80 2 0 2
"""
CORDEAU = """\
2 1 3 2
20 8
20 9
1 3 0 1 4 1 2 1 2
2 3 4 1 4 1 2 1 2
3 0 4 1 5 1 2 1 2
4 0 0 0 0 0 0
5 0 8 0 0 0 0
"""
OPEN = CVRP.replace("TYPE : CVRP", "TYPE : OVRP").replace("EUC_2D", "EXACT_2D")
TSP_GEO = """\
NAME: burma5
TYPE: TSP
DIMENSION: 5
EDGE_WEIGHT_TYPE: GEO
NODE_COORD_SECTION
   1  16.47       96.10
   2  16.47       94.44
   3  20.09       92.54
   4  22.39       93.37
   5  25.23       97.24
EOF
"""
TSP_MATRIX = """\
NAME : m
TYPE : TSP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EXPLICIT
EDGE_WEIGHT_FORMAT : LOWER_ROW
EDGE_WEIGHT_SECTION
1 2 3
4 5 6
EOF
"""
ATSP = """\
NAME : a
TYPE : ATSP
DIMENSION : 3
EDGE_WEIGHT_TYPE : EXPLICIT
EDGE_WEIGHT_FORMAT : FULL_MATRIX
EDGE_WEIGHT_SECTION
0 1 2
3 0 4
5 6 0
EOF
"""
SOLOMON = """\
R101

VEHICLE
NUMBER     CAPACITY
  3         20

CUSTOMER
CUST NO.  XCOORD.   YCOORD.    DEMAND   READY TIME  DUE DATE   SERVICE TIME

    0      35         35          0          0       230          0
    1      41         49         10        161       171         10
    2      35         17          7         50        60         10
    3      55         45         13        116       126         10
    4      55         20         19        149       159         10
"""
PLAIN_CSV = """\
id,x,y,demand,capacity,vehicles
depot,0,0,,10,2
a,3,0,4,,
b,0,4,5,,
"c, d",3,4,6,,
"""
PAIRS_CSV = """\
id;x;y;demand;pickup_id;max_length
0;0;0;0;;50
1;1;2;-3;;
2;4;2;3;1;
3;5;5;-1;;
4;0;3;1;3;
"""
SOL = "Route #1: 1 2\nRoute #2: 4 3\nCost 31\n"

OWN: dict[str, dict[str, Any]] = {
    "windows": {
        "format": "spacevrp-instance",
        "version": 1,
        "name": "day",
        "locations": [[0, 0], [3, 0], [0, 4], [3, 4]],
        "metric": {"geometry": "manhattan", "rounding": "nearest"},
        "depots": ["hub"],
        "demand": [0, 4, -5, 6],
        "capacity": 10,
        "load_rule": "single",
        "windows": [["08:00", "12:00"], ["08:30", None], [None, "11:00"], ["09:00", "10:30"]],
        "service": [0, 5, 5, 5],
        "time_unit": "min",
        "ids": ["hub", "a", "b", 4],
        "max_routes": 3,
    },
    "dates": {
        "matrix": [[0, 5, 7], [6, 0, None], [8, 2, 0]],
        "durations": [[0, 50, 70], [60, 0, 90], [80, 20, 0]],
        "depots": [0],
        "windows": [
            ["2026-03-02T08:00", "2026-03-02T12:00"],
            ["2026-03-02T08:00", None],
            [None, "2026-03-02T10:00"],
        ],
        "places": [[10.1, 54.3], [10.2, 54.3], [10.2, 54.2]],
        "geographic": True,
    },
    "numbers": {
        "locations": [[0, 0], [3, 0], [0, 4]],
        "durations": {"locations": [[0, 0], [6, 0], [0, 8]]},
        "depots": [0],
        "windows": [[0, 100], [5, 50], [0, None]],
        "clock": {"origin": 1772438400, "unit": "s", "form": "number"},
    },
    "prizes": {
        "variant": "PCTSP",
        "locations": [[0, 0], [0.3, 0], [0, 0.4], [0.5, 0.5]],
        "depots": [0],
        "prize": [0, 0.4, 0.5, 0.6],
        "penalty": [0, 0.1, 0.2, 0.3],
        "min_prize": 1,
    },
    "orienteering": {
        "variant": "OP",
        "locations": [[0, 0], [0.3, 0], [0, 0.4], [0.5, 0.5]],
        "depots": [0],
        "prize": [0, 0.4, 0.5, 0.6],
        "max_length": 1.5,
    },
    "fleet": {
        "locations": [[0, 0], [3, 0], [0, 4], [3, 4], [1, 1]],
        "depots": [0, 4],
        "demand": [[0, 0], [2, 1], [3, 0], [2, 4], [0, 0]],
        "capacity": [9, 9],
        "vehicles": [
            {"name": "van", "count": 1, "capacity": [4, 5], "start": 0, "fixed_cost": 5},
            {"name": "truck", "start": 4, "end": 0, "max_length": 40, "forbidden": [1]},
            {"name": "own car", "start": 4, "open_route": True, "window": [0, 90]},
        ],
    },
    "pairs": {
        "locations": [[0, 0], [3, 0], [0, 4], [3, 4], [1, 1]],
        "depots": [0],
        "demand": [0, -2, -3, 2, 3],
        "capacity": 4,
        "pairs": [[1, 3], [2, 4]],
        "open_routes": True,
    },
}
ORTOOLS: dict[str, Any] = {
    "distance_matrix": [[0, 5, 7, 4], [5, 0, 3, 6], [7, 3, 0, 2], [4, 6, 2, 0]],
    "time_matrix": [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]],
    "num_vehicles": 2,
    "depot": 0,
    "demands": [0, 3, 4, 5],
    "vehicle_capacities": [8, 8],
    "time_windows": [[0, 20], [1, 15], [0, 18], [2, 12]],
    "service_time": 1,
}
ORTOOLS_PAIRS: dict[str, Any] = {
    "locations": [[0, 0], [3, 0], [0, 4], [3, 4], [1, 1]],
    "num_vehicles": 2,
    "depot": 0,
    "pickups_deliveries": [[1, 2], [3, 4]],
}
_WAYPOINTS = [
    {"location": [10.1, 54.3], "distance": 3.1, "name": "a", "hint": "x"},
    {"location": [10.2, 54.3], "distance": 3.1, "name": "b", "hint": "x"},
    {"location": [10.2, 54.2], "distance": 3.1, "name": "", "hint": "x"},
]
OSRM: dict[str, Any] = {
    "code": "Ok",
    "durations": [[0, 224.1, 922.3], [197.3, 0, 815.3], [644.3, 554.5, 0]],
    "distances": [[0, 1800.5, 7700], [1750, 0, 6900.1], [5300, 4800, 0]],
    "sources": _WAYPOINTS,
    "destinations": _WAYPOINTS,
}
ORS: dict[str, Any] = {
    "durations": [[0, 224.1, None], [197.3, 0, 815.3], [644.3, 554.5, 0]],
    "sources": [{"location": waypoint["location"]} for waypoint in _WAYPOINTS],
    "destinations": [{"location": waypoint["location"]} for waypoint in _WAYPOINTS],
    "metadata": {"service": "matrix"},
}
VALHALLA: dict[str, Any] = {
    "sources_to_targets": [
        [
            {"from_index": i, "to_index": j, "time": 100 * abs(i - j) + j, "distance": abs(i - j)}
            for j in range(3)
        ]
        for i in range(3)
    ],
    "sources": [{"lon": 10.1, "lat": 54.3}, {"lon": 10.2, "lat": 54.3}, {"lon": 10, "lat": 54}],
    "targets": [{"lon": 10.1, "lat": 54.3}, {"lon": 10.2, "lat": 54.3}, {"lon": 10, "lat": 54}],
    "units": "kilometers",
}
VROOM: dict[str, Any] = {
    "vehicles": [
        {"id": n, "start_index": 0, "end_index": 0, "capacity": [12], "time_window": [1000, 9000]}
        for n in (1, 2)
    ],
    "jobs": [
        {"id": 1, "location_index": 1, "delivery": [4], "service": 30},
        {"id": 2, "location_index": 2, "pickup": [5], "time_windows": [[1000, 4000]]},
        {"id": 3, "location_index": 1, "delivery": [6], "skills": [], "priority": 3},
    ],
    "matrices": {"car": {"durations": [[0, 100, 200], [110, 0, 150], [210, 140, 0]]}},
}
VROOM_SHIPMENTS: dict[str, Any] = {
    "vehicles": [{"id": 1, "start_index": 0, "capacity": [12], "time_window": [0, 5000]}],
    "shipments": [
        {
            "amount": [3],
            "pickup": {"id": 1, "location_index": 1, "service": 5},
            "delivery": {"id": 1, "location_index": 2},
        }
    ],
    "matrices": {
        "car": {
            "durations": [[0, 100, 200], [110, 0, 150], [210, 140, 0]],
            "costs": [[0, 1, 2], [3, 0, 4], [5, 6, 0]],
        }
    },
}
VROOM_FLEET: dict[str, Any] = {
    "vehicles": [
        {"id": 1, "start_index": 0, "end_index": 0, "capacity": [8, 2], "skills": [1]},
        {"id": 2, "start_index": 2, "capacity": [9, 9], "time_window": [0, 900], "skills": []},
        {"id": 3, "start_index": 0, "end_index": 2, "capacity": [9, 9], "costs": {"fixed": 30}},
    ],
    "jobs": [
        {"id": 1, "location_index": 1, "delivery": [4, 1], "skills": [1]},
        {"id": 2, "location_index": 3, "delivery": [5, 0], "service": 20},
        {"id": 3, "location_index": 3, "pickup": [1, 3], "time_windows": [[0, 700]]},
    ],
    "matrices": {
        "car": {
            "durations": [
                [0, 100, 200, 90],
                [110, 0, 150, 80],
                [210, 140, 0, 70],
                [95, 85, 75, 0],
            ]
        }
    },
}
# What Problem.from_data takes, in a file.
PYTHON: dict[str, dict[str, Any]] = {
    "points": {
        "coordinates": [[0, 0], [3, 0], [0, 4]],
        "ids": [7, "a", 8],
        "depots": [7],
        "demand": [[0, 0], [2, 1], [3, 1]],
        "capacity": [4, 2],
    },
    "places": {
        "lonlat": [[13, 52], [13.1, 52], [13, 52.1]],
        "speed_kmh": 40,
        "windows": [[None, 9000], [0, 8000], [500, None]],
    },
    "columns": {
        "id": ["hub", "a", "b"],
        "x": [0, 3, 0],
        "y": [0, 0, 4],
        "demand_kg": [None, 2, 3],
        "demand_m3": [None, 1, 1],
        "capacity_kg": [4, None, None],
        "time_unit": "min",
    },
}
# A plan as Solution.to_dict gives it, cut short.
PLAN: dict[str, Any] = {
    "name": "",
    "cost": 31,
    "feasible": True,
    "skipped": [],
    "routes": [
        {"number": 1, "stops": [{"id": n, "node": n, "kind": "visit"} for n in (0, 1, 2, 0)]},
        {"number": 2, "stops": [{"id": 0}, {"node": 4}, {"id": 3}, {"node": 0}]},
    ],
}
PLAN_CSV = "route,id,node,load\n1,0,0,7\n1,1,1,4\n1,2,2,0\n1,0,0,0\n2,0,0,9\n2,3,3,0\n2,0,0,0\n"
SOLUTION: dict[str, Any] = {
    "variant": "CVRP",
    "instances": [{"cost": 31, "routes": [[0, 1, 2, 0], [0, 4, 3, 0]], "feasible": True}],
    "seconds": 0.5,
    "device": "cpu",
}


def text_files() -> dict[str, str]:
    """Name -> a valid text file, instances only."""
    return {
        "cvrp.vrp": CVRP,
        "timed.vrp": TIMED,
        "backhauls.vrp": BACKHAULS,
        "depots.vrp": SEVERAL_DEPOTS,
        "open.vrp": OPEN,
        "geo.tsp": TSP_GEO,
        "matrix.tsp": TSP_MATRIX,
        "roads.atsp": ATSP,
        "solomon.txt": SOLOMON,
        "mixed.vrp": MIXED,
        "priced.vrp": PRICED,
        "prizes.vrp": PRIZES,
        "pairs.vrp": PAIRS,
        "space.tsp": SPACE,
        "lilim.txt": LILIM,
        "cordeau.txt": CORDEAU,
        "plain.csv": PLAIN_CSV,
        "pairs.csv": PAIRS_CSV,
        "stops.csv": (EXAMPLES / "stops.csv").read_text(encoding="utf-8"),
    }


def documents() -> dict[str, dict[str, Any]]:
    """Name -> a valid document, to be written as JSON."""
    return {
        **{f"own-{name}": document for name, document in OWN.items()},
        **{f"python-{name}": document for name, document in PYTHON.items()},
        "ortools": ORTOOLS,
        "ortools-pairs": ORTOOLS_PAIRS,
        "osrm": OSRM,
        "ors": ORS,
        "valhalla": VALHALLA,
        "vroom": VROOM,
        "vroom-shipments": VROOM_SHIPMENTS,
        "vroom-fleet": VROOM_FLEET,
    }


def batches() -> dict[str, dict[str, Any]]:
    """Name -> the arrays of a valid .npz batch."""
    points = np.array([[[0, 0], [0.3, 0], [0, 0.4], [0.5, 0.5], [0.9, 0.1]]] * 2)  # (2, 5, 2)
    demand = np.array([[0, 3.0, 4, 5, 6]] * 2)  # (2, 5)
    return {
        "cvrp": {
            "variant": np.array("CVRP"),
            "num_depots": np.array(1),
            "coords": points,
            "demand": demand,
            "capacity": np.array([10.0, 12.0]),
        },
        "timed": {
            "variant": np.array("OCVRPLTW"),
            "num_depots": np.array(1),
            "coords": points,
            "demand": demand,
            "capacity": np.array([10.0, 12.0]),
            "max_length": np.array([3.0, np.inf]),
            "tw": np.array([[[0, 3.0]] * 5] * 2),
            "service": np.full((2, 5), 0.2) * (demand > 0),
        },
        "atsp": {
            "variant": np.array("ATSP"),
            "num_depots": np.array(0),
            "matrix": np.array([[[0, 1, 2], [3, 0, 4], [5, 6, 0]]]),
            "ref_cost": np.zeros(1),
        },
        "prizes": {
            "variant": np.array("SPCTSP"),
            "num_depots": np.array(1),
            "coords": points[:1],
            "prize": np.array([[0, 0.5, 0.5, 0.5, 0.5]]),
            "penalty": np.array([[0, 0.1, 0.2, 0.3, 0.4]]),
            "min_prize": np.array([1.0]),
            "revealed_prize": np.array([[0, 0.6, 0.4, 0.5, 0.3]]),
        },
    }


def pack(arrays: dict[str, Any]) -> bytes:
    """The bytes of an .npz with these arrays; arrays of objects are pickled, as NumPy does it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=True)
            info = zipfile.ZipInfo(f"{name}.npy")
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, member.getvalue())
    return stream.getvalue()


def files() -> dict[str, bytes]:
    """Name -> the bytes of a valid file, every format there is; solutions are called plan."""
    held = {name: text.encode() for name, text in text_files().items()}
    held |= {f"{name}.json": json.dumps(value).encode() for name, value in documents().items()}
    held |= {f"{name}.npz": pack(arrays) for name, arrays in batches().items()}
    held |= {"plan.sol": SOL.encode(), "plan.json": json.dumps(SOLUTION).encode()}
    held |= {"plan.csv": PLAN_CSV.encode(), "plan-stops.json": json.dumps(PLAN).encode()}
    return held
