"""The pages of docs/how-to: every program runs, and every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copytree

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_run(page, tmp_path, monkeypatch, capsys):
    programs = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    if any("import pandas" in program for program in programs):
        pytest.importorskip("pandas")
    if any(".plot(" in program for program in programs):
        pytest.importorskip("matplotlib", reason="plots are an extra")
    if any('"serve"' in program for program in programs):
        pytest.importorskip("starlette", reason="the server is an extra")
    copytree(ROOT / "examples" / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)  # where programs may write
    for program in programs:
        exec(compile(program, str(page), "exec"), {})
        assert capsys.readouterr().out


def test_links_lead_somewhere() -> None:
    assert len(PAGES) >= 9
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
