"""Conversion of calls: of own functions and methods, and of those of Python and NumPy."""

from __future__ import annotations

import ast
import enum
import re
from collections import deque
from collections.abc import Iterator, Mapping
from types import MethodType

import numpy as np

from gymcore.jit.conversion.expressions import TEXT, Expressions, tuple_of, word_in
from gymcore.jit.conversion.layouts import NUMBERS
from gymcore.jit.conversion.lists import FUNCTIONS, Growing
from gymcore.jit.conversion.loops import ADDS_ERRORS, comprehension
from gymcore.jit.conversion.pools import Pool
from gymcore.jit.conversion.scope import (
    Alias,
    Binding,
    Known,
    Local,
    Stored,
    is_builtin,
    name_of,
    named_table,
)
from gymcore.jit.conversion.source import (
    MUTATING,
    Source,
    function_of,
    is_convertible,
    method_of,
)
from gymcore.jit.conversion.syntax import (
    called_name,
    is_empty_list,
    keywords_of,
    name_at,
    names_in,
    parsed,
)
from gymcore.jit.conversion.tracing import Kind
from gymcore.jit.conversion.unit import Helper, local_name

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
_COUNT_OF = """\
    count = 0
    for index in range(len(items)):
        if items[index] == value:
            count += 1
    return count"""
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
_OF_OBJECTS = (len, list, tuple, reversed, enumerate, zip, isinstance)
_OF_ITEMS = ("choice", "permutation", "permuted", "shuffle")  # methods of generators
_OF_ENDS = ("appendleft", "popleft")
_OF_NUMBERS = ("sum", "min", "max", "any", "all", "set")
_OVER_ARRAYS = ("any", "all", "min", "max")
_EXTREME_OR = """\
    return np.extreme(items) if len(items) > 0 else default"""
_VALUES_OF_RANGE = """\
    result, count = np.empty(len(values), np.int64), 0
    for value in values:
        result[count] = value
        count += 1
    return result"""
_SUM_OF = """\
    result = 0
    for value in items:
        result += value
    return result"""


class Calls(Expressions):
    """Expressions with calls, and the functions that they call."""

    def body(self) -> str:
        """Return the text of the function's statements; `Statements` converts them."""
        raise NotImplementedError

    def _call(self, node: ast.Call) -> str | None:
        called = self.called(node)
        if is_convertible(called) or isinstance(called, Local):
            return self.converted_call(node, called)
        value = self.known(node) if called is not isinstance else self.truth(node)
        if value is not None and isinstance(number := getattr(value, "value", value), NUMBERS):
            return self.value_text(number, node)
        if called is None and isinstance(node.func, ast.Attribute):
            text = self._method(node, node.func)
            if text is not None:
                return text
        elif isinstance(called, type) and issubclass(called, enum.Enum):
            return self.text(node.args[0])
        elif isinstance(node.func, ast.Attribute) and isinstance(
            getattr(called, "__self__", None), (list, tuple)
        ):
            text = self._method(node, node.func)
            if text is not None:
                return text
            return self._foreign(node, called)
        elif called_name(node).endswith(".get") and (text := self._get(node)) is not None:
            return text
        elif called is not None and name_of(called) is None and not _is_array_method(called):
            return self._foreign(node, called)
        value_of_test = node.args[0] if called is bool and node.args else None
        if isinstance(value_of_test, ast.BoolOp) or (value_of_test and self.flag_of(value_of_test)):
            return f"bool({self.condition(value_of_test)})"
        types = self.types(node.args[0]) if called is float and node.args else set()
        if types and types <= {bool, np.bool_}:
            return f"(1.0 if {self.flat(node.args[0])} else 0.0)"
        types = self.types(node.args[0]) if called is str else set()
        if types and all(issubclass(kind, (int, np.integer)) for kind in types):
            return self.unit.call("text_of", _TEXT_OF, number=self.flat(node.args[0]))
        if called is len and self.is_text(node.args[0]):
            raise self.obstacle(node, *TEXT)
        growing = self.growing(node.args[0]) if called is len else None
        if growing is not None:
            return f"{growing.length}[0]"
        lists = self.stored(node.args[0]) if called is len else None
        if lists is not None and lists.layout.keys:
            return str(lists.layout.shape[0])
        if lists is not None and lists.layout.lists:
            return str(lists.layout.lists)
        if called is len and called_name(node.args[0]) == "set":
            return f"len(np.unique({self.flat(self.items_in(node.args[0]))}))"
        if called is getattr and (attribute := self.attribute_of(node)) is not node:
            return self.text(attribute)
        if called is open:
            raise self.obstacle(node, "opens a file", "keep it out of `reset` and `step`")
        if is_builtin(called) and getattr(called, "__name__", "") not in _BUILTINS:
            reason = "calls a function that compiled code does not have"
            raise self.obstacle(node, reason, "write it as a loop, or in another way")
        if called in (min, max) and (keywords := keywords_of(node)):
            return self._extreme(node, keywords)
        if len(node.args) == 1 and is_builtin(called):
            text = self._over_items(node, node.args[0], str(getattr(called, "__name__", "")))
            if text is not None:
                return text
        return self._library_call(node, called)

    def _get(self, node: ast.Call) -> str | None:
        """Return the text of the method `get` of a dict of numbers; None for others."""
        owner = getattr(self.called(node), "__self__", None)
        stored = self.stored(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if isinstance(owner, dict):
            numbers = all(isinstance(value, NUMBERS) for value in owner.values())
            values = [self.value_text(value, node) for value in owner.values()] if numbers else None
            keys = [*owner]
        elif (
            stored is not None
            and stored.layout.kind is dict
            and isinstance(node.func, ast.Attribute)
        ):
            keys = [*(stored.layout.keys or stored.layout.items or ())]
            values = self.elements(node.func.value)
        else:
            return None
        if values is None or len(values) != len(keys) or len(node.args) != 2:
            reason = "calls `get` without a default, or of a dict of other values than numbers"
            raise self.obstacle(node, reason, "write it with `if`")
        pairs = zip((self.value_text(key, node) for key in keys), values, strict=True)
        lines = [f"    if key == {key}:\n        return {value}" for key, value in pairs]
        body = "\n".join([*lines, "    return default"])
        arguments = {"key": self.flat(node.args[0]), "default": self.flat(node.args[1])}
        return self.unit.call("value_of_key", body, **arguments)

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
            raise self.obstacle(node, "draws from another generator", change)
        change = "keep it out of `reset` and `step`"
        raise self.obstacle(node, f"calls a function of {module}", change)

    def _library_call(self, node: ast.Call, called: object) -> str:
        given = keywords_of(node)
        method = getattr(node.func, "attr", "")
        if called not in _OF_OBJECTS and method not in _OF_ITEMS:
            for part in [*node.args, *given.values()]:
                if self.pool_of(part) is not None or self.pool_of_items(part) is not None:
                    raise self.obstacle(part, "is passed to a function of numbers", "pass numbers")
        if called is zip and "strict" in given:
            texts_of_all = [self.flat(part) for part in node.args]
            strict, first = self.known(given["strict"]), texts_of_all[0]
            if strict is None or strict.value:
                unequal = " or ".join(f"len({text}) != len({first})" for text in texts_of_all[1:])
                self.emit(f"if {unequal or False}:")
                self.emit('    raise ValueError("zip() arguments have different lengths")')
            return f"zip({', '.join(texts_of_all)})"
        if called is np.argsort and {*given} <= {"axis"}:
            return f"{self.replaced(node)[:-1]}, kind='stable')"
        if isinstance(called, np.ufunc) and {*given} == {"out", "where"}:
            if not isinstance(given["out"], ast.Call):
                raise self.obstacle(node, "writes into an array", "use `np.where`")
            plain = f"np.{called.__name__}({self.joined(node.args)})"
            return f"np.where({self.flat(given['where'])}, {plain}, {self.flat(given['out'])})"
        convert = self.argument
        if isinstance(node.func, ast.Attribute) and self.is_generator(node.func.value):
            convert = self.argument if node.func.attr in _OF_ITEMS else self.text
        arguments = self.each(convert, node.args)
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
        makes_array = called in (np.array, np.asarray) and "dtype" not in given
        makes_array &= np.float32 in self.item_types(node) and len(node.args) == 1
        if makes_array or (self.is_narrow(node) and name in _FLOAT32_LOOPS):
            return f"{text[:-1]}, dtype=np.float32)"
        if called in (min, max) and self.is_narrow(node):
            self._doubt_types(node, node.args)
        is_rounded = self.is_narrow(node) and isinstance(called, (np.ufunc, type(np.clip)))
        return f"np.float32({text})" if is_rounded and name != "float32" else text

    def _method(self, node: ast.Call, method: ast.Attribute) -> str | None:
        """Return the text for a call of a value's method; None if the call needs no change."""
        owner, name = method.value, method.attr
        growing = self.growing(owner)
        if growing is not None and name in (*FUNCTIONS[growing.kind], *_OF_ENDS, "clear"):
            return self.list_call(growing, name, node.args)
        if name == "get" and (text := self._get(node)) is not None:
            return text
        if self.is_text(owner):
            raise self.obstacle(node, *TEXT)
        if self.is_generator(owner) or self.bound(owner):
            return None
        if name in ("item", "tolist") and not node.args:
            is_array = np.ndarray in self.types(owner)
            if is_array and name == "item":
                return None
            return f"{self.enclosed(owner)}{'.copy()' * is_array}"
        if (items := self.elements(node)) is not None:
            return tuple_of(items)
        pool = self.pool_of_items(owner) if name in ("index", "count") else None
        if pool is not None and len(node.args) == 1:
            return self._find(node, pool, owner, name)
        if name == "index" and len(node.args) == 1 and self.types(owner) <= {list, tuple}:
            body = _INDEX_OF
            if self.has_rows(owner) or self.elements(node.args[0]):
                body = body.replace("items[index] == value", self.rows_equal("items[index]"))
            arguments = {"items": self.flat(owner), "value": self.row(node.args[0])}
            return self.unit.call("index_of", body, **arguments)
        if growing is not None and growing.width and name in ("sort", "count"):
            raise self.obstacle(node, "sorts or counts tuples", "write it as a loop")
        if name == "count" and len(node.args) == 1 and self.types(owner) <= {list}:
            return f"({self.text(owner)} == {self.enclosed(node.args[0])}).sum()"
        if name in MUTATING - {"fill", "sort"}:
            self.text(owner)
            stored = self.stored(owner)
            can_grow = stored is not None and not stored.layout.grows and name != "reverse"
            if stored and can_grow and stored.layout.kind is list and stored.layout.dtype:
                self.unit.let_grow(stored.name)
            change = "use an array of fixed length and a count"
            raise self.obstacle(node, "changes the length of a list", change)
        if self.is_self(owner):
            change = "define it in the class"
            raise self.obstacle(node, "calls a method that has no source in Python", change)
        return None

    def attribute_of(self, node: ast.expr) -> ast.expr:
        """Return the attribute for a call of `getattr` with a known name; others as they are."""
        if called_name(node) != "getattr" or not isinstance(node, ast.Call) or len(node.args) != 2:
            return node
        known = self.known(node.args[1])
        name = known.value if known is not None else None
        attribute = ast.Attribute(node.args[0], str(name), ast.Load())
        return ast.copy_location(attribute, node) if isinstance(name, str) else node

    def _find(self, node: ast.Call, pool: Pool, owner: ast.expr, name: str) -> str:
        """Return the text of the method `index` or `count` of a list of objects or tuples."""
        equal, value = self.equal_item(pool, "items[index]", node.args[0])
        body = (_INDEX_OF if name == "index" else _COUNT_OF).replace("items[index] == value", equal)
        arguments = {"items": self.rows_text(owner), "value": value}
        return self.unit.call(f"{name}_of", body, **arguments)

    def list_call(self, growing: Growing, name: str, args: list[ast.expr]) -> str:
        """Return the text that changes a list that grows.

        Args:
            growing: The list.
            name: The method; "assign" for an assignment of all items.
            args: Its arguments.
        """
        if name == "assign" and called_name(args[0]).endswith("deque"):
            self._check_maxlen(args[0], growing)
        pool = self.unit.pools.get(growing.item)
        args = [*map(self.items_in, args)] if name in ("assign", "extend", "update") else args
        if name == "clear" or (name == "assign" and self.elements(args[0]) == []):
            return f"{growing.length}[0] = 0"
        if len(args) > len(FUNCTIONS[growing.kind].get(name, ("", "", args))[2]):
            raise self.obstacle(args[1], "is one of several arguments", "write a call for each")
        parameters = FUNCTIONS[growing.kind].get(name, ("", "", ("value",)))[2]
        for parameter, arg in zip(parameters, args, strict=False):
            items = arg if parameter == "values" else ast.List([arg], ast.Load())
            is_new = parameter != "index" and name != "remove"
            if pool is not None and pool.kind is not tuple and is_new:
                self.check_objects(items, pool)
        is_search = name == "remove" and pool is not None
        is_index = [*(p == "index" for p in parameters), *(False for _ in args)]
        pairs = zip(args, is_index, strict=False)
        texts = [""] if is_search else ["-1"]
        if args and not is_search:
            texts = [self.item_text(arg, None if skips else pool) for arg, skips in pairs]
        if name in ("assign", "extend", "update") and growing.items in texts[-1]:
            is_display = self.elements(args[-1]) is not None
            texts[-1] = texts[-1] if is_display else f"({texts[-1]}).copy()"
        if name == "popleft":
            name, texts = "pop", ["0"]
        elif name == "appendleft" and growing.kind is list:
            name, texts = "insert", ["0", *texts]
        title, body, names = FUNCTIONS[growing.kind][name]
        if growing.width:
            body = body.replace("value = items[place]", "value = items[place].copy()")
            texts = [self.row(args[0])] if "{equal}" in body and "values" not in names else texts
        row = "items[place]"
        equal = self.rows_equal(row) if growing.width else f"{row} == value"
        if pool is not None and "{equal}" in body:
            equal, texts[0] = self.equal_item(pool, row, args[0])
        is_part = isinstance(args[0], ast.Subscript) if args else False
        texts[-1] += ".copy()" * (is_part and bool({list, np.ndarray} & self.types(args[-1])))
        body = body.replace("{equal}", equal)
        arguments = dict(zip(names, texts, strict=True))
        return self.unit.call(title, body, items=growing.items, count=growing.length, **arguments)

    def assignment_of(self, growing: Growing) -> tuple[str, str]:
        """Return name and statements of the function that assigns the items of a list."""
        return FUNCTIONS[growing.kind]["assign"][:2]

    def draws(self, node: ast.AST) -> bool:
        """Return whether an expression draws from a generator."""
        method = node.func if isinstance(node, ast.Call) else None
        return isinstance(method, ast.Attribute) and self.is_generator(method.value)

    def check_objects(self, items: ast.expr, pool: Pool) -> None:
        """Refuse items that are no objects of a pool."""
        nodes = items.elts if isinstance(items, ast.List) else []
        are_objects = self.pool_of_items(items) is pool or (not nodes and is_empty_list(items))
        pools = (
            self.pool_of_items(n.value) if isinstance(n, ast.Starred) else self.pool_of(n)
            for n in nodes
        )
        if not are_objects or any(other is not pool for other in pools):
            reason = f"is not known to be an object of {pool.kind.__name__}"
            raise self.obstacle(nodes[0] if nodes else items, reason, "write a call of the class")

    def item_text(self, node: ast.expr, pool: Pool | None) -> str:
        """Return the text of an item or items of a list; `yield` may have a tuple without `()`."""
        if pool is not None and pool.kind is tuple:
            if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
                return comprehension(self, node, "list", pool)
            if isinstance(node, ast.List):
                return f"np.array([{', '.join(self.row_of(item, pool) for item in node.elts)}])"
            growing = self.growing(node)
            is_same = growing is not None and growing.item is pool.reference
            return growing.text if growing and is_same else self.row_of(node, pool)
        is_tuple = isinstance(node, ast.Tuple)
        return tuple_of(self.elements(node) or []) if is_tuple else self.value_of(node)

    def _check_maxlen(self, node: ast.AST, growing: Growing) -> None:
        """Refuse a deque with another `maxlen` than the ones before."""
        assert isinstance(node, ast.Call)
        given = keywords_of(node).get("maxlen", node.args[1] if len(node.args) > 1 else None)
        if given is not None:
            self.unit.fix(given)
        known = self.known(given) if given is not None else Known(None)
        size = growing.size if growing.kind is deque else None
        if known is None or known.value != size:
            raise self.obstacle(node, "has another maxlen, or one that varies", "use one maxlen")

    def items_in(self, node: ast.expr) -> ast.expr:
        """Return the items in a set, or a call of `set` or `deque`; others as they are."""
        known = self.known(node.func) if isinstance(node, ast.Call) else None
        mapped = node.args if isinstance(node, ast.Call) and called_name(node) == "map" else []
        function = self.known(mapped[0]) if len(mapped) == 2 else None
        is_text = any(str in self.types(part) for part in mapped[1:])
        if function is not None and function.value in (int, float) and not is_text:
            name, kind = self.hidden("item"), function.value
            self._locals.add(name)
            call = ast.Constant(0)
            self.synthetic[call] = f"{kind.__name__}({name})", kind
            part = ast.comprehension(ast.Name(name, ast.Store()), mapped[1], [], 0)
            result = ast.copy_location(ast.ListComp(call, [part]), node)
            return ast.fix_missing_locations(result)
        if isinstance(node, ast.Set):
            items: ast.expr = ast.List(node.elts, ast.Load())
        elif known is not None and known.value in (deque, set) and isinstance(node, ast.Call):
            items = node.args[0] if node.args else ast.List([], ast.Load())
        else:
            items = node
        if isinstance(items, (ast.GeneratorExp, ast.SetComp)):
            items = ast.ListComp(items.elt, items.generators)
        return ast.copy_location(items, node)

    def _over_items(self, call: ast.Call, items: ast.expr, name: str) -> str | None:
        """Return the text for the call `name(items)`; None if the call needs no change."""
        items = self.items_in(items) if called_name(items) == "map" else items
        if name in _OF_NUMBERS and self.pool_of_items(items) is not None:
            raise self.obstacle(items, "is passed to a function of numbers", "pass numbers")
        if isinstance(items, (ast.GeneratorExp, ast.ListComp)) and name in ("min", "max"):
            return f"np.{name}({comprehension(self, items, 'list')})"
        has_calls = any(isinstance(n, ast.Call) for n in ast.walk(getattr(items, "elt", items)))
        if isinstance(items, ast.ListComp) and name in ("any", "all") and has_calls:
            return f"np.{name}({comprehension(self, items, 'list')})"  # all calls are made
        if isinstance(items, (ast.GeneratorExp, ast.ListComp)):
            return comprehension(self, items, name)
        if name == "reversed":
            return self._reversed(items)
        is_copy = name in ("list", "tuple") and isinstance(items, ast.Call)
        if is_copy and isinstance(items, ast.Call) and called_name(items) == "reversed":
            text = self._reversed(items.args[0])
            return text if text.startswith("(") else f"{text}.copy()"
        if name == "sum" and ADDS_ERRORS and np.float64 in self.types(call):
            return self.unit.call("sum_of", _SUM_OF, items=self.argument(items))
        if name == "sorted" and self.has_rows(items):
            raise self.obstacle(call, "sorts tuples", "write it as a loop")
        if name == "sorted":
            return f"np.sort({self.flat(items)})"
        if name == "list" and isinstance(items, ast.Call) and called_name(items) == "range":
            return f"np.arange({self.joined(items.args)})"
        if name in ("list", "tuple") and self.types(items) == {range}:
            return self.unit.call("values_of_range", _VALUES_OF_RANGE, values=self.flat(items))
        if name in ("list", "tuple"):
            texts = self.short_items(items) if name == "tuple" else self.elements(items)
            if texts and isinstance(items, ast.Call):
                body = f"    return {tuple_of([f'items[{k}]' for k in range(len(texts))])}"
                return self.unit.call("tuple_of", body, items=self.flat(items))
            return tuple_of(texts) if texts else f"{self.enclosed(items)}.copy()"
        is_array = np.ndarray in self.types(items) or self.stored(items) is not None
        is_array |= self.growing(items) is not None
        return f"np.{name}({self.text(items)})" if name in _OVER_ARRAYS and is_array else None

    def _extreme(self, node: ast.Call, keywords: dict[str, ast.expr]) -> str:
        """Return the text of `min` or `max` of several numbers with `default`."""
        items = node.args[0]
        if [*keywords] != ["default"] or len(node.args) > 1 or self.has_rows(items):
            raise self.obstacle(node, "has `key`, or items that are tuples", "write it as a loop")
        if isinstance(items, (ast.GeneratorExp, ast.ListComp)):
            text = comprehension(self, items, "list")
        else:
            text = self.flat(items)
        body = _EXTREME_OR.replace("extreme", ast.unparse(node.func))
        arguments = {"items": text, "default": self.flat(keywords["default"])}
        return self.unit.call(f"{ast.unparse(node.func)}_or", body, **arguments)

    def _reversed(self, items: ast.expr) -> str:
        """Return the text of `reversed(items)`."""
        texts = self.elements(items)
        if texts is not None:
            return tuple_of(texts[::-1])
        if called_name(items) != "range" or not isinstance(items, ast.Call):
            return f"{self.enclosed(items)}[::-1]"
        if len(items.args) == 3:
            raise self.obstacle(items, "is a range with a step", "write the range backwards")
        start, stop = ["0", *map(self.enclosed, items.args)][-2:]
        return f"range({stop} - 1, {start} - 1, -1)"

    def _attribute(self, node: ast.Attribute) -> str | None:
        growing = self.growing(node.value)
        if growing is not None and growing.kind is deque and node.attr == "maxlen":
            return f"len({growing.items})"
        record, is_env = self.record(node.value), self.is_self(node.value)
        if (record is not None or is_env) and self.stored(node) is None:
            defined = method_of(record.layout.kind if record else self.unit.cls, node.attr)
            getter = function_of(defined)
            if isinstance(defined, property) and getter is not None and is_convertible(getter):
                method = MethodType(getter, record or self.unit.trace.env)
                return self.converted_call(node, method)
        return super()._attribute(node)

    def _listcomp(self, node: ast.ListComp) -> str:
        part = node.generators[0]
        items = self.elements(part.iter) if isinstance(part.iter, ast.Name) else None
        loads = (n for n in names_in(node.elt) if n.id == ast.unparse(part.target))
        has_tuples = any(tuple in self.types(n) for n in loads)
        if items and isinstance(part.target, ast.Name) and has_tuples:
            before = dict(self.bindings)
            texts = []
            for item in items:
                self.bindings[part.target.id] = Alias(item)
                texts.append(self.flat(node.elt))
            self.bindings = before
            return f"np.array([{', '.join(texts)}])"
        return comprehension(self, node, "list")

    def converted_call(
        self, node: ast.expr, called: object, role: str = "", source: Source | None = None
    ) -> str:
        """Return the call of the helper for a function of the class or its modules.

        Args:
            node: The call, or the property.
            called: The function; see `called`.
            role: The role of the function.
            source: Its source, if it is not that of `called`.
        """
        if source is None:
            source = called.source if isinstance(called, Local) else self.unit.source_of(called)
        args = node.args if isinstance(node, ast.Call) else []
        keywords = keywords_of(node) if isinstance(node, ast.Call) else {}
        if any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in ast.walk(source.tree)):
            raise self.obstacle(node, "calls a generator", "write it as a loop")
        names = source.arguments[isinstance(called, MethodType) :]
        if "" in keywords:
            raise self.obstacle(node, "unpacks arguments", "write each argument")
        passed_args = [*self.unpacked(args)]
        given = {**dict(zip(names, passed_args, strict=False)), **keywords}
        is_open = source.tree.args.vararg or source.tree.args.kwarg
        if not is_open and (len(passed_args) > len(names) or not {*given} <= {*names}):
            raise self.obstacle(node, "passes arguments that the function lacks", "leave them out")
        bindings, texts = self._outer_names(node, called, source)
        if source.tree.args.vararg:
            name, rest = source.tree.args.vararg.arg, passed_args[len(names) :]
            texts |= {f"{name}_{k}": self.as_value(part) for k, part in enumerate(rest)}
            bindings[name] = [f"{name}_{k}" for k in range(len(rest))]
        if source.tree.args.kwarg and keywords.keys() <= set(names):
            bindings[source.tree.args.kwarg.arg] = Known({})
        for more, passed in self.each(
            lambda name: self._argument(node, source, name, given.get(name)), names
        ):
            bindings |= more
            texts |= passed
        self.check_order(node, names, given)
        for name, part in given.items():
            attribute = getattr(part, "attr", "")
            assigns = (n for n in ast.walk(source.tree) if isinstance(n, ast.Assign))
            targets = [t for n in assigns for target in n.targets for t in ast.walk(target)]
            stores = [
                n.lineno
                for n in targets
                if isinstance(n, ast.Attribute) and n.attr == attribute
                if isinstance(n.ctx, ast.Store)
            ]
            stored, uses = self.stored(part), [n.lineno for n in source.loads(name)]
            is_shared = stored is not None and bool(stored.layout.shape or stored.layout.grows)
            if is_shared and stores and max(uses, default=0) > min(stores):
                reason = "is replaced in the function that it is passed to"
                raise self.obstacle(part, reason, "pass a copy")
        kinds = {name: self.kinds(part) for name, part in given.items()}
        helper = self._helper(source, node, bindings, texts, role, kinds)
        if source.is_generator and node not in self.source.consumed:
            reads = re.search(r"\b(state\.|rng\b)", self.unit.with_helpers(helper.text))
            has_arrays = any({np.ndarray, list} & self.types(part) for part in args)
            if reads or has_arrays or node not in self.source.iterated:
                reason = "is a generator whose items may change while it runs"
                raise self.obstacle(node, reason, f"write `list({ast.unparse(node)})`")
        return helper.call(texts[name] for name in helper.arguments)

    def check_order(self, node: ast.AST, names: list[str], given: dict[str, ast.expr]) -> None:
        """Refuse arguments that would be computed in another order, if calls are among them."""
        has_call = (n for n in given if any(isinstance(p, ast.Call) for p in ast.walk(given[n])))
        calls = [*has_call]
        if calls != [name for name in names if name in calls]:
            change = f"write them in the order {', '.join(names)}"
            raise self.obstacle(node, "passes arguments in another order", change)

    def _outer_names(
        self, node: ast.AST, called: object, source: Source
    ) -> tuple[dict[str, Binding], dict[str, str]]:
        """Return what `self` and the names of an enclosing function stand for in a called one."""
        this = getattr(called, "__self__", None)
        if isinstance(called, Local):
            outer = source.outer_names - source.names - self.bindings.keys() - {self.self_name}
            bindings = {n: b for n, b in self.bindings.items() if n not in source.names}
            rows = {b.place for b in bindings.values() if isinstance(b, Stored) and b.place}
            texts = {n.id: n.id for text in rows for n in names_in(parsed(text))}
            texts.pop("state", None)
            texts |= {local_name(n): self.text(name_at(n, node)) for n in sorted(outer)}
            return bindings, texts
        if isinstance(this, Stored) and this.place and this.layout.kind in self.unit.pools:
            name = local_name(source.self_name)
            return {source.self_name: this._replace(place=name)}, {name: this.place}
        if isinstance(this, Stored):
            return {source.self_name: this}, {}
        if isinstance(this, ast.expr):  # a member of an enumeration
            return {source.self_name: Alias("this")}, {"this": self.text(this)}
        is_env = this is None or this is self.unit.trace.env
        return {} if is_env else {source.self_name: Known(this)}, {}

    def _argument(
        self, node: ast.AST, source: Source, name: str, part: ast.expr | None
    ) -> tuple[Mapping[str, Binding], dict[str, str]]:
        """Return what an argument stands for in a called function, and the texts to pass."""
        title, is_constant = local_name(name), name not in source.stores
        if part is None:
            default = source.defaults.get(name)
            if is_constant:
                return {name: Known(default)}, {}
            return {}, {title: self.value_text(default, node)}
        record = self.embedded(part)
        known = self.known(part) if record is None else None
        if is_constant and record is not None:
            return {name: record}, {}
        pool = self.pool_of(part)
        if is_constant and pool is not None and pool.kind is not tuple and not self.flag_of(part):
            return {name: Stored.in_pool(pool, title)}, {title: self.row_text(part)}
        if is_constant and known is not None and not isinstance(known.value, NUMBERS):
            return {name: known}, {}
        growing = self.growing(part) if is_constant and known is None else None
        if growing is not None:
            count = f"{title}_count"
            list_of_items = growing._replace(items=title, length=count)
            return {name: list_of_items}, {title: growing.items, count: growing.length}
        table = self.table(part) if record is None and known is None else None
        if table is not None and table.array() is None:
            texts = (self.text(index) for index in table.indices)
            return named_table(name, table), {f"{name}_{k}": t for k, t in enumerate(texts)}
        text = self.as_value(part)
        return ({name: Alias(text)}, {}) if text == "rng" else ({}, {title: text})

    def unpacked(self, args: list[ast.expr]) -> Iterator[ast.expr]:
        """Yield arguments, and the items of those that are unpacked."""
        for part in args:
            if not isinstance(part, ast.Starred):
                yield part
                continue
            kind = self.kind(part.value)
            if isinstance(part.value, ast.Call) and kind and kind.shape:  # which is evaluated once
                name = self.hidden(f"items_{len(self.lines)}")
                self.emit(f"{name} = {self.flat(part.value)}")
                items: list[str] | None = [f"{name}[{k}]" for k in range(kind.shape[0])]
            else:
                items = self.short_items(part.value)
            if items is None:
                raise self.obstacle(part, "unpacks a value of unknown length", "write each item")
            for item in items:
                self.bindings[item] = Alias(item)
                yield name_at(item, part)

    def _helper(
        self,
        source: Source,
        node: ast.AST,
        bindings: dict[str, Binding],
        passed: Mapping[str, str],
        role: str,
        given: dict[str, set[Kind]],
    ) -> Helper:
        """Return the helper for a function in the call `node`; see `given` of `Scope`."""
        chain = *self.chain, node
        key = source.tree, chain, role, self.round
        if key not in self.unit.texts:
            if source.tree in self.unit.active:
                raise self.obstacle(node, "calls itself", "write it as a loop")
            self.unit.active.add(source.tree)
            function = self.inner(source, chain, bindings, role)
            function.given = given
            body = function.body()
            self.unit.active.discard(source.tree)
            used = tuple(n for n, text in passed.items() if "(" in text or word_in(n, body))
            name = source.tree.name
            if role.startswith(("reset", "step")) and source.owner is not None:
                name = f"{name}_of_{source.owner.__name__.lower()}"
            name = role if role.startswith("new_") else name
            self.unit.texts[key] = self.unit.helper(name, body, used)
        return self.unit.texts[key]


def _is_array_method(value: object) -> bool:
    return isinstance(getattr(value, "__self__", None), np.ndarray)
