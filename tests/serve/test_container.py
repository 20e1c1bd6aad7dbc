"""The Dockerfile names things that are there; images are built where there is a daemon."""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

from spacevrp.cli.serve import add_arguments

ROOT = Path(__file__).parents[2]
STEPS = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def arguments_of(step: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in STEPS.splitlines() if line.startswith(f"{step} ")]


def test_what_is_copied_is_there_and_not_ignored() -> None:
    copied = [
        name
        for line in arguments_of("COPY")
        if not line.startswith("--from")
        for name in line.split()[:-1]
    ]
    assert {"pyproject.toml", "setup.py", "src"} <= set(copied)
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for name in copied:
        assert (ROOT / name).exists(), name
        verdicts = [rule for rule in rules if fnmatch(name, rule.removeprefix("!"))]
        assert verdicts[-1].startswith("!"), name
    # What the build reads is among it.
    read = [PROJECT["readme"], *PROJECT["license-files"]]
    for pattern in read:
        assert list(ROOT.glob(pattern)), pattern
        assert any(pattern == name or pattern.startswith(f"{name}/") for name in copied), pattern


def test_extras_and_python_are_those_of_the_project() -> None:
    (asked,) = set(re.findall(r"\[(\w+)\]", " ".join(arguments_of("RUN"))))
    assert asked in PROJECT["optional-dependencies"]
    versions = set(re.findall(r"python:(\d+\.\d+)-slim", STEPS))
    assert len(versions) == 1
    least = PROJECT["requires-python"].removeprefix(">=").split(",")[0]
    assert list(map(int, versions.pop().split("."))) >= list(map(int, least.split(".")))


def test_it_starts_as_it_says() -> None:
    (entry,) = map(json.loads, arguments_of("ENTRYPOINT"))
    assert entry[0] in PROJECT["scripts"]
    assert entry[1] == "serve"
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    chosen = parser.parse_args(entry[2:])
    assert str(chosen.data) in arguments_of("VOLUME")
    assert str(chosen.port) in arguments_of("EXPOSE")
    assert f"127.0.0.1:{chosen.port}/health" in " ".join(arguments_of("HEALTHCHECK"))
    assert arguments_of("USER") == ["spacevrp"]
    assert f"chown spacevrp {chosen.data}" in STEPS


def test_options_of_a_run_follow() -> None:
    """``docker run spacevrp --max-time 2m`` in the docs."""
    guide = (ROOT / "docs/how-to/serve.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^docker run .* spacevrp (--.*)$", guide, flags=re.MULTILINE)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert parser.parse_args(line.split()).max_time == 120.0
