"""What a server may take and keep, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Settings:
    """How a server works.

    Parameters
    ----------
    host, port
        Where it listens.
    token
        Asked of every request but those for the page and for ``/health``; None for none.
    data
        The folder of jobs and results; None keeps them in memory, where they end with the server.
    engine
        Who solves: ``local``, threads of this process; ``ray`` or ``ray://HOST:PORT``, actors of a
        cluster.
    workers
        Problems that are solved at the same time, each on a thread or an actor of its own. None for
        one a core, or for as many as the cluster has room for.
    max_queue
        Problems that wait for a worker; more are refused with 429.
    max_body, max_customers
        Bytes and customers of a request; more are refused with 413.
    max_time
        Seconds that a request may ask for, and after which one that asked for none is stopped.
    keep_seconds, keep_jobs, keep_bytes
        Finished jobs are forgotten when they are older, when there are more, or when they and
        their results take more room.
    batch_seconds, batch_jobs
        How long a worker waits for further small problems to solve in the same call, and how many
        it takes. None for what suits the device: the compiled network works on problems one after
        the other, so that nothing is gained by waiting; a GPU works on them together.
    batch_customers
        What counts as small.
    speed_kmh
        Travel as the crow flies where a VROOM problem has no matrix; None refuses it.
    tiles, tiles_credit
        The address of the page's map, with ``{z}``, ``{x}`` and ``{y}`` in it, and whom to thank
        for it; None for a plain grid.
    device, weights
        Of the one network that all requests share.
    version
        Of the package, for those who ask.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    data: Path | None = None
    engine: str = "local"
    workers: int | None = None
    max_queue: int = 256
    max_body: int = 32 * 2**20
    max_customers: int = 5_000
    max_time: float = 60.0
    keep_seconds: float = 7 * 86_400.0
    keep_jobs: int = 10_000
    keep_bytes: int = 2**30
    batch_seconds: float | None = None
    batch_jobs: int = 32
    batch_customers: int = 200
    speed_kmh: float | None = None
    tiles: str | None = None
    tiles_credit: str = ""
    device: str = "auto"
    weights: str | None = None
    version: str = "unknown"

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine reach it."""
        return self.host in LOOPBACK
