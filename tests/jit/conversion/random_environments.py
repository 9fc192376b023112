"""Source of random small environments in Python, from the grammar that can be converted."""

from __future__ import annotations

import enum
import functools
import linecache
from typing import Any

import hypothesis.strategies as st
import numpy as np

import gymcore as gym
from gymcore import spaces

HEAD = """
class Mode(enum.Enum):
    CALM = "calm"
    WILD = "wild"


class Body:
    DRAG = 0.125

    def __init__(self, mass, count=3):
        self.mass, self.count = mass, count
        self.forces = np.zeros(2)
        self.names = {}

    @property
    def speed(self):
        return self.forces[0] / (1.0 + abs(self.mass))

    def push(self, force, index):
        self.forces[index % 2] += force - self.DRAG * self.forces[0]
        if not -30.0 < self.forces[index % 2] < 30.0:
            self.forces[index % 2] = 0.25
        self.count = (self.count + index) % 11
        return self.speed


class Random(gym.Env):
    observation_space = spaces.Box(-np.inf, np.inf, (6,), np.float64)
    action_space = spaces.Discrete(3)
    GAIN = 0.75

    def __init__(self):
        self.table = [0.5, -1.25, 2.0]
        self.weights = np.array([0.25, -0.5, 1.5])
        self.limit = 7
        self.fixed = Body(1.5)
        self.kept = Body(0.5, 2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1.0, 1.0)
        self.y = float(self.np_random.normal())
        self.n = int(self.np_random.integers(0, 5))
        self.v = self.np_random.uniform(-1.0, 1.0, size=3)
        self.cells = np.zeros(4, dtype=np.int64)
        self.pair = [0, 1]
        self.last = self.goal = None
        self.mode = Mode.CALM
        self.queue, self.marks = [0.5, self.x], []
        self.spot = (1, 2)
        self.body = Body(self.np_random.random(), count=self.n)
        self.kept.push(self.x, 0)
        self.kept.forces[:], self.kept.count = 0.5, 1
        self.done = False
        return self._observe(), {}

    def _observe(self):
        return np.array([self.x, self.y, self.n, self.v[0], self.v[2], self.cells.sum()])

    def _bounded(self, z, limit=50.0):
        if not -limit < z < limit:
            return 0.5
        return z

    @staticmethod
    def mixed(p, q):
        return p if p > q else q - p

    def step(self, action):
"""
TAIL = """
        self.x = self._bounded(float(self.x))
        self.y = self._bounded(float(self.y), 20.0)
        self.n = int(self.n) % 1000
        self.v = np.clip(self.v, -9.0, 9.0)
        self.cells %= 50
        self.queue = [self._bounded(float(z)) for z in self.queue[-6:]]
        self.marks = self.marks[:5]
        if not self.marks:  # the type of items of an empty list is unknown
            self.marks.append((self.n % 3, 1))
        reward = self.x * 0.5 + self.n
        return self._observe(), reward, self.done, self.n > 900, {}
"""

FLOATS = (
    "self.x",
    "self.y",
    "self.v[1]",
    "self.GAIN",
    "0.1",
    "-2.5",
    "self.weights[self.n % 3]",
    "self.body.speed",
    "self.body.forces[1]",
    "self.kept.forces[0]",
    "self.fixed.mass",
    "self.body.DRAG",
    "sum(self.queue)",
    "(self.queue[-1] if self.queue else 0.25)",
    "(self.last or 0.5)",
)
INTS = (
    "self.n",
    "action",
    "self.cells[self.n % 4]",
    "3",
    "self.pair[0]",
    "self.limit",
    "len(self.v)",
    "self.spot[0]",
    "self.body.count",
    "self.kept.count",
    "len(self.queue)",
    "len(self.marks)",
    "(self.marks[0][1] if self.marks else 4)",
    "(self.goal or 2)",
    "(1 if self.goal is None else self.goal)",
)
DRAWS = (
    "self.np_random.random()",
    "self.np_random.normal(0.0, 0.5)",
    "self.np_random.uniform(-1, 2)",
)


@functools.cache
def floats(depth: int) -> st.SearchStrategy[str]:
    """Return the text of a float."""
    leaf = st.sampled_from(FLOATS)
    if depth == 0:
        return leaf
    part, number = floats(depth - 1), ints(depth - 1)
    return st.one_of(
        leaf,
        st.builds("({} {} {})".format, part, st.sampled_from("+-*"), part),
        st.builds("({} {} {})".format, part, st.sampled_from("+-*"), number),
        st.builds("({} / (1.0 + abs({})))".format, part, part),
        st.builds("({} % 3.5)".format, part),
        st.builds("({} if {} else {})".format, part, tests(depth - 1), part),
        st.builds("{}({}, {})".format, st.sampled_from(("min", "max", "self.mixed")), part, part),
        st.builds("np.{}({}, {})".format, st.sampled_from(("minimum", "maximum")), part, part),
        st.builds("np.sqrt(abs({}))".format, part),
        st.builds("np.clip({}, -1.0, 1.0)".format, part),
        st.builds("self.table[{} % 3]".format, number),
        st.builds("(self.v * {}).sum()".format, part),
        st.builds("float(np.dot(self.cells, self.cells) + {})".format, number),
        st.builds("sum(w * {} for w in self.v)".format, part),
    )


@functools.cache
def ints(depth: int) -> st.SearchStrategy[str]:
    """Return the text of an int."""
    leaf = st.sampled_from(INTS)
    if depth == 0:
        return leaf
    part = ints(depth - 1)
    return st.one_of(
        leaf,
        st.builds("({} {} {})".format, part, st.sampled_from("+-*"), part),
        st.builds("({} {} 7)".format, part, st.sampled_from(("//", "%"))),
        st.builds("int({})".format, st.builds("self._bounded({})".format, floats(depth - 1))),
        st.builds("({} if {} else {})".format, part, tests(depth - 1), part),
        st.builds("int(np.argmax(self.v * {}))".format, floats(depth - 1)),
    )


@functools.cache
def tests(depth: int) -> st.SearchStrategy[str]:
    """Return the text of a condition."""
    part, number = floats(depth), ints(depth)
    leaf = st.one_of(
        st.builds("{} {} {}".format, part, st.sampled_from(("<", ">=", "!=")), part),
        st.builds("{} == {}".format, number, number),
        st.builds("{} in (1, 3, 4)".format, number),
        st.builds("0.0 < {} <= 1.5".format, part),
        st.builds("({} % 3, {} % 2) in self.marks".format, number, number),
        st.builds("self.queue and {} > 1".format, number),
        st.builds("self.goal {} {}".format, st.sampled_from(("==", "!=")), number),
        st.builds("(self.goal and {} > 1)".format, number),
        st.sampled_from(("self.last is None", "self.done", "np.any(self.v > 0.5)", "action == 2")),
        st.sampled_from(("self.goal", "self.goal in (1, 2)", "self.goal not in (0, 3)")),
        st.sampled_from(("self.mode is Mode.WILD", "self.mode != Mode.CALM", "self.done is True")),
    )
    if depth == 0:
        return leaf
    inner = tests(depth - 1)
    return st.one_of(
        leaf,
        st.builds("({} {} {})".format, inner, st.sampled_from(("and", "or")), inner),
        st.builds("not {}".format, inner),
    )


def local(inner: str, outer: str) -> list[str]:
    """Return the lines that define a function in `step` and call it."""
    body = f"    return self._bounded(z * k - {inner})"
    return ["def local(z, k=1.5):", body, f"self.y = local({outer}) + local(self.x, k=0.5)"]


def checked(value: str) -> list[str]:
    """Return the lines that read what may be None into a local name."""
    lines = ["goal = self.goal", "if goal is None:", f"    self.x = {value}"]
    return [*lines, "elif goal == 2 or not goal:", "    self.y += goal"]


def filled(item: str, other: str) -> list[str]:
    """Return the lines that fill a local list and use it."""
    lines = [
        "rest = []",
        "for w in self.v:",
        f"    if w > {other}:",
        f"        rest.append({item})",
    ]
    return [*lines, "self.x = sum(rest) + len(rest)"]


def matched(first: list[str], second: list[str]) -> list[str]:
    """Return the lines of a `match` statement."""
    heads = ["case 0 | 2 if self.n > 3:", *(f"    {line}" for line in first)]
    heads += ["case 1:  # right", *(f"    {line}" for line in second)]
    lines = [*heads, "case _:", "    self.n += 1"]
    return ["match action:", *(f"    {line}" for line in lines)]


@functools.cache
def statements(depth: int) -> st.SearchStrategy[list[str]]:
    """Return the lines of a statement."""
    part, number = floats(2), ints(2)

    def simple(template: str, *values: Any) -> Any:
        return st.builds(lambda *texts: [template.format(*texts)], *values)

    target = st.sampled_from(("self.x", "self.y", "self.v[0]", "self.v[self.n % 3]"))
    leaf = st.one_of(
        simple("{} = {}", target, part),
        simple("{} {}= {}", target, st.sampled_from("+-*"), part),
        simple("self.n {}= {}", st.sampled_from(("", "+", "-")), number),
        simple("self.cells[{} % 4] += {}", number, number),
        simple("self.v = self.v * {} + self.weights", part),
        simple("self.v += {}", part),
        simple("self.x, self.y = self.y, {}", part),
        simple("self.pair[1] = {} % 9", number),
        simple("self.pair = [self.pair[1] % 7, {} % 11]", number),
        simple("self.last = {}", st.one_of(part, st.just("None"))),
        simple("self.done = bool({})", tests(1)),
        simple("self.goal = {}", st.one_of(number.map("{} % 4".format), st.just("None"))),
        simple("self.mode = Mode.{}", st.sampled_from(("CALM", "WILD"))),
        st.builds(checked, part),
        simple("self.x += {}", st.sampled_from(DRAWS)),
        simple("self.n = int(self.np_random.integers({} % 5 + 1))", number),
        simple("self.v[:] = self.v[::-1]"),
        simple("self.body.push({}, {})", part, number),
        simple("self.x = self.kept.push({}, {} % 3)", part, number),
        simple("self.body = Body({}, {} % 5)", part, number),
        simple("self.spot = (self.spot[1], {} % 9)", number),
        simple("self.spot = self.spot if {} else ({} % 3, 1)", tests(1), number),
        simple("self.n = self.spot[0] if self.spot == (1, 2) else {} % 100", number),
        st.builds(local, part, part),
        simple("self.queue.append({})", part),
        simple("self.queue.insert({} % 3, {})", number, part),
        simple("self.queue = [{}, 1.5]", part),
        simple("self.queue += [{}]", part),
        simple("self.queue.clear()"),
        simple("self.x += self.queue.pop() if self.queue else {}", part),
        simple("self.marks.append(({} % 3, {} % 2))", number, number),
        simple("self.marks = [({} % 3, 1), *self.marks][:2]", number),
        simple("self.y += self.marks.pop(0)[1] if self.marks else 0"),
        simple("self.marks = [(k, c) for k in range({} % 4) for c in (0, 1)]", number),
        st.builds(filled, part, part),
        simple("self.cells = np.array([self.n, {}, 2, 3]) % 13", number),
    )
    if depth == 0:
        return leaf

    def nested(head: str, *values: Any) -> Any:
        def build(*parts: Any) -> list[str]:
            *texts, first, second = parts
            inner = [f"    {line}" for line in first]
            orelse = ["else:", *(f"    {line}" for line in second)] if head.startswith("if") else []
            return [head.format(*texts), *inner, *orelse]

        return st.builds(build, *values, blocks(depth - 1), blocks(depth - 1))

    return st.one_of(
        leaf,
        nested("if {}:", tests(2)),
        st.builds(matched, blocks(depth - 1), blocks(depth - 1)),
        nested("for k in range({} % 4):", number),
        nested("for w in self.v:"),
        nested("for k, w in enumerate(self.table):"),
        nested("for k, c in list(self.marks):"),
        nested("for w in list(self.queue):"),
    )


@functools.cache
def blocks(depth: int) -> st.SearchStrategy[list[str]]:
    """Return the lines of some statements."""
    lists = st.lists(statements(depth), min_size=1, max_size=3)
    return lists.map(lambda parts: [line for part in parts for line in part])


sources = blocks(2).map(lambda lines: HEAD + "".join(f"        {line}\n" for line in lines) + TAIL)


def class_of(source: str) -> Any:
    """Return the class that a source defines, whose text `inspect` finds."""
    filename = f"<random {hash(source)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict[str, Any] = {"gym": gym, "np": np, "spaces": spaces, "enum": enum}
    namespace["__name__"] = __name__
    exec(compile(source, filename, "exec"), namespace)
    return namespace["Random"]
