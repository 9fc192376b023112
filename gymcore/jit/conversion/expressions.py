"""Conversion of expressions: the text of the original, with the parts that must change replaced."""

from __future__ import annotations

import ast
import builtins
import enum
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from gymcore.jit.conversion.layouts import NUMBERS, Layout, code_of, number_array
from gymcore.jit.conversion.lists import Growing, item_of
from gymcore.jit.conversion.obstacles import Obstacle, ObstacleFound
from gymcore.jit.conversion.source import (
    Source,
    changed_by_methods,
    is_storable_type,
    method_of,
)
from gymcore.jit.conversion.tables import Table
from gymcore.jit.conversion.tracing import Chain, Kind
from gymcore.jit.conversion.unit import RESERVED, Unit

__all__ = ["Binding", "Expressions", "Known", "tuple_of", "word_in"]

_PURE_BUILTINS = (len, int, float, bool, abs, min, max, tuple, list, range, round, sum, str)
_PURE_METHODS = frozenset(
    (
        *("get", "index", "count", "keys", "values", "items"),
        *("astype", "copy", "sum", "max", "min", "item"),
    )
)
_PURE_NODES = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Slice, ast.Tuple),
    *(ast.List, ast.Dict, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.keyword),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context),
)
_HAS_ROW = """\
    for row in items:
        if (row == value).all():
            return True
    return False"""
_SIMPLE = re.compile(r"[\w.]+(\([^()]*\)|\[[^\[\]]*\])?")
_REFUSED = {
    ast.Dict: ("is a dict", "use an array, or a variable for each key"),
    ast.Set: ("is a set", "use an array of bools"),
    ast.JoinedStr: ("is a text", "leave it out"),
    ast.Lambda: ("is a function without a name", "define it in the module"),
    ast.DictComp: ("is a dict", "use an array"),
    ast.SetComp: ("is a set", "use an array of bools"),
    ast.NamedExpr: ("assigns a name in an expression", "write the assignment as a statement"),
    ast.GeneratorExp: ("is a generator", "write it as a loop"),
}


class Known(NamedTuple):
    """A value that is known before the class is compiled."""

    value: Any


class Rng:
    """A name for the random number generator."""


class Record(NamedTuple):
    """An object or a tuple in the state: name, layout, and the value that it had in a run."""

    name: str
    layout: Layout
    value: object

    def has_constant(self, name: str) -> bool:
        """Return whether the object has an attribute that does not change."""
        if name in vars(self.value):
            is_stored = name in (self.layout.items or {})
            return not is_stored and name not in changed_by_methods(self.layout.kind)
        defined = method_of(self.layout.kind, name)
        return not isinstance(defined, (property, FunctionType)) and defined is not None


class Local(NamedTuple):
    """A function that is defined in another one."""

    source: Source


class Alias(NamedTuple):
    """The text that replaces a name."""

    text: str


Binding = Known | Rng | Table | Record | Local | Alias | Growing | list[str]
"""Replaces a local name that is not a variable; a list has the texts of its items."""


class Expressions:
    """Expressions of one function in the calls that it runs in.

    Attributes:
        unit: The class, and decisions that its functions share.
        source: The function.
        chain: The calls that it runs in.
        bindings: The replacement of each local name that is not a variable.
        only_state: Whether local variables must not be used.
        round: The rounds of loops that are written round by round.
    """

    def __init__(self, unit: Unit, source: Source, chain: Chain, bindings: Mapping[str, Binding]):
        """Begin a function."""
        self.unit, self.source, self.chain = unit, source, chain
        self.bindings: dict[str, Binding] = dict(bindings)
        self.only_state, self.round = False, tuple[object, ...]()
        outer = inspect.getclosurevars(source.function).nonlocals
        self._names: dict[str, object] = {**source.function.__globals__, **outer}
        self._locals = source.names | source.outer_names
        is_env = source.self_name not in self.bindings
        self.self_name = source.self_name if is_env else ""

    def obstacle(self, node: ast.AST, reason: str, change: str) -> ObstacleFound:
        """Return the exception for an expression."""
        text = ast.unparse(node).partition("\n")[0]
        text = f"{text[:77]}..." if len(text) > 80 else text
        line = getattr(node, "lineno", 1) + self.source.first_line - 1
        return ObstacleFound(Obstacle(self.source.file, line, text, reason, change))

    # --- what is known ---------------------------------------------------------------------------

    def known(self, node: ast.AST) -> Known | None:
        """Return the value of an expression; None if it is not known."""
        if isinstance(node, ast.Constant):
            return Known(node.value)
        is_known = all(self._is_known(part) for part in ast.walk(node))
        return self._evaluated(node) if is_known else None

    def _evaluated(self, node: ast.AST) -> Known | None:
        owner, this = self.source.owner, self.bindings.get(self.source.self_name)
        env = this.value if isinstance(this, (Known, Record)) else self.unit.trace.env
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        names = {name: self._names[name] for name in used & self._names.keys()}
        names |= {n: b.value for n, b in self.bindings.items() if isinstance(b, (Known, Record))}
        names |= {self.self_name: env, "super": lambda *_: super(owner, env)}
        try:
            assert isinstance(node, ast.expr)
            return Known(eval(compile(ast.Expression(node), "<known>", "eval"), names))
        except Exception:
            return None

    def _is_known(self, node: ast.AST) -> bool:
        """Return whether a part of an expression does not make its value unknown."""
        if isinstance(node, ast.Name):
            if isinstance(self.bindings.get(node.id), (Known, Record)) or node.id == self.self_name:
                return True
            is_global = node.id in self._names or hasattr(builtins, node.id)
            return is_global and node.id not in self._locals
        if isinstance(node, ast.Attribute) and (owner := self.record(node.value)) is not None:
            return self.record(node) is not None or owner.has_constant(node.attr)
        if isinstance(node, ast.Attribute) and self.is_self(node.value):
            if self.record(node) is not None:
                return True
            name = node.attr
            changes = name in self.unit.trace.names or "np_random" in name
            is_property = isinstance(method_of(self.unit.cls, name), property)
            return not changes and not is_property and self.unit.parameter(name) is None
        if isinstance(node, ast.Call) and not ast.unparse(node).startswith("super("):
            function = self.known(node.func)  # never evaluated if it has effects itself
            return function is not None and _is_pure(function.value)
        return isinstance(node, _PURE_NODES)

    def is_self(self, node: ast.AST) -> bool:
        """Return whether an expression is `self`."""
        return isinstance(node, ast.Name) and node.id == self.self_name

    def kinds(self, node: ast.AST) -> set[Kind]:
        """Return the kinds that an expression had."""
        if isinstance(node, ast.Constant):
            return {Kind(type(node.value))}
        return self.unit.trace.kinds_of(self.chain, node)

    def types(self, node: ast.AST) -> set[type]:
        """Return the types that an expression had."""
        return {kind.type for kind in self.kinds(node)}

    def is_narrow(self, node: ast.AST) -> bool:
        """Return whether an expression was a number of type float32."""
        return np.float32 in self.types(node)

    def truth(self, node: ast.expr) -> bool | None:
        """Return the value of a condition; None if it is not known."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.truth(node.operand)
            return None if inner is None else not inner
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(value) for value in node.values]
            decisive = isinstance(node.op, ast.Or)
            return decisive if decisive in parts else None if None in parts else not decisive
        known = self.known(self._with_size(node))
        if known is not None:
            return None if isinstance(known.value, np.ndarray) else bool(known.value)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            is_none = self._is_none(node.left)
            return None if is_none is None else is_none == isinstance(node.ops[0], ast.Is)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            types, wanted = self.types(node.args[0]), self.known(node.args[1])
            if types and wanted is not None:
                return all(issubclass(kind, wanted.value) for kind in types)
        return None

    def _with_size(self, node: ast.expr) -> ast.expr:
        """Return a comparison of the size of an array that has one shape, with its value."""
        left = node.left if isinstance(node, ast.Compare) else None
        if not isinstance(left, ast.Attribute) or left.attr not in ("size", "ndim"):
            return node
        kinds = self.kinds(left.value)
        shape = kinds.pop().shape if len(kinds) == 1 else None
        if shape is None or not isinstance(node, ast.Compare):
            return node
        number = math.prod(shape) if left.attr == "size" else len(shape)
        result = ast.Compare(ast.Constant(number), node.ops, node.comparators)
        return ast.fix_missing_locations(ast.copy_location(result, node))

    def _is_none(self, node: ast.expr) -> bool | None:
        path = self.path(node)
        if path is not None:
            layout = path[1]
            return True if layout.kind is type(None) else None if layout.optional else False
        is_none = {kind is type(None) for kind in self.types(node)}
        return is_none.pop() if len(is_none) == 1 else None

    def path(self, node: ast.AST) -> tuple[str, Layout] | None:
        """Return the name in the state and the layout of an attribute, or of an item of it."""
        if isinstance(node, ast.Attribute) and self.is_self(node.value):
            if node.attr in self.unit.bad:
                raise self.obstacle(node, *self.unit.bad[node.attr])
            layout = self.unit.layouts.get(node.attr)
            return None if layout is None else (node.attr, layout)
        binding = self.bindings.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(binding, Record):
            return binding.name, binding.layout
        if not isinstance(node, (ast.Attribute, ast.Subscript)):
            return None
        owner = self.path(node.value)
        if owner is None or owner[1].items is None:
            return None
        keys = list(owner[1].items)
        if isinstance(node, ast.Attribute) and node.attr not in keys:
            return None
        index = Known(node.attr) if isinstance(node, ast.Attribute) else self.known(node.slice)
        key = index.value if index is not None else None
        if isinstance(key, int) and -len(keys) <= key < len(keys):
            key = keys[key]
        if key not in keys:
            raise self.obstacle(node, "selects an item by an index that varies", "use an array")
        return f"{owner[0]}_{key}", owner[1].items[str(key)]

    def growing(self, node: ast.AST) -> Growing | None:
        """Return the list that grows that an expression is, or None."""
        if isinstance(node, ast.Name):
            binding = self.bindings.get(node.id)
            local = self.local_list(node.id) if binding is None else None
            return binding if isinstance(binding, Growing) else local[0] if local else None
        path = self.path(node)
        if path is None or not path[1].grows:
            return None
        name, layout = path
        return Growing(f"state.{name}", f"state.{layout.length(name)}", len(layout.shape) > 1)

    def local_list(self, name: str) -> tuple[Growing, np.dtype, tuple[int, ...]] | None:
        """Return a local list that grows, with dtype and shape of the array; or None."""
        if name not in self.source.grown:
            return None
        nodes = (node for node in ast.walk(self.source.tree) if isinstance(node, ast.Name))
        loads = (n for n in nodes if n.id == name and isinstance(n.ctx, ast.Load))
        kinds = set().union(*map(self.kinds, loads))
        array = item_of(kinds) if {kind.type for kind in kinds} <= {list} else None
        title = f"{name}_" if name in RESERVED else name
        return array and (Growing(title, f"{title}_count", len(array[1]) > 1), *array)

    def has_rows(self, node: ast.AST) -> bool:
        """Return whether an expression was a list of lists or tuples."""
        items = [kind.item for kind in self.kinds(node) if kind.type is list and kind.item]
        return bool(items) and all(item.type in (list, tuple) for item in items)

    def row(self, node: ast.expr) -> str:
        """Return the text of a list or tuple as an array."""
        items = self.elements(node)
        return f"np.array([{', '.join(items)}])" if items else self.text(node)

    def record(self, node: ast.AST) -> Record | None:
        """Return the object in the state that an expression is, or None."""
        binding = self.bindings.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(binding, Record):
            return binding
        path = self.path(node)
        if path is None or path[1].optional or not is_storable_type(path[1].kind):
            return None
        text = ast.unparse(node)
        this = self.bindings.get(self.source.self_name)
        env = this.value if isinstance(this, Record) else self.unit.trace.env
        return Record(*path, eval(text, {self.source.self_name: env}))

    def table(self, node: ast.AST) -> Table | None:
        """Return the part of a constant that an expression selects, or None."""
        binding = self.bindings.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(binding, Table):
            return binding
        known = self.known(node)
        if known is not None:
            hint = getattr(node, "attr", getattr(node, "id", "table")).strip("_")
            is_set = isinstance(known.value, (set, frozenset))
            value = list(known.value) if is_set else known.value
            return Table(hint, [value]) if isinstance(value, (list, tuple, dict, str)) else None
        if not isinstance(node, (ast.Subscript, ast.Attribute)):
            return None
        owner = self.table(node.value)
        if isinstance(node, ast.Attribute):
            return owner.item(node.attr) if owner is not None and owner.items() else None
        if owner is None:
            return None
        key = self.known(node.slice)
        if key is not None:
            return owner.item(key.value)
        if isinstance(node.slice, ast.Slice):
            return None
        result = owner.at(self.text(node.slice))
        if result is None:
            reason = "selects from a table whose keys are not 0, 1, ..."
            raise self.obstacle(node, reason, "use a list or an array")
        return result

    def elements(self, node: ast.AST) -> list[str] | None:
        """Return the texts of the items of a list or tuple of known length, or None."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.flat(item) for item in node.elts]
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("tuple", "list"):
            return self._items_of(node.args[0]) if len(node.args) == 1 else None
        if isinstance(node, ast.Name) and isinstance(binding := self.bindings.get(node.id), list):
            return binding
        path = self.path(node)
        if path is not None and not path[1].grows:
            name, layout = path
            if layout.items is not None:
                return [f"state.{field.name}" for field in layout.parts(name)]
            is_flat = layout.kind in (list, tuple) and len(layout.shape) == 1
            return [f"state.{name}[{k}]" for k in range(layout.shape[0])] if is_flat else None
        table = self.table(node)
        if table is not None:
            items = table.items()
            return [self.table_text(item, node) for item in items.values()] if items else None
        kinds = self.kinds(node)
        is_item = isinstance(node, ast.Subscript) and self.growing(node.value) is not None
        is_name = isinstance(node, ast.Name) and self.growing(node) is None
        kind = kinds.pop() if (is_name or is_item) and len(kinds) == 1 else None
        if kind is None or kind.type not in (list, tuple) or not kind.shape:
            return None
        return [f"{self.text(node)}[{k}]" for k in range(kind.shape[0])]

    # --- text ------------------------------------------------------------------------------------

    def text(self, node: ast.AST) -> str:
        """Return the text of a converted expression."""
        if type(node) in _REFUSED:
            raise self.obstacle(node, *_REFUSED[type(node)])
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        result = handler(node) if handler else None
        return self.replaced(node) if result is None else str(result)

    def as_value(self, node: ast.expr) -> str:
        """Return the text of an expression that a name is bound to; tuples stay tuples."""
        path = self.path(node)
        is_tuple = path is not None and path[1].kind is tuple and len(path[1].shape) == 1
        is_tuple |= isinstance(node, ast.Subscript) and self.has_rows(node.value)
        texts = self.elements(node) if is_tuple else None
        if texts and len(texts) <= 8:
            return tuple_of(texts)
        return self.text(node) if isinstance(node, ast.List) else self.argument(node)

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

    def each(self, convert: Callable[[Any], str], nodes: Iterable[ast.AST]) -> list[str]:
        """Return the texts of expressions, whose obstacles are all listed."""
        texts, problem = [], None
        for node in nodes:
            try:
                texts.append(convert(node))
            except ObstacleFound as raised:
                self.unit.obstacles.append(raised.obstacle)
                problem = raised
        if problem is not None:
            raise problem
        return texts

    def replaced(self, node: ast.AST, texts: Mapping[ast.AST, str] | None = None) -> str:
        """Return the original's text with the texts of its parts, which `texts` may contain."""
        start, end = _place(node)
        pieces = []
        parts = (c for c in ast.iter_child_nodes(node) if isinstance(c, (ast.expr, ast.keyword)))
        children = sorted(parts, key=_place)
        converted = self.each(lambda part: (texts or {}).get(part) or self.text(part), children)
        for child, text in zip(children, converted, strict=True):
            place = _place(child)
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
        array = number_array(value)
        if array is not None:
            return self.unit.constant(array, hint)
        reason = f"is of type {type(value).__name__}, which compiled code cannot use"
        raise self.obstacle(node, reason, "use numbers and arrays")

    def table_text(self, table: Table, node: ast.AST) -> str:
        """Return the text of a part of a constant."""
        if not table.indices and isinstance(table.first, NUMBERS):
            return self.value_text(table.first, node)
        text = table.text(self.unit.constant)
        if text is None and (items := table.items()) is not None:
            return tuple_of([self.table_text(item, node) for item in items.values()])
        if text is None:
            raise self.obstacle(node, "is a part of a table without a common type", "use arrays")
        return text

    def _constant(self, node: ast.Constant) -> str | None:
        is_text = isinstance(node.value, (str, bytes))
        return self.value_text(node.value, node) if is_text else None

    def _name(self, node: ast.Name) -> str:
        binding = self.bindings.get(node.id)
        if isinstance(node.ctx, ast.Store):
            self.bindings.pop(node.id, None)
        elif isinstance(binding, list):
            return tuple_of(binding)
        elif isinstance(binding, Alias):
            return binding.text
        elif (growing := self.growing(node)) is not None:
            return growing.text
        elif isinstance(binding, Table):
            return self.table_text(binding, node)
        elif isinstance(binding, Rng):
            return "rng"
        elif binding is None and node.id in self._locals and self.only_state:
            raise self.obstacle(node, "is a local variable", "use an attribute")
        if self.is_self(node):
            raise self.obstacle(node, "is used as a value", "pass the attributes that are used")
        if binding is None and node.id in self._locals:
            return f"{node.id}_" if node.id in RESERVED else node.id
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
        path = self.path(node)
        if path is not None:
            return self._stored(node, *path)
        record, is_env = self.record(node.value), self.is_self(node.value)
        if (record is not None or is_env) and node.attr in ("np_random", "_np_random"):
            return self._rng(node)
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
        is_enum = any(issubclass(kind, enum.Enum) for kind in self.types(node.value))
        return self.text(node.value) if is_enum and node.attr == "value" else None

    def _stored(self, node: ast.AST, name: str, layout: Layout) -> str:
        growing = self.growing(node)
        if growing is not None:
            return growing.text
        is_record = layout.items is not None
        return tuple_of(self.elements(node) or []) if is_record else f"state.{name}"

    def _rng(self, node: ast.AST) -> str:
        if not self.unit.seeded:
            change = "call `super().reset(seed=seed)` first"
            raise self.obstacle(node, "draws before `reset` has seeded the generator", change)
        return "rng"

    def _subscript(self, node: ast.Subscript) -> str | None:
        path = self.path(node)
        if path is not None:
            return self._stored(node, *path)
        index = self.known(node.slice)
        items = self.bindings.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(items, list) and index is not None and isinstance(index.value, int):
            return items[index.value]
        known = self.known(node) if isinstance(node.ctx, ast.Load) else None
        if known is not None:
            return self.value_text(known.value, node)
        table = self.table(node) if isinstance(node.ctx, ast.Load) else None
        if table is not None:
            return self.table_text(table, node)
        if isinstance(node.slice, ast.Tuple) or self.types(node.slice) != {tuple}:
            return None
        place = self.elements(node.slice)
        return self.replaced(node, {node.slice: ", ".join(place)}) if place else None

    def _list(self, node: ast.List) -> str:
        known = self.known(node)
        if known is not None:
            return self.value_text(known.value, node)
        starred = [item for item in node.elts if isinstance(item, ast.Starred)]
        if any(self.elements(item.value) is None for item in starred):
            parts = [
                self.text(item.value)
                if isinstance(item, ast.Starred)
                else f"np.array([{self.row(item)}])"
                for item in node.elts
            ]
            return f"np.concatenate({tuple_of(parts)})"
        if any(tuple in self.types(item) for item in node.elts):
            return tuple_of([*map(self.flat, node.elts)])
        return f"np.array({self.argument(node)})"

    def argument(self, node: ast.expr) -> str:
        """Return the text of an argument, which may be a list; lists of tuples become tuples."""
        if isinstance(node, ast.List) and any(tuple in self.types(item) for item in node.elts):
            return tuple_of([*map(self.argument, node.elts)])
        if isinstance(node, ast.List):
            return f"[{', '.join(map(self.argument, node.elts))}]"
        known = self.known(node)
        if known is not None and isinstance(known.value, tuple) and len(known.value) <= 4:
            return tuple_of([self.value_text(item, node) for item in known.value])
        return self.text(node)

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
        if self.types(node) & {list, str}:
            known = self.known(node)
            if known is not None:
                return self.value_text(known.value, node)
            if str in self.types(node):
                raise self.obstacle(node, *_REFUSED[ast.JoinedStr])
            if not isinstance(node.op, ast.Add):
                display = node.left if isinstance(node.left, ast.List) else node.right
                count = node.right if display is node.left else node.left
                if not isinstance(display, ast.List) or len(display.elts) != 1:
                    raise self.obstacle(node, "repeats a list", "use an array")
                return f"np.full({self.joined([count, *display.elts])})"
            texts = [self.flat(p) for p in (node.left, node.right) if self.elements(p) != []]
            texts = [f"np.array({text})" if text[0] == "(" else text for text in texts]
            return f"np.concatenate({tuple_of(texts)})"
        parts = node.left, node.right
        if self.types(node) >= {np.float32, np.float64}:
            self._doubt_types(node, [*parts])
        if self.is_narrow(node):
            left, right = map(self.narrow_operand, parts)
            if isinstance(node.op, ast.Pow):
                return f"jit.math.powf({left}, {right})"
            operator = self.source.segment(_place(node.left)[1], _place(node.right)[0]).strip(" ()")
            return f"np.float32({left} {operator} {right})"
        for part, other in (parts, parts[::-1]):
            if self.types(part) == {tuple} and self.types(other) == {np.ndarray}:
                return self.replaced(node, {part: f"np.array({self.flat(part)})"})
        # A scalar of float64 makes NumPy compute in that type, but functions have only numbers.
        if any(kind.dtype == np.float64 for kind in self.kinds(node)):
            for part, other in (parts, parts[::-1]):
                is_narrow = any(kind.dtype == np.float32 for kind in self.kinds(part))
                if is_narrow and np.float64 in self.types(other):
                    return self.replaced(node, {part: f"{self.enclosed(part)}.astype(np.float64)"})
        return None

    def _unaryop(self, node: ast.UnaryOp) -> str | None:
        truth = self.truth(node) if isinstance(node.op, ast.Not) else None
        if truth is None and isinstance(node.op, ast.Not) and self.types(node.operand) == {list}:
            return f"(not {self.condition(node.operand)})"
        return None if truth is None else str(truth)

    def condition(self, node: ast.expr) -> str:
        """Return the text of a condition; a list is true if it has items."""
        growing = self.growing(node)
        if growing is not None:
            return f"{growing.length}[0] > 0"
        return f"len({self.text(node)}) > 0" if self.types(node) == {list} else self.flat(node)

    def _boolop(self, node: ast.BoolOp) -> str | None:
        truth = self.truth(node)
        if truth is not None:
            return str(truth)
        unknown = [value for value in node.values if self.truth(value) is None]
        texts: dict[ast.AST, str] = {}
        texts |= {v: self.condition(v) for v in unknown if self.types(v) == {list}}
        if len(unknown) == len(node.values):
            return self.replaced(node, texts)
        return (" or " if isinstance(node.op, ast.Or) else " and ").join(
            texts.get(value) or self.enclosed(value) for value in unknown
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
        truth = self.truth(node)
        if truth is not None:
            return str(truth)
        operation, right = node.ops[0], node.comparators[0]
        path = self.path(node.left)
        if isinstance(operation, (ast.Is, ast.IsNot)) and path is not None:
            negation = "not " if isinstance(operation, ast.Is) else ""
            return f"({negation}state.{path[1].flag(path[0])})"
        if isinstance(operation, (ast.Eq, ast.NotEq)) and self._is_sequence(node.left, right):
            items = self.elements(node.left), self.elements(right)
            if items[0] and items[1] and len(items[0]) == len(items[1]):
                equal = _all_equal(items[0], items[1])
                return equal if isinstance(operation, ast.Eq) else f"(not {equal})"
            is_list = isinstance(right, ast.List) or list in self.types(right)
            if is_list and self.types(node.left) | self.types(right) <= {list}:
                negation = "not " if isinstance(operation, ast.NotEq) else ""
                return f"({negation}np.array_equal({self.joined([node.left, right])}))"
        if isinstance(operation, (ast.In, ast.NotIn)):
            return self._membership(node, right)
        operands = [node.left, *node.comparators]
        if any(map(self.is_narrow, operands)):
            return self.replaced(node, {part: self.narrow_operand(part) for part in operands})
        return None

    def call_of(
        self, name: str, body: str, texts: list[str], names: Sequence[str] = ("items", "value")
    ) -> str:
        """Return the call of a function of the module with some statements."""
        helper = self.unit.helper(name, body, tuple(names[: len(texts)]))
        return f"{helper.name}({', '.join(texts)})"

    def _is_sequence(self, *nodes: ast.expr) -> bool:
        sequences = {list, tuple}
        return any(isinstance(n, (ast.Tuple, ast.List)) or self.types(n) & sequences for n in nodes)

    def _membership(self, node: ast.Compare, right: ast.expr) -> str | None:
        known, path = self.known(right), self.path(right)
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
        elif self.has_rows(right) or (
            path is not None and path[1].grows and self.elements(node.left)
        ):
            test = self.call_of("has_row", _HAS_ROW, [self.text(right), self.row(node.left)])
        elif path is not None and len(path[1].shape) == 1:
            test = f"np.any({self.text(right)} == {self.enclosed(node.left)})"
        else:
            return None
        return f"(not {test})" if isinstance(node.ops[0], ast.NotIn) else test

    def _items_of(self, node: ast.expr) -> list[str] | None:
        """Return the texts of the items of a short sequence or array, or None."""
        texts, kinds = self.elements(node), self.kinds(node)
        shape = kinds.pop().shape if len(kinds) == 1 else None
        if texts is None and shape is not None and len(shape) == 1 and shape[0] <= 8:
            return [f"{self.enclosed(node)}[{k}]" for k in range(shape[0])]
        return texts

    def _starred(self, node: ast.Starred) -> str:
        items = self.elements(node.value)
        if items is None:
            raise self.obstacle(node, "unpacks a value of unknown length", "write each item")
        return ", ".join(items)


def tuple_of(texts: list[str]) -> str:
    """Return the text of a tuple."""
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def word_in(word: str, text: str) -> bool:
    """Return whether a text has a name."""
    return re.search(rf"(?<![\w.]){word}\b", text) is not None


def _place(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where the text of an expression begins and ends."""
    assert isinstance(node, (ast.expr, ast.keyword, ast.stmt))
    end = node.end_lineno or node.lineno, node.end_col_offset or 0
    return (node.lineno, node.col_offset), end


def _all_equal(left: Iterable[str], right: Iterable[str]) -> str:
    return f"({' and '.join(f'{a} == {b}' for a, b in zip(left, right, strict=True))})"


def is_builtin(value: object) -> bool:
    return vars(builtins).get(getattr(value, "__name__", ""), builtins) is value


def _is_pure(called: object) -> bool:
    """Return whether a function returns the same value for the same arguments."""
    owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
    if isinstance(owner, (np.ndarray, tuple, list, dict, str)):
        return name in _PURE_METHODS
    if isinstance(called, type) and issubclass(called, enum.Enum):
        return True
    return called in _PURE_BUILTINS if is_builtin(called) else name_of(called) is not None


def name_of(value: object) -> str | None:
    """Return the name of a function or type of Python, NumPy or `math`; None for others."""
    name = getattr(value, "__name__", "")
    if not name or not callable(value):
        return None
    if is_builtin(value):
        return str(name)
    modules = ((np, "np"), (np.linalg, "np.linalg"), (math, "math"))
    return next((f"{title}.{name}" for m, title in modules if vars(m).get(name) is value), None)
