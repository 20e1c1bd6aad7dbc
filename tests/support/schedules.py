"""The best schedule of a route by a clock that is moved on unit by unit.

All times are whole numbers; only the rules themselves are known here.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from spacevrp.problems.fleet import Break
from spacevrp.problems.problem import Problem

# When a vehicle leaves a stop, how many breaks are behind it, and when its open rides began.
State = tuple[int, int, tuple[tuple[int, int], ...]]


class Schedules:
    """Every way to drive a route of the first type, before the horizon."""

    def __init__(self, problem: Problem, route: tuple[int, ...], horizon: int) -> None:
        self.problem, self.route, self.horizon = problem, route, horizon
        self.terms = problem.fleet[0]
        self.begins = cache(self._begins)
        rides = () if problem.max_ride is None else problem.max_ride.tolist()
        self.rides = {
            delivery: (pickup, limit)
            for (pickup, delivery), limit in zip(problem.pairs, rides, strict=bool(rides))
        }

    def best(self) -> tuple[int, int] | None:
        """The latest departure among those with the least end, and that end; None for none."""
        opening = max(self.problem.windows[self.route[0], 0], self.terms.leaves_from)
        found: dict[int, int] = {}
        for departure in range(self.horizon):
            if not max(opening, self._released(0)) <= departure <= self.terms.latest_start:
                continue
            taken = [n for n in range(len(self.terms.breaks) + 1) if self._taken(n, departure)]
            ends = self._ends({(departure, number, ()) for number in taken})
            if ends:
                found[departure] = min(ends)
        least = min(found.values(), default=0)
        return max(((one, end) for one, end in found.items() if end == least), default=None)

    def _taken(self, count: int, departure: int) -> bool:
        """Whether so many breaks can be over by then, at whatever times."""
        clocks = {-self.horizon}
        for one in self.terms.breaks[:count]:
            clocks = {
                begin + int(one.duration)
                for clock in clocks
                for begin in range(clock, departure + 1)
                if _may_begin(one, begin)
            }
        return any(clock <= departure for clock in clocks)

    def _ends(self, states: set[State]) -> set[int]:
        """When the route may be over."""
        for position in range(1, len(self.route)):
            states = {after for state in states for after in self._leave(position, state)}
        over = {(clock, taken) for clock, taken, _ in states if clock <= self.terms.back_by}
        return {clock for clock, taken in over if self._rest_after(clock, taken)}

    def _rest_after(self, clock: int, taken: int) -> bool:
        """Whether the other breaks can be taken afterwards."""
        clocks = {clock}
        for one in self.terms.breaks[taken:]:
            clocks = {
                begin + int(one.duration)
                for clock in clocks
                for begin in range(clock, self.horizon)
                if _may_begin(one, begin)
            }
        return bool(clocks)

    def _leave(self, position: int, state: State) -> set[State]:
        clock, taken, open_rides = state
        node, left = self.route[position], set()
        pickup, limit = self.rides.get(node, (None, np.inf))
        others = tuple(ride for ride in open_rides if ride[0] != pickup)
        for begin, number in self.begins(position, clock, taken):
            if pickup is not None and begin - dict(open_rides)[pickup] > limit:
                continue
            over = begin + self._takes(position)
            if self._is_reload(position):
                over = max(over, int(max(self._released(position), 0)))
            rides = others
            if any(node == pickup for pickup, _ in self.rides.values()):
                rides = (*others, (node, over))
            left.add((over, number, rides))
        return left

    def _begins(self, position: int, clock: int, taken: int) -> set[tuple[int, int]]:
        """When service may begin, and how many breaks are behind it then."""
        found, breaks = set(), self.terms.breaks
        states = {(clock, taken, self._driving(position, clock))}  # units still to drive
        seen = set(states)
        while states:
            clock, taken, rest = states.pop()
            if rest == 0 and self._may_serve(position, clock):
                found.add((clock, taken))
            steps = [(clock + 1, taken, max(rest - 1, 0))]  # drive on, or wait
            if taken < len(breaks) and _may_begin(breaks[taken], clock):
                steps.append((clock + int(breaks[taken].duration), taken + 1, rest))
            new = {step for step in steps if step[0] < self.horizon} - seen
            seen |= new
            states |= new
        return found

    def _driving(self, position: int, clock: int) -> int:
        origin, target = self.route[position - 1], self.route[position]
        times = self.problem.travel_times
        takes = self.problem.durations.between(origin, target)
        if times:
            takes = np.interp(clock, [at for at, _ in times], [m[origin, target] for _, m in times])
        whole = takes / self.terms.speed_factor
        assert whole == round(whole)
        return round(whole)

    def _released(self, position: int) -> float:
        """The latest release of the customers between a depot and the next one."""
        moments = [-np.inf]
        for node in self.route[position + 1 :]:
            if node in self.problem.depots:
                break
            moments += [] if self.problem.release is None else [self.problem.release[node]]
        return max(moments)

    def _is_reload(self, position: int) -> bool:
        return self.route[position] in self.problem.depots and position < len(self.route) - 1

    def _is_end(self, position: int) -> bool:
        return self.route[position] in self.problem.depots and not self._is_reload(position)

    def _may_serve(self, position: int, clock: int) -> bool:
        node = self.route[position]
        opening, closing = self.problem.windows[node]
        gaps = [(begin, end) for at, begin, end in self.problem.closed if at == node]
        opened = self._is_end(position) or opening <= clock
        return opened and clock <= closing and not any(a < clock < b for a, b in gaps)

    def _takes(self, position: int) -> int:
        before, node = self.route[position - 1], self.route[position]
        if self._is_end(position):
            return 0
        service = dict(self.terms.service).get(node, self.problem.service[node])
        if self.problem.setup is not None and self.problem.durations.between(before, node) > 0:
            service += self.problem.setup[node]
        return int(service)


def _may_begin(one: Break, clock: int) -> bool:
    return any(opening <= clock <= closing for opening, closing in one.windows)
