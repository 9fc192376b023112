"""Runs of the original that show the type of each expression, attribute and result."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections import Counter, deque
from collections.abc import Callable, Sized
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from gymcore.core import Env
from gymcore.jit.conversion.shared_draws import LANE_GENERATOR, LaneGenerator, lane_draws, seed_lane
from gymcore.jit.conversion.source import (
    Source,
    drawing_modules,
    function_of,
    has_convertible_init,
    is_convertible,
    is_storable,
    method_of,
    owner_of,
    source_of,
)

__all__ = ["Chain", "Kind", "Trace", "kind_of"]

EPISODES, STEPS, PROBED_STEPS = 10, 200, 25
_FIRST_EPISODES = 3  # that show what the first `reset` assigns
MAX_SAMPLES = 200  # of different types
_FEW_STEPS = 8  # of an episode, in each of which a list may grow by chance

Chain = tuple[object, ...]
"""The calls that a function runs in: "reset" or "step" first, then the syntax of each call."""
_PROBED = (
    *(ast.Name, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp),
    *(ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.GeneratorExp),
)


class Kind(NamedTuple):
    """The type of a value, with dtype and shape of an array, and the length of a sequence.

    Of a list, tuple or set, `item` is the kind of an item. A deque has the kind of a list.
    """

    type: type
    dtype: np.dtype | None = None
    shape: tuple[int, ...] | None = None
    item: Kind | None = None


def kind_of(value: object) -> Kind:
    """Return the kind of a value."""
    kind: Any = type(value)
    if kind not in (np.ndarray, list, tuple, dict, deque, set):
        return _scalar_kind(kind)
    if isinstance(value, deque):
        return kind_of([*value])
    if isinstance(value, set):
        return kind_of([*value][:1])._replace(type=set, shape=(len(value),))
    if isinstance(value, np.ndarray):
        return Kind(np.ndarray, value.dtype, value.shape)
    items = value if isinstance(value, (list, tuple)) else ()
    item = kind_of(items[0]) if items else None
    if item is not None and item.type is np.ndarray and any(kind_of(v) != item for v in items):
        item = Kind(object)  # of arrays of different shapes
    return Kind(kind, None, (len(value) if isinstance(value, Sized) else 0,), item)


@functools.cache
def _scalar_kind(kind: type) -> Kind:
    return Kind(kind)


def deep_kind(value: object, depth: int = 3) -> object:
    """Return the kind of a value with the kinds of its items."""
    if isinstance(value, (int, float, np.ndarray)):
        return kind_of(value)
    if isinstance(value, (list, tuple, deque)):
        return type(value), tuple(deep_kind(item, depth) for item in value)
    if isinstance(value, dict):
        return dict, tuple((key, deep_kind(item, depth)) for key, item in value.items())
    if is_storable(type(value)) and depth:
        return type(value), tuple(deep_kind(item, depth - 1) for item in vars(value).values())
    return kind_of(value)


class Trace:
    """Results of runs of the original.

    Attributes:
        env: The environment, which has been stepped.
        initial: Its attributes after `__init__`.
        modules: The modules whose functions may draw from `random` or `np.random`.
        renewed: The attributes that `reset` assigns before it reads them.
        kinds: The kinds of each expression, by chain and syntax.
        samples: Values of each attribute after `reset` and `step`, one of each kind.
        infos: Values of each key of the infos, one of each kind.
        owners: The class that defines each function that ran, or None.
        created: For each class, the largest number of objects that a step or `reset` created.
        steady: The attributes that are lists, and longer after each step than before it, in
            episodes of which some have more than a few steps.
        has_variants: Whether the first step of an episode computes in other types than the next.
    """

    def __init__(self, cls: type, make: Callable[[], Env[object, object]], names: set[str]) -> None:
        """Run some episodes of random actions.

        Args:
            cls: The class.
            make: Function that returns an environment of the class.
            names: The attributes that `reset` and `step` change. Attributes that turn out to
                change, because an alias of them is changed, are added.
        """
        self.cls, self.env, self.names = cls, make(), names
        values = {n: v for n in names if not hasattr(v := method_of(cls, n), "__get__")}
        values |= vars(self.env)
        self.initial = {name: _copied(value) for name, value in values.items()}
        self.modules = drawing_modules(cls)
        self.renewed = _renewed(make, names, self.modules)
        self.kinds: dict[Chain, dict[ast.AST, set[Kind]]] = {}
        self.samples: dict[str, list[object]] = {}
        self.infos: dict[str, list[object]] = {}
        self.steady: set[str] = set(vars(self.env)) | names
        self._seen: set[object] = set()
        self._chain: Chain = ()
        self._here: dict[ast.AST, set[Kind]] = {}
        self._functions: dict[FunctionType, FunctionType] = {}
        self.owners: dict[FunctionType, type | None] = {}
        self.created: dict[type, int] = {}
        self._created = Counter[type]()
        with lane_draws(self.env, self.modules):
            first, later = self._run()
        self.has_variants = first != later and bool(later)
        if not self.has_variants:
            for chain in [chain for chain in self.kinds if chain[0] == "first"]:
                merged = self.kinds.setdefault(("step", *chain[1:]), {})
                for node, kinds in self.kinds[chain].items():
                    merged.setdefault(node, set()).update(kinds)

    def kinds_of(self, chain: Chain, node: ast.AST) -> set[Kind]:
        """Return the kinds of an expression in some calls; in any calls, if it had none there."""
        kinds = self.kinds.get(chain, {}).get(node)
        if kinds is None:
            kinds = set().union(*(nodes.get(node, set()) for nodes in self.kinds.values()))
        return set(kinds)

    def kinds_of_attribute(self, name: str) -> set[Kind]:
        """Return the kinds that attributes of this name had while a function ran."""
        nodes = (pair for nodes in self.kinds.values() for pair in nodes.items())
        kinds = (k for n, k in nodes if isinstance(n, ast.Attribute) and n.attr == name)
        return set().union(*kinds)

    def _run(self) -> tuple[set[object], set[object]]:
        env, entries, longest = self.env, (set[object](), set[object]()), 0
        space = copy.deepcopy(env.action_space)
        space.seed(1)
        for episode in range(EPISODES):
            others = ((n, v) for n, v in vars(env).items() if n not in self.names)
            shared = {name: _copied(value) for name, value in others if _is_mutable(value)}
            seed_lane(env, episode)
            _, info = self._called("reset", env.reset, seed=episode)
            self._record(info)
            for step in range(STEPS):
                before = self._lengths()
                if step < PROBED_STEPS or step % 8 == 0:
                    entries[step > 0].add(self._narrow_attributes())
                    name = "step" if step else "first"
                    result = self._called(name, env.step, space.sample())
                else:
                    result = env.step(space.sample())
                self._record(result[4])
                after = self._lengths()
                self.steady &= {n for n, length in after.items() if length > before.get(n, 0)}
                if result[2] or result[3]:
                    break
            longest = max(longest, step)
            self.names |= {n for n, v in shared.items() if not _equal(v, vars(env).get(n))}
        self.steady = self.steady if longest > _FEW_STEPS else set()
        return entries

    def _called(self, root: str, method: object, *args: object, **kwargs: object) -> Any:
        self._chain = (root,)
        self._here = self.kinds.setdefault(self._chain, {})
        self._created.clear()
        result = self._call_function(method, args, kwargs)
        self.created |= {k: max(n, self.created.get(k, 0)) for k, n in self._created.items()}
        return result

    def _narrow_attributes(self) -> object:
        """Return which attributes have numbers or arrays of float32."""
        kinds = ((name, deep_kind(vars(self.env).get(name))) for name in sorted(self.names))
        return tuple((name, "float32" in repr(kind)) for name, kind in kinds)

    def _lengths(self) -> dict[str, int]:
        lists = ((n, v) for n, v in vars(self.env).items() if isinstance(v, (list, deque)))
        return {n: len(v) for n, v in lists if getattr(v, "maxlen", None) is None}

    def _record(self, info: dict[str, object]) -> None:
        attributes = {n: value for n, value in vars(self.env).items() if n in self.names}
        for samples, values in ((self.samples, attributes), (self.infos, info)):
            for name, value in values.items():
                if len(samples.get(name, ())) == MAX_SAMPLES:
                    continue  # such as a list that grows
                key = id(samples), name, deep_kind(value)
                if key not in self._seen:
                    self._seen.add(key)
                    samples.setdefault(name, []).append(_copied(value))

    # --- the names that instrumented functions call ----------------------------------------------

    def _call_function(
        self, called: object, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> object:
        function = function_of(called)
        assert function is not None
        bound = (called.__self__,) if isinstance(called, MethodType) else ()
        if function not in self._functions:
            owner = owner_of(self.cls, function)
            self.owners[function] = owner or (owner_of(type(bound[0]), function) if bound else None)
            source = source_of(function, self.owners[function])
            assert source is not None
            self._functions[function] = self._with_probes(source)
        return self._functions[function](*bound, *args, **kwargs)

    def _with_probes(self, source: Source) -> FunctionType:
        tree = copy.deepcopy(source.tree)
        originals = dict(zip(ast.walk(tree), ast.walk(source.tree), strict=True))
        nodes = list(originals.values())
        numbers = {new: nodes.index(old) for new, old in originals.items()}
        tree.decorator_list, tree.returns = [], None
        for argument in (node for node in ast.walk(tree.args) if isinstance(node, ast.arg)):
            argument.annotation = None
        tree.args.defaults = [ast.Constant(None) for _ in tree.args.defaults]
        tree.args.kw_defaults = [d and ast.Constant(None) for d in tree.args.kw_defaults]
        instrument = _Instrument(numbers, source.arguments[0] if source.arguments else "")
        tree.body = [part for s in tree.body for part in instrument.statements(s)]
        function = source.function

        def see(number: int, value: object) -> object:
            self._here.setdefault(nodes[number], set()).add(kind_of(value))
            return value

        def call(number: int, called: Any, *args: object, **kwargs: object) -> object:
            if isinstance(called, type):
                self._created[called] += 1
            if isinstance(called, type) and has_convertible_init(called):
                value: object = object.__new__(called)
                call(number, getattr(value, "__init__"), *args, **kwargs)  # noqa: B009
                return value
            if not is_convertible(called) or "_see" in getattr(called, "__globals__", ()):
                return see(number, called(*args, **kwargs))
            chain, here = self._chain, self._here
            self._chain = (*chain, nodes[number])
            self._here = self.kinds.setdefault(self._chain, {})
            try:
                value = self._call_function(called, args, kwargs)
            finally:
                self._chain, self._here = chain, here
            see(number, value)
            function = function_of(called)
            source = source_of(function, self.owners.get(function)) if function else None
            is_generator = source is not None and source.is_generator
            return iter(value) if is_generator and isinstance(value, list) else value

        def get(number: int, owner: object, name: str) -> object:
            attribute = getattr(type(owner), name, None)
            getter = function_of(attribute)
            if isinstance(attribute, property) and getter is not None and is_convertible(getter):
                return call(number, MethodType(getter, owner))
            return see(number, getattr(owner, name))

        names = {
            **function.__globals__,
            **inspect.getclosurevars(function).nonlocals,
            **{"_see": see, "_call": call, "_get": get, "_owner": source.owner},
            LANE_GENERATOR: LaneGenerator(self.env),
        }
        module = ast.fix_missing_locations(ast.Module([tree], []))
        ast.increment_lineno(module, source.first_line - 1)
        exec(compile(module, source.file, "exec"), names)
        result = names[tree.name]
        assert isinstance(result, FunctionType)
        result.__defaults__, result.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        return result


class _Instrument(ast.NodeTransformer):
    """Wraps expressions into calls that record their kinds."""

    def __init__(self, numbers: dict[ast.AST, int], first: str) -> None:
        self._numbers, self._first = numbers, first

    def statements(self, node: ast.stmt) -> list[ast.stmt]:
        """Return the statements that replace a statement."""
        result = self.visit(node)
        return result if isinstance(result, list) else [result]

    def visit(self, node: ast.AST) -> Any:
        """Wrap an expression that is read; leave texts, functions and annotations as they are."""
        if isinstance(node, (ast.JoinedStr, ast.Lambda, ast.ClassDef)):
            return node
        if isinstance(node, ast.FunctionDef):
            node.body = [part for s in node.body for part in self.statements(s)]
            return node
        number = self._numbers.get(node, -1)
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        if isinstance(node, ast.AugAssign):
            read = ast.parse(ast.unparse(node.target), mode="eval").body
            self.generic_visit(node)
            return [node, ast.Expr(_probe("_see", number, read))]
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super" and not node.args:
            node.args = [ast.Name("_owner", ast.Load()), ast.Name(self._first, ast.Load())]
            return node
        self.generic_visit(node)
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return node
        if isinstance(node, ast.Call):
            node.args = [ast.Constant(number), node.func, *node.args]
            node.func = ast.Name("_call", ast.Load())
        elif isinstance(node, ast.Attribute):
            return _probe("_get", number, node.value, ast.Constant(node.attr))
        elif isinstance(node, _PROBED):
            return _probe("_see", number, node)
        return node


def _probe(name: str, number: int, *values: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [ast.Constant(number), *values], [])


def _is_mutable(value: object) -> bool:
    return isinstance(value, (np.ndarray, list, deque, set)) or is_storable(type(value))


def _equal(first: Any, second: Any, depth: int = 3) -> bool:
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second)
    if is_storable(type(first)) and type(first) is type(second):
        pairs = ((value, vars(second).get(name)) for name, value in vars(first).items())
        has_names = vars(first).keys() == vars(second).keys()
        return depth == 0 or (has_names and all(_equal(*pair, depth - 1) for pair in pairs))
    try:
        return bool(first == second)
    except ValueError:  # lists of arrays
        return True


def _copied(value: object, depth: int = 3) -> object:
    if is_storable(type(value)) and depth:
        result = object.__new__(type(value))
        for name, item in vars(value).items():
            object.__setattr__(result, name, _copied(item, depth - 1))  # also if it is frozen
        return result
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def _renewed(
    make: Callable[[], Env[object, object]], names: set[str], modules: list[ModuleType]
) -> set[str]:
    """Return the attributes without which `reset` runs, and which it assigns."""
    renewed = set(names)
    for seed in range(_FIRST_EPISODES):
        is_done = False
        while not is_done:
            env = make()
            renewed = {name for name in renewed if not hasattr(type(env), name)}
            for name in renewed & vars(env).keys():
                delattr(env, name)
            seed_lane(env, seed)
            try:
                with lane_draws(env, modules):
                    env.reset(seed=seed)
            except AttributeError as problem:
                if problem.name not in renewed:
                    return set()
                renewed.discard(problem.name)
            else:
                is_done = True
        renewed &= vars(env).keys()
    return renewed
