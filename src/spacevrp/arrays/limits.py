"""Limits and amounts as the rules compare them, in float32: never looser than the referee.

The referee compares in float64 and forgives a slack. The rules add up in float32 and forgive half
of it, so that the other half is left for rounding. What they forgive is one number for all
instances (:data:`TOLERANCE`, in the units of the tensors); where half of the slack is something
else, the limit itself is moved.

Loads are added up as whole numbers of steps: those of the user, tenths, thirtieths, or some tiny
part of the capacity, rounded up. Float32 adds up whole numbers below 2^24 without any error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from spacevrp.problems.problem import Problem
from spacevrp.problems.scales import BASE_TOLERANCE, LOAD_TOLERANCE

Array = np.ndarray[Any, Any]

# What the rules forgive, in units: half of the referee's slack in generated instances.
TOLERANCE = BASE_TOLERANCE / 2.0
# A move of a limit that is no more than what dividing by the unit does to it.
_DUST = 1e-12
# Half of what float32 can hold.
_FARTHEST = float(np.finfo(np.float32).max) / 2.0
# Whole numbers up to here are exact in float32, and so are their sums.
_EXACT = 2.0**24
# Limits up to here keep fractions in float32 well enough to tell whole amounts apart.
_KEEPS_FRACTIONS = 2.0**16
# Steps of a capacity whose amounts have no common measure. Halves, thirds and tenths of it are
# whole, and so are fifteenths, sixteenths, ... (2^6 3^2 5^2 7 11 13).
_STEPS = 14_414_400.0
# What amounts are multiplied with to make them whole.
_FACTORS = (*range(2, 1001), *(10**power for power in range(4, 8)))
# How far from a whole number such a product may be, as a part of it: float32 rounds by less. With
# what a capacity is rounded up by, it stays within the referee's slack.
_ROUNDED, _ROUNDED_UP = 0.65 * LOAD_TOLERANCE, 0.3 * LOAD_TOLERANCE


def as_limits(limits: Any, slack: Any, unit: Any) -> Array:
    """Limits in units, moved so that the rules forgive half of the slack; infinite ones stay.

    Slack and unit are numbers, or arrays that the limits are broadcast against.
    """
    values = np.asarray(limits, dtype=np.float64)
    half = np.asarray(slack / (2.0 * unit))
    stays = np.abs(half - TOLERANCE) <= _DUST
    with np.errstate(over="ignore"):
        scaled = values / unit
    if stays.all():
        return np.asarray(scaled)
    # Nothing comes near a limit that float32 cannot hold: there is none.
    near = np.where(np.abs(scaled) < _FARTHEST, scaled, np.copysign(np.inf, scaled))
    moved = (near + (half - TOLERANCE)).astype(np.float32)
    # As the rules see it, and no further out than intended.
    forgiven = moved + np.float32(TOLERANCE)
    too_far = np.isfinite(near) & (forgiven.astype(np.float64) > near + half)
    step = np.spacing(np.maximum(np.abs(moved), np.abs(forgiven)))
    moved = np.where(too_far, moved - step, moved)
    return np.asarray(np.where(stays, scaled, moved.astype(np.float64)))


@dataclass(frozen=True)
class Amounts:
    """One kind of load in steps: what customers need, and what vehicles hold."""

    amounts: Array  # (N,)
    capacities: Array  # (K,) inf where unlimited
    tolerances: Array  # (K,)


def as_amounts(problem: Problem, kind: int, capacities: Any) -> Amounts:
    """Amounts of a kind of load, and the capacities of vehicles (K,) for it.

    Whole amounts stay what they are, so that a full vehicle stays full.
    """
    amounts, limits = problem.loads[:, kind], np.asarray(capacities, dtype=np.float64)
    slack = np.array([problem.load_slack(limit, kind) for limit in limits])
    finite = limits[np.isfinite(limits)]
    # No sum that matters is larger.
    with np.errstate(over="ignore"):
        largest = min(float(finite.max(initial=0.0)), float(np.abs(amounts).sum()))
    if largest <= 0.0:
        return Amounts(amounts, limits, slack)
    if problem.whole_loads[kind]:
        if largest < _EXACT:
            fits = (limits < _KEEPS_FRACTIONS) | (limits == np.floor(limits))
            return Amounts(amounts, np.where(fits, limits, np.floor(limits)), slack)
        divisor = float(math.gcd(*(int(amount) for amount in amounts)))
        if largest / divisor < _EXACT:
            return _steps(amounts / divisor, np.floor(limits / divisor))
    else:
        for factor in _FACTORS:
            if largest * factor >= _EXACT:
                break
            scaled = amounts * factor
            if _nearly_whole(scaled).all():
                return _steps(np.rint(scaled), np.floor(limits * factor * (1.0 + _ROUNDED_UP)))
    return _in_small_steps(problem, amounts, limits)


def _nearly_whole(values: Array) -> Array:
    return np.asarray(np.abs(values - np.rint(values)) <= _ROUNDED * np.abs(values))


def _steps(amounts: Array, capacities: Array) -> Amounts:
    return Amounts(amounts, capacities, np.where(np.isfinite(capacities), 0.25, 0.0))


def _in_small_steps(problem: Problem, amounts: Array, limits: Array) -> Amounts:
    """Amounts without a common measure, rounded up: a vehicle holds no more than it does."""
    largest = float(limits[np.isfinite(limits)].max())
    factor = _STEPS / largest
    scaled = np.abs(amounts) * factor
    rounded = np.where(_nearly_whole(scaled), np.rint(scaled), np.ceil(scaled)) * np.sign(amounts)
    capacities = np.floor(limits * factor * (1.0 + _ROUNDED_UP))
    one_way = problem.pairs or problem.backhaul_last or problem.load_rule == "separate"
    collects, delivers = int((amounts < 0).sum()), int((amounts > 0).sum())
    if collects and delivers and not one_way:
        # Amounts of both signs are taken off each other, and rounding up adds to what is taken off.
        capacities = capacities - max(collects, delivers)
    # Who fills the vehicle, still fits in.
    most = float(capacities[np.isfinite(capacities)].max())
    alone = np.abs(amounts) <= largest * (1.0 + LOAD_TOLERANCE)
    return _steps(np.where(alone, np.clip(rounded, -most, most), rounded), capacities)


def cast(values: Any, dtype: Any) -> Array:
    """Numbers in the type of the network. A limit beyond its range is none."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(dtype)
