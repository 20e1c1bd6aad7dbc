"""Backhaul variants under each of the three load rules."""

from __future__ import annotations

import pytest

from spacevrp.decode import routes_of
from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS

WITH_BACKHAULS = [name for name, variant in VARIANTS.items() if variant.features.backhaul]


def plans(rule_world, variant):
    for row in rule_world.rows[variant]:
        for result in (rule_world.random, rule_world.greedy):
            for moves, cost in zip(result.sequence[row], result.cost[row], strict=True):
                problem = rule_world.problems[row]
                yield problem, routes_of(problem, moves.tolist()), float(cost)


@pytest.mark.parametrize("variant", WITH_BACKHAULS)
def test_rollouts_keep_the_rule_they_were_made_under(rule_world, variant):
    for problem, routes, cost in plans(rule_world, variant):
        verdict = judge(problem, routes)
        assert verdict.violations == ()
        assert cost == pytest.approx(verdict.cost / problem.unit, abs=1e-10)
        if problem.load_rule == "separate":
            # What is collected stays on board to the depot: any plan of it is one of `single`.
            assert judge(problem.replace(load_rule="single"), routes).violations == ()


@pytest.mark.parametrize("rule", ["paper"], indirect=True)
@pytest.mark.parametrize("variant", WITH_BACKHAULS)
def test_paper_rollouts_leave_full_and_also_keep_the_rule_single(rule_world, variant):
    for problem, routes, _ in plans(rule_world, variant):
        assert judge(problem.replace(load_rule="single"), routes).violations == ()
        left = set(problem.customers)
        for route in routes:
            customers = [node for node in route if node not in problem.depots]
            only_backhauls = all(problem.demand[node] < 0 for node in left)
            assert only_backhauls or problem.demand[customers[0]] > 0
            load = 0.0 if only_backhauls else problem.capacity
            for node in customers:
                load -= problem.demand[node]
                assert 0 <= load <= problem.capacity
            left -= set(customers)


@pytest.mark.parametrize("rule", ["single"], indirect=True)
def test_the_rules_differ_on_these_instances(rule_world, rule):
    # Otherwise the checks above would show nothing: plans of `single` break the other two rules.
    broken_separate = broken_paper = total = 0
    for variant in rule_world.rows:
        if not VARIANTS[variant].features.backhaul_last:
            for problem, routes, _ in plans(rule_world, variant):
                separate = judge(problem.replace(load_rule="separate"), routes)
                broken_separate += bool(separate.violations)
                broken_paper += bool(problem.demand[routes[0][1]] < 0)
                total += 1
    assert broken_separate > 0.3 * total
    assert broken_paper > 0.2 * total
