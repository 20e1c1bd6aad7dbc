"""Hostile inputs for the compiled search: python tests/native/fuzz.py COUNT [FIRST].

Each input has a number. They run in a process of their own: where one ends it, its number is
printed, and the rest goes on in another. Exit code 1 where any input did.
"""

from __future__ import annotations

import collections
import faulthandler
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

# Seconds that one input may take at most.
_MOST = 60


def work(first: int, count: int) -> None:
    """Some inputs in this process; one line each."""
    from hostile import attack

    faulthandler.enable()
    warnings.simplefilter("ignore")
    for number in range(first, first + count):
        print("begin", number, flush=True)
        faulthandler.dump_traceback_later(_MOST, exit=True)
        try:
            print("end", attack(number).replace(" ", "_"), flush=True)
        except Exception:
            print(f"input {number}:", file=sys.stderr)
            traceback.print_exc()
            print("end", "FAULT", flush=True)
    faulthandler.cancel_dump_traceback_later()


def campaign(count: int, first: int = 0) -> tuple[dict[str, int], list[int]]:
    """How inputs ended, and the numbers of those that raised what they may not or did not end."""
    ends: collections.Counter[str] = collections.Counter()
    bad: list[int] = []
    at = first
    while at < first + count:
        command = [sys.executable, __file__, "work", str(at), str(first + count - at)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            begun = None
            for line in process.stdout:
                word, _, rest = line.strip().partition(" ")
                if word == "begin":
                    begun = int(rest)
                elif word == "end" and begun is not None:
                    ends[rest] += 1
                    if rest == "FAULT":
                        bad.append(begun)
                    at, begun = begun + 1, None
        if process.returncode != 0:
            lost = at if begun is None else begun
            print(f"input {lost} ended the process with {process.returncode}", flush=True)
            ends["CRASH"] += 1
            bad.append(lost)
            at = lost + 1
    return dict(ends), bad


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(int(sys.argv[2]), int(sys.argv[3]))
    else:
        outcome, faulty = campaign(*map(int, sys.argv[1:]))
        print(outcome, "faulty:", faulty)
        sys.exit(bool(faulty))
