"""The text of a converted class: spaces, state, parameters, functions and constants."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gymcore import spaces
from gymcore.jit.conversion.copies import whole
from gymcore.jit.conversion.layouts import Layout, is_number, items_of, leaves, number_array
from gymcore.jit.conversion.pools import references_in, release_text
from gymcore.jit.conversion.scope import Known
from gymcore.jit.conversion.statements import Statements
from gymcore.jit.conversion.unit import Helper, Restart, Unit, local_name
from gymcore.jit.declarations import Field
from gymcore.spaces.space import Space

__all__ = ["converted_module", "formatted"]

_LONG = 1000  # characters of a constant that is not formatted
_ZEROS = 8  # rows at the end of a constant that are written one by one
# Checks of mypy that functions of a lane cannot pass.
_MYPY = (
    "# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs\n"
    '# mypy: disable-error-code="override, valid-type"\n'
)


def converted_module(unit: Unit, action_space: Space, kwargs: dict[str, object]) -> str | None:
    """Return the text of a module with the converted class; None if there are obstacles.

    Args:
        unit: The class.
        action_space: The space of actions.
        kwargs: Arguments of the constructor of the original.
    """
    while True:
        unit.begin()
        try:
            functions = _functions(unit)
            break
        except Restart:
            pass
    if unit.obstacles:
        return None
    return _module_text(unit, functions, action_space, kwargs)


# --- functions ------------------------------------------------------------------------------------


def _functions(unit: Unit) -> list[str]:
    """Return the definitions of `reset`, `step`, `observe` and `info`."""
    reset = _root(unit, "reset", "reset")[1]
    others = [*_other_functions(unit)]
    release = _release(unit, reset) if _has_lasting_objects(unit) else ""
    return [f"def reset(state, parameters, rng):\n{release}{reset}", *others]


def _other_functions(unit: Unit) -> Iterator[str]:
    action, step = _root(unit, "step", "step")
    if unit.trace.has_variants and (other := _root(unit, "step", "first")[1]) != step:
        arguments = f"state, parameters, {action}, rng"
        for name, body in (("first_step", other), ("later_step", step)):
            text = f"def {name}({arguments}):\n{body}"
            unit.helpers[name] = Helper(name, (), (action,), text)
        step = f"""\
    if state.is_later_step:
        return later_step({arguments})
    state.is_later_step = True
    return first_step({arguments})"""
    else:
        unit.trace.has_variants = False
    yield f"def step(state, parameters, {action}, rng):\n{_release(unit, step)}{step}"
    body = unit.written.get("observation", "    pass")
    if "observation" in unit.decisions:
        field, lines = f"state.{unit.field_of('observation')}", []
        for keys, space in leaves(unit.observation_space):
            part = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
            index = "0" if is_number(space) else ":"
            lines.append(f"    observation{part}[{index}] = {'_'.join(map(str, (field, *keys)))}")
        body = "\n".join(lines)
    yield f"def observe(state, parameters, observation):\n{body}"
    prefix = f"state.{unit.field_of('info')}_"
    infos = [f"    info.{f.name}{whole(f.shape)} = {prefix}{f.name}" for f in _info_fields(unit)]
    if infos:
        body = "\n".join(infos) if "info" in unit.decisions else unit.written["info"]
        yield f"def info(state, parameters, info):\n{body}"


def _release(unit: Unit, step: str) -> str:
    """Return the statement that frees the rows of pools, if `step` creates objects."""
    creates = any(f"row_for_{pool.name}(" in unit.with_helpers(step) for pool in unit.all_pools())
    text = release_text(unit.layouts.items(), unit.all_pools(), unit.pools)
    return f"    {unit.call('release_rows', text)}\n" if creates else ""


def _root(unit: Unit, name: str, root: str) -> tuple[str, str]:
    """Return the name of the action, and the statements of `reset` or `step`."""
    source = unit.source_of(inspect.getattr_static(unit.cls, name))
    names, is_step = source.arguments[1:], name == "step"
    action = local_name(names[0]) if is_step else ""
    defaults = source.defaults if is_step else {}
    bindings = {n: Known(defaults.get(n)) for n in names[is_step:]}
    return action, Statements(unit, source, (root,), bindings, role=name).body()


def _lasting(unit: Unit) -> list[tuple[str, Layout]]:
    """Return name and layout of the attributes that outlast episodes."""
    return [(n, v) for n, v in unit.layouts.items() if n not in unit.trace.renewed]


def _has_lasting_objects(unit: Unit) -> bool:
    """Return whether attributes that outlast episodes refer to objects of pools."""
    return any(references_in(_lasting(unit), unit.pools))


def _initial(unit: Unit) -> Iterator[tuple[str, object]]:
    """Yield fields that outlast episodes, and what they are at first."""
    waiting = [(name, layout, unit.trace.initial.get(name)) for name, layout in _lasting(unit)]
    numbering = unit.numbering.empty()
    for name, _, value in waiting:
        numbering.add(value, name)
    waiting = [(name, layout, numbering.numbered(value, name)) for name, layout, value in waiting]
    for pool in unit.all_pools() if _has_lasting_objects(unit) else ():
        rows = numbering.rows[pool.reference]
        yield pool.used, np.arange(pool.size) < len(rows)
        waiting += _columns(pool.name, pool.layout, rows, pool.size)
    for name, layout, value in waiting:
        value = [*value] if isinstance(value, (deque, set)) else value
        value = [*value.values()] if layout.keys and isinstance(value, dict) else value
        parts, array = items_of(value) or {}, number_array(value)
        items = (layout.items or {}).items()
        waiting += [(f"{name}_{key}", item, parts.get(key)) for key, item in items]
        if layout.optional:
            yield layout.flag(name), value is not None
        filled = np.zeros(layout.shape, layout.dtype or np.bool_)
        lists: list[Any] = [*value] if layout.lists and isinstance(value, list) else []
        for k, row in enumerate(lists):
            filled[k, : len(row)] = row or 0
        if array is not None and layout.dtype is not None and not layout.lists:
            filled[tuple(map(slice, array.shape))] = array
        if layout.lists:
            yield layout.length(name), np.array([len(row) for row in lists] or 0)
        elif layout.grows:
            yield layout.length(name), 0 if array is None else len(array)
        if layout.dtype is not None:
            yield name, filled


def _columns(
    name: str, layout: Layout, rows: list[dict[str, Any]], size: int
) -> Iterator[tuple[str, Layout, object]]:
    """Yield field, layout and initial values of each attribute of the objects of a pool."""
    for key, item in (layout.items or {}).items():
        column: list[Any] = [row.get(key) for row in rows]
        title, whole_column = f"{name}_{key}", Layout(list, item.dtype, (size, *item.shape))
        if item.optional:
            flags = [value is not None for value in column]
            yield item.flag(title), whole_column._replace(dtype=np.dtype(bool)), flags
        if item.items is not None:
            yield from _columns(title, item, [items_of(value) or {} for value in column], size)
            continue
        values = np.zeros((len(rows), *item.shape), item.dtype)
        for k, value in enumerate(column):
            if value is not None and item.grows:
                values[k, : len(value)] = [*value] or 0
            elif value is not None:
                values[k] = number_array(value)
        if item.grows:
            lengths = [[len(value or ())] for value in column]
            yield item.length(title), Layout(list, np.dtype(int), (size, 1)), lengths
        yield title, whole_column, values


# --- text -----------------------------------------------------------------------------------------


def _module_text(
    unit: Unit, functions: list[str], action_space: Space, kwargs: dict[str, object]
) -> str:
    cls = unit.cls
    doc = inspect.cleandoc(cls.__doc__ or f"{cls.__name__} of {cls.__module__}.")
    doc = re.sub(r"[^\S\n]+$", "", doc.replace('"""', "'''"), flags=re.M).strip()
    doc = f'{"r" * (chr(92) in doc)}"""{doc}{chr(10) * (chr(10) in doc)}"""'
    code = unit.with_helpers("\n".join(functions))
    fields = [*_fields(unit, code)]
    lines = [f"    {_declaration(unit, field)}" for field in fields] or ["    unused: bool"]
    code = "\n".join([code, *lines])
    metadata = getattr(cls, "metadata", None)
    metadata = metadata if isinstance(metadata, dict) else {}
    draws = "rgb_array" in metadata.get("render_modes", ())
    body = [doc, ""]
    fps = metadata.get("render_fps") or 30
    shown = ["human", "rgb_array"] if draws else []
    body += [f"metadata = {{'render_modes': {shown}, 'render_fps': {fps}}}"]
    body += [f"observation_space = {space_text(unit.observation_space)}"]
    body += [f"action_space = {space_text(action_space)}", "", "class State:"]
    body += lines
    used = {n: v for n, v in unit.parameters.items() if re.search(rf"\bparameters\.{n}\b", code)}
    if used:
        body += ["", "class Parameters:"]
        for name, (_, value) in used.items():
            number = value.item() if isinstance(value, np.generic) else value
            body.append(f"    {name}: {type(number).__name__} = {number!r}")
    if unit.info_layouts:
        infos = [f"    {field.name}: {_field_text(field)}" for field in _info_fields(unit)]
        body += ["", "class Infos:", *infos]
    for function in functions:
        body += ["", *function.split("\n")]
    if draws:
        arguments = "".join(f", {n}={v!r}" for n, v in kwargs.items() if n != "render_mode")
        present = {field.name for field in fields}
        layouts = [*unit.layouts.items(), *((p.name, p.layout) for p in unit.all_pools())]
        pairs = ((name, pool.name) for name, _, pool in references_in(layouts, unit.pools))
        references = {name: pool for name, pool in pairs if name in present}
        arguments = (f", references={references!r}" if references else "") + arguments
        path = f"{cls.__module__}:{cls.__qualname__}"
        body += ["", "def render(state, parameters):"]
        body += [f"    return jit.rendered({path!r}, state, parameters{arguments})"]
    constants = [(n, v) for n, v in unit.constants.items() if re.search(rf"\b{n}\b", code)]
    definition = f"class {cls.__name__}(jit.Env):\n" + textwrap.indent("\n".join(body), "    ")
    helpers = (helper.text for helper in unit.helpers.values() if helper.text in code)
    parts = ["\n".join(_constant_lines(*constant) for constant in constants), *helpers, definition]
    whole = "\n\n\n".join(parts)
    imports = ["import math\n"] if re.search(r"(?<![\w.])math\.", whole) else []
    imports += ["import numpy as np\n"] if re.search(r"\bnp\.", whole) else []
    title = f"{cls.__name__} of {cls.__module__}, converted by `gymcore.jit.convert`."
    head = [f'{_MYPY}"""{title}"""\n', *imports, "from gymcore import jit, spaces\n"]
    return "\n".join([*head, whole, ""])


def _fields(unit: Unit, code: str) -> Iterator[Field]:
    """Yield the fields of the state that the code uses."""
    fields = [field for name, layout in unit.layouts.items() for field in layout.fields(name)]
    for pool in unit.all_pools():
        fields.append(Field(pool.used, np.dtype(bool), (pool.size,)))
        rows = pool.layout.parts(pool.name)
        fields += [field._replace(shape=(pool.size, *field.shape)) for field in rows]
    initial = dict(_initial(unit))
    for field in fields:
        if re.search(rf"\bstate\.{field.name}\b", code):
            yield field._replace(initial=initial.get(field.name))
    if unit.trace.has_variants:
        yield Field("is_later_step", np.dtype(bool), ())
    if "observation" in unit.decisions:
        for keys, space in leaves(unit.observation_space):
            name = "_".join(map(str, (unit.field_of("observation"), *keys)))
            yield Field(name, np.dtype(space.dtype), () if is_number(space) else space.shape or ())
    if "info" in unit.decisions:
        yield from _info_fields(unit, f"{unit.field_of('info')}_")


def _info_fields(unit: Unit, prefix: str = "") -> Iterator[Field]:
    for key, layout in unit.info_layouts.items():
        yield Field(f"{prefix}{key}", layout.dtype or np.dtype(float), layout.shape)


def _declaration(unit: Unit, field: Field) -> str:
    """Return the declaration of a field of the state."""
    text = f"{field.name}: {_field_text(field)}"
    if field.initial is None:
        return text
    values = np.asarray(field.initial, field.dtype)
    if (values == values.flat[0]).all():
        return f"{text} = {_float_text(repr(values.flat[0].item()))}"
    return f"{text} = {unit.constant(values, f'initial_{field.name}')}"


def _field_text(field: Field) -> str:
    kinds = {"float64": "float", "int64": "int", "bool": "bool"}
    dtype = kinds.get(field.dtype.name, f"np.{field.dtype.name}")
    return f"jit.array({dtype}, {', '.join(map(str, field.shape))})" if field.shape else dtype


def _constant_lines(name: str, value: object) -> str:
    """Return the assignment of a constant; the lines of large arrays are filled."""
    text = f"{name} = {_constant_text(value)}"
    if not isinstance(value, np.ndarray) or len(text) < _LONG:
        return text
    numbers = _float_text(", ".join(map(repr, value.reshape(-1).tolist())))
    lines = "".join(f"    {line}\n" for line in textwrap.wrap(numbers, 95))
    dtype = _dtype_text(value.dtype)
    head = f"# fmt: off\n{name} = np.array([\n{lines}], {dtype})"
    return f"{head}.reshape({value.shape})\n# fmt: on"


def _constant_text(value: object) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    dtype = _dtype_text(value.dtype)
    if value.size > 4 and (value == value.flat[0]).all():
        return f"np.full({value.shape}, {_float_text(repr(value.flat[0].item()))}, {dtype})"
    used = np.flatnonzero([row.any() for row in np.atleast_1d(value)])
    end = int(used[-1]) + 1 if len(used) else 0
    if value.size and len(np.atleast_1d(value)) - end > _ZEROS:
        zeros = f"np.zeros({(len(value) - end, *value.shape[1:])}, {dtype})"
        return f"np.concatenate(({_constant_text(value[:end])}, {zeros}))"
    items = _float_text(repr(value.tolist()))
    default = {"f": np.float64, "i": np.int64, "b": np.bool_}.get(value.dtype.kind)
    return f"np.array({items})" if value.dtype == default else f"np.array({items}, {dtype})"


def _dtype_text(dtype: np.dtype) -> str:
    return "np.bool_" if dtype == np.bool_ else f"np.{dtype.name}"


def _float_text(text: str) -> str:
    return re.sub(r"\b(nan|inf)\b", r"np.\1", text)


def space_text(space: Space) -> str:
    """Return the text that makes a space."""
    if isinstance(space, spaces.Dict):
        items = ", ".join(f"{k!r}: {space_text(s)}" for k, s in space.spaces.items())
        return f"spaces.Dict({{{items}}})"
    if isinstance(space, spaces.Tuple):
        return f"spaces.Tuple(({', '.join(map(space_text, space.spaces))},))"
    if isinstance(space, spaces.Discrete):
        start = f", start={int(space.start)}" if space.start else ""
        return f"spaces.Discrete({int(space.n)}{start})"
    dtype = _dtype_text(np.dtype(space.dtype))
    if isinstance(space, spaces.MultiDiscrete):
        start = f", start={space.start.tolist()}" if np.any(space.start) else ""
        given = f", dtype={dtype}" if space.dtype != np.int64 else ""
        return f"spaces.MultiDiscrete({space.nvec.tolist()}{given}{start})"
    if isinstance(space, spaces.MultiBinary):
        return f"spaces.MultiBinary({list(space.shape)})"
    assert isinstance(space, spaces.Box)
    return f"spaces.Box({_bound(space.low)}, {_bound(space.high)}, {space.shape}, {dtype})"


def _bound(values: np.ndarray) -> str:
    """Return the text of a bound with the shortest numbers of its dtype."""
    exact = [float(str(v)) if isinstance(v, np.floating) else v.item() for v in values.flat]
    if exact and exact == exact[:1] * len(exact):
        return _float_text(repr(exact[0]))
    items = np.array(exact).reshape(values.shape).tolist()
    return f"np.array({_float_text(repr(items))}, {_dtype_text(values.dtype)})"


def formatted(text: str) -> str:
    """Return the text as ruff formats it, if ruff is installed."""
    paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    ruff = shutil.which("ruff", path=paths)
    if ruff is None:
        return text
    command = [ruff, "format", "--line-length", "100", "--isolated", "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else text
