"""What policy heads add to queries: vectors in the queries' deviation, and what is learned."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from spacevrp.model import HEAD_STRENGTH, LearnedHeads, Queries, apply_heads, head_shifts


def test_the_first_head_is_the_base_policy_and_the_others_differ() -> None:
    rows = head_shifts(range(64), 128)
    assert rows.dtype == torch.float32
    assert (rows[0] == 0).all()
    assert rows[1:].square().mean().item() == pytest.approx(1.0, abs=0.05)
    likeness = torch.corrcoef(rows[1:]) - torch.eye(63)
    assert likeness.abs().max() < 0.5


def test_a_shift_depends_on_the_number_of_the_head_alone() -> None:
    many = head_shifts(range(9), 16)
    assert torch.equal(head_shifts(range(4, 7), 16), many[4:7])
    expected = np.random.default_rng([0, 5]).standard_normal(16).astype(np.float32)
    assert many[5].tolist() == expected.tolist()
    later = head_shifts(range(9), 16, first=4)
    assert torch.equal(later[4:], many[4:])
    assert (later[:4] == 0).all()


def some_queries(last: Tensor, is_node: Tensor) -> Queries:
    """Queries of last nodes (I, V, N, d) with the rest drawn."""
    generator = torch.Generator().manual_seed(3)
    embedding, first = (torch.randn(last.shape, generator=generator) for _ in range(2))
    attributes = torch.zeros(len(last), 10)
    attributes[:, 2] = attributes[:, 5] = 1.0
    return Queries(embedding, first, last, is_node, attributes)


def test_shifts_are_measured_in_the_deviation_of_queries() -> None:
    # 1, 3, 5, 7 have the mean 4 and the variance 5; the last node is padding.
    last = torch.tensor([[[[1.0, 3.0], [5.0, 7.0], [100.0, -100.0]]]])
    queries = some_queries(last, torch.tensor([[[True, True, False]]]))
    first, there = apply_heads(queries, range(4, 5), 0.5)
    step = 0.5 * 5.0**0.5 * head_shifts(range(4, 5), 2)[0]
    torch.testing.assert_close(there[0, 0, :2], last[0, 0, :2] + step)
    assert torch.equal(first, queries.first)


def taught(count: int, width: int) -> LearnedHeads:
    """Policy heads that have learned something."""
    learned = LearnedHeads(count, width)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in learned.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator))
    return learned


def test_learning_begins_at_the_random_shifts() -> None:
    queries = some_queries(torch.randn(2, 4, 3, 8), torch.ones(2, 1, 3, dtype=torch.bool))
    drawn = apply_heads(queries, range(4), HEAD_STRENGTH)
    learned = apply_heads(queries, range(4), HEAD_STRENGTH, LearnedHeads(3, 8))
    for a, b in zip(drawn, learned, strict=True):
        torch.testing.assert_close(a, b)


def test_what_a_augmentation_has_learned_is_added_to_its_queries() -> None:
    last = torch.tensor([[[[1.0, 3.0], [5.0, 7.0]]]])
    queries = some_queries(last, torch.ones(1, 1, 2, dtype=torch.bool))
    learned = taught(3, 2)
    first, there = apply_heads(queries, range(2, 3), HEAD_STRENGTH, learned)
    x = queries.embedding[0, 0]
    torch.testing.assert_close(first[0, 0], queries.first[0, 0] + x @ learned.first[1].T)
    own = learned.shift_of_attributes[1, [2, 5]].mean(dim=0)  # of the two active attributes
    shift = 5.0**0.5 * (learned.shift[1] + own)
    torch.testing.assert_close(there[0, 0], last[0, 0] + x @ learned.last[1].T + shift)
    halfway, _ = apply_heads(queries, range(2, 3), HEAD_STRENGTH / 2, learned)
    torch.testing.assert_close(halfway[0, 0], queries.first[0, 0] + x @ learned.first[1].T / 2)


def test_strength_0_changes_nothing() -> None:
    queries = some_queries(torch.randn(1, 3, 3, 4), torch.ones(1, 1, 3, dtype=torch.bool))
    first, last = apply_heads(queries, range(5, 8), 0.0, taught(2, 4))
    assert torch.equal(first, queries.first)
    assert torch.equal(last, queries.last)
