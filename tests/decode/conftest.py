"""What the compiled network is called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spacevrp import native


@pytest.fixture
def arguments_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """``arguments_of(function, *arguments)``: those that it calls the compiled rollout with."""

    def noted(function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        taken: dict[str, Any] = {}
        real = native.network.rollout

        def note(**given: Any) -> Any:
            taken.update(given)
            return real(**given)

        with monkeypatch.context() as patch:
            patch.setattr(native.network, "rollout", note)
            function(*arguments)
        return taken

    return noted
