"""More than one van can do: who is left out, why, what it would take, and the plan that follows."""

import spacevrp

problem = spacevrp.Problem.from_coordinates(
    [(0, 0), (12, 5), (3, 14), (16, 12), (-9, 12), (-5, -12)],
    ids=["base", "school", "clinic", "mill", "farm", "port"],
    demand=[0, 3, 2, 4, 3, 3],
    capacity=12,
    max_routes=1,
    windows=[
        ("08:00", "09:15"),
        ("08:00", "08:20"),
        ("08:10", "09:00"),
        ("08:15", "08:45"),
        ("08:20", "09:10"),
        ("08:00", "08:30"),
    ],
    service=[0, 5, 5, 5, 5, 5],
    time_unit="min",
)
solver = spacevrp.Solver(device="cpu")
partial = solver.solve(problem, partial=True)
print(partial.explanation)

# Grant the smallest change to every customer that is left out, one after the other.
solution = partial
while solution.unserved:
    relaxation = solution.unserved[0].relaxation
    print("granted:", relaxation.message)
    problem = relaxation.apply(problem)
    solution = solver.solve(problem, partial=True)
print(solution)
