"""The instruction sets that the compiled loops can use on this machine."""

from __future__ import annotations

import os

from gymcore_ext.engine.kernels import ISA_NAMES, choose_isa


def available() -> list[str]:
    """Return names for `isa=...`, from the baseline to the best one."""
    chosen = os.environ.pop("GYMCORE_ISA", None)  # the user's choice, not a limit of the machine
    try:
        return list(ISA_NAMES[: choose_isa() + 1])
    finally:
        if chosen is not None:
            os.environ["GYMCORE_ISA"] = chosen
