"""A class under conversion: the state, parameters, constants and helpers of its functions."""

from __future__ import annotations

import ast
import builtins
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from gymcore.core import Env as AnyEnv
from gymcore.jit.conversion.layouts import NUMBERS, Layout, growing_layout, layout_of, room
from gymcore.jit.conversion.lists import item_of
from gymcore.jit.conversion.obstacles import Obstacle
from gymcore.jit.conversion.pools import Pool, pools_of
from gymcore.jit.conversion.source import (
    MUTATING,
    Source,
    attributes_in,
    changed_attributes,
    changed_in_place,
    function_of,
    is_storable,
    methods_of,
    owner_of,
    reached,
    read_attributes,
    source_of,
)
from gymcore.jit.conversion.syntax import called_name
from gymcore.jit.conversion.tracing import Trace
from gymcore.jit.env import Env
from gymcore.spaces.space import Space

__all__ = ["RESERVED", "Helper", "Restart", "Unit", "local_name"]

RESERVED = frozenset(
    (
        *("state", "parameters", "rng", "observation", "info", "jit", "np", "math", "spaces"),
        *("reset", "step", "observe", "render"),
        *("result", "errors", "count"),  # of loops for comprehensions
        *("each", "each_of", "each_key", "result_key", "place_of_each", "default_of_each"),
    )
)
"""Names that functions and local variables of the original cannot keep."""
_SHAPED = frozenset(("zeros", "ones", "full", "empty", "eye", "arange", "linspace"))


class Restart(Exception):
    """Raised after a decision about the class was revised: everything is converted again."""


def local_name(name: str) -> str:
    """Return the name that a local variable of the original gets."""
    return f"{name}_" if name in RESERVED else name


class Helper(NamedTuple):
    """A converted function.

    Attributes:
        name: Its name.
        first: The arguments that it takes before those of the original: `state`, ...
        arguments: The arguments of the original that it takes.
        text: Its definition.
    """

    name: str
    first: tuple[str, ...]
    arguments: tuple[str, ...]
    text: str

    def call(self, texts: Iterable[str]) -> str:
        """Return the text of a call, after the texts of the arguments of the original."""
        return f"{self.name}({', '.join([*self.first, *texts])})"


class Unit:
    """A class under conversion, and the decisions that its functions share.

    Attributes:
        cls: The original class.
        trace: Results of its runs.
        observation_space: The space of observations.
        layouts: The layout of each attribute in the state.
        pools: The pool of each class that has one, and of each type of references.
        numbering: The numbers of the objects that the samples of the trace have.
        decisions: "observation" and "info" if `step` writes them into the state, because they
            depend on more than the state, and "truncated" if it returns that.
        parameters: Attribute and value of each parameter.
        constants: The constants of the module.
        helpers: The converted functions, in the order of their definitions.
        resized: The names of attributes and variables that methods such as `append` change.
        changed_in_place: The names of attributes whose items some function changes.
        generators: The attributes with a generator, which are the lane's in converted code.
        seeds_itself: Whether `reset` assigns a generator.
        drawing: The functions that draw from `random` or `np.random`.
        seeded: Whether `reset` has seeded the generator.
        drawn: The attributes with a generator that code has drawn from, without underscores.
        obstacles: Code that cannot be converted.
        doubts: Code whose results may differ.
    """

    def __init__(self, cls: type, trace: Trace, observation_space: Space) -> None:
        """Take the attributes from the trace."""
        self.cls, self.trace, self.observation_space = cls, trace, observation_space
        self.sources = reached(cls, "reset", "step")
        self.decisions: set[str] = set()
        self.initial_obstacles: list[Obstacle] = []
        changed = [pair for source in self.sources for pair in changed_attributes(source)]
        self.assigned = {name for name, is_whole in changed if is_whole}
        resets = [pair for source in reached(cls, "reset") for pair in changed_attributes(source)]
        self.assigned_by_reset = {name for name, is_whole in resets if is_whole}
        drawn = (n for s in [*self.sources, *reached(cls, "render")] for n in attributes_in(s))
        self.read = {node.attr for node in drawn if isinstance(node.ctx, ast.Load)}
        self.changed_in_place = {name for s in self.sources for name in changed_in_place(s)}
        methods = (called_name(n) for s in self.sources for n in ast.walk(s.tree))
        calls = (name.rpartition(".") for name in methods)
        self.resized = {o.rpartition(".")[2] for o, _, method in calls if method in MUTATING}
        self.local_names = {name for source in self.sources for name in source.names}
        self.fixed = {name for source in self.sources for name in _length_attributes(source)}
        self.layouts: dict[str, Layout] = {}
        self.bad: dict[str, tuple[str, str]] = {}
        values = {**trace.initial, **vars(trace.env)}.items()
        self.generators = {n for n, v in values if isinstance(v, np.random.Generator)}
        self.generators |= {"np_random", "_np_random"}
        self.seeds_itself = bool(self.generators & self.assigned_by_reset)
        ran = (source_of(function, owner) for function, owner in trace.owners.items())
        self.drawing = [s.function for s in (*self.sources, *ran) if s and s.has_shared_draws]
        self.initial_obstacles += [o for s in self.sources for o in self._other_seeds(s)]
        self._wanted = _shared_kinds(vars(trace.env))
        self._find_layouts()
        self.begin()

    def _find_layouts(self) -> None:
        """Find out how the state stores the attributes."""
        trace, self.layouts, self.bad = self.trace, {}, {}
        names = sorted(trace.names - self.generators)
        samples = {name: trace.samples.get(name) or [trace.initial.get(name)] for name in names}
        for name in samples.keys() - self.assigned:
            samples[name] = [*samples[name], trace.initial.get(name)]
        pools, numbering = pools_of(samples, self._wanted, trace.created)
        self.pools: dict[object, Pool] = {pool.kind: pool for pool in pools}
        self.pools = {kind: pool for kind, pool in self.pools.items() if kind is not tuple}
        self.pools |= {pool.reference: pool for pool in pools}
        self.numbering = numbering
        for name, values in samples.items():
            is_empty = all(isinstance(v, (list, deque, set)) and not v for v in values)
            is_assigned = name in self.assigned
            try:
                if name in trace.steady:
                    raise ValueError("gains items in each step", "give it a fixed length")
                numbered = [numbering.numbered(value, name) for value in values]
                if is_empty:
                    self.layouts[name] = self._list_layout(name, values)
                else:
                    self.layouts[name] = layout_of(numbered, is_assigned)
            except RecursionError:
                self.bad[name] = "refers to itself", "keep it out of `reset` and `step`"
            except ValueError as problem:
                reason, change = problem.args
                self.bad[name] = reason, change.replace("it", f"`self.{name}`", 1)
        self.changed_in_place |= {
            name
            for layout in self._all_layouts()
            for source in methods_of(layout.kind)
            for name in changed_in_place(source)
        }
        # Attributes that only `render` reads are left out if a lane cannot have them, or if they
        # may grow beyond their room.
        ran = (source_of(function, owner) for function, owner in trace.owners.items())
        needed = {name for source in ran if source for name in read_attributes(source)}
        for name, layout in self.layouts.items():
            layout = layout.without(lambda part: part not in needed)
            self.layouts[name] = self._with_room(name, layout)
        lists = {name for name, layout in self.layouts.items() if layout.grows}
        self.read -= (self.bad.keys() | lists) - needed

    def can_share(self, kind: type) -> bool:
        """Return whether the objects of a class can be in a pool."""
        return kind not in self._wanted and is_storable(kind) and not issubclass(kind, AnyEnv)

    def let_share(self, kind: type) -> None:
        """Store the objects of a class in a pool, and raise `Restart`."""
        self._wanted.add(kind)
        self._find_layouts()
        raise Restart

    def _other_seeds(self, source: Source) -> Iterator[Obstacle]:
        """Yield the statements that make a generator of something else than an argument."""
        for node in (n for n in ast.walk(source.tree) if isinstance(n, ast.Assign)):
            targets = [part for target in node.targets for part in ast.walk(target)]
            attributes = (part for part in targets if isinstance(part, ast.Attribute))
            names = {part.attr for part in attributes if isinstance(part.ctx, ast.Store)}
            value = node.value if isinstance(node.value, ast.Call) else None
            seeds = [ast.unparse(part) for part in value.args] if value else []
            is_seed = len(seeds) == 1 and seeds[0] in source.arguments
            if names & self.generators and not is_seed and _last(node.value) != "np_random":
                line = node.lineno + source.first_line - 1
                change = "write `np.random.default_rng(seed)` in `reset`"
                text = ast.unparse(node.value)
                yield Obstacle(source.file, line, text, "makes a generator in another way", change)

    def _list_layout(self, name: str, samples: list[object]) -> Layout:
        """Return the layout of a list that only has items while a function runs, or never."""
        array = item_of(self.trace.kinds_of_attribute(name), self.pools)
        if array is None:
            raise ValueError("has items that are not numbers or tuples of numbers", "use arrays")
        return growing_layout(samples, *array)

    def _with_room(self, name: str, layout: Layout) -> Layout:
        """Return a layout that has room, if it is a list that grows, for what a step adds to it."""
        if not layout.grows or layout.kind is deque or layout.lists:
            return layout
        kinds = self.trace.kinds_of_attribute(name)
        longest = max((k.shape[0] for k in kinds if k.type is layout.kind and k.shape), default=0)
        return layout._replace(shape=(max(layout.shape[0], room(longest)), *layout.shape[1:]))

    def begin(self) -> None:
        """Forget what was converted."""
        self.parameters: dict[str, tuple[str, object]] = {}
        self.constants: dict[str, object] = {}
        self.helpers: dict[str, Helper] = {}
        self.seeded, self.drawn = self.seeds_itself or bool(self.drawing), set[str]()
        self.active: set[ast.FunctionDef] = set()
        self.texts: dict[tuple[object, ...], Helper] = {}
        self.info_layouts: dict[str, Layout] = {}
        self.written: dict[str, str] = {}
        self.obstacles: list[Obstacle] = list(self.initial_obstacles)
        self.doubts: list[Obstacle] = []

    def decide(self, *decisions: str) -> None:
        """Make decisions; if one is new, raise `Restart`."""
        if not self.decisions.issuperset(decisions):
            self.decisions.update(decisions)
            raise Restart

    def fix(self, node: ast.AST) -> None:
        """Make the attributes in an expression constants; if one was not, raise `Restart`."""
        names = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
        if not names <= self.fixed:
            self.fixed |= names
            raise Restart

    def let_grow(self, wanted: str) -> None:
        """Store a part of the state as a list that grows, and raise `Restart`."""
        pairs = self.layouts.items()
        self.layouts = {n: self._with_room(n, layout.growing(n, wanted)) for n, layout in pairs}
        raise Restart

    def let_index(self, wanted: str) -> None:
        """Store the items of a part of the state in arrays, and raise `Restart`."""
        self.layouts = {n: layout.indexed(n, wanted) for n, layout in self.layouts.items()}
        raise Restart

    def all_pools(self) -> list[Pool]:
        """Return the pools."""
        return [pool for kind, pool in self.pools.items() if kind is pool.reference]

    def layout_of_kind(self, kind: object) -> Layout | None:
        """Return the layout of the objects or named tuples of a class; None for other types."""
        if not isinstance(kind, type) or kind in (tuple, dict, list):
            return None
        layouts = [v for v in self._all_layouts() if v.kind not in self.pools]
        return next((v for v in layouts if v.kind is kind and v.items), None)

    def _all_layouts(self) -> list[Layout]:
        """Return the layouts of the attributes, and of their parts."""
        layouts = [*self.layouts.values(), *(pool.layout for pool in self.pools.values())]
        for layout in layouts:
            layouts += (layout.items or {}).values()
        return layouts

    def has_attribute(self, name: str) -> bool:
        """Return whether objects in the state have an attribute of a name."""
        return any(name in (layout.items or ()) for layout in self._all_layouts())

    def field_of(self, role: str) -> str:
        """Return the name in the state of the observation or of infos that `step` writes."""
        is_free = not any(name.strip("_") == role for name in self.trace.names)
        return role if is_free else f"returned_{role}"

    def source_of(self, called: object) -> Source:
        """Return the source of a function or method of the class or its modules."""
        function = function_of(called)
        assert function is not None
        layout = getattr(getattr(called, "__self__", None), "layout", None)  # of an object
        owner = owner_of(layout.kind if layout is not None else self.cls, function)
        source = source_of(function, self.trace.owners.get(function) or owner)
        assert source is not None
        return source

    def constant(self, value: object, hint: str) -> str:
        """Return the name of a constant of the module."""
        hint = re.sub(r"\W+", "_", hint).strip("_").upper() or "TABLE"
        name, number = hint, 1
        while name in self.constants and not _same(self.constants[name], value):
            number += 1
            name = f"{hint}_{number}"
        self.constants[name] = value
        return name

    def parameter(self, name: str) -> str | None:
        """Return the text of an attribute that only `__init__` assigns, if it is a parameter."""
        value, title = vars(self.trace.env).get(name), name.strip("_")
        if not isinstance(value, NUMBERS) or name in self.fixed or not np.isfinite(value):
            return None
        if hasattr(Env, title) or title in RESERVED or name in self.trace.names:
            return None
        self.parameters[title] = name, value
        return f"parameters.{title}"

    def helper(self, name: str, body: str, arguments: tuple[str, ...]) -> Helper:
        """Return a helper with a body, which may be one that has the same text.

        Args:
            name: Its name in the original.
            body: The text of its statements.
            arguments: The arguments of the original that it takes.
        """
        names = ("state", "parameters", "rng", "observation", "info")
        first = tuple(n for n in names if re.search(rf"(?<![\w.]){n}\b", body))
        name = name.strip("_") if name.startswith("__") else name
        is_taken = name in RESERVED | self.local_names or hasattr(builtins, name)
        name = f"{name}_lane" if is_taken else name
        title, number = name, 1
        while True:
            text = f"def {title}({', '.join([*first, *arguments])}):\n{body}"
            if title not in self.helpers or self.helpers[title].text == text:
                break
            number += 1
            title = f"{name}_{number}"
        self.helpers[title] = Helper(title, first, arguments, text)
        return self.helpers[title]

    def call(self, name: str, body: str, /, **arguments: str) -> str:
        """Return the text of a call of a helper with a body; see `helper`."""
        return self.helper(name, body, tuple(arguments)).call(arguments.values())

    def with_helpers(self, text: str) -> str:
        """Return a text with the texts of the helpers that it calls."""
        texts, seen = [text], set[str]()
        for part in texts:
            for name in set(re.findall(r"\b(\w+)\(", part)) & self.helpers.keys() - seen:
                seen.add(name)
                texts.append(self.helpers[name].text)
        return "\n".join(texts)


def _shared_kinds(attributes: dict[str, object]) -> set[type]:
    """Return the classes of objects that two attributes have."""
    owners: dict[int, str] = {}
    shared = set[type]()
    for name, value in attributes.items():
        for item in value if isinstance(value, (list, tuple, deque)) else [value]:
            is_object = is_storable(type(item)) and not isinstance(item, (tuple, AnyEnv))
            if is_object and owners.setdefault(id(item), name) != name:
                shared.add(type(item))
    return shared


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


def _length_attributes(source: Source) -> set[str]:
    """Return the attributes that the lengths of arrays depend on."""
    parts: list[ast.expr] = []
    for call in (node for node in ast.walk(source.tree) if isinstance(node, ast.Call)):
        parts += [k.value for k in call.keywords if k.arg in ("size", "shape")]
        if called_name(call).rpartition(".")[2] in _SHAPED and isinstance(call.func, ast.Attribute):
            parts += call.args[:1]
    inside = {node for part in parts for node in ast.walk(part)}
    return {node.attr for node in attributes_in(source) if node in inside}


def _same(first: object, second: object) -> bool:
    a, b = np.asarray(first), np.asarray(second)
    return a.dtype == b.dtype and np.array_equal(a, b)
