"""A bar over the time, with what is left of it and the best cost so far."""

from __future__ import annotations

from threading import Event, Thread
from typing import Literal

from tqdm import tqdm

from spacevrp.problems.deadline import Deadline

# A quick call is over before the bar appears.
_DELAY = 0.5
_EVERY = 0.1  # seconds
_FORMAT = "{desc} |{bar}| {n:.1f} of {total:g} s, {remaining} left"


class TimeBar:
    """Moves by itself; a search that lets no thread through moves it by telling a cost."""

    def __init__(self, deadline: Deadline, show: bool | Literal["always"]) -> None:
        self._deadline = deadline
        # None: tqdm itself looks whether stderr is a terminal.
        disable = {True: None, "always": False}.get(show, True)
        self._bar = tqdm(
            total=deadline.seconds,
            bar_format=_FORMAT,
            leave=False,
            disable=disable,
            delay=_DELAY,
            mininterval=0,
        )
        self._stage, self._cost = "", ""
        self._ended = Event()
        self._thread: Thread | None = None

    @property
    def visible(self) -> bool:
        """Whether anybody sees it."""
        return not self._bar.disable

    def stage(self, name: str) -> None:
        """What is being done."""
        self._stage = name
        self._move()

    def cost(self, value: float) -> None:
        """The best so far."""
        self._cost = f", best {value:.6g}"
        self._move()

    def _move(self) -> None:
        if not self.visible:
            return
        self._bar.set_description_str(f"{self._stage}{self._cost}", refresh=False)
        ahead = min(self._deadline.spent, self._deadline.seconds) - self._bar.n
        self._bar.update(max(ahead, 0.0))
        self._bar.refresh()

    def _tick(self) -> None:
        while not self._ended.wait(_EVERY):
            self._move()

    def __enter__(self) -> TimeBar:
        if self.visible:
            self._thread = Thread(target=self._tick, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._bar.close()
