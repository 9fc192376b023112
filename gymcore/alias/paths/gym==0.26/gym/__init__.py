"""`gym` for programs that run under `gymcore.alias`."""

from gym.version import VERSION
from gymcore.alias import stand_for

stand_for("gym", "gymcore.compat.gym26", VERSION)
