"""The compiled search: C++ beside this file, built when the package is installed.

``core`` is the module (its interface: ``_core.pyi``), or None where it was not built.
"""

from __future__ import annotations

__all__ = ["MISSING", "available", "core"]

#: One line on what to do where ``core`` is None.
MISSING = (
    "the compiled search is not installed: install a C++20 compiler, then spacevrp again "
    "(pip install -v --force-reinstall --no-deps --no-cache-dir; -v shows what the compiler says)"
)

try:
    import spacevrp.native._core as core
except ModuleNotFoundError:
    core = None  # type: ignore[assignment]
except ImportError as error:
    # It is there, but not for this machine: its libraries or its Python are others.
    core = None  # type: ignore[assignment]
    MISSING = f"the compiled search cannot be loaded ({error}): install spacevrp again"


def available() -> bool:
    """Whether the compiled search is there."""
    return core is not None
