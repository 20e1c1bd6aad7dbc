"""Workers keep the order, the mode and the number of threads."""

from __future__ import annotations

import threading

import pytest
import torch

from spacevrp.tensors.workers import Workers


@pytest.mark.parametrize("number", [1, 3])
def test_results_come_in_order(number: int) -> None:
    before = torch.get_num_threads()
    with Workers(number) as workers:
        assert list(workers.map(lambda piece: piece**2, range(20))) == [i**2 for i in range(20)]
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("number", [1, 2])
def test_workers_work_in_the_mode_of_whoever_asks(number: int) -> None:
    parameter = torch.ones(1, requires_grad=True)

    def work(_: int) -> tuple[bool, bool]:
        return (2 * parameter).requires_grad, torch.is_inference_mode_enabled()

    with Workers(number) as workers:
        assert set(workers.map(work, range(4))) == {(True, False)}
        with torch.no_grad():
            assert set(workers.map(work, range(4))) == {(False, False)}
        with torch.inference_mode():
            assert set(workers.map(work, range(4))) == {(False, True)}


def test_several_workers_are_several_threads_with_a_core_each() -> None:
    meeting = threading.Barrier(2, timeout=30)

    def work(_: int) -> int:
        meeting.wait()  # passes only if two are here at once
        return torch.get_num_threads()

    with Workers(2) as workers:
        assert list(workers.map(work, range(2))) == [1, 1]


def test_an_error_of_a_worker_reaches_whoever_asks() -> None:
    def work(piece: int) -> int:
        if piece == 2:
            raise ValueError("piece 2")
        return piece

    with Workers(2) as workers, pytest.raises(ValueError, match="piece 2"):
        list(workers.map(work, range(4)))
