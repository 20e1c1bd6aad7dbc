"""Run the kernels in Triton's interpreter and print how they compare with their slow twins.

A program of its own, because the interpreter must be chosen before Triton is imported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch
from torch import Tensor

from spacevrp.bench.agreement import measure_agreement
from spacevrp.decode import rollout, routes_of
from spacevrp.decode.depot_choices import DepotChoices
from spacevrp.decode.deviation import Deviations
from spacevrp.decode.fused import FusedOptions, fused_rollout
from spacevrp.decode.fused_replay import fused_replay_gradients
from spacevrp.decode.launch import LARGE_TILES, Launch
from spacevrp.decode.random_numbers import random_keys
from spacevrp.decode.replay import decisions, replay_gradients
from spacevrp.decode.rollout import advance
from spacevrp.decode.trace import Trace
from spacevrp.env import Environment, start_nodes
from spacevrp.generators import generate
from spacevrp.model import ModelConfig, SpaceModel, random_seeds
from spacevrp.model.decoder import DecoderTables
from spacevrp.model.mixing import fused_mix, plain_mix
from spacevrp.problems.distances import Distances
from spacevrp.problems.problem import Problem
from spacevrp.problems.referee import judge
from spacevrp.tensors import stack
from spacevrp.train.config import TrainConfig

SIZE, STARTS, BLOCK = 6, 4, 16
# Beyond 128 nodes kernels read tables again, and take rows in tiles; the smallest instances have
# fewer nodes than there are signals.
MANY, FEW = 131, 4
# Both kinds of networks: that of the bundled weights, and one that counts facts of moves. The
# clipping of the second leaves it unsure of most moves, so that there is something to learn.
FOUR_SIGNALS = ModelConfig(width=16, layers=1, feedforward=16, pivots=4, rank=2, heads=1, signals=4)
MOVE_FACTS = replace(FOUR_SIGNALS, signals=7, constraint_aware=True, clipping=10.0)
# Tables whose last bits differ, to see what rounding does to gradients.
NEARLY_EQUAL = 16
RECORDING = partial(advance, record=True)
HISTORIES = ("action", "signals", "allowed", "likeliest", "depot")


def instance(name: str, size: int = SIZE, **changes: object) -> Problem:
    (problem,) = generate(name, size, 1, seed=3)
    return problem.replace(**changes) if changes else problem


def with_missing_arcs() -> Problem:
    """Every second way between customers is closed in one direction."""
    problem = instance("ACVRP")
    matrix = np.array(problem.distances.matrix(), dtype=float)
    for a in range(1, SIZE + 1):
        for b in range(a + 1, SIZE + 1, 2):
            matrix[a, b] = np.inf
    return problem.replace(distances=Distances(matrix=matrix))


def with_durations() -> Problem:
    """Travelling takes longer than it costs, and not in proportion."""
    problem = instance("ACVRPTW")
    slow = np.array(problem.distances.matrix()) * 1.3
    slow[1::2] *= 1.2
    windows = np.array(problem.windows)
    windows[0, 1] = 2.0
    windows[1:, 1] += 0.5
    return problem.replace(durations=slow, windows=windows)


def cases() -> dict[str, Problem]:
    """One instance for every rule, tight enough that the rule matters."""
    return {
        "no depot": instance("TSP"),
        "asymmetric": instance("ATSP"),
        "capacity": instance("CVRP", capacity=12.0),
        "time windows": instance("CVRPTW"),
        "length limit": instance("CVRPL", max_length=2.5),
        "open, length, windows": instance("OCVRPLTW", max_length=1.5),
        "open": instance("OCVRP", capacity=12.0),
        "load rule single": instance("CVRPB", capacity=10.0, load_rule="single"),
        "load rule paper": instance("CVRPB", capacity=10.0, load_rule="paper"),
        "load rule separate": instance("CVRPB", capacity=10.0, load_rule="separate"),
        "backhauls last": instance("CVRPBP", capacity=12.0),
        "asymmetric backhauls and windows": instance("ACVRPBTW", load_rule="paper"),
        "orienteering": instance("OP", max_length=1.5),
        "prize collecting": instance("PCTSP"),
        "stochastic prizes": instance("SPCTSP"),
        "pickup and delivery": instance("PDTSP"),
        "pickup, delivery and capacity": instance("PDCVRP", capacity=10.0),
        "durations of their own": with_durations(),
        "few vehicles": instance("CVRP", max_routes=2, capacity=17.0),
        "missing arcs": with_missing_arcs(),
    }


# What each kind of network is asked: every rule of one of them, the more important of both.
ASKED = {
    "four signals": (
        FOUR_SIGNALS,
        (
            *("no depot", "asymmetric", "capacity", "time windows", "length limit", "open"),
            *("load rule separate", "asymmetric backhauls and windows", "prize collecting"),
            *("stochastic prizes", "pickup and delivery", "few vehicles"),
        ),
        {
            "surest": (0.0, ("MDCVRP", "MDCVRPBPTW", "MDOCVRPTW", "AMDCVRPB", "TSP")),
            "drawn": (1.0, ("MDCVRP", "MDCVRPTW", "AMDOCVRP", "pairs", "CVRP", "TSP")),
        },
    ),
    "facts of moves": (
        MOVE_FACTS,
        (
            *("no depot", "capacity", "time windows", "length limit", "open, length, windows"),
            *("load rule single", "load rule paper", "load rule separate", "backhauls last"),
            *("orienteering", "pickup, delivery and capacity", "durations of their own"),
            *("missing arcs",),
        ),
        {"drawn": (0.3, ("MDCVRP", "AMDOCVRPLTW", "MDCVRPBL", "pairs", "CVRP", "TSP"))},
    ),
}


def pairs_of_two_depots() -> Problem:
    """Pickups and deliveries; the other instances with several depots have three.

    Deliveries are next to depots, so that vehicles come home between them.
    """
    points = [(0.1, 0.1), (0.9, 0.9), (0.5, 0.4), (0.1, 0.12), (0.6, 0.5), (0.9, 0.88)]
    points += [(0.4, 0.6), (0.12, 0.1), (0.5, 0.7), (0.88, 0.9)]
    return Problem.from_coordinates(
        points,
        depots=(0, 1),
        pairs=[(2, 3), (4, 5), (6, 7), (8, 9)],
        demand=[0, 0, -4, 4, -5, 5, -3, 3, -6, 6],
        capacity=7.0,
    )


def several_depots(
    config: ModelConfig, temperature: float, names: Sequence[str]
) -> dict[str, object]:
    """Instances with several depots beside others: look-ahead, free switches, and the record."""
    problems = [
        pairs_of_two_depots()
        if name == "pairs"
        else instance(name, capacity=12.0)
        if "CVRP" in name
        else instance(name)
        for name in names
    ]
    batch = stack(problems)
    # Some depots are sure of a move, and so tie; or none is too sure for any to be drawn.
    config = replace(config, clipping=50.0 if temperature == 0 else 8.0)
    with torch.no_grad():
        tables = network(config)(batch, random_seeds(batch, config))
    environment = Environment(batch)
    # From each start the likeliest moves, and sampled ones.
    starts = start_nodes(environment, STARTS).repeat(1, 2)
    keys = random_keys(starts.shape, starts.device)
    keys[:, :STARTS] = -1
    launch = Launch(torch.float32, BLOCK, splits=2, held=False)
    drawing = {"depot_temperature": temperature}
    fast = fused_rollout(
        environment, tables, starts, keys, FusedOptions(record=True, **drawing), launch
    )
    slow = rollout(environment, tables, starts, keys=keys, one_step=RECORDING, **drawing)
    length = slow.sequence.shape[2]
    sequences = fast.sequences()
    same = (sequences[..., :length] == slow.sequence).all(dim=-1)  # (B, 2 * STARTS)
    verdicts = [
        (judge(problem, routes_of(problem, sequence)), float(cost))
        for row, problem in enumerate(problems)
        for sequence, cost in zip(sequences[row].tolist(), fast.cost[row], strict=True)
    ]
    length_of_record = slow.trace.action.shape[1]
    part = replace(fast, **{name: getattr(fast, name)[:, :length_of_record] for name in HISTORIES})
    kept = zip(decisions(part), decisions(slow.trace), strict=True)
    active = slow.trace.active
    coefficient = torch.randn(fast.action.shape)  # a decision each
    coefficient *= torch.rand(fast.action.shape) < 0.7  # some of which do not count
    if temperature == 0:
        # Unsure of most moves, so that there is something to learn.
        tables = replace(tables, clipping=10.0)
    exact, rounding = exact_gradients(tables, fast, coefficient)
    received = fused_replay_gradients(tables, fast, coefficient, launch)
    found = {
        "same_likeliest": bool(same[:, :STARTS].all()),
        "same_sampled": bool(same[:, STARTS:].all()),
        "same_costs": bool(torch.allclose(fast.cost, slow.cost, atol=1e-5)),
        "sampled_other": bool((sequences[:, :STARTS] != sequences[:, STARTS:]).any()),
        "switches": int(slow.trace.switches.sum()),
        "same_steps": bool((fast.steps == slow.trace.steps).all()),
        "same_likelihoods": largest(part.likeliest - slow.trace.likeliest, active),
        # First and current nodes, signals, legal moves, actions and which moves there were.
        "same_record": [largest(a.double() - b.double(), active) for a, b in kept],
        "gradients": compared(received, exact, rounding),
        "violations": [str(v.violations) for v, _ in verdicts if v.violations],
        "referee": max(abs(v.cost - cost) for v, cost in verdicts),
    }
    if fast.choices is not None:
        found |= choices_of_depots(fast.choices, slow.trace.choices)
        # What moves alone teach: the rest is the choice of a depot.
        moves = replay_gradients(tables, replace(fast, choices=None), coefficient)["embedding"]
        rest = exact["embedding"] - moves
        found["of_depots"] = (norms(rest) / norms(moves)).tolist()
    return found


def deviations(config: ModelConfig) -> dict[str, object]:
    """Plans that are followed to a turn and left there for moves of all ranks."""
    names = ("CVRPTW", "PDCVRP", "MDCVRP", "AMDOCVRPL", "OP", "ATSP")
    batch = stack([instance(name) for name in names])
    with torch.no_grad():
        tables = network(config)(batch, random_seeds(batch, config))
    environment = Environment(batch)
    starts = start_nodes(environment, 3)
    launch, ranks = Launch(torch.float32, BLOCK), 3
    plans = fused_rollout(environment, tables, starts, None, FusedOptions(), launch).sequences()
    plan = plans.repeat_interleave(ranks, dim=1)  # (B, P, T)
    rank = torch.arange(ranks).repeat(starts.shape[1]).expand(plan.shape[:2])
    moves = plan[..., 2:].transpose(1, 2)
    same, finished, stuck = [], 0, 0
    for number in (0, 1, 3, 6):
        leaves = Deviations(moves, torch.full_like(rank, number), rank)
        options = FusedOptions(deviations=leaves, ranks=ranks)
        fast = fused_rollout(environment, tables, plan[..., 1], None, options, launch)
        slow = rollout(environment, tables, plan[..., 1], deviations=leaves)
        complete = torch.isfinite(slow.cost)
        made = fast.sequences()[..., : slow.sequence.shape[2]] == slow.sequence
        same.append(torch.allclose(fast.cost, slow.cost, atol=1e-5) and bool(made[complete].all()))
        finished += int(complete.sum())
        stuck += int((~complete).sum())
    return {"same": same, "finished": finished, "stuck": stuck}


def choices_of_depots(fast: DepotChoices, slow: DepotChoices) -> dict[str, object]:
    """Whether the same depots were chosen on the same grounds."""
    fast = fast.part(slice(slow.step.shape[1]))
    asked = slow.asked
    of_made = [(fast.chosen - slow.chosen)[slow.made], (fast.step - slow.step)]
    of_asked = ("odds", "customer", "signals", "allowed")
    differences = [
        (getattr(fast, name).double() - getattr(slow, name).double())[asked] for name in of_asked
    ]
    surest = slow.odds.masked_fill(~asked, -torch.inf).argmax(dim=2)
    return {
        "same_choices": [float(x.abs().max()) for x in (*of_made, *differences)],
        "same_asked": bool((fast.asked == asked).all()),
        "choices": int(slow.made.sum()),
        "not_the_surest": int(((slow.chosen != surest) & slow.made).sum()),
    }


def largest(difference: Tensor, active: Tensor) -> float:
    """Of the decisions (B, T, P) that there were."""
    return float(difference[active].abs().max())


def compared(
    received: dict[str, Tensor], exact: dict[str, Tensor], rounding: dict[str, Tensor]
) -> list[dict[str, list[float]]]:
    """Error, size and rounding of the gradient of each table, for every instance."""
    return [
        {
            table: [
                float(norms(received[table] - value)[row]),
                float(norms(value)[row]),
                float(rounding[table][row]),
            ]
            for table, value in exact.items()
        }
        for row in range(len(received["embedding"]))
    ]


def network(config: ModelConfig) -> SpaceModel:
    """A small network away from its start, so that its choices are no ties."""
    torch.manual_seed(1)
    model = SpaceModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            size = parameter.abs().mean() or torch.tensor(0.2)  # what begins at nothing, too
            parameter.add_(0.3 * size * torch.randn_like(parameter))
    return model


def exact_gradients(
    tables: DecoderTables, trace: Trace, coefficient: Tensor
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Gradients in float64, and how far rounding takes the slow twin from them, (B,) a table.

    A gradient may be what is left of terms that cancel, and rounding of its size or above; by
    chance there may be none. So it is the largest of tables that are nearly equal.
    """

    def wide(tables: DecoderTables) -> dict[str, Tensor]:
        assert trace.signals is not None
        batch = None if tables.batch is None else tables.batch.double()
        told = replace(trace, signals=trace.signals.double())
        tables = replace(tables.map(lambda table: table.double()), batch=batch)
        return replay_gradients(tables, told, coefficient.double())

    generator = torch.Generator().manual_seed(7)
    exact = wide(tables)
    rounding = {name: torch.zeros(len(value)) for name, value in exact.items()}
    for _ in range(NEARLY_EQUAL):
        near = tables.map(lambda t: t * (1 + 2e-7 * torch.randn(t.shape, generator=generator)))
        expected = wide(near)
        for name, value in replay_gradients(near, trace, coefficient).items():
            error = norms(value - expected[name]).float()
            rounding[name] = torch.maximum(rounding[name], error)
    return exact, rounding


def norms(values: Tensor) -> Tensor:
    """Of what belongs to each instance, (B,)."""
    return values.reshape(len(values), -1).norm(dim=1)


def mixing(nodes: int) -> dict[str, float]:
    """Largest differences of the encoder's kernel from its twin, over the largest value."""
    torch.manual_seed(5)
    size, width = 2, 64
    qkv = torch.randn(size, nodes, 6 * width).requires_grad_()
    spread = 4.0 * torch.rand(size, nodes, nodes)  # not symmetric: the branches must differ
    weight = (torch.rand(size, 2) + 0.3).requires_grad_()
    is_node = torch.ones(size, nodes, dtype=torch.bool)
    is_node[1, nodes - 3 :] = False
    grad = torch.randn(size, nodes, 2 * width) * is_node.unsqueeze(-1)
    found = {}
    for name, function in (
        ("slow", lambda: plain_mix(qkv, spread, weight, is_node, torch.float32)),
        ("fast", lambda: fused_mix(qkv, spread, weight, is_node)),
    ):
        out = function()
        found[name] = {"output": out * is_node.unsqueeze(-1)}
        gradients = torch.autograd.grad(out, [qkv, weight], grad)
        found[name] |= dict(zip(("projections", "weights"), gradients, strict=True))
    return {
        name: float((found["fast"][name] - value).abs().max() / value.abs().max())
        for name, value in found["slow"].items()
    }


def compare(config: ModelConfig, problems: dict[str, Problem]) -> dict[str, object]:
    """How rollouts and gradients of a network compare with their slow twins, by rule."""
    batch = stack(list(problems.values()))
    with torch.no_grad():
        tables = network(config)(batch, random_seeds(batch, config))
    environment = Environment(batch)
    starts = start_nodes(environment, STARTS)
    launch = Launch(torch.float32, BLOCK, splits=2, held=batch.num_nodes <= LARGE_TILES)
    keys = random_keys(starts.shape, starts.device)

    slow = rollout(environment, tables, starts, one_step=RECORDING)
    fast = fused_rollout(environment, tables, starts, None, FusedOptions(record=True), launch)
    _, _, slow_signals, slow_allowed, slow_action, active = decisions(slow.trace)
    length = slow_action.shape[1]
    likeliest = slow.trace.likeliest
    visited = torch.cat([slow.sequence[:, :, :2], slow_action.transpose(1, 2)], dim=2)

    drawing = FusedOptions(record=True, all_drawn=True)
    drawn = fused_rollout(environment, tables, starts, keys, drawing, launch)
    drawn_slowly = rollout(environment, tables, starts, keys=keys)
    coefficient = torch.randn(drawn.action.shape)  # a decision each
    coefficient *= torch.rand(drawn.action.shape) < 0.7  # some of which do not count
    exact, rounding = exact_gradients(tables, drawn, coefficient)
    received = fused_replay_gradients(tables, drawn, coefficient, launch)
    gradients = compared(received, exact, rounding)

    result: dict[str, object] = {}
    for row, (name, problem) in enumerate(problems.items()):
        on = active[row]  # (T, P)
        customers = (batch.is_node & ~batch.is_depot)[row]
        forbidden = 0
        for step, trajectory in on.nonzero().tolist():
            gone = set(visited[row, trajectory, : step + 2].tolist())
            open_customers = [n for n in customers.nonzero().flatten().tolist() if n not in gone]
            forbidden += sum(
                not bool(slow_allowed[row, step, trajectory, n]) for n in open_customers
            )
        sequences = drawn.sequences()[row].tolist()
        finished = torch.isfinite(drawn.cost[row]).tolist()
        verdicts = [
            (judge(problem, routes_of(problem, sequence)), float(cost))
            for sequence, cost, fine in zip(sequences, drawn.cost[row], finished, strict=True)
            if fine
        ]
        same_cost = torch.isclose(fast.cost[row], slow.cost[row], atol=1e-5, rtol=1e-5)
        result[name] = {
            "choices": bool(
                ((fast.action[row, :length] == slow_action[row]) | ~on).all()
                and (fast.steps[row] == on.sum(dim=0)).all()
            ),
            "costs": bool(same_cost.all()),
            "masks": bool(
                ((fast.allowed[row, :length].bool() == slow_allowed[row]) | ~on[..., None]).all()
            ),
            "signals": [
                [float((slow * on).abs().max()), float(((fast - slow).abs() * on).max())]
                for slow, fast in zip(
                    slow_signals[row].unbind(-1), fast.signals[row, :length].unbind(-1), strict=True
                )
            ],
            "likeliest": float(((fast.likeliest[row, :length] - likeliest[row]).abs() * on).max()),
            "finished": int(torch.isfinite(fast.cost[row]).sum()),
            "forbidden": forbidden,
            "drawn": len(verdicts),
            "drawn_alike": bool(
                (
                    drawn.sequences()[row][..., : drawn_slowly.sequence.shape[2]]
                    == drawn_slowly.sequence[row]
                ).all()
            ),
            "drawn_like_greedy": bool((drawn.action[row] == fast.action[row]).all()),
            "violations": [str(v.violations) for v, _ in verdicts if v.violations],
            "referee": max((abs(v.cost - cost) for v, cost in verdicts), default=0.0),
            "gradients": gradients[row],
        }
    return result


def main() -> None:
    torch.set_num_threads(1)
    problems = cases()
    paper = replace(FOUR_SIGNALS, signals=1)
    config = TrainConfig(variants=("TSP", "CVRPTW"), size=4, batch=2, trajectories=3, model=paper)
    launch = Launch(torch.float32, BLOCK, splits=2)
    found = {
        "rules": list(problems),
        "cases": {
            name: compare(config, {rule: problems[rule] for rule in rules})
            for name, (config, rules, _) in ASKED.items()
        },
        "many nodes": compare(MOVE_FACTS, {"windows and lengths": instance("CVRPLTW", MANY)}),
        "few nodes": compare(MOVE_FACTS, {"windows and lengths": instance("CVRPLTW", FEW)}),
        "mixing": {nodes: mixing(nodes) for nodes in (13, MANY + 1)},
        "deviations": {name: deviations(config) for name, (config, _, _) in ASKED.items()},
        "agreement": measure_agreement(config, torch.device("cpu"), launch=launch),
        "several depots": {
            f"{name}, {way}": several_depots(config, temperature, variants)
            for name, (config, _, ways) in ASKED.items()
            for way, (temperature, variants) in ways.items()
        },
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
