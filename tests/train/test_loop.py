"""The loop: what it writes, when it saves, how it stops; and the picture of it."""

from __future__ import annotations

import csv
import json
import math
import signal
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from spacevrp.model import SpaceModel
from spacevrp.model.weights import load_weights
from spacevrp.plots.measurements import plot_training, read_log
from spacevrp.problems.errors import SpacevrpError
from spacevrp.train import checkpoint
from spacevrp.train.config import TrainConfig
from spacevrp.train.loop import Outcome, _Loop, train
from spacevrp.train.mixes import choose_problem, choose_size
from spacevrp.train.optim import rate_factor
from spacevrp.train.state import TrainState
from spacevrp.train.step import TrainStep

from .conftest import quiet, stop_at

Build = Callable[..., TrainConfig]


def rows_of(folder: Path) -> list[dict[str, float]]:
    with (folder / "log.csv").open(newline="") as file:
        return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]


def test_a_run_leaves_everything_behind(tiny: Build, tmp_path: Path) -> None:
    config = tiny(steps=7)
    outcome = quiet(config, tmp_path / "run", command=["spacevrp", "train", "-o", "run"])
    folder = tmp_path / "run"
    assert outcome == Outcome("finished", 7, 7, folder / "step-000000007")
    stored = json.loads((folder / "config.json").read_text())
    assert TrainConfig.from_dict(stored) == config
    (sitting,) = json.loads((folder / "run.json").read_text())["sittings"]
    assert sitting["command"] == ["spacevrp", "train", "-o", "run"]
    assert (sitting["from_step"], sitting["processes"]) == (0, 1)
    assert sitting["versions"]["torch"] == torch.__version__
    rows = rows_of(folder)
    assert [row["step"] for row in rows] == [5, 7]
    # Every problem has one instance in each batch of twelve; costs are those of small tours.
    assert all(0.5 < row["cost/TSP"] < 6 for row in rows)
    assert all(row["best/TSP"] <= row["cost/TSP"] for row in rows)
    assert all(row["cost/OP"] < 0 for row in rows)  # a prize
    assert rows[0]["gradient_norm"] > 0
    assert all(row["blind_share"] == 0 for row in rows)  # all branches begin with distances
    assert rows[0]["instances_per_second"] * rows[0]["step_milliseconds"] == pytest.approx(12_000)


def test_the_weights_at_the_end_are_the_average(tiny: Build, tmp_path: Path) -> None:
    outcome = quiet(tiny(steps=3, average=0.5), tmp_path / "run")
    model, card = load_weights(tmp_path / "run" / "weights.safetensors")
    _, groups = checkpoint.load(outcome.checkpoint)
    assert card["steps"] == 3
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, groups["average"][name].half().float())
    assert not torch.equal(groups["average"]["embed_types"], groups["weights"]["embed_types"])


def test_one_problem_a_batch(tiny: Build, tmp_path: Path) -> None:
    config = tiny(mixed=False, variants=("TSP", "CVRP", "PDTSP"), steps=6, log_steps=1, batch=4)
    quiet(config, tmp_path)
    drawn = []
    for row in rows_of(tmp_path):
        (name,) = [v for v in config.variants if not math.isnan(row[f"cost/{v}"])]
        drawn.append(name)
    assert drawn == [config.variants[choose_problem(config, step)] for step in range(6)]
    assert len(set(drawn)) > 1


def test_sizes_are_drawn_from_the_list(tiny, tmp_path, monkeypatch):
    seen = []
    accumulate = TrainStep.accumulate

    def spy(self: TrainStep, batch, problem_of, trajectories: int) -> None:  # type: ignore[no-untyped-def]
        seen.append((int((batch.is_node & ~batch.is_depot).sum(dim=1)[0]), trajectories))
        accumulate(self, batch, problem_of, trajectories)

    monkeypatch.setattr(TrainStep, "accumulate", spy)
    config = tiny(sizes=(4, 6, 8), steps=10)
    quiet(config, tmp_path)
    sizes = [choose_size(config, step) for step in range(10)]
    assert seen == [(size, size) for size in sizes]
    assert set(sizes) == {4, 6, 8}


# --------------------------------------------------------------------------------- clocks, signals


class SlowSteps:
    """A clock that only steps of a given length move; they do nothing else."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.now = 100.0
        self.saves: list[float] = []
        self.waits = 0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr("spacevrp.train.loop.time", clock)
        monkeypatch.setattr(_Loop, "_take_step", lambda *_: self._pass(seconds))
        save, wait = _Loop._save, _Loop._wait

        def noted_save(loop: _Loop) -> Path:
            self.saves.append(self.now)
            return save(loop)

        def noted_wait(loop: _Loop) -> None:
            self.waits += 1
            wait(loop)

        monkeypatch.setattr(_Loop, "_save", noted_save)
        monkeypatch.setattr(_Loop, "_wait", noted_wait)

    def _pass(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("seconds", [0.02, 3.0, 20.0])
def test_a_killed_run_would_lose_less_than_a_minute(tiny, tmp_path, monkeypatch, seconds):
    clock = SlowSteps(monkeypatch, seconds)
    steps = int(200 / seconds)
    quiet(tiny(steps=steps, log_steps=10**6, checkpoint_seconds=45.0), tmp_path)
    times = [100.0, *clock.saves]
    assert times[-1] == pytest.approx(100 + steps * seconds)
    assert max(b - a for a, b in pairwise(times)) <= 45.0 + 1e-6
    assert len(clock.saves) <= 200 / 20  # and does not save all the time


@pytest.mark.parametrize("seconds", [0.03, 7.0])
def test_the_budget_is_kept(tiny, tmp_path, monkeypatch, seconds):
    clock = SlowSteps(monkeypatch, seconds)
    outcome = quiet(tiny(steps=10**6), tmp_path, budget=60.0)
    assert outcome.reason == "budget"
    assert 60.0 - 2 * max(seconds, 1.0) <= clock.now - 100.0 <= 60.0
    assert checkpoint.read_header(tmp_path)["step"] == outcome.step


@pytest.mark.parametrize("warmup", [3, 10**6])
def test_a_run_is_fitted_to_its_budget(tiny, tmp_path, monkeypatch, warmup):
    """Half way steps become slower; the rates have fallen all the same when the time is up."""
    clock = SlowSteps(monkeypatch, 0.0)
    taken = [0]

    def take(loop: _Loop, step: int) -> None:
        taken[0] = step
        clock.now += 0.01 if clock.now < 130.0 else 0.02
        loop.state.optimizer.set_factor(rate_factor(loop.config, step))

    monkeypatch.setattr(_Loop, "_take_step", take)
    config = tiny(steps=10, log_steps=100, decay_share=0.2, warmup=warmup)
    outcome = quiet(config, tmp_path / "run", budget=100.0, fit=True)
    assert outcome.reason == "finished"  # although ten steps were asked for
    assert 96.0 < clock.now - 100.0 <= 100.0
    assert outcome.step == outcome.steps == taken[0] + 1
    stored = json.loads((tmp_path / "run" / "config.json").read_text())
    assert TrainConfig.from_dict(stored) == replace(config, steps=outcome.steps)
    factors = [row["rate_factor"] for row in rows_of(tmp_path / "run")]
    assert factors[3 * len(factors) // 4] == 1.0
    assert factors[-1] < 0.01
    assert checkpoint.read_header(tmp_path / "run")["config"]["steps"] == outcome.steps


@pytest.mark.parametrize(("asked", "stored"), [(10, 10), (2, 4)])
def test_a_run_stopped_before_its_pace_is_known_keeps_its_steps(
    tiny, tmp_path, monkeypatch, asked, stored
):
    """Or those that it has taken, where these are more."""
    stop_at(monkeypatch, 4)
    outcome = quiet(tiny(steps=asked), tmp_path, budget=10**6, fit=True)
    assert (outcome.reason, outcome.step, outcome.steps) == ("signal", 4, stored)
    found = [
        json.loads((tmp_path / "config.json").read_text()),
        json.loads((tmp_path / "weights.json").read_text())["training"],
        checkpoint.read_header(tmp_path)["config"],
    ]
    assert [config["steps"] for config in found] == [stored] * 3


@pytest.mark.slow
def test_compilation_does_not_count_as_pace(tiny, tmp_path, monkeypatch):
    """A minute of compilation once made a run of two minutes stop after its first step."""
    now = [100.0]

    def pass_time(seconds: float) -> None:
        now[0] += seconds

    class Work:
        made = False

        def at(self, _size: int) -> Work:
            pass_time(0.0 if self.made else 70.0)
            self.made = True
            return self

        def gradient(self, _step: int, _shard: int) -> None:
            pass_time(0.02)

        def update(self) -> None:
            pass

    monkeypatch.setattr("spacevrp.train.loop.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr("spacevrp.train.loop.SizedWork", lambda *_: Work())
    outcome = quiet(tiny(steps=10**6, log_steps=100), tmp_path, budget=120.0)
    assert outcome.reason == "budget"
    assert 117.0 <= now[0] - 100.0 <= 120.0
    with (tmp_path / "log.csv").open(newline="") as file:
        first = next(csv.DictReader(file))
    assert float(first["step_milliseconds"]) == pytest.approx(20.0)


def test_a_budget_too_small_still_takes_a_step(tiny: Build, tmp_path: Path) -> None:
    outcome = quiet(tiny(), tmp_path, budget=1e-9)
    assert (outcome.reason, outcome.step) == ("budget", 1)
    assert outcome.overrun > 0
    assert outcome.checkpoint.is_dir()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"budget": wrong}, "budget: expected a time of more than 0") for wrong in (0.0, -1.0)),
        ({"budget": math.nan}, "budget: expected a time of more than 0, received nan"),
        ({"fit": True}, "fit: expected a budget to fit the run to"),
        ({"device": "abacus"}, "device: expected auto, cpu or cuda"),
    ],
)
def test_what_is_no_run_is_refused(tiny, tmp_path, options, message):
    with pytest.raises(SpacevrpError, match=message):
        train(tiny(), tmp_path / "run", progress=False, **{"device": "cpu", **options})
    assert not (tmp_path / "run").exists()


def test_policy_heads_ask_for_a_network(tiny: Build, tmp_path: Path) -> None:
    """They would learn to correct random weights, which stay as they are."""
    model = replace(tiny().model, policy_heads=1)
    config = tiny(steps=1, model=model, augmentations=2)
    with pytest.raises(SpacevrpError, match=r"augmentations: .* network.* --weights NAME"):
        quiet(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    weights = dict(SpaceModel(model).state_dict())
    assert quiet(config, tmp_path / "run", weights=weights).step == 1
    more = replace(config, steps=2)
    assert quiet(more, tmp_path / "run", resume=tmp_path / "run").step == 2


def test_the_time_of_saving_is_kept_free(tiny, tmp_path, monkeypatch):
    """Saving takes 4 seconds, and so does writing the weights at the end."""
    clock = SlowSteps(monkeypatch, 1.0)
    for name in ("save", "result"):
        whole = getattr(TrainState, name)

        def slow(*given: object, whole: Callable[..., object] = whole) -> object:
            clock.now += 4.0
            return whole(*given)

        monkeypatch.setattr(TrainState, name, slow)
    outcome = quiet(tiny(steps=10**6), tmp_path, budget=40.0)
    assert (outcome.reason, outcome.overrun) == ("budget", 0.0)
    assert 36.0 <= clock.now - 100.0 <= 40.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_at_the_next_step_and_saves(tiny, tmp_path, monkeypatch, number):
    handler = signal.getsignal(number)
    stop_at(monkeypatch, 5, number)
    outcome = quiet(tiny(log_steps=100), tmp_path)
    assert outcome == Outcome("signal", 5, 20, tmp_path / "step-000000005", int(number))
    assert [row["step"] for row in rows_of(tmp_path)] == [5]
    assert signal.getsignal(number) is handler


# ------------------------------------------------------------------------------------- bad endings


def test_a_broken_gradient_stops_the_run_and_spares_the_checkpoint(tiny, tmp_path, monkeypatch):
    quiet(tiny(steps=2), tmp_path)

    def spoil(*_: object) -> torch.Tensor:
        return torch.tensor(math.nan)

    monkeypatch.setattr("spacevrp.train.optim.MuonAdamW.clip", spoil)
    with pytest.raises(SpacevrpError, match="step 3: expected a finite gradient"):
        quiet(tiny(steps=9, checkpoint_seconds=1e-9), tmp_path, resume=tmp_path)
    assert checkpoint.read_header(tmp_path)["step"] == 2


def test_a_folder_holds_one_run(tiny: Build, tmp_path: Path) -> None:
    quiet(tiny(steps=1), tmp_path / "a")
    quiet(tiny(steps=1), tmp_path / "b")
    with pytest.raises(SpacevrpError, match="already holds a run, up to step-000000001"):
        quiet(tiny(steps=2), tmp_path / "a")
    with pytest.raises(SpacevrpError, match="already holds a run"):
        quiet(tiny(steps=2), tmp_path / "a", resume=tmp_path / "b")


HEADER = "step,gradient_norm,rate_factor,cost/TSP,cost/CVRP,best/TSP,best/CVRP\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows = ["10,2,0.5,8,nan,7.5,nan", "20,1,1,7,16,6.5,15", "30,1,0.2,6,15,5.5,14", "40,1,0.1,5,"]
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "\n".join(rows), encoding="utf-8")
    return path


def test_a_row_cut_short_is_left_out(log: Path) -> None:
    columns = read_log(log.parent)
    assert columns["best/TSP"] == read_log(log)["best/TSP"] == [7.5, 6.5, 5.5]
    assert columns["step"] == [10, 20, 30]
    assert columns["cost/TSP"] == [8, 7, 6]


def test_one_picture_a_problem_and_two_more(log: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots are an extra")
    axes = [a for a in plot_training(read_log(log)).axes if a.axison]
    titles = [a.get_title() for a in axes]
    assert titles == ["TSP: cost", "CVRP: cost", "gradient norm", "factor of the rates"]
    mean, best = axes[0].lines
    assert list(mean.get_xdata()) == [10, 20, 30]
    assert list(mean.get_ydata()) == [8, 7, 6]
    assert list(best.get_ydata()) == [7.5, 6.5, 5.5]
    assert list(axes[1].lines[0].get_xdata()) == [20, 30]  # not drawn in the first steps
    assert list(axes[3].lines[0].get_ydata()) == [0.5, 1, 0.2]
