"""Check the kernels against their slow twins on a GPU, and time every piece of a training step.

python benchmarks/gpu_check.py [--quick]
"""

from __future__ import annotations

import argparse
import time

import torch
import triton

from spacevrp.decode.fused import fused_rollout
from spacevrp.decode.replay import decisions, fused_replay_gradients, replay_gradients
from spacevrp.decode.rollout import rollout
from spacevrp.env import Environment, start_nodes
from spacevrp.model import SpaceModel, random_seeds
from spacevrp.model.decoder import logits
from spacevrp.train.config import TrainConfig
from spacevrp.train.optim import MuonAdamW, WeightAverage
from spacevrp.train.step import TrainStep, coefficients
from spacevrp.train.work import CapturedWork, Shards


def median_ms(function) -> float:  # type: ignore[no-untyped-def]
    return float(triton.testing.do_bench(function, warmup=50, rep=300, return_mode="median"))


def graph_ms(function) -> float:  # type: ignore[no-untyped-def]
    return float(triton.testing.do_bench_cudagraph(function, rep=200, return_mode="median"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    device = torch.device("cuda")
    config = TrainConfig()
    torch.manual_seed(0)
    model = SpaceModel(config.model).to(device)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * parameter.abs().mean() * torch.randn_like(parameter))
    shards = Shards(config, device)
    batch, problem_of = shards.samplers[0].draw(None), shards.problems[0]
    environment = Environment(batch, num_depots=1)
    starts = start_nodes(environment, config.starts)
    seeds = random_seeds(batch, config.model)
    with torch.no_grad():
        tables = model(batch, seeds, torch.float32)
    seed = torch.tensor([7], device=device)

    # ------------------------------------------------------------------ equality
    begin = time.time()
    trace = fused_rollout(environment, tables, starts, seed, sample=False, record=True)
    torch.cuda.synchronize()
    print(f"first launch {time.time() - begin:.1f} s", flush=True)
    first, current, signal, allowed, action, active = decisions(trace, batch)
    agree = total = 0
    for t in range(0, action.shape[1], 8):
        part = slice(t, t + 8)
        keep = active[:, part]
        legal = allowed[:, part] | ~keep.unsqueeze(-1)
        scores = logits(
            tables,
            first[:, part].flatten(1),
            torch.where(keep, current[:, part], 0).flatten(1),
            signal[:, part].flatten(1),
            legal.flatten(1, 2),
        ).view(*legal.shape)
        agree += int(((scores.argmax(-1) == action[:, part]) & keep).sum())
        total += int(keep.sum())
    slow = rollout(environment, tables, starts)
    print(
        f"greedy choices equal: {agree}/{total} = {agree / total:.5%}; mean cost fused "
        f"{trace.cost.mean():.5f} slow {slow.cost.mean():.5f}; unfinished "
        f"{int(torch.isinf(trace.cost).sum())}; longest {int(trace.steps.max())}",
        flush=True,
    )
    sampled = fused_rollout(environment, tables, starts, seed, sample=True, record=True)
    slow = rollout(environment, tables, starts, sample=True)
    print(
        f"sampled mean cost fused {sampled.cost.mean():.5f} slow {slow.cost.mean():.5f}; longest "
        f"{int(sampled.steps.max())}, mean {sampled.steps.float().mean():.1f}",
        flush=True,
    )
    coefficient, _ = coefficients(sampled.cost, config, problem_of)
    reference = replay_gradients(tables, sampled, batch, coefficient, chunk=8)
    fast = fused_replay_gradients(tables, sampled, batch, coefficient)
    for name, value in reference.items():
        error = (fast[name] - value).norm() / value.norm()
        print(f"  gradient {name}: relative error {float(error):.4f}", flush=True)

    # ------------------------------------------------------------------ kernels
    for block, warps in ((64, 8), (64, 4), (32, 4), (32, 8), (16, 4)):
        try:
            times = [
                median_ms(
                    lambda s=s, r=r: fused_rollout(
                        environment,
                        tables,
                        starts,
                        seed,
                        sample=s,
                        record=r,
                        block=block,
                        num_warps=warps,
                    )
                )
                for s, r in ((False, False), (True, True))
            ]
            print(
                f"rollout block {block} warps {warps}: greedy {times[0]:.2f} sample+record {times[1]:.2f} ms",
                flush=True,
            )
        except Exception as error:  # a configuration that does not fit is a result, too
            print(
                f"rollout block {block} warps {warps}: {type(error).__name__} {str(error)[:90]}",
                flush=True,
            )
    for block, warps, splits in (
        (64, 8, 8),
        (64, 4, 8),
        (32, 4, 8),
        (32, 8, 8),
        (32, 4, 16),
        (64, 8, 16),
    ):
        try:
            ms = median_ms(
                lambda: fused_replay_gradients(
                    tables, sampled, batch, coefficient, block=block, num_warps=warps, splits=splits
                )
            )
            print(f"replay block {block} warps {warps} splits {splits}: {ms:.2f} ms", flush=True)
        except Exception as error:
            print(
                f"replay block {block} warps {warps}: {type(error).__name__} {str(error)[:90]}",
                flush=True,
            )
    if options.quick:
        return

    # ------------------------------------------------------------------ the step
    for size in (128, 512):
        run = TrainConfig(batch=size)
        model = SpaceModel(run.model).to(device)
        optimizer = MuonAdamW(model, run)
        average = WeightAverage(model, run.average, optimizer)
        step = TrainStep(model, optimizer, average, run, torch.compile(model, dynamic=False), True)
        shards = Shards(run, device)
        begin = time.time()
        torch.cuda.reset_peak_memory_stats()
        work = CapturedWork(step, shards)
        torch.cuda.synchronize()
        print(f"batch {size}: compiled and captured in {time.time() - begin:.0f} s", flush=True)

        def whole(work=work) -> None:  # type: ignore[no-untyped-def]
            work.gradient(0)
            work.update()

        draw, grad, update = (
            median_ms(work._draws[0].replay),
            median_ms(work._gradient.replay),
            median_ms(work._update.replay),
        )
        peak = torch.cuda.max_memory_allocated() / 2**30
        print(
            f"batch {size}: step {median_ms(whole):.2f} ms (draw {draw:.2f}, gradient {grad:.2f}, "
            f"update {update:.2f}), peak {peak:.1f} GiB",
            flush=True,
        )
        batch = work._batch
        seeds = random_seeds(batch, run.model)
        encode = step.encode
        with torch.no_grad():
            forward = graph_ms(lambda: encode(batch, seeds, torch.bfloat16))
        print(f"  encoder forward (no gradient) {forward:.2f} ms", flush=True)


if __name__ == "__main__":
    main()
