"""The small random model of the solver's tests."""

from __future__ import annotations

from ..solver.conftest import live_bytes, model, network_alone, solver

__all__ = ["live_bytes", "model", "network_alone", "solver"]
