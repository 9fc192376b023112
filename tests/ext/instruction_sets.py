"""Which instruction sets the compiled loops can run with on this machine."""

from __future__ import annotations

import os

from gymcore_ext.engine.lane_memory import ISA_NAMES, choose_isa


def available() -> list[str]:
    """Names for `isa=...`, from the baseline to the best one."""
    chosen = os.environ.pop("GYMCORE_ISA", None)  # a choice of the user, not a limit of the machine
    try:
        return list(ISA_NAMES[: choose_isa() + 1])
    finally:
        if chosen is not None:
            os.environ["GYMCORE_ISA"] = chosen
