"""Two matrices: pay for kilometres, keep appointments in minutes. The depot is the third node."""

import spacevrp

KILOMETRES = [
    [0.0, 4.1, 6.2, 9.0],
    [4.4, 0.0, 3.1, 5.2],
    [6.0, 2.9, 0.0, 3.3],
    [8.7, 5.5, 3.6, 0.0],
]
MINUTES = [
    [0, 9, 14, 17],
    [10, 0, 6, 11],
    [15, 6, 0, 8],
    [16, 12, 9, 0],
]

problem = spacevrp.Problem.from_matrix(
    KILOMETRES,
    durations=MINUTES,
    depots=2,
    demand=[2, 1, 0, 2],
    capacity=4,
    windows=[(0, 60), (30, 50), (0, 120), (0, 45)],
    service=[5, 5, 0, 10],
)
solution = spacevrp.solve(problem, device="cpu")
print(solution)
