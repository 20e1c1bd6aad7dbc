"""The import law: data flows one way, so imports point one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = "spacevrp"
SOURCE = Path(__file__).parents[1] / "src" / PACKAGE

# A room may import from itself, from the rooms named here, and from whatever those may import.
LAW: dict[str, set[str]] = {
    "arguments": set(),
    "processes": set(),
    "problems": {"native"},
    "native": set(),
    "search": {"problems", "native"},
    "writing": {"problems"},
    "formats": {"problems"},
    "arrays": {"problems"},
    "inference": {"arrays", "native", "writing"},
    "tensors": {"arrays"},
    "generators": {"problems", "tensors"},
    "env": {"problems", "tensors"},
    "model": {"inference", "tensors", "writing"},
    "decode": {"native", "env", "model"},
    "engines": {"decode"},
    "solver": {"arguments", "engines", "formats", "search", "plots"},
    "train": {"decode", "generators"},
    "oracles": {"problems", "processes", "writing"},
    "plots": {"problems", "writing"},
    "many": {"formats", "processes", "solver", "writing"},
    "bench": {"arguments", "formats", "solver", "oracles", "train", "plots"},
    "serve": {"arguments", "formats", "many", "solver", "plots"},
    # The package's own __init__ is the public face: no room below the command line may use it.
    "__init__": {"bench", "many"},
    "cli": {"__init__", "serve"},
    "__main__": {"cli"},
}


@cache
def allowed_rooms(room: str) -> set[str]:
    """The room, the rooms it may import, and the rooms those may import."""
    return {room}.union(*(allowed_rooms(lower) for lower in LAW[room]))


def room_of(module: str) -> str:
    """The room a dotted module name lives in; the package itself is ``__init__``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def find_modules(source: Path) -> dict[str, Path]:
    """Dotted name -> file, for every module under the package folder."""
    modules = {}
    for path in sorted(source.rglob("*.py")):
        parts = [PACKAGE, *path.relative_to(source).with_suffix("").parts]
        if parts[-1] == "__init__":
            parts.pop()
        modules[".".join(parts)] = path
    return modules


def find_imports(module: str, path: Path, modules: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """(line, imported module of ours), wherever it stands: in functions, under TYPE_CHECKING."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, base]).rstrip(".")
            # `from package import name` means a module where there is one, else the package.
            names = [f"{base}.{alias.name}" for alias in node.names]
            targets = [name if name in modules else base for name in names]
        elif isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            called = called.id if isinstance(called, ast.Name) else called
            first = node.args[0]
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                targets = [str(first.value)]
        for target in targets:
            if target.split(".")[0] == PACKAGE:
                yield node.lineno, target


def find_faults(source: Path) -> list[str]:
    """Every breach of the law in a source tree, in words."""
    modules = find_modules(source)
    faults = []
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        room = room_of(module)
        where = path.relative_to(source)
        if "utils" in where.with_suffix("").parts:
            faults.append(f"{where}: a module or room may not be called utils")
        if room not in LAW:
            faults.append(f"{where}: the law knows no room called {room}")
            continue
        imports = list(find_imports(module, path, modules))
        graph[module] = {target for _, target in imports}
        faults += [
            f"{where}:{line}: {room} may not import {target}"
            for line, target in imports
            if room_of(target) not in allowed_rooms(room)
        ]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        faults.append(f"modules import each other in a circle: {' -> '.join(error.args[1][::-1])}")
    return faults


def test_the_package_obeys_the_law() -> None:
    assert len(find_modules(SOURCE)) > 5  # the walk has found the package
    assert find_faults(SOURCE) == []


def plant(folder: Path, files: dict[str, str]) -> Path:
    """A lawful small package with some files added."""
    lawful = {
        "__init__.py": "from spacevrp.problems.errors import Fault",
        "problems/__init__.py": "",
        "problems/errors.py": "import ast",
        "tensors/__init__.py": "from .batch import Batch",
        "tensors/batch.py": "from ..problems.errors import Fault",
        "env/__init__.py": "",
        "env/step.py": "from spacevrp.tensors import batch, Batch",
        "decode/__init__.py": "import spacevrp.problems.errors, spacevrp.env.step",
        "cli/__init__.py": "",
        "cli/main.py": "from spacevrp import __version__",
    }
    for name, text in (lawful | files).items():
        path = folder / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    return folder / PACKAGE


def test_a_lawful_tree_has_no_faults(tmp_path: Path) -> None:
    assert find_faults(plant(tmp_path, {})) == []


@pytest.mark.parametrize(("name", "text", "fault"), [
    ("problems/bad.py", "import spacevrp.tensors.batch",
     "problems/bad.py:1: problems may not import spacevrp.tensors.batch"),
    ("env/bad.py", "from spacevrp.model import policy",
     "env/bad.py:1: env may not import spacevrp.model"),
    ("env/bad.py", "def late():\n    from spacevrp import decode",
     "env/bad.py:2: env may not import spacevrp.decode"),
    ("tensors/bad.py",
     "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..env.step import step",
     "tensors/bad.py:3: tensors may not import spacevrp.env.step"),
    ("tensors/bad.py", "from importlib import import_module\nimport_module('spacevrp.cli.main')",
     "tensors/bad.py:2: tensors may not import spacevrp.cli.main"),
    ("problems/bad.py", "from spacevrp import Problem",
     "problems/bad.py:1: problems may not import spacevrp"),
    ("env/utils.py", "", "env/utils.py: a module or room may not be called utils"),
    ("attic/__init__.py", "", "attic/__init__.py: the law knows no room called attic"),
])  # fmt: skip
def test_a_planted_fault_is_caught(tmp_path: Path, name: str, text: str, fault: str) -> None:
    assert find_faults(plant(tmp_path, {name: text})) == [fault]


def test_a_circle_within_a_room_is_caught(tmp_path: Path) -> None:
    files = {"env/mask.py": "from .cost import cost", "env/cost.py": "from .mask import mask"}
    (fault,) = find_faults(plant(tmp_path, files))
    assert fault.startswith("modules import each other in a circle: ")
    assert "spacevrp.env.mask -> spacevrp.env.cost" in fault
