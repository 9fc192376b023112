RULES: dict[str, object]
