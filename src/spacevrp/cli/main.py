"""The command ``spacevrp``: chooses the verb and turns every failure into one line.

Exit codes: 0 done, 1 a negative answer, 2 bad usage or bad input.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn, TextIO

from spacevrp import __version__
from spacevrp.cli.verbs import Subverbs, Verb
from spacevrp.problems.errors import TORCH_MISSING, SpacevrpError

BAD_INPUT = 2
INTERRUPTED = 130  # what shells report for SIGINT
BROKEN_PIPE = 141  # and for SIGPIPE


VERBS = (
    Verb("demo", "solve a bundled instance and draw it", "spacevrp.cli.demo"),
    Verb("solve", "solve the instances of files", "spacevrp.cli.solve"),
    Verb("convert", "write an instance in another format", "spacevrp.cli.convert"),
    Verb("variants", "list the 110 variants", "spacevrp.cli.variants"),
    Verb("generate", "make a reproducible set of random instances", "spacevrp.cli.generate"),
    Verb("check", "judge a solution: its cost and every violation", "spacevrp.cli.check"),
    Verb("explain", "why customers are left out, and what limits routes", "spacevrp.cli.explain"),
    Verb("serve", "problems in and plans out over HTTP", "spacevrp.cli.serve"),
    Verb("oracle", "solve with a classical solver", "spacevrp.cli.oracle"),
    Verb("train", "train a model", "spacevrp.cli.train"),
    Verb("bench", "measure speed and quality", "spacevrp.cli.verbs:BENCH"),
    Verb("plot", "draw a plan, or what was recorded", "spacevrp.cli.verbs:PLOT"),
    Verb("versions", "what is installed, for bug reports", "spacevrp.cli.versions"),
    Verb("completion", "print a completion script for a shell", "spacevrp.cli.completion"),
)


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, like every other error."""

    def error(self, message: str) -> NoReturn:
        _complain(f"{message} (see '{self.prog} --help')")
        self.exit(BAD_INPUT)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code. Never raises SystemExit."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Not every terminal can write every name; a plan is worth more than a letter of it.
        sys.stdout.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            code = _run(arguments)
            # A full disk or a closed pipe may show only now, and should show as one line too.
            if sys.stdout is not None:
                sys.stdout.flush()
        except SpacevrpError as error:
            return _complain(str(error))
        except BrokenPipeError:
            _flush_stdout()
            return BROKEN_PIPE
        except OSError as error:
            _flush_stdout()
            return _complain(_describe_os_error(error))
        except MemoryError as error:
            return _complain(f"not enough memory: {str(error) or 'no details known'}")
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            return _complain(TORCH_MISSING)
        except KeyboardInterrupt:
            return INTERRUPTED
    return code


def _run(arguments: list[str]) -> int:
    parser = _Parser(
        prog="spacevrp",
        description="One neural model for 110 vehicle routing variants.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"spacevrp {__version__}")
    Subverbs(VERBS, title="verbs", metavar="VERB").add_arguments(parser)
    try:
        parsed = parser.parse_args(arguments)
    except SystemExit as stop:  # after --help, --version or a usage error
        return stop.code if isinstance(stop.code, int) else 0
    code: int = parsed.run(parsed)
    return code


def _complain(message: str, kind: str = "error") -> int:
    """Print one line on stderr, whatever the message holds; return the exit code of bad input."""
    line = " ".join(message.split())
    # Bytes of a broken file may end up in a message; they must not reach the terminal raw.
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    print(f"spacevrp: {kind}: {printable}", file=sys.stderr)
    return BAD_INPUT


def _describe_os_error(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if name is not None]
    return f"{' -> '.join(names)}: {reason}" if names else reason


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _complain(str(message), kind="warning")


def _flush_stdout() -> None:
    """Write what is still buffered, or drop it if that fails, so that no later flush can fail."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):  # a stdout without a file descriptor
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
