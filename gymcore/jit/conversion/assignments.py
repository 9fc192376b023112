"""Conversion of assignments, and of the effects of expressions."""

from __future__ import annotations

import ast
import functools
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np

from gymcore.jit.conversion.copies import copied, whole
from gymcore.jit.conversion.expressions import tuple_of
from gymcore.jit.conversion.keys import Keys
from gymcore.jit.conversion.layouts import Layout, number_array
from gymcore.jit.conversion.lists import FUNCTIONS, Growing
from gymcore.jit.conversion.loops import known_rounds, unrolled
from gymcore.jit.conversion.outputs import write_info, write_observation
from gymcore.jit.conversion.scope import (
    Alias,
    Binding,
    Known,
    Local,
    Stored,
    named_table,
)
from gymcore.jit.conversion.source import (
    MUTATING,
    bound_method,
    changed_attributes,
    changed_in_place,
    has_convertible_init,
    method_of,
)
from gymcore.jit.conversion.stores import check_given, check_number, check_value
from gymcore.jit.conversion.syntax import (
    called_name,
    counted,
    is_empty_list,
    keywords_of,
    loaded,
    name_at,
    names_in,
)

__all__ = ["VALUE", "Assignments"]

VALUE = " as a value"
"""In the role of `reset` and `step` that return the observation."""


class Assignments(Keys):
    """Assignments to names, attributes and items."""

    @property
    def _root(self) -> str:
        """The method whose results the function returns, or ""."""
        return self.role.removesuffix(VALUE) if self.role.startswith(("reset", "step")) else ""

    # --- effects and calls of base classes -------------------------------------------------------

    def _check_seeding(self, value: ast.expr) -> None:
        """Refuse generators that are not those that `reset` makes of its seed."""
        known = self.known(value.func) if isinstance(value, ast.Call) else None
        seed = self.known(value.args[0]) if isinstance(value, ast.Call) and value.args else None
        name = getattr(known and known.value, "__name__", "")
        is_seed = seed is not None and seed.value is None  # without one, the lane's goes on
        if self.is_generator(value):
            return
        if self.chain[0] != "reset" or name not in ("default_rng", "np_random") or not is_seed:
            change = "write `np.random.default_rng(seed)` in `reset`"
            raise self.obstacle(value, "makes a generator in another way", change)

    def _has_effect(self, node: ast.AST) -> bool:
        """Return whether an expression itself draws, or may change the state."""
        method = node.func if isinstance(node, ast.Call) else None
        if self.draws(node) or getattr(method, "attr", "") in MUTATING:
            return True
        calls = self.is_converted_call(node) or isinstance(self.called(node), Local)
        return calls or bool(self.changed_by(node))

    def _check_effects(self, node: ast.AST) -> None:
        """Refuse an expression with an effect in a place where the effect would be left out."""
        for part in ast.walk(node):
            if isinstance(part, ast.NamedExpr) or self._has_effect(part):
                change = "write it as a statement, or with `if`"
                raise self.obstacle(node, "has an effect, but its value is not used", change)

    def _effects(self, *nodes: ast.AST) -> None:
        """Emit the calls in expressions that draw, or that may change the state."""
        for node in nodes:
            if self._has_effect(node):
                self.emit(self.text(node))
            elif isinstance(node, (ast.IfExp, ast.BoolOp, ast.ListComp, ast.NamedExpr)):
                self._check_effects(node)
            else:
                self._effects(*ast.iter_child_nodes(node))

    def _base(self, node: ast.AST) -> ast.Call | None:
        """Return a call of `reset` or `step`, such as that of a base class; None for others."""
        if not self._root or not isinstance(node, ast.Call) or not self.is_converted_call(node):
            return None
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("reset", "step"):
            return None
        this = getattr(self.called(node), "__self__", None)
        is_env = hasattr(this.layout.kind if isinstance(this, Stored) else this, "unwrapped")
        return node if is_env else None

    def _base_call(self, call: ast.Call, returns_observation: bool = False) -> str:
        """Return the call of a base class's `reset` or `step`, which writes what it returns."""
        self.unit.decide("observation", "info", "truncated")
        role = ast.unparse(call.func).rpartition(".")[2]
        return self.converted_call(call, self.called(call), f"{role}{VALUE * returns_observation}")

    # --- assignments -----------------------------------------------------------------------------

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assign(node, node.target, node.value)

    def _do_assign(self, node: ast.Assign) -> None:
        *others, last = node.targets
        self._assign(node, last, node.value)
        targets = map(self.stored, node.targets if others else [])
        arrays = [part for part in targets if part and part.layout.shape]
        names = {getattr(target, "attr", "") for target in node.targets}
        if len(arrays) > 1 and names & self.unit.changed_in_place:
            reason = "is an array that two attributes would share, and one changes"
            raise self.obstacle(node.value, reason, "write an assignment for each")
        for target in others:
            self._assign(node, target, node.value if self.is_none(node.value) else loaded(last))

    def _assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        column, value = node.col_offset, self.attribute_of(value)
        if not isinstance(target, ast.Tuple) and not self._is_unused(target):
            self._check_shared(target)
        base = self._base(value)
        if base is not None and isinstance(target, ast.Tuple):
            observation, *others, info = self._results(node, base, target.elts)
            name = ast.unparse(observation)
            is_value = bool(self.source.loads(name)) and not self.source.output_role(name)
            self.outputs |= {ast.unparse(info), "" if is_value else name}
            names = self.joined([observation, *others] if is_value else others)
            call = self._base_call(base, returns_observation=is_value)
            self.emit(f"{names} = {call}" if names else call)
        elif any(self.is_generator(part) for part in getattr(target, "elts", [target])):
            self._check_seeding(value)
        elif isinstance(target, ast.Name):
            self._assign_name(node, target, value)
        elif isinstance(target, ast.Tuple):
            self._assign_items(node, target, value)
        elif self._is_unused(target):
            self._effects(value)
        elif (stored := self.stored(target)) is not None and stored.layout.lists:
            self._store_lists(stored, value)
        elif stored is not None:
            self._check_frozen(target)
            self.store(target, stored, value)
        elif (growing := self.growing(loaded(target))) is not None:
            self.check_sharing(value, self.growing(value))
            self.emit(self.list_call(growing, "assign", [value]))
        elif isinstance(target, ast.Subscript) and self.pool_of_items(target.value) is not None:
            self._assign_object(target, value)
        elif isinstance(target, ast.Subscript) and ast.unparse(target.value) in self.outputs:
            write_info(self, ast.Dict([target.slice], [value]))
        else:
            self.emit(f"{self.text(target)} = {self.flat(value)}", column)

    def _assign_object(self, target: ast.Subscript, value: ast.expr) -> None:
        """Emit the assignment of an item of a list of objects or tuples."""
        pool = self.pool_of_items(target.value)
        assert pool is not None
        if isinstance(target.slice, ast.Slice):
            raise self.obstacle(target, "assigns several objects", "assign each of them")
        if pool.kind is not tuple:
            self.check_objects(ast.copy_location(ast.List([value], ast.Load()), value), pool)
        self.emit(f"{self.row_text(target)} = {self.item_text(value, pool)}", target.col_offset)

    def _check_shared(self, target: ast.expr) -> None:
        """Refuse to change a value of the module or of the class."""
        owner = target.value if isinstance(target, (ast.Attribute, ast.Subscript)) else None
        if owner is None or self.stored(target) is not None:
            return
        if self.known(loaded(target)) is not None or self.known(owner) is not None:
            reason = "is a value of the module or the class, which environments share"
            raise self.obstacle(target, reason, "make it an attribute that `__init__` assigns")

    def _check_frozen(self, target: ast.expr) -> None:
        """Refuse to assign a field of a named tuple or of a frozen data class."""
        owner = self.record(target.value) if isinstance(target, ast.Attribute) else None
        kind = owner.layout.kind if owner is not None else object
        if self.role.startswith("new_"):
            return
        is_frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
        if is_frozen or hasattr(kind, "_fields"):
            raise self.obstacle(target, "is a field that cannot be assigned", "use `_replace`")

    def _results(
        self, node: ast.stmt, call: ast.Call, targets: list[ast.expr]
    ) -> Iterator[ast.expr]:
        """Yield a target for each result of a base class, also for `*_`."""
        count = 2 if ast.unparse(call.func).endswith("reset") else 5
        for target in targets:
            if not isinstance(target, ast.Starred):
                yield target
            elif {*self.source.loads(ast.unparse(target.value))}:
                change = "assign each result to a name"
                raise self.obstacle(node, "assigns several results to one name", change)
            else:
                yield from [target.value] * (count + 1 - len(targets))

    def _is_unused(self, target: ast.expr) -> bool:
        """Return whether a target is an attribute that is never read, or always None."""
        target = target.value if isinstance(target, ast.Subscript) else target
        if not isinstance(target, ast.Attribute):
            return False
        if target.attr.startswith("__") and target.attr.endswith("__"):
            raise self.obstacle(target, "is an attribute of Python itself", "assign others")
        record = self.record(target.value)
        if record is not None:  # reading what a lane cannot have is an obstacle
            is_unused = target.attr not in (record.layout.items or {})
            is_store = not isinstance(target.ctx, ast.Load)
            if is_unused and is_store and method_of(record.layout.kind, target.attr) is not None:
                reason = "is a property or an attribute of the class"
                raise self.obstacle(target, reason, "assign an attribute of the object")
            return is_unused
        if not self.is_self(target.value):
            return False
        is_store = not isinstance(target.ctx, ast.Load)
        if is_store and isinstance(method_of(self.unit.cls, target.attr), property):
            raise self.obstacle(target, "is a property", "assign the attribute that it changes")
        layout = self.unit.layouts.get(target.attr)
        is_none = layout is not None and layout.kind is type(None)
        return is_none or target.attr not in self.unit.read

    def _assign_name(self, node: ast.stmt, target: ast.Name, value: ast.expr) -> None:
        name = target.id
        if (base := self._base(value)) is not None:
            self._assign_results(node, name, base)
            return
        role = self.source.output_role(name) if self._root else ""
        if role == "observation" and self.role.endswith(VALUE):
            role = ""
        if role:
            self.unit.decide(role)
            self.outputs.add(name)
            self._write_output(role, value)
            return
        is_only = self.source.stores[name] == 1
        is_clear = (is_only or self.embedded(value)) and self.source.has_clear_values(name)
        part = self._part_of_state(name, value) if is_clear else None
        if part is not None:
            self.bindings[name] = part
            return
        if (record := self.embedded(value)) is not None:
            self._share(value, record)
        for item in value.elts if isinstance(value, ast.List) else ():
            self._check_listed(name, item)
        either = (value.body, value.orelse) if isinstance(value, ast.IfExp) else ()
        changes = any(
            called_name(node) == f"{name}.{method}"
            for node in ast.walk(self.source.tree)
            for method in MUTATING
        )
        if changes and any(self.growing(part) is not None for part in either):
            raise self.obstacle(value, "is one of two lists, which changes", "write `if`")
        if self.growing(value) is not None:
            reason = "is replaced while it has a name, or is one of several values of the name"
            change = f"write `{ast.unparse(value)}` where the name is used, or copy it"
            raise self.obstacle(value, reason, change)
        is_display = isinstance(value, ast.List) and name in self.source.grown
        if is_empty_list(value) or is_display or self.local_list(name) is not None:
            self._assign_list(node, name, value)
            return
        table, known = self.table(value), self.known(value)
        if known is not None and is_only and number_array(known.value) is None:
            self.bindings[name] = known
        elif table is not None and is_only and table.array() is None:
            for k, index in enumerate(table.indices):
                self.emit(f"{name}_{k} = {self.flat(index)}")
            self.bindings |= named_table(name, table)
        else:
            stored = self.stored(value)
            is_table = known is not None and isinstance(known.value, (list, np.ndarray))
            copy = ".copy()" if is_table and name in self.source.changed_items else ""
            rebound = {n for n, is_whole in changed_attributes(self.source, False) if is_whole}
            if isinstance(value, ast.Attribute) and stored is not None:
                nodes = [*ast.walk(self.source.tree)]
                attributes = (n for n in nodes if isinstance(n, ast.Attribute))
                targets = {n.attr for n in attributes if isinstance(n.ctx, ast.Store)}
                targets |= {n for node in nodes for n in self.changed_by(node, is_whole=True)}
                rebound |= {stored.name} if value.attr in targets else set()
            elif isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
                if self.stored(value.value) and self._is_replaced(name, value.value):
                    raise self.obstacle(value, "names an array that is replaced", "copy it")
            elif isinstance(value, ast.Subscript) and stored is not None:
                items = (n for n in ast.walk(self.source.tree) if isinstance(n, ast.Subscript))
                targets = {ast.unparse(n) for n in items if isinstance(n.ctx, ast.Store)}
                rebound |= {stored.name} if ast.unparse(value) in targets else set()
            owner = self.stored(value.value) if isinstance(value, ast.Subscript) else None
            is_row_of = owner is not None and len(owner.layout.shape) > 1 and not owner.layout.grows
            array = stored if stored is not None and stored.layout.shape else None
            array = owner if is_row_of else array
            if array is not None and array.name in rebound:
                is_changed = name in self.source.changed_items | self.source.augmented
                if is_changed or self._changes_before_replaced(value):
                    raise self.obstacle(value, "names an array that is replaced", "copy it")
                kinds = self.types(value)
                copy = ".copy()" if array is stored or not kinds or np.ndarray in kinds else ""
            is_row = isinstance(value, ast.Subscript) and self.has_rows(value.value)
            text = self.as_value(value) if stored is not None or is_row else self.flat(value)
            if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
                is_table |= self.growing(value.value) is not None
                copy = ".copy()" if is_table else copy
            copy = copy if is_table or text.startswith("state.") else ""
            text = f"({text})" if copy and is_table and not text.isidentifier() else text
            self.emit(f"{self.text(target)} = {text}{copy}", node.col_offset)

    def _changes_before_replaced(self, value: ast.expr) -> bool:
        """Return whether an array with a name may change in place before it is replaced."""
        name, first, changes = getattr(value, "attr", ""), sys.maxsize, list[int]()
        augmented = [n.target for n in ast.walk(self.source.tree) if isinstance(n, ast.AugAssign)]
        for node in ast.walk(self.source.tree):
            if getattr(node, "lineno", 0) <= value.lineno or not isinstance(node, ast.expr):
                continue
            is_store = isinstance(getattr(node, "ctx", None), ast.Store)
            item = node.value if isinstance(node, ast.Subscript) else node
            is_same = is_store and getattr(item, "attr", "") == name
            is_whole = is_same and item is node and node not in augmented
            if is_whole or name in self.changed_by(node, is_whole=True):
                first = min(first, node.lineno)
            elif is_same or name in self.changed_by(node):
                changes.append(node.lineno)
        return any(line < first for line in changes)

    @functools.cached_property
    def _indents(self) -> dict[str, int]:
        """The indent at which each local list was assigned whose items have names."""
        return {}

    def _part_of_state(self, name: str, value: ast.expr) -> Stored | Growing | None:
        """Return the object or list that grows in the state for which a name stands, or None."""
        lists = self.stored(value.value) if isinstance(value, ast.Subscript) else None
        if isinstance(value, ast.Subscript) and lists is not None and lists.layout.lists:
            if self._is_replaced(name, value):
                return None
            if not isinstance(value.slice, ast.Constant):
                index, title = self.flat(value.slice), self.hidden(f"{name}_index")
                self.emit(f"{title} = {index}")
                value = ast.Subscript(value.value, name_at(title, value), ast.Load())
                self.bindings[title] = Alias(title)
            return self.growing(value)
        stored = self.stored(value)
        if stored is None or self._is_replaced(name, value):
            return None
        return self.embedded(value) or self.growing(value)

    def _is_replaced(self, name: str, value: ast.expr) -> bool:
        """Return whether a name is used after the function assigned what it stands for."""
        nodes = (part for part in ast.walk(self.source.tree) if isinstance(part, ast.expr))
        stores = [n for n in nodes if isinstance(getattr(n, "ctx", None), ast.Store)]
        texts = {ast.unparse(value)}
        if isinstance(value, ast.Subscript):
            owner = ast.unparse(value.value)
            items = (text for text in map(ast.unparse, stores) if text.startswith(f"{owner}["))
            texts |= {owner, *items}
        changes: list[tuple[int, set[ast.AST]]] = []  # lines, and uses in them that come before
        uses = self.source.loads(name)
        for node in stores:
            if node.lineno > value.lineno and ast.unparse(node) in texts:
                changes.append((node.lineno, {u for u in uses if u.lineno == node.lineno}))
        names = {n.attr for n in ast.walk(value) if isinstance(n, ast.Attribute)}
        for node in (n for n in ast.walk(self.source.tree) if isinstance(n, ast.Call)):
            if node.lineno > value.lineno and names & self.changed_by(node, is_whole=True):
                changes.append((node.lineno, {u for u in uses if u.lineno == node.lineno}))
        loops = (n for n in ast.walk(self.source.tree) if isinstance(n, (ast.For, ast.While)))
        later = [n for n in loops if n.lineno > value.lineno]
        return any(
            (use.lineno >= line and use not in first)
            or any(
                n.lineno <= min(use.lineno, line) <= max(use.lineno, line) <= (n.end_lineno or 0)
                for n in later
            )
            for line, first in changes
            for use in uses
        )

    def _append_name(self, name: str, items: list[str], value: ast.expr) -> None:
        """Emit the assignment of an item of a local list, which gets a name of its own."""
        stored, text = self.stored(value), self.flat(value)
        items.append(f"{name}_{len(items)}")
        is_array = stored is not None and stored.layout.shape
        self._check_listed(name, value)
        self.emit(f"{items[-1]} = {text}{'.copy()' if is_array else ''}")

    def _check_listed(self, name: str, value: ast.expr) -> None:
        """Refuse an array of the state in a local list, if one of them changes."""
        stored = self.stored(value)
        if stored is None or not stored.layout.shape or stored.layout.grows:
            return
        nodes = [n for n in ast.walk(self.source.tree) if getattr(n, "lineno", 0) >= value.lineno]
        changed = {*changed_in_place(self.source)}.union(*map(self.changed_by, nodes))
        is_changed = any(text.startswith(f"{name}[") for text in self.source.changed_items)
        if is_changed or getattr(value, "attr", "") in changed:
            change = f"write `{ast.unparse(value)}.copy()`"
            raise self.obstacle(value, "is an array that a list would share", change)

    def _assign_list(self, node: ast.stmt, name: str, value: ast.expr) -> None:
        """Emit `name = []` of a list to which items are appended, or another value of it."""
        local = self.local_list(name)
        if local is not None:
            growing, dtype, shape = local
            owner = value.func.value if _is_copy(value) else None
            copied_list = self.growing(owner) if owner is not None else None
            if copied_list is not None and copied_list.kind is deque:
                raise self.obstacle(value, "is a deque with maxlen in a name", "use an attribute")
            value = self.items_in(value)
            title = "bool_" if dtype == np.bool_ else dtype.name
            self.emit(f"{growing.items} = np.empty({shape}, np.{title})")
            self.emit(f"{growing.length} = np.zeros(1, np.int64)")
            if not is_empty_list(value):
                self.emit(self.list_call(growing, "assign", [value]))
        elif isinstance(value, ast.List):
            self.bindings[name], self._indents[name] = (items := list[str]()), self.indent
            for item in value.elts:
                self._append_name(name, items, item)
        else:
            reason = "is a list that grows, whose items are not all alike or not numbers"
            raise self.obstacle(node, reason, "append numbers, or tuples of numbers")

    def _assign_results(self, node: ast.stmt, name: str, call: ast.Call) -> None:
        """Emit `name = super().step(action)`, if the results are only returned."""
        if not {*self.source.loads(name)} <= {*self.source.returned()}:
            change = "assign each result to a name"
            raise self.obstacle(node, "assigns the results of a base class to one name", change)
        returns = self.role.endswith(VALUE)
        text = self._base_call(call, returns_observation=returns)
        self.emit(f"{name} = {text}" if self._root == "step" or returns else text)
        self.outputs.add(name)

    def _assign_items(self, node: ast.stmt, target: ast.Tuple, value: ast.expr) -> None:
        known = self.known(value)
        if known is not None and any(isinstance(part, ast.Starred) for part in target.elts):
            self._bind_items(target.elts, list(known.value))
            return
        if any(isinstance(part, ast.Starred) for part in target.elts):
            self._assign_ends(node, target.elts, value)
            return
        if called_name(value) == "map" or isinstance(value, (ast.GeneratorExp, ast.ListComp)):
            name = self.hidden("items", *target.elts)
            self.emit(f"{name} = {self.flat(self.items_in(value))}")
            self.bindings[name] = Alias(name)
            for k, part in enumerate(target.elts):
                read = ast.Subscript(name_at(name, value), ast.Constant(k), ast.Load())
                self._assign(node, part, ast.fix_missing_locations(ast.copy_location(read, value)))
            return
        items = value.elts if isinstance(value, ast.Tuple) else []
        names = {part.id for part in target.elts if isinstance(part, ast.Name)}
        is_free = not names & {n.id for n in names_in(value)} and len(names) == len(items)
        if is_free and any(map(self.embedded, items)):
            for part, item in zip(target.elts, items, strict=True):
                self._assign(node, part, item)
            return
        used = [part for part in target.elts if not self._is_unused(part)]
        parts = [self.stored(part) for part in used]
        special = any(p and (p.layout.optional or p.layout.shape or p.layout.items) for p in parts)
        special |= any(self.growing(loaded(part)) for part in used)
        if special or len(used) < len(target.elts):
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                reason = "assigns several attributes at once"
                raise self.obstacle(node, reason, "assign each in a statement")
            pairs = [*zip(target.elts, value.elts, strict=True)]
            for part, item in pairs:
                if part not in used:
                    self._check_effects(item)
            used_pairs = [(part, self.items_in(item)) for part, item in pairs if part in used]
            self._assign_each(node, used_pairs)
            return
        pool = self.pool_of(value)
        if pool is not None and issubclass(pool.kind, tuple) and isinstance(value, ast.Call):
            name = self.hidden(f"{pool.name}_row", *target.elts)
            self.emit(f"{name} = {self.row_text(value)}")
            self.bindings[name] = Stored.in_pool(pool, name)
            value = name_at(name, value)
        is_display = isinstance(value, ast.Tuple) or self.table(value) is not None
        is_display |= pool is not None
        texts = self.elements(value) if is_display else None
        text = ", ".join(texts) if texts else self.flat(value)
        self.emit(f"{self.joined(target.elts)} = {text}", node.col_offset)

    def _assign_ends(self, node: ast.stmt, targets: list[ast.expr], value: ast.expr) -> None:
        """Emit the assignment of some items to names; a name with `*` is not used."""
        texts = self.short_items(value) or []
        star = next(k for k, part in enumerate(targets) if isinstance(part, ast.Starred))
        if not texts or self.source.loads(ast.unparse(targets[star]).lstrip("*")):
            raise self.obstacle(node, "assigns several items to one name", "assign each item")
        after = len(targets) - star - 1
        texts = texts[:star] + texts[len(texts) - after :]
        names = [part for part in targets if not isinstance(part, ast.Starred)]
        self.emit(f"{self.joined(names)} = {', '.join(texts)}")

    def _assign_each(self, node: ast.stmt, pairs: list[tuple[ast.expr, ast.expr]]) -> None:
        """Emit the assignments of values that are all computed first, except empty lists."""
        names, texts = dict[ast.expr, str](), list[str]()
        for part, item in pairs:
            if self.flag_of(item):
                raise self.obstacle(item, "may be None", "assign each in a statement")
            is_constant = self.known(item) is not None and self.record(item) is None
            if not is_empty_list(item) and not is_constant:
                target = self.stored(part)
                if target is not None and target.layout.shape:
                    check_value(self, target, item)
                names[part] = self.hidden(f"new_{len(names)}")
                is_array = np.ndarray in self.types(item) or self.growing(item) is not None
                stored = self.stored(item)
                is_array |= stored is not None and bool(stored.layout.shape)
                texts.append(self._copy_of(stored) or self.value_of(item) + ".copy()" * is_array)
        if names:
            self.emit(f"{', '.join(names.values())} = {', '.join(texts)}")
        self.bindings |= {name: Alias(name) for name in names.values()}
        for part, item in sorted(pairs, key=lambda pair: pair[0] not in names):
            self._assign(node, part, name_at(names[part], node) if part in names else item)

    def _copy_of(self, stored: Stored | None) -> str:
        """Return the text of a tuple with copies of the fields of an object; empty for others."""
        if stored is None or not stored.layout.items:
            return ""
        fields = stored.layout.parts(stored.name)
        texts = [f"{stored.field(f.name)}{'.copy()' * bool(f.shape)}" for f in fields]
        return tuple_of(texts)

    def _bind_items(self, targets: list[ast.expr], values: list[object]) -> None:
        """Bind names, one of which takes several items, to known values."""
        star = next(k for k, part in enumerate(targets) if isinstance(part, ast.Starred))
        end = len(values) - (len(targets) - star - 1)
        values[star:end] = [values[star:end]]
        for part, value in zip(targets, values, strict=True):
            name = part.value if isinstance(part, ast.Starred) else part
            if not isinstance(name, ast.Name):
                raise self.obstacle(part, "is not a name", "assign it in a statement")
            self.bindings[name.id] = Known(value)

    def store(self, target: ast.expr, stored: Stored, value: ast.expr) -> None:
        """Emit the assignment of an attribute, or of an item of it."""
        name, layout = stored.name, stored.layout
        other = self.stored(value)
        check_value(self, stored, value)
        if layout.kind is type(None):
            return
        if layout.optional:
            known = self.known(value)
            if known is not None and known.value is None:
                self.emit(f"{stored.flag} = False")
                return
            if type(None) in self.types(value) and other is None:
                self._store_or_none(stored, value)
                return
        self.check_sharing(value, self.growing(value) if layout.grows else self.embedded(value))
        if (pool := self.unit.pools.get(layout.kind)) is not None and not self.is_none(value):
            self.check_objects(ast.copy_location(ast.List([value], ast.Load()), value), pool)
        before = self._present
        self._present = before | {value}  # the flag is assigned, too
        kind = self.known(value.func) if isinstance(value, ast.Call) else None
        is_made = kind is not None and kind.value is layout.kind
        if isinstance(value, ast.Call) and is_made and has_convertible_init(layout.kind):
            for part in [*value.args, *keywords_of(value).values()]:
                check_given(self, layout, part)
            method = bound_method(method_of(layout.kind, "__init__"), self.embedded(target))
            self.emit(self.converted_call(value, method))
        elif (growing := self.growing(target)) is not None:
            self.emit(self.list_call(growing, "assign", [value]))
        elif layout.keys:
            texts = self.record_items(value, layout)
            if texts is None or len(texts) != layout.shape[0]:
                raise self.obstacle(value, "is not written item by item", "write all items")
            places = (stored.at_key(str(k)) for k in range(len(texts)))
            targets = ", ".join(place.field(name) for place in places)
            self.emit(f"{targets} = {', '.join(texts)}")
        elif layout.kind is dict and any(part.grows for part in (layout.items or {}).values()):
            self._store_lists_of_dict(target, layout, value)
        elif layout.items is not None:
            fields, text = layout.parts(name), self.record_text(value, layout)
            texts = self.record_items(value, layout) if text is None else None
            if text is None and (texts is None or len(texts) != len(fields)):
                raise self.obstacle(value, "is not written item by item", "write all items")
            names = ", ".join(f"{stored.field(f.name)}{whole(f.shape)}" for f in fields)
            names += "," * (len(fields) == 1 and text is not None)
            self.emit(f"{names} = {text or ', '.join(texts or [])}")
        elif layout.shape and layout.dtype is not None:
            text = copied(self, value, layout.dtype)
            self.emit(f"{stored.field(name)}[:] = {text}", target.col_offset)
        else:
            self.emit(f"{stored.field(name)} = {self.flat(value)}", target.col_offset)
        self._present = before
        if layout.optional:  # after the value, which may depend on it
            self.emit(f"{stored.flag} = {other.flag if other and other.layout.optional else True}")

    def _store_lists_of_dict(self, target: ast.expr, layout: Layout, value: ast.expr) -> None:
        """Emit the assignment of a dict with lists that grow."""
        keys = [*(layout.items or {})]
        nodes = value.values if isinstance(value, ast.Dict) else [value] * len(keys)
        names: list[dict[str, Binding]] | None = [{} for _ in nodes]
        if isinstance(value, ast.DictComp):
            names = known_rounds(self, ast.ListComp(value.value, value.generators))
            nodes = [value.value] * len(keys)
        if not isinstance(value, (ast.Dict, ast.DictComp)) or len(names or ()) != len(keys):
            raise self.obstacle(value, "is not written item by item", "write all items")

        def assign(k: int) -> str:
            item = ast.Subscript(loaded(target), ast.Constant(keys[k]), ast.Store())
            self._assign(
                ast.copy_location(ast.Pass(), value), ast.copy_location(item, target), nodes[k]
            )
            return ""

        unrolled(self, value, names or [], assign)

    def _store_lists(self, stored: Stored, value: ast.expr) -> None:
        """Emit the assignment of a list of lists that grow."""
        counter = counted(value)
        if isinstance(value, ast.List) and len(value.elts) == stored.layout.lists:
            for k, items in enumerate(value.elts):
                self.emit(self.list_call(stored.list_at(str(k)), "assign", [items]))
        elif isinstance(value, ast.ListComp) and counter:
            name = self.hidden(f"{stored.name.strip('_')}_index")
            self.bindings |= {counter: Alias(name), name: Alias(name)}
            self.emit(f"for {name} in range({stored.layout.lists}):")
            self.emit(f"    {self.list_call(stored.list_at(name), 'assign', [value.elt])}")
        else:
            raise self.obstacle(value, "is not written list by list", "write all lists")

    def _store_or_none(self, stored: Stored, value: ast.expr) -> None:
        """Emit the assignment of a value that is computed, and may be None."""
        if stored.layout.shape or stored.layout.items is not None or stored.layout.grows:
            raise self.obstacle(value, "may be None", "write it as an `if` statement")
        name = self.hidden(f"{stored.name}_or_none")
        self.emit(f"{name} = {self.flat(value)}")
        self.emit(f"{stored.flag} = {name} is not None")
        self.emit(f"if {name} is not None:")
        self.emit(f"    {stored.field(stored.name)} = {name}")

    def _do_augassign(self, node: ast.AugAssign) -> None:
        target = node.target
        if self._is_unused(target):
            self._effects(node.value)
            return
        self._check_shared(target)
        if self.is_text(target):
            raise self.obstacle(node, "changes a text", "assign another one")
        if (growing := self.growing(loaded(target))) is not None:
            operators = {ast.Add: "extend", ast.BitOr: "update"}
            name = operators.get(type(node.op), "")
            if name not in FUNCTIONS[growing.kind]:
                raise self.obstacle(node, "changes a list, deque or set", "write it as a loop")
            self.emit(self.list_call(growing, name, [node.value]))
            return
        if self.pool_of(target) is not None or self.embedded(target) is not None:
            raise self.obstacle(node, "changes an object by an operator", "call a method")
        stored, where = self.stored(target), self.text(loaded(target))
        if stored is not None:
            check_number(self, stored.layout, node.value)
        operator = self.source.operator_of(node)
        if np.float64 in self.types(node.value) and self.is_narrow(node) and not stored:
            self.emit(f"{where} = {where} {operator} {self.enclosed(node.value)}")
            return
        if self.is_narrow(node) and np.float64 not in self.types(node):
            is_narrow = stored is not None and stored.layout.dtype == np.float32
            before = where if is_narrow else f"np.float32({where})"
            value = f"np.float32({before} {operator} {self.narrow_operand(node.value)})"
            self.emit(f"{where} = {value}")
            return
        items = whole(stored.layout.shape) if stored is not None else ""
        self.emit(f"{where}{items} {operator}= {self.flat(node.value)}", node.col_offset)

    def _write_output(self, role: str, value: ast.expr) -> None:
        stored = role in self.unit.decisions
        if isinstance(value, ast.Call) and self.is_converted_call(value):
            self.emit(self.converted_call(value, self.called(value), role))
        elif role == "observation":
            target = f"state.{self.unit.field_of(role)}" if stored else role
            write_observation(self, value, self.unit.observation_space, target, stored)
        else:
            write_info(self, value, clears=stored and self.chain[0] != "reset")


def _is_copy(node: ast.expr) -> TypeGuard[Any]:
    """Return whether an expression is a call of a method `copy`."""
    return isinstance(node, ast.Call) and called_name(node).endswith(".copy")
