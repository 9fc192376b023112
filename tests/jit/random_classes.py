"""Random classes of `gymcore.jit`: fields, spaces, constants and expressions of any kind."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from gymcore import jit, spaces
from gymcore.spaces.layouts import Layout, layout_of

# Composite expressions of integers and floats: small numbers, so that neither overflows.
DRAWN_INTEGERS = ("rng.integers(-4, 9)", "rng.integers(5)", "rng.choice(6)")
INTEGERS = (
    *("({i} + {j}) % 97", "{i} * {j} % 89", "{i} // 3 - {j} % 8", "min({i}, {j})", "abs({i}) % 50"),
    *("int(jit.math.clip({x}, -50.0, 50.0))", "({i} & 12 | {j} & 3)", "({i} ^ 5) % 60", "{i} >> 1"),
    *("({i} if {j} > 2 else 7)", "({i} if {x} < {y} and {j} != 3 else -{j} % 9)"),
)
DRAWN_FLOATS = ("rng.normal()", "rng.uniform(-1.0, 2.0)", "rng.random()", "rng.normal(0.5, 0.1)")
FLOATS = (
    *("0.5 * {x} + {i} / 7", "{x} / (1.0 + abs({y}))", "jit.math.sin({x} % 100.0)", "float({i})"),
    *("jit.math.clip({x}, -3.0, {y})", "({x} if {x} < {y} else -{y})", "jit.math.sqrt(abs({x}))"),
    *("jit.math.floor({x} % 1e6)", "max({x}, {y})", "{x} // 0.7 % 9.0"),
    "jit.math.select({i} > 2, {x}, {y})",
)
TYPES = ("f8", "f4", "i8", "i4", "i2", "i1", "u1", "u2")
SHAPES = st.sampled_from(((), (3,), (2, 2)))

Leaves = dict[str, list[str]]


@st.composite
def expressions(draw: Any, kind: str, leaves: Leaves, drawn: bool, depth: int = 2) -> str:
    """Draw an expression of integers ("i") or floats ("x") over leaves, perhaps with randomness."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(leaves[kind]))
    integers = (*INTEGERS, *DRAWN_INTEGERS) if drawn else INTEGERS
    floats = (*FLOATS, *DRAWN_FLOATS) if drawn else FLOATS
    template = draw(st.sampled_from(integers if kind == "i" else floats))
    parts = {
        name: draw(expressions("i" if name in "ij" else "x", leaves, drawn, depth - 1))
        for name in "ijxy"
        if f"{{{name}}}" in template
    }
    return f"({template.format(**parts)})"


def element(name: str, shape: tuple[int, ...], place: str) -> str:
    """Return the text of an element of an array, or of a number."""
    return f"{name}[{', '.join(f'({place}) % {n}' for n in shape)}]" if shape else name


@st.composite
def assignment(draw: Any, target: str, field: Any, leaves: Leaves, drawn: bool) -> str:
    """Draw a line that writes a number or an element of an array."""
    dtype, shape = field
    value = draw(expressions("x" if dtype.kind == "f" else "i", leaves, drawn))
    value = {"f": "{}", "b": "{} > 2"}.get(dtype.kind, "{} % 100").format(value)
    return f"{element(target, shape, draw(expressions('i', leaves, False, 1)))} = {value}"


def leaves_of_observation(layout: Layout, name: str = "observation") -> Iterator[tuple[str, Any]]:
    """Yield the arrays of an observation: the expression in `observe`, dtype and shape."""
    if layout[0] == "array":
        yield name, (layout[1], layout[2] or (1,))
        return
    for k, part in enumerate(layout[-1]):
        place = f"{name}[{k}]" if layout[0] == "tuple" else f"{name}.{layout[1][k]}"
        yield from leaves_of_observation(part, place)


def box(dtype: str, shape: tuple[int, ...]) -> spaces.Box:
    """Return a box that contains all values that `assignment` writes."""
    low, high = (-np.inf, np.inf) if dtype[0] == "f" else (0, 100)
    return spaces.Box(low, high, shape, np.dtype(dtype))


ARRAYS = st.one_of(
    st.builds(box, st.sampled_from(TYPES), st.sampled_from(((1,), (3,), (2, 2, 2)))),
    st.just(spaces.Discrete(100)),
    st.just(spaces.MultiDiscrete([100, 120])),
)
OBSERVATIONS = st.recursive(
    ARRAYS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: spaces.Tuple(parts)),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(lambda d: spaces.Dict(d)),
    ),
    max_leaves=4,
)
ACTIONS = st.sampled_from(
    (
        spaces.Discrete(3, start=-1),
        spaces.MultiDiscrete([2, 5]),
        spaces.MultiBinary(3),
        spaces.Box(-1, 1, (2,), np.float32),
        spaces.Box(-1, 1, (1, 2), np.float64),
    )
)
# Module constants: the number types of Python and NumPy, and functions of one number.
INTEGER_TYPES = (int, np.int8, np.uint8, np.int16, np.int32, np.int64)
FLOAT_TYPES = (float, np.float32, np.float64)
NUMBERS = st.one_of(
    st.builds(lambda kind, x: kind(x), st.sampled_from(INTEGER_TYPES), st.integers(0, 100)),
    st.builds(lambda kind, x: kind(x), st.sampled_from(FLOAT_TYPES), st.floats(-9, 9)),
    st.builds(lambda kind, x: kind(x), st.sampled_from((bool, np.bool_)), st.booleans()),
)
TABLES = st.builds(
    lambda dtype, shape, numbers: np.resize(np.array(numbers), shape).astype(dtype),
    st.sampled_from((*TYPES, "?", ">i4", ">f8")),
    st.sampled_from(((3,), (2, 2))),
    st.lists(st.integers(0, 100), min_size=1, max_size=4),
)
FUNCTIONS = st.sampled_from((jit.math.sin, jit.math.cos, jit.math.sqrt, jit.math.floor, abs, float))
HELPER = "def {name}(x, k={default}):\n    return x * k + {name}_CONSTANT\n"


def _tuple_of(number: Any, others: list[int]) -> tuple[Any, ...]:
    """Return a tuple of numbers of one type."""
    return (number, *(type(number)(one) for one in others))


CONSTANTS = st.one_of(
    NUMBERS,
    st.builds(_tuple_of, NUMBERS, st.lists(st.integers(0, 100), min_size=1, max_size=3)),
    TABLES,
    FUNCTIONS,
)


def constant_leaf(name: str, value: Any) -> tuple[str, str]:
    """Return the kind and text of an expression with a constant."""
    if callable(value):
        return "x", f"float({name}(0.25))"
    if isinstance(value, tuple):
        (kind, _), text = constant_leaf(name, value[0]), f"{name}[{len(value) - 1}]"
        return kind, f"(1 if {text} else 0)" if isinstance(value[0], (bool, np.bool_)) else text
    kind = np.asarray(value).dtype.kind
    text = element(name, np.shape(value), "state.number") if np.ndim(value) else name
    return ("x" if kind == "f" else "i"), f"(1 if {text} else 0)" if kind == "b" else text


@st.composite
def edited(draw: Any, cls: Any) -> type[jit.Env]:
    """Draw a class with the same text and other constants of the same types."""
    constants = dict(cls.constants)
    name = draw(st.sampled_from(sorted(constants)))
    value = constants[name]
    if callable(value):
        constants[name] = draw(FUNCTIONS)
    elif isinstance(value, tuple):
        constants[name] = tuple(type(one)(one == 0) for one in value)
    else:
        constants[name] = np.asarray(value == 0).astype(np.asarray(value).dtype)
        if not isinstance(value, np.ndarray):
            constants[name] = type(value)(constants[name])
    return made(cls.text, constants, cls.members)


_numbers = itertools.count()


@st.composite
def classes(draw: Any) -> type[jit.Env]:
    """Draw a class with any fields, observations and actions, and functions with random text."""
    constants = {f"K{k}": value for k, value in enumerate(draw(st.lists(CONSTANTS, max_size=4)))}
    constants |= {"helper_CONSTANT": draw(NUMBERS), "DEFAULT": draw(NUMBERS)}
    observation_space, action_space = draw(OBSERVATIONS), draw(ACTIONS)
    dtypes = st.sampled_from((*TYPES, "?")).map(np.dtype)
    fields = draw(st.lists(st.tuples(dtypes, SHAPES), min_size=1, max_size=4))
    leaves: Leaves = {"i": ["3", "-5"], "x": ["0.75", "-2.0", "float(helper(0.5))"]}
    for name, constant in constants.items():
        kind, text = constant_leaf(name, constant)
        leaves[kind].append(text)
    for k, (dtype, shape) in enumerate(fields):
        text = element(f"state.field{k}", shape, str(k + 1))
        text = f"(1 if {text} else 0)" if dtype.kind == "b" else text
        leaves["x" if dtype.kind == "f" else "i"].append(text)
    acting = {kind: list(parts) for kind, parts in leaves.items()}
    kind = "x" if action_space.dtype is not None and action_space.dtype.kind == "f" else "i"
    acting[kind].append(element("action", action_space.shape or (), "1"))

    def lines(leaves: Leaves) -> list[str]:
        named = enumerate(fields)
        return [draw(assignment(f"state.field{k}", field, leaves, True)) for k, field in named]

    def value(kind: str) -> str:
        return draw(expressions(kind, acting, True))

    observed = [
        line
        for name, field in leaves_of_observation(layout_of(observation_space))
        for line in (f"{name}[:] = 0", draw(assignment(name, field, leaves, False)))
    ]
    blocks = {
        "reset(state, parameters, rng)": lines(leaves),
        "step(state, parameters, action, rng)": [
            "state.number = (state.number + 1) % 8",
            f"for k in range({draw(st.integers(1, 3))}):",
            *(f"    {line}" for line in lines(acting)),
            f"if {value('x')} < {value('x')}:",
            *(f"    {line}" for line in lines(acting)),
            f"return {value('x')}, {value('i')} > 8" + f", {value('i')} > 9" * draw(st.booleans()),
        ],
        "observe(state, parameters, observation)": observed,
    }
    text = HELPER.format(name="helper", default="DEFAULT") + "".join(
        f"def {head}:\n" + "".join(f"    {line}\n" for line in block)
        for head, block in blocks.items()
    )
    note(f"{constants}\n{fields}\n{text}")
    annotations = {"number": int} | {
        f"field{k}": jit.array(dtype, *shape) if shape else dtype
        for k, (dtype, shape) in enumerate(fields)
    }
    members = {
        "observation_space": observation_space,
        "action_space": action_space,
        "State": type("State", (), {"__annotations__": annotations}),
    }
    return made(text, constants, members)


def made(text: str, constants: dict[str, Any], members: dict[str, Any]) -> type[jit.Env]:
    """Return the class of a text, as if it were a module with these constants."""
    filename = f"<random class {next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    functions: dict[str, Any] = {"jit": jit, "__name__": __name__, **constants}
    exec(compile(text, filename, "exec"), functions)
    functions = {name: functions[name] for name in ("reset", "step", "observe")}
    cls: Any = type("Random", (jit.Env,), {**members, **functions, "__module__": __name__})
    cls.text, cls.constants, cls.members = text, constants, members
    return cls


def random_states(cls: type[jit.Env], num_envs: int, seed: int) -> Any:
    """Return states of lanes with numbers of any size that `assignment` could have written."""
    rng = np.random.default_rng(seed)
    program = cls.program()
    states = np.zeros(num_envs, [field[:3] for field in program.state])
    for name, dtype, shape, _ in program.state:
        size = (num_envs, *shape)
        if dtype.kind == "f":
            smallest = -300 if dtype.itemsize == 8 else -40
            states[name] = rng.normal(size=size) * 10.0 ** rng.integers(smallest, 5, size)
        else:
            states[name] = rng.integers(0, 2 if dtype.kind == "b" else 100, size)
    return states
