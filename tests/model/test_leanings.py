"""What views add to queries: vectors of their own, in the queries' deviation."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spacevrp.model import lean, leanings


def test_the_first_view_does_not_lean_and_the_others_do_each_in_its_own_way() -> None:
    rows = leanings(range(64), 128)
    assert rows.dtype == torch.float32
    assert (rows[0] == 0).all()
    assert rows[1:].square().mean().item() == pytest.approx(1.0, abs=0.05)
    likeness = torch.corrcoef(rows[1:]) - torch.eye(63)
    assert likeness.abs().max() < 0.5


def test_a_leaning_depends_on_the_number_of_the_view_alone() -> None:
    many = leanings(range(9), 16)
    assert torch.equal(leanings(range(4, 7), 16), many[4:7])
    expected = np.random.default_rng([0, 5]).standard_normal(16).astype(np.float32)
    assert many[5].tolist() == expected.tolist()


def test_leanings_are_measured_in_the_deviation_of_queries() -> None:
    # 1, 3, 5, 7 have the mean 4 and the variance 5; the last node is padding.
    query = torch.tensor([[[1.0, 3.0], [5.0, 7.0], [100.0, -100.0]]])
    is_node = torch.tensor([[True, True, False]])
    there = lean(query, torch.tensor([[1.0, -2.0]]), is_node)
    step = 5.0**0.5 * torch.tensor([1.0, -2.0])
    torch.testing.assert_close(there[0, :2], query[0, :2] + step)


def test_views_of_an_instance_lean_apart_whatever_their_company() -> None:
    generator = torch.Generator().manual_seed(0)
    query = (
        torch.randn(2, 3, 5, 4, generator=generator) * torch.tensor([1.0, 9.0])[:, None, None, None]
    )
    is_node = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    leaning = leanings(range(3), 4)
    together = lean(query, leaning, is_node.unsqueeze(1))
    for item in range(2):
        for view in range(3):
            alone = lean(query[item, view], leaning[view], is_node[item])
            torch.testing.assert_close(together[item, view], alone)
    assert torch.equal(together[:, 0], query[:, 0])
