"""Arguments by name: a slip in one is an error of the package that knows what was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

from spacevrp.problems.conversion import show
from spacevrp.problems.errors import ProblemError, SpacevrpError, UnsupportedError

# What callers of other programs ask for and nothing here can do: no slip of another name.
NOT_MODELLED = {
    "skills": "skills (list the customers in allowed or forbidden; tables have a column)",
    "priority": "priorities (a finite penalty says what leaving a customer out costs)",
}

# What vehicles say of themselves, and callers of other programs look for elsewhere.
OF_VEHICLES = (
    *("breaks", "latest_start", "max_duration", "max_overtime", "max_reloads", "max_stops"),
    *("on_board", "overtime_cost", "reload_depots", "speed_factor", "unit_duration_cost"),
)

P = ParamSpec("P")
R = TypeVar("R")


def nearest(name: object, known: Iterable[str]) -> str:
    """The known name that a slip most likely stands for."""
    return get_close_matches(str(name), list(known), n=1, cutoff=0.0)[0]


def refuse_unknown(where: str, given: Iterable[object], known: Iterable[str]) -> None:
    """Raise for the first name that is not among the known ones."""
    known = list(known)
    for name in given:
        if name not in known:
            refuse_not_modelled(where, name)
            if name in OF_VEHICLES and "vehicles" in known:
                raise ProblemError(where, f"{name} of vehicles, as one of their fields", show(name))
            expected = f"known arguments (the nearest is {nearest(name, known)!r})"
            raise ProblemError(where, expected, show(name))


def refuse_keys(table: Iterable[object], known: Iterable[str]) -> None:
    """Raise for the first key of a table that is none of the fields it is to hold."""
    known = list(known)
    for key in table:
        if key not in known:
            raise ProblemError(
                "keys", f"known ones (the nearest is {nearest(key, known)!r})", show(key)
            )


def refuse_not_modelled(where: str, name: object) -> None:
    """Raise for a name that says something which is not modelled, and is no slip of another."""
    if isinstance(name, str) and name.lower() in NOT_MODELLED:
        what = NOT_MODELLED[name.lower()]
        raise UnsupportedError(f"{where}, {name}: not modelled here yet: {what}")


def naming_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which refuses arguments it does not know by :func:`refuse_unknown`."""
    parameters = signature(function).parameters
    if any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values()):
        return function  # which looks at the other names itself
    known = [
        name
        for name, parameter in parameters.items()
        if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    ]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            refuse_unknown(function.__name__, kwargs, known)
        except ProblemError as error:
            raise SpacevrpError(str(error)) from None  # no problem is at fault
        return function(*args, **kwargs)

    return call
