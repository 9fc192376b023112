"""Conversion of loops: of `for` statements, and of comprehensions, which become functions."""

from __future__ import annotations

import ast
import enum
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from gymcore.jit.conversion.expressions import Expressions, tuple_of, word_in
from gymcore.jit.conversion.pools import Pool
from gymcore.jit.conversion.scope import Alias, Binding, Known, Stored
from gymcore.jit.conversion.syntax import called_name, name_at, names_in, parsed
from gymcore.jit.conversion.tables import Table
from gymcore.jit.conversion.unit import local_name

__all__ = [
    "ADDS_ERRORS",
    "comprehension",
    "free_names",
    "header",
    "known_rounds",
    "rounds",
    "rounds_of_objects",
    "unrolled",
]

ADDS_ERRORS = sys.version_info >= (3, 12)
"""Whether `sum` adds the rounding errors of a sum of Python's floats to it (Neumaier).

It does not add those of a sum of NumPy's numbers, which are Python's floats in converted code.
"""
_ADD_FLOAT = """\
    total = result + value
    if abs(result) >= abs(value):
        return total, errors + (result - total + value)
    return total, errors + (value - total + result)"""
_COMPREHENSION = "is a comprehension of this kind", "write it as loops"


def rounds(
    function: Expressions, target: ast.expr, items: ast.expr
) -> list[dict[str, Binding]] | None:
    """Return what the names stand for in each round of a loop that is written round by round.

    These are loops over texts, such as keys, and over objects in the state; None for others.
    """
    called = called_name(items)
    if isinstance(items, ast.Call) and called in ("enumerate", "zip"):
        return _parallel_rounds(function, target, items, called == "enumerate")
    method = items.func if isinstance(items, ast.Call) else None
    if isinstance(method, ast.Attribute) and method.attr in ("items", "values"):
        owner = function.stored(method.value)
        keys: list[Any] = [*(owner.layout.keys or owner.layout.items or ())] if owner else []
        values = [_item_at(function, method.value, key) for key in keys]
        names = [*map(ast.unparse, getattr(target, "elts", [target]))]
        if keys and method.attr == "values":
            return [{names[0]: value} for value in values]
        if keys and len(names) == 2:
            pairs = zip(map(Known, keys), values, strict=True)
            return [dict(zip(names, pair, strict=True)) for pair in pairs]
    stored = function.stored(items)
    nodes = items.elts if isinstance(items, (ast.Tuple, ast.List)) else []
    if stored is not None and stored.layout.keys:
        return [{ast.unparse(target): Known(key)} for key in stored.layout.keys]
    size = len(stored.layout.items or ()) if stored is not None else 0
    if size:
        nodes = [parsed(f"{ast.unparse(items)}[{k}]") for k in range(size)]
    records = [record for record in map(function.embedded, nodes) if record is not None]
    if records and len(records) == len(nodes) and isinstance(target, ast.Name):
        return [{target.id: record} for record in records]
    known = function.known(items)
    values = [*known.value] if known and isinstance(known.value, Iterable) else []
    parts = (part for v in values for part in (v if isinstance(v, tuple) else [v]))
    if not any(isinstance(part, str) for part in parts):
        return None
    return [dict(_matched(target, value)) for value in values]


def _item_at(function: Expressions, owner: ast.expr, key: object) -> Binding:
    """Return what a name for the item of a dict in the state stands for."""
    if not isinstance(key, (int, float, str)) or isinstance(key, enum.Enum):
        raise function.obstacle(owner, f"has the key {key}", "use texts or numbers as keys")
    item = parsed(f"{ast.unparse(owner)}[{key!r}]")
    return function.growing(item) or function.embedded(item) or Alias(function.text(item))


def rounds_of_objects(
    function: Expressions, target: ast.expr, items: ast.expr
) -> list[dict[str, Binding]] | None:
    """Return the rounds of a loop over a list of objects that always has as many; or None."""
    pool, name = function.pool_of_items(items), getattr(items, "attr", "")
    samples = function.unit.trace.samples.get(name, ())
    lengths = {len(value) for value in samples if isinstance(value, list)}
    if pool is None or len(lengths) != 1 or name in function.unit.resized:
        return None
    rows = (f"state.{name}[{k}]" for k in range(lengths.pop()))
    return [{ast.unparse(target): Stored.in_pool(pool, row)} for row in rows]


def _parallel_rounds(
    function: Expressions, target: ast.expr, call: ast.Call, counts: bool
) -> list[dict[str, Binding]] | None:
    """Return the rounds of a loop over `zip(...)`, or over `enumerate(...)`."""
    parts = [ast.Constant(None), *call.args] if counts else call.args
    targets = target.elts if isinstance(target, ast.Tuple) else []
    columns = [rounds(function, *pair) for pair in zip(targets, parts, strict=False)]
    lengths = [len(column) for column in columns if column]
    for items in (items for items, column in zip(parts, columns, strict=False) if not column):
        kind = function.kind(items) if not counts else None
        if not counts and (kind is None or not kind.shape or function.growing(items) is not None):
            return None
        lengths += kind.shape[:1] if kind is not None and kind.shape and lengths else ()
    if len(targets) != len(parts) or not lengths:
        return None
    result: list[dict[str, Binding]] = [{} for _ in range(min(lengths))]
    for name, items, column in zip(targets, parts, columns, strict=True):
        for k, names in enumerate(result):
            if column:
                names |= column[k]
            else:
                text = f"{function.enclosed(items)}[{k}]" if not counts else ""
                names[ast.unparse(name)] = Known(k) if counts else Alias(text)
    return result


def unrolled(
    function: Expressions,
    node: ast.AST,
    items: list[dict[str, Binding]],
    convert: Callable[[int], str],
) -> list[str]:
    """Return the results of a function for each round, in which names stand for its values.

    Args:
        function: The function of the original.
        node: What is written round by round.
        items: What the names stand for in each round.
        convert: The function of the number of the round.
    """
    before, around = dict(function.bindings), function.round
    texts = []
    for k, names in enumerate(items):
        function.bindings |= names
        function.round = *around, (node, k)
        texts.append(convert(k))
    function.bindings, function.round = before, around
    return texts


def known_rounds(function: Expressions, node: ast.expr) -> list[dict[str, Binding]] | None:
    """Return the rounds of a comprehension over known values; None for other expressions.

    Attributes that their number depends on are constants from now on.
    """
    if not isinstance(node, ast.ListComp):
        return None
    part = node.generators[0]
    function.unit.fix(part.iter)
    is_counted = called_name(part.iter) == "enumerate" and isinstance(part.iter, ast.Call)
    items = part.iter.args[0] if is_counted and isinstance(part.iter, ast.Call) else part.iter
    known = function.known(items)
    if known is None or len(node.generators) > 1 or part.ifs:
        return None
    values = enumerate(known.value) if is_counted else known.value
    return [dict(_matched(part.target, value)) for value in values]


def _over_objects(
    function: Expressions, node: ast.ListComp | ast.GeneratorExp, name: str
) -> str | None:
    """Return the text of a comprehension over objects in the state; None for others."""
    part = node.generators[0]
    items = rounds(function, part.target, part.iter) or []
    if not items and name == "list" and np.ndarray in function.types(node.elt):
        items = rounds_of_objects(function, part.target, part.iter) or []
    are_objects = any(isinstance(value, Stored) for names in items for value in names.values())
    if not are_objects or len(node.generators) > 1 or part.ifs:
        return None
    texts = unrolled(function, node, items, lambda _: function.flat(node.elt))
    if name in ("any", "all"):
        return f"({(' or ' if name == 'any' else ' and ').join(texts)})"
    return f"sum({tuple_of(texts)})" if name == "sum" else f"np.array([{', '.join(texts)}])"


def _matched(target: ast.expr, value: Any) -> Iterator[tuple[str, Known]]:
    """Yield the names of a target with the values that it gives them."""
    if isinstance(target, ast.Tuple):
        for part, item in zip(target.elts, value, strict=True):
            yield from _matched(part, item)
    else:
        yield ast.unparse(target), Known(value)


def header(function: Expressions, target: ast.expr, items: ast.expr) -> tuple[str, list[str]]:
    """Return the header of a loop, and the statements that its body begins with."""
    counter = ""
    inner = items.args[0] if isinstance(items, ast.Call) and items.args else items
    is_counted = called_name(items) == "enumerate" and isinstance(target, ast.Tuple)
    is_counted &= isinstance(items, ast.Call) and len(items.args) == 1 and not items.keywords
    if (line := _over_rows(function, target, items, is_counted)) is not None:
        return line
    lists = function.stored(inner if is_counted else items)
    if lists is not None and lists.layout.lists:
        names = target.elts if is_counted and isinstance(target, ast.Tuple) else [target]
        name = ast.unparse(names[-1])
        index = function.hidden(f"{name}_index")
        counter = index if names == [target] else function.text(names[0])
        function.bindings |= {counter: Alias(counter), name: lists.list_at(counter)}
        return f"for {counter} in range({lists.layout.lists}):", []
    if is_counted and isinstance(target, ast.Tuple) and function.table(inner) is not None:
        counter, target, items = function.text(target.elts[0]), target.elts[1], inner
    table = function.table(items)
    if table is None or (table.is_row() and not counter):
        texts = function.elements(items) if table is None else None
        text = tuple_of(texts) if texts else function.text(items) + _copy(function, items)
        growing, row = function.growing(items), function.hidden("row", target)
        if growing is not None and growing.item is tuple and isinstance(target, ast.Name):
            numbers = tuple_of([f"{row}[{k}]" for k in range(growing.width)])
            return f"for {row} in {text}:", [f"{function.text(target)} = {numbers}"]
        if isinstance(target, ast.Tuple) and not texts and function.has_rows(items):
            numbers = ", ".join(f"{row}[{k}]" for k in range(len(target.elts)))
            return f"for {row} in {text}:", [f"{function.joined(target.elts)} = {numbers}"]
        return f"for {function.text(target)} in {text}:", []
    title = target.id if isinstance(target, ast.Name) else "item"
    counter = counter or function.hidden(f"{title}_index")
    function.bindings[counter] = Alias(counter)
    part = table.at(name_at(counter, items))
    if part is None:
        change = "use a list"
        raise function.obstacle(items, "iterates over keys that are not 0, 1, ...", change)
    lengths = table.lengths()
    length = str(lengths.flat[0])
    if (lengths != lengths.flat[0]).any():
        name = function.unit.constant(lengths, f"{table.name}_length")
        length = f"{name}[{function.joined(table.indices)}]"
    first = []
    if isinstance(target, ast.Name) and part.array() is None:
        function.bindings[target.id] = part
    else:
        value = function.table_text(part, items)
        first = [f"{function.text(target)} = {value}"]
    return f"for {counter} in range({length}):", first


def _copy(function: Expressions, items: ast.expr) -> str:
    """Return ".copy()" for a part of a list that grows, which the loop may change."""
    is_slice = isinstance(items, ast.Subscript) and isinstance(items.slice, ast.Slice)
    owner = items.value if isinstance(items, ast.Subscript) and is_slice else None
    is_part = owner is not None and function.growing(owner) is not None
    name = ast.unparse(owner).rpartition(".")[2] if owner is not None else ""
    return ".copy()" * (is_part and name in function.unit.resized)


def _over_rows(
    function: Expressions, target: ast.expr, items: ast.expr, is_counted: bool
) -> tuple[str, list[str]] | None:
    """Return the header of a loop over tuples in rows of a pool, as `header` does, or None."""
    counter = ""
    if is_counted and isinstance(target, ast.Tuple) and isinstance(items, ast.Call):
        counter, target, items = function.text(target.elts[0]), target.elts[1], items.args[0]
    pool = function.pool_of_items(items)
    if pool is None or not issubclass(pool.kind, tuple):
        return None
    if pool.kind is not tuple and isinstance(target, ast.Name):
        return None
    text = function.rows_text(items) + _copy(function, items)
    row = function.hidden(f"{pool.name}_row", target)
    stored = Stored.in_pool(pool, row)
    texts = [stored.field(field.name) for field in pool.layout.parts(pool.name)]
    value = tuple_of(texts) if isinstance(target, ast.Name) else ", ".join(texts)
    first = f"{function.text(target)} = {value}"
    if counter:
        return f"for {counter}, {row} in enumerate({text}):", [first]
    return f"for {row} in {text}:", [first]


def comprehension(
    function: Expressions,
    node: ast.ListComp | ast.GeneratorExp,
    name: str,
    pool: Pool | None = None,
) -> str:
    """Return the call of a helper that runs the loops of a comprehension.

    Args:
        function: The function with the comprehension.
        node: The comprehension.
        name: The function of its items: "any", "all", "sum", "list" or "tuple".
        pool: Where the tuples that are items are stored, which become rows.
    """
    _check_lists(function, node)
    if (text := _over_objects(function, node, name)) is not None:
        return text
    width = _width(function, node.elt) if name == "list" and pool is None else 0
    is_zip = any("zip(" in ast.unparse(part.iter) for part in node.generators)
    if name not in ("any", "all", "sum", "list", "tuple") or width is None or is_zip:
        raise function.obstacle(node, *_COMPREHENSION)
    bindings, head, lengths, margin = dict(function.bindings), list[str](), list[str](), ""
    for part in node.generators:
        line, first = header(function, part.target, part.iter)
        items = re.fullmatch(r"for .*? in (?:range\(([^,]*)\)|(.*)):", line)
        counted = items and re.fullmatch(r"enumerate\((.*)\)", items[2] or "")
        text = counted[1] if counted else items[2] if items else ""
        lengths.append(((items and items[1]) or f"len({text})") if items else "0")
        head += [margin + line, *(f"{margin}    {line}" for line in first)]
        margin += "    "
        for condition in part.ifs:
            head.append(f"{margin}if {function.condition(condition)}:")
            margin += "    "
    elements = getattr(node.elt, "elts", [])
    if pool is not None:
        element = function.row_of(node.elt, pool)
    else:
        element = function.joined(elements) if elements else function.enclosed(node.elt)
    are_rows = pool is not None or function.pool_of(node.elt) is not None
    function.bindings = bindings
    if name in ("any", "all"):
        test = element if name == "any" else f"not {element}"
        before, last = list[str](), [f"return {name == 'all'}"]
        inner = [f"if {test}:", f"    return {name == 'any'}"]
    elif name == "sum":
        before, inner, last = _sum(function, element, function.types(node.elt))
    else:
        shape = " * ".join(lengths)
        dtype = "np.int64" if are_rows else _dtype_of(function, node.elt)
        shape = f"({shape}, {width})" if width else shape
        before = [f"result = np.empty({shape}, {dtype})", "count = 0"]
        inner = [f"result[count] = {element}", "count += 1"]
        last = ["return result[:count]"]
    lines = [*before, *head, *(margin + line for line in inner), *last]
    body = "\n".join(f"    {line}" for line in lines)
    targets = {n.id for n in names_in(*(part.target for part in node.generators))}
    names = sorted(n for n in free_names(function, node, targets) if word_in(n, body))
    title = f"{name}_of_{'_'.join(sorted(targets))}".replace("list_of", "values_of")
    return function.unit.call(title, body, **dict(zip(names, names, strict=True)))


def _check_lists(function: Expressions, node: ast.ListComp | ast.GeneratorExp) -> None:
    """Refuse a comprehension over a list that its other parts may change."""
    parts = [node.elt, *(test for part in node.generators for test in part.ifs)]
    parts += [part.iter for part in node.generators[1:]]
    changed = set().union(*(function.changed_by(n) for part in parts for n in ast.walk(part)))
    for items in (part.iter for part in node.generators):
        growing = function.growing(items)
        name = growing.items.rpartition(".")[2] if growing is not None else ""
        if name in changed or getattr(items, "attr", "") in changed:
            raise function.obstacle(items, "changes while the loop runs", "write it as loops")


def free_names(function: Expressions, node: ast.AST, targets: set[str]) -> set[str]:
    """Return the names of the function that an expression may use."""
    used = {n.id for n in names_in(node)}
    tables = [b for n in used if isinstance(b := function.bindings.get(n), Table)]
    lists = [growing for part in names_in(node) if (growing := function.growing(part))]
    texts = [b for n in used if isinstance(b := function.bindings.get(n), list)]
    rows = [b.place for n in used if isinstance(b := function.bindings.get(n), Stored) and b.place]
    return {
        *(text for items in texts for text in items if text.isidentifier()),
        *(n.id for row in rows for n in names_in(parsed(row)) if n.id != "state"),
        *map(local_name, (used - targets) & function.source.names),
        *(growing.length for growing in lists if "." not in growing.length),
        *(n.id for growing in lists for n in names_in(parsed(growing.items)) if n.id != "state"),
        *(local_name(n.id) for table in tables for n in names_in(*table.indices)),
    }


def _sum(
    function: Expressions, value: str, types: set[type]
) -> tuple[list[str], list[str], list[str]]:
    """Return the lines before a loop that adds values of some types, in it, and after it."""
    if not (ADDS_ERRORS and float in types):
        return ["result = 0"], [f"result += {value}"], ["return result"]
    arguments = {"result": "result", "errors": "errors", "value": f"float({value})"}
    inner = function.unit.call("add_float", _ADD_FLOAT, **arguments)
    last = "return result + errors if np.isfinite(errors) else result"
    return ["result, errors = 0.0, 0.0"], [f"result, errors = {inner}"], [last]


def _width(function: Expressions, node: ast.expr) -> int | None:
    """Return the number of items of an element, 0 for a number; None if it is neither."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return len(node.elts)
    kind = function.kind(node)
    if kind is not None and kind.type is np.ndarray and kind.shape and len(kind.shape) == 1:
        return kind.shape[0]
    if (
        kind is not None
        and kind.type is tuple
        and kind.item is not None
        and kind.item.shape is None
    ):
        return kind.shape[0] if kind.shape else None
    return None if function.types(node) & {tuple, list, np.ndarray} else 0


def _dtype_of(function: Expressions, node: ast.expr) -> str:
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    types = set().union(*map(function.types, parts))
    if types == {np.ndarray}:
        (types,) = [function.item_types(node)]
    if not types:
        return "np.int64" if isinstance(node, ast.Name) else "np.float64"
    if types <= {bool, np.bool_}:
        return "np.bool_"
    return "np.int64" if all(issubclass(t, (int, np.integer)) for t in types) else "np.float64"
