"""The data of OR-Tools' routing guides, and OR-Tools itself as its guides call it.

Source: https://developers.google.com/optimization/routing, samples under the Apache License 2.0.
"""

from __future__ import annotations

from typing import Any

DISTANCES = [
    [0, 548, 776, 696, 582, 274, 502, 194, 308, 194, 536, 502, 388, 354, 468, 776, 662],
    [548, 0, 684, 308, 194, 502, 730, 354, 696, 742, 1084, 594, 480, 674, 1016, 868, 1210],
    [776, 684, 0, 992, 878, 502, 274, 810, 468, 742, 400, 1278, 1164, 1130, 788, 1552, 754],
    [696, 308, 992, 0, 114, 650, 878, 502, 844, 890, 1232, 514, 628, 822, 1164, 560, 1358],
    [582, 194, 878, 114, 0, 536, 764, 388, 730, 776, 1118, 400, 514, 708, 1050, 674, 1244],
    [274, 502, 502, 650, 536, 0, 228, 308, 194, 240, 582, 776, 662, 628, 514, 1050, 708],
    [502, 730, 274, 878, 764, 228, 0, 536, 194, 468, 354, 1004, 890, 856, 514, 1278, 480],
    [194, 354, 810, 502, 388, 308, 536, 0, 342, 388, 730, 468, 354, 320, 662, 742, 856],
    [308, 696, 468, 844, 730, 194, 194, 342, 0, 274, 388, 810, 696, 662, 320, 1084, 514],
    [194, 742, 742, 890, 776, 240, 468, 388, 274, 0, 342, 536, 422, 388, 274, 810, 468],
    [536, 1084, 400, 1232, 1118, 582, 354, 730, 388, 342, 0, 878, 764, 730, 388, 1152, 354],
    [502, 594, 1278, 514, 400, 776, 1004, 468, 810, 536, 878, 0, 114, 308, 650, 274, 844],
    [388, 480, 1164, 628, 514, 662, 890, 354, 696, 422, 764, 114, 0, 194, 536, 388, 730],
    [354, 674, 1130, 822, 708, 628, 856, 320, 662, 388, 730, 308, 194, 0, 342, 422, 536],
    [468, 1016, 788, 1164, 1050, 514, 514, 662, 320, 274, 388, 650, 536, 342, 0, 764, 194],
    [776, 868, 1552, 560, 674, 1050, 1278, 742, 1084, 810, 1152, 274, 388, 422, 764, 0, 798],
    [662, 1210, 754, 1358, 1244, 708, 480, 856, 514, 468, 354, 844, 730, 536, 194, 798, 0],
]
TIMES = [
    [0, 6, 9, 8, 7, 3, 6, 2, 3, 2, 6, 6, 4, 4, 5, 9, 7],
    [6, 0, 8, 3, 2, 6, 8, 4, 8, 8, 13, 7, 5, 8, 12, 10, 14],
    [9, 8, 0, 11, 10, 6, 3, 9, 5, 8, 4, 15, 14, 13, 9, 18, 9],
    [8, 3, 11, 0, 1, 7, 10, 6, 10, 10, 14, 6, 7, 9, 14, 6, 16],
    [7, 2, 10, 1, 0, 6, 9, 4, 8, 9, 13, 4, 6, 8, 12, 8, 14],
    [3, 6, 6, 7, 6, 0, 2, 3, 2, 2, 7, 9, 7, 7, 6, 12, 8],
    [6, 8, 3, 10, 9, 2, 0, 6, 2, 5, 4, 12, 10, 10, 6, 15, 5],
    [2, 4, 9, 6, 4, 3, 6, 0, 4, 4, 8, 5, 4, 3, 7, 8, 10],
    [3, 8, 5, 10, 8, 2, 2, 4, 0, 3, 4, 9, 8, 7, 3, 13, 6],
    [2, 8, 8, 10, 9, 2, 5, 4, 3, 0, 4, 6, 5, 4, 3, 9, 5],
    [6, 13, 4, 14, 13, 7, 4, 8, 4, 4, 0, 10, 9, 8, 4, 13, 4],
    [6, 7, 15, 6, 4, 9, 12, 5, 9, 6, 10, 0, 1, 3, 7, 3, 10],
    [4, 5, 14, 7, 6, 7, 10, 4, 8, 5, 9, 1, 0, 2, 6, 4, 8],
    [4, 8, 13, 9, 8, 7, 10, 3, 7, 4, 8, 3, 2, 0, 4, 5, 6],
    [5, 12, 9, 14, 12, 6, 6, 7, 3, 3, 4, 7, 6, 4, 0, 9, 2],
    [9, 10, 18, 6, 8, 12, 15, 8, 13, 9, 13, 3, 4, 5, 9, 0, 9],
    [7, 14, 9, 16, 14, 8, 5, 10, 6, 5, 4, 10, 8, 6, 2, 9, 0],
]
CITIES = [
    [0, 2451, 713, 1018, 1631, 1374, 2408, 213, 2571, 875, 1420, 2145, 1972],
    [2451, 0, 1745, 1524, 831, 1240, 959, 2596, 403, 1589, 1374, 357, 579],
    [713, 1745, 0, 355, 920, 803, 1737, 851, 1858, 262, 940, 1453, 1260],
    [1018, 1524, 355, 0, 700, 862, 1395, 1123, 1584, 466, 1056, 1280, 987],
    [1631, 831, 920, 700, 0, 663, 1021, 1769, 949, 796, 879, 586, 371],
    [1374, 1240, 803, 862, 663, 0, 1681, 1551, 1765, 547, 225, 887, 999],
    [2408, 959, 1737, 1395, 1021, 1681, 0, 2493, 678, 1724, 1891, 1114, 701],
    [213, 2596, 851, 1123, 1769, 1551, 2493, 0, 2699, 1038, 1605, 2300, 2099],
    [2571, 403, 1858, 1584, 949, 1765, 678, 2699, 0, 1744, 1645, 653, 600],
    [875, 1589, 262, 466, 796, 547, 1724, 1038, 1744, 0, 679, 1272, 1162],
    [1420, 1374, 940, 1056, 879, 225, 1891, 1605, 1645, 679, 0, 1017, 1200],
    [2145, 357, 1453, 1280, 586, 887, 1114, 2300, 653, 1272, 1017, 0, 504],
    [1972, 579, 1260, 987, 371, 999, 701, 2099, 600, 1162, 1200, 504, 0],
]
PAIRS = [[1, 6], [2, 10], [4, 3], [5, 9], [7, 8], [15, 11], [13, 12], [16, 14]]
WINDOWS = [
    *((0, 5), (7, 12), (10, 15), (16, 18), (10, 13), (0, 5), (5, 10), (0, 4), (5, 10), (0, 3)),
    *((10, 16), (10, 15), (0, 5), (5, 10), (7, 8), (10, 15), (11, 15)),
]
FOUR: dict[str, Any] = {"distance_matrix": DISTANCES, "num_vehicles": 4, "depot": 0}
LOADS = [0, 1, 1, 2, 4, 2, 4, 8, 8, 1, 2, 1, 2, 4, 4, 8, 8]
HEAVIER = [0, 1, 1, 3, 6, 3, 6, 8, 8, 1, 2, 1, 2, 6, 6, 8, 8]
SPAN = {"cost": 1, "makespan": 100}

# Name -> its data, what it puts into code as OR-Tools has it, and as we do.
GUIDES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "cities": ({"distance_matrix": CITIES, "num_vehicles": 1, "depot": 0}, {}, {}),
    "vehicles": (FOUR, {"limit": 3000, "span": 100}, {"max_length": 3000, "objective": SPAN}),
    "starts and ends": (
        {
            "distance_matrix": DISTANCES,
            "num_vehicles": 4,
            "starts": [1, 2, 15, 16],
            "ends": [0, 0, 0, 0],
        },
        {"limit": 2000, "span": 100},
        {"max_length": 2000, "objective": SPAN},
    ),
    "capacities": ({**FOUR, "demands": LOADS, "vehicle_capacities": [15] * 4}, {"guided": 1}, {}),
    "penalties": (
        {**FOUR, "demands": HEAVIER, "vehicle_capacities": [15] * 4},
        {"guided": 1, "penalty": 1000},
        {"penalty": [0.0] + [1000.0] * 16},
    ),
    "pickups and deliveries": (
        {**FOUR, "pickups_deliveries": PAIRS},
        {"limit": 3000, "span": 100, "first": "PARALLEL_CHEAPEST_INSERTION"},
        {"max_length": 3000, "objective": SPAN},
    ),
    "windows": (
        {"time_matrix": TIMES, "time_windows": WINDOWS, "num_vehicles": 4, "depot": 0},
        {"windows": 30},
        {},
    ),
}


def solve_by_ortools(data: dict[str, Any], code: dict[str, Any]) -> int:
    """The objective that OR-Tools comes to with the settings of the guide."""
    from ortools.constraint_solver import pywrapcp, routing_enums_pb2

    matrix = data.get("distance_matrix") or data["time_matrix"]
    ends = (data["starts"], data["ends"]) if "starts" in data else (data["depot"],)
    manager = pywrapcp.RoutingIndexManager(len(matrix), data["num_vehicles"], *ends)
    routing = pywrapcp.RoutingModel(manager)

    def between(a: int, b: int) -> int:
        return matrix[manager.IndexToNode(a)][manager.IndexToNode(b)]

    transit = routing.RegisterTransitCallback(between)
    routing.SetArcCostEvaluatorOfAllVehicles(transit)
    if "limit" in code:
        routing.AddDimension(transit, 0, code["limit"], True, "Distance")
        dimension = routing.GetDimensionOrDie("Distance")
        dimension.SetGlobalSpanCostCoefficient(code["span"])
        for pickup, delivery in data.get("pickups_deliveries", ()):
            first, second = manager.NodeToIndex(pickup), manager.NodeToIndex(delivery)
            routing.AddPickupAndDelivery(first, second)
            solver = routing.solver()
            solver.Add(routing.VehicleVar(first) == routing.VehicleVar(second))
            solver.Add(dimension.CumulVar(first) <= dimension.CumulVar(second))
    if "demands" in data:
        demand = routing.RegisterUnaryTransitCallback(
            lambda index: data["demands"][manager.IndexToNode(index)]
        )
        capacities = data["vehicle_capacities"]
        routing.AddDimensionWithVehicleCapacity(demand, 0, capacities, True, "Capacity")
    if "windows" in code:
        routing.AddDimension(transit, code["windows"], code["windows"], False, "Time")
        times = routing.GetDimensionOrDie("Time")
        for node, window in enumerate(data["time_windows"]):
            if node != data["depot"]:
                times.CumulVar(manager.NodeToIndex(node)).SetRange(*window)
        for vehicle in range(data["num_vehicles"]):
            times.CumulVar(routing.Start(vehicle)).SetRange(*data["time_windows"][0])
    if "penalty" in code:
        for node in range(1, len(matrix)):
            routing.AddDisjunction([manager.NodeToIndex(node)], code["penalty"])
    parameters = pywrapcp.DefaultRoutingSearchParameters()
    strategies = routing_enums_pb2.FirstSolutionStrategy
    parameters.first_solution_strategy = getattr(strategies, code.get("first", "PATH_CHEAPEST_ARC"))
    if "guided" in code:
        ways = routing_enums_pb2.LocalSearchMetaheuristic
        parameters.local_search_metaheuristic = ways.GUIDED_LOCAL_SEARCH
        parameters.time_limit.FromSeconds(code["guided"])
    found = routing.SolveWithParameters(parameters)
    return int(found.ObjectiveValue())
