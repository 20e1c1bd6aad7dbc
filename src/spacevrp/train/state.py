"""All that a run must keep to go on to the bit: weights, moments, average and position."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from spacevrp.inference.config import GROWS, LEARNED_LATER
from spacevrp.model import ModelConfig, SpaceModel
from spacevrp.model.weights import load_weights
from spacevrp.problems.errors import SpacevrpError
from spacevrp.train import checkpoint
from spacevrp.train.config import DEFAULT_PRESET, TrainConfig, get_preset
from spacevrp.train.optim import MuonAdamW, WeightAverage, is_addition


class TrainState:
    """The weights of a run and everything that changes them.

    Without ``weights`` to begin with they are drawn from the run's seed.
    """

    def __init__(
        self, config: TrainConfig, device: torch.device, weights: dict[str, Tensor] | None = None
    ) -> None:
        self.config = config
        if device.type == "cuda" and config.precision == "bfloat16":
            # What little is left in float32 need not be more exact than the rest.
            torch.set_float32_matmul_precision("high")
        torch.manual_seed(config.seed)
        self.model = SpaceModel(config.model).to(device)
        self.model.bias.recovery = config.bias_recovery
        if config.precision == "float64":
            self.model = self.model.double()
        if weights is not None:
            named: dict[str, Tensor] = dict(self.model.named_parameters())
            # New policy heads begin at random shifts, added signals at 0.
            fresh = {n: p.detach() for n, p in named.items() if is_addition(n)}
            _fill(named, {**fresh, **_widened(weights, named)}, "weights")
        self.optimizer = MuonAdamW(self.model, config)
        self.average = WeightAverage(self.model, config.average, self.optimizer)
        self.step = 0
        self.instances = 0  # drawn in all steps
        self.seconds = 0.0  # spent in earlier sittings

    def groups(self) -> dict[str, dict[str, Tensor]]:
        """The live tensors by group and name."""
        groups: dict[str, dict[str, Tensor]] = {
            "weights": dict(self.model.named_parameters()),
            "moments": self.optimizer.state(),
        }
        if self.average.decay:
            groups["average"] = self.average.state()
        return groups

    def restore(self, path: Path) -> None:
        """Continue from a checkpoint, or from the newest in a run's folder."""
        header, stored = checkpoint.load(path)
        if "instances" not in header and header["config"].get("sizes"):
            self._check_old_sizes(path)
        for group, tensors in self.groups().items():
            if group == "average" and not header["config"].get("average"):
                self.average.restart()  # none was kept so far: it begins with the weights
                continue
            _fill(tensors, stored.get(group, {}), f"{path}: {group}")
        self.step, self.seconds = int(header["step"]), float(header["seconds"])
        # Older runs kept no count: all their batches were alike.
        self.instances = int(header.get("instances", self.step * header["config"]["batch"]))
        self.optimizer.count.fill_(int(header["updates"]))

    def _check_old_sizes(self, path: Path) -> None:
        """Refuse a run of before batches followed their size, which would go on with others."""
        config = self.config
        for size, name in product(config.all_sizes, ("batch", "trajectories", "max_moves")):
            before, now = getattr(config, name), getattr(config.at(size), name)
            if now != before:
                raise SpacevrpError(
                    f"sizes: expected {name} {before} also with {size} customers, as {path} began, "
                    f"received {now}, as it follows the size now; start another run with --weights "
                    f"and --resume-moments, or go on with --set sizes={config.size}"
                )

    def take_moments(self, path: Path) -> None:
        """Begin with the optimizer's moments of an earlier run, or of one of its checkpoints."""
        header, stored = checkpoint.load(path)
        _fill(self.optimizer.state(), stored.get("moments", {}), f"{path}: moments")
        self.optimizer.count.fill_(int(header["updates"]))

    @torch.no_grad()
    def round_moments(self) -> None:
        """Give the live moments the precision they are stored with."""
        if self.config.moments == "bfloat16":
            for moment in self.optimizer.state().values():
                moment.copy_(moment.to(torch.bfloat16))

    def save(self, folder: Path, header: dict[str, Any]) -> Path:
        """Write a checkpoint. The moments must have been rounded."""
        groups = self.groups()
        if self.config.moments == "bfloat16":
            groups["moments"] = {
                name: moment.to(torch.bfloat16) for name, moment in groups["moments"].items()
            }
        updates = int(self.optimizer.count)  # with those of a run whose moments it began with
        counts = {"updates": updates, "instances": self.instances}
        header = {**header, **counts, "config": self.config.to_dict()}
        return checkpoint.save(folder, self.step, groups, header)

    def result(self) -> SpaceModel:
        """A copy of the model with the averaged weights, or the last ones where none are kept."""
        model = SpaceModel(self.config.model)
        model.load_state_dict(self.average.state(), strict=True)
        return model.eval()


def build_config(
    preset: str | None,
    file: Path | None,
    settings: list[str],
    network: ModelConfig | None = None,
) -> TrainConfig:
    """The configuration: the preset, changed by the file, changed by single settings.

    ``network`` is that of weights to start from: keys of the network that neither the file nor a
    setting names are taken from it, and those that they name must be the same.
    """
    base = None if preset is None else get_preset(preset)
    if file is not None:
        base = TrainConfig.read(file, base, network)
    else:
        base = base or get_preset(DEFAULT_PRESET)
        base = base if network is None else replace(base, model=network)
    config = base.changed(settings)
    if network is not None:
        asked = config.model.to_dict()
        for key, value in network.to_dict().items():
            later = LEARNED_LATER.get(key) == value or (key in GROWS and asked[key] > value)
            if asked[key] != value and not later:
                raise SpacevrpError(
                    f"model.{key}: expected {value!r}, that of the weights, received {asked[key]!r}"
                )
    return config


def network_and_weights(source: str) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Of bundled weights, a file of them, or a run or one of its checkpoints."""
    if Path(source).is_dir():
        return stored_weights(Path(source))
    model, _ = load_weights(source)
    return model.config, dict(model.state_dict())


def resumed_config(path: Path, settings: list[str]) -> TrainConfig:
    """The configuration stored in a checkpoint with some settings changed."""
    stored = TrainConfig.from_dict(checkpoint.read_header(path)["config"])
    config = stored.changed(settings)
    before, now = _fixed_keys(stored), _fixed_keys(config)
    for name, value in now.items():
        if before[name] != value:
            raise SpacevrpError(
                f"{name}: expected {before[name]!r} as in {path}, received {value!r}: a run cannot "
                "change that on the way; start another one with --weights"
            )
    return config


def _fixed_keys(config: TrainConfig) -> dict[str, Any]:
    """What the stored tensors and the log hang on."""
    model = {f"model.{name}": value for name, value in config.model.to_dict().items()}
    own = ("optimizer", "variants", "load_rule", "augmentations")
    return {**model, **{name: getattr(config, name) for name in own}}


def stored_weights(path: Path) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Network and weights (averaged where there is an average) of a checkpoint.

    Of its run nothing else is read: it may have been one that another version knows.
    """
    header, groups = checkpoint.load(path)
    run = TrainConfig.from_dict({"model": header["config"].get("model", {})})
    return run.model, groups.get("average", groups["weights"])


def _widened(weights: dict[str, Tensor], live: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights with columns of zeros for inputs that they do not know yet."""
    widened = {}
    for name, tensor in weights.items():
        wanted = live[name].shape[-1] if name in live and tensor.ndim else 0
        grows = name.startswith("more_signals.") or name == "embed_types"
        missing = wanted - tensor.shape[-1] if grows else 0
        if missing > 0:
            tensor = torch.nn.functional.pad(tensor, (0, missing))
        widened[name] = tensor
    return widened


@torch.no_grad()
def _fill(live: dict[str, Tensor], stored: dict[str, Tensor], where: str) -> None:
    if set(stored) != set(live):
        different = sorted(set(stored) ^ set(live))
        raise SpacevrpError(
            f"{where}: expected the tensors of this run, {len(different)} differ: {different[0]}"
        )
    for name, tensor in live.items():
        if stored[name].shape != tensor.shape:
            raise SpacevrpError(
                f"{where}, {name}: expected shape {tuple(tensor.shape)}, "
                f"received {tuple(stored[name].shape)}"
            )
        tensor.copy_(stored[name])
