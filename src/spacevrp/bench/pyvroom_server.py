"""Pyvroom behind the stack of ``spacevrp serve``, for ``spacevrp bench serve``.

``python -m spacevrp.bench.pyvroom_server PORT PROCESSES LEVEL``
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import Response


def serve(port: int, workers: int, level: int) -> None:
    """Serve until terminated; workers are processes, which explore to a level of VROOM's."""
    app = FastAPI(openapi_url=None)

    @app.post("/")
    async def answer(request: Request) -> Response:
        # As that of ``spacevrp serve``, the body is not read by FastAPI.
        body, loop = await request.body(), asyncio.get_running_loop()
        text = await loop.run_in_executor(pool, _solve, body, level)
        return Response(text, media_type="application/json")

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the processes end with it
    with ProcessPoolExecutor(workers) as pool:
        uvicorn.run(app, port=port, log_level="error", loop="asyncio", http="h11")


def _solve(body: bytes, level: int) -> str:
    import vroom

    document = json.loads(body)
    model = vroom.Input()
    model.set_durations_matrix("car", np.array(document["matrices"]["car"]["durations"], np.uint32))
    for job in document["jobs"]:
        model.add_job(vroom.Job(job["id"], job["location_index"], delivery=job["delivery"]))
    for one in document["vehicles"]:
        model.add_vehicle(
            vroom.Vehicle(one["id"], start=0, end=0, capacity=one["capacity"], profile="car")
        )
    return json.dumps(model.solve(exploration_level=level, nb_threads=1).to_dict())


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:4]))
