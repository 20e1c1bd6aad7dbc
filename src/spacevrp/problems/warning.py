"""Warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


class IgnoredWarning(UserWarning):
    """Something that was given and has no effect here, by name."""


class UnitWarning(UserWarning):
    """Numbers of time whose unit nothing says."""


class RefusedWarning(UserWarning):
    """The search and the referee do not agree on a plan: a fault of this package."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of this package that led here."""
    level, frame = 1, sys._getframe()
    while (
        frame.f_back is not None
        and str(frame.f_globals.get("__name__", "")).partition(".")[0] == _PACKAGE
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
