"""What the tests of the compiled search share."""

from __future__ import annotations

import sys
from pathlib import Path

# The tests of this folder share modules beside them, which pytest's importlib mode does not find.
sys.path.insert(0, str(Path(__file__).parent))
