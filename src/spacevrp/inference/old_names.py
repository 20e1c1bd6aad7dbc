"""Old names of settings and tensors that stored weights, checkpoints and recipes may still hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

Value = TypeVar("Value")

#: Keys of the network and of training runs.
KEYS = {"leanings": "policy_heads", "views": "augmentations"}
#: Keys that are gone, and the value with which they did nothing.
GONE = {"arc_credit": 0, "singular_vectors": 0}
#: How the names of tensors began, perhaps after the name of an optimizer's moment.
TENSORS = {"leanings.": "policy_heads."}


def with_new_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by today's names, without those that are gone and did nothing."""
    kept = {name: value for name, value in values.items() if GONE.get(name, ...) != value}
    return {KEYS.get(name, name): value for name, value in kept.items()}


def with_new_tensors(tensors: Mapping[str, Value]) -> dict[str, Value]:
    """Tensors, or their shapes, by today's names."""
    renamed = {}
    for name, value in tensors.items():
        for old, new in TENSORS.items():
            name = name.replace(old, new)
        renamed[name] = value
    return renamed
