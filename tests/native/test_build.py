"""The build of the compiled modules, with a compiler or without, and what their stubs say."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path
from types import ModuleType

import pybind11
import pytest

from spacevrp import native

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "src" / "spacevrp" / "native"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")

# Modules in no time, the first in two files: the real ones take minutes.
TINY = {
    "tiny.hpp": "inline constexpr int ANSWER = 42;\n",
    "tiny.cpp": """\
#include <Python.h>
#include "tiny.hpp"
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit__core() {
    PyObject *module = PyModule_Create(&definition);
    PyModule_AddIntConstant(module, "answer", ANSWER);
    return module;
}
""",
    "other.cpp": '#include "tiny.hpp"\nint doubled() { return 2 * ANSWER; }\n',
    "judge/tiny.hpp": "// Of its own.\n",
    "judge/tiny.cpp": """\
#include <Python.h>
#include "tiny.hpp"
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_judge", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit__judge() { return PyModule_Create(&definition); }
""",
}
# Of each module that is built from TINY.
BUILT = {f"_core{SUFFIX}", f"_judge{SUFFIX}"}
STUBS = {path.name for path in NATIVE.glob("_*.pyi")}
NO_COMPILER = {"CC": "/no/such/compiler", "CXX": "/no/such/compiler"}
FAILING = dict.fromkeys(("CC", "CXX"), shutil.which("false") or "false")


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``python ARGUMENTS`` in a folder, its output and errors together."""
    clean = {key: value for key, value in os.environ.items() if key not in ("CC", "CXX", "CFLAGS")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=clean | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def copy_checkout(folder: Path) -> Path:
    """What the build reads, with none of the modules of the package but the compiled one's."""
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    package = folder / "src" / "spacevrp"
    (package / "native").mkdir(parents=True)
    for name in ("__init__.py", "py.typed", "native/__init__.py"):
        shutil.copy(NATIVE.parent / name, package / name)
    for name in STUBS:
        shutil.copy(NATIVE / name, package / "native" / name)
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small checkout whose compiled modules are tiny."""
    folder = copy_checkout(tmp_path)
    for name, text in TINY.items():
        path = folder / "src" / "spacevrp" / "native" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def installed_files(target: Path) -> set[str]:
    """Everything in the folder of the compiled modules but what Python itself adds."""
    return {p.name for p in (target / "spacevrp/native").iterdir() if p.name != "__pycache__"}


def compiler_words() -> list[str]:
    """The command that compiles C++ here."""
    return (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips where a module cannot be compiled: no compiler of C++20, or no headers of Python."""
    folder = tmp_path_factory.mktemp("compiler")
    (folder / "try.cpp").write_text("#include <Python.h>\n#include <concepts>\n#include <span>\n")
    include = sysconfig.get_path("include")
    flags = ["-std=c++20", f"-I{include}", "-c", "try.cpp", "-o", "try.o"]
    try:
        subprocess.run([*compiler_words(), *flags], cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs a C++20 compiler and the headers of Python")


def state_of(package: Path) -> str:
    """What the package in this folder says of its compiled module, in another process."""
    program = (
        "from spacevrp import native; "
        "print(native.available(), getattr(native.core, 'answer', None), native.MISSING, sep='|')"
    )
    done = run(package, "-c", program, PYTHONPATH=str(package))
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


def build(checkout: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run(checkout, "setup.py", "build_ext", "--inplace", *options, **environment)


def test_the_modules_are_built_in_place(checkout: Path, compiler: None) -> None:
    done = build(checkout, "--strict")
    assert done.returncode == 0, done.stdout
    assert {path.name for path in (checkout / "src/spacevrp/native").iterdir()} >= BUILT
    assert state_of(checkout / "src").startswith("True|42|")


@pytest.mark.slow
def test_a_changed_header_is_compiled_again(checkout: Path, compiler: None) -> None:
    assert build(checkout).returncode == 0
    header = checkout / "src/spacevrp/native/tiny.hpp"
    header.write_text(TINY["tiny.hpp"].replace("42", "43"))
    built = checkout / "src/spacevrp/native" / f"_core{SUFFIX}"
    os.utime(header, (built.stat().st_mtime + 2,) * 2)
    assert build(checkout).returncode == 0
    assert state_of(checkout / "src").startswith("True|43|")


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        (NO_COMPILER, "there is no compiler (/no/such/compiler not found)"),
        (FAILING, f"the compiler failed ({FAILING['CXX']} ended with status 1)"),
    ],
)
def test_without_a_compiler_one_line_says_so(
    checkout: Path, environment: dict[str, str], reason: str
) -> None:
    outdated = [checkout / "src/spacevrp/native" / name for name in sorted(BUILT)]
    for path in outdated:
        path.write_text("built from other sources")
    done = build(checkout, **environment)
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if "spacevrp: " in line]
    assert lines == [f"spacevrp: installed without the compiled search and referee: {reason}"]
    assert not any(path.exists() for path in outdated)
    assert state_of(checkout / "src").startswith("False|None|the compiled search is not installed")


@pytest.mark.slow
def test_one_module_may_be_missing_alone(checkout: Path, compiler: None) -> None:
    (checkout / "src/spacevrp/native/judge/tiny.cpp").write_text("no C++\n")
    done = build(checkout)
    assert done.returncode == 0, done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "spacevrp: " in line]
    assert line.startswith("spacevrp: installed without the compiled referee: the compiler failed")
    assert state_of(checkout / "src").startswith("True|42|")


def test_developers_are_told_by_an_error(checkout: Path) -> None:
    assert build(checkout, "--strict", **FAILING).returncode != 0


@pytest.mark.slow
def test_warnings_are_errors_for_developers_only(checkout: Path, compiler: None) -> None:
    with (checkout / "src/spacevrp/native/other.cpp").open("a") as file:
        file.write("int narrow(double x) { int unused; return x; }\n")
    assert build(checkout, "--strict").returncode != 0
    assert build(checkout).returncode == 0


def test_a_module_that_cannot_be_loaded_is_named(checkout: Path) -> None:
    (checkout / "src/spacevrp/native" / f"_core{SUFFIX}").write_text("of another machine")
    state = state_of(checkout / "src")
    assert state.startswith("False|None|the compiled search cannot be loaded (")
    assert "\n" not in state


@pytest.mark.skipif(not native.available(), reason=native.MISSING)
def test_the_program_for_releases_finds_the_search_right() -> None:
    done = run(ROOT / "tests" / "native", "installed.py", PYTHONPATH=str(NATIVE.parents[1]))
    assert done.returncode == 0, done.stdout
    assert "cost 28," in done.stdout
    assert run(ROOT / "tests" / "native", "installed.py", "missing").returncode != 0


def test_no_source_uses_streams() -> None:
    """In one installation of Python 3.12 every use of one crashed."""
    sources = {path: path.read_text() for path in NATIVE.rglob("*.[hc]pp")}
    assert sources
    streams = re.compile(r"#include <(\w*stream|iomanip|locale|format)>")
    assert [path.name for path, text in sources.items() if streams.search(text)] == []


def test_nothing_stands_beside_the_sources_that_the_archive_would_miss() -> None:
    suffixes = {path.suffix for path in NATIVE.rglob("[!_]*.*") if path.is_file()}
    assert suffixes <= {".py", ".pyi", ".cpp", ".hpp", ".so", ".pyd"}


def source_archive(checkout: Path) -> Path:
    done = run(checkout, "setup.py", "--quiet", "sdist")
    assert done.returncode == 0, done.stdout
    (archive,) = (checkout / "dist").iterdir()
    return archive


def test_the_source_archive_has_what_is_compiled(checkout: Path) -> None:
    with tarfile.open(source_archive(checkout)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"setup.py", "pyproject.toml"} <= names
    native = ("__init__.py", *STUBS, *TINY)
    assert {f"src/spacevrp/native/{name}" for name in native} <= names


def pip_install(archive: Path, target: Path, **environment: str) -> None:
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
    arguments = ["install", *options, "--target", str(target), str(archive)]
    done = run(archive.parent, "-m", "pip", *arguments, **environment)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [True, False])
def test_the_archive_installs(checkout: Path, compiler: None, compiled: bool) -> None:
    target = checkout / "installed"
    pip_install(source_archive(checkout), target, **({} if compiled else NO_COMPILER))
    assert installed_files(target) == {"__init__.py", *STUBS, *(BUILT if compiled else ())}
    missing = "False|None|the compiled search is not installed"
    assert state_of(target).startswith("True|42|" if compiled else missing)


@pytest.mark.slow
def test_the_archive_has_every_file_of_the_real_sources(tmp_path: Path, compiler: None) -> None:
    """The preprocessor finds all that they include; to compile them once more takes a minute."""
    checkout = copy_checkout(tmp_path)
    sources = [path.relative_to(NATIVE) for path in NATIVE.rglob("*.[ch]pp")]
    for path in sources:
        copied = checkout / "src" / "spacevrp" / "native" / path
        copied.parent.mkdir(exist_ok=True)
        shutil.copy(NATIVE / path, copied)
    with tarfile.open(source_archive(checkout)) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").glob("*/src/spacevrp/native")
    folders = [sysconfig.get_path("include"), pybind11.get_include()]
    flags = ["-std=c++20", "-MM", *(f"-isystem{folder}" for folder in folders)]
    files = [str(unpacked / path) for path in sources if path.suffix == ".cpp"]
    done = subprocess.run(
        [*compiler_words(), *flags, *files], check=True, stdout=subprocess.PIPE, text=True
    )
    needed = {word for word in done.stdout.split() if word.startswith(str(unpacked))}
    assert needed == {str(unpacked / path) for path in sources}


STUB_FILES = sorted(Path(native.__file__).parent.glob("_*.pyi"))


@pytest.fixture(params=STUB_FILES, ids=lambda path: path.stem)
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
    assert {"_core", "_judge", "_network"} <= {path.stem for path in STUB_FILES}
