"""`gymnasium` for programs that run under `gymcore.alias`."""

from gymcore.alias import install_alias

install_alias("gymnasium", "gymcore.compat.gymnasium029", "0.29.1")
