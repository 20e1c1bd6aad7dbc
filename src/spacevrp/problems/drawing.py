"""How ``Solution.plot`` reaches the pictures, which know of plans and not the other way round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# The package's ``__init__`` puts ``spacevrp.plots.pictures.plot`` here, loaded on first use.
plot: Callable[..., Any]
