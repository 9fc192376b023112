"""Conversion of expressions: the text of the original, with the parts that must change replaced."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from gymcore.jit.conversion.layouts import NUMBERS, code_of, number_array
from gymcore.jit.conversion.lists import Growing
from gymcore.jit.conversion.obstacles import ObstacleFound
from gymcore.jit.conversion.pools import Pool
from gymcore.jit.conversion.scope import Alias, Scope, Stored, is_always_true, name_of
from gymcore.jit.conversion.shared_draws import LANE_GENERATOR
from gymcore.jit.conversion.source import is_storable
from gymcore.jit.conversion.syntax import called_name, name_at, place_of
from gymcore.jit.conversion.tables import Table
from gymcore.jit.conversion.unit import local_name

__all__ = ["TEXT", "Expressions", "tuple_of", "word_in"]

_Result = TypeVar("_Result")

_HAS_ROW = """\
    for row in items:
        if {equal}:
            return True
    return False"""
_ROW = """\
    if not is_present:
        raise AttributeError("'NoneType' object has no attributes")
    return row"""
_IS_ROW = """\
    for k in range(len(row)):
        if row[k] != value[k]:
            return False
    return True"""
_SIMPLE = re.compile(r"[\w.]+(\([^()]*\)|\[[^\[\]]*\])?")
_NONE = type(None)
TEXT = "uses more of a text than whether it equals another", "compare texts with `==`"
_REFUSED = {
    ast.Dict: ("is a dict", "use an array, or a variable for each key"),
    ast.Set: ("is a set", "use an array of bools"),
    ast.JoinedStr: ("is a text", "leave it out"),
    ast.Lambda: ("is a function without a name", "define it in the module"),
    ast.DictComp: ("is a dict", "use an array"),
    ast.SetComp: ("is a set", "use an array of bools"),
    ast.GeneratorExp: ("is a generator", "write it as a loop"),
}


class Expressions(Scope):
    """The text of the expressions of one function, as compiled code runs them."""

    _present: frozenset[ast.AST] = frozenset()  # expressions that are not None here
    _rows: frozenset[ast.AST] = frozenset()  # expressions whose text is the row in a pool here
    _assigned_names: frozenset[ast.AST] = frozenset()  # `:=`, emitted as statements before

    def short_items(self, node: ast.expr) -> list[str] | None:
        """Return the texts of the items of a sequence or short array of known length, or None."""
        texts, kind = self.elements(node), self.kind(node)
        shape = kind.shape if kind is not None else None
        if texts is None and shape is not None and len(shape) == 1 and shape[0] <= 8:
            return [f"{self.enclosed(node)}[{k}]" for k in range(shape[0])]
        return texts

    def _starred(self, node: ast.Starred) -> str:
        items = self.elements(node.value)
        if items is None:
            raise self.obstacle(node, "unpacks a value of unknown length", "write each item")
        return ", ".join(items)

    # --- text ------------------------------------------------------------------------------------

    def text(self, node: ast.AST) -> str:
        """Return the text of a converted expression."""
        if node in self.synthetic:
            return self.synthetic[node][0]
        if type(node) in _REFUSED:
            raise self.obstacle(node, *_REFUSED[type(node)])
        if isinstance(node, ast.expr) and self._is_row_of_tuples(node):
            pool = self.pool_of(node)
            assert pool is not None
            return self.tuple_at(pool, self.row_text(node))
        if isinstance(node, (ast.Attribute, ast.Subscript)) and (stored := self.stored(node)):
            if self.flag_of(node) and _NONE in self.types(node):
                return self._value_or_none(node, stored)
            if stored.layout.kind is _NONE and isinstance(getattr(node, "ctx", None), ast.Load):
                return "None"
            if stored.layout.items is not None and is_storable(stored.layout.kind):
                self._share(node, stored)
            if stored.layout.items is not None:
                return tuple_of(self.elements(node) or [])
            if stored.layout.lists:
                raise self.obstacle(node, "uses a list of lists as a whole", "loop over its lists")
            return self._all_items(node) or stored.field(stored.name)
        if isinstance(node, ast.Subscript) and (items := self._all_items(node)):
            return items
        is_test = isinstance(node, ast.Compare)
        is_test |= isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        truth = self.truth(node) if isinstance(node, ast.expr) and is_test else None
        if truth is not None:
            return str(truth)
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        result = handler(node) if handler else None
        return self.replaced(node) if result is None else str(result)

    def growing(self, node: ast.AST) -> Growing | None:
        """Return the list that grows that an expression is, or None."""
        lists = self.stored(node.value) if isinstance(node, ast.Subscript) else None
        if lists is None or not lists.layout.lists or not isinstance(node, ast.Subscript):
            return super().growing(node)
        known = self.known(node.slice)
        if known is None:
            return lists.list_at(self.enclosed(node.slice))
        count = lists.layout.lists
        if not -count <= known.value < count:
            raise self.obstacle(node, f"selects from {count} lists", "write an index in range")
        return lists.list_at(str(known.value % count))

    def key_text(self, owner: Stored, node: ast.expr) -> str:
        """Return the text of the place of a key in a dict whose numbers are in an array."""
        if self.known(node) is not None:
            return super().key_text(owner, node)
        codes = enumerate(self.value_text(key, node) for key in owner.layout.keys)
        lines = [f"    if key == {code}:\n        return {k}" for k, code in codes]
        body = "\n".join([*lines, '    raise KeyError("the key is not in the dict")'])
        return self.unit.call(f"place_of_key_in_{owner.name.strip('_')}", body, key=self.flat(node))

    def row_text(self, node: ast.AST) -> str:
        """Return the text of the row of an object in a pool."""
        before = self._rows
        self._rows = before | {node, getattr(node, "value", node)}
        text = self.flat(node)
        self._rows = before
        stored = self.stored(node)
        if stored is not None and stored.layout.optional and not self.types(node):
            return self.unit.call("row_of_present", _ROW, is_present=stored.flag, row=text)
        is_name = isinstance(node, ast.Name) and self.bound(node) is None
        may_be_none = is_name and (_NONE in self.types(node) or bool(self.flag_of(node)))
        return f"int({text})" if may_be_none else text

    def _is_row_of_tuples(self, node: ast.expr) -> bool:
        """Return whether an expression is a tuple that is stored as a row of a pool."""
        if node in self._rows or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return False
        pool = self.pool_of(node) if isinstance(node, (ast.Subscript, ast.Call)) else None
        return pool is not None and pool.kind is tuple

    def rows_text(self, items: ast.expr) -> str:
        """Return the text of the rows of a list of tuples."""
        if isinstance(items, ast.Call) and called_name(items) in ("list", "reversed", "tuple"):
            step = "[::-1]" if called_name(items) == "reversed" else ".copy()"
            return f"{self.rows_text(items.args[0])}{step}"
        before = self._rows
        self._rows = before | {items, getattr(items, "value", items)}
        text = self.text(items)
        self._rows = before
        return text

    def row_of(self, node: ast.expr, pool: Pool) -> str:
        """Return the text of the row of a tuple in a pool; `Objects` converts it."""
        raise NotImplementedError

    def changed_by(self, node: ast.AST, is_whole: bool = False) -> set[str]:
        """Return the attributes that code may change; see `Objects`."""
        raise NotImplementedError

    def tuple_at(self, pool: Pool, row: str) -> str:
        """Return the text of a tuple with the items of a row of a pool."""
        stored = Stored.in_pool(pool, "row")
        copies = (
            f"{stored.field(f.name)}{'.copy()' * bool(f.shape)}"
            for f in pool.layout.parts(pool.name)
        )
        body = f"    return {tuple_of([*copies])}"
        return self.unit.call(f"tuple_of_{pool.name}", body, row=row)

    def _share(self, node: ast.AST, stored: Stored) -> None:
        """Store the objects of a class in a pool, so that an expression can refer to them."""
        if not stored.place and self.unit.can_share(stored.layout.kind):
            self.unit.let_share(stored.layout.kind)
        raise self.obstacle(node, "is an object that is used as a value", "use its attributes")

    def _all_items(self, node: ast.AST) -> str:
        """Return the text of the items of a list that grows; empty for other expressions."""
        growing = self.growing(node)
        if growing is not None and growing.kind is set:
            raise self.obstacle(node, "depends on the order of the items of a set", "use a list")
        pool = self.unit.pools.get(growing.item) if growing is not None else None
        if pool is not None and pool.kind is tuple and node not in self._rows:
            reason = "uses a list of tuples of several types as a whole"
            raise self.obstacle(node, reason, "loop over it")
        return growing.text if growing is not None else ""

    def flag_of(self, node: ast.AST) -> str:
        """Return the text that tells whether an expression has a value; empty if it always has."""
        stored = self.stored(node)
        if node in self._present:
            return ""
        if stored is not None:
            return stored.flag if stored.layout.optional else ""
        if not isinstance(node, ast.Name) or self.known(node) is not None:
            return ""
        kinds = set().union(*map(self.types, self.source.loads(node.id)))
        values = () if kinds else self.assigned_values(node.id)
        was_none = _NONE in kinds or any(map(self.flag_of, values))
        return f"({self.text(node)} is not None)" if was_none else ""

    def _value_or_none(self, node: ast.AST, stored: Stored) -> str:
        """Return the text of a part of the state where it has been None."""
        if stored.layout.shape or stored.layout.items is not None or stored.layout.grows:
            raise self.obstacle(node, "may be None", "test it with `is None` before")
        return f"({self.present(node)} if {stored.flag} else None)"

    def present(self, node: ast.AST) -> str:
        """Return the text of an expression that is not None where the text is used."""
        before = self._present
        self._present = before | {node}
        text = self.flat(node)
        self._present = before
        return text

    def as_value(self, node: ast.expr) -> str:
        """Return the text of an expression that a name is bound to; tuples stay tuples."""
        stored = self.stored(node)
        is_number = stored is not None and not (stored.layout.shape or stored.layout.items)
        may_be_none = _NONE in self.types(node) or (not self.types(node) and is_number)
        if stored is not None and self.flag_of(node) and may_be_none:
            return self._value_or_none(node, stored)
        is_tuple = (
            stored is not None and stored.layout.kind is tuple and len(stored.layout.shape) == 1
        )
        is_tuple |= isinstance(node, ast.Subscript) and self.has_rows(node.value)
        is_tuple |= self._row_of_list(node) is not None
        texts = self.elements(node) if is_tuple else None
        if texts and len(texts) <= 8:
            return tuple_of(texts)
        return self.text(node) if isinstance(node, ast.List) else self.argument(node)

    def _row_of_list(self, node: ast.AST) -> list[str] | None:
        """Return the numbers of a tuple in a list that grows, which changes of the list leave."""
        if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice):
            return None
        growing = self.growing(node.value)
        if growing is None or growing.item is not tuple or not growing.width:
            return None
        text = self.text(node)
        return [f"{text}[{k}]" for k in range(growing.width)]

    def value_of(self, node: ast.expr) -> str:
        """Return the text of an expression; a tuple in a list that grows becomes one of numbers."""
        row = self._row_of_list(node)
        return self.flat(node) if row is None else tuple_of(row)

    def enclosed(self, node: ast.AST) -> str:
        """Return the text of an expression in parentheses, unless it is simple."""
        text = self.text(node)
        return text if _SIMPLE.fullmatch(text) else f"({text})"

    def flat(self, node: ast.AST) -> str:
        """Return the text of an expression, which may begin in the middle of a line."""
        text = self.text(node)
        return f"(\n{text}\n)" if "\n" in text else text

    def joined(self, nodes: Iterable[ast.AST]) -> str:
        """Return the texts of expressions, separated by commas."""
        return ", ".join(self.each(self.flat, nodes))

    def each(self, convert: Callable[[Any], _Result], items: Iterable[object]) -> list[_Result]:
        """Return the results of a conversion of some items, whose obstacles are all listed."""
        texts, problem = [], None
        for item in items:
            try:
                texts.append(convert(item))
            except ObstacleFound as raised:
                self.unit.obstacles.append(raised.obstacle)
                problem = raised
        if problem is not None:
            raise problem
        return texts

    def replaced(self, node: ast.AST, texts: Mapping[ast.AST, str] | None = None) -> str:
        """Return the original's text with the texts of its parts, which `texts` may contain."""
        start, end = place_of(node)
        pieces = []
        parts = (c for c in ast.iter_child_nodes(node) if isinstance(c, (ast.expr, ast.keyword)))
        children = sorted(parts, key=place_of)
        converted = self.each(lambda part: (texts or {}).get(part) or self.text(part), children)
        for child, text in zip(children, converted, strict=True):
            place = place_of(child)
            pieces += [self.source.segment(start, place[0]), text]
            start = place[1]
        return "".join([*pieces, self.source.segment(start, end)])

    def value_text(self, value: object, node: ast.AST, hint: str = "table") -> str:
        """Return the text of a known value."""
        code, name = code_of(value), name_of(value)
        if code is not None or name is not None:
            return str(name if code is None else code)
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float)):
            text = re.sub(r"(nan|inf)", r"np.\1", repr(value))
            return f"({text})" if text.startswith("-") else text
        array = number_array([*value] if isinstance(value, enum.EnumType) else value)
        if array is not None:
            return self.unit.constant(array, hint)
        reason = f"is of type {type(value).__name__}, which compiled code cannot use"
        raise self.obstacle(node, reason, "use numbers and arrays")

    def table_text(self, table: Table, node: ast.AST) -> str:
        """Return the text of a part of a constant."""
        if not table.indices and isinstance(table.first, NUMBERS):
            return self.value_text(table.first, node)
        array = table.array()
        if array is not None:
            name = self.unit.constant(array, table.name)
            return f"{name}[{self.joined(table.indices)}]" if table.indices else name
        items = table.items()
        if items is None:
            raise self.obstacle(node, "is a part of a table without a common type", "use arrays")
        return tuple_of([self.table_text(item, node) for item in items.values()])

    def _constant(self, node: ast.Constant) -> str | None:
        is_text = isinstance(node.value, (str, bytes))
        return self.value_text(node.value, node) if is_text else None

    def _name(self, node: ast.Name) -> str:
        if node.id == LANE_GENERATOR:
            self.unit.drawn.add("np_random")
            return "rng"
        binding = self.bound(node)
        if isinstance(node.ctx, ast.Store):
            self.bindings.pop(node.id, None)
            binding = None
        elif isinstance(binding, list):
            return tuple_of(binding)
        elif isinstance(binding, Alias):
            return binding.text
        elif items := self._all_items(node):
            return items
        elif isinstance(binding, Table):
            return self.table_text(binding, node)
        elif isinstance(binding, Stored) and binding.layout.kind in self.unit.pools:
            return binding.place
        elif isinstance(binding, Stored) and self.embedded(node) is not None:
            self._share(node, binding)
        elif isinstance(binding, Stored) and (texts := self.elements(node)):
            return tuple_of(texts)
        elif binding is None and node.id in self._locals and self.only_state:
            raise self.obstacle(node, "is a local variable", "use an attribute")
        if self.is_self(node):
            raise self.obstacle(node, "is used as a value", "pass the attributes that are used")
        if binding is None and node.id in self._locals:
            return local_name(node.id)
        known = self.known(node)
        if known is None:
            arguments = self.source.tree.args
            if node.id in [a.arg for a in (arguments.vararg, arguments.kwarg) if a]:
                reason = "takes a number of arguments that varies"
                raise self.obstacle(node, reason, "name each argument")
            raise self.obstacle(node, "is not defined", "define it in the module")
        if isinstance(known.value, NUMBERS) and node.id.isupper():
            return self.unit.constant(known.value, node.id)
        return self.value_text(known.value, node, node.id)

    def _attribute(self, node: ast.Attribute) -> str | None:
        record, is_env = self.record(node.value), self.is_self(node.value)
        if (record is not None or is_env) and node.attr in self.unit.generators:
            if node.attr not in {"np_random", "_np_random", *self.unit.assigned_by_reset}:
                change = "write `np.random.default_rng(seed)` in `reset`"
                raise self.obstacle(node, "is a generator that `reset` does not seed", change)
            self.unit.drawn.add(node.attr.strip("_"))
            if len(self.unit.drawn) > 1:
                change = "draw from `self.np_random` only"
                raise self.obstacle(node, "draws from a second generator", change)
            if self.unit.seeded:
                return "rng"
            change = "call `super().reset(seed=seed)` first"
            raise self.obstacle(node, "draws before `reset` has seeded the generator", change)
        text = self.unit.parameter(node.attr) if is_env else None
        if text is not None:
            return text
        known = self.known(node)
        if known is not None:
            text = ast.unparse(node)
            is_kept = text.startswith(("np.", "math.")) and name_of(known.value) is not None
            return text if is_kept else self.value_text(known.value, node, node.attr)
        table = self.table(node)
        if table is not None:
            return self.table_text(table, node)
        if record is not None:
            value = vars(record.value).get(node.attr)
            reason = f"is of type {type(value).__name__}, which a lane cannot have"
            raise self.obstacle(node, reason, "use numbers and arrays")
        if is_env:
            reason = "is not an attribute after `__init__` and `reset`"
            raise self.obstacle(node, reason, "assign it in `reset`")
        stored = self.stored(node.value)
        kinds = {stored.layout.kind} if stored is not None else self.types(node.value)
        enums = [kind for kind in kinds if issubclass(kind, enum.Enum)]
        are_numbers = all(isinstance(m.value, int) for kind in enums for m in kind)
        if enums and not (node.attr == "value" and are_numbers):
            reason = "is an attribute of members of an enumeration, which are numbers here"
            raise self.obstacle(node, reason, "compare members, or use a table")
        return self.text(node.value) if enums else None

    def _namedexpr(self, node: ast.NamedExpr) -> str:
        if node not in self._assigned_names:
            change = "write the assignment as a statement"
            raise self.obstacle(node, "assigns a name in an expression", change)
        return self.text(name_at(node.target.id, node))

    def _subscript(self, node: ast.Subscript) -> str | None:
        index, items = self.known(node.slice), self.bound(node.value)
        if isinstance(items, list) and index is not None and isinstance(index.value, int):
            return items[index.value]
        if isinstance(node.ctx, ast.Load) and (known := self.known(node)) is not None:
            return self.value_text(known.value, node)
        if isinstance(node.ctx, ast.Load) and (table := self.table(node)) is not None:
            return self.table_text(table, node)
        if isinstance(node.slice, ast.Slice):
            texts = self.elements(node)
            return None if texts is None else tuple_of(texts)
        if index is not None and isinstance(index.value, str):
            change = "select it where the dict is"
            raise self.obstacle(node, "selects an item by a text from a computed value", change)
        is_test = isinstance(node.slice, (ast.Compare, ast.BoolOp)) or bool in self.types(
            node.slice
        )
        if is_test and self.growing(node.value) is not None:
            return self.replaced(node, {node.slice: f"int({self.flat(node.slice)})"})
        if isinstance(node.slice, ast.Tuple) or self.types(node.slice) != {tuple}:
            return None
        place = self.elements(node.slice)
        return self.replaced(node, {node.slice: ", ".join(place)}) if place else None

    def _list(self, node: ast.List) -> str:
        known = self.known(node)
        if known is not None:
            return self.value_text(known.value, node)
        if self._unpacks(node):
            texts = (
                self.text(i.value) if isinstance(i, ast.Starred) else f"np.array([{self.row(i)}])"
                for i in node.elts
            )
            return f"np.concatenate({tuple_of([*texts])})"
        kinds = [kind for item in node.elts for kind in self.kinds(item)]
        shapes = {kind.shape for kind in kinds if kind.type is np.ndarray}
        if any(kind.type is tuple for kind in kinds) or len(shapes) > 1:
            return tuple_of([*map(self.flat, node.elts)])
        return f"np.array({self.argument(node)})"

    def _unpacks(self, node: ast.List | ast.Tuple) -> bool:
        """Return whether a list or tuple unpacks a value of unknown length."""
        starred = (item.value for item in node.elts if isinstance(item, ast.Starred))
        return any(self.elements(value) is None for value in starred)

    def argument(self, node: ast.expr) -> str:
        """Return the text of an argument, which may be a list; lists of tuples become tuples."""
        if isinstance(node, ast.List) and any(tuple in self.types(item) for item in node.elts):
            return tuple_of([*map(self.argument, node.elts)])
        if isinstance(node, ast.List) and self._unpacks(node):
            return self.text(node)
        if isinstance(node, ast.List):
            return f"[{', '.join(map(self.argument, node.elts))}]"
        known = self.known(node)
        if known is not None and isinstance(known.value, tuple) and len(known.value) <= 4:
            return tuple_of([self.value_text(item, node) for item in known.value])
        return self.text(node)

    def row(self, node: ast.expr) -> str:
        """Return the text of a list or tuple as an array."""
        items = self.elements(node)
        return f"np.array([{', '.join(items)}])" if items else self.text(node)

    def elements(self, node: ast.AST) -> list[str] | None:
        """Return the texts of the items of a list or tuple of known length, or None."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return None if self._unpacks(node) else [*map(self.value_of, node.elts)]
        if (row := self._row_of_list(node)) is not None:
            return row
        if isinstance(node, ast.Call) and called_name(node) in ("tuple", "list"):
            return self.short_items(node.args[0]) if len(node.args) == 1 else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_dict = node.func.attr == "values" and self.stored(node.func.value) is not None
            return self.elements(node.func.value) if is_dict else None
        if isinstance(binding := self.bound(node), list):
            return binding
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            owner, part = self.stored(node.value), node.slice
            ends = [end and self.known(end) for end in (part.lower, part.upper, part.step)]
            are_known = ends.count(None) == 3 - len([*ast.iter_child_nodes(part)])
            if owner is None or owner.layout.items is None or not are_known:
                return None
            if any(item.dtype is None or item.grows for item in owner.layout.items.values()):
                raise self.obstacle(node, "selects several objects", "write each of them")
            numbers: list[Any] = [end and end.value for end in ends]
            return (self.elements(node.value) or [])[slice(*numbers)]
        pool = self.pool_of(node) if not isinstance(node, ast.Call) else None
        is_tuple = pool is not None and issubclass(pool.kind, tuple)
        stored = self.pooled(node) if is_tuple else self.stored(node)
        if stored is not None and not stored.layout.grows:
            name, layout = stored.name, stored.layout
            if any(part.grows for part in (layout.items or {}).values()):
                return None
            if layout.items is not None:
                return [stored.field(field.name) for field in layout.parts(name)]
            is_flat = layout.kind in (list, tuple) and len(layout.shape) == 1
            items_text, is_flat = stored.field(name), is_flat or bool(layout.keys)
            return [f"{items_text}[{k}]" for k in range(layout.shape[0])] if is_flat else None
        table = self.table(node)
        if table is not None:
            items = table.items()
            return [self.table_text(item, node) for item in items.values()] if items else None
        is_item = isinstance(node, ast.Subscript) and self.growing(node.value) is not None
        is_name = isinstance(node, ast.Name) and self.growing(node) is None
        kind = self.kind(node) if is_name or is_item else None
        if kind is None or kind.type not in (list, tuple) or not kind.shape:
            return None
        return [f"{self.text(node)}[{k}]" for k in range(kind.shape[0])]

    # --- operators -------------------------------------------------------------------------------

    def narrow_operand(self, node: ast.expr) -> str:
        """Return an operand of float32, to which NumPy converts numbers of Python."""
        if np.ndarray in self.types(node):
            return self.enclosed(node)
        number = node.value if isinstance(node, ast.Constant) else None
        is_exact = isinstance(number, (int, float)) and float(np.float32(number)) == number
        if is_exact or self.types(node) <= {np.float32} or self.types(node) <= {int, bool}:
            return self.enclosed(node)
        return f"np.float32({self.text(node)})"

    def _binop(self, node: ast.BinOp) -> str | None:
        parts = node.left, node.right
        if any(map(self.is_text, parts)) and not isinstance(node.op, ast.Mult):
            raise self.obstacle(node, *_REFUSED[ast.JoinedStr])
        if self.types(node) & {list, str} or any(map(self._is_part_of_list, parts)):
            return self._list_operation(node)
        if self.types(node) >= {np.float32, np.float64}:
            self._doubt_types(node, [*parts])
        if self.is_narrow(node):
            left, right = map(self.narrow_operand, parts)
            if isinstance(node.op, ast.Pow):
                return f"jit.math.powf({left}, {right})"
            return f"np.float32({left} {self.source.operator_of(node)} {right})"
        for part, other in (parts, parts[::-1]):
            if self.types(part) == {tuple} and self.types(other) == {np.ndarray}:
                return self.replaced(node, {part: f"np.array({self.flat(part)})"})
            # A scalar of float64 makes NumPy compute in that type, but functions have only numbers.
            narrow, wide = np.float32 in self.item_types(part), np.float64 in self.item_types(node)
            if narrow and wide and np.float64 in self.types(other):
                return self.replaced(node, {part: f"{self.enclosed(part)}.astype(np.float64)"})
        return None

    def _is_part_of_list(self, node: ast.expr) -> bool:
        """Return whether an expression is a list by its form, also in code that never ran."""
        is_slice = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)
        part = node.value if isinstance(node, ast.Subscript) and is_slice else node
        return isinstance(part, (ast.List, ast.ListComp)) or self.growing(part) is not None

    def _list_operation(self, node: ast.BinOp) -> str:
        known = self.known(node)
        if known is not None:
            return self.value_text(known.value, node)
        if str in self.types(node):
            raise self.obstacle(node, *_REFUSED[ast.JoinedStr])
        parts = node.left, node.right
        if isinstance(node.op, ast.Add):
            texts = [self.flat(part) for part in parts if self.elements(part) != []]
            texts = [f"np.array({text})" if text[0] == "(" else text for text in texts]
            return f"np.concatenate({tuple_of(texts)})"
        display, count = parts if isinstance(node.left, ast.List) else parts[::-1]
        if not isinstance(display, ast.List) or len(display.elts) != 1:
            raise self.obstacle(node, "repeats a list", "use an array")
        return f"np.full({self.joined([count, *display.elts])})"

    def _unaryop(self, node: ast.UnaryOp) -> str | None:
        operand = node.operand
        is_special = isinstance(operand, ast.BoolOp) or self._is_special(operand)
        is_special &= isinstance(node.op, ast.Not)
        return f"(not ({self.condition(operand)}))" if is_special else None

    def _is_list(self, node: ast.expr) -> bool:
        """Return whether an expression is a list or set; `and` and `or` of these become bools."""
        is_list = self.types(node) in ({list}, {set}) or self.growing(node) is not None
        return is_list and not isinstance(node, ast.BoolOp)

    def _is_special(self, node: ast.expr) -> bool:
        """Return whether the text of an operand as a condition may not be that of its value."""
        is_object = not isinstance(node, ast.BoolOp) and self.pool_of(node) is not None
        return is_object or self._is_list(node) or bool(self.flag_of(node))

    def condition(self, node: ast.expr) -> str:
        """Return the text of a condition; a list is true if it has items, and None is false."""
        flag, stored, growing = self.flag_of(node), self.stored(node), self.growing(node)
        kind = self._enum_kind(node)
        if kind is not None and not issubclass(kind, int) and not flag:
            raise self.obstacle(node, "is a member of an enumeration, always true", "compare it")
        if flag:
            layout, is_true = stored and stored.layout, is_always_true(self.types(node) - {_NONE})
            is_true |= layout is not None and bool(layout.shape or layout.items)
            is_true |= self.pool_of(node) is not None  # see `Objects.condition` for others
            value = self.present(node) + " != 0" * (stored is None)  # Numba has no `bool` of these
            return flag if is_true else f"({flag} and {value})"
        if self.truth(node) is not None:
            return str(self.truth(node))
        if growing is not None:
            return f"{growing.length}[0] > 0"
        if isinstance(node, ast.BoolOp):
            text = self._truth_text(node)
            return f"(\n{text}\n)" if "\n" in text else text
        return f"len({self.text(node)}) > 0" if self._is_list(node) else self.flat(node)

    def _truth_text(self, node: ast.expr) -> str:
        """Return the text of a condition, which may have several lines if it is in parentheses."""
        if not isinstance(node, ast.BoolOp) or self.truth(node) is not None:
            return self.condition(node)
        parts = [value for value in node.values if self.truth(value) is None]
        tests = [v for v in parts if isinstance(v, ast.BoolOp) or self._is_special(v)]
        return self._either(node, parts, tests)

    def _boolop(self, node: ast.BoolOp) -> str | None:
        types = self.types(node)
        if not types and any(map(self._is_part_of_list, node.values)):
            raise self.obstacle(
                node, "selects one of several lists", "write it as an `if` statement"
            )
        tests = (ast.Compare, ast.UnaryOp, ast.BoolOp)
        if types <= {bool, np.bool_} and (types or all(isinstance(v, tests) for v in node.values)):
            return self._truth_text(node)
        if _NONE in types:
            raise self.obstacle(node, "may be None", "write it as an `if` statement")
        return self._either(node, node.values, [v for v in node.values if self._is_special(v)])

    def _either(self, node: ast.BoolOp, parts: list[ast.expr], tests: list[ast.expr]) -> str:
        """Return the text of `and` or `or` of some of the expressions in it, and of conditions."""
        texts: dict[ast.AST, str] = {test: self._truth_text(test) for test in tests}
        if len(parts) == len(node.values):
            return self.replaced(node, texts)
        return (" or " if isinstance(node.op, ast.Or) else " and ").join(
            f"({texts[part]})" if part in texts else self.enclosed(part) for part in parts
        )

    def _ifexp(self, node: ast.IfExp) -> str | None:
        truth = self.truth(node.test)
        if truth is None:
            parts = node.body, node.orelse
            self._doubt_types(node, [*parts])
            texts: dict[ast.AST, str] = {node.test: self.condition(node.test)}
            return self.replaced(node, texts | {part: self.as_value(part) for part in parts})
        return self.enclosed(node.body if truth else node.orelse)

    def _doubt_types(self, node: ast.expr, parts: list[ast.expr]) -> None:
        """Note an expression whose type depends on values, as the type of its results then does."""
        narrow = [part for part in parts if np.float32 in self.types(part) <= {np.float32, float}]
        others = [p for p in parts if self.known(p) is None and self.types(p) - {np.float32}]
        if narrow and others:
            reason = "is of type float32 or another type, depending on the values"
            problem = self.obstacle(node, reason, f"write `float({ast.unparse(narrow[0])})`")
            self.unit.doubts.append(problem.obstacle)

    def _compare(self, node: ast.Compare) -> str | None:
        operation, right = node.ops[0], node.comparators[0]
        if isinstance(operation, (ast.Is, ast.IsNot)):
            return self._identity(node, right)
        enums = [kind for kind in map(self._enum_kind, (node.left, right)) if kind is not None]
        numbers = [
            n for n in (node.left, right) if isinstance(getattr(n, "value", ""), (int, float))
        ]
        if enums and numbers and not issubclass(enums[0], int):
            change = "compare members"
            raise self.obstacle(node, "compares a member of an enumeration with a number", change)
        optional = [p for p in (node.left, right) if self.flag_of(p)]
        if optional and isinstance(operation, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
            return self._optional_comparison(node, optional)
        self._check_comparison(node, right)
        if isinstance(operation, (ast.Eq, ast.NotEq)) and self._is_sequence(node.left, right):
            left, others = self.elements(node.left), self.elements(right)
            negation = "not " * isinstance(operation, ast.NotEq)
            if left and others and len(left) == len(others):
                equal = _all_equal(left, others)
                return f"({negation}{equal})" if negation else equal
            is_list = isinstance(right, ast.List) or list in self.types(right)
            if is_list and self.types(node.left) | self.types(right) <= {list}:
                return f"({negation}np.array_equal({self.joined([node.left, right])}))"
        if isinstance(operation, (ast.In, ast.NotIn)):
            return self._membership(node, right)
        operands = [node.left, *node.comparators]
        if any(map(self.is_narrow, operands)):
            return self.replaced(node, {part: self.narrow_operand(part) for part in operands})
        return None

    def _check_comparison(self, node: ast.Compare, right: ast.expr) -> None:
        """Refuse a comparison of lists of objects, and of the order of texts."""
        is_equality = isinstance(node.ops[0], (ast.Eq, ast.NotEq))
        pools = [self.pool_of_items(part) for part in (node.left, right)]
        if is_equality and any(pool is not None for pool in pools):
            raise self.obstacle(node, "compares lists of objects", "compare their items")
        is_order = isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
        if is_order and any(map(self.is_text, (node.left, right))):
            raise self.obstacle(node, *TEXT)

    def is_text(self, node: ast.expr) -> bool:
        """Return whether an expression is a text, which is a number in compiled code."""
        stored, known = self.stored(node), self.known(node)
        kinds = {stored.layout.kind} if stored is not None else self.types(node)
        return str in kinds or (known is not None and isinstance(known.value, str))

    def rows_equal(self, row: str) -> str:
        """Return the text of the comparison of a row with `value`."""
        return self.unit.call("is_row", _IS_ROW, row=row, value="value")

    def _enum_kind(self, node: ast.expr) -> type | None:
        """Return the enumeration to which an expression belongs, or None."""
        stored = self.stored(node)
        kinds = {stored.layout.kind} if stored is not None else self.types(node)
        enums = [kind for kind in kinds if issubclass(kind, enum.Enum)]
        return enums[0] if enums else None

    def _identity(self, node: ast.Compare, right: ast.expr) -> str | None:
        """Return the text of a comparison with None, a bool or a member of an enumeration."""
        known, stored = self.known(right), self.stored(node.left)
        is_is, types = isinstance(node.ops[0], ast.Is), self.types(node.left) - {_NONE}
        if known is not None and known.value is None:
            return None if stored is None else f"({'not ' * is_is}{stored.flag})"
        is_single = known is not None and isinstance(known.value, (bool, enum.Enum))
        kinds = types | self.types(right)
        is_single |= len(kinds) == 1 and issubclass(next(iter(kinds)), enum.Enum)
        if not is_single or not types <= self.types(right) or len(node.ops) > 1:
            raise self.obstacle(node, "compares identities", "compare with `==`")
        left, flag = self.present(node.left), self.flag_of(node.left)
        left = left if _SIMPLE.fullmatch(left) else f"({left})"
        equal = f"{left} == {self.text(right)}"
        if known is not None and isinstance(known.value, bool):
            equal = "not " * (not known.value) + left
        equal = f"{flag} and {equal}" if flag else equal
        return f"({equal})" if is_is else f"(not ({equal}))"

    def _optional_comparison(self, node: ast.Compare, optional: list[ast.expr]) -> str:
        """Return the text of a comparison of values that may be None."""
        is_membership = isinstance(node.ops[0], (ast.In, ast.NotIn))
        flags = [self.flag_of(part) for part in optional]
        if len(node.ops) > 1 or (is_membership and optional != [node.left]):
            raise self.obstacle(node, "compares what may be None", "test it with `is None` before")
        is_negated = isinstance(node.ops[0], (ast.NotEq, ast.NotIn))
        if any(self.is_none(part) for part in (node.left, node.comparators[0])):
            return flags[0] if is_negated else f"(not {flags[0]})"
        before = self._present
        self._present = before | {*optional}
        test = self._compare(node) or self.replaced(node)
        self._present = before
        if len(flags) == 1:
            return f"(not {flags[0]} or {test})" if is_negated else f"({flags[0]} and {test})"
        if is_negated:
            return f"({flags[0]} != {flags[1]} or ({flags[0]} and {test}))"
        return f"({flags[0]} == {flags[1]} and (not {flags[0]} or {test}))"

    def _is_sequence(self, *nodes: ast.expr) -> bool:
        sequences = {list, tuple}
        return any(isinstance(n, (ast.Tuple, ast.List)) or self.types(n) & sequences for n in nodes)

    def equal_item(self, pool: Pool, row: str, node: ast.expr) -> tuple[str, str]:
        """Return the text of a comparison of a row of a pool with `value`, and that of the value.

        `Objects` converts it.
        """
        raise NotImplementedError

    def _has_numbers(self, items: ast.expr, value: ast.expr) -> bool:
        """Return whether a list has rows of numbers, or is compared with one."""
        if self.pool_of_items(items) is not None:
            return False
        is_row = self.growing(items) is not None and bool(self.elements(value))
        return self.has_rows(items) or is_row

    def _membership(self, node: ast.Compare, right: ast.expr) -> str | None:
        if self.is_text(right) and self.known(right) is None:
            raise self.obstacle(node, *TEXT)
        known, stored, growing = self.known(right), self.stored(right), self.growing(right)
        if known is not None and isinstance(known.value, (list, tuple, set, frozenset, dict, str)):
            tests = []
            for value in known.value:
                if isinstance(value, tuple):
                    left = self.elements(node.left)
                    if left is None:
                        raise self.obstacle(node.left, "is not a tuple of items", "write each item")
                    items = [self.value_text(item, node) for item in value]
                    tests += [_all_equal(left, items)] if len(left) == len(items) else []
                else:
                    tests.append(f"{self.enclosed(node.left)} == {self.value_text(value, node)}")
            test = f"({' or '.join(tests) or 'False'})"
        elif isinstance(right, (ast.Tuple, ast.List)):
            return self.replaced(node, {right: tuple_of([*map(self.flat, right.elts)])})
        elif self._has_numbers(right, node.left):
            rows = growing.text if growing is not None else self.text(right)
            arguments = {"items": rows, "value": self.row(node.left)}
            body = _HAS_ROW.replace("{equal}", self.rows_equal("row"))
            test = self.unit.call("has_row", body, **arguments)
        elif (pool := self.pool_of_items(right)) is not None:
            rows = growing.text if growing is not None else self.text(right)
            equal, value = self.equal_item(pool, "row", node.left)
            body = _HAS_ROW.replace("{equal}", equal)
            test = self.unit.call(f"has_{pool.name}", body, items=rows, value=value)
        elif growing is not None:
            test = f"np.any({growing.text} == {self.enclosed(node.left)})"
        elif stored is not None and stored.layout.keys:
            codes = (self.value_text(key, node) for key in stored.layout.keys)
            test = f"({' or '.join(f'{self.enclosed(node.left)} == {code}' for code in codes)})"
        elif stored is not None and len(stored.layout.shape) == 1:
            test = f"np.any({self.text(right)} == {self.enclosed(node.left)})"
        else:
            return None
        return f"(not {test})" if isinstance(node.ops[0], ast.NotIn) else test


def tuple_of(texts: list[str]) -> str:
    """Return the text of a tuple."""
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def word_in(word: str, text: str) -> bool:
    """Return whether a text has a name."""
    return re.search(rf"(?<![\w.]){word}\b", text) is not None


def _all_equal(left: Iterable[str], right: Iterable[str]) -> str:
    return f"({' and '.join(f'{a} == {b}' for a, b in zip(left, right, strict=True))})"
