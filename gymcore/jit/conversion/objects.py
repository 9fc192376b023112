"""Conversion of objects: rows of pools, fields of the state, and tuples that stand for them."""

from __future__ import annotations

import ast
import inspect
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from gymcore.jit.conversion.calls import Calls
from gymcore.jit.conversion.copies import whole
from gymcore.jit.conversion.expressions import tuple_of
from gymcore.jit.conversion.layouts import NUMBERS, Layout, code_of
from gymcore.jit.conversion.loops import known_rounds, unrolled
from gymcore.jit.conversion.obstacles import ObstacleFound
from gymcore.jit.conversion.pools import Pool
from gymcore.jit.conversion.scope import Alias, Local, Stored
from gymcore.jit.conversion.source import (
    MUTATING,
    Source,
    bound_method,
    changed_attributes,
    constructor_of,
    has_convertible_init,
    is_convertible,
    method_of,
    reached,
)
from gymcore.jit.conversion.stores import check_given, check_number
from gymcore.jit.conversion.syntax import called_name, keywords_of, name_at, names_in

__all__ = ["Objects"]

_ROW_FOR = """\
    for row in range(len(state.{used})):
        if not state.{used}[row]:
            state.{used}[row] = True
            return row
    raise IndexError("there are more objects than the conversion has room for")"""
_OPERATORS = {
    **{ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__"},
    **{ast.FloorDiv: "__floordiv__", ast.Mod: "__mod__", ast.Pow: "__pow__"},
    **{ast.MatMult: "__matmul__", ast.BitAnd: "__and__", ast.BitOr: "__or__"},
}
_COMPARISONS = {ast.Lt: "__lt__", ast.LtE: "__le__", ast.Gt: "__gt__", ast.GtE: "__ge__"}
_AS_A_VALUE = "is an object that is used as a value", "use its attributes"


class Objects(Calls):
    """Objects and named tuples in the state."""

    # --- rows of pools ---------------------------------------------------------------------------

    def _new(self, node: ast.Call, pool: Pool) -> str:
        """Return the call of a function that creates an object in a pool."""
        row = self._row_for(pool)
        this = Stored.in_pool(pool, row)
        role = f"new_{pool.name}"
        if has_convertible_init(pool.kind):
            init = bound_method(method_of(pool.kind, "__init__"), this)
            self._check_arguments(node, pool, self.unit.source_of(init))
            return self.converted_call(node, init, role)
        source = constructor_of(pool.kind)
        if source is None:
            reason = "has a constructor without source"
            raise self.obstacle(node, reason, "write `__init__`")
        self._check_arguments(node, pool, source)
        return self.converted_call(node, bound_method(source.function, this), role, source)

    def _row_for(self, pool: Pool) -> str:
        """Return the call of a function that takes a row of a pool that is free."""
        return self.unit.call(f"row_for_{pool.name}", _ROW_FOR.format(used=pool.used))

    def _check_arguments(self, node: ast.Call, pool: Pool, source: Source) -> None:
        """Refuse arrays that an object would share with a name, or with other objects."""
        given = [*node.args, *keywords_of(node).values()]
        for part in given:
            check_given(self, pool.layout, part)
        arrays = [name for name, v in source.defaults.items() if isinstance(v, np.ndarray)]
        if arrays and len(given) < len(source.arguments) - 1:
            reason = f"has an array as the default of `{arrays[0]}`, which objects would share"
            raise self.obstacle(node, reason, "pass an array")

    def row_of(self, node: ast.expr, pool: Pool) -> str:
        """Return the text of the row of a tuple in a pool."""
        if self._is_row_of_tuples(node) and self.pool_of(node) is pool:
            return self.row_text(node)
        fields, parts = pool.layout.parts(pool.name), [*(pool.layout.items or {}).values()]
        elements = node.elts if isinstance(node, ast.Tuple) else []
        texts = self.elements(node)
        if texts is None and not isinstance(node, ast.Call):
            texts = [f"{self.enclosed(node)}[{k}]" for k in range(len(fields))]
        is_plain = len(fields) == len(parts) and not any(part.optional for part in parts)
        if texts is None or len(texts) != len(fields) or not is_plain:
            change = "write a tuple with the same number of items"
            raise self.obstacle(node, "is not written item by item", change)
        for part, item in zip(parts, elements, strict=False):
            check_number(self, part, item)
        row = self._row_for(pool)
        names = [f"item_{k}" for k in range(len(fields))]
        lines = [f"    row = {row}"]
        for field, name in zip(fields, names, strict=True):
            lines.append(f"    state.{field.name}[row]{whole(field.shape)} = {name}")
        body = "\n".join([*lines, "    return row"])
        arguments = dict(zip(names, texts, strict=True))
        return self.unit.call(f"new_{pool.name}", body, **arguments)

    def equal_item(self, pool: Pool, row: str, node: ast.expr) -> tuple[str, str]:
        """Return the text of a comparison of a row of a pool with `value`, and that of the value.

        Args:
            pool: The pool.
            row: The text of the row.
            node: An object of the pool, or a tuple.
        """
        if self.pool_of(node) is pool and pool.kind is not tuple:
            return self.equal_rows(pool, row, "value", node), self.row_text(node)
        elements = self.elements(node)
        if elements is None or not issubclass(pool.kind, tuple):
            reason = f"is not known to be an object of {pool.kind.__name__}"
            raise self.obstacle(node, reason, "compare attributes")
        return self._equal_tuple(pool, row, "value", len(elements), node), tuple_of(elements)

    def _equal_tuple(self, pool: Pool, row: str, value: str, size: int, node: ast.expr) -> str:
        """Return the text of a comparison of a row of a pool with a tuple."""
        fields, parts = pool.layout.parts(pool.name), [*(pool.layout.items or {}).values()]
        if len(fields) != size:
            return "False"
        if any(part.shape or part.optional or part.items for part in parts):
            raise self.obstacle(node, "compares tuples", "compare their items")
        stored = Stored.in_pool(pool, "row")
        pairs = [f"{stored.field(f.name)} == value[{k}]" for k, f in enumerate(fields)]
        body = f"    return {' and '.join(pairs)}"
        return self.unit.call(f"is_{pool.name}", body, row=row, value=value)

    def equal_rows(self, pool: Pool, row: str, value: str, node: ast.expr) -> str:
        """Return the text of a comparison of two objects in a pool."""
        defined, fields = method_of(pool.kind, "__eq__"), pool.layout.parts(pool.name)
        if defined is method_of(object, "__eq__"):
            return f"{row} == {value}"
        left = Stored.in_pool(pool, row)
        right = left._replace(place=value)
        if isinstance(defined, FunctionType) and is_convertible(defined):
            before = dict(self.bindings)
            self.bindings["other_object"] = right
            call = ast.Call(ast.Name("__eq__", ast.Load()), [name_at("other_object", node)], [])
            text = self.converted_call(ast.copy_location(call, node), MethodType(defined, left))
            self.bindings = before
            return text
        names = {
            f.name for f in getattr(pool.kind, "__dataclass_fields__", {}).values() if f.compare
        }
        names = names or {*(pool.layout.items or {})}
        parts = {name: part for name, part in (pool.layout.items or {}).items() if name in names}
        if names != parts.keys() or any(p.shape or p.optional or p.items for p in parts.values()):
            raise self.obstacle(node, "compares objects", "compare their attributes")
        left, right = left._replace(place="row"), right._replace(place="value")
        pairs = []
        for name in (field.name for field in fields):
            if name.removeprefix(f"{pool.name}_") in names:
                pairs.append(f"{left.field(name)} == {right.field(name)}")
        body = f"    return {' and '.join(pairs)}"
        return self.unit.call(f"same_{pool.name}", body, row=row, value=value)

    # --- special methods -------------------------------------------------------------------------

    def _special(self, node: ast.expr, name: str) -> MethodType | None:
        """Return a special method of the object that an expression is, if its class defines it."""
        record = self.record(node) if name else None
        defined = method_of(record.layout.kind, name) if record is not None else None
        is_method = isinstance(defined, FunctionType) and is_convertible(defined)
        return bound_method(defined, record) if is_method else None

    def _operation(self, node: ast.expr, parts: list[ast.expr], name: str) -> str | None:
        """Return the call of the special method of an operator; None if there are no objects."""
        method = self._special(parts[0], name)
        if method is not None:
            call = ast.copy_location(ast.Call(parts[0], parts[1:], []), node)
            return self.converted_call(call, method)
        for part in parts:
            if self.pool_of(part) is not None or self.embedded(part) is not None:
                raise self.obstacle(part, *_AS_A_VALUE)
        return None

    def _binop(self, node: ast.BinOp) -> str | None:
        name = _OPERATORS.get(type(node.op), "")
        text = self._operation(node, [node.left, node.right], name)
        return super()._binop(node) if text is None else text

    def _compare(self, node: ast.Compare) -> str | None:
        operation, right = node.ops[0], node.comparators[0]
        name = _COMPARISONS.get(type(operation))
        if name is not None:
            text = self._operation(node, [node.left, *node.comparators], name)
            return super()._compare(node) if text is None else text
        records = self.record(node.left), self.record(right)
        if isinstance(operation, (ast.In, ast.NotIn)) or None in records or len(node.ops) > 1:
            return super()._compare(node)
        left_pool, pool = self.pool_of(node.left), self.pool_of(right)
        is_negated = isinstance(operation, (ast.IsNot, ast.NotEq))
        if pool is None or left_pool is not pool:
            return self._compared_fields(node, is_negated)
        rows = self.row_text(node.left), self.row_text(right)
        is_identity = isinstance(operation, (ast.Is, ast.IsNot))
        test = f"{rows[0]} == {rows[1]}" if is_identity else self.equal_rows(pool, *rows, node)
        flags = [flag for flag in map(self.flag_of, (node.left, right)) if flag]
        if len(flags) == 1:
            test = f"{flags[0]} and {test}"
        elif flags:
            test = f"{flags[0]} == {flags[1]} and (not {flags[0]} or {test})"
        return f"(not ({test}))" if is_negated else f"({test})"

    def _compared_fields(self, node: ast.Compare, is_negated: bool) -> str:
        """Return the result of a comparison of objects whose attributes are fields of the state."""
        parts = node.left, node.comparators[0]
        records = [self.embedded(part) for part in parts]
        kinds = {record.layout.kind for record in records if record is not None}
        is_plain = isinstance(node.ops[0], (ast.Is, ast.IsNot)) or all(
            method_of(kind, "__eq__") is method_of(object, "__eq__") for kind in kinds
        )
        if None in records or not is_plain:
            raise self.obstacle(node, "compares objects", "compare attributes")
        return str((records[0] == records[1]) != is_negated)

    def condition(self, node: ast.expr) -> str:
        """Return the text of a condition, in which an object may have a method for its truth."""
        record = self.record(node)
        for name in ("__bool__", "__len__") if record is not None else ():
            method = self._special(node, name)
            if method is not None:
                call = ast.copy_location(ast.Call(node, [], []), node)
                test = f"({self.converted_call(call, method)} != 0)"
                return f"({self.flag_of(node)} and {test})" if self.flag_of(node) else test
        is_part = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
        if record is None or self.flag_of(node):
            return super().condition(node)
        return "True" if is_part else f"({self.text(node)} is not None)"

    # --- objects whose attributes are fields, and tuples that stand for them ---------------------

    def record_items(self, value: ast.expr, layout: Layout) -> list[str] | None:
        """Return the texts of the fields of an object, tuple or dict that an expression makes."""
        names: list[Any] = [*(layout.keys or layout.items or ())]
        known = self.known(value.func) if isinstance(value, ast.Call) else None
        if called_name(value) == "dict.fromkeys" and isinstance(value, ast.Call):
            keys = self.known(value.args[0])
            number = self.known(value.args[1]) if len(value.args) == 2 else None
            if number is None or keys is None or [*keys.value] != names:
                raise self.obstacle(value, "has keys or a value that vary", "write a display")
            return [self.value_text(number.value, value)] * len(names)
        if called_name(value) == "dict" and isinstance(value, ast.Call) and not value.args:
            value = _display(value)
        if isinstance(value, ast.Call) and known is not None and known.value is layout.kind:
            args = [*self.unpacked(value.args)]
            given = dict(zip(names, args, strict=False)) | keywords_of(value)
            missing = (name for name in names if name not in given)
            parameters = inspect.signature(layout.kind).parameters
            is_plain = not hasattr(layout.kind, "__post_init__") and not is_convertible(
                method_of(layout.kind, "__new__")
            )
            defaults = [parameters[name].default for name in names if name not in given]
            has_all = all(_is_plain_default(default) for default in defaults)
            for name, item in given.items():
                part = (layout.items or {}).get(name)
                if part is not None:
                    check_number(self, part, item)
            if not (is_plain and has_all and {*given} <= {*names}) or len(args) > len(names):
                reason = "has arguments, defaults or `__post_init__` that are not plain values"
                raise self.obstacle(value, reason, "pass every field")
            texts = {name: self.value_text(parameters[name].default, value) for name in missing}
            self.check_order(value, names, given)
            return [texts[n] if n in texts else self.flat(given[n]) for n in names]
        replaces = isinstance(value, ast.Call) and called_name(value).endswith("._replace")
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and replaces:
            given, texts_before = keywords_of(value), self.elements(value.func.value) or []
            before = dict(zip(names, texts_before, strict=True))
            return [self.flat(given[n]) if n in given else before[n] for n in names]
        if isinstance(value, ast.DictComp):
            items = known_rounds(self, ast.ListComp(value.value, value.generators)) or []
            return unrolled(self, value, items, lambda _: self.flat(value.value))
        if isinstance(value, ast.Dict):
            key_values = [k and self.known(k) for k in value.keys]
            if [known and known.value for known in key_values] != names:
                raise self.obstacle(value, "has keys in another order", f"write them as {names}")
            return [*map(self.flat, value.values)]
        if isinstance(alias := self.bound(value), Alias):
            return [f"{alias.text}[{k}]" for k in range(len(names))]
        is_display = isinstance(value, (ast.Tuple, ast.List))
        is_sequence = issubclass(layout.kind, (tuple, list)) and not hasattr(layout.kind, "_fields")
        if is_display and not is_sequence:
            return None
        return self.elements(value)

    def record_text(self, value: ast.expr, layout: Layout) -> str | None:
        """Return the text of an object that a call or a name has as a tuple of its fields."""
        if self.types(value) != {layout.kind}:
            return None
        is_name = isinstance(value, ast.Name) and self.bound(value) is None
        return self.text(value) if is_name or self.is_converted_call(value) else None

    def _call(self, node: ast.Call) -> str | None:
        called = self.called(node)
        pool = self.unit.pools.get(called) if isinstance(called, type) else None
        if pool is not None:
            return self._new(node, pool)
        method, name = node.func, called_name(node).rpartition(".")[2]
        owner = self.pool_of(method.value) if isinstance(method, ast.Attribute) else None
        if owner is not None and name == "_replace" and isinstance(method, ast.Attribute):
            return self._new(self._replaced_fields(node, method, owner), owner)
        layout = self.unit.layout_of_kind(called)
        if layout is not None and not has_convertible_init(layout.kind):
            return tuple_of(self.record_items(node, layout) or [])
        if (special := self._special(node.func, "__call__" if called is None else "")) is not None:
            return self.converted_call(node, special)
        if called is len and node.args and (special := self._special(node.args[0], "__len__")):
            call = ast.copy_location(ast.Call(node.func, [], []), node)
            return self.converted_call(call, special)
        return super()._call(node)

    def _replaced_fields(self, node: ast.Call, method: ast.Attribute, pool: Pool) -> ast.Call:
        """Return a call of the class of a named tuple for a call of `_replace`."""
        given, values = keywords_of(node), list[ast.expr]()
        for name in pool.layout.items or ():
            before = ast.copy_location(ast.Attribute(method.value, name, ast.Load()), node)
            values.append(given.get(name, before))
        return ast.copy_location(ast.Call(method, values, []), node)

    def _attribute(self, node: ast.Attribute) -> str | None:
        layout, owner = self._layout_of_copy(node.value), node.value
        is_free = isinstance(owner, (ast.Name, ast.Call)) and self.record(owner) is None
        if layout is None or not is_free or self.known(node) is not None:
            text = super()._attribute(node)
            is_unknown = text is None and is_free and not self.types(owner)
            is_unknown &= node.attr in ("name", "value") or self.unit.has_attribute(node.attr)
            if is_unknown:
                reason = "is not reached by random actions, so that its type is not known"
                raise self.obstacle(node, reason, "give `policy` one that reaches it")
            return text
        names = list(layout.items or ())
        if node.attr not in names or len(names) != len(layout.parts("")):
            self._share(owner, Stored("", layout, None))
        return f"{self.enclosed(owner)}[{names.index(node.attr)}]"

    def _layout_of_copy(self, node: ast.expr) -> Layout | None:
        """Return the layout of an object that only a name, or nothing, has; None for others."""
        types = self.types(node)
        if types:
            kind = types.pop()
            is_copy = not types and kind not in self.unit.pools
            return self.unit.layout_of_kind(kind) if is_copy else None
        if isinstance(node, ast.Name):
            layouts = [*map(self._layout_of_copy, self.assigned_values(node.id))]
            return layouts[0] if layouts and all(v == layouts[0] for v in layouts) else None
        return None

    # --- sharing and effects ---------------------------------------------------------------------

    def check_sharing(self, value: ast.expr, shared: object) -> None:
        """Refuse to store a list that another attribute has, too; put shared objects in a pool."""
        if shared is None:
            return
        if isinstance(value, ast.Name) and not self.bound(value):
            later = {*map(called_name, self._after(value))}
            if later.isdisjoint(f"{value.id}.{method}" for method in MUTATING):
                return
        if isinstance(shared, Stored):
            self._share(value, shared)
        reason = "makes two attributes share a list"
        raise self.obstacle(value, reason, "assign a copy, written item by item")

    def _after(self, use: ast.Name) -> list[ast.AST]:
        """Return the code that may run after a use of a name, and before its next assignment."""
        nodes = [*ast.walk(self.source.tree)]
        loops = ({*ast.walk(n)} for n in nodes if isinstance(n, (ast.For, ast.While)))
        around = set[ast.AST]()
        for loop in loops:
            stores = (n for n in names_in(*loop) if isinstance(n.ctx, ast.Store))
            if use in loop and not any(n.id == use.id for n in stores):
                around |= loop
        return [n for n in nodes if getattr(n, "lineno", 0) > use.lineno or n in around]

    def changed_by(self, node: ast.AST, is_whole: bool = False) -> set[str]:
        """Return the attributes that a call of an own function, or a property, may change.

        Args:
            node: The call or the property, or another node, which changes none.
            is_whole: Whether to return only those that it may assign.
        """
        try:
            kind, name = self._own_function(node)
            local = self.called(node)
        except ObstacleFound:  # an attribute that a lane cannot have
            return set()
        if isinstance(local, Local):
            nodes = ast.walk(local.source.tree)
            attributes = (part for part in nodes if isinstance(part, ast.Attribute))
            return {n.attr for n in attributes if not is_whole or isinstance(n.ctx, ast.Store)}
        sources = reached(kind, name) if name else ()
        pairs = (pair for source in sources for pair in changed_attributes(source, False))
        return {part for part, assigns in pairs if assigns or not is_whole}

    def _own_function(self, node: ast.AST) -> tuple[type, str]:
        """Return the class and name of the method that is called, or of a property, or ""."""
        if isinstance(node, ast.Call) and self.is_converted_call(node):
            this = getattr(self.called(node), "__self__", None)
            kind = this.layout.kind if isinstance(this, Stored) else self.unit.cls
            return kind, getattr(node.func, "attr", "")
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            record = self.record(node.value)
            kind = record.layout.kind if record is not None else self.unit.cls
            return kind, node.attr if isinstance(method_of(kind, node.attr), property) else ""
        return object, ""


def _display(call: ast.Call) -> ast.Dict:
    """Return the display for a call of `dict` with keywords."""
    keys: list[ast.expr | None] = [ast.Constant(keyword.arg) for keyword in call.keywords]
    values = [keyword.value for keyword in call.keywords]
    return ast.copy_location(ast.Dict(keys, values), call)


def _is_plain_default(value: object) -> bool:
    """Return whether a default of a field is a value, and not a factory, or missing."""
    return value is None or code_of(value) is not None or isinstance(value, (*NUMBERS, tuple))
