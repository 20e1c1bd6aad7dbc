"""Outcomes of sets: what is compared, and what is kept for the next run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacevrp.bench.references import Reference
from spacevrp.bench.runner import Outcome, Store
from spacevrp.bench.sets import compare
from spacevrp.problems.errors import FormatError


def outcome(*costs: float | None, **other: object) -> Outcome:
    return Outcome(costs, 1.0, 2.0, 3.0, violations=0, **other)  # type: ignore[arg-type]


def reference(cost: float, solver: str = "pyvrp") -> Reference:
    return Reference(cost, solver, "1", 20.0)


# ------------------------------------------------------------------------------------- comparison


def test_only_instances_with_a_plan_and_a_reference_are_compared() -> None:
    held = [reference(10.0), None, reference(5.0, "lkh"), reference(20.0)]
    found = compare([11.0, 7.0, None, 30.0], held)
    # 10% and 50%; the second has no reference, the third no plan.
    assert found.gap == pytest.approx(30.0)
    assert (found.instances, found.cost, found.solvers) == (2, 15.0, "pyvrp")


# ------------------------------------------------------------------------------------------- store


@given(
    st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=5),
    st.floats(0, 1e6),
)
def test_numbers_come_back_bit_by_bit(tmp_path_factory, costs, seconds):
    path = tmp_path_factory.mktemp("store") / "x.solved.jsonl"
    kept = Outcome(tuple(costs), seconds, 0.0, 0.0, violations=0)
    Store(path).keep({"a": 1}, kept)
    assert Store(path).get({"a": 1}) == kept


def test_a_line_cut_off_at_the_end_is_left_out_and_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "x.solved.jsonl"
    store = Store(path)
    for number in (1, 2):
        store.keep({"n": number}, outcome(float(number)))
    path.write_bytes(path.read_bytes()[:-20])
    cut = Store(path)
    assert cut.get({"n": 1}) == outcome(1.0)
    assert cut.get({"n": 2}) is None
    cut.keep({"n": 3}, outcome(3.0))
    whole = Store(path)
    assert (whole.get({"n": 1}), whole.get({"n": 3})) == (outcome(1.0), outcome(3.0))
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize("line", ["[]", "{}", '{"key": {}, "outcome": {"costs": []}}', "x"])
def test_a_line_of_something_else_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.solved.jsonl"
    good = json.dumps({"key": {}, "outcome": None})
    path.write_text(f"{line}\n{good}\n")
    with pytest.raises(FormatError, match=r"x.solved.jsonl: line 1: expected the outcome of a set"):
        Store(path)
