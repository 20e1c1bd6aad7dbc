"""Why a plan leaves customers out, what would let them in, and what limits its routes."""

from spacevrp.problems.explanation.changes import Change as Change
from spacevrp.problems.explanation.changes import Relaxation as Relaxation
from spacevrp.problems.explanation.explaining import Explanation as Explanation
from spacevrp.problems.explanation.explaining import explain as explain
from spacevrp.problems.explanation.explaining import is_missing_visit as is_missing_visit
from spacevrp.problems.explanation.reasons import Unserved as Unserved
from spacevrp.problems.explanation.routes import Limit as Limit
from spacevrp.problems.explanation.routes import RouteLimits as RouteLimits
