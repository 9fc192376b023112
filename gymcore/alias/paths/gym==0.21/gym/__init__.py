"""`gym` for programs that run under `gymcore.alias`."""

from gymcore.alias import stand_for

stand_for("gym", "gymcore.compat.gym21", "0.21.0")
