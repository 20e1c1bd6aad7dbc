"""A coverage-guided fuzzer for the readers, with atheris (Linux and macOS, CPython).

It needs an environment of its own, with atheris, and of ours only what the readers need: NumPy.

    python3 -m venv fuzzenv && fuzzenv/bin/pip install atheris numpy
    PYTHONPATH=src fuzzenv/bin/python tests/fuzz/atheris_readers.py CORPUS [libFuzzer options]

``CORPUS`` is a folder, filled with the small valid files of ``fuzz_corpus.py`` when it is empty;
what reaches new code is added to it. Useful options: ``-max_total_time=600``, ``-timeout=10``,
``-rss_limit_mb=2048``, ``-seed=1``. An input that breaks the promise is left as ``crash-*``; give
it as the only argument to see it again.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["spacevrp"]):
    from spacevrp.formats import read, read_solution
    from spacevrp.problems.errors import SpacevrpError
    from spacevrp.problems.problem import Problem
    from spacevrp.problems.referee import judge

import fuzz_corpus

# The first byte of an input chooses the name of the file, and so the reader where the content
# itself does not say.
NAMES = ("a.vrp", "a.txt", "a.csv", "a.json", "a.npz", "a.sol", "a", "b.csv")
# Files live in memory where the system has a folder for that.
_SHARED_MEMORY = Path("/dev/shm")
FOLDER = Path(tempfile.mkdtemp(dir=_SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None))
INSTANCE = Problem.from_coordinates(
    [[0, 0], [3, 0], [0, 4], [3, 4]], demand=[0, 1, 2, 3], capacity=5
)


def check_error(error: SpacevrpError, path: Path) -> None:
    """One line that names the file."""
    message = str(error)
    if not message.startswith(str(path)) or len(message.splitlines()) != 1:
        raise AssertionError(repr(message))


def try_input(data: bytes) -> None:
    """A problem, a judged solution, or one line; anything else is a crash."""
    path = FOLDER / NAMES[data[0] % len(NAMES) if data else 0]
    path.write_bytes(data[1:])
    try:
        made = read(path)
    except SpacevrpError as error:
        check_error(error, path)
    else:
        for problem in [made] if isinstance(made, Problem) else made:
            if not problem.variant_name:
                raise AssertionError("a problem without a variant")
    try:
        plans = read_solution(path, INSTANCE).instances
    except SpacevrpError as error:
        check_error(error, path)
        return
    for plan in plans:
        try:
            judge(INSTANCE, plan.routes)
        except SpacevrpError as error:
            if len(str(error).splitlines()) != 1:
                raise AssertionError(repr(str(error))) from error


def plant_corpus(folder: Path) -> None:
    """The seeds, each under its own suffix, in an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        return
    for name, content in fuzz_corpus.files().items():
        suffix = {".tsp": ".vrp", ".atsp": ".vrp"}.get(Path(name).suffix, Path(name).suffix)
        (folder / name).write_bytes(bytes([NAMES.index(f"a{suffix}")]) + content)


def main() -> None:
    """Hand the command line over to libFuzzer."""
    warnings.simplefilter("ignore")
    folders = [Path(word) for word in sys.argv[1:] if not word.startswith("-")]
    if folders and not folders[0].is_file():
        plant_corpus(folders[0])
    atheris.Setup(sys.argv, try_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
