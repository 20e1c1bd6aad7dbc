"""``spacevrp solve`` on many instances: what its options refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from spacevrp.cli.main import main


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "2"], "--workers: expected a folder, a table or --engine"),
        (["--part-size", "2"], "--part-size: expected a folder, a table or --engine"),
        (["--format", "parquet"], "--format parquet: expected a folder, a table or --engine"),
        (["--engine", "local"], "expected a folder for the plans: -o OUT"),
        (["--engine", "local", "-o", "x", "--format", "csv"], "expected jsonl or parquet"),
        (["--engine", "local", "-o", "x", "--plot", "a.png"], "--plot: expected none"),
        (["--engine", "dask", "-o", "x"], "expected local, ray or ray://HOST:PORT"),
    ],
)
def test_options_that_do_not_go_together(
    instance: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["solve", str(instance), *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        ("ray", ["--engine", "ray", "-o", "x"], "pip install 'spacevrp[ray]'"),
        ("pyarrow", ["--engine", "local", "-o", "x.parquet"], "pip install 'spacevrp[parquet]'"),
    ],
)
def test_what_is_missing_is_named(
    instance: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    assert main(["solve", str(instance), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
