"""`python -m gymcore`: the same command line as the `gymcore` script."""

from __future__ import annotations

import sys

from gymcore.cli import main

if __name__ == "__main__":
    sys.exit(main())
