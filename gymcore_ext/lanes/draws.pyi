DRAWS: dict[str, int]
