"""The programs on the pages run and print what stands below them; links lead somewhere."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from shutil import copytree

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.S)
# Pages whose programs need more than is here.
NOT_RUN = {
    "formats.md": "files that are not in the repository",
    "instances.md": "a GPU",
    "oracles.md": "ten seconds for a solver",
}
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if page.name not in NOT_RUN and BLOCK.search(page.read_text(encoding="utf-8"))
]


def gist(text: str) -> tuple[list[str], list[str]]:
    """The lines that begin at the margin, and the names that begin the others.

    Routes of a plan may stand in any order and, where no windows say otherwise, be travelled in
    either direction: which one is found first may depend on how a processor rounds.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    indented = sorted(line.split()[0] for line in lines if line.startswith(" "))
    return [line for line in lines if not line.startswith(" ")], indented


def lines_of(text: str) -> list[str]:
    """All lines in any order, for pages whose plans do not depend on how a processor rounds."""
    return sorted(line.strip() for line in text.splitlines() if line.strip())


# What a program needs beyond the package, by a piece of its text.
NEEDS = {"import pandas": "pandas", ".plot(": "matplotlib", '"serve"': "fastapi"}


def test_the_story_is_among_the_pages() -> None:
    assert ROOT / "docs" / "quickstart.md" in PAGES
    assert sum(page.parent.name == "how-to" for page in PAGES) >= 9


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_print_what_the_page_shows(page, tmp_path, monkeypatch, capsys):
    text = page.read_text(encoding="utf-8")
    for piece, package in NEEDS.items():
        if any(piece in program for program, _ in BLOCK.findall(text)):
            pytest.importorskip(package)
    if page.parent.name == "how-to":
        copytree(ROOT / "examples" / "data", tmp_path / "data")
        monkeypatch.chdir(tmp_path)  # where programs may write
    told = lines_of if page.parent.name == "how-to" else gist
    names: dict[str, object] = {}  # the blocks of a page are one session
    for program, shown in BLOCK.findall(text):
        exec(compile(program, str(page), "exec"), names)
        printed = capsys.readouterr().out
        assert printed or page.parent.name != "how-to"
        if shown:
            assert told(printed) == told(shown), program


def test_links_of_how_to_pages_lead_somewhere() -> None:
    for page in sorted((ROOT / "docs" / "how-to").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_pictures_are_small_and_all_on_the_page() -> None:
    folder = ROOT / "docs" / "pictures"
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\(pictures/([^)]+)\)", page))
    assert shown == {path.name for path in folder.glob("*.png")}
    assert all(path.stat().st_size < 150_000 for path in folder.iterdir())


# Names that the walk-through invents for the constraint that it adds.
INVENTED = {"max_leg", "leg", "check_legs", "keeps_legs", "short_enough"}
SOURCE = ROOT / "src" / "spacevrp"


def test_the_walk_through_names_what_is_there() -> None:
    page = (ROOT / "docs" / "extend" / "new-constraint.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`([a-z_]+/(?:[a-z_]+\.py|))`", page))
    assert len(files) > 20
    for file in files:
        assert (SOURCE / file).exists(), file
    checked = 0
    # In a point that begins with a file, the names in backquotes are names of that file.
    for file, point in re.findall(
        r"^- `((?!tests/)[a-z_/]+\.py)`:(.*?)(?=^- |^\n)", page, re.S | re.M
    ):
        held = (SOURCE / file).read_text(encoding="utf-8")
        for name in re.findall(r"`([A-Za-z_]\w*)(?::[^`]*|\([^`]*\))?`", point):
            if name not in INVENTED:
                assert name in held, f"{file}: {name}"
                checked += 1
    assert checked > 10


def test_every_key_of_a_run_has_a_row() -> None:
    from spacevrp.model import ModelConfig
    from spacevrp.train import TrainConfig

    text = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}
    own = {one.name for one in fields(TrainConfig)} - {"model"}
    assert own | {f"model.{one.name}" for one in fields(ModelConfig)} <= told
