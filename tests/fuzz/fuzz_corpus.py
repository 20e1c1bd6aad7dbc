"""Small valid files of every format, most of them in ``corpus``: what the fuzzers start from.

Solutions are called plan.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = Path(__file__).parents[2] / "examples" / "data"
_PATHS = [*sorted(Path(__file__).with_name("corpus").iterdir()), EXAMPLES / "stops.csv"]
_TEXTS = {path.name: path.read_text(encoding="utf-8") for path in _PATHS}
CVRP = _TEXTS["cvrp.vrp"]


def text_files() -> dict[str, str]:
    """Name -> a valid text file, instances only."""
    return {
        name: text
        for name, text in _TEXTS.items()
        if not name.endswith(".json") and not name.startswith("plan")
    }


def documents() -> dict[str, dict[str, Any]]:
    """Name -> a valid document, to be written as JSON."""
    return {
        name.removesuffix(".json"): json.loads(text)
        for name, text in _TEXTS.items()
        if name.endswith(".json") and not name.startswith("plan")
    }


def batches() -> dict[str, dict[str, Any]]:
    """Name -> the arrays of a valid .npz batch."""
    points = np.array([[[0, 0], [0.3, 0], [0, 0.4], [0.5, 0.5], [0.9, 0.1]]] * 2)  # (2, 5, 2)
    demand = np.array([[0, 3.0, 4, 5, 6]] * 2)  # (2, 5)
    return {
        "cvrp": {
            "variant": np.array("CVRP"),
            "num_depots": np.array(1),
            "coords": points,
            "demand": demand,
            "capacity": np.array([10.0, 12.0]),
        },
        "timed": {
            "variant": np.array("OCVRPLTW"),
            "num_depots": np.array(1),
            "coords": points,
            "demand": demand,
            "capacity": np.array([10.0, 12.0]),
            "max_length": np.array([3.0, np.inf]),
            "tw": np.array([[[0, 3.0]] * 5] * 2),
            "service": np.full((2, 5), 0.2) * (demand > 0),
        },
        "atsp": {
            "variant": np.array("ATSP"),
            "num_depots": np.array(0),
            "matrix": np.array([[[0, 1, 2], [3, 0, 4], [5, 6, 0]]]),
            "ref_cost": np.zeros(1),
        },
        "prizes": {
            "variant": np.array("SPCTSP"),
            "num_depots": np.array(1),
            "coords": points[:1],
            "prize": np.array([[0, 0.5, 0.5, 0.5, 0.5]]),
            "penalty": np.array([[0, 0.1, 0.2, 0.3, 0.4]]),
            "min_prize": np.array([1.0]),
            "revealed_prize": np.array([[0, 0.6, 0.4, 0.5, 0.3]]),
        },
    }


def pack(arrays: dict[str, Any]) -> bytes:
    """The bytes of an .npz with these arrays; arrays of objects are pickled, as NumPy does it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=True)
            info = zipfile.ZipInfo(f"{name}.npy")
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, member.getvalue())
    return stream.getvalue()


def files() -> dict[str, bytes]:
    """Name -> the bytes of a valid file, every format there is."""
    held = {name: text.encode() for name, text in _TEXTS.items()}
    return held | {f"{name}.npz": pack(arrays) for name, arrays in batches().items()}
