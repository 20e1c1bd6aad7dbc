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
            if served == goal and self.base == self.origin and self.is_here(move, depots):
                break
            if move < depots:
                if self.route:
                    self.finished.append((self.base, self.route))
                self.base, self.route = move, []
            else:
                self.route = [*self.route, move]
                served += 1

    def is_here(self, move, depots):
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


@pytest.fixture(scope="module")
def seen_reasons():
    """Codes of the violations that forbidden moves led to, by variant and size."""
    return {}


@pytest.mark.parametrize("variant", VARIANTS)
def test_customers_are_allowed_just_where_the_referee_allows_them(world, variant, seen_reasons):
    generator = np.random.default_rng(world.size)
    reasons = Counter()
    tried = 0
    for moment in moments(world, variant):
        depots, size = len(moment.problem.depots), moment.problem.size
        fresh = [node for node in range(depots, size) if not moment.visited[node]]
        forbidden = [node for node in fresh if not moment.allowed[node]]
        for node in some(forbidden, generator):
            codes = moment.new_faults(node)
            assert codes, (moment.everything(), moment.order[node])
            reasons.update(codes)
        for node in some([node for node in fresh if moment.allowed[node]], generator):
            assert not moment.new_faults(node), (moment.everything(), moment.order[node])
            tried += 1
        for node in some([n for n in range(depots, size) if moment.visited[n]], generator):
            assert not moment.allowed[node] or node == moment.current
            again = judge(moment.problem, [*moment.everything(), moment.plan([node])])
            assert any(v.code == "visit" and "again" in v.message for v in again.violations)
    assert tried
    seen_reasons[variant, world.size] = reasons


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


@pytest.mark.parametrize(
    ("flag", "code"),
    [
        ("capacity", "capacity"),
        ("length_limit", "length"),
        ("time_windows", "window"),
        ("backhaul_last", "precedence"),
        ("pickup_delivery", "pair"),
    ],
)
def test_moves_were_forbidden_for_every_reason_there_is(world, seen_reasons, flag, code):
    found = [
        reasons[code]
        for (name, size), reasons in seen_reasons.items()
        if size == world.size and getattr(VARIANTS[name].features, flag)
    ]
    if not found:
        pytest.skip("the variants with this rule were not run")
    assert sum(found) > 0
    strangers = [
        name
        for (name, _), reasons in seen_reasons.items()
        if reasons[code] and not getattr(VARIANTS[name].features, flag)
    ]
    assert strangers == []
