"""``spacevrp serve`` as a command."""

from __future__ import annotations

import importlib.util
import socket
import sys

import pytest

from spacevrp.cli.main import main


def test_without_the_extra_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("spacevrp.cli.serve.find_spec", lambda name: None)
    assert main(["serve"]) == 2
    assert capsys.readouterr().err == (
        "spacevrp: error: starlette and uvicorn not installed: pip install 'spacevrp[serve]'\n"
    )


def test_help_does_not_import_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    loaded = set(sys.modules)
    assert main(["serve", "--help"]) == 0
    assert "--max-customers" in capsys.readouterr().out
    assert not {"starlette", "uvicorn", "spacevrp.serve.app"} & (set(sys.modules) - loaded)


@pytest.mark.skipif(importlib.util.find_spec("starlette") is None, reason="needs the extra serve")
def test_a_port_that_is_taken_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"spacevrp: error: 127.0.0.1, port {port}: cannot be listened on")
