"""A solver that may never end, in a process of its own that is ended in its stead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spacevrp.oracles import SolverOracle
from spacevrp.problems.errors import SpacevrpError
from spacevrp.processes import AnsweringProcess

# Seconds for what takes a tenth of one on an idle machine.
PATIENCE = 120.0
ATTEMPTS = 3


class PatientOracle:
    """An oracle that is asked again where its solver does not answer."""

    def __init__(self, oracle: SolverOracle, patience: float = PATIENCE) -> None:
        self._oracle = oracle
        self._patience = patience
        self._process: AnsweringProcess | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._oracle, name)

    def solve(self, *arguments: Any, **named: Any) -> Any:
        """What ``oracle.solve`` returns or raises there."""
        for _ in range(ATTEMPTS):
            if self._process is None:
                self._process = AnsweringProcess(answer_by, self._oracle)
            self._process.send((arguments, named))
            if self._process.connection.poll(self._patience):
                answer = self._process.receive()
                if isinstance(answer, SpacevrpError):
                    raise answer
                return answer
            self.end()
        raise AssertionError(f"expected an answer of {self.name} within {self._patience:.0f} s")

    def end(self) -> None:
        """End its process."""
        if self._process is not None:
            self._process.end()
            self._process = None


def answer_by(oracle: SolverOracle) -> Callable[[tuple[Any, Any]], Any]:
    """Solve what comes; errors are answers, too."""

    def answer(asked: tuple[Any, Any]) -> Any:
        arguments, named = asked
        try:
            return oracle.solve(*arguments, **named)
        except SpacevrpError as error:
            return error

    return answer
