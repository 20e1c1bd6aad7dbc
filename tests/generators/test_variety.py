"""Draws beyond the recipe: what they promise, and that the rest of a batch stays as it was."""

from __future__ import annotations

import math

import torch
from hypothesis import example, given
from hypothesis import strategies as st

from spacevrp.generators import recipe, variety
from spacevrp.generators.sampler import Sampler
from spacevrp.problems.variants import VARIANTS

ALL = list(VARIANTS.values())
CVRP = VARIANTS["CVRP"]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(counts=st.lists(st.integers(1, 12), min_size=1, max_size=12), share=st.floats(0.0, 1.0))
@example(counts=[1, 8], share=0.905527635240857)  # more are left than variants have room for one
@example(counts=[1, 8], share=0.02147603737556769)  # one has had its own early
def test_the_share_holds_in_every_batch_and_for_every_variant(counts, share):
    variants = [v for v, n in zip(ALL, counts, strict=False) for _ in range(n)]
    turns = variety.spread(variants, 100, share)
    assert 1 <= len(turns) <= variety.MOST_TURNS
    for number in range(1, len(turns) + 1):
        total = sum(sum(varied) for _, varied in turns[:number])
        assert abs(total - number * len(variants) * share) <= 0.5 + 1e-6  # also part of the way
    for variant, count in zip(ALL, counts, strict=False):
        rows = [row for row, other in enumerate(variants) if other is variant]
        total = sum(varied[row] for _, varied in turns for row in rows)
        assert abs(total - len(turns) * count * share) < 1.5  # seldom more than 1


def test_instances_of_different_sizes_are_those_of_their_own_samplers() -> None:
    sizes = [4 + 2 * (row % 4) for row in range(len(ALL))]
    batch = Sampler(ALL, sizes, num_nodes=16).draw(seeded(1))
    for row, (variant, size) in enumerate(zip(ALL, sizes, strict=True)):
        alone = Sampler([variant], size, num_nodes=16).draw(seeded(2))
        for name in ("is_node", "is_depot", "partner", "is_pickup", "max_routes", "node_of"):
            assert torch.equal(getattr(batch, name)[row], getattr(alone, name)[0]), name
        for name in ("capacity", "max_length", "load_tolerance", "compulsory", "service"):
            assert torch.equal(getattr(batch, name)[row], getattr(alone, name)[0]), name
        assert (batch.demand[row] < 0).sum() == (alone.demand[0] < 0).sum()
        largest = recipe.largest_penalty(size)
        assert (batch.penalty[row] <= largest).all()


def test_demands_and_capacities_fill_their_range() -> None:
    count = 3000
    batch = Sampler([CVRP] * count, 30, varied=[True] * count).draw(seeded(4))
    demand = batch.demand[:, 1:]
    assert torch.equal(demand, demand.round())
    kinds = {(1, 9): 0, (1, 1): 0, (5, 10): 0, (1, 100): 0, (50, 100): 0}
    for low, high in zip(demand.amin(1).tolist(), demand.amax(1).tolist(), strict=True):
        # The narrowest class that holds all 30 demands; only a rare draw fits a narrower one.
        fitting = [(b - a, (a, b)) for a, b in kinds if a <= low and high <= b]
        kinds[min(fitting)[1]] += 1
    assert all(abs(found - count / 5) < 5 * math.sqrt(count * 0.16) for found in kinds.values())
    route = batch.capacity / demand.mean(dim=1)
    assert 2 < route.min() < 4
    assert 50 < route.max() < 90
    assert 8 < route.median() < 13
    assert (batch.capacity >= demand.amax(dim=1)).all()
    assert torch.equal(batch.load_tolerance, (1e-5 * batch.capacity).clamp(max=0.5))


def test_clusters_leave_half_of_the_maps_and_all_depots_alone() -> None:
    points = torch.rand((2000, 40, 2), generator=seeded(5))
    is_depot = torch.zeros(2000, 40, dtype=torch.bool)
    is_depot[:, 0] = True
    moved = variety.cluster(points, is_depot, seeded(6))
    assert torch.equal(moved[:, 0], points[:, 0])
    assert ((moved >= 0) & (moved <= 1)).all()
    kept = (moved == points).all(dim=2).all(dim=1)
    assert abs(int(kept.sum()) - 1000) < 130  # 5 deviations, and a few with a tiny share
    nearest = torch.cdist(moved[~kept], moved[~kept]).median(dim=2).values.mean()
    assert nearest < torch.cdist(points, points).median(dim=2).values.mean()


def test_rows_that_keep_the_recipe_are_drawn_as_before() -> None:
    """Draws of the recipe come first from each stream position they share."""
    variants = [VARIANTS["PCTSP"], VARIANTS["CVRPTW"]]
    plain = Sampler(variants, 12).draw(seeded(7))
    varied = Sampler(variants, 12, varied=[True, False]).draw(seeded(7))
    assert torch.equal(plain.distance[1], varied.distance[1])
    for name in ("service", "capacity", "max_length"):
        assert torch.equal(getattr(plain, name), getattr(varied, name)), name


def test_half_of_the_asymmetric_maps_are_streets() -> None:
    """Streets follow places: ways there and back are alike, which random matrices' are not."""
    count = 400
    batch = Sampler([VARIANTS["ATSP"]] * count, 40, varied=[True] * count).draw(seeded(8))
    distance = batch.distance.double()
    there, back = distance, distance.transpose(1, 2)
    both = torch.stack([there.flatten(1), back.flatten(1)], dim=1)
    alike = torch.stack([torch.corrcoef(pair)[0, 1] for pair in both])
    streets = alike > 0.5
    assert abs(int(streets.sum()) - count / 2) < 5 * math.sqrt(count) / 2
    assert not torch.equal(there[streets], back[streets])
    # No detour is shorter, to within the rounding of 40 sums.
    shortest = (distance[:, :, :, None] + distance[:, None, :, :]).amin(dim=2)
    assert (distance <= shortest + 1e-5).all()


def test_limits_leave_every_customer_servable_alone() -> None:
    """Whatever maps, services and windows are drawn."""
    variants = [v for v in ALL if v.features.time_windows or v.features.length_limit] * 8
    batch = Sampler(variants, 20, varied=[True] * len(variants)).draw(seeded(9))
    closed = [not variant.features.open_routes for variant in variants]
    for row, variant in enumerate(variants):
        depots = int(batch.is_depot[row].sum())
        out = batch.distance[row, :depots, depots:]
        back = batch.distance[row, depots:, :depots].T * closed[row]
        assert (out + back <= batch.max_length[row] + 1e-5).all(), variant.name
        if variant.features.time_windows:
            opening, closing = batch.opening[row, depots:], batch.closing[row, depots:]
            end = batch.closing[row, 0]
            out = batch.duration[row, :depots, depots:]
            back = batch.duration[row, depots:, :depots].T * closed[row]
            starts = torch.maximum(out, opening)
            assert (starts <= closing + 1e-5).all(), variant.name
            ends = starts + batch.service[row, depots:] + back
            assert (ends <= end + 1e-5).all(), variant.name


def test_windows_services_and_maps_fill_their_range() -> None:
    count = 2000
    variant = VARIANTS["CVRPTW"]
    batch = Sampler([variant] * count, 30, varied=[True] * count).draw(seeded(10))
    plain = Sampler([variant] * count, 30).draw(seeded(10))
    services = batch.service[:, 1] / recipe.SERVICE
    # As many below the middle of the octaves as above it.
    middle = math.sqrt(variety.SHORTEST_SERVICE)
    assert (services >= variety.SHORTEST_SERVICE - 1e-6).all()
    assert (services <= 1).all()
    assert abs(int((services < middle).sum()) - count / 2) < 5 * math.sqrt(count) / 2
    assert torch.equal(batch.service[:, 1:].amin(dim=1), batch.service[:, 1:].amax(dim=1))
    end = recipe.horizon(variant.features)
    everyone = ((batch.opening[:, 1:] == 0) & (batch.closing[:, 1:] == end)).float().mean(dim=1)
    some_without = everyone > 0.2
    assert 0.2 < some_without.float().mean() < 0.6
    widths, of_recipe = ((one.closing - one.opening)[:, 1:] for one in (batch, plain))
    assert widths[~some_without].amin() < of_recipe.amin()
    assert widths.mean() > of_recipe.mean()
    reach = batch.distance[:, 0].amax(dim=1) / plain.distance[:, 0].amax(dim=1)
    assert reach.median() < 0.75


def test_half_of_the_durations_with_windows_are_not_distances() -> None:
    count = 400
    variants = [VARIANTS["ACVRPTW"]] * count + [VARIANTS["ACVRP"]] * 4
    batch = Sampler(variants, 30, varied=[True] * (count + 4)).draw(seeded(11))
    plain = Sampler(variants, 30, varied=[False] * count + [True] * 4).draw(seeded(11))
    assert plain.duration is plain.distance
    assert torch.equal(batch.duration[count:], batch.distance[count:])
    own = (batch.duration != batch.distance).flatten(1).any(dim=1)[:count]
    assert abs(int(own.sum()) - count / 2) < 5 * math.sqrt(count) / 2
    arcs = ~torch.eye(31, dtype=torch.bool)
    assert (batch.duration <= batch.distance).all()  # no customer gets out of reach
    speed = (batch.duration[:count] / batch.distance[:count].clamp(min=1e-9))[own][:, arcs]
    speed[speed == 0] = 1.0  # some places are no way apart
    assert speed.min() > 1 - variety.FASTER_ON_LONG_WAYS - variety.FASTER_ANYHOW
    assert speed.min() < 0.5
    length = batch.distance[:count][own][:, arcs]
    pairs = [torch.stack(pair) for pair in zip(speed, length, strict=True)]
    alike = torch.stack([torch.corrcoef(pair)[0, 1] for pair in pairs])
    assert (alike < 0).float().mean() > 0.9  # long ways are faster


def test_half_of_the_fleets_have_a_limit_that_holds_all_goods() -> None:
    count = 400
    names = ["CVRP", "MDOCVRPB", "CVRPTW", "CVRPL", "PDCVRP", "TSP"]
    variants = [VARIANTS[name] for name in names for _ in range(count)]
    batch = Sampler(variants, 30, varied=[True] * len(variants)).draw(seeded(12))
    plain = Sampler(variants, 30).draw(seeded(12))
    free = Sampler(variants, 30, varied=[True] * len(variants), limited_fleets=False)
    assert torch.equal(free.draw(seeded(12)).max_routes, plain.max_routes)
    limited = batch.max_routes != plain.max_routes
    assert not limited[2 * count :].any()  # windows, lengths and pairs may ask for more vehicles
    for rows in (slice(0, count), slice(count, 2 * count)):
        assert abs(int(limited[rows].sum()) - count / 2) < 5 * math.sqrt(count) / 2
    fleet, capacity = batch.max_routes[limited].double(), batch.capacity[limited].double()
    demand = batch.demand[limited].double()
    goods = torch.maximum(demand.clamp(min=0).sum(dim=1), (-demand).clamp(min=0).sum(dim=1))
    fewest = goods / capacity
    assert (fleet >= variety.SMALLEST_FLEET * fewest - 1e-4).all()
    assert (fleet <= (variety.LARGEST_FLEET * fewest + 1 + 1e-4).clamp(min=2)).all()
