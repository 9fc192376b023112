START_LANE: int
ALLOCATE: int

def use_other(address: int) -> None: ...
