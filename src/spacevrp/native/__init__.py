"""The compiled modules: C++ next to this file, built when the package is installed.

``core`` is the search (its interface: ``_core.pyi``), ``network`` the network on a CPU
(``_network.pyi``) and ``judge`` the referee of many plans (``_judge.pyi``); each is None where it
was not built.
"""

from __future__ import annotations

__all__ = ["MISSING", "NETWORK_MISSING", "available", "core", "judge", "network"]

_INSTALL = (
    "install a C++20 compiler, then spacevrp again "
    "(pip install -v --force-reinstall --no-deps --no-cache-dir; -v shows what the compiler says)"
)
#: One line on what to do where ``core`` is None.
MISSING = f"the compiled search is not installed: {_INSTALL}"
#: One line on what to do where ``network`` is None.
NETWORK_MISSING = f"the compiled network is not installed: {_INSTALL}"

try:
    import spacevrp.native._core as core
except ModuleNotFoundError:
    core = None  # type: ignore[assignment]
except ImportError as error:
    # It is there, but not for this machine: its libraries or its Python are others.
    core = None  # type: ignore[assignment]
    MISSING = f"the compiled search cannot be loaded ({error}): install spacevrp again"

try:
    import spacevrp.native._network as network
except ModuleNotFoundError:
    network = None  # type: ignore[assignment]
except ImportError as error:
    network = None  # type: ignore[assignment]
    NETWORK_MISSING = f"the compiled network cannot be loaded ({error}): install spacevrp again"

try:
    import spacevrp.native._judge as judge
except ImportError:
    judge = None  # type: ignore[assignment]  # the plain referee says the same


def available() -> bool:
    """Whether the compiled search is there."""
    return core is not None
