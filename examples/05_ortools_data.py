"""The dictionary of an OR-Tools example, as it is; what the example puts into code is a keyword."""

import spacevrp

data = {
    "distance_matrix": [
        [0, 548, 776, 696, 582, 274, 502],
        [548, 0, 684, 308, 194, 502, 730],
        [776, 684, 0, 992, 878, 502, 274],
        [696, 308, 992, 0, 114, 650, 878],
        [582, 194, 878, 114, 0, 536, 764],
        [274, 502, 502, 650, 536, 0, 228],
        [502, 730, 274, 878, 764, 228, 0],
    ],
    "demands": [0, 1, 1, 2, 4, 2, 4],
    "vehicle_capacities": [8, 8],
    "num_vehicles": 2,
    "depot": 0,
}

problem = spacevrp.Problem.from_ortools(data, max_length=2500)
solution = spacevrp.solve(problem, device="cpu")
print(solution)
