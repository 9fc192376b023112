"""`gymnasium` for programs that run under `gymcore.alias`."""

from gymcore.alias import install_alias

install_alias("gymnasium", "gymcore", "1.4.0")
