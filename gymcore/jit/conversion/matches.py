"""`match` statements as `if` statements."""

from __future__ import annotations

import ast

__all__ = ["without_matches"]


def without_matches(text: str) -> str:
    """Return source code whose `match` statements are `if` statements, in the same lines.

    Those stay as they are whose subject is not a name or an attribute, or one of whose patterns is
    more than values.
    """
    lines = text.encode().splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Match) and isinstance(node.subject, (ast.Name, ast.Attribute)):
            subject = ast.unparse(node.subject)
            heads: list[tuple[int, ast.expr | ast.pattern, str]] = [
                (node.lineno, node.subject, "if True")
            ]
            for case in node.cases:
                head = _head(subject, case, word="elif" if len(heads) > 1 else "if")
                heads.append((case.pattern.lineno, case.guard or case.pattern, head))
            if all(_ends_head(lines, line, end, head) for line, end, head in heads):
                for line, end, head in heads:
                    raw = lines[line - 1]
                    indent = raw[: len(raw) - len(raw.lstrip())]
                    lines[line - 1] = indent + head.encode() + raw[end.end_col_offset :]
    return b"\n".join(lines).decode()


def _ends_head(lines: list[bytes], line: int, end: ast.expr | ast.pattern, head: str) -> bool:
    """Return whether a colon follows a node that ends in a line."""
    return (
        bool(head)
        and end.end_lineno == line
        and lines[line - 1][end.end_col_offset :].lstrip().startswith(b":")
    )


def _head(subject: str, case: ast.match_case, word: str) -> str:
    """Return the header of a case; empty for a pattern that is more than values."""
    condition = _condition(subject, case.pattern)
    if condition is None:
        return ""
    parts = [condition] * bool(condition) + ([ast.unparse(case.guard)] if case.guard else [])
    if not parts:
        return "else" if word == "elif" else "if True"
    return f"{word} " + (
        parts[0] if len(parts) == 1 else " and ".join(f"({part})" for part in parts)
    )


def _condition(subject: str, pattern: ast.pattern) -> str | None:
    """Return the condition that a subject matches; empty if all do, None if it is not known."""
    if isinstance(pattern, ast.MatchValue):
        return f"{subject} == {ast.unparse(pattern.value)}"
    if isinstance(pattern, ast.MatchSingleton):
        return f"{subject} is {pattern.value}"
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is None:
        return ""
    if not isinstance(pattern, ast.MatchOr):
        return None
    conditions = [_condition(subject, part) for part in pattern.patterns]
    if None in conditions:
        return None
    return "" if "" in conditions else " or ".join(map(str, conditions))
