"""Names that stored weights, checkpoints and recipes may still hold."""

from __future__ import annotations

from spacevrp.inference.config import ModelConfig
from spacevrp.inference.old_names import with_new_keys, with_new_tensors
from spacevrp.train.config import TrainConfig


def test_old_keys_of_networks_and_runs_are_read() -> None:
    assert ModelConfig.from_dict({"leanings": 3}).policy_heads == 3
    config = TrainConfig.from_dict({"views": 4, "model": {"leanings": 3}})
    assert (config.augmentations, config.model.policy_heads) == (4, 3)
    assert config.changed(["model.leanings=7", "views=8"]).model.policy_heads == 7
    assert with_new_keys({"steps": 1}) == {"steps": 1}
    # Runs that were stored before these were dropped.
    assert TrainConfig.from_dict({"arc_credit": 0.0, "steps": 7}) == TrainConfig(steps=7)
    assert ModelConfig.from_dict({"singular_vectors": 0}) == ModelConfig()


def test_old_names_of_tensors_are_read() -> None:
    old = {"leanings.first": 1, "momentum.leanings.last": 2, "key.base": 3}
    assert with_new_tensors(old) == {
        "policy_heads.first": 1,
        "momentum.policy_heads.last": 2,
        "key.base": 3,
    }
