"""``spacevrp versions``: every part is named, nothing large is imported."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version

import pytest

import spacevrp
from spacevrp import native
from spacevrp.cli.main import main


def test_every_part_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["versions", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["spacevrp"] == spacevrp.__version__
    assert found["numpy"] == version("numpy")
    assert found["native search"] == ("built" if native.available() else "not built")
    if native.network is not None:
        assert found["instruction set"] in ("avx512", "avx2", "plain")
    assert {"python", "system", "torch", "pyvrp", "ortools", "gpu"} <= set(found)


def test_a_missing_package_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacevrp.cli.versions._PACKAGES", ("no-such-package",))
    assert main(["versions"]) == 0
    assert "no-such-package  not installed" in capsys.readouterr().out


def test_it_does_not_import_torch() -> None:
    code = "import sys; from spacevrp.cli.main import main; main(['versions']); "
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
