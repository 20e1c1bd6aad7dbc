"""Times in words."""

from __future__ import annotations

from typing import Any

import pytest

from spacevrp.problems.errors import SpacevrpError
from spacevrp.solver.budget import as_seconds


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(5, 5.0), (0.1, 0.1), ("5s", 5.0), ("0.5", 0.5), ("2m", 120.0), ("1h30m", 5400.0)],
)
def test_times_are_numbers_or_words(given: Any, seconds: float) -> None:
    assert as_seconds(given) == seconds


@pytest.mark.parametrize(
    ("given", "received"),
    [
        (0, "0"),
        (-1.0, "-1.0"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (True, "True"),
        (None, "None"),
        ("0s", "'0s'"),
        ("soon", "'soon'"),
        ("5 s", "'5 s'"),
    ],
)
def test_anything_else_is_refused_by_name(given: Any, received: str) -> None:
    with pytest.raises(SpacevrpError, match=r"^time: expected a time ") as caught:
        as_seconds(given)
    assert str(caught.value).endswith(f"received {received}")
