"""How distances from coordinates can be rounded, by name; without NumPy, for the command line."""

from __future__ import annotations

ROUNDINGS = ("none", "nearest", "up", "down", "one-decimal", "three-decimals")
