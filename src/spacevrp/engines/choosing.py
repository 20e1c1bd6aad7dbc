"""Which engine runs the network: the compiled network on a CPU, torch on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from spacevrp import native
from spacevrp.engines.base import Engine
from spacevrp.engines.devices import has_torch, wants_gpu
from spacevrp.inference.weights import DEFAULT_WEIGHTS, bundled_weights
from spacevrp.problems.errors import TORCH_MISSING, SpacevrpError

if TYPE_CHECKING:
    import torch

    from spacevrp.model import SpaceModel

EngineName = Literal["auto", "native", "torch"]
_NAMES = ("auto", "native", "torch")


def choose_engine(
    weights: str | Path | SpaceModel | None = None,
    device: str | torch.device = "auto",
    threads: int | None = 1,
    engine: EngineName = "auto",
) -> Engine:
    """The compiled network on a CPU, torch on a GPU; torch also for what only torch can load.

    Raises
    ------
    SpacevrpError
        Where what is needed is not installed, in one line that says what to install.
    """
    if engine not in _NAMES:
        raise SpacevrpError(f"engine: expected {', '.join(_NAMES)}, received {engine!r}")
    reason = _why_torch(weights, device)
    if engine == "native" or (engine == "auto" and reason is None and native.network is not None):
        if reason is not None:
            raise SpacevrpError(f"engine: expected torch for {reason}, received 'native'")
        from spacevrp.engines.native_engine import NativeEngine

        assert weights is None or isinstance(weights, str | Path)
        return NativeEngine(DEFAULT_WEIGHTS if weights is None else weights, threads)
    if not has_torch():
        if reason is not None or engine == "torch":
            raise SpacevrpError(f"{reason or 'engine torch'}: {TORCH_MISSING}")
        instead = "or have PyTorch run the network: pip install 'spacevrp[torch]'"
        raise SpacevrpError(f"{native.NETWORK_MISSING}; {instead}")
    from spacevrp.engines.torch_engine import TorchEngine

    return TorchEngine.load(weights, device, threads)


def _why_torch(weights: object, device: str | torch.device) -> str | None:
    """What the compiled network cannot do; None where it can."""
    if wants_gpu(device):
        return "a GPU"
    if weights is not None and not isinstance(weights, str | Path):
        return "a model of torch"
    if weights is None or str(weights) in bundled_weights():
        return None
    return "a training run's folder" if Path(weights).is_dir() else None
