"""``_core.pyi`` and the like say what the compiled modules have, name by name."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType

import pytest

from spacevrp import native

STUBS = sorted(Path(native.__file__).parent.glob("_*.pyi"))


@pytest.fixture(params=STUBS, ids=lambda path: path.stem)
def stub(request: pytest.FixtureRequest) -> ast.Module:
    return ast.parse(request.param.read_text(encoding="utf-8"))


@pytest.fixture
def module(stub: ast.Module, request: pytest.FixtureRequest) -> ModuleType:
    """The module that the stub is of; skips where it is not built."""
    name = request.node.callspec.params["stub"].stem
    found: ModuleType = pytest.importorskip(f"spacevrp.native.{name}", exc_type=ImportError)
    return found


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def classes(stub: ast.Module) -> dict[str, ast.ClassDef]:
    """Those of the stub, less the dictionaries that it describes."""
    found = [node for node in stub.body if isinstance(node, ast.ClassDef)]
    return {node.name: node for node in found if not node.bases}


def constants(body: list[ast.stmt]) -> set[str]:
    found = [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return {target.id for target in found if isinstance(target, ast.Name)}


def functions(body: list[ast.stmt]) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def stated_arguments(function: ast.FunctionDef) -> list[str]:
    """``*`` before those that need their name, ``=`` after optional ones."""
    plain = [argument.arg for argument in function.args.args]
    optional = len(function.args.defaults)
    plain = plain[: len(plain) - optional] + [f"{name}=" for name in plain[len(plain) - optional :]]
    named = [
        argument.arg + ("=" if default is not None else "")
        for argument, default in zip(
            function.args.kwonlyargs, function.args.kw_defaults, strict=True
        )
    ]
    return [*plain, "*", *named] if named else plain


def real_arguments(doc: str) -> list[str]:
    """Out of the first line of the documentation, the signature."""
    inside = doc.splitlines()[0].partition("(")[2].rpartition(") ->")[0]
    while re.search(
        r"[\[({][^\[\](){}]*[\])}]", inside
    ):  # types and defaults with commas of their own
        inside = re.sub(r"[\[({][^\[\](){}]*[\])}]", "", inside)
    words = [word.strip() for word in inside.split(",") if word.strip()]
    return [word.partition(":")[0] + ("=" if "=" in word else "") for word in words]


def test_the_names_are_those_of_the_module(stub: ast.Module, module: ModuleType) -> None:
    assert {*classes(stub), *functions(stub.body), *constants(stub.body)} == public(dir(module))
    for name, node in classes(stub).items():
        assert set(functions(node.body)) - {"__init__"} == public(dir(getattr(module, name)))


def test_the_arguments_are_those_of_the_module(stub: ast.Module, module: ModuleType) -> None:
    pairs = [(getattr(module, name), node) for name, node in functions(stub.body).items()]
    for name, node in classes(stub).items():
        for method, function in functions(node.body).items():
            if not function.decorator_list:  # a property has none
                pairs.append((getattr(getattr(module, name), method), function))
    assert len(pairs) > 1
    for real, stated in pairs:
        assert real_arguments(real.__doc__) == stated_arguments(stated), stated.name


def test_there_are_stubs() -> None:
    assert {"_core", "_judge", "_network"} <= {path.stem for path in STUBS}
