"""The referee: what a plan costs and every rule it breaks, from the definitions alone."""

from spacevrp.problems.referee.rules import Violation as Violation
from spacevrp.problems.referee.verdict import Verdict as Verdict
from spacevrp.problems.referee.verdict import around as around
from spacevrp.problems.referee.verdict import as_routes as as_routes
from spacevrp.problems.referee.verdict import as_vehicles_of as as_vehicles_of
from spacevrp.problems.referee.verdict import judge as judge
from spacevrp.problems.referee.verdict import judge_route as judge_route
from spacevrp.problems.referee.verdict import vehicles_of as vehicles_of
from spacevrp.problems.referee.verdict import with_best_vehicles as with_best_vehicles
