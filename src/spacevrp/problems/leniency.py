"""Whether customers whom no vehicle can serve are refused, or allowed and left out of plans.

By itself a problem refuses them: most often they are a slip in the data, and an error names it. Who
wants a partial plan all the same allows them, problem by problem or while files are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ALLOWED: ContextVar[bool] = ContextVar("unservable_allowed", default=False)


@contextmanager
def unservable_allowed() -> Iterator[None]:
    """Problems made in here allow customers whom no vehicle can serve."""
    token = _ALLOWED.set(True)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def allows_unservable() -> bool:
    """What problems do that do not say it."""
    return _ALLOWED.get()
