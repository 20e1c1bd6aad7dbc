"""One thread of numpy's BLAS for our own work; the caller's setting stays as it is.

The products of the network are small: more threads than one mostly wait for each other. Two of them
gain a sixth at best on two idle cores, and take ten times as long where another program has one of
the cores. OpenBLAS, which numpy's own packages come with, can be told so at run time. Another BLAS
is left as it is set.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from numpy.linalg import _umath_linalg

# As numpy's packages name the functions, and as OpenBLAS itself does.
_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")


@cache
def _functions() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """What asks for the number of threads, and what sets it; None for a BLAS without them."""
    try:
        # Names are looked up in the libraries that this module of numpy was linked with, too.
        library = ctypes.CDLL(_umath_linalg.__file__)
    except OSError:
        return None
    for name in _NAMES:
        ask = getattr(library, name.format("get_num_threads"), None)
        tell = getattr(library, name.format("set_num_threads"), None)
        if ask is not None and tell is not None:
            ask.restype, ask.argtypes = ctypes.c_int, []
            tell.restype, tell.argtypes = None, [ctypes.c_int]
            return ask, tell
    return None


class _Callers:
    """How many are at work, and what the BLAS was set to before the first came."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.before = 1


_callers = _Callers()


def _after_fork() -> None:
    """Other threads, and the locks they hold, stay behind in the parent."""
    global _callers
    inside, before = _callers.inside, _callers.before
    _callers = _Callers()
    functions = _functions() if inside else None
    if functions is not None:
        # The fork may come from a thread during another one's work: the child has its own setting.
        functions[1](before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let numpy's BLAS use one thread; the caller's own setting is there again when all are done.

    The number is one for the whole process, whichever Python thread sets it.
    """
    functions = _functions()
    if functions is None:
        yield
        return
    ask, tell = functions
    callers = _callers
    with callers.lock:
        if not callers.inside:
            callers.before = ask()
            if callers.before != 1:
                tell(1)
        callers.inside += 1
    try:
        yield
    finally:
        with callers.lock:
            callers.inside -= 1
            if not callers.inside and callers.before != 1:
                tell(callers.before)
