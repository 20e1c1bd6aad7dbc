"""Instances and files that several tests share."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from spacevrp.problems.problem import Problem

# What tests of several folders share: pytest's importlib mode does not find it by itself.
sys.path.insert(0, str(Path(__file__).parent / "support"))

# No example fails for being slow: it may be the machine. Half as many of them as usual, each time
# others: the suite runs often.
settings.register_profile(
    "any machine", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# Four customers around a depot at node 0, with whole distances wherever a test adds them up:
#
#   4 (0, 8)      0-1: 3   0-2: 5   0-3: 4   0-4: 8
#   |             1-2: 4   1-3: 5   2-3: 3   2-4: 5   3-4: 4
#   3 (0, 4)   2 (3, 4)
#   |          |
#   0 (0, 0) - 1 (3, 0)
FOUR_CUSTOMERS = ((0.0, 0.0), (3.0, 0.0), (3.0, 4.0), (0.0, 4.0), (0.0, 8.0))


@pytest.fixture
def usual_interrupt() -> Iterator[None]:
    """Ctrl-C as in a terminal: what starts in the background ignores it, and so does its child."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# `make test-core` sets this: what an installation without PyTorch can do is tested without it. A
# module of tests that imports PyTorch, by itself or through the package, is then skipped whole;
# a test that imports it while it runs fails, so that the core cannot begin to need it unnoticed.
WITHOUT_TORCH = bool(os.environ.get("SPACEVRP_TEST_WITHOUT_TORCH"))
if WITHOUT_TORCH:
    for absent in ("torch", "triton"):
        sys.modules[absent] = None  # type: ignore[assignment]  # importing it raises


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, None]:
    """Skip the modules that cannot be imported without PyTorch, where there is to be none."""
    outcome = yield
    report = outcome.get_result()
    if WITHOUT_TORCH and report.failed and "import of torch halted" in str(report.longrepr):
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, "Skipped: needs PyTorch")


# Slow as a whole: kernels in Triton's interpreter, pages and programs that are run, fuzzing.
SLOW_FOLDERS = {"decode_kernels", "docs", "examples", "fuzz"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what is in these folders or reads public data; other tests say so themselves."""
    here = Path(__file__).parent
    for item in items:
        folder = item.path.relative_to(here).parts[0]
        if folder in SLOW_FOLDERS or item.get_closest_marker("data"):
            item.add_marker("slow")


@pytest.fixture
def four_customers() -> Callable[..., Problem]:
    """Builds the instance above with the features a test asks for."""

    def build(**features: Any) -> Problem:
        return Problem.from_coordinates(FOUR_CUSTOMERS, **features)

    return build


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the public data sets; tests that need it are skipped where it is absent."""
    beside_checkout = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SPACEVRP_DATA") or beside_checkout)
    if not folder.is_dir():
        pytest.skip(f"the public data sets are not at {folder} (set SPACEVRP_DATA)")
    return folder
