"""Conversion of statements, and of the functions that they are in."""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

import numpy as np

from gymcore.jit.conversion.copies import copied, whole
from gymcore.jit.conversion.expressions import tuple_of
from gymcore.jit.conversion.keys import Keys
from gymcore.jit.conversion.layouts import NUMBERS, Layout, number_array
from gymcore.jit.conversion.lists import FUNCTIONS, Growing
from gymcore.jit.conversion.loops import header, known_rounds, rounds, rounds_of_objects, unrolled
from gymcore.jit.conversion.obstacles import ObstacleFound
from gymcore.jit.conversion.outputs import write_info, write_observation
from gymcore.jit.conversion.scope import (
    Alias,
    Binding,
    Known,
    Local,
    Stored,
    name_of,
    named_table,
)
from gymcore.jit.conversion.source import (
    MUTATING,
    bound_method,
    changed_attributes,
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
    named_in,
    names_in,
    without_continue,
)
from gymcore.jit.conversion.unit import local_name

__all__ = ["Statements"]

_IGNORED = re.compile(
    r"(print|logger|warnings|logging)\b|(gym|gymnasium)\.logger\b|\w+\.(render|close)\("
    r"|.*_space\.seed\("
)
# Exceptions of this converter for syntax that it does not expect.
_UNEXPECTED = (AssertionError, AttributeError, LookupError, TypeError, ValueError)
_VALUE = " as a value"  # in the role of `reset` and `step` that return the observation
# Changes and draws, which a function that only observes must not contain.
_CHANGES = re.compile(
    r"(?m)^ *state\.[\w\[\], :.]* [-+*/%&|]?=|\brng\b|\(state\.\w+, state\.length_of_"
)


class Statements(Keys):
    """Statements of one function in the calls that it runs in."""

    _line = 0  # the last line of the source that has been converted

    @property
    def _root(self) -> str:
        """The method whose results the function returns, or ""."""
        return self.role.removesuffix(_VALUE) if self.role.startswith(("reset", "step")) else ""

    def body(self) -> str:
        """Return the text of the function's statements."""
        if self.role.startswith("new_"):
            self._set_defaults()
        self._inlined(self.source.tree.body)
        if self.role.startswith("new_"):
            self.emit(f"return {local_name(self.source.self_name)}")
        if len(self.lines) > 1 and self.lines[-1] == "    return":
            self.lines.pop()
        return "\n".join(self.lines).rstrip() or "    pass"

    def _set_defaults(self) -> None:
        """Emit the assignments of attributes for which the class of a new object has a value."""
        this = self.bindings[self.source.self_name]
        assert isinstance(this, Stored)
        for name, layout in (this.layout.items or {}).items():
            value = method_of(this.layout.kind, name)
            is_plain = isinstance(value, NUMBERS) and not (layout.shape or layout.items)
            if is_plain and layout.dtype is not None and not hasattr(this.layout.kind, "_fields"):
                field = f"{this.name}_{name}"
                self.emit(f"{this.field(field)} = {self.value_text(value, self.source.tree)}")
                if layout.optional:
                    self.emit(f"{this.field(layout.flag(field))} = True")

    # --- blocks ----------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> bool:
        """Convert statements; return whether the last one leaves the function or the loop."""
        count, ends = len(self.lines), False
        for statement in statements:
            self._comments(statement.lineno)
            before = len(self.lines)
            try:
                ends = self._statement(statement)
            except (ObstacleFound, *_UNEXPECTED) as problem:
                if not isinstance(problem, ObstacleFound):
                    reason = f"is not understood ({type(problem).__name__}: {problem})"
                    problem = self.obstacle(statement, reason, "write it in another way")
                self.unit.obstacles.append(problem.obstacle)
                del self.lines[before:]
            end, column = statement.end_lineno or 0, statement.end_col_offset or 0
            rest = self.source.lines[end - 1][column:].decode().strip()
            if rest.startswith("#") and len(self.lines) > before and not hasattr(statement, "body"):
                self.lines[-1] += f"  {rest}"
            self._line = max(self._line, end)
            if ends:
                break
        if all(line.strip().startswith("#") or not line for line in self.lines[count:]):
            self.emit("pass")
        return ends

    def _comments(self, line: int) -> None:
        """Keep the comments and empty lines before a line."""
        for raw in self.source.lines[self._line : line - 1]:
            text = raw.decode().strip()
            if text.startswith("#") or (not text and self.lines and self.lines[-1]):
                self.emit(text)
        self._line = max(self._line, line - 1)

    def _nested(
        self, head: str, statements: list[ast.stmt], column: int = 0, first: Iterable[str] = ()
    ) -> bool:
        """Convert statements under a header, if there are any; see `block`."""
        if not statements:
            return False
        self.emit(head, column)
        self.indent += 1
        for line in first:
            self.emit(line)
        self._line = statements[0].lineno - 1
        while self.source.lines[self._line - 1].strip().startswith(b"#"):
            self._line -= 1
        ends = self.block(statements)
        self.indent -= 1
        return ends

    def _statement(self, node: ast.stmt) -> bool:
        handler = getattr(self, f"_do_{type(node).__name__.lower()}", None)
        if handler is None:
            reason = f"is a `{ast.unparse(node).split()[0]}` statement, which cannot be compiled"
            raise self.obstacle(node, reason, "keep it out of `reset` and `step`")
        return bool(handler(node))

    def _do_if(self, node: ast.If, word: str = "if") -> bool:
        truth = self.truth(node.test)
        if truth is not None:
            taken = node.body if truth else node.orelse
            if not taken or word == "if":
                return bool(taken) and self._inlined(taken)
            return self._nested("else:", taken)
        bindings, around = dict(self.bindings), self.indent
        tests = [node.test]
        if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And):
            tests = node.test.values if named_in(node.test) and not node.orelse else tests
        for test in tests[:-1]:
            self._assign_first(test)
            self.emit(f"if {self.condition(test)}:")
            self.indent += 1
        self._assign_first(tests[-1])
        head = f"{word} {self.condition(tests[-1])}:"
        ends = self._nested(head, node.body, node.col_offset) and not named_in(node.test)
        self.bindings, self.indent = bindings, around
        inner = node.orelse[0] if len(node.orelse) == 1 else None
        if isinstance(inner, ast.If) and not named_in(inner.test):
            return self._do_if(inner, "elif") and ends
        return self._nested("else:", node.orelse) and ends

    def _assign_first(self, test: ast.expr) -> None:
        """Emit the assignment `name := value` that a condition begins with, if there is one."""
        part: Any = test
        while not isinstance(part, ast.NamedExpr):
            values = getattr(part, "values", [None])  # of `and` and `or`
            part = getattr(part, "left", None) or getattr(part, "operand", None) or values[0]
            if part is None:
                return
        self._assign(ast.copy_location(ast.Pass(), test), part.target, part.value)
        self._assigned_names |= {part}

    def _inlined(self, statements: list[ast.stmt]) -> bool:
        self._line = statements[0].lineno - 1
        return self.block(statements)

    def _do_for(self, node: ast.For) -> bool | None:
        by_round = rounds(self, node.target, node.iter)
        calls = (part for s in node.body for part in ast.walk(s) if isinstance(part, ast.Call))
        owners = {name.partition(".append")[0] for name in map(called_name, calls)}
        if any(isinstance(self.bindings.get(owner), list) for owner in owners):
            by_round = by_round or rounds_of_objects(self, node.target, node.iter)
        jumps = (ast.Break, ast.Continue)
        body = without_continue(node.body) if by_round else node.body
        has_jumps = any(isinstance(part, jumps) for s in body for part in ast.walk(s))
        are_objects = any(isinstance(v, Stored) for names in by_round or () for v in names.values())
        if are_objects and has_jumps:
            change = "use a variable that says whether the loop goes on"
            raise self.obstacle(node.iter, "has objects, and `break` leaves the loop", change)
        if by_round and not has_jumps:
            before, ends = self.round, False
            for k, bindings in enumerate(by_round):
                self.bindings |= bindings
                self._take_values(node, bindings)
                self.round = *before, (node, k)
                ends = ends or self._inlined(body)
            self.round = before
            return ends or (bool(node.orelse) and self._inlined(node.orelse))
        head, first = header(self, node.target, node.iter)
        head, first = self._over_changing_list(node, head, first)
        self._nested(head, node.body, node.col_offset, first)
        self._nested("else:", node.orelse)
        return None

    def _take_values(self, node: ast.For, names: dict[str, Binding]) -> None:
        """Emit the assignments of a round's numbers, if the loop may change where they are."""
        parts = [part for statement in node.body for part in ast.walk(statement)]
        stores = [p for p in parts if isinstance(getattr(p, "ctx", None), ast.Store)]
        has_effects = any(map(self._has_effect, parts)) or bool(stores)
        for name, value in names.items():
            if has_effects and isinstance(value, Alias) and value.text.startswith("state."):
                del self.bindings[name]
                self.emit(f"{local_name(name)} = {value.text}")

    def _over_changing_list(
        self, node: ast.For, head: str, first: list[str]
    ) -> tuple[str, list[str]]:
        """Return the header of a loop, and the statements that its body begins with.

        A loop over a list that grows reads each item when its turn comes, as in Python.

        Args:
            node: The loop.
            head: The header of a loop over the items that the list has at the beginning.
            first: The statements that its body begins with.
        """
        is_counted, items = called_name(node.iter) == "enumerate", node.iter
        while isinstance(items, ast.Call) and called_name(items) in ("enumerate", "reversed"):
            items = items.args[0]
        growing = self.growing(items)
        in_place, is_whole = self._changes_in(node, items) if growing else (False, False)
        target = re.fullmatch(r"for (.*?) in (?:enumerate\()?[\w.]+\[: [\w.]+\[0\]\]\)?:", head)
        if growing is None or not (in_place or is_whole):
            return head, first
        if is_whole and not in_place:  # which leaves the items of the loop as they are
            return head.replace(growing.text, f"{growing.text}.copy()"), first
        if is_whole or target is None or growing.kind is not list:
            raise self.obstacle(items, "changes while the loop runs", "loop over a copy")
        counter, _, name = target[1].partition(", ") if is_counted else ("", "", target[1])
        index = self.hidden(f"{name.split(',')[0].strip('()')}_index")
        self.emit(f"{index} = 0")
        item = f"{growing.items}[{index}]{'.copy()' * bool(growing.width)}"
        counts = [f"{counter} = {index}"] if counter else []
        return f"while {index} < {growing.length}[0]:", [
            *counts,
            f"{name} = {item}",
            f"{index} += 1",
            *first,
        ]

    def _changes_in(self, node: ast.For, items: ast.expr) -> tuple[bool, bool]:
        """Return whether a loop may change a list in place, and whether it may assign it."""
        owner, name = ast.unparse(items), getattr(items, "attr", "")
        in_place = is_whole = False
        for part in (part for statement in node.body for part in ast.walk(statement)):
            is_store = not isinstance(getattr(part, "ctx", ast.Load()), ast.Load)
            is_whole |= is_store and ast.unparse(part) == owner
            is_whole |= name in self.changed_by(part, is_whole=True)
            in_place |= name in self.changed_by(part) - self.changed_by(part, is_whole=True)
            if isinstance(part, ast.Delete):
                in_place |= any(ast.unparse(t).startswith(f"{owner}[") for t in part.targets)
            if isinstance(part, ast.Call):
                changed, _, method = called_name(part).rpartition(".")
                in_place |= changed == owner and method in MUTATING
                in_place |= self.is_converted_call(part) and owner in map(ast.unparse, part.args)
        return in_place, is_whole

    def _do_while(self, node: ast.While) -> None:
        self._nested(f"while {self.condition(node.test)}:", node.body, node.col_offset)
        self._nested("else:", node.orelse)

    def _do_try(self, node: ast.Try) -> bool:
        caught = {name.id for h in node.handlers for name in names_in(h.type or node)}
        if not caught <= {"TypeError", "AttributeError"} or node.finalbody:
            raise self.obstacle(node, "catches exceptions", "test the condition with `if`")
        return self._inlined([*node.body, *node.orelse])

    # --- simple statements -----------------------------------------------------------------------

    def _do_functiondef(self, node: ast.FunctionDef) -> None:
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        values = [self.known(default) for default in node.args.defaults]
        given = zip(reversed(names), reversed(values), strict=False)
        defaults = {name: value.value for name, value in given if value is not None}
        self.bindings[node.name] = Local(self.source.local(node, defaults))

    def _do_delete(self, node: ast.Delete) -> None:
        """Leave out what only ends the life of a name; remove items of lists that grow."""
        for target in node.targets:
            if isinstance(target, ast.Name):
                continue
            if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Slice):
                raise self.obstacle(node, "deletes an item", "use an array and a count")
            method = ast.Attribute(loaded(target.value), "pop", ast.Load())
            call = ast.Call(method, [target.slice], [])
            self._do_expr(ast.copy_location(ast.Expr(ast.copy_location(call, target)), node))

    def _do_pass(self, node: ast.stmt) -> bool:
        self.emit(ast.unparse(node))
        return not isinstance(node, ast.Pass)

    _do_break = _do_continue = _do_pass

    def _do_import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            module = importlib.import_module(alias.name if alias.asname else name)
            self.bindings[name] = Known(module)

    def _do_assert(self, node: ast.Assert) -> None:
        test = self.condition(node.test)
        if test != "True":
            self.emit(f"assert {test}{f', {_message(node.msg)}' if node.msg else ''}")

    def _do_raise(self, node: ast.Raise) -> bool:
        problem = node.exc
        called = problem.func if isinstance(problem, ast.Call) else problem
        args = problem.args if isinstance(problem, ast.Call) else []
        known = self.known(called) if called is not None else None
        if known is None or not isinstance(known.value, type):
            raise self.obstacle(node, "raises an exception that is not known", "raise ValueError")
        name = next(base.__name__ for base in known.value.__mro__ if name_of(base))
        self.emit(f"raise {name}({', '.join(map(_message, args))})")
        return True

    def _do_expr(self, node: ast.Expr) -> None:
        call = node.value
        if not isinstance(call, ast.Call):
            self._check_effects(call)
            return
        if _IGNORED.match(ast.unparse(call)):
            self._effects(*call.args, *call.keywords)
            return
        owner, _, method = ast.unparse(call.func).rpartition(".")
        if isinstance(call.func, ast.Attribute) and self._is_unused(call.func.value):
            self._effects(*call.args)
            return
        if self.is_converted_call(call) and self._only_seeds(call):
            self._check_seed(call)
            return
        items = self.bindings.get(owner)
        if isinstance(items, list) and method == "append":
            if self._indents.get(owner) != self.indent:
                reason = "adds to a list whose items are not all alike, in a loop or a condition"
                raise self.obstacle(node, reason, "append numbers, or tuples of numbers")
            self._append_name(owner, items, call.args[0])
        elif owner in self.outputs and method == "update" and call.args:
            write_info(self, call.args[0])
        elif owner.startswith("super(") and not self.is_converted_call(call):
            self.unit.seeded |= method == "reset"
        else:
            text = self._base_call(call) if self._base(call) else self.text(call)
            self.emit(text, node.col_offset)

    def _only_seeds(self, call: ast.Call) -> bool:
        """Return whether a function only makes a generator, such as `seed` of earlier versions."""
        changed = {name for name, _ in changed_attributes(self.unit.source_of(self.called(call)))}
        return bool(changed) and changed <= self.unit.generators

    def _check_seed(self, call: ast.Call) -> None:
        """Refuse a call of `seed` that does not make a generator of the seed of `reset`."""
        source = self.unit.source_of(self.called(call))
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        values = [known and known.value for known in map(self.known, given)]
        values = values or [source.defaults[name] for name in source.arguments[1:2]]
        makers = ("default_rng", "np_random")
        calls = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and n.args]
        seeds = {ast.unparse(n.args[0]) for n in calls if called_name(n).endswith(makers)}
        if self.chain[0] != "reset" or values != [None] or not seeds <= {*source.arguments}:
            change = "write `np.random.default_rng(seed)` in `reset`"
            raise self.obstacle(call, "makes a generator in another way", change)

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
        return self.converted_call(call, self.called(call), f"{role}{_VALUE * returns_observation}")

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
        elif isinstance(target, ast.Subscript) and ast.unparse(target.value) in self.outputs:
            write_info(self, ast.Dict([target.slice], [value]))
        else:
            self.emit(f"{self.text(target)} = {self.flat(value)}", column)

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
        if role == "observation" and self.role.endswith(_VALUE):
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
            rebound = {n for n, is_whole in changed_attributes(self.source) if is_whole}
            if isinstance(value, ast.Attribute) and stored is not None:
                nodes = [*ast.walk(self.source.tree)]
                attributes = (n for n in nodes if isinstance(n, ast.Attribute))
                targets = {n.attr for n in attributes if isinstance(n.ctx, ast.Store)}
                targets |= {n for node in nodes for n in self.changed_by(node, is_whole=True)}
                rebound |= {stored.name} if value.attr in targets else set()
            owner = self.stored(value.value) if isinstance(value, ast.Subscript) else None
            is_row_of = owner is not None and len(owner.layout.shape) > 1 and not owner.layout.grows
            array = stored if stored is not None and stored.layout.shape else None
            array = owner if is_row_of else array
            if array is not None and array.name in rebound:
                if name in self.source.changed_items | self.source.augmented:
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
        self.emit(f"{items[-1]} = {text}{'.copy()' if is_array else ''}")

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
        returns = self.role.endswith(_VALUE)
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
            self.bindings[name] = Stored(pool.name, pool.layout, pool.sample, name)
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

    # --- results ---------------------------------------------------------------------------------

    def _do_return(self, node: ast.Return) -> bool:
        value = node.value
        if self._root:
            self._finish(node)
        elif self.role.startswith("new_"):
            self.emit(f"return {local_name(self.source.self_name)}")
        elif self.role and value is not None:
            self._write_output(self.role, value)
            self.emit("return")
        else:
            self.emit(f"return {self.value_of(value) if value else ''}".rstrip(), node.col_offset)
        return True

    def _finish(self, node: ast.Return) -> None:
        count, value = (2 if self._root == "reset" else 5), node.value
        returns = self.role.endswith(_VALUE)
        if isinstance(value, ast.Call) and self.is_converted_call(value):
            self.unit.decide("truncated")
            call = self.converted_call(value, self.called(value), self.role)
            self.emit(f"return {call}" if count == 5 or returns else call)
            return
        if isinstance(value, ast.Name) and value.id in self.outputs:
            if count == 5 or returns or self.indent > 1:
                self.emit(f"return {value.id if count == 5 or returns else ''}".rstrip())
            return
        if not isinstance(value, ast.Tuple) or len(value.elts) != count:
            change = "return observation, reward, terminated, truncated, info"
            raise self.obstacle(node, f"does not return {count} values in a display", change)
        for role, part in (("observation", value.elts[0]), ("info", value.elts[-1])):
            if ast.unparse(part) not in self.outputs and not (returns and role == "observation"):
                self._output(role, part)
        if returns:
            self.emit(f"return {self.joined(value.elts[:-1])}", node.col_offset)
        elif count == 5:
            reward, terminated, truncated = map(self.flat, value.elts[1:4])
            if truncated != "False":
                self.unit.decide("truncated")
            tail = f", {truncated}" if "truncated" in self.unit.decisions else ""
            self.emit(f"return {reward}, {terminated}{tail}", node.col_offset)
        elif self.indent > 1:
            self.emit("return")

    def _output(self, role: str, value: ast.expr) -> None:
        """Write an observation or infos, now or in the function `observe` or `info`."""
        if role in self.unit.decisions:
            self._write_output(role, value)
            return
        later = self.inner(self.source, self.chain, self.bindings, role)
        later.only_state = True
        count = len(self.unit.obstacles)
        try:
            later._write_output(role, value)
        except ObstacleFound:
            self.unit.decide(role)
        text = "\n".join(later.lines)
        is_changing = _CHANGES.search(self.unit.with_helpers(text)) is not None
        is_other = self.unit.written.setdefault(role, text) != text
        if is_changing or is_other or len(self.unit.obstacles) > count:
            self.unit.decide(role)

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


def _message(node: ast.expr) -> str:
    """Return the text of an exception as a constant."""
    if isinstance(node, ast.Constant):
        return repr(node.value)
    return repr(ast.unparse(node).removeprefix("f").strip("'\""))
