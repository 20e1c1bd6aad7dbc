"""Products in bfloat16 on a CPU that has none."""

from __future__ import annotations

import pytest
import torch

from spacevrp.model.products import has_bfloat16, steady_products

CPU = torch.device("cpu")


@pytest.fixture
def without_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacevrp.model.products.has_bfloat16", lambda device: False)


def is_on() -> bool:
    return bool(torch.backends.mkldnn.enabled)


@pytest.mark.usefixtures("without_units")
def test_one_dnn_is_off_where_it_would_refuse_and_on_again_afterwards() -> None:
    before = is_on()
    with steady_products(torch.bfloat16, CPU):
        assert not is_on()
        a = torch.arange(6.0).view(2, 3).bfloat16()
        assert (a @ a.T).tolist() == [[5.0, 14.0], [14.0, 50.0]]
    assert is_on() == before
    with steady_products(torch.float32, CPU):
        assert is_on() == before


def test_only_a_cpu_may_lack_it() -> None:
    assert has_bfloat16(torch.device("cuda"))
    assert isinstance(has_bfloat16(CPU), bool)
    before = is_on()
    with steady_products(torch.bfloat16, torch.device("cuda")):
        assert is_on() == before
