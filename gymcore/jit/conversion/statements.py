"""Conversion of statements, and of the functions that they are in."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable
from typing import Any

from gymcore.jit.conversion.assignments import VALUE, Assignments
from gymcore.jit.conversion.layouts import NUMBERS
from gymcore.jit.conversion.loops import header, rounds, rounds_of_objects
from gymcore.jit.conversion.obstacles import ObstacleFound
from gymcore.jit.conversion.outputs import write_info
from gymcore.jit.conversion.scope import (
    Alias,
    Binding,
    Known,
    Local,
    Stored,
    name_of,
)
from gymcore.jit.conversion.source import (
    MUTATING,
    changed_attributes,
    method_of,
)
from gymcore.jit.conversion.syntax import (
    called_name,
    loaded,
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
# Changes and draws, which a function that only observes must not contain.
_CHANGES = re.compile(
    r"(?m)^ *state\.[\w\[\], :.()]* [-+*/%&|]?=(?!=)|\brng\b|\(state\.\w+, state\.length_of_"
)


class Statements(Assignments):
    """Statements of one function in the calls that it runs in."""

    _line = 0  # the last line of the source that has been converted

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
        method = node.iter.func if isinstance(node.iter, ast.Call) else None
        owner = method.value if isinstance(method, ast.Attribute) else None
        are_objects |= bool(by_round) and owner is not None and self.stored(owner) is not None
        if are_objects and has_jumps:
            change = "use a variable that says whether the loop goes on"
            raise self.obstacle(node.iter, "has items, and `break` leaves the loop", change)
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
            in_place |= isinstance(part, ast.AugAssign) and ast.unparse(part.target) == owner
            value = part.value if isinstance(part, ast.Assign) else None
            if value is not None and ast.unparse(value) == owner:
                raise self.obstacle(value, "gets a name in a loop over it", "name it before")
            if isinstance(part, ast.Delete):
                in_place |= any(ast.unparse(t).startswith(f"{owner}[") for t in part.targets)
            if isinstance(part, ast.Call):
                method = part.func
                if isinstance(method, ast.Attribute) and method.attr in MUTATING:
                    in_place |= self.growing(method.value) == self.growing(items)
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
        returns = self.role.endswith(VALUE)
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


def _message(node: ast.expr) -> str:
    """Return the text of an exception as a constant."""
    if isinstance(node, ast.Constant):
        return repr(node.value)
    return repr(ast.unparse(node).removeprefix("f").strip("'\""))
