"""spacevrp: one neural model for every vehicle routing problem.

The names below are the public face. They are loaded on first use, so that ``import spacevrp`` is
instant and never imports torch.
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0.dev0"

if TYPE_CHECKING:
    from spacevrp import formats as formats
    from spacevrp.formats import read as read
    from spacevrp.formats import write as write
    from spacevrp.generators import generate as generate
    from spacevrp.many import solve_many as solve_many
    from spacevrp.oracles.pyvrp import to_pyvrp as to_pyvrp
    from spacevrp.problems.clock import Clock as Clock
    from spacevrp.problems.errors import SpacevrpError as SpacevrpError
    from spacevrp.problems.fleet import Break as Break
    from spacevrp.problems.fleet import Vehicle as Vehicle
    from spacevrp.problems.objective import Objective as Objective
    from spacevrp.problems.plan import Plan as Plan
    from spacevrp.problems.problem import Problem as Problem
    from spacevrp.problems.problem_data import Group as Group
    from spacevrp.problems.referee import judge as judge
    from spacevrp.problems.solution import Solution as Solution
    from spacevrp.problems.variants import VARIANTS as VARIANTS
    from spacevrp.problems.variants import Variant as Variant
    from spacevrp.problems.variants import parse_variant as parse_variant
    from spacevrp.solver import Result as Result
    from spacevrp.solver import SolveParams as SolveParams
    from spacevrp.solver import Solver as Solver
    from spacevrp.solver import solve as solve

# Public name -> the module that defines it.
_HOMES = {
    "Break": "spacevrp.problems.fleet",
    "Clock": "spacevrp.problems.clock",
    "Group": "spacevrp.problems.problem_data",
    "Objective": "spacevrp.problems.objective",
    "Plan": "spacevrp.problems.plan",
    "Problem": "spacevrp.problems.problem",
    "Result": "spacevrp.solver",
    "Solution": "spacevrp.problems.solution",
    "SolveParams": "spacevrp.solver",
    "Solver": "spacevrp.solver",
    "SpacevrpError": "spacevrp.problems.errors",
    "VARIANTS": "spacevrp.problems.variants",
    "Variant": "spacevrp.problems.variants",
    "Vehicle": "spacevrp.problems.fleet",
    "generate": "spacevrp.generators",
    "judge": "spacevrp.problems.referee",
    "parse_variant": "spacevrp.problems.variants",
    "read": "spacevrp.formats",
    "solve": "spacevrp.solver",
    "to_pyvrp": "spacevrp.oracles.pyvrp",
    "solve_many": "spacevrp.many",
    "write": "spacevrp.formats",
}

# Public modules that need no import of their own.
_MODULES = ("formats",)

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    """Load a public name from its home on first use."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'spacevrp' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    if isinstance(value, FunctionType):
        from spacevrp.problems.keywords import naming_arguments

        value = naming_arguments(value)
        value.__module__ = __name__  # where it is found again, by pickle for one
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
