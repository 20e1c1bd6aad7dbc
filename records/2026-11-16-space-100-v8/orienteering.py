"""First plans of OP beside what its own search finds with ten times the shakes of ``solve``.

The 32 instances with references, and the next 64, that have none.
"""

import json

import numpy as np

import spacevrp
from spacevrp.bench import references
from spacevrp.solver.orienteering import collect

KNOWN, MORE, SHAKES = 32, 64, 600
problems = spacevrp.generate("OP", size=100, count=KNOWN + MORE, seed=1)
oracle = [entry.cost for entry in references.paper_kind("OP", KNOWN, 100, 1)]
first = spacevrp.Solver(device="cpu").solve(problems, replan=0, improve=False)
best = [collect(plan, lambda done: done / SHAKES) for plan in first]


def gaps(plans, costs):
    """Percent above the costs, of each instance that has one."""
    pairs = zip(plans, costs, strict=False)
    return np.array([100 * (plan.cost - cost) / abs(cost) for plan, cost in pairs])


to_best = gaps(first, [plan.cost for plan in best])
found = {
    "first plans to the search": {"known": to_best[:KNOWN].mean(), "more": to_best[KNOWN:].mean()},
    "standard error of more": to_best[KNOWN:].std(ddof=1) / MORE**0.5,
    "search to the oracle, known": gaps(best, oracle).mean(),
}
print(json.dumps(found))
