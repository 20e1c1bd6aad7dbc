"""A progress bar over rollouts, with rate and time left."""

from __future__ import annotations

from threading import Lock
from types import TracebackType
from typing import Literal

from tqdm import tqdm

ShowProgress = bool | Literal["always"]

# A quick call is over before the bar appears.
DELAY = 0.5


class Progress:
    """Counts finished rollouts, and takes a failed block's back.

    How many starts a block has shows only when it is worked on, so the total is corrected then.
    """

    def __init__(self, total: int, show: bool | Literal["always"]) -> None:
        # None: tqdm itself looks whether stderr is a terminal.
        disable = {True: None, "always": False}.get(show, True)
        self._bar = tqdm(
            total=total, unit=" plans", unit_scale=True, leave=False, disable=disable, delay=DELAY
        )
        self._expected, self._done = 0, 0.0
        self._lock = Lock()  # several workers report

    def begin(self, expected: int) -> None:
        """A block begins, of about this many rollouts."""
        self._expected, self._done = expected, 0.0

    def advance(self, number: float) -> None:
        """Some rollouts of the block are finished; long ones count in parts."""
        with self._lock:
            self._done += number
            self._bar.update(number)

    def stage(self, name: str) -> None:
        """What is being done while no rollout can be counted."""
        self._bar.set_description(name)

    def take_back(self) -> None:
        """The block has failed and will be done again."""
        self._bar.update(-self._done)

    def end(self) -> None:
        """The block is finished."""
        self._bar.total += round(self._done) - self._expected

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()
