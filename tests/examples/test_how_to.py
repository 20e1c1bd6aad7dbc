"""The pages of docs/how-to: every program prints what is shown, every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copytree

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.S)
PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))


def lines_of(text: str) -> list[str]:
    """The lines in any order: which route comes first is a matter of how a processor rounds."""
    return sorted(line.strip() for line in text.splitlines() if line.strip())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_run(page, tmp_path, monkeypatch, capsys):
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    programs = [program for program, _ in blocks]
    if any("import pandas" in program for program in programs):
        pytest.importorskip("pandas")
    if any(".plot(" in program for program in programs):
        pytest.importorskip("matplotlib", reason="plots are an extra")
    if any('"serve"' in program for program in programs):
        pytest.importorskip("starlette", reason="the server is an extra")
    copytree(ROOT / "examples" / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)  # where programs may write
    names: dict[str, object] = {}  # the blocks of a page are one session
    for program, shown in blocks:
        exec(compile(program, str(page), "exec"), names)
        printed = capsys.readouterr().out
        assert printed
        if shown:
            assert lines_of(printed) == lines_of(shown), program


def test_links_lead_somewhere() -> None:
    assert len(PAGES) >= 9
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
