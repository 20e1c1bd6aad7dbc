"""Types of command-line arguments that several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def at_least(lowest: int) -> Callable[[str], int]:
    """A parser of whole numbers from ``lowest`` on, for ``type=`` of an argument."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = lowest - 1
        if value < lowest:
            raise argparse.ArgumentTypeError(
                f"expected a whole number of at least {lowest}, received {text[:40]!r}"
            )
        return value

    return parse
