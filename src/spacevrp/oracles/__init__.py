"""Classical solvers behind one interface; each is an extra and imported when it is used.

Every plan they find is judged by the referee, and its cost is the referee's.
"""

from spacevrp.oracles.base import MissingSolverError as MissingSolverError
from spacevrp.oracles.base import OracleDisagreement as OracleDisagreement
from spacevrp.oracles.base import OracleResult as OracleResult
from spacevrp.oracles.base import SolverOracle as SolverOracle
from spacevrp.oracles.choice import APPROXIMATE as APPROXIMATE
from spacevrp.oracles.choice import AUTO as AUTO
from spacevrp.oracles.choice import BY_STRENGTH as BY_STRENGTH
from spacevrp.oracles.choice import ORACLES as ORACLES
from spacevrp.oracles.choice import choose_oracle as choose_oracle
from spacevrp.oracles.choice import make_oracle as make_oracle
from spacevrp.oracles.choice import strongest as strongest
from spacevrp.oracles.pool import Failure as Failure
from spacevrp.oracles.pool import solve_many as solve_many
