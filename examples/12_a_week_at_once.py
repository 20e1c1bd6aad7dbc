"""Five days of different size are five problems, and one call."""

import random

import spacevrp

draw = random.Random(7)
week = {
    day: spacevrp.Problem.from_coordinates(
        [(50, 50)] + [(draw.randrange(100), draw.randrange(100)) for _ in range(stops)],
        demand=[0] + [draw.randint(1, 9) for _ in range(stops)],
        capacity=25,
        name=day,
    )
    for day, stops in [("Mon", 9), ("Tue", 14), ("Wed", 11), ("Thu", 14), ("Fri", 20)]
}
solver = spacevrp.Solver(device="cpu")
for day, solution in zip(week, solver.solve(week.values()), strict=True):
    print(f"{day}: {len(solution.routes)} routes, {solution.cost:.0f}")
