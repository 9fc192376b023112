"""`gym` for programs that run under `gymcore.alias`."""

from gym.version import VERSION
from gymcore.alias import install_alias

install_alias("gym", "gymcore.compat.gym21", VERSION)
