"""The three documents of VROOM's API page.

Places with skills, windows, breaks and a shipment; a matrix; vehicles with the steps of a plan.
"""

from __future__ import annotations

from typing import Any

DEPOT = [2.35044, 48.71764]
PAUSE = {"service": 300, "time_windows": [[36000, 37800]]}
EXAMPLES: dict[str, dict[str, Any]] = {
    "1": {
        "vehicles": [
            {
                "id": k,
                "start": DEPOT,
                "end": DEPOT,
                "capacity": [4],
                "skills": [k, 14],
                "time_window": [28800, 43200],
                "breaks": [{"id": k, **PAUSE}],
            }
            for k in (1, 2)
        ],
        "jobs": [
            {"id": 1, "service": 300, "delivery": [1], "location": [1.98935, 48.701],
             "skills": [1], "time_windows": [[32400, 36000]]},
            {"id": 2, "service": 300, "delivery": [1], "location": [2.03655, 48.61128],
             "skills": [1]},
            {"id": 5, "service": 300, "delivery": [1], "location": [2.28325, 48.5958],
             "skills": [14]},
            {"id": 6, "service": 300, "delivery": [1], "location": [2.89357, 48.90736],
             "skills": [14]},
        ],
        "shipments": [
            {
                "amount": [1],
                "skills": [2],
                "pickup": {"id": 4, "service": 300, "location": [2.41808, 49.22619]},
                "delivery": {"id": 3, "service": 300, "location": [2.39719, 49.07611]},
            }
        ],
    },
    "2": {
        "vehicles": [{"id": 0, "start_index": 0, "end_index": 3}],
        "jobs": [{"id": 1414, "location_index": 1}, {"id": 1515, "location_index": 2}],
        "matrices": {
            "car": {
                "durations": [
                    [0, 2104, 197, 1299],
                    [2103, 0, 2255, 3152],
                    [197, 2256, 0, 1102],
                    [1299, 3153, 1102, 0],
                ]
            }
        },
    },
    "3": {
        "vehicles": [
            {
                "id": str(k),
                "start": DEPOT,
                "end": DEPOT,
                "capacity": [4],
                "time_window": [1600416000, 1600426800],
                "steps": [{"type": "start"}, *({"type": "job", "id": n} for n in jobs),
                          {"type": "end"}],
            }
            for k, jobs in ((1, "125"), (2, "643"))
        ],
        "jobs": [
            {
                "id": str(k),
                "shipment_id": f"shipment_{k}",
                "delivery": [amount],
                "service": 300,
                "location": place,
                **({"time_windows": [[1600416000, 1600423200]]} if k in (3, 4, 6) else {}),
            }
            for k, amount, place in (
                (1, 2, [1.98935, 48.701]),
                (2, 2, [2.03655, 48.61128]),
                (3, 1, [2.39719, 49.07611]),
                (4, 1, [2.41808, 49.22619]),
                (5, 3, [2.28325, 48.5958]),
                (6, 1, [2.89357, 48.90736]),
            )
        ],
    },
}  # fmt: skip
