"""Conversion of statements, and of the functions that they are in."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MethodType
from typing import Any

import numpy as np

from gymcore import spaces
from gymcore.jit.conversion.calls import Calls, name_at
from gymcore.jit.conversion.expressions import (
    Alias,
    Binding,
    Known,
    Local,
    Record,
    name_of,
    tuple_of,
    word_in,
)
from gymcore.jit.conversion.layouts import Layout, is_number, layout_of, number_array
from gymcore.jit.conversion.obstacles import ObstacleFound
from gymcore.jit.conversion.source import (
    Source,
    changed_attributes,
    has_convertible_init,
    is_convertible,
)
from gymcore.jit.conversion.tables import Table
from gymcore.jit.conversion.tracing import Chain
from gymcore.jit.conversion.unit import RESERVED, Helper, Unit
from gymcore.spaces.space import Space

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


class Statements(Calls):
    """Statements of one function in the calls that it runs in.

    Attributes:
        lines: The converted lines.
        role: "reset" or "step" if the function returns what `reset` or `step` returns,
            "observation" or "info" if it writes what it returns, or "".
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
        super().__init__(unit, source, chain, bindings)
        self.role, self.lines, self.outputs = role, list[str](), set[str]()
        self._root = role.removesuffix(_VALUE) if role.startswith(("reset", "step")) else ""
        self._indent = 1
        self._line = 0  # the last line of the source that has been converted

    def run(self) -> str:
        """Return the text of the function's statements."""
        body = self.source.tree.body
        self._line = body[0].lineno - 1
        self.block(body)
        if len(self.lines) > 1 and self.lines[-1] == "    return":
            self.lines.pop()
        return "\n".join(self.lines).rstrip() or "    pass"

    def emit(self, text: str, column: int = 0) -> None:
        """Add a statement; the lines of its text after the first are indented by `column`."""
        first, *rest = text.split("\n")
        head = "    " * self._indent
        self.lines.append(f"{head}{first}".rstrip())
        for line in rest:
            margin = min(column, len(line) - len(line.lstrip()))
            self.lines.append(f"{head}{line[margin:]}".rstrip())

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

    def _nested(self, statements: list[ast.stmt]) -> bool:
        self._indent += 1
        self._line = statements[0].lineno - 1
        while self.source.lines[self._line - 1].strip().startswith(b"#"):
            self._line -= 1
        ends = self.block(statements)
        self._indent -= 1
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
            self.emit("else:")
            return self._nested(taken)
        self.emit(f"{word} {self.condition(node.test)}:", node.col_offset)
        bindings = dict(self.bindings)
        ends = self._nested(node.body)
        self.bindings = bindings
        if len(node.orelse) == 1 and isinstance(inner := node.orelse[0], ast.If):
            return self._do_if(inner, "elif") and ends
        return self._orelse(node.orelse) and ends

    def _inlined(self, statements: list[ast.stmt]) -> bool:
        self._line = statements[0].lineno - 1
        return self.block(statements)

    def _orelse(self, statements: list[ast.stmt]) -> bool:
        if statements:
            self.emit("else:")
        return bool(statements) and self._nested(statements)

    def _do_for(self, node: ast.For) -> bool | None:
        rounds = self._rounds(node.target, node.iter)
        jumps = (ast.Break, ast.Continue)
        if rounds and not any(isinstance(part, jumps) for part in ast.walk(node)):
            before, ends = self.round, False
            for k, bindings in enumerate(rounds):
                self.bindings |= bindings
                self.round = *before, (node, k)
                ends = ends or self._inlined(node.body)
            self.round = before
            return ends or (bool(node.orelse) and self._inlined(node.orelse))
        header, first = self._loop(node.target, node.iter)
        self.emit(header, node.col_offset)
        self.lines += [f"{'    ' * self._indent}    {line}" for line in first]
        self._nested(node.body)
        self._orelse(node.orelse)
        return None

    def _do_while(self, node: ast.While) -> None:
        self.emit(f"while {self.condition(node.test)}:", node.col_offset)
        self._nested(node.body)
        self._orelse(node.orelse)

    def _rounds(self, target: ast.expr, items: ast.expr) -> list[dict[str, Binding]] | None:
        """Return what the names stand for in each round of a loop that is written round by round.

        These are loops over texts, such as keys, and over objects in the state; None for others.
        """
        called = ast.unparse(items.func) if isinstance(items, ast.Call) else ""
        if isinstance(items, ast.Call) and called in ("enumerate", "zip"):
            parts = [ast.Constant(None), *items.args] if called == "enumerate" else items.args
            targets = target.elts if isinstance(target, ast.Tuple) else []
            columns = [self._rounds(*pair) for pair in zip(targets, parts, strict=False)]
            lengths = [len(column) for column in columns if column]
            if len(targets) != len(parts) or not lengths:
                return None
            rounds: list[dict[str, Binding]] = [{} for _ in range(min(lengths))]
            for part, inner, column in zip(targets, parts, columns, strict=True):
                for k, names in enumerate(rounds):
                    text = "" if column or called == "enumerate" else f"{self.enclosed(inner)}[{k}]"
                    other: Binding = Alias(text) if text else Known(k)
                    names |= column[k] if column else {ast.unparse(part): other}
            return rounds
        method = items.func if isinstance(items, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr == "items":
            owner = method.value
            path, texts = self.path(owner), self.elements(owner) or []
            keys = list(path[1].items or ()) if path is not None else []
            if isinstance(target, ast.Tuple) and keys and len(keys) == len(texts):
                key, item = map(ast.unparse, target.elts)
                pairs = zip(map(Known, keys), map(Alias, texts), strict=True)
                return [{key: first, item: second} for first, second in pairs]
        path = self.path(items)
        nodes = items.elts if isinstance(items, (ast.Tuple, ast.List)) else []
        if path is not None and path[1].items:
            places = (f"{ast.unparse(items)}[{k}]" for k in range(len(path[1].items)))
            nodes = [ast.parse(text, mode="eval").body for text in places]
        records = [record for record in map(self.record, nodes) if record is not None]
        if records and len(records) == len(nodes) and isinstance(target, ast.Name):
            return [{target.id: record} for record in records]
        known = self.known(items)
        values = [*known.value] if known and isinstance(known.value, Iterable) else []
        is_text = (isinstance(p, str) for v in values for p in (v if isinstance(v, tuple) else [v]))
        if not any(is_text):
            return None
        return [dict(_matched(target, value)) for value in values]

    def _loop(self, target: ast.expr, items: ast.expr) -> tuple[str, list[str]]:
        """Return the header of a loop, and the statements that its body begins with."""
        counter = ""
        counts = isinstance(items, ast.Call) and ast.unparse(items.func) == "enumerate"
        inner = items.args[0] if isinstance(items, ast.Call) and counts else items
        if counts and isinstance(target, ast.Tuple) and self.table(inner) is not None:
            counter, target, items = self.text(target.elts[0]), target.elts[1], inner
        table = self.table(items)
        if table is None or (table.is_row() and not counter):
            texts = self.elements(items) if table is None else None
            text = tuple_of(texts) if texts else self.text(items)
            if isinstance(target, ast.Tuple) and not texts and self.has_rows(items):
                row = ", ".join(f"row[{k}]" for k in range(len(target.elts)))
                return f"for row in {text}:", [f"{self.joined(target.elts)} = {row}"]
            return f"for {self.text(target)} in {text}:", []
        counter = counter or f"{target.id if isinstance(target, ast.Name) else 'item'}_index"
        part = table.at(counter)
        if part is None:
            raise self.obstacle(items, "iterates over keys that are not 0, 1, ...", "use a list")
        lengths = table.lengths()
        length = str(lengths.flat[0])
        if (lengths != lengths.flat[0]).any():
            name = self.unit.constant(lengths, f"{table.name}_length")
            length = f"{name}[{', '.join(table.indices)}]"
        first = []
        if isinstance(target, ast.Name) and part.text(self.unit.constant) is None:
            self.bindings[target.id] = part
        else:
            value = self.table_text(part, items)
            first = [f"{self.text(target)} = {value}"]
        return f"for {counter} in range({length}):", first

    def _do_try(self, node: ast.Try) -> bool:
        caught = {
            part.id
            for h in node.handlers
            for part in ast.walk(h.type or node)
            if isinstance(part, ast.Name)
        }
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
        """Leave out what only ends the life of a name."""
        if not all(isinstance(target, ast.Name) for target in node.targets):
            raise self.obstacle(node, "deletes an item", "use an array and a count")

    def _do_pass(self, node: ast.stmt) -> bool:
        self.emit(ast.unparse(node))
        return not isinstance(node, ast.Pass)

    _do_break = _do_continue = _do_pass

    def _do_import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self.bindings[name] = Known(
                importlib.import_module(alias.name if alias.asname else name)
            )

    def _do_assert(self, node: ast.Assert) -> None:
        test = self.flat(node.test)
        if test != "True":
            self.emit(f"assert {test}{f', {_message(node.msg)}' if node.msg else ''}")

    def _do_raise(self, node: ast.Raise) -> bool:
        called, args = (
            (node.exc.func, node.exc.args) if isinstance(node.exc, ast.Call) else (node.exc, [])
        )
        known = self.known(called) if called is not None else None
        if known is None or not isinstance(known.value, type):
            raise self.obstacle(node, "raises an exception that is not known", "raise ValueError")
        name = next(base.__name__ for base in known.value.__mro__ if name_of(base))
        self.emit(f"raise {name}({', '.join(map(_message, args))})")
        return True

    def _do_expr(self, node: ast.Expr) -> None:
        call = node.value
        if not isinstance(call, ast.Call):
            return
        if _IGNORED.match(ast.unparse(call)):
            self._effects(*call.args, *call.keywords)
            return
        owner, _, method = ast.unparse(call.func).rpartition(".")
        if isinstance(call.func, ast.Attribute) and self._is_unused(call.func.value):
            return
        items = self.bindings.get(owner)
        if isinstance(items, list) and method == "append":
            items.append(f"{owner}_{len(items)}")
            self.emit(f"{items[-1]} = {self.flat(call.args[0])}")
        elif owner in self.outputs and method == "update" and call.args:
            self._write_info(call.args[0], clears=False)
        elif owner.startswith("super(") and not self._is_convertible_call(call):
            self.unit.seeded |= method == "reset"
        else:
            text = self._base_call(call) if self._is_base_call(call) else self.text(call)
            self.emit(text, node.col_offset)

    def _effects(self, *nodes: ast.AST) -> None:
        """Emit the calls in expressions that draw, or that may change the state."""
        for node in nodes:
            draws = isinstance(node, ast.Call) and "np_random." in ast.unparse(node.func)
            if draws or self._is_convertible_call(node):
                self.emit(self.text(node))
            else:
                self._effects(*ast.iter_child_nodes(node))

    def _is_convertible_call(self, node: ast.AST) -> bool:
        known = self.called(node) if isinstance(node, ast.Call) else None
        return known is not None and is_convertible(known.value)

    def _is_base_call(self, node: ast.AST) -> bool:
        """Return whether an expression calls `reset` or `step`, such as that of a base class."""
        if not self._root or not isinstance(node, ast.Call) or not self._is_convertible_call(node):
            return False
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("reset", "step"):
            return False
        known = self.called(node)
        this = getattr(known and known.value, "__self__", None)
        return hasattr(this.layout.kind if isinstance(this, Record) else this, "unwrapped")

    def _base_call(self, call: ast.Call, returns_observation: bool = False) -> str:
        """Return the call of a base class's `reset` or `step`, which writes what it returns."""
        self.unit.decide(stores_observation=True, stores_info=True, truncates=True)
        role = ast.unparse(call.func).rpartition(".")[2]
        return self._helper_call(call, f"{role}{_VALUE * returns_observation}")

    def _helper_call(self, call: ast.Call, role: str) -> str:
        known = self.called(call)
        assert known is not None
        keywords = {keyword.arg or "": keyword.value for keyword in call.keywords}
        return self.converted_call(call, known.value, call.args, keywords, role)

    # --- assignments -----------------------------------------------------------------------------

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assign(node, node.target, node.value)

    def _do_assign(self, node: ast.Assign) -> None:
        *others, last = node.targets
        self._assign(node, last, node.value)
        for target in others:
            self._assign(node, target, _loaded(last))

    def _assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        column = node.col_offset
        is_base = isinstance(target, ast.Tuple) and self._is_base_call(value)
        if is_base and isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
            observation, *others, info = target.elts
            name = ast.unparse(observation)
            is_value = name in self.source.loads and not self.source.output_role(name)
            self.outputs |= {ast.unparse(info), "" if is_value else name}
            names = self.joined([observation, *others] if is_value else others)
            call = self._base_call(value, returns_observation=is_value)
            self.emit(f"{names} = {call}" if names else call)
        elif isinstance(target, ast.Name):
            self._assign_name(node, target, value)
        elif isinstance(target, ast.Tuple):
            self._assign_items(node, target, value)
        elif self._is_unused(target):
            self._effects(value)
        elif (path := self.path(target)) is not None:
            self._store(target, *path, value)
        elif isinstance(target, ast.Subscript) and ast.unparse(target.value) in self.outputs:
            self._write_info(ast.Dict([target.slice], [value]), clears=False)
        else:
            self.emit(f"{self.text(target)} = {self.flat(value)}", column)

    def _is_unused(self, target: ast.expr) -> bool:
        """Return whether a target is an attribute that is never read, or always None."""
        target = target.value if isinstance(target, ast.Subscript) else target
        if not isinstance(target, ast.Attribute):
            return False
        record = self.record(target.value)
        if record is not None:  # reading what a lane cannot have is an obstacle
            return target.attr not in (record.layout.items or {})
        if not self.is_self(target.value):
            return False
        layout = self.unit.layouts.get(target.attr)
        is_none = layout is not None and layout.kind is type(None)
        return is_none or target.attr not in self.unit.read

    def _assign_name(self, node: ast.stmt, target: ast.Name, value: ast.expr) -> None:
        name = target.id
        if self._is_base_call(value) and isinstance(value, ast.Call):
            self._assign_results(node, name, value)
            return
        role = self.source.output_role(name) if self._root else ""
        if role == "observation" and self.role.endswith(_VALUE):
            role = ""
        if role:
            self.unit.decide(**{f"stores_{role}": True})
            self.outputs.add(name)
            self._write_output(role, value, "state.")
            return
        local = self.local_list(name)
        if local is not None:
            growing, dtype, shape = local
            name = "bool_" if dtype == np.bool_ else dtype.name
            self.emit(f"{growing.items} = np.empty({shape}, np.{name})")
            self.emit(f"{growing.length} = np.zeros(1, np.int64)")
            if not _is_empty(value):
                self.emit(self.list_call(growing, "assign", [value]))
            return
        if _is_empty(value):
            if not self.source.is_flat_list(name):
                reason = "is a list that grows, whose items are not all alike or not numbers"
                raise self.obstacle(node, reason, "append numbers, or tuples of numbers")
            self.bindings[name] = []
            return
        is_only = self.source.stores[name] == 1
        table, known = self.table(value), self.known(value)
        if table is not None and is_only and table.text(self.unit.constant) is None:
            parts = [f"{name}_{k}" for k in range(len(table.indices))]
            self.lines += [
                f"{'    ' * self._indent}{part} = {index}"
                for part, index in zip(parts, table.indices, strict=True)
            ]
            self.bindings[name] = table._replace(indices=tuple(parts))
        elif known is not None and is_only and number_array(known.value) is None:
            self.bindings[name] = known
        else:
            path = self.path(value)
            copy = ""
            if path is not None and path[1].shape and name not in self.source.changed_items:
                rebound = {name for name, whole in changed_attributes(self.source) if whole}
                copy = ".copy()" if path[0] in rebound else ""
            is_row = isinstance(value, ast.Subscript) and self.has_rows(value.value)
            text = self.as_value(value) if path is not None or is_row else self.flat(value)
            copy = copy if text.startswith("state.") else ""
            self.emit(f"{self.text(target)} = {text}{copy}", node.col_offset)

    def _assign_results(self, node: ast.stmt, name: str, call: ast.Call) -> None:
        """Emit `name = super().step(action)`, if the results are only returned."""
        loads = [n for n in ast.walk(self.source.tree) if isinstance(n, ast.Name) and n.id == name]
        returned = [n.value for n in ast.walk(self.source.tree) if isinstance(n, ast.Return)]
        if any(isinstance(n.ctx, ast.Load) and n not in returned for n in loads):
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
        used = [part for part in target.elts if not self._is_unused(part)]
        parts = [self.path(part) for part in used]
        special = any(p is not None and (p[1].optional or p[1].shape or p[1].items) for p in parts)
        if special or len(used) < len(target.elts):
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                reason = "assigns several attributes at once"
                raise self.obstacle(node, reason, "assign each in a statement")
            pairs = zip(target.elts, value.elts, strict=True)
            stored = [(part, item) for part, item in pairs if part in used]
            emptied = [pair for pair in stored if self.growing(pair[0]) and _is_empty(pair[1])]
            stored = [pair for pair in stored if pair not in emptied]
            names = [f"new_{k}" for k in range(len(stored))]
            copies = [
                f"{self.flat(item)}{'.copy()' * (np.ndarray in self.types(item))}"
                for _, item in stored
            ]
            if stored:
                self.emit(f"{', '.join(names)} = {', '.join(copies)}")
            for (part, _), name in zip(stored, names, strict=True):
                self.bindings[name] = Alias(name)
                self._assign(node, part, ast.Name(name, ast.Load(), lineno=node.lineno))
            for part, item in emptied:
                self._assign(node, part, item)
            return
        is_display = isinstance(value, ast.Tuple) or self.table(value) is not None
        texts = self.elements(value) if is_display else None
        text = ", ".join(texts) if texts else self.flat(value)
        self.emit(f"{self.joined(target.elts)} = {text}", node.col_offset)

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

    def _store(self, target: ast.expr, name: str, layout: Layout, value: ast.expr) -> None:
        """Emit the assignment of an attribute, or of an item of it."""
        if layout.optional:
            known, other = self.known(value), self.path(value)
            flag = f"state.{layout.flag(name)}"
            if known is not None and known.value is None:
                self.emit(f"{flag} = False")
                return
            if isinstance(value, ast.IfExp) and type(None) in self.types(value):
                raise self.obstacle(value, "may be None", "write it as an `if` statement")
            is_optional = other is not None and other[1].optional
            self.emit(
                f"{flag} = {f'state.{other[1].flag(other[0])}' if other and is_optional else True}"
            )
        if isinstance(value, ast.Call) and self._is_made(value, layout):
            method = MethodType(layout.kind.__init__, self.record(target))  # type: ignore[misc]
            keywords = {keyword.arg or "": keyword.value for keyword in value.keywords}
            self.emit(self.converted_call(value, method, value.args, keywords))
        elif (growing := self.growing(target)) is not None:
            self.emit(self.list_call(growing, "assign", [value]))
        elif layout.items is not None:
            fields, texts = layout.parts(name), self._record_items(value, layout)
            if texts is None or len(texts) != len(fields):
                raise self.obstacle(value, "is not written item by item", "write all items")
            names = ", ".join(f"state.{f.name}{'[:]' * bool(f.shape)}" for f in fields)
            self.emit(f"{names} = {', '.join(texts)}")
        elif layout.shape and layout.dtype is not None:
            self.emit(f"state.{name}[:] = {self._items(value, layout.dtype)}", target.col_offset)
        else:
            self.emit(f"state.{name} = {self.flat(value)}", target.col_offset)

    def _is_made(self, call: ast.Call, layout: Layout) -> bool:
        """Return whether a call makes an object whose constructor is converted."""
        known = self.known(call.func)
        return (
            known is not None and known.value is layout.kind and has_convertible_init(layout.kind)
        )

    def _record_items(self, value: ast.expr, layout: Layout) -> list[str] | None:
        if isinstance(value, ast.Call):
            known = self.known(value.func)
            if known is not None and known.value is layout.kind:
                names = list(layout.items or ())
                given = dict(zip(names, self._unpacked(value.args), strict=False))
                given |= {keyword.arg or "": keyword.value for keyword in value.keywords}
                defaults = inspect.signature(layout.kind).parameters
                return [
                    self.flat(given[name])
                    if name in given
                    else self.value_text(defaults[name].default, value)
                    for name in names
                ]
        if isinstance(value, ast.Dict):
            return [*map(self.flat, value.values)]
        if isinstance(value, ast.Name) and isinstance(self.bindings.get(value.id), Alias):
            return [f"{value.id}[{k}]" for k in range(len(layout.items or ()))]
        return self.elements(value)

    def _items(self, value: ast.expr, dtype: np.dtype) -> str:
        """Return the text of a value that is copied to an array, without creating another."""
        cast, inner = self._without_cast(value)
        rounds = cast == np.float32 and dtype == np.float64
        is_exact = rounds or cast in (None, dtype, np.dtype(np.float64))
        if is_exact and isinstance(inner, (ast.List, ast.Tuple)) and self._is_row(inner):
            texts = [f"np.float32({self.text(e)})" if rounds else self.flat(e) for e in inner.elts]
            return ", ".join(texts) if len(texts) > 1 else texts[0]
        called = self.known(inner.func) if isinstance(inner, ast.Call) else None
        if called is not None and called.value in (np.zeros, np.zeros_like):
            return "0"
        return self.flat(inner if cast in (None, dtype) else value)

    def _is_row(self, display: ast.List | ast.Tuple) -> bool:
        arrays = {np.ndarray, list, tuple}
        nested = (ast.Starred, ast.List, ast.Tuple)
        return not any(self.types(e) & arrays or isinstance(e, nested) for e in display.elts)

    def _without_cast(self, value: ast.expr) -> tuple[np.dtype | None, ast.expr]:
        """Return the dtype that an expression is converted to, if any, and what is converted."""
        if not isinstance(value, ast.Call):
            return None, value
        dtypes = [kind.dtype for kind in self.kinds(value)]
        dtype = dtypes[0] if len(dtypes) == 1 else np.dtype(object)
        keywords = {keyword.arg for keyword in value.keywords}
        known = self.known(value.func)
        if known is not None and known.value in (np.array, np.asarray):
            is_plain = len(value.args) == 1 and "dtype" not in keywords
            return None if is_plain else dtype, value.args[0]
        owner = value.func.value if isinstance(value.func, ast.Attribute) else value
        is_array = owner is not value and np.ndarray in self.types(owner)
        if is_array and ast.unparse(value.func).endswith((".copy", ".astype")):
            return dtype if value.args else None, owner
        return None, value

    def _do_augassign(self, node: ast.AugAssign) -> None:
        target = node.target
        if self._is_unused(target):
            return
        if (growing := self.growing(_loaded(target))) is not None:
            self.emit(self.list_call(growing, "extend", [node.value]))
            return
        path, where = self.path(target), self.text(_loaded(target))
        operator = self.source.operator_of(node)
        if self.is_narrow(node) and np.float64 not in self.types(node):
            value = f"np.float32({where} {operator} {self.narrow_operand(node.value)})"
            self.emit(f"{where} = {value}")
            return
        whole = "[:]" if path is not None and path[1].shape else ""
        self.emit(f"{where}{whole} {operator}= {self.flat(node.value)}", node.col_offset)

    # --- results ---------------------------------------------------------------------------------

    def _do_return(self, node: ast.Return) -> bool:
        value = node.value
        if self._root:
            self._finish(node)
        elif self.role and value is not None:
            stores = getattr(self.unit, f"stores_{self.role}")
            self._write_output(self.role, value, "state." if stores else "")
            self.emit("return")
        else:
            self.emit(f"return {self.flat(value) if value else ''}".rstrip(), node.col_offset)
        return True

    def _finish(self, node: ast.Return) -> None:
        count, value = (2 if self._root == "reset" else 5), node.value
        returns = self.role.endswith(_VALUE)
        if isinstance(value, ast.Call) and self._is_convertible_call(value):
            self.unit.decide(truncates=True)
            call = self._helper_call(value, self.role)
            self.emit(f"return {call}" if count == 5 or returns else call)
            return
        if isinstance(value, ast.Name) and value.id in self.outputs:
            if count == 5 or returns or self._indent > 1:
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
                self.unit.decide(truncates=True)
            tail = f", {truncated}" if self.unit.truncates else ""
            self.emit(f"return {reward}, {terminated}{tail}", node.col_offset)
        elif self._indent > 1:
            self.emit("return")

    def _output(self, role: str, value: ast.expr) -> None:
        """Write an observation or infos, now or in the function `observe` or `info`."""
        if getattr(self.unit, f"stores_{role}"):
            self._write_output(role, value, "state.")
            return
        later = Statements(self.unit, self.source, self.chain, self.bindings, role)
        later.only_state, later.round = True, self.round
        count = len(self.unit.obstacles)
        try:
            later._write_output(role, value, "")
        except ObstacleFound:
            self.unit.decide(**{f"stores_{role}": True})
        text = "\n".join(later.lines)
        is_changing = _CHANGES.search(self.unit.with_helpers(text)) is not None
        is_other = self.unit.written.setdefault(role, text) != text
        if is_changing or is_other or len(self.unit.obstacles) > count:
            self.unit.decide(**{f"stores_{role}": True})

    def _write_output(self, role: str, value: ast.expr, prefix: str) -> None:
        if self._is_convertible_call(value) and isinstance(value, ast.Call):
            self.emit(self._helper_call(value, role))
        elif role == "observation":
            target = self.unit.field_of(role) if prefix else role
            self._write(value, self.unit.observation_space, f"{prefix}{target}")
        else:
            self._write_info(value, clears=bool(prefix) and self.chain[0] != "reset")

    def _write(self, value: ast.expr, space: Space, target: str) -> None:
        """Emit the assignment of an observation to an argument, or to fields of the state."""
        stores = target.startswith("state.")
        if isinstance(space, (spaces.Dict, spaces.Tuple)):
            parts: dict[object, ast.expr] = {}
            if isinstance(value, ast.Dict):
                keys = (self.known(key) for key in value.keys if key is not None)
                parts = dict(zip((key and key.value for key in keys), value.values, strict=False))
            elif isinstance(value, (ast.Tuple, ast.List)):
                parts = dict(enumerate(value.elts))
            keyed = (
                space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
            )
            for key, inner in keyed:
                if key not in parts:
                    reason = f"is an observation without a part {key!r} in a display"
                    raise self.obstacle(value, reason, "return a display of all parts")
                name = f"[{key}]" if isinstance(key, int) else f".{key}"
                self._write(parts[key], inner, f"{target}_{key}" if stores else f"{target}{name}")
        elif is_number(space):
            self.emit(f"{target}{'[0]' * (not stores)} = {self.flat(value)}", value.col_offset)
        else:
            text = self._items(value, np.dtype(space.dtype))
            self.emit(f"{target}[:] = {text}", value.col_offset)

    def _write_info(self, value: ast.expr, clears: bool) -> None:
        """Emit the assignments of infos; `clears` sets those that are not written to 0."""
        prefix = f"state.{self.unit.field_of('info')}_" if self.unit.stores_info else "info."
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "dict" and not value.args:
            names = [ast.Constant(keyword.arg) for keyword in value.keywords]
            value = ast.Dict([*names], [keyword.value for keyword in value.keywords])
        owner = ast.unparse(value).removesuffix(".copy()")
        record = self.path(ast.parse(owner, mode="eval").body)
        if record is not None and record[1].items:
            keys = list(record[1].items)
            items = [ast.parse(f"{owner}[{key!r}]", mode="eval").body for key in keys]
            value = ast.Dict([*map(ast.Constant, keys)], items)
        if not isinstance(value, ast.Dict):
            reason = "are infos that are not a dict display, or which more than `return` uses"
            raise self.obstacle(value, reason, "use a dict display, in `return` only")
        for key, item in zip(value.keys, value.values, strict=True):
            unpacked = self.known(item) if key is None else None
            if unpacked is not None and unpacked.value == {}:
                continue
            try:
                self._write_info_item(key, item, prefix)
            except ObstacleFound as problem:
                self.unit.obstacles.append(problem.obstacle)
        written = {getattr(key, "value", None) for key in value.keys}
        for name in sorted(self.unit.trace.infos.keys() - written) if clears else ():
            layout = self._info_layout(name, value)
            if layout is not None:
                zero = "False" if layout.dtype == np.bool_ and not layout.shape else "0"
                self.emit(f"{prefix}{name}{'[:]' * bool(layout.shape)} = {zero}")

    def _write_info_item(self, key: ast.expr | None, item: ast.expr, prefix: str) -> None:
        known = self.known(key) if key is not None else None
        name = known.value if known is not None else None
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
            raise self.obstacle(key or item, "is a key of infos that is not a name", "use a name")
        layout = self._info_layout(name, item)
        if layout is not None and layout.dtype is not None:
            text = self._items(item, layout.dtype) if layout.shape else self.flat(item)
            self.emit(f"{prefix}{name}{'[:]' * bool(layout.shape)} = {text}", item.col_offset)

    def _info_layout(self, name: str, node: ast.expr) -> Layout | None:
        samples = [v for v in self.unit.trace.infos.get(name, []) if v is not None]
        if not samples:
            return None
        try:
            layout = layout_of(samples)
        except ValueError as problem:
            raise self.obstacle(node, *problem.args) from None
        if layout.items is not None or len(layout.shape) > 1 or isinstance(samples[0], str):
            reason = f"is the info {name!r}, which is neither a number nor a row of numbers"
            raise self.obstacle(node, reason, "leave it out")
        self.unit.info_layouts[name] = layout
        return layout

    def _unpacked(self, args: list[ast.expr]) -> Iterator[ast.expr]:
        """Yield arguments, and the items of those that are unpacked."""
        for part in args:
            if not isinstance(part, ast.Starred):
                yield part
                continue
            value, kinds = part.value, self.kinds(part.value)
            shape = kinds.pop().shape if len(kinds) == 1 else None
            if isinstance(value, ast.Call) and shape:  # which is evaluated once
                self.emit(f"items = {self.flat(value)}")
                items: list[str] | None = [f"items[{k}]" for k in range(shape[0])]
            else:
                items = self._items_of(value)
            if items is None:
                raise self.obstacle(part, "unpacks a value of unknown length", "write each item")
            for item in items:
                self.bindings[item] = Alias(item)
                yield name_at(item, part)

    # --- helpers ---------------------------------------------------------------------------------

    def helper(
        self,
        source: Source,
        node: ast.AST,
        bindings: dict[str, Binding],
        passed: list[str],
        role: str,
    ) -> Helper:
        """Return the helper for a function in the call `node`."""
        chain = *self.chain, node
        key = source.tree, chain, role, self.round
        if key not in self.unit.texts:
            if source.tree in self.unit.active:
                raise self.obstacle(node, "calls itself", "write it as a loop")
            self.unit.active.add(source.tree)
            inner = Statements(self.unit, source, chain, bindings, role)
            inner.round = self.round
            body = inner.run()
            self.unit.active.discard(source.tree)
            used = tuple(name for name in passed if word_in(name, body))
            name = source.tree.name
            if role.startswith(("reset", "step")) and source.owner is not None:
                name = f"{name}_of_{source.owner.__name__.lower()}"
            self.unit.texts[key] = self.unit.helper(name, body, used)
        return self.unit.texts[key]

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, name: str) -> str:
        """Return the call of a helper that runs the loops of a comprehension."""
        width = self._width(node.elt) if name == "list" else 0
        if name not in ("any", "all", "sum", "list", "tuple") or width is None:
            raise self.obstacle(node, "is a comprehension of this kind", "write it as loops")
        bindings, head, lengths = dict(self.bindings), list[str](), list[str]()
        margin = ""
        for part in node.generators:
            if "zip(" in ast.unparse(part.iter):
                raise self.obstacle(node, "is a comprehension of this kind", "write it as loops")
            header, first = self._loop(part.target, part.iter)
            items = re.fullmatch(r"for .*? in (?:range\(([^,]*)\)|(.*)):", header)
            lengths.append((items[1] or f"len({items[2]})") if items else "0")
            head += [margin + header, *(f"{margin}    {line}" for line in first)]
            margin += "    "
            if part.ifs:
                head.append(f"{margin}if {' and '.join(map(self.enclosed, part.ifs))}:")
                margin += "    "
        items_of = getattr(node.elt, "elts", [])
        element = self.joined(items_of) if width else self.enclosed(node.elt)
        self.bindings = bindings
        if name in ("any", "all"):
            test = element if name == "any" else f"not {element}"
            before, last = list[str](), [f"return {name == 'all'}"]
            inner = [f"if {test}:", f"    return {name == 'any'}"]
        elif name == "sum":
            before, inner, last = self.sum_of(element, self.types(node.elt))
        else:
            shape = " * ".join(lengths)
            shape = f"({shape}, {width})" if width else shape
            before = [f"result = np.empty({shape}, {self._dtype_of(node.elt)})", "count = 0"]
            inner = [f"result[count] = {element}", "count += 1"]
            last = ["return result[:count]"]
        lines = [*before, *head, *(margin + line for line in inner), *last]
        body = "\n".join(f"    {line}" for line in lines)
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        names_of = (ast.walk(part.target) for part in node.generators)
        targets = {n.id for nodes in names_of for n in nodes if isinstance(n, ast.Name)}
        views = (self.bindings[n] for n in used if isinstance(self.bindings.get(n), Table))
        free = {f"{n}_" if n in RESERVED else n for n in (used - targets) & self.source.names}
        lists = (self.growing(part) for part in ast.walk(node) if isinstance(part, ast.Name))
        free |= {g.length for g in lists if g is not None and "." not in g.length}
        free |= {index for view in views if isinstance(view, Table) for index in view.indices}
        names = tuple(sorted(n for n in free if word_in(n, body)))
        title = f"{name}_of_{'_'.join(sorted(targets))}".replace("list_of", "values_of")
        helper = self.unit.helper(title, body, names)
        return f"{helper.name}({', '.join([*helper.first, *names])})"

    def _width(self, node: ast.expr) -> int | None:
        """Return the number of items of an element, 0 for a number; None if it is neither."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return len(node.elts)
        return None if self.types(node) & {tuple, list, np.ndarray} else 0

    def _dtype_of(self, node: ast.expr) -> str:
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        types = set().union(*map(self.types, parts))
        if not types:
            return "np.int64" if isinstance(node, ast.Name) else "np.float64"
        if types <= {bool, np.bool_}:
            return "np.bool_"
        return "np.int64" if all(issubclass(t, (int, np.integer)) for t in types) else "np.float64"


def _loaded(target: ast.expr) -> ast.expr:
    """Return the expression that reads a target."""
    read = ast.parse(ast.unparse(target), mode="eval").body
    for old, new in zip(ast.walk(target), ast.walk(read), strict=True):
        if isinstance(old, ast.expr) and isinstance(new, ast.expr):
            ast.copy_location(new, old)
    return read


def _matched(target: ast.expr, value: Any) -> Iterator[tuple[str, Known]]:
    """Yield the names of a target with the values that it gives them."""
    if isinstance(target, ast.Tuple):
        for part, item in zip(target.elts, value, strict=True):
            yield from _matched(part, item)
    else:
        yield ast.unparse(target), Known(value)


def _is_empty(node: ast.AST) -> bool:
    return isinstance(node, ast.List) and not node.elts


def _message(node: ast.expr) -> str:
    """Return the text of an exception as a constant."""
    if isinstance(node, ast.Constant):
        return repr(node.value)
    return repr(ast.unparse(node).removeprefix("f").strip("'\""))
