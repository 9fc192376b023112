"""Conversion of calls: of own functions and methods, and of those of Python and NumPy."""

from __future__ import annotations

import ast
import enum
import re
import sys
from collections.abc import Iterator
from types import FunctionType, MethodType

import numpy as np

from gymcore.jit.conversion.expressions import (
    Alias,
    Binding,
    Expressions,
    Known,
    Local,
    Record,
    Rng,
    is_builtin,
    name_of,
    tuple_of,
)
from gymcore.jit.conversion.layouts import NUMBERS
from gymcore.jit.conversion.lists import FUNCTIONS, Growing
from gymcore.jit.conversion.obstacles import ObstacleFound
from gymcore.jit.conversion.source import MUTATING, Source, function_of, is_convertible, method_of
from gymcore.jit.conversion.unit import RESERVED, Helper

__all__ = ["Calls"]

# Functions that compute a number of float32 in another loop than one of float64.
_FLOAT32_LOOPS = frozenset(
    (
        *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "hypot", "cbrt", "power"),
        *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
    )
)
_INDEX_OF = """\
    for index in range(len(items)):
        if items[index] == value:
            return index
    raise ValueError("the value is not in the list")"""
_TEXT_OF = """\
    code, place, rest = 48 + number % 10, 256, number // 10
    if not 0 <= number < 10**7:
        raise ValueError("only texts of up to seven digits have a number")
    while rest:
        code, place, rest = code + place * (48 + rest % 10), place * 256, rest // 10
    return code"""
_BUILTINS = frozenset(
    (
        *("abs", "bool", "complex", "divmod", "float", "int", "len", "max", "min", "round", "sum"),
        *("all", "any", "enumerate", "isinstance", "list", "print", "range", "reversed"),
        *("sorted", "str", "tuple", "zip"),
    )
)
# The methods of `Generator` for functions of `random` and `np.random`.
_DRAWS = {
    "rand": "random",
    "randn": "standard_normal",
    "randint": "integers",
    "random_sample": "random",
    "gauss": "normal",
    "normalvariate": "normal",
    "expovariate": "",
    "sample": "",
    "choices": "",
}
_OVER_ARRAYS = ("any", "all", "min", "max")
# From Python 3.12 on, `sum` adds the rounding errors of a sum of Python's floats to it (Neumaier),
# but not those of a sum of NumPy's numbers, which are Python's floats in converted code.
_ADDS_ERRORS = sys.version_info >= (3, 12)
_SUM_OF = """\
    result = 0
    for value in items:
        result += value
    return result"""
_ADD_FLOAT = """\
    total = result + value
    if abs(result) >= abs(value):
        return total, errors + (result - total + value)
    return total, errors + (value - total + result)"""


class Calls(Expressions):
    """Expressions with calls."""

    def _call(self, node: ast.Call) -> str | None:
        known = self.called(node)
        called = known.value if known is not None else None
        if is_convertible(called) or isinstance(called, Local):
            return self.converted_call(node, called, node.args, _keywords(node))
        value = self.known(node) if called is not isinstance else self.truth(node)
        if value is not None and isinstance(number := getattr(value, "value", value), NUMBERS):
            return self.value_text(number, node)
        if known is None and isinstance(node.func, ast.Attribute):
            text = self._method(node, node.func)
            if text is not None:
                return text
        elif isinstance(called, type) and issubclass(called, enum.Enum):
            return self.text(node.args[0])
        elif known is not None and name_of(called) is None and not _is_array_method(called):
            return self._foreign(node, called)
        if called is float and node.args and self.types(node.args[0]) <= {bool, np.bool_}:
            return f"(1.0 if {self.flat(node.args[0])} else 0.0)"
        if called is str and all(
            issubclass(t, (int, np.integer)) for t in self.types(node.args[0])
        ):
            return self.call_of("text_of", _TEXT_OF, [self.flat(node.args[0])], ["number"])
        growing = self.growing(node.args[0]) if called is len else None
        if growing is not None:
            return f"{growing.length}[0]"
        if called is open:
            raise self.obstacle(node, "opens a file", "keep it out of `reset` and `step`")
        if is_builtin(called) and getattr(called, "__name__", "") not in _BUILTINS:
            reason = "calls a function that compiled code does not have"
            raise self.obstacle(node, reason, "write it as a loop, or in another way")
        if len(node.args) == 1 and is_builtin(called):
            text = self._over_items(node, node.args[0], str(getattr(called, "__name__", "")))
            if text is not None:
                return text
        return self._library_call(node, called)

    def _foreign(self, node: ast.Call, called: object) -> str:
        """Return the text of a call that compiled code cannot make, if it is known."""
        owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
        if any(base.__name__ == "Space" for base in type(owner).__mro__):
            if name == "contains":
                return "True"
            reason = "draws from the generator of a space"
            raise self.obstacle(node, reason, "draw from `self.np_random`")
        module = str(getattr(called, "__module__", None) or type(called).__name__)
        if re.search(r"\brandom\b", f"{module} {type(owner)}"):
            change = "draw from `self.np_random`"
            if self.self_name and (method := _DRAWS.get(name, name)) in dir(np.random.Generator):
                args = [ast.unparse(part) for part in (*node.args, *node.keywords)]
                if name in ("rand", "randn") and len(args) > 1:
                    args = [tuple_of(args)]
                if name == "randint" and "numpy" not in str(type(owner)) and len(args) == 2:
                    args[1] += " + 1"  # Python's range includes its end
                change = f"write `{self.self_name}.np_random.{method}({', '.join(args)})`"
            raise self.obstacle(node, "draws from another generator", change)
        change = "keep it out of `reset` and `step`"
        raise self.obstacle(node, f"calls a function of {module}", change)

    def _library_call(self, node: ast.Call, called: object) -> str:
        arguments = self.each(self.argument, node.args)
        texts: dict[ast.AST, str] = dict(zip(node.args, arguments, strict=True))
        if isinstance(node.func, ast.Attribute) and _is_array_method(called):
            texts[node.func] = f"{self.text(node.func.value)}.{node.func.attr}"
        for keyword in node.keywords:
            value = getattr(keyword.value, "value", None)
            if isinstance(keyword.value, ast.Constant) and isinstance(value, str):
                text = f"np.{value}" if keyword.arg == "dtype" else repr(value)
            else:
                text = self.argument(keyword.value)
            texts[keyword] = f"{keyword.arg}={text}"
        text, name = self.replaced(node, texts), getattr(called, "__name__", "")
        makes_array = called in (np.array, np.asarray) and "dtype=" not in text
        is_narrow = any(kind.dtype == np.float32 for kind in self.kinds(node))
        if (makes_array and is_narrow and len(node.args) == 1) or (
            self.is_narrow(node) and name in _FLOAT32_LOOPS
        ):
            return f"{text[:-1]}, dtype=np.float32)"
        if called in (min, max) and self.is_narrow(node):
            self._doubt_types(node, node.args)
        is_rounded = self.is_narrow(node) and isinstance(called, (np.ufunc, type(np.clip)))
        return f"np.float32({text})" if is_rounded and name != "float32" else text

    def _method(self, node: ast.Call, method: ast.Attribute) -> str | None:
        """Return the text for a call of a value's method; None if the call needs no change."""
        owner, name = method.value, method.attr
        growing = self.growing(owner)
        if growing is not None and (name in FUNCTIONS or name == "clear"):
            return self.list_call(growing, name, node.args)
        if "np_random" in ast.unparse(owner) or self.bindings.get(ast.unparse(owner)):
            return None
        if name in ("item", "tolist") and not node.args:
            is_array = np.ndarray in self.types(owner)
            if is_array and name == "item":
                return None
            return f"{self.enclosed(owner)}{'.copy()' * is_array}"
        items = self.elements(owner) if name == "values" and self.path(owner) else None
        if items is not None:
            return tuple_of(items)
        if name == "index" and len(node.args) == 1 and self.types(owner) <= {list}:
            body = _INDEX_OF
            if self.has_rows(owner) or self.elements(node.args[0]):
                body = body.replace("items[index] == value", "(items[index] == value).all()")
            return self.call_of("index_of", body, [self.flat(owner), self.row(node.args[0])])
        if name == "count" and len(node.args) == 1 and self.types(owner) <= {list}:
            return f"({self.text(owner)} == {self.enclosed(node.args[0])}).sum()"
        if name in MUTATING - {"fill", "sort"}:
            self.text(owner)
            path = self.path(owner)
            if path is not None and path[1].kind is list and path[1].dtype is not None:
                self.unit.let_grow(path[0])
            change = "use an array of fixed length and a count"
            raise self.obstacle(node, "changes the length of a list", change)
        if self.is_self(owner):
            change = "define it in the class"
            raise self.obstacle(node, "calls a method that has no source in Python", change)
        return None

    def list_call(self, growing: Growing, name: str, args: list[ast.expr]) -> str:
        """Return the text that changes a list that grows.

        Args:
            growing: The list.
            name: The method; "assign" for an assignment of all items.
            args: Its arguments.
        """
        if name == "clear" or (name == "assign" and self.elements(args[0]) == []):
            return f"{growing.length}[0] = 0"
        title, body, names = FUNCTIONS[name]
        texts = [*map(self.flat, args)] or ["-1"]
        if growing.has_rows:
            body = body.replace("value = items[place]", "value = items[place].copy()")
            texts = [self.row(args[0])] if name == "remove" else texts
        equal = "(items[place] == value).all()" if growing.has_rows else "items[place] == value"
        is_part = isinstance(args[0], ast.Subscript) if args else False
        texts[-1] += ".copy()" * (is_part and list in self.types(args[-1]))
        helper = self.unit.helper(title, body.replace("{equal}", equal), ("items", "count", *names))
        return f"{helper.name}({', '.join([growing.items, growing.length, *texts])})"

    def _over_items(self, call: ast.Call, items: ast.expr, name: str) -> str | None:
        """Return the text for the call `name(items)`; None if the call needs no change."""
        if isinstance(items, (ast.GeneratorExp, ast.ListComp)) and name in ("min", "max"):
            return f"np.{name}({self.comprehension(items, 'list')})"
        if isinstance(items, (ast.GeneratorExp, ast.ListComp)):
            return self.comprehension(items, name)
        if isinstance(items, ast.Call) and ast.unparse(items.func) == "reversed":
            texts = self.elements(items.args[0])
            return None if texts is None else tuple_of(texts[::-1])
        if name == "sum" and _ADDS_ERRORS and np.float64 in self.types(call):
            return self.call_of("sum_of", _SUM_OF, [self.argument(items)])
        if name == "sorted":
            return f"np.sort({self.flat(items)})"
        if name in ("list", "tuple"):
            texts = self._items_of(items) if name == "tuple" else self.elements(items)
            if texts and isinstance(items, ast.Call):
                body = f"    return {tuple_of([f'items[{k}]' for k in range(len(texts))])}"
                return self.call_of("tuple_of", body, [self.flat(items)])
            return tuple_of(texts) if texts else f"{self.enclosed(items)}.copy()"
        is_array = np.ndarray in self.types(items) or self.path(items) is not None
        is_array |= self.growing(items) is not None
        return f"np.{name}({self.text(items)})" if name in _OVER_ARRAYS and is_array else None

    def sum_of(self, value: str, types: set[type]) -> tuple[list[str], list[str], list[str]]:
        """Return the lines before a loop that adds values of some types, in it, and after it."""
        if not (_ADDS_ERRORS and float in types):
            return ["result = 0"], [f"result += {value}"], ["return result"]
        names = ["result", "errors", "value"]
        inner = self.call_of("add_float", _ADD_FLOAT, [*names[:2], f"float({value})"], names)
        last = "return result + errors if np.isfinite(errors) else result"
        return ["result, errors = 0.0, 0.0"], [f"result, errors = {inner}"], [last]

    def _attribute(self, node: ast.Attribute) -> str | None:
        record, is_env = self.record(node.value), self.is_self(node.value)
        if (record is not None or is_env) and self.path(node) is None:
            defined = method_of(record.layout.kind if record else self.unit.cls, node.attr)
            getter = function_of(defined)
            if isinstance(defined, property) and getter is not None and is_convertible(getter):
                method = MethodType(getter, record or self.unit.trace.env)
                return self.converted_call(node, method, [], {})
        return super()._attribute(node)

    def _listcomp(self, node: ast.ListComp) -> str:
        part = node.generators[0]
        items = self.elements(part.iter) if isinstance(part.iter, ast.Name) else None
        loads = (n for n in ast.walk(node.elt) if isinstance(n, ast.Name))
        has_tuples = any(tuple in self.types(n) for n in loads if n.id == ast.unparse(part.target))
        if items and isinstance(part.target, ast.Name) and has_tuples:
            before = dict(self.bindings)
            texts = []
            for item in items:
                self.bindings[part.target.id] = Alias(item)
                texts.append(self.flat(node.elt))
            self.bindings = before
            return f"np.array([{', '.join(texts)}])"
        return self.comprehension(node, "list")

    def converted_call(
        self,
        node: ast.AST,
        called: object,
        args: list[ast.expr],
        keywords: dict[str, ast.expr],
        role: str = "",
    ) -> str:
        """Return the call of the helper for a function of the class or its modules."""
        source = called.source if isinstance(called, Local) else self._source_of(called)
        if any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in ast.walk(source.tree)):
            raise self.obstacle(node, "calls a generator", "write it as a loop")
        names = source.arguments[isinstance(called, MethodType) :]
        given = {**dict(zip(names, self._unpacked(args), strict=False)), **keywords}
        if "" in keywords:
            raise self.obstacle(node, "unpacks arguments", "write each argument")
        bindings: dict[str, Binding] = {}
        texts: dict[str, str] = {}
        if source.tree.args.kwarg and keywords.keys() <= set(names):
            bindings[source.tree.args.kwarg.arg] = Known({})
        if isinstance(called, Local):
            bindings |= {n: b for n, b in self.bindings.items() if n not in source.names}
            outer = source.outer_names - source.names - self.bindings.keys() - {self.self_name}
            texts = {f"{n}_" if n in RESERVED else n: self.text(name_at(n, node)) for n in outer}
        elif isinstance(this := getattr(called, "__self__", None), Record):
            bindings[source.self_name] = this
        elif isinstance(this, Alias):  # a member of an enumeration
            bindings[source.self_name], texts["this"] = Alias("this"), this.text
        elif this is not None and this is not self.unit.trace.env:
            bindings[source.self_name] = Known(this)
        problem: ObstacleFound | None = None
        for name in names:
            part = given.get(name)
            default = source.defaults.get(name)
            record = self.record(part) if part is not None else None
            known = Known(default) if part is None else None if record else self.known(part)
            table = self.table(part) if part is not None and not (known or record) else None
            growing = self.growing(part) if part is not None and known is None else None
            is_number = known is not None and isinstance(known.value, NUMBERS)
            if known is not None and name not in source.locals and not (part and is_number):
                bindings[name] = known
            elif record is not None and name not in source.locals:
                bindings[name] = record
            elif growing is not None and name not in source.locals:
                title = f"{name}_" if name in RESERVED else name
                bindings[name] = Growing(title, f"{title}_count", growing.has_rows)
                texts |= {title: growing.items, f"{title}_count": growing.length}
            elif table is not None and table.text(self.unit.constant) is None:
                indices = {f"{name}_{k}": index for k, index in enumerate(table.indices)}
                bindings[name] = table._replace(indices=tuple(indices))
                texts |= indices
            else:
                try:
                    text = self.value_text(default, node) if part is None else self.as_value(part)
                except ObstacleFound as raised:
                    self.unit.obstacles.append(raised.obstacle)
                    problem, text = raised, ""
                if text == "rng":
                    bindings[name] = Rng()
                else:
                    texts[f"{name}_" if name in RESERVED else name] = text
        if problem is not None:
            raise problem
        helper = self.helper(source, node, bindings, list(texts), role)
        return f"{helper.name}({', '.join([*helper.first, *(texts[n] for n in helper.arguments)])})"

    def called(self, node: ast.Call) -> Known | None:
        """Return the function that a call calls; a method is bound to the `Record` of an object."""
        local = self.bindings.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if isinstance(local, Local):
            return Known(local)
        if isinstance(node.func, ast.Attribute):
            record = self.record(node.func.value)
            defined = method_of(record.layout.kind, node.func.attr) if record is not None else None
            if isinstance(defined, FunctionType):
                return Known(MethodType(defined, record))
            kinds = self.types(node.func.value) if record is None else set()
            kind = kinds.pop() if len(kinds) == 1 else object
            defined = method_of(kind, node.func.attr) if issubclass(kind, enum.Enum) else None
            if isinstance(defined, FunctionType) and is_convertible(defined):
                return Known(MethodType(defined, Alias(self.text(node.func.value))))
        known = self.known(node.func)
        this = self.bindings.get(self.source.self_name)
        if known and isinstance(this, Record) and ast.unparse(node.func).startswith("super("):
            return Known(MethodType(known.value.__func__, this))
        return known

    def _source_of(self, called: object) -> Source:
        function = function_of(called)
        assert function is not None
        return self.unit.source_of(function)

    def _unpacked(self, args: list[ast.expr]) -> Iterator[ast.expr]:
        """Yield arguments, and the items of those that are unpacked; see `Statements`."""
        raise NotImplementedError

    def helper(
        self,
        source: Source,
        node: ast.AST,
        bindings: dict[str, Binding],
        passed: list[str],
        role: str,
    ) -> Helper:
        """Return the helper for a function; `Statements` converts it."""
        raise NotImplementedError

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, name: str) -> str:
        """Return the call of a helper that runs the loop; `Statements` defines it."""
        raise NotImplementedError


def name_at(name: str, node: ast.AST) -> ast.Name:
    """Return a name that stands in the place of an expression."""
    return ast.copy_location(ast.Name(name, ast.Load()), node)


def _keywords(call: ast.Call) -> dict[str, ast.expr]:
    return {keyword.arg or "": keyword.value for keyword in call.keywords}


def _is_array_method(value: object) -> bool:
    return isinstance(getattr(value, "__self__", None), np.ndarray)
