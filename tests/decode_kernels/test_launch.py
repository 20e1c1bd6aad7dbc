"""The kernels, compiled for GPUs that are not here, fit the memory that these have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from spacevrp.decode import launch  # noqa: E402
from spacevrp.decode.fused import FusedOptions, fused_rollout  # noqa: E402
from spacevrp.decode.fused_replay import fused_replay_gradients  # noqa: E402
from spacevrp.decode.random_numbers import random_keys  # noqa: E402
from spacevrp.env import Environment, start_nodes  # noqa: E402
from spacevrp.generators import generate  # noqa: E402
from spacevrp.model import ModelConfig, SpaceModel, mixing, random_seeds  # noqa: E402
from spacevrp.tensors import stack  # noqa: E402

CONFIG = ModelConfig(
    width=128, layers=1, feedforward=16, pivots=4, rank=2, heads=1, signals=7, constraint_aware=True
)
# Compute capability of a GPU -> shared memory of a program.
GPUS = {90: 227 * 1024, 80: 163 * 1024, 89: 99 * 1024}
# Modules -> the kernels in them.
KERNELS = {
    "spacevrp.decode.fused_kernel": ("rollout_kernel",),
    "spacevrp.decode.move_kernel": ("fact_gradient_kernel",),
    "spacevrp.decode.replay_kernel": (
        *("list_kernel", "replay_kernel", "product_kernel", "scatter_kernel"),
    ),
    "spacevrp.model.mixing_kernel": ("mix_kernel", "mix_backward_kernel"),
}
ENCODERS = set(KERNELS["spacevrp.model.mixing_kernel"])
DECODERS = {name for names in KERNELS.values() for name in names} - ENCODERS

# Kernels by name, with what each is given.
Launches = dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]]


@pytest.mark.parametrize(
    ("memory", "nodes", "expected"),
    [
        (227, 128, (32, True)),
        (163, 128, (32, False)),
        (163, 64, (32, True)),
        (99, 64, (32, False)),
        (227, 129, (16, False)),
    ],
)
def test_a_replay_holds_its_tables_where_they_fit(
    monkeypatch: pytest.MonkeyPatch, memory: int, nodes: int, expected: tuple[int, bool]
) -> None:
    monkeypatch.setattr(launch, "shared_memory", lambda device: memory * 1024)
    found = launch.replay_launch(nodes, 128, torch.device("cuda"))
    assert (found.block, found.held) == expected


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="needs triton")
@pytest.mark.parametrize(("gpu", "nodes"), [(90, 128), (90, 256), (80, 128), (89, 128), (89, 256)])
def test_all_kernels_fit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gpu: int, nodes: int
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    for module in (launch, mixing):
        monkeypatch.setattr(module, "shared_memory", lambda device: GPUS[gpu])
    launches = launched(monkeypatch, nodes)
    assert set(launches) == (ENCODERS if (gpu, nodes) == (89, 256) else ENCODERS | DECODERS)
    used = {name: shared_memory(gpu, *given) for name, given in launches.items()}
    assert {name: size for name, size in used.items() if size > GPUS[gpu]} == {}
    if "rollout_kernel" in used:
        assert used["rollout_kernel"] <= launch.rollout_memory(nodes, CONFIG.width)
    if "replay_kernel" in used and launches["replay_kernel"][2]["HELD"]:
        assert used["replay_kernel"] <= launch.replay_memory(nodes, CONFIG.width, 32)


def launched(monkeypatch: pytest.MonkeyPatch, nodes: int) -> Launches:
    """The kernels of a training step, and what they are launched with; none of them runs."""
    found: Launches = {}

    class Launched:
        def __init__(self, name: str, kernel: Any) -> None:
            self.name, self.kernel = name, kernel

        def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
            def call(*tensors: Any, **options: Any) -> None:
                found[self.name] = (self.kernel, tensors, options)

            return call

    for module, names in KERNELS.items():
        imported = pytest.importorskip(module)
        for name in names:
            monkeypatch.setattr(imported, name, Launched(name, getattr(imported, name)))
    batch = stack(generate("MDCVRPLTW", nodes - 3, 1, seed=3))
    with torch.no_grad():
        tables = SpaceModel(CONFIG)(batch, random_seeds(batch, CONFIG))
    environment = Environment(batch)
    if launch.supports(environment, CONFIG.width):
        starts = start_nodes(environment, 4)
        keys = random_keys(starts.shape, starts.device)
        options = FusedOptions(record=True, max_steps=8, depot_temperature=1.0)
        trace = fused_rollout(environment, tables, starts, keys, options)
        # Nothing was written: say that each made a move.
        trace = replace(trace, steps=torch.ones_like(trace.steps), cost=torch.ones_like(trace.cost))
        fused_replay_gradients(tables, trace, torch.ones(trace.action.shape))
    projected = torch.zeros(1, nodes, 6 * CONFIG.width, dtype=torch.bfloat16)
    given = (projected, torch.zeros(1, nodes, nodes), torch.zeros(1, 2), torch.ones(1, nodes) > 0)
    mixing.fused_mix(*given)
    mixing.fused_mix_backward(*given, projected[..., : 2 * CONFIG.width])
    return found


def shared_memory(gpu: int, kernel: Any, tensors: tuple[Any, ...], options: dict[str, Any]) -> int:
    """Bytes that a kernel asks for, compiled for a GPU of that compute capability."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.runtime.jit import mangle_type

    names = kernel.arg_names
    given = dict(zip(names, tensors, strict=False))
    constants = {name: value for name, value in options.items() if name in names}
    if "FAST" in constants:
        constants["FAST"] = True  # arithmetic of a GPU
    source = ASTSource(
        kernel,
        {name: mangle_type(value) for name, value in given.items()}
        | dict.fromkeys(constants, "constexpr"),
        {(names.index(name),): value for name, value in constants.items()},
        {
            (names.index(name),): [["tt.divisibility", 16]]
            for name, value in given.items()
            if isinstance(value, torch.Tensor) or value % 16 == 0
        },
    )
    settings = {name: value for name, value in options.items() if name not in names}
    compiled = triton.compile(source, target=GPUTarget("cuda", gpu, 32), options=settings)
    return int(compiled.metadata.shared)
