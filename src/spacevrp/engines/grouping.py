"""Which instances are solved together, and how far each is searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from spacevrp.engines.devices import Device
from spacevrp.engines.pruning import Search, describe, search_of
from spacevrp.inference.beam import OTHERS
from spacevrp.inference.settings import Settings
from spacevrp.problems.canonical import needs_fleet_rules
from spacevrp.problems.problem import Problem

# Instances share a batch up to this ratio of their sizes: padding costs its square.
_PADDING = 1.1


def group(
    problems: Sequence[Problem],
    chosen: Iterable[int],
    augment: int,
    search_of: Callable[[Problem], Search | None] = lambda problem: None,
) -> list[tuple[int, list[int]]]:
    """(augmentations, numbers of instances) solved together: of like size, of any variant.

    Several depots take more work a step and durations of their own more memory, so those instances
    stay among themselves; so do fleets, and large ones that are searched alike with one metric.
    """

    def kind(number: int) -> tuple[int, bool, bool, bool, str]:
        problem = problems[number]
        own_durations = problem.durations is not problem.distances
        search, large = search_of(problem), ""
        if search is not None:
            planar = problem.distances.coordinates is not None
            large = f"{search} {problem.distances.metric if planar else 'matrix'}"
        augmentations = distinct_augmentations(problem, augment)
        several_depots = len(problem.depots) > 1
        return augmentations, needs_fleet_rules(problem), several_depots, own_durations, large

    groups: list[tuple[int, list[int]]] = []
    smallest, last = 0, None
    for number in sorted(chosen, key=lambda i: (kind(i), problems[i].size, i)):
        size = problems[number].size
        if kind(number) != last or size > _PADDING * smallest:
            groups.append((kind(number)[0], []))
            smallest, last = size, kind(number)
        groups[-1][1].append(number)
    return groups


def distinct_augmentations(problem: Problem, augment: int) -> int:
    """Small instances have no more pivot sets than single customers and pairs of them."""
    customers = len(problem.customers)
    return min(augment, customers + customers * (customers - 1) // 2)


def starts_expected(problems: Sequence[Problem], limit: int | None) -> int:
    """Start nodes of the instance with most of them, before anything is known of feasibility."""
    most = max(len(problem.pairs) or len(problem.customers) for problem in problems)
    return most if limit is None else min(limit, most)


def count_rollouts(several: Sequence[Problem], settings: Settings, device: Device) -> int:
    """Of an augmentation of the instance of a group with most start nodes, about."""
    large = search_of(several[0], settings, device)
    starts = starts_expected(several, settings.starts if large is None else large.starts)
    if large is not None or needs_fleet_rules(several[0]):
        return starts * settings.rounds
    return settings.rollouts(starts)


def count_beams(several: Sequence[Problem], settings: Settings, device: Device) -> int:
    """Rollouts of the beam search of an augmentation, about."""
    first = several[0]
    if needs_fleet_rules(first) or search_of(first, settings, device) is not None:
        return 0
    return settings.beam_width * OTHERS * max(len(problem.customers) for problem in several)


def note_left_out(
    several: Sequence[Problem], settings: Settings, search: Search, notes: list[str]
) -> None:
    """Say what is left out of large instances, where it was not the user's choice."""
    if not settings.pruned or (settings.starts is not None and settings.choices is not None):
        return
    for problem in several:
        text = describe(search, problem)
        if text not in notes:  # the second attempt looks no further
            notes.append(text)
