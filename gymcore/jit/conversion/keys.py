"""Conversion of `min`, `max` and sorting by a key, as loops."""

from __future__ import annotations

import ast

from gymcore.jit.conversion.expressions import word_in
from gymcore.jit.conversion.loops import comprehension, free_names
from gymcore.jit.conversion.objects import Objects
from gymcore.jit.conversion.scope import Alias, Stored
from gymcore.jit.conversion.syntax import keywords_of, name_at

__all__ = ["Keys"]

_EXTREME = """\
    if len(items) == 0:
        {empty}
    best = items[0]
    item = best
    best_key = {key}
    for item in items:
        item_key = {key}
        if item_key {operator} best_key:
            best, best_key = item, item_key
    return best"""
_SORTED = """\
    result = items.copy()
    for k in range(1, len(result)):
        item, place = result[k], k
        item_key = {key}
        while place > 0:
            item = result[place - 1]
            if not {before}:
                break
            result[place] = item
            place -= 1
        result[place] = items[k]
    return result"""


class Keys(Objects):
    """`min`, `max`, `sorted` and `sort` with `key` or `reverse`."""

    def _call(self, node: ast.Call) -> str | None:
        called, given = self.called(node), keywords_of(node)
        if called in (min, max) and "key" in given and len(node.args) == 1:
            return self._extreme_by_key(node, given)
        if called is sorted and (given or self.pool_of_items(node.args[0]) is not None):
            return self._sorted(node, node.args[0], given)
        return super()._call(node)

    def _method(self, node: ast.Call, method: ast.Attribute) -> str | None:
        growing = self.growing(method.value) if method.attr == "sort" else None
        if growing is None or not (node.keywords or growing.item in self.unit.pools):
            return super()._method(node, method)
        values = self._sorted(node, method.value, keywords_of(node))
        arguments = {"items": growing.items, "count": growing.length, "values": values}
        return self.unit.call(*self.assignment_of(growing), **arguments)

    def _extreme_by_key(self, node: ast.Call, given: dict[str, ast.expr]) -> str:
        """Return the text of `min` or `max` with `key`."""
        items, default = node.args[0], given.pop("default", None)
        name, key = ast.unparse(node.func), given.pop("key")
        if given:
            raise self.obstacle(node, "has other arguments", "write it as a loop")
        empty = f'raise ValueError("{name}() arg is an empty sequence")'
        if default is not None:
            empty = "return default"
        operator = "<" if name == "min" else ">"
        text = self._key_text(key, items)
        body = _EXTREME.format(empty=empty, key=text, operator=operator)
        arguments = {"items": self._items_text(items), **self._free(key, body)}
        if default is not None:
            arguments["default"] = self.flat(default)
        result = self.unit.call(f"{name}_by_key", body, **arguments)
        pool = self.pool_of_items(items)
        return self.tuple_at(pool, result) if pool and pool.kind is tuple else result

    def _sorted(self, node: ast.Call, items: ast.expr, given: dict[str, ast.expr]) -> str:
        """Return the text of the sorted items of a list."""
        key = given.pop("key", None)
        is_reversed = self.known(given.pop("reverse", ast.Constant(False)))
        pool = self.pool_of_items(items)
        if given or is_reversed is None or (key is None and (pool or self.has_rows(items))):
            reason = "has other arguments, a `reverse` that varies, or objects without `key`"
            raise self.obstacle(node, reason, "write it as a loop")
        text = "item" if key is None else self._key_text(key, items)
        operator = ">" if is_reversed.value else "<"
        body = _SORTED.format(key=text, before=f"(item_key {operator} {text})")
        arguments = {"items": self._items_text(items)}
        arguments |= self._free(key, body) if key is not None else {}
        return self.unit.call("sorted_by_key", body, **arguments)

    def _items_text(self, items: ast.expr) -> str:
        if isinstance(items, (ast.GeneratorExp, ast.ListComp)):
            return comprehension(self, items, "list")
        pool = self.pool_of_items(items)
        if pool is not None and pool.kind is tuple:
            return self.rows_text(items)
        texts = self.elements(items)
        is_display = isinstance(items, (ast.List, ast.Tuple))
        return f"np.array([{', '.join(texts)}])" if texts and is_display else self.flat(items)

    def _key_text(self, key: ast.expr, items: ast.expr) -> str:
        """Return the text of the key of `item`."""
        pool = self.pool_of_items(items)
        before = dict(self.bindings)
        for part in ast.walk(key):
            if isinstance(part, ast.NamedExpr) or self.changed_by(part) or self.draws(part):
                raise self.obstacle(key, "is a key with an effect", "write it as a loop")
        name = "item"
        if isinstance(key, ast.Lambda) and len(key.args.args) == 1 and not key.args.defaults:
            name = key.args.args[0].arg
        item = Stored.in_pool(pool, "item") if pool else Alias("item")
        self.bindings[name] = item
        if isinstance(key, ast.Lambda):
            text = self.flat(key.body)
        else:
            call = ast.copy_location(ast.Call(key, [name_at(name, key)], []), key)
            text = self.flat(call)
        self.bindings = before
        return text

    def _free(self, key: ast.expr, body: str) -> dict[str, str]:
        """Return the local variables that a key uses."""
        targets = {a.arg for a in key.args.args} if isinstance(key, ast.Lambda) else {"item"}
        names = sorted(n for n in free_names(self, key, targets) if word_in(n, body))
        return dict(zip(names, names, strict=True))
