"""Conversion of `min`, `max` and sorting by a key, as loops."""

from __future__ import annotations

import ast

from gymcore.jit.conversion.expressions import word_in
from gymcore.jit.conversion.loops import comprehension, free_names
from gymcore.jit.conversion.objects import Objects
from gymcore.jit.conversion.scope import Alias, Stored
from gymcore.jit.conversion.syntax import keywords_of, name_at

__all__ = ["Keys"]

# Their variables have names that those of the original do not keep (`RESERVED`).
_EXTREME = """\
    if len(each_of) == 0:
        {empty}
    each = each_of[0]
    result, result_key = each, {key}
    for each in each_of[1:]:
        each_key = {key}
        if each_key {operator} result_key:
            result, result_key = each, each_key
    return result"""
_SORTED = """\
    result = each_of.copy()
    for count in range(1, len(result)):
        each, place_of_each = result[count], count
        each_key = {key}
        while place_of_each > 0:
            each = result[place_of_each - 1]
            if not {before}:
                break
            result[place_of_each] = each
            place_of_each -= 1
        result[place_of_each] = each_of[count]
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
            empty = "return default_of_each"
        operator = "<" if name == "min" else ">"
        text = self._key_text(key, items)
        body = _EXTREME.format(empty=empty, key=text, operator=operator)
        arguments = {"each_of": self._items_text(items), **self._free(key, body)}
        if default is not None:
            arguments["default_of_each"] = self.flat(default)
        return self.unit.call(f"{name}_by_key", body, **arguments)

    def _sorted(self, node: ast.Call, items: ast.expr, given: dict[str, ast.expr]) -> str:
        """Return the text of the sorted items of a list."""
        key = given.pop("key", None)
        is_reversed = self.known(given.pop("reverse", ast.Constant(False)))
        pool = self.pool_of_items(items)
        if given or is_reversed is None or (key is None and (pool or self.has_rows(items))):
            reason = "has other arguments, a `reverse` that varies, or objects without `key`"
            raise self.obstacle(node, reason, "write it as a loop")
        text = "each" if key is None else self._key_text(key, items)
        operator = ">" if is_reversed.value else "<"
        body = _SORTED.format(key=text, before=f"(each_key {operator} {text})")
        arguments = {"each_of": self._items_text(items)}
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
        """Return the text of the key of `each`."""
        pool = self.pool_of_items(items)
        before = dict(self.bindings)
        for part in ast.walk(key):
            if isinstance(part, ast.NamedExpr) or self.changed_by(part) or self.draws(part):
                raise self.obstacle(key, "is a key with an effect", "write it as a loop")
        name = "each"
        if isinstance(key, ast.Lambda) and len(key.args.args) == 1 and not key.args.defaults:
            name = key.args.args[0].arg
        item = Stored.in_pool(pool, "each") if pool else Alias("each")
        self.bindings[name] = item
        if isinstance(key, ast.Lambda):
            text = self.flat(key.body)
        else:
            call = ast.copy_location(ast.Call(key, [name_at(name, key)], []), key)
            text = self.flat(call)
        self.bindings = before
        if word_in("rng", self.unit.with_helpers(text)):
            raise self.obstacle(key, "is a key that draws", "write it as a loop")
        return text

    def _free(self, key: ast.expr, body: str) -> dict[str, str]:
        """Return the local variables that a key uses."""
        targets = {a.arg for a in key.args.args} if isinstance(key, ast.Lambda) else {"each"}
        names = sorted(n for n in free_names(self, key, targets) if word_in(n, body))
        return dict(zip(names, names, strict=True))
