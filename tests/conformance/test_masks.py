"""The mask and the referee agree, move by move.

A customer is legal if and only if the running route with that customer, then straight home, breaks
no rule that it did not break before. Going home is legal if and only if the plan can still become
complete.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from spacevrp.problems.referee import judge
from spacevrp.problems.variants import VARIANTS

# Customers tried in each state, forbidden and allowed ones.
TRIALS = 3


class Moment:
    """One partial solution as routes in the user's numbering."""

    def __init__(self, world, row, start, snapshot):
        self.problem = world.problems[row]
        self.order = [*self.problem.depots, *self.problem.customers]
        self.allowed = snapshot.allowed[row, start].tolist()
        state = snapshot.state
        self.visited = state.visited[row, start].tolist()
        self.current = int(state.current[row, start])
        self.origin = int(state.origin[row, start])
        self.done = bool(state.done[row, start])
        moves = world.random.sequence[row, start].tolist()
        depots = len(self.problem.depots)
        # Replay the moves until exactly these customers are visited and the vehicle is there.
        goal = sum(self.visited)
        served, self.route, self.finished, self.base = 0, [], [], moves[0]
        if depots == 0:
            self.route = moves[1 : goal + 1]
            return
        for move in moves[1:]:
            if served == goal and self.base == self.origin and self.is_here():
                break
            if move < depots:
                if self.route:
                    self.finished.append((self.base, self.route))
                self.base, self.route = move, []
            else:
                self.route = [*self.route, move]
                served += 1

    @property
    def fresh(self):
        return [n for n in range(len(self.problem.depots), len(self.order)) if not self.visited[n]]

    @property
    def served(self):
        return [node for node, visited in enumerate(self.visited) if visited]

    def is_here(self):
        last = self.route[-1] if self.route else self.base
        return last == self.current

    def plan(self, route, base=None, home=None):
        """A route of positions as the referee reads it."""
        base = self.origin if base is None else base
        if not self.problem.depots:
            return [self.order[node] for node in route]
        nodes = [base, *route]
        if not self.problem.open_routes:
            nodes.append(base if home is None else home)
        return [self.order[node] for node in nodes]

    def everything(self):
        """All routes so far, the running one sent home."""
        routes = [self.plan(route, base) for base, route in self.finished]
        return [*routes, self.plan(self.route)] if self.route else routes

    def faults(self, route):
        """What is wrong with the running route itself; what is left to do is not."""
        violations = judge(self.problem, [self.plan(route)]).violations if route else ()
        return Counter((v.code, v.node) for v in violations if v.code != "prize" and not _left(v))

    def new_faults(self, customer):
        """The rules that a move to the customer breaks."""
        added = self.faults([*self.route, customer]) - self.faults(self.route)
        node = self.order[customer]
        if any(node == pickup for pickup, _ in self.problem.pairs):
            # That its delivery is still to come is no fault of the move.
            added = Counter({fault: n for fault, n in added.items() if fault[0] != "pair"})
        return {code for code, _ in added}


def _left(violation):
    return violation.code == "visit" and violation.message.endswith("never visited")


def moments(world, variant):
    for row in world.rows[variant]:
        for snapshot in world.random.snapshots:
            for start in range(snapshot.allowed.shape[1]):
                moment = Moment(world, row, start, snapshot)
                if not moment.done:
                    yield moment


def some(nodes, generator):
    return generator.permutation(nodes)[:TRIALS].tolist()


# The flag of a variant that can make a move illegal, and the referee's word for it.
REASONS = {
    "capacity": "capacity",
    "length_limit": "length",
    "time_windows": "window",
    "backhaul_last": "precedence",
    "pickup_delivery": "pair",
}


def forbidden_customers(world, variant):
    """Every moment with some of the unvisited customers that its mask forbids."""
    generator = np.random.default_rng(world.size)
    for moment in moments(world, variant):
        forbidden = [node for node in moment.fresh if not moment.allowed[node]]
        for node in some(forbidden, generator):
            yield moment, node


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_forbidden_customer_is_refused_by_the_referee(world, variant):
    features = VARIANTS[variant].features
    possible = {code for flag, code in REASONS.items() if getattr(features, flag)}
    for moment, node in forbidden_customers(world, variant):
        codes = moment.new_faults(node)
        assert codes, (moment.everything(), moment.order[node])
        assert codes <= possible


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_allowed_customer_breaks_no_rule(world, variant):
    generator = np.random.default_rng(world.size)
    tried = 0
    for moment in moments(world, variant):
        for node in some([node for node in moment.fresh if moment.allowed[node]], generator):
            assert not moment.new_faults(node), (moment.everything(), moment.order[node])
            tried += 1
    assert tried


@pytest.mark.parametrize("variant", VARIANTS)
def test_nobody_is_visited_twice(world, variant):
    generator = np.random.default_rng(world.size)
    for moment in moments(world, variant):
        assert not any(moment.allowed[node] for node in moment.served) or (
            moment.allowed.count(True) == 1
        )
        node = int(generator.choice(moment.served))
        again = judge(moment.problem, [*moment.everything(), moment.plan([node])])
        assert any(v.code == "visit" and "again" in v.message for v in again.violations)


@pytest.mark.parametrize(("flag", "code"), REASONS.items())
def test_moves_are_forbidden_for_every_reason_there_is(world, flag, code):
    # Otherwise the tests above would show nothing about that rule.
    names = [name for name, variant in VARIANTS.items() if getattr(variant.features, flag)]
    assert any(
        code in moment.new_faults(node)
        for name in names
        for moment, node in forbidden_customers(world, name)
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_going_home_is_allowed_just_where_the_plan_can_still_be_completed(world, variant):
    for moment in moments(world, variant):
        problem, depots = moment.problem, len(moment.problem.depots)
        if moment.current < depots or not depots:
            continue
        verdict = judge(problem, moment.everything())
        codes = {v.code for v in verdict.violations}
        fleet_spent = problem.max_routes == len(moment.finished) + 1
        blocked = bool(codes - {"visit", "prize"}) or (fleet_spent and bool(codes))
        assert moment.allowed[moment.origin] == (not blocked), (moment.everything(), codes)
        for depot in range(depots):
            if depot != moment.origin:
                assert not moment.allowed[depot]
                if not problem.open_routes:
                    astray = [moment.plan(moment.route, home=depot)]
                    assert "depot" in {v.code for v in judge(problem, astray).violations}
