"""Where environment and model meet: rollouts, replays, and routes out of action sequences."""

from spacevrp.arrays.routes import routes_of
from spacevrp.decode.rollout import Rollout, rollout

__all__ = ["Rollout", "rollout", "routes_of"]
