"""Files that tests of the readers write."""

from __future__ import annotations

import json
from pathlib import Path


def save(folder: Path, content: object, name: str = "") -> Path:
    """A file with a text, or with anything else as JSON."""
    is_text = isinstance(content, str)
    path = folder / (name or ("case.vrp" if is_text else "case.json"))
    path.write_text(content if is_text else json.dumps(content), encoding="utf-8")
    return path
