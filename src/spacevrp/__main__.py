"""``python -m spacevrp`` is the command ``spacevrp``."""

import sys

from spacevrp.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
