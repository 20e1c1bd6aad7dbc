"""The locks in requirements/ hold what pyproject.toml asks for, and nothing of one machine."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
LOCKS = {"demo": ["plots"], "torch": ["plots", "torch"], "test": ["dev"]}
WITH_TORCH = ("torch", "test")


def asked_for(extras: list[str]) -> Iterator[Requirement]:
    """What the package, its build and the extras need; an extra may name others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lists = [project["build-system"]["requires"], project["project"]["dependencies"]]
    lists += [project["project"]["optional-dependencies"][name] for name in extras]
    for text in (line for several in lists for line in several):
        needed = Requirement(text)
        if needed.name == "spacevrp":
            yield from asked_for(sorted(needed.extras))
        else:
            yield needed


def pinned(name: str) -> list[Requirement]:
    """The pins of a lock, with those of the lock that it names."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    own = [Requirement(line) for line in lines if re.match(r"\w", line)]
    return own + (pinned("demo") if "-r demo.txt" in lines else [])


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("python", ["3.11.9", "3.12.4", "3.13.1"])
def test_a_lock_pins_what_is_asked_for(lock: str, python: str) -> None:
    here = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    versions = {}
    for pin in pinned(lock):
        if pin.marker is None or pin.marker.evaluate(here):
            (exact,) = pin.specifier
            assert exact.operator == "=="
            assert pin.name not in versions, "pinned twice"
            versions[pin.name] = exact.version
    for needed in asked_for(LOCKS[lock]):
        assert versions[needed.name] in needed.specifier, f"make lock: {needed}"
    assert versions.get("torch") == ("2.13.0" if lock in WITH_TORCH else None)


@pytest.mark.parametrize("lock", ["demo", "torch"])
def test_the_demo_has_the_versions_of_the_tests(lock: str) -> None:
    tests = {str(pin) for pin in pinned("test")}
    assert {str(pin) for pin in pinned(lock)} <= tests


@pytest.mark.parametrize("lock", [*LOCKS, "cuda"])
def test_a_lock_holds_nothing_of_one_machine(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    assert "://" not in text
    assert not re.search(r"^--|(^|\s)/", text, re.MULTILINE)


def test_libraries_of_cuda_are_constraints_only() -> None:
    """A build of torch for CPUs must not bring gigabytes that it cannot use."""
    names = {pin.name for lock in LOCKS for pin in pinned(lock)}
    assert not [name for name in names if name.startswith(("nvidia-", "cuda-"))]
    assert {"nvidia-cublas", "triton"} <= {pin.name for pin in pinned("cuda")}
    for lock in WITH_TORCH:
        assert "-c cuda.txt" in (ROOT / "requirements" / f"{lock}.txt").read_text().splitlines()
