"""A run over many instances: give out parts, write what comes back, and never do a part twice."""

from __future__ import annotations

import time as clocks
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from tqdm import tqdm

from spacevrp.engines.devices import wants_gpu
from spacevrp.engines.progress import ShowProgress
from spacevrp.inference.weights import bundled_weights
from spacevrp.many.engines import LOCAL, LocalEngine, Lost, Task, WorkEngine, is_ray
from spacevrp.many.rows import SOLVED, Row, failed_row
from spacevrp.many.sources import Sources, gather
from spacevrp.many.store import RowFormat, Store, shortened
from spacevrp.many.worker import WorkerSettings, package_version
from spacevrp.problems.conversion import as_whole, show
from spacevrp.problems.digests import file_digest
from spacevrp.problems.errors import SpacevrpError
from spacevrp.problems.problem import Problem
from spacevrp.problems.sources.columns import names_in
from spacevrp.solver import SolveParams
from spacevrp.solver.budget import as_seconds

# Instances of a part, at the most: a part is what a kill may cost, and what a network batches.
_LARGEST_PART, _LARGEST_GPU_PART = 32, 1024
_PARTS = 32  # at least, where there are as many instances, so that no worker waits long at the end

AnyInstances = (
    str | Path | Problem | Mapping[str, Any] | Iterable[str | Path | Problem | Mapping[str, Any]]
)


@dataclass(frozen=True)
class ManyResult:
    """What came of a run.

    Attributes
    ----------
    count, solved
        Instances, and those of them with a complete plan.
    failures
        Rows without plans (``index``, ``source``, ``status``, ``reason``) of all other instances.
    mean_cost
        Of the complete plans; None where there is none.
    seconds, here
        What this call took, and how many instances it solved; others were there before.
    again
        Parts that were given out again because their worker had ended.
    workers, device
        Workers, and where they worked; 0 and empty where there was nothing left to do.
    """

    count: int
    solved: int
    failures: tuple[Row, ...]
    mean_cost: float | None
    seconds: float
    here: int
    again: int
    workers: int
    device: str
    _store: Store | None = None
    _rows: tuple[Row, ...] = ()

    def rows(self) -> Iterator[Row]:
        """A row for each instance with its plan, in order."""
        return iter(self._rows) if self._store is None else self._store.all_rows()


def solve_many(
    problems: AnyInstances,
    params: SolveParams | None = None,
    *,
    output: str | Path | None = None,
    engine: str = LOCAL,
    workers: int | None = None,
    threads: int = 1,
    device: str = "auto",
    weights: str | Path | None = None,
    time: float | str | None = None,
    format: RowFormat | None = None,
    part_size: int | None = None,
    rounding: str | None = None,
    time_unit: str | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    progress: ShowProgress = False,
    **changes: Any,
) -> ManyResult:
    """Solve thousands of instances, on all cores, GPUs or machines; go on where a run was ended.

    Parameters
    ----------
    problems
        Paths of files, folders, .npz batches or Parquet tables, or problems; one or several.
    params, changes
        As of :meth:`Solver.solve`: the fields of :class:`SolveParams`, also by name.
    output
        A folder for the plans, in parts. Called again with the same instances and parameters, the
        run goes on: what is in a part is not solved again. None keeps the plans in memory.
    engine
        ``local``: processes of this machine. ``ray``: a Ray cluster, the one that is running or one
        of this machine alone; ``ray://HOST:10001``: a cluster elsewhere.
    workers
        Processes or actors. None for one a GPU, or one a group of ``threads`` cores.
    threads, device, weights
        Of each worker, as of :class:`Solver`.
    time
        For each instance, seconds or such as ``"2s"``.
    format
        ``jsonl`` or ``parquet``; by default the latter where the name of the folder ends so.
    part_size
        Instances of a part.
    rounding, time_unit, columns
        As of :func:`spacevrp.read`, for files.
    progress
        Show a bar with rate and time left; ``"always"`` also where stderr is no terminal.

    Raises
    ------
    SpacevrpError
        Before any work: a path that is not there, parameters or instances other than those that the
        folder was begun with, a folder that another run writes to.
    KeyboardInterrupt
        From Ctrl-C; what is in parts stays, and the same call goes on.
    """
    params = (SolveParams() if params is None else params).changed(**changes)
    seconds = None if time is None else as_seconds(time)
    if seconds is not None:
        params.check_time()
    for name, value in (("workers", workers), ("threads", threads), ("part_size", part_size)):
        expected = "a whole number of at least 1"
        if value is not None and as_whole(name, value, expected) < 1:
            raise SpacevrpError(f"{name}: expected {expected}, received {value}")
    make_engine = _engine_named(engine)
    settings = WorkerSettings(
        params, seconds, _weights(weights), device, threads, rounding, time_unit, columns
    )
    rows = _row_format(format, output)
    sources = gather(problems, rounding, None if output is None else Path(output))
    usual = _usual_part(len(sources), device)
    with TemporaryDirectory() if output is None else nullcontext(str(output)) as folder:
        store = Store(Path(folder), sources, rows, package_version())
        with store.locked():
            known = store.open(_asked(settings, rows), part_size, usual)
            run = _Run(sources, store, known)
            began = clocks.perf_counter()
            if run.left:
                run.work(lambda most: make_engine(settings, workers, most), progress)
            failures = [row for row in run.rows.values() if row["status"] != SOLVED]
            failures.sort(key=lambda row: int(row["index"]))
            store.write_failures(failures)
        costs = [row["cost"] for row in run.rows.values() if row["status"] == SOLVED]
        return ManyResult(
            count=len(sources),
            solved=len(costs),
            failures=tuple(failures),
            mean_cost=sum(costs) / len(costs) if costs else None,
            seconds=clocks.perf_counter() - began,
            here=len(sources) - len(known),
            again=run.again,
            workers=run.workers,
            device=run.device,
            _store=None if output is None else store,
            _rows=() if output is not None else tuple(store.all_rows()),
        )


# ------------------------------------------------------------------------------------ what is asked


def _engine_named(name: str) -> Any:
    if not is_ray(name):
        return LocalEngine
    from spacevrp.many.ray_engine import RayEngine, check_ray

    check_ray()
    return lambda settings, workers, most: RayEngine(name, settings, workers, most)


def _weights(given: str | Path | None) -> str | None:
    """By name, or by a path that holds in the folders of other processes, too."""
    if given is None or str(given) in bundled_weights():
        return None if given is None else str(given)
    return str(Path(given).absolute())


def _row_format(asked: RowFormat | None, output: str | Path | None) -> RowFormat:
    if asked is None:
        is_table = output is not None and Path(output).suffix.lower() == ".parquet"
        return "parquet" if is_table else "jsonl"
    if asked not in get_args(RowFormat):
        raise SpacevrpError(f"format: expected jsonl or parquet, received {show(asked)}")
    return asked


def _usual_part(count: int, device: str) -> int:
    largest = _LARGEST_GPU_PART if wants_gpu(device) else _LARGEST_PART
    return max(1, min(largest, -(-count // _PARTS)))


def _asked(settings: WorkerSettings, rows: RowFormat) -> dict[str, Any]:
    """The parameters that decide what comes out; workers, threads and devices are none of them."""
    weights = settings.weights
    if weights is not None and Path(weights).is_file():
        weights = f"sha256:{file_digest(Path(weights))}"
    return {
        **settings.params.to_dict(),
        "time": settings.time,
        "weights": weights,
        "rounding": settings.rounding,
        "time_unit": settings.time_unit,
        "format": rows,
        "columns": {field: names_in(said) for field, said in (settings.columns or {}).items()}
        or None,
    }


# ----------------------------------------------------------------------------------------- the work


class _Run:
    """Which instances are left, and the rows of parts of which some are."""

    def __init__(self, sources: Sources, store: Store, known: dict[int, Row]) -> None:
        self.rows = dict(known)  # without plans
        self._sources, self._store = sources, store
        self.left: deque[tuple[int, tuple[int, ...]]] = deque()  # part, instances
        self._open: dict[int, dict[int, Row]] = {}  # part -> rows with plans, until all are there
        for part in store.parts:
            missing = tuple(number for number in store.numbers(part) if number not in known)
            if missing:
                self.left.append((part, missing))
                kept = len(missing) < len(store.numbers(part))
                there = store.read(part) if kept else []
                self._open[part] = {row["index"]: row for row in there if row["index"] in known}
        self._losses: Counter[tuple[int, ...]] = Counter()
        self.again, self.workers, self.device = 0, 0, ""

    def work(self, make_engine: Any, progress: ShowProgress) -> None:
        """Solve all that is left."""
        # None: tqdm itself looks whether stderr is a terminal.
        disable = {True: None, "always": False}.get(progress, True)
        bar = tqdm(
            total=len(self._sources),
            initial=len(self.rows),
            unit=" instances",
            disable=disable,
            smoothing=0.05,
            dynamic_ncols=True,
        )
        with bar:
            engine: WorkEngine = make_engine(len(self.left))
            try:
                self._loop(engine, bar)
            finally:
                engine.close()
            self.workers, self.device = engine.workers, engine.device

    def _loop(self, engine: WorkEngine, bar: Any) -> None:
        failed, started = sum(row["status"] != SOLVED for row in self.rows.values()), False
        while self.left:
            for ended in engine.solve(self._next, len(self.left)):
                if engine.device and not started:
                    started = True
                    bar.unpause()  # the rate is that of the work, without the start of the workers
                for task, outcome in ended:
                    if isinstance(outcome, Lost):
                        outcome = self._lost(task, outcome)
                    self._keep(task, outcome)
                    failed += sum(row["status"] != SOLVED for row in outcome)
                    bar.update(len(outcome))
                    if failed:
                        bar.set_postfix_str(f"{failed} without a plan", refresh=False)

    def _next(self) -> Task | None:
        if not self.left:
            return None
        part, numbers = self.left.popleft()
        return Task(part, tuple(map(self._sources.item, numbers)))

    def _lost(self, task: Task, lost: Lost) -> list[Row]:
        """Give a task out once more, then its instances one by one; one that fails again failed."""
        numbers = tuple(item.number for item in task.items)
        self._losses[numbers] += 1
        self.again += 1
        if self._losses[numbers] == 1:
            self.left.appendleft((task.part, numbers))
        elif len(numbers) > 1:
            self.left.extendleft((task.part, (number,)) for number in numbers)
        else:
            (item,) = task.items
            reason = f"the process that solved it ended twice: {lost.how}"
            self.again -= 1
            return [failed_row(item, reason)]
        return []

    def _keep(self, task: Task, rows: list[Row]) -> None:
        there = self._open[task.part]
        there |= {row["index"]: row for row in rows}
        numbers = self._store.numbers(task.part)
        if len(there) == len(numbers):
            self._store.write(task.part, [there[number] for number in numbers])
            self.rows |= {number: shortened(there[number]) for number in numbers}
            del self._open[task.part]
