"""The build of the compiled search: with a compiler, without one, and out of the source archive."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

from spacevrp import native

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "src" / "spacevrp" / "native"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")

# A module in no time, in two files: the real one takes a minute.
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
}
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
    for name in ("__init__.py", "py.typed", "native/__init__.py", "native/_core.pyi"):
        shutil.copy(NATIVE.parent / name, package / name)
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small checkout whose compiled module is tiny."""
    folder = copy_checkout(tmp_path)
    for name, text in TINY.items():
        (folder / "src" / "spacevrp" / "native" / name).write_text(text)
    return folder


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips where a module cannot be compiled: no compiler of C++20, or no headers of Python."""
    folder = tmp_path_factory.mktemp("compiler")
    (folder / "try.cpp").write_text("#include <Python.h>\n#include <concepts>\n#include <span>\n")
    include = sysconfig.get_path("include")
    words = (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()
    flags = ["-std=c++20", f"-I{include}", "-c", "try.cpp", "-o", "try.o"]
    try:
        subprocess.run([*words, *flags], cwd=folder, check=True, capture_output=True)
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


def test_the_module_is_built_in_place(checkout: Path, compiler: None) -> None:
    done = build(checkout, "--strict")
    assert done.returncode == 0, done.stdout
    assert (checkout / "src/spacevrp/native" / f"_core{SUFFIX}").exists()
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
    outdated = checkout / "src/spacevrp/native" / f"_core{SUFFIX}"
    outdated.write_text("built from other sources")
    done = build(checkout, **environment)
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if "spacevrp: " in line]
    assert lines == [f"spacevrp: installed without the compiled search: {reason}"]
    assert not outdated.exists()
    assert state_of(checkout / "src").startswith("False|None|the compiled search is not installed")


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


def test_nothing_stands_beside_the_sources_that_the_archive_would_miss() -> None:
    suffixes = {path.suffix for path in NATIVE.iterdir() if path.is_file()}
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
    native = ("__init__.py", "_core.pyi", *TINY)
    assert {f"src/spacevrp/native/{name}" for name in native} <= names


def pip_install(archive: Path, target: Path, **environment: str) -> None:
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
    arguments = ["install", *options, "--target", str(target), str(archive)]
    done = run(archive.parent, "-m", "pip", *arguments, **environment)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_archive_installs_without_a_compiler(checkout: Path) -> None:
    target = checkout / "installed"
    pip_install(source_archive(checkout), target, **NO_COMPILER)
    native = {path.name for path in (target / "spacevrp/native").iterdir() if path.is_file()}
    assert native == {"__init__.py", "_core.pyi"}
    assert state_of(target).startswith("False|None|the compiled search is not installed")


@pytest.mark.slow
def test_the_archive_of_the_real_sources_installs(tmp_path: Path, compiler: None) -> None:
    checkout = copy_checkout(tmp_path)
    for path in (*NATIVE.glob("*.cpp"), *NATIVE.glob("*.hpp")):
        shutil.copy(path, checkout / "src" / "spacevrp" / "native" / path.name)
    target = checkout / "installed"
    pip_install(source_archive(checkout), target)
    native = {path.name for path in (target / "spacevrp/native").iterdir() if path.is_file()}
    assert native == {"__init__.py", "_core.pyi", f"_core{SUFFIX}"}
    assert state_of(target).startswith("True|")
