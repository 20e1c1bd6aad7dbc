"""Builds the compiled modules of ``spacevrp.native``. All metadata are in pyproject.toml."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

NATIVE = Path("src/spacevrp/native")
# The folder of a module's sources, and what it is; the referee shares no file with the others.
MODULES = {
    "_core": (".", "search"),
    "_network": ("network", "network"),
    "_judge": ("judge", "referee"),
}

# Portable instructions (no -march), and no fused multiplication and addition: with the same seed
# x86-64 and aarch64 round alike and find the same plans. A plain char is unsigned on aarch64.
UNIX = [
    *("-std=c++20", "-O3", "-g0", "-DNDEBUG", "-fvisibility=hidden"),
    *("-ffp-contract=off", "-fsigned-char"),
]
MSVC = ["/std:c++20", "/O2", "/EHsc", "/DNDEBUG", "/fp:precise", "/utf-8"]
# Only `make native` and `make sanitize` ask for these: another compiler has other warnings.
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
SANITIZE = [
    *("-O1", "-g", "-UNDEBUG", "-fno-omit-frame-pointer"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
]


class BuildNative(build_ext):
    """Compiles the files side by side; without a compiler, one line says so and nothing fails."""

    user_options: ClassVar = [
        *build_ext.user_options,
        ("strict", None, "warnings are errors, and so is a compiler that fails"),
        ("sanitize", None, "check addresses and undefined behaviour; implies --strict"),
    ]
    boolean_options: ClassVar = [*build_ext.boolean_options, "strict", "sanitize"]

    def initialize_options(self) -> None:
        super().initialize_options()
        self.strict = False
        self.sanitize = False

    def finalize_options(self) -> None:
        super().finalize_options()
        self.strict = bool(self.strict or self.sanitize)
        # What another build left behind has other flags, and its warnings are not seen.
        self.force = bool(self.force or self.strict)

    def build_extensions(self) -> None:
        self.missing: dict[str, str] = {}  # what a module is, and why it is not there
        if self.compiler.compiler_type == "unix":
            self.compile_side_by_side()
        super().build_extensions()
        if self.missing:
            reasons = "; ".join(dict.fromkeys(self.missing.values()))
            line = f"spacevrp: installed without the compiled {listed(self.missing)}: {reasons}"
            print(line, file=sys.stderr, flush=True)

    def build_extension(self, ext: Extension) -> None:
        ext.optional = not self.strict
        try:
            self.add_flags(ext)
            super().build_extension(ext)
        except (CCompilerError, BaseError, ImportError, OSError) as error:
            if self.strict:
                raise
            self.remove_outdated(ext)
            self.missing[MODULES[ext.name.rpartition(".")[2]][1]] = reason_of(error)

    def add_flags(self, ext: Extension) -> None:
        """Flags for the compiler at hand; headers of others do not count for warnings."""
        import pybind11

        if self.compiler.compiler_type == "msvc":
            ext.include_dirs.append(pybind11.get_include())
            ext.extra_compile_args = MSVC
            return
        foreign = [pybind11.get_include(), *self.include_dirs]
        ext.extra_compile_args = [*UNIX, *(f"-isystem{folder}" for folder in foreign)]
        ext.extra_link_args = ["-pthread"]
        if self.strict:
            ext.extra_compile_args += STRICT
        if self.sanitize:
            ext.extra_compile_args += SANITIZE
            ext.extra_link_args += SANITIZE
        elif sys.platform == "darwin":
            ext.extra_link_args += ["-Wl,-S", "-Wl,-x"]
        else:
            ext.extra_link_args += ["-Wl,-s"]

    def compile_side_by_side(self) -> None:
        """One call of the compiler a file, as many at once as there are processors."""
        compile_one_by_one = self.compiler.compile

        def compile_all(sources: list[str], **arguments: Any) -> list[str]:
            with ThreadPoolExecutor(max(1, min(len(sources), os.cpu_count() or 1))) as pool:
                runs = [pool.submit(compile_one_by_one, [file], **arguments) for file in sources]
            return [built for run in runs for built in run.result()]

        self.compiler.compile = compile_all

    def remove_outdated(self, ext: Extension) -> None:
        """Without this, a module built from other sources would stay and be used."""
        name = self.get_ext_filename(self.get_ext_fullname(ext.name))
        for folder in (Path(self.build_lib), Path("src")):
            (folder / name).unlink(missing_ok=True)


def reason_of(error: BaseException) -> str:
    """One short line; of a command that failed, its name and not its flags."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, subprocess.CalledProcessError):
            return f"the compiler failed ({cause.cmd[0]} ended with status {cause.returncode})"
        if isinstance(cause, FileNotFoundError):
            return f"there is no compiler ({cause.filename} not found)"
        cause = cause.__cause__ or cause.__context__
    return shorten(str(error) or type(error).__name__, 200)


def listed(words: Iterable[str]) -> str:
    """Words as in a sentence."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def files(folder: str, suffix: str) -> list[str]:
    """The files of one module with this suffix, in an order of their own."""
    return sorted(path.as_posix() for path in (NATIVE / folder).glob(f"*{suffix}"))


setup(
    ext_modules=[
        Extension(
            f"spacevrp.native.{name}",
            files(folder, ".cpp"),
            depends=[*files(folder, ".hpp"), "setup.py"],
            language="c++",
            optional=True,
        )
        for name, (folder, _) in MODULES.items()
        if files(folder, ".cpp")
    ],
    cmdclass={"build_ext": BuildNative},
)
