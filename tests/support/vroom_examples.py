"""The three documents of VROOM's API page.

Places with skills, windows, breaks and a shipment; a matrix; vehicles with the steps of a plan.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
DEPOT = EXAMPLES["1"]["vehicles"][0]["start"]
