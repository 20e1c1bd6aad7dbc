"""The site builds without a warning, and has an entry for every public name."""

from __future__ import annotations

import logging
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

import spacevrp

ROOT = Path(__file__).parents[2]
HOOK = ROOT / "docs" / "repository_links.py"
# What a researcher extends beside the public face.
EXTENDED = (
    "spacevrp.env.environment.Environment",
    "spacevrp.env.rules.load_fits",
    "spacevrp.tensors.batch.Batch",
    "spacevrp.model.space.SpaceModel",
    "spacevrp.inference.config.ModelConfig",
    "spacevrp.train.config.TrainConfig",
    "spacevrp.oracles.base.SolverOracle",
)


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Everything that the build warns of, as text."""
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    heard: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    listener = Listener(logging.WARNING)
    logger = logging.getLogger("mkdocs")
    logger.addHandler(listener)
    yield heard
    logger.removeHandler(listener)


def settings(**changes: Any) -> Any:
    return load_config(str(ROOT / "mkdocs.yml"), strict=True, **changes)


def test_the_site_builds_without_a_warning(tmp_path: Path, warnings: list[str]) -> None:
    config = settings(site_dir=str(tmp_path))
    try:
        build(config)
    except Abort:
        pytest.fail("\n".join(warnings))
    assert warnings == []
    reference = "".join(
        page.read_text(encoding="utf-8") for page in (tmp_path / "api").rglob("index.html")
    )
    public = [f"spacevrp.{name}" for name in spacevrp.__all__ if not name.startswith("_")]
    assert len(public) > 10
    for name in (*public, *EXTENDED):
        assert f'id="{name}"' in reference, f"{name} has no entry in docs/api"
    # Roles of docstrings have become links or code.
    assert ":meth:" not in reference
    assert ":class:" not in reference
    # Programs beside the pages are no part of the site.
    assert not list(tmp_path.rglob("*.py"))


def test_links_that_leave_the_site_become_paths(warnings: list[str]) -> None:
    hook = runpy.run_path(str(HOOK))["on_page_markdown"]

    def resolved(text: str, page: str) -> str:
        answer: str = hook(text, page=SimpleNamespace(file=SimpleNamespace(src_uri=page)))
        return answer

    assert resolved("see [the law](../README.md)", "index.md") == (
        "see the law (`README.md` in the repository)"
    )
    assert resolved("in [`records/`](../records/)", "index.md") == "in `records`"
    within = "[files](../formats.md) and [a part](../formats.md#rounding-policies)"
    assert resolved(within, "how-to/coordinates.md") == within
    assert warnings == []
    resolved("[gone](../gone.md)", "index.md")
    assert len(warnings) == 1
    assert "../gone.md" in warnings[0]
