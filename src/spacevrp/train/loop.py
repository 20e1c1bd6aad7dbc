"""The training loop."""

from __future__ import annotations

import bisect
import datetime
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from spacevrp.model.products import steady_products
from spacevrp.model.weights import save_weights
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.variants import parse_variant
from spacevrp.train import checkpoint
from spacevrp.train.config import TrainConfig
from spacevrp.train.interrupt import Interrupt
from spacevrp.train.mixes import choose_size
from spacevrp.train.optim import rate_factor
from spacevrp.train.parallel import add_up, joined, largest, rank_and_world
from spacevrp.train.state import TrainState
from spacevrp.train.step import DTYPES, TrainStep
from spacevrp.train.telemetry import BEST, COST, LOG, Telemetry
from spacevrp.train.versions import device_name, versions
from spacevrp.train.work import SizedWork
from spacevrp.writing import write_whole

Reason = Literal["finished", "budget", "signal"]

CONFIG, RECORD, WEIGHTS = "config.json", "run.json", "weights"
# Reading the clock means to wait for the device: not more often than this, in seconds.
_BETWEEN_LOOKS = 1.0
# Where the run is fitted to its budget: the share of it after which the pace is known, the share of
# the time left that is planned with, and the length of the run until then.
_PACE_KNOWN_AFTER = 0.02
_PLANNED_SHARE = 0.985
_NOT_KNOWN_YET = 10**9
_STREAM_WORDS = 2


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    reason: Reason
    step: int  # steps taken, those before the resumption included
    steps: int  # of the whole run
    checkpoint: Path
    signal: int = 0  # its number, where one was the reason
    overrun: float = 0.0  # seconds past the budget, where there was one


def train(
    config: TrainConfig,
    folder: str | Path,
    *,
    device: str = "auto",
    budget: float | None = None,
    fit: bool = False,
    resume: str | Path | None = None,
    weights: dict[str, Tensor] | None = None,
    moments: str | Path | None = None,
    progress: bool = True,
    command: Sequence[str] = (),
) -> Outcome:
    """Train until the last step, until the budget is spent, or until a signal comes.

    Parameters
    ----------
    config
        The run.
    folder
        Where checkpoints, logs and the final weights go.
    device
        ``auto``, ``cpu`` or ``cuda``. Under ``torchrun`` every process takes a GPU of its own.
    budget
        Seconds of wall-clock time after which to stop cleanly, more than 0. One step is always
        taken; where it takes longer than that, the outcome says by how much.
    fit
        Make the run as long as the budget allows, whatever ``steps`` says: as soon as the pace is
        known, and again until the rates begin to fall, so that they have fallen when time is up.
    resume
        A checkpoint (or a run's folder) to continue from; to the bit on the same machine with as
        many threads.
    weights
        Weights alone to start from, with a schedule of their own; the warm-up still happens.
    moments
        A checkpoint (or a run's folder) whose optimizer state goes with these weights.
    progress
        Whether to show the progress line.
    command
        What was typed to start this, for the record.
    """
    begun = time.monotonic()
    folder = Path(folder)
    resume = None if resume is None else Path(resume)
    if budget is not None and not budget > 0:
        raise SpacevrpError(f"budget: expected a time of more than 0, received {budget:g} seconds")
    if fit and budget is None:
        raise SpacevrpError("fit: expected a budget to fit the run to, received none")
    if config.trains_heads and weights is None and resume is None:
        raise SpacevrpError(
            "augmentations: expected a trained network for policy heads to learn with: --weights "
            "NAME|PATH (in Python weights=), received none"
        )
    with joined(device) as place, Interrupt() as interrupt:
        rank, world = rank_and_world()
        if config.shards % world:
            raise SpacevrpError(
                f"shards: expected a multiple of {world} processes, received {config.shards}"
            )
        _check_folder(folder, resume)
        state = TrainState(config, place, weights)
        if moments is not None:
            state.take_moments(Path(moments))
        if resume is not None:
            state.restore(resume)
            if state.step > config.steps:
                raise SpacevrpError(
                    f"steps: expected at least {state.step}, which {resume} has taken, received "
                    f"{config.steps}"
                )
        if rank == 0:
            _prepare(folder, state, place, world, resume, command)
            if progress:
                name = device_name(place)
                print(f"{state.model.num_parameters:,} parameters on {name}", file=sys.stderr)
        sitting = _Sitting(folder, place, begun, budget, fit, progress)
        loop = _Loop(state, sitting)
        with steady_products(DTYPES[config.precision], place):
            return loop.run(interrupt)


@dataclass(frozen=True)
class _Sitting:
    """Where and how long a run goes on; see :func:`train`."""

    folder: Path
    place: torch.device
    begun: float
    budget: float | None
    fit: bool
    progress: bool


class _Loop:
    """The moving parts of one sitting."""

    def __init__(self, state: TrainState, sitting: _Sitting) -> None:
        config, folder, place, budget = state.config, sitting.folder, sitting.place, sitting.budget
        self.state, self.config, self.folder, self.place = state, config, folder, place
        if sitting.fit:  # for this sitting alone: what is stored has the steps that were asked for
            self.config = replace(config, steps=_NOT_KNOWN_YET)
        self.rank, self.world = rank_and_world()
        self.begun, self.budget, self.fit = sitting.begun, budget, sitting.fit
        on_gpu = place.type == "cuda"
        if on_gpu:
            # Every size is compiled on its own.
            limit = torch._dynamo.config.recompile_limit
            torch._dynamo.config.recompile_limit = max(limit, 2 * len(config.all_sizes) + 2)
        encode = torch.compile(state.model, dynamic=False) if on_gpu else None
        fused = on_gpu and config.precision != "float64"
        self.step = TrainStep(state.model, state.optimizer, state.average, config, encode, fused)
        self.work = SizedWork(self.step, config, place)
        self.batches = {size: config.at(size).batch for size in config.all_sizes}
        self.log = Telemetry(
            folder if self.rank == 0 else None,
            self.config.steps,
            state.step,
            budget,
            progress=sitting.progress,
        )
        attributes = [parse_variant(name).attributes for name in config.variants]
        like = next(state.model.parameters())
        self.attributes = torch.tensor(attributes, dtype=like.dtype, device=place)  # (V, 10)
        self.saved_step, self.saved, self.save_seconds = -1, time.monotonic(), 0.0
        self.logged_step, self.logged = state.step, time.monotonic()
        # Compiling and capturing a size happens once: it says nothing about the pace.
        self.making_since_look = self.making_since_log = 0.0
        self.looks: list[tuple[float, int]] = []  # times, and steps taken by then

    def run(self, interrupt: Interrupt) -> Outcome:
        """Take steps until there is a reason to stop; save."""
        state = self.state
        reason: Reason = "finished"
        received = 0.0
        looked_step, looked, stride = state.step, time.monotonic(), 1
        while state.step < self.config.steps:
            self._take_step(state.step)
            state.step += 1
            is_last = state.step == self.config.steps
            log_due = is_last or state.step % self.config.log_steps == 0
            asked = interrupt.received and self.world == 1
            if not (log_due or asked or state.step >= looked_step + stride):
                continue
            # All processes must look at the same steps and come to the same conclusions.
            self._wait()
            now = time.monotonic()
            pace, later_pace, elapsed, unsaved, received = largest(
                [
                    (now - looked - self.making_since_look) / (state.step - looked_step),
                    self._later_pace(now),
                    now - self.begun,
                    now - self.saved,
                    float(interrupt.received),
                ],
                self.place,
            )
            stride = min(max(1, int(_BETWEEN_LOOKS / max(pace, 1e-9))), 2 * stride)
            looked_step, looked, self.making_since_look = state.step, now, 0.0
            self._check_gradient()
            if log_due:
                self._log(now)
            if self.budget is not None and self.saved_step < 0:
                self._save()  # a budget can be kept once it is known what saving takes
                now = time.monotonic()
                (elapsed,) = largest([now - self.begun], self.place)
                looked, unsaved = now, 0.0
            # At the end the weights are written beside the checkpoint.
            ahead = pace * stride + 2 * self.save_seconds
            if self.fit and not is_last:
                self._fit(later_pace, elapsed)
            if received:
                reason = "signal"
            elif not is_last and self.budget is not None and elapsed + ahead > self.budget:
                reason = "budget"
            if is_last or reason != "finished":
                break
            if unsaved + ahead > self.config.checkpoint_seconds:
                self._save()
        if state.step > self.logged_step:
            self._log(time.monotonic())
        self.log.close()
        path = self._save()
        if self.rank == 0:
            self._export()
        overrun = 0.0
        if self.budget is not None:
            (elapsed,) = largest([time.monotonic() - self.begun], self.place)
            overrun = max(0.0, elapsed - self.budget)
        return Outcome(reason, state.step, state.config.steps, path, int(received), overrun)

    def _take_step(self, step: int) -> None:
        config = self.config
        self.state.optimizer.set_factor(rate_factor(config, step))
        began = time.monotonic()
        size = choose_size(config, step)
        work = self.work.at(size)
        making = time.monotonic() - began
        self.making_since_look += making
        self.making_since_log += making
        for shard in range(self.rank, config.shards, self.world):
            torch.manual_seed(stream_seed(config.seed, step, shard))
            work.gradient(step, shard)
        work.update()
        self.state.instances += self.batches[size]

    def _later_pace(self, now: float) -> float:
        """Seconds a step, saving included, over the later half of the time since the first one."""
        self.looks.append((now, self.state.step))
        middle = (self.looks[0][0] + now) / 2
        since, step = self.looks[bisect.bisect_left(self.looks, (middle, 0))]
        return (now - since) / max(1, self.state.step - step)

    def _fit(self, pace: float, elapsed: float) -> None:
        """Let the run end with the budget; no more once the rates fall."""
        step, config = self.state.step, self.config
        # Alike in all processes, as their clocks are not.
        stepping = pace * (step - self.looks[0][1])
        if self.budget is None or stepping < _PACE_KNOWN_AFTER * self.budget:
            return
        known = config.steps != _NOT_KNOWN_YET
        if known and step >= config.rising_steps and rate_factor(config, step) < 1.0:
            return
        left = self.budget - elapsed - 3 * self.save_seconds
        steps = step + max(1, int(_PLANNED_SHARE * left / pace))
        self.config = self.state.config = replace(config, steps=steps)
        self.log.total = steps

    def _wait(self) -> None:
        if self.place.type == "cuda":
            torch.cuda.synchronize(self.place)

    def _check_gradient(self) -> None:
        """Stop before broken weights replace a good checkpoint."""
        if not math.isfinite(float(self.step.tally.norm)):
            raise SpacevrpError(
                f"step {self.state.step}: expected a finite gradient, received none since step "
                f"{self.logged_step}; smaller rates or clipping may help"
            )

    def _save(self) -> Path:
        state = self.state
        name = self.folder / f"step-{state.step:09d}"
        if state.step == self.saved_step:
            return name
        begun = time.monotonic()
        state.config = replace(state.config, steps=max(state.config.steps, state.step))
        state.round_moments()
        if self.rank == 0:
            header = {
                "versions": versions(),
                "device": device_name(self.place),
                "seconds": state.seconds + begun - self.begun,
            }
            state.save(self.folder, header)
            if self.fit:  # the length has changed since the run began
                _write_json(self.folder / CONFIG, state.config.to_dict())
        self.saved_step, self.saved = state.step, time.monotonic()
        (self.save_seconds,) = largest([self.saved - begun], self.place)
        return name

    def _export(self) -> None:
        state = self.state
        card = {
            "steps": state.step,
            "instances": state.instances,
            "training": state.config.to_dict(),
            "device": device_name(self.place),
            "versions": versions(),
        }
        save_weights(self.folder / WEIGHTS, state.result(), card)

    def _log(self, now: float) -> None:
        """Write a row and clear the tally."""
        config, tally, step = self.config, self.step.tally, self.state.step
        stepping = now - self.logged - self.making_since_log
        seconds_a_step = max(stepping, 1e-9) / (step - self.logged_step)
        self.logged_step, self.logged, self.making_since_log = step, now, 0.0
        add_up([tally.cost, tally.best, tally.instances, tally.planned, tally.unfinished])
        drawn = float(tally.instances.sum())
        planned = tally.planned.clamp(min=1)
        cost, best = (tally.cost / planned).tolist(), (tally.best / planned).tolist()
        seen = (tally.planned > 0).tolist()
        row = {
            "step": step,
            "seconds": self.state.seconds + now - self.begun,
            "step_milliseconds": 1000 * seconds_a_step,
            "instances_per_second": drawn / max(stepping, 1e-9),
            "gradient_norm": float(tally.norm / tally.updates.clamp(min=1)),
            "rate_factor": float(self.state.optimizer.factor),
            "unfinished": float(tally.unfinished),
            "blind_share": self.state.model.blind_share(self.attributes),
        }
        for prefix, values in ((COST, cost), (BEST, best)):
            for name, value, is_seen in zip(config.variants, values, seen, strict=True):
                row[prefix + name] = value if is_seen else math.nan
        for tensor in tally.tensors:
            tensor.zero_()
        self.log.write(row, now - self.begun)


def stream_seed(seed: int, step: int, shard: int) -> int:
    """The seed of everything random in one shard of one step."""
    words = np.random.SeedSequence([seed, step, shard]).generate_state(_STREAM_WORDS)
    return int(words[0]) | (int(words[1]) & 0x7FFFFFFF) << 32


def _check_folder(folder: Path, resume: Path | None) -> None:
    """Runs never mix: a folder holds one, and its newest checkpoint is where it goes on."""
    held = checkpoint.list_checkpoints(folder)
    source = None if resume is None else checkpoint.find(resume).resolve()
    if held and held[-1].resolve() != source:
        raise SpacevrpError(
            f"{folder}: already holds a run, up to {held[-1].name}; resume that or name another "
            "folder"
        )


def _prepare(
    folder: Path,
    state: TrainState,
    place: torch.device,
    world: int,
    resume: Path | None,
    command: Sequence[str],
) -> None:
    """Make the run's folder and note how it was started."""
    folder.mkdir(parents=True, exist_ok=True)
    sitting: dict[str, Any] = {
        "began": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": list(command),
        "from_step": state.step,
        "processes": world,
        "device": device_name(place),
        "parameters": state.model.num_parameters,
        "versions": versions(),
    }
    sittings: list[dict[str, Any]] = []
    if resume is not None:
        sitting["resumed"] = str(checkpoint.find(resume))
        stored = checkpoint.read_header(resume)["config"]
        now = json.loads(json.dumps(state.config.to_dict()))
        sitting["changed"] = {
            key: {"before": stored.get(key), "now": value}
            for key, value in now.items()
            if stored.get(key) != value
        }
        sittings = _earlier_sittings(folder / RECORD)
    _write_json(folder / RECORD, {"sittings": [*sittings, sitting]})
    _write_json(folder / CONFIG, state.config.to_dict())


def _earlier_sittings(path: Path) -> list[dict[str, Any]]:
    try:
        return list(json.loads(path.read_text(encoding="utf-8"))["sittings"])
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        raise SpacevrpError(f"{path}: expected the record of a run, received: {error}") from None


def _write_json(path: Path, document: dict[str, Any]) -> None:
    write_whole(path, (json.dumps(document, indent=1) + "\n").encode())


__all__ = ["LOG", "Outcome", "stream_seed", "train"]
