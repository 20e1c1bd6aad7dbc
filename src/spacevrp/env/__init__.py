"""One environment for all variants: a pure step over a typed state, masks from small rules."""

from spacevrp.env.environment import Environment
from spacevrp.env.starts import start_nodes
from spacevrp.env.state import State

__all__ = ["Environment", "State", "start_nodes"]
