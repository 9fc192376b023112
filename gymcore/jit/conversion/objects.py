"""Conversion of lists of objects: an array for each attribute, and the number of objects."""

from __future__ import annotations

import ast
import contextlib
import inspect
from types import FunctionType, MethodType
from typing import Any

from gymcore.jit.conversion.calls import Calls
from gymcore.jit.conversion.expressions import tuple_of
from gymcore.jit.conversion.layouts import NUMBERS, Layout, code_of
from gymcore.jit.conversion.lists import FULL
from gymcore.jit.conversion.loops import MOST_ROUNDS, header, known_rounds, unrolled
from gymcore.jit.conversion.obstacles import ObstacleFound
from gymcore.jit.conversion.scope import Alias, Local, Stored
from gymcore.jit.conversion.source import (
    MUTATING,
    attributes_in,
    changed_attributes,
    has_convertible_init,
    is_convertible,
    is_storable,
    method_of,
    reached,
)
from gymcore.jit.conversion.stores import check_number
from gymcore.jit.conversion.syntax import called_name, is_empty_list, keywords_of, name_at
from gymcore.jit.declarations import Field

__all__ = ["Objects"]

_PLACE_IN = """\
    place = index + count if index < 0 else index
    if not 0 <= place < count:
        raise IndexError("list index out of range")
    return place"""
_POP = """\
    place = index + {length} if index < 0 else index
    if not 0 <= place < {length}:
        raise IndexError("pop from an empty list, or index out of range")
    item = {values}
    for k in range(place, {length} - 1):
{moves}
    {length} -= 1
    return item"""
_INSERT = """\
    if {length} == {size}:
        {full}
    place = min(max(index + {length} if index < 0 else index, 0), {length})
    for k in range({length}, place, -1):
{moves}
    {length} += 1
    return place"""
_ENDS = {"popleft": "0", "appendleft": "0"}


class Objects(Calls):
    """Objects and named tuples in the state, and lists of them."""

    def store(self, target: ast.expr, stored: Stored, value: ast.expr) -> None:
        """Emit the assignment of a part of the state; `Statements` converts it."""
        raise NotImplementedError

    # --- one object ------------------------------------------------------------------------------

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
        if isinstance(value, ast.Call) and known is not None and known.value is layout.kind:
            args = [*self.unpacked(value.args)]
            given = dict(zip(names, args, strict=False)) | keywords_of(value)
            missing = (name for name in names if name not in given)
            parameters = inspect.signature(layout.kind).parameters
            is_plain = not hasattr(layout.kind, "__post_init__") and not is_convertible(
                method_of(layout.kind, "__new__")
            )
            defaults = [parameters[name].default for name in names if name not in given]
            has_all = all(is_plain_default(default) for default in defaults)
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
        is_call = self.is_converted_call(value) or self._source_of_pop(value) is not None
        return self.text(value) if is_name or is_call else None

    def _call(self, node: ast.Call) -> str | None:
        layout = self.unit.layout_of_kind(self.called(node))
        if layout is not None and not has_convertible_init(layout.kind):
            return tuple_of(self.record_items(node, layout) or [])
        record = self.record(node.args[0]) if called_name(node) == "len" and node.args else None
        length = method_of(record.layout.kind, "__len__") if record is not None else None
        if record is not None and isinstance(length, FunctionType):
            call = ast.copy_location(ast.Call(node.func, [], []), node)
            return self.converted_call(call, MethodType(length, record))
        objects = self._source_of_pop(node)
        if objects is not None:
            end = _ENDS.get(called_name(node).rpartition(".")[2], "-1")
            return self._pop(objects, self.flat(node.args[0]) if node.args else end)
        return super()._call(node)

    def _attribute(self, node: ast.Attribute) -> str | None:
        layout, owner = self._layout_of_copy(node.value), node.value
        is_free = isinstance(owner, (ast.Name, ast.Call)) and self.stored(owner) is None
        if layout is None or not is_free or self.known(node) is not None:
            text = super()._attribute(node)
            is_unknown = text is None and is_free and not self.types(owner)
            if is_unknown and self.unit.has_attribute(node.attr):
                reason = "is not reached by random actions, so that its type is not known"
                raise self.obstacle(node, reason, "give `policy` one that reaches it")
            return text
        names = list(layout.items or ())
        if node.attr not in names or len(names) != len(layout.parts("")):
            reason = "belongs to an object that only a name has"
            raise self.obstacle(node, reason, "assign the object to an attribute")
        return f"{self.enclosed(owner)}[{names.index(node.attr)}]"

    def _layout_of_copy(self, node: ast.expr) -> Layout | None:
        """Return the layout of an object that only a name, or nothing, has; None for others."""
        types = self.types(node)
        if types:
            return self.unit.layout_of_kind(types.pop()) if len(types) == 1 else None
        if isinstance(node, ast.Name):
            assignments = (n for n in ast.walk(self.source.tree) if isinstance(n, ast.Assign))
            values = [n.value for n in assignments if ast.unparse(n.targets[0]) == node.id]
            layouts = [self._layout_of_copy(value) for value in values]
            return layouts[0] if layouts and all(v == layouts[0] for v in layouts) else None
        objects = self._source_of_pop(node)
        return objects.layout.element if objects is not None else None

    def _compare(self, node: ast.Compare) -> str | None:
        left, right = self.record(node.left), self.record(node.comparators[0])
        identity = isinstance(node.ops[0], (ast.Is, ast.IsNot))
        if left is None or right is None or isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return super()._compare(node)
        are_named = isinstance(node.left, ast.Name) and isinstance(node.comparators[0], ast.Name)
        is_plain = identity or _compares_identities(left.layout.kind)
        if not is_plain or len(node.ops) > 1 or not (are_named or left.name != right.name):
            change = "compare attributes, or two names of objects with `is`"
            raise self.obstacle(node, "compares objects", change)
        is_same = isinstance(node.ops[0], (ast.Is, ast.Eq))
        if left.name != right.name or left.place == right.place:
            return str((left == right) == is_same)
        return f"{left.place} {'==' if is_same else '!='} {right.place}"

    def condition(self, node: ast.expr) -> str:
        """Return the text of a condition, in which an object may have a method for its truth."""
        record = None if self.flag_of(node) else self.record(node)
        for name in ("__bool__", "__len__") if record is not None else ():
            defined = method_of(record.layout.kind, name) if record is not None else None
            if isinstance(defined, FunctionType) and is_convertible(defined):
                call = ast.copy_location(ast.Call(node, [], []), node)
                return f"({self.converted_call(call, MethodType(defined, record))} != 0)"
        return "True" if record is not None else super().condition(node)

    # --- lists of objects ------------------------------------------------------------------------

    def _source_of_pop(self, node: ast.AST) -> Stored | None:
        """Return the list of objects from which a call removes one, or None."""
        method = node.func if isinstance(node, ast.Call) else None
        if not isinstance(method, ast.Attribute) or method.attr not in ("pop", "popleft"):
            return None
        objects = self.objects(method.value)
        return None if objects is None else self._growing_objects(objects)

    def _growing_objects(self, objects: Stored) -> Stored:
        """Return a list of objects, whose number varies from now on."""
        if not objects.layout.grows:
            self.unit.let_grow(objects.name)
        return objects

    def _pop(self, objects: Stored, index: str) -> str:
        """Return the call of a function that removes an object, and returns its fields."""
        fields, length = _fields(objects), objects.length
        values = [f"state.{f.name}[place]{'.copy()' * (len(f.shape) > 1)}" for f in fields]
        moves = _moves(fields, "k + 1")
        body = _POP.format(length=length, values=tuple_of(values), moves=moves)
        return self.unit.call(f"pop_from_{objects.name.strip('_')}", body, index=index)

    def change_objects(self, call: ast.Call) -> bool:
        """Emit the call of a method that changes a list of objects; return whether it is one."""
        method = call.func
        objects = self.objects(method.value) if isinstance(method, ast.Attribute) else None
        if objects is None or not isinstance(method, ast.Attribute):
            return self._shuffle(call)
        args = call.args
        if method.attr == "clear":
            self.emit(f"{self._growing_objects(objects).length} = 0")
        elif method.attr == "append":
            self._append(objects, args[0])
        elif method.attr == "extend" and isinstance(args[0], (ast.List, ast.ListComp)):
            self._append_all(objects, args[0])
        elif method.attr in ("insert", "appendleft"):
            index = _ENDS.get(method.attr) or self.flat(args[0])
            self._insert(objects, index, args[-1])
        elif method.attr == "remove":
            self.emit(self._pop(self._growing_objects(objects), self._place_of(objects, args[0])))
        elif method.attr in ("pop", "popleft"):
            self.emit(self.text(call))
        else:
            reason = f"calls `{method.attr}` of a list of objects"
            raise self.obstacle(call, reason, "write it as a loop")
        return True

    def _append(self, objects: Stored, value: ast.expr) -> None:
        length = self._growing_objects(objects).length
        self.emit(f"if {length} == {objects.layout.shape[0]}:\n    {FULL}")
        self.assign_each([objects.object_at(length)._replace(size="")], ast.List([value]))
        self.emit(f"{length} += 1")

    def _append_all(self, objects: Stored, value: ast.List | ast.ListComp) -> None:
        """Emit the statements that append the objects of a display or a comprehension."""
        self._check_reads(objects, value)
        if isinstance(value, ast.List):
            for item in value.elts:
                self._append(objects, item)
            return
        before, around = dict(self.bindings), self.indent
        for part in value.generators:
            line, first = header(self, part.target, part.iter)
            self.emit(line)
            self.indent += 1
            for text in first:
                self.emit(text)
            for condition in part.ifs:
                self.emit(f"if {self.condition(condition)}:")
                self.indent += 1
        self._append(objects, value.elt)
        self.bindings, self.indent = before, around

    def _insert(self, objects: Stored, index: str, value: ast.expr) -> None:
        element = objects.layout.element
        assert element is not None
        self._growing_objects(objects)
        if has_convertible_init(element.kind) and self.record_text(value, element) is None:
            raise self.obstacle(value, "makes an object that is inserted", "append it")
        name = self.hidden(f"{objects.name.strip('_')}_item")
        fields, place = _fields(objects), self.hidden(f"{objects.name.strip('_')}_place")
        self.emit(f"{place} = {index}")
        length, size = objects.length, objects.layout.shape[0]
        body = _INSERT.format(length=length, size=size, full=FULL, moves=_moves(fields, "k - 1"))
        self.emit(f"{name} = {self._object_text(value, element)}")
        call = self.unit.call(f"insert_into_{objects.name.strip('_')}", body, index=place)
        self.emit(f"{place} = {call}")
        for k, field in enumerate(fields):
            self.emit(f"state.{field.name}[{place}] = {name}[{k}]")

    def _object_text(self, value: ast.expr, layout: Layout) -> str:
        text = self.record_text(value, layout)
        if text is None:
            self.check_sharing(value, self.record(value))
            texts = self.record_items(value, layout)
            if texts is None or len(texts) != len(layout.parts("")):
                raise self.obstacle(value, "is not written item by item", "write all items")
            text = tuple_of(texts)
        return text

    def _place_of(self, objects: Stored, value: ast.expr) -> str:
        """Return the text of the index of an object that a name has."""
        item = self.stored(value)
        kind = item.layout.kind if item is not None else object
        if item is None or item.name != objects.name or not _compares_identities(kind):
            change = "remove it by its index, with `pop`"
            raise self.obstacle(value, "is searched for in a list of objects", change)
        return item.place

    def _shuffle(self, call: ast.Call) -> bool:
        """Emit the call of a generator that shuffles a list of objects, if it is one."""
        objects = self.objects(call.args[0]) if len(call.args) == 1 else None
        method = call.func
        if objects is None or not isinstance(method, ast.Attribute) or method.attr != "shuffle":
            return False
        if objects.layout.kind is not list:
            raise self.obstacle(call, "shuffles a deque", "shuffle a list")
        order, length = self.hidden(f"order_of_{objects.name.strip('_')}"), objects.length
        self.emit(f"{order} = np.arange({length})")
        self.emit(f"{self.text(method.value)}.shuffle({order})")
        for field in _fields(objects):
            text = f"state.{field.name}[:{length}]"
            self.emit(f"{text} = {text}[{order}]")
        return True

    def assign_objects(self, objects: Stored, value: ast.expr) -> None:
        """Emit the assignment of a list of objects."""
        layout, filtered = objects.layout, self._filter_of(objects, value)
        if layout.keys:
            texts = self.record_items(value, layout)
            if texts is None or len(texts) != layout.shape[0] or len(_fields(objects)) > 1:
                raise self.obstacle(value, "is not written item by item", "write all items")
            names = (objects.field(f"{objects.name}") + f"[{k}]" for k in range(len(texts)))
            self.emit(f"{', '.join(names)} = {', '.join(texts)}")
            return
        value = self.items_in(value)
        if isinstance(value, ast.Name) and self.bound(value) == objects:
            return  # which has been assigned under another name
        is_call = isinstance(value, ast.Call) and not value.args
        if is_empty_list(value) or (is_call and called_name(value) in ("list", "deque")):
            self.emit(f"{self._growing_objects(objects).length} = 0")
            return
        if filtered is not None:
            self._filter(objects, *filtered)
            return
        if not isinstance(value, (ast.List, ast.ListComp)):
            reason = "is a list of objects that is not written item by item"
            raise self.obstacle(value, reason, "write a display or a comprehension")
        self._check_reads(objects, value)
        if layout.grows:
            self.emit(f"{objects.length} = 0")
            self._append_all(objects, value)
        else:
            parts = [objects.object_at(str(k)) for k in range(layout.shape[0])]
            if not self.assign_each(parts, value):
                self.unit.let_grow(objects.name)

    def _check_reads(self, objects: Stored, value: ast.expr) -> None:
        """Refuse an expression that reads a list of objects, which changes item by item."""
        for node in ast.walk(value):
            kind, name = self._own_function(node)
            sources = reached(kind, name) if name else ()
            names = {part.attr for source in sources for part in attributes_in(source)}
            title = f"_{objects.name.strip('_')}_"
            reads = any(f"_{name.strip('_')}_" in title for name in names)
            if reads or isinstance(self.called(node), Local) or self.objects(node) == objects:
                change = "compute it in a statement before"
                raise self.obstacle(node, "reads the list that is changed", change)

    def assign_each(self, parts: list[Stored], value: ast.expr) -> bool:
        """Emit the assignment of each object of a short list; return whether their number fits."""
        nodes = value.elts if isinstance(value, ast.List) else [value] * len(parts)
        items = [{} for _ in nodes] if isinstance(value, ast.List) else known_rounds(self, value)
        if items is None or not len(items) == len(nodes) == len(parts) <= MOST_ROUNDS:
            return False

        def assign(k: int) -> str:
            node = nodes[k]
            node = node.elt if isinstance(node, ast.ListComp) else node
            name = f"{parts[k].name.strip('_')}_object"
            self.bindings[name] = parts[k]
            self.store(name_at(name, value), parts[k], node)
            return ""

        unrolled(self, value, items, assign)
        return True

    def _filter_of(
        self, objects: Stored, value: ast.expr
    ) -> tuple[ast.expr, list[ast.expr]] | None:
        """Return name and conditions of the objects of a list that remain in it."""
        if not isinstance(value, ast.ListComp) or len(value.generators) > 1:
            return None
        part = value.generators[0]
        is_same = self.objects(part.iter) == objects
        is_same &= ast.unparse(part.target) == ast.unparse(value.elt)
        for test in part.ifs if is_same else ():
            self._check_reads(objects, test)
            if any(map(self.changed_by, ast.walk(test))):
                raise self.obstacle(test, "changes the state", "write it as a loop")
        return (part.target, part.ifs) if is_same else None

    def _filter(self, objects: Stored, name: ast.expr, conditions: list[ast.expr]) -> None:
        """Emit the statements that leave the objects in a list for which conditions hold."""
        fields, length = _fields(objects), self._growing_objects(objects).length
        title = objects.name.strip("_")
        index, count = self.hidden(f"{title}_index"), self.hidden(f"{title}_count")
        before, around = dict(self.bindings), self.indent
        self.bindings[ast.unparse(name)] = objects.object_at(index)._replace(size="")
        self.emit(f"{count} = 0")
        self.emit(f"for {index} in range({length}):")
        self.indent += 1
        for condition in conditions:
            self.emit(f"if {self.condition(condition)}:")
            self.indent += 1
        for field in fields:
            self.emit(f"state.{field.name}[{count}] = state.{field.name}[{index}]")
        self.emit(f"{count} += 1")
        self.bindings, self.indent = before, around
        self.emit(f"{length} = {count}")

    # --- names of objects ------------------------------------------------------------------------

    def check_sharing(self, value: ast.expr, shared: object) -> None:
        """Refuse to store an object or list that another attribute has, too."""
        if shared is not None and not (isinstance(value, ast.Name) and not self.bound(value)):
            reason = "makes two attributes share an object or a list"
            raise self.obstacle(value, reason, "assign a copy, written item by item")

    def object_in_name(self, name: str, value: ast.expr) -> Stored | None:
        """Return the object of a list for which a name stands; None for other values."""
        if not isinstance(value, ast.Subscript) or isinstance(value.slice, ast.Slice):
            return None
        objects, stored = self.objects(value.value), self.stored(value)
        if objects is None or stored is None or not is_storable(stored.layout.kind):
            return None
        if stored.place.isdigit() and not objects.layout.grows:
            return stored
        arguments = {"index": stored.place, "count": objects.length}
        index = self.hidden(f"{name}_index")
        self.emit(f"{index} = {self.unit.call('place_in', _PLACE_IN, **arguments)}")
        return stored._replace(place=index, size="")

    def later_attribute(self, node: ast.stmt, name: str, value: ast.expr) -> Stored | None:
        """Return the attribute that gets a list of objects in a name, before it is used itself."""
        if not isinstance(value, (ast.List, ast.ListComp)) or self.source.stores[name] > 1:
            return None
        nodes = [*ast.walk(self.source.tree)]
        blocks = [getattr(part, field, []) for part in nodes for field in ("body", "orelse")]
        block = next((b for b in blocks if isinstance(b, list) and node in b), [])
        later = [s for s in block if isinstance(s, ast.Assign) and ast.unparse(s.value) == name]
        objects = self.objects(later[0].targets[0]) if len(later) == 1 else None
        if objects is None or len(later[0].targets) > 1:
            return None
        between = block[block.index(node) + 1 : block.index(later[0])]
        attribute = getattr(later[0].targets[0], "attr", "")
        parts = [part for s in [node, *between] for part in ast.walk(s)]
        is_used = any(getattr(part, "attr", "") == attribute for part in parts)
        is_used |= any(self.is_converted_call(part) for s in between for part in ast.walk(s))
        return None if is_used else objects

    def moves(self, owner: ast.expr, node: ast.AST) -> bool:
        """Return whether a part of the source moves the objects of a list, or may do so."""
        text, method = ast.unparse(owner), getattr(node, "func", None)
        if isinstance(node, ast.Delete):
            return any(text in ast.unparse(target) for target in node.targets)
        if getattr(owner, "attr", "") in self.changed_by(node):
            return True
        if not isinstance(node, ast.Call) or not isinstance(method, ast.Attribute):
            return False
        if method.attr == "shuffle":
            return ast.unparse(node.args[0]) == text
        return method.attr in MUTATING - {"append"} and ast.unparse(method.value) == text

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
            return {part.attr for part in nodes if isinstance(part, ast.Attribute)}
        sources = reached(kind, name) if name else ()
        pairs = (pair for source in sources for pair in changed_attributes(source))
        return {part for part, assigns in pairs if assigns or not is_whole}

    def _may_move(self, stored: Stored, node: ast.AST) -> bool:
        """Return whether a part of the source may move the objects of the list of an object."""
        method = node.func if isinstance(node, ast.Call) else None
        owner = method.value if isinstance(method, ast.Attribute) else None
        name = getattr(owner, "attr", "") if getattr(method, "attr", "") in MUTATING else ""
        names = {name, *self.changed_by(node)} - {""}
        return any(f"_{n.strip('_')}_" in f"_{stored.name.strip('_')}_" for n in names)

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

    def check_moves(self, node: ast.AST) -> None:
        """Refuse objects of a list in a statement with a call that may move them."""
        parts = [*ast.walk(node)]
        changed = {name for part in parts for name in self.changed_by(part)}
        for part in parts:
            if isinstance(part, ast.Call):
                self._check_elements(part, parts)
        for part in parts if changed else ():
            stored = None
            with contextlib.suppress(ObstacleFound):  # of attributes that a lane cannot have
                stored = self.stored(part)
            if stored is None or not (stored.layout.element or stored.place):
                continue
            title = f"_{stored.name.strip('_')}_"
            if any(f"_{name.strip('_')}_" in title for name in changed):
                change = "make the call in a statement before"
                raise self.obstacle(part, "belongs to a list that a call here may change", change)

    def _check_elements(self, call: ast.Call, parts: list[ast.AST]) -> None:
        """Refuse objects of a list beside a call that changes the list, in a statement."""
        objects, method = None, call.func
        if not isinstance(method, ast.Attribute) or method.attr not in MUTATING:
            return
        with contextlib.suppress(ObstacleFound):  # of attributes that a lane cannot have
            objects = self.objects(method.value)
        inner = {*ast.walk(call)}
        for part in parts if objects is not None else ():
            stored = self.stored(part) if part not in inner else None
            if stored is not None and objects and stored.place and stored.name == objects.name:
                change = "make the call in a statement before"
                raise self.obstacle(part, "belongs to a list that a call here changes", change)


def _compares_identities(kind: type) -> bool:
    """Return whether `==` of objects of a class compares their identities."""
    return method_of(kind, "__eq__") is method_of(object, "__eq__")


def is_plain_default(value: object) -> bool:
    """Return whether a default of a field is a value, and not a factory, or missing."""
    return value is None or code_of(value) is not None or isinstance(value, (*NUMBERS, tuple))


def _fields(objects: Stored) -> list[Field]:
    """Return the fields of a list of objects, without that for their number."""
    assert objects.layout.element is not None
    fields = objects.layout.parts(objects.name)
    return fields[:-1] if objects.layout.grows else fields


def _moves(fields: list[Field], source: str) -> str:
    lines = (f"        state.{f.name}[k] = state.{f.name}[{source}]" for f in fields)
    return "\n".join(lines)
