"""What the compiled network is called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
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


def refuse_wrong_arrays(taken: dict[str, Any], table: str, more: Callable[..., list[Any]]) -> None:
    """Every array of a table of arguments: of other shapes, no array, with NaN, or missing."""
    for name, value in taken[table].items():
        rest = {key: entry for key, entry in taken[table].items() if key != name}
        wrong: list[Any] = [value[..., :-1], value[None], value[:0], "words"]
        if value.dtype == np.float32:
            wrong.append(np.full_like(value, np.nan))
        for one in wrong + more(name, value):
            if name == "near" and isinstance(one, np.ndarray) and one.shape[1:] == (17, 7):
                continue  # shorter lists are lists: then the limits are wrong
            with pytest.raises(ValueError, match="expected"):
                native.network.rollout(**taken | {table: rest | {name: one}})
        with pytest.raises(ValueError, match=f"expected an array {name}"):
            native.network.rollout(**taken | {table: rest})
