"""`gymnasium` for programs that run under `gymcore.alias`."""

from gymcore.alias import stand_for

stand_for("gymnasium", "gymcore.compat.gymnasium029", "0.29.1")
