"""Where environment and model meet: rollouts, replays, and routes out of action sequences."""

from spacevrp.decode.rollout import Rollout, rollout
from spacevrp.decode.routes import routes_of

__all__ = ["Rollout", "rollout", "routes_of"]
