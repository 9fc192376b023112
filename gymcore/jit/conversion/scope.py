"""What is known about the expressions of a function, without their text."""

from __future__ import annotations

import ast
import builtins
import enum
import inspect
import math
from collections import deque
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from types import FunctionType, MethodType
from typing import Any, NamedTuple, Self

import numpy as np

from gymcore.jit.conversion.layouts import Layout, items_of
from gymcore.jit.conversion.lists import Growing, item_of
from gymcore.jit.conversion.obstacles import Obstacle, ObstacleFound
from gymcore.jit.conversion.pools import Pool
from gymcore.jit.conversion.shared_draws import LANE_GENERATOR
from gymcore.jit.conversion.source import (
    Source,
    changed_by_methods,
    is_convertible,
    is_storable,
    method_of,
)
from gymcore.jit.conversion.syntax import called_name, names_in, parsed
from gymcore.jit.conversion.tables import Table
from gymcore.jit.conversion.tracing import Chain, Kind
from gymcore.jit.conversion.unit import Unit, local_name

__all__ = [
    "Alias",
    "Binding",
    "Known",
    "Local",
    "Scope",
    "Stored",
    "is_builtin",
    "name_of",
    "named_table",
]

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


def is_always_true(types: set[type]) -> bool:
    """Return whether the types are those of enumerations whose members are no numbers or texts."""
    defined = {"__bool__", "__len__"}
    return bool(types) and all(
        issubclass(kind, enum.Enum)
        and not any(defined & vars(base).keys() for base in kind.__mro__)
        for kind in types
    )


class Known(NamedTuple):
    """A value that is known before the class is compiled."""

    value: Any


class Stored(NamedTuple):
    """A part of the state: an attribute, or an item of one.

    Attributes:
        name: Its field, or what the names of its fields begin with.
        layout: Its layout.
        value: The value that it had in a run.
        place: The text of the row of the object that it is or belongs to, in a pool, or of the
            number of a key; empty for other parts.
    """

    name: str
    layout: Layout
    value: object
    place: str = ""

    @property
    def flag(self) -> str:
        """The text of the field that is False if the value is None."""
        return self.field(self.layout.flag(self.name))

    def field(self, name: str) -> str:
        """Return the text of a field of it."""
        return f"state.{name}[{self.place}]" if self.place else f"state.{name}"

    @classmethod
    def in_pool(cls, pool: Pool, row: str) -> Stored:
        """Return the object in a row of a pool."""
        return cls(pool.name, pool.layout, pool.sample, row)

    def at_key(self, place: str) -> Stored:
        """Return the number of a dict whose numbers are in an array, at a place in it."""
        layout = Layout(self.layout.item, self.layout.dtype, self.layout.shape[1:])
        place = f"{self.place}, {place}" if self.place else place
        return Stored(self.name, layout, None, place)

    def list_at(self, index: str) -> Growing:
        """Return the list at an index, if it is a list of lists that grow."""
        start = index if index.isdigit() else f"{index} % {self.layout.lists}"  # it may be negative
        end = str(int(index) + 1) if index.isdigit() else f"{start} + 1"
        length = f"{self.field(self.layout.length(self.name))}[{start} : {end}]"
        shape = self.layout.shape[1:]
        return _growing(f"{self.field(self.name)}[{index}]", length, self.layout, shape)

    def has_constant(self, name: str) -> bool:
        """Return whether the object has an attribute that does not change."""
        if name in getattr(self.value, "__dict__", ()):
            is_stored = bool(self.place) or name in (self.layout.items or {})
            return not is_stored and name not in changed_by_methods(self.layout.kind)
        defined, is_record = method_of(self.layout.kind, name), hasattr(self.layout.kind, "_fields")
        if not (is_record or is_storable(self.layout.kind)):
            return False
        return not (isinstance(defined, property) or callable(defined)) and defined is not None


class Local(NamedTuple):
    """A function that is defined in another one."""

    source: Source


class Alias(NamedTuple):
    """The text that replaces a name."""

    text: str


Binding = Known | Table | Stored | Local | Alias | Growing | list[str]
"""Replaces a local name that is not a variable; a list has the texts of its items."""


def named_table(name: str, table: Table) -> dict[str, Binding]:
    """Return what a name for a part of a constant and the names of its indices stand for."""
    names = [f"{name}_{k}" for k in range(len(table.indices))]
    indices = tuple(map(parsed, names))
    return {name: table._replace(indices=indices), **{n: Alias(n) for n in names}}


class Scope:
    """What is known about the expressions of one function in the calls that it runs in.

    Attributes:
        unit: The class, and decisions that its functions share.
        source: The function.
        chain: The calls that it runs in.
        bindings: The replacement of each local name that is not a variable.
        role: "reset" or "step" if the function returns what `reset` or `step` returns,
            "observation" or "info" if it writes what it returns, or "".
        only_state: Whether local variables must not be used.
        round: The rounds of loops that are written round by round.
        lines: The converted lines.
        indent: The level of the next line.
        synthetic: Text and type of expressions that are not the original's.
        given: The kinds of the arguments in the call, for code that never ran.
        outputs: Local names of observations and infos, which have been written already.
    """

    def __init__(
        self,
        unit: Unit,
        source: Source,
        chain: Chain,
        bindings: Mapping[str, Binding],
        role: str = "",
    ) -> None:
        """Begin a function."""
        self.unit, self.source, self.chain, self.role = unit, source, chain, role
        self.bindings: dict[str, Binding] = dict(bindings)
        self.only_state, self.round = False, tuple[object, ...]()
        self.lines, self.indent, self.outputs = list[str](), 1, set[str]()
        outer = inspect.getclosurevars(source.function).nonlocals
        self._names: dict[str, object] = {**source.function.__globals__, **outer}
        self._locals = source.names | source.outer_names
        self._inferred = set[ast.AST]()  # whose pool is being inferred
        self._open_names = set[str]()  # whose values are being read
        self.given: dict[str, set[Kind]] = {}
        self.synthetic: dict[ast.AST, tuple[str, type]] = {}
        is_env = source.self_name not in self.bindings
        self.self_name = source.self_name if is_env else ""

    def inner(
        self, source: Source, chain: Chain, bindings: Mapping[str, Binding], role: str
    ) -> Self:
        """Return the conversion of another function, or of this one in another role."""
        result = type(self)(self.unit, source, chain, bindings, role)
        result.round = self.round
        return result

    def emit(self, text: str, column: int = 0) -> None:
        """Add a statement; the lines of its text after the first are indented by `column`."""
        first, *rest = text.split("\n")
        head = "    " * self.indent
        self.lines.append(f"{head}{first}".rstrip())
        for line in rest:
            margin = min(column, len(line) - len(line.lstrip()))
            self.lines.append(f"{head}{line[margin:]}".rstrip())

    def hidden(self, name: str, *targets: ast.expr) -> str:
        """Return a name for a variable that the original does not have.

        Args:
            name: The name, which gets a `_` if the original has a variable of the name.
            *targets: Variables that are assigned right after this one, and may have its name.
        """
        names = self._locals - {node.id for node in names_in(*targets)}
        return name if name not in names else self.hidden(f"{name}_", *targets)

    def obstacle(self, node: ast.AST, reason: str, change: str) -> ObstacleFound:
        """Return the exception for an expression."""
        text = ast.unparse(node).partition("\n")[0]
        text = f"{text[:77]}..." if len(text) > 80 else text
        line = getattr(node, "lineno", 1) + self.source.first_line - 1
        return ObstacleFound(Obstacle(self.source.file, line, text, reason, change))

    def bound(self, node: ast.AST) -> Binding | None:
        """Return what a name stands for; None for variables, and for other expressions."""
        return self.bindings.get(node.id) if isinstance(node, ast.Name) else None

    @property
    def this(self) -> object:
        """The original of `self`, after its runs."""
        this = self.bindings.get(self.source.self_name)
        return this.value if isinstance(this, (Known, Stored)) else self.unit.trace.env

    # --- values, types and conditions ------------------------------------------------------------

    def known(self, node: ast.AST) -> Known | None:
        """Return the value of an expression; None if it is not known."""
        if isinstance(node, ast.Constant):
            return Known(node.value)
        return self._evaluated(node) if self._is_known(node) else None

    def _evaluated(self, node: ast.AST) -> Known | None:
        names = {n.id: self._names[n.id] for n in names_in(node) if n.id in self._names}
        names |= {n: b.value for n, b in self.bindings.items() if isinstance(b, (Known, Stored))}
        names[self.self_name] = self.this
        names["super"] = lambda *args: super(args[0] if args else self.source.owner, self.this)
        try:
            assert isinstance(node, ast.expr)
            value = eval(compile(ast.Expression(node), "<known>", "eval"), names)
            is_view = isinstance(value, (KeysView, ValuesView, ItemsView))
            return Known([*value] if is_view else value)
        except Exception:
            return None

    def _is_known(self, node: ast.AST) -> bool:
        """Return whether the value of an expression does not change, so that it can be computed."""
        if isinstance(node, ast.Name):
            is_global = node.id in self._names or hasattr(builtins, node.id)
            is_free = is_global and node.id not in self._locals
            return isinstance(self.bound(node), Known) or self.is_self(node) or is_free
        if isinstance(node, (ast.Attribute, ast.Subscript)) and self.stored(node) is not None:
            return False
        if isinstance(node, ast.Attribute) and (owner := self.stored(node.value)) is not None:
            return owner.has_constant(node.attr)
        if isinstance(node, ast.Attribute) and self.is_self(node.value):
            name = node.attr
            changes = name in self.unit.trace.names | self.unit.generators
            is_property = isinstance(method_of(self.unit.cls, name), property)
            return not changes and not is_property and self.unit.parameter(name) is None
        if isinstance(node, ast.Call) and called_name(node).partition("(")[0] != "super":
            function = self.known(node.func)  # never evaluated if it has effects itself
            if function is None or not _is_pure(function.value):
                return False
        is_pure = isinstance(node, _PURE_NODES)
        return is_pure and all(self._is_known(part) for part in ast.iter_child_nodes(node))

    def assigned_values(self, name: str) -> Iterator[ast.expr]:
        """Yield what assignments give a name; nothing while a caller iterates over them."""
        if name in self._open_names:
            return
        self._open_names.add(name)
        try:
            for node in ast.walk(self.source.tree):
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                    yield node.value
        finally:
            self._open_names.discard(name)

    def is_generator(self, node: ast.AST) -> bool:
        """Return whether an expression is a generator."""
        if isinstance(node, ast.Name):
            return node.id == LANE_GENERATOR
        return isinstance(node, ast.Attribute) and node.attr in self.unit.generators

    def is_self(self, node: ast.AST) -> bool:
        """Return whether an expression is `self`."""
        return isinstance(node, ast.Name) and node.id == self.self_name

    def kinds(self, node: ast.AST) -> set[Kind]:
        """Return the kinds that an expression had."""
        if node in self.synthetic:
            return {Kind(self.synthetic[node][1])}
        if isinstance(node, ast.Constant):
            return {Kind(type(node.value))}
        kinds = self.unit.trace.kinds_of(self.chain, node)
        if not isinstance(node, ast.Name) or self.source.stores[node.id]:
            return kinds
        given = self.given.get(node.id, set())
        return given if given and self.chain not in self.unit.trace.kinds else kinds or given

    def kind(self, node: ast.AST) -> Kind | None:
        """Return the kind of an expression that always had the same one, or None."""
        kinds = self.kinds(node)
        return kinds.pop() if len(kinds) == 1 else None

    def types(self, node: ast.AST) -> set[type]:
        """Return the types that an expression had."""
        return {kind.type for kind in self.kinds(node)}

    def item_types(self, node: ast.AST) -> set[type]:
        """Return the types of the items of the arrays that an expression was."""
        return {kind.dtype.type for kind in self.kinds(node) if kind.dtype is not None}

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
        if isinstance(node, ast.Compare):
            return self._truth_of_comparison(node)
        if isinstance(node, ast.Call) and called_name(node) == "isinstance":
            types, wanted = self.types(node.args[0]), self.known(node.args[1])
            if types and wanted is not None:
                return all(issubclass(kind, wanted.value) for kind in types)
        return True if is_always_true(self.types(node)) else False if self.is_none(node) else None

    def _truth_of_comparison(self, node: ast.Compare) -> bool | None:
        """Return the result of a comparison with None, if it is known."""
        left, right = self.is_none(node.left), self.is_none(node.comparators[0])
        operation = node.ops[0]
        if isinstance(operation, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
            is_known = len(node.ops) == 1 and None not in (left, right) and (left or right)
            return (left == right) == isinstance(operation, (ast.Is, ast.Eq)) if is_known else None
        items = node.comparators[0]
        if isinstance(operation, (ast.In, ast.NotIn)) and left and isinstance(items, ast.Tuple):
            are_none = [self.is_none(item) for item in items.elts]
            if None not in are_none:
                return any(are_none) == isinstance(operation, ast.In)
        return None

    def _with_size(self, node: ast.expr) -> ast.expr:
        """Return a comparison of the size of an array that has one shape, with its value."""
        left = node.left if isinstance(node, ast.Compare) else None
        if not isinstance(left, ast.Attribute) or left.attr not in ("size", "ndim"):
            return node
        kind = self.kind(left.value)
        shape = kind.shape if kind is not None else None
        if shape is None or not isinstance(node, ast.Compare):
            return node
        number = math.prod(shape) if left.attr == "size" else len(shape)
        result = ast.Compare(ast.Constant(number), node.ops, node.comparators)
        return ast.fix_missing_locations(ast.copy_location(result, node))

    def is_none(self, node: ast.expr) -> bool | None:
        """Return whether an expression is None; None if it may be both."""
        stored, known = self.stored(node), self.known(node)
        if known is not None:
            return known.value is None
        if stored is not None:
            return None if stored.layout.optional else stored.layout.kind is type(None)
        if self.is_converted_call(node) and not self._returns_only_none(node):
            return None
        is_none = {kind is type(None) for kind in self.types(node)}
        return is_none.pop() if len(is_none) == 1 else None

    def _returns_only_none(self, node: ast.expr) -> bool:
        """Return whether a call calls a function without a `return` of another value than None."""
        values = self.unit.source_of(self.called(node)).returned()
        return all(value is None or _is_none_constant(value) for value in values)

    # --- attributes, lists and objects -----------------------------------------------------------

    def stored(self, node: ast.AST) -> Stored | None:
        """Return the part of the state that an expression is, or None."""
        if isinstance(node, ast.Attribute) and self.is_self(node.value):
            if node.attr in self.unit.bad:
                raise self.obstacle(node, *self.unit.bad[node.attr])
            layout = self.unit.layouts.get(node.attr)
            return layout and Stored(node.attr, layout, self._sample(node.attr))
        if isinstance(binding := self.bound(node), Stored):
            return binding
        if not isinstance(node, (ast.Attribute, ast.Subscript)):
            return None
        owner = self.pooled(node.value) or self.stored(node.value)
        if owner is None or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
            return None  # for slices, see `Expressions.elements`
        if isinstance(node, ast.Subscript) and owner.layout.keys:
            return owner.at_key(self.key_text(owner, node.slice))
        if owner.layout.items is None:
            return None
        keys, kind = list(owner.layout.items), owner.layout.kind
        if isinstance(node, ast.Subscript) and not issubclass(kind, (tuple, list, dict)):
            raise self.obstacle(node, "selects an item of an object", "call a method")
        if isinstance(node, ast.Attribute) and node.attr not in keys:
            return None
        index = Known(node.attr) if isinstance(node, ast.Attribute) else self.known(node.slice)
        key = index.value if index is not None else None
        if isinstance(key, int) and -len(keys) <= key < len(keys):
            key = keys[key]
        if key not in keys:
            items = [*owner.layout.items.values()]
            are_alike = all(item == items[0] for item in items) and items[0].dtype is not None
            if index is None and are_alike and not items[0].grows and not owner.place:
                self.unit.let_index(owner.name)
            raise self.obstacle(node, "selects an item by an index that varies", "use an array")
        values = items_of(owner.value) or {}
        layout, value = owner.layout.items[key], values.get(key)
        return owner._replace(name=f"{owner.name}_{key}", layout=layout, value=value)

    def _sample(self, name: str) -> object:
        """Return the value of an attribute after the runs; of a list, one that has items."""
        value = vars(self.unit.trace.env).get(name)
        samples = self.unit.trace.samples.get(name, [])
        is_empty = isinstance(value, (list, deque)) and not value
        return next((v for v in samples if v), value) if is_empty else value

    def key_text(self, owner: Stored, node: ast.expr) -> str:
        """Return the text of the place of a key; `Expressions` converts keys that vary."""
        known = self.known(node)
        if known is None or known.value not in owner.layout.keys:
            raise self.obstacle(node, "is a key that varies", "use an array")
        return str(owner.layout.keys.index(known.value))

    def row_text(self, node: ast.AST) -> str:
        """Return the text of the row of an object in a pool; `Expressions` converts it."""
        raise NotImplementedError

    def pooled(self, node: ast.AST) -> Stored | None:
        """Return the object of a pool that an expression is, or None."""
        pool = self.pool_of(node)
        if pool is None:
            return None
        return Stored.in_pool(pool, self.row_text(node))

    def pool_of(self, node: ast.AST) -> Pool | None:
        """Return the pool whose objects an expression has, None apart; None for others."""
        pools = self.unit.pools
        if not pools or node in self._inferred:
            return None
        is_item = isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice)
        pool = (
            self.pool_of_items(node.value) if isinstance(node, ast.Subscript) and is_item else None
        )
        if pool is not None:
            return pool
        stored = self.stored(node)
        if stored is not None:
            return pools.get(stored.layout.kind)
        types = self.types(node) - {type(None)}
        is_tuple = types == {tuple} and isinstance(node, ast.Call)  # perhaps of a list of tuples
        if types and not is_tuple:
            return pools.get(types.pop()) if len(types) == 1 else None
        self._inferred.add(node)
        try:
            return self._inferred_pool(node)
        finally:
            self._inferred.discard(node)

    def _inferred_pool(self, node: ast.AST) -> Pool | None:
        """Return the pool of an expression in code that never ran."""
        if isinstance(node, ast.IfExp):
            return self.pool_of(node.body) or self.pool_of(node.orelse)
        if isinstance(node, ast.Call):
            called = self.called(node)
            if isinstance(called, type):
                return self.unit.pools.get(called)
            method = node.func
            if isinstance(method, ast.Attribute) and method.attr in ("pop", "popleft"):
                return self.pool_of_items(method.value)
            if isinstance(method, ast.Attribute) and method.attr == "_replace":
                return self.pool_of(method.value)
            is_choice = called in (min, max) and len(node.args) == 1
            return self.pool_of_items(node.args[0]) if is_choice else None
        if not isinstance(node, ast.Name):
            return None
        types = set().union(*map(self.types, self.source.loads(node.id))) - {type(None)}
        if types:
            return self.unit.pools.get(types.pop()) if len(types) == 1 else None
        pools = list[Pool]()
        for part in ast.walk(self.source.tree):
            targets = [*getattr(part, "targets", ()), getattr(part, "target", None)]
            pool: Pool | None = None
            if isinstance(part, (ast.For, ast.comprehension)):
                pool = self._pool_of_target(node.id, part.target, part.iter)
            elif any(isinstance(t, ast.Name) and t.id == node.id for t in targets):
                value = getattr(part, "value", None)
                pool = self.pool_of(value) if value is not None else None
            if pool is not None and pool.kind is not tuple:  # names have the tuples themselves
                pools.append(pool)
        if any(pool is not pools[0] for pool in pools):
            reason = "is the name of objects of several classes"
            raise self.obstacle(node, reason, "write a name for each class")
        return pools[0] if pools else None

    def _pool_of_target(self, name: str, target: ast.expr, items: ast.expr) -> Pool | None:
        """Return the pool of a name in the target of a loop, or None."""
        if isinstance(target, ast.Name):
            return self.pool_of_items(items) if target.id == name else None
        columns: list[ast.expr] = items.args if isinstance(items, ast.Call) else []
        if called_name(items) == "enumerate":
            columns = [ast.Constant(0), *columns]
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        pools = (self._pool_of_target(name, *pair) for pair in zip(parts, columns, strict=False))
        return next((pool for pool in pools if pool is not None), None)

    def pool_of_items(self, node: ast.AST) -> Pool | None:
        """Return the pool whose objects are the items of an expression, or None."""
        pools = self.unit.pools
        if not pools:
            return None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            return self.pool_of_items(node.value)
        growing = self.growing(node)
        if growing is not None:
            return pools.get(growing.item)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self.pool_of(node.elt)
        if isinstance(node, (ast.List, ast.Tuple)):
            return self.pool_of(node.elts[0]) if node.elts else None
        name = called_name(node)
        if isinstance(node, ast.Call) and name in ("list", "sorted", "reversed", "tuple"):
            return self.pool_of_items(node.args[0])
        stored = self.stored(node)
        if stored is not None:
            return pools.get(stored.layout.item)
        kinds = {kind.item.type for kind in self.kinds(node) if kind.item is not None}
        return pools.get(kinds.pop()) if len(kinds) == 1 else None

    def growing(self, node: ast.AST) -> Growing | None:
        """Return the list that grows that an expression is, or None."""
        if isinstance(node, ast.Name):
            binding = self.bound(node)
            local = self.local_list(node.id) if binding is None else None
            return binding if isinstance(binding, Growing) else local[0] if local else None
        stored = self.stored(node)
        if stored is None or not stored.layout.grows or stored.layout.dtype is None:
            return None
        if stored.layout.lists:
            return None
        name, layout = stored.name, stored.layout
        length = stored.field(layout.length(name))
        return _growing(stored.field(name), length, layout, layout.shape)

    def local_list(self, name: str) -> tuple[Growing, np.dtype, tuple[int, ...]] | None:
        """Return a local list that grows, with dtype and shape of the array; or None."""
        if name not in self.source.grown:
            return None
        kinds = set().union(*map(self.kinds, self.source.loads(name)))
        types, title = {kind.type for kind in kinds} or {list}, local_name(name)
        array = item_of(kinds, self.unit.pools) if types in ({list}, {set}) else None
        if array is not None and not any(kind.item for kind in kinds):
            array = self._appended(name, array)
        kind = types.pop()
        if array is None:
            return None
        dtype, shape, item = array
        width = shape[1] if len(shape) > 1 else 0
        return Growing(title, f"{title}_count", width, item, shape[0], kind), dtype, shape

    def _appended(
        self, name: str, array: tuple[np.dtype, tuple[int, ...], type]
    ) -> tuple[np.dtype, tuple[int, ...], type]:
        """Return dtype, shape and type of the items of a local list to which nothing was added."""
        calls = (n for n in ast.walk(self.source.tree) if isinstance(n, ast.Call))
        values = (call.args[0] for call in calls if called_name(call) == f"{name}.append")
        items = {pool.reference for pool in map(self.pool_of, values) if pool is not None}
        return (np.dtype(np.int64), array[1], items.pop()) if len(items) == 1 else array

    def has_rows(self, node: ast.AST) -> bool:
        """Return whether an expression is a list or set of lists or tuples."""
        growing = self.growing(node)
        if growing is not None:
            return growing.width > 0
        kinds = (kind for kind in self.kinds(node) if kind.type in (list, set))
        items = [kind.item for kind in kinds if kind.item]
        return bool(items) and all(item.type in (list, tuple) for item in items)

    def record(self, node: ast.AST) -> Stored | None:
        """Return the object in the state that an expression is, or None."""
        return self.pooled(node) or self.embedded(node)

    def embedded(self, node: ast.AST) -> Stored | None:
        """Return the object whose attributes are fields of the state itself, or None."""
        stored = self.stored(node)
        if stored is None or stored.layout.optional or stored.layout.kind in self.unit.pools:
            return None
        return stored if is_storable(stored.layout.kind) else None

    def table(self, node: ast.AST) -> Table | None:
        """Return the part of a constant that an expression selects, or None."""
        if isinstance(binding := self.bound(node), Table):
            return binding
        known = self.known(node)
        if known is not None:
            hint = getattr(node, "attr", getattr(node, "id", "table")).strip("_")
            has_items = isinstance(known.value, (set, frozenset, enum.EnumType))
            value: object = list(known.value) if has_items else known.value
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
        result = owner.at(node.slice)
        if result is None:
            reason = "selects from a table whose keys are not 0, 1, ..."
            raise self.obstacle(node, reason, "use a list or an array")
        return result

    def called(self, node: ast.AST) -> object:
        """Return the function that a call calls; None if it is not known.

        Methods of objects are bound to their `Stored`, and those of members of enumerations to
        the expression.
        """
        if not isinstance(node, ast.Call):
            return None
        if isinstance(local := self.bound(node.func), Local):
            return local
        if isinstance(node.func, ast.Attribute):
            record = self.record(node.func.value)
            kind = record.layout.kind if record is not None else self._enum(node.func.value)
            defined = method_of(kind, node.func.attr) if kind is not None else None
            if isinstance(defined, FunctionType) and (
                record is not None or is_convertible(defined)
            ):
                return MethodType(defined, record or node.func.value)
        known = self.known(node.func)
        this = self.bindings.get(self.source.self_name)
        if known and isinstance(this, Stored) and called_name(node).startswith("super("):
            return MethodType(known.value.__func__, this)
        return known and known.value

    def _enum(self, node: ast.AST) -> type | None:
        types = self.types(node)
        kind = types.pop() if len(types) == 1 else object
        return kind if issubclass(kind, enum.Enum) else None

    def is_converted_call(self, node: ast.AST) -> bool:
        """Return whether an expression calls a function that is converted."""
        return is_convertible(self.called(node))


def _is_none_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _growing(items: str, length: str, layout: Layout, shape: tuple[int, ...]) -> Growing:
    width = shape[1] if len(shape) > 1 else 0
    return Growing(items, length, width, layout.item, shape[0], layout.kind)


def is_builtin(value: object) -> bool:
    """Return whether a value is a function or type of Python."""
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
