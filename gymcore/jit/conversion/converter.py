"""`converted`: a Gymnasium class as a `gymcore.jit.Env` class."""

from __future__ import annotations

import contextlib
import copyreg
import difflib
import hashlib
import linecache
import numbers
import re
import sys
import threading
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gymcore import error, logger
from gymcore.base.arguments import positive
from gymcore.jit.conversion.assembly import converted_module, formatted
from gymcore.jit.conversion.obstacles import Obstacle, error_of
from gymcore.jit.conversion.proof import prove
from gymcore.jit.conversion.shared_draws import LaneDraws
from gymcore.jit.conversion.source import (
    changed_attributes,
    find_class,
    is_convertible,
    method_of,
    reached,
)
from gymcore.jit.conversion.tracing import Trace
from gymcore.jit.conversion.unit import Unit
from gymcore.jit.env import Env
from gymcore.native.env import NativeEnvMeta
from gymcore.native.kernel_spaces import array_layout, checked_action
from gymcore.spaces.conversion import convert_space

__all__ = ["class_of_text", "converted", "converted_text"]

_loading = threading.Lock()
_ANOTHER_WAY = "write it in another way"
_LIKE = 0.5  # smallest likeness of a converted line and its original


def converted(
    env: object,
    *,
    seeds: int = 10,
    steps: int = 500,
    policy: Callable[[object], object] | None = None,
    tolerance: float = 0.0,
    **kwargs: object,
) -> tuple[type[Env], str]:
    """Return the converted class, and the text of a module with it; see `convert`."""
    seeds, steps = positive("seeds", seeds), positive("steps", steps)
    if not isinstance(tolerance, numbers.Real):
        raise error.ArgumentTypeError(f"tolerance: expected a number, got {tolerance!r}")
    if not tolerance >= 0:
        raise error.InvalidArgument(f"tolerance: expected 0 or more, got {tolerance!r}")
    if policy is not None and not callable(policy):
        raise error.ArgumentTypeError(f"policy: expected a function, got {policy!r}")
    cls, arguments = find_class(env)
    arguments.update(kwargs)
    text, unit = _converted(cls, arguments)
    doubts = unit.doubts
    try:
        result = class_of_text(cls.__name__, cls.__module__, text)
        env_of_result = result()
    except Exception as problem:
        raise error_of(cls.__name__, [*doubts, _obstacle_of(problem, cls, text)]) from problem
    try:
        options: dict[str, Any] = {"steps": steps, "policy": policy, "tolerance": tolerance}
        options["reseeds"] = unit.seeds_itself
        original = cls(**arguments)
        if unit.drawing:
            names = ", ".join(sorted({function.__qualname__ for function in unit.drawing}))
            logger.warn(
                f"{cls.__name__} draws from `random` or `np.random` in {names}; converted, each "
                "environment draws from its own generator, which `reset(seed=...)` seeds"
            )
            original = LaneDraws(original, unit.trace.modules)
        prove(original, env_of_result, seeds=range(seeds), **options)
    except error.ConversionError as problem:
        if problem.__cause__ is not None:
            doubts = [*doubts, _obstacle_of(problem.__cause__, cls, text)]
        if doubts:
            raise error_of(f"{problem}\n{cls.__name__}", doubts) from problem
        raise
    return result, text


def converted_text(env: object, **kwargs: object) -> str:
    """Return the text of a module with the converted class, without the proof; see `convert`."""
    cls, arguments = find_class(env)
    return _converted(cls, {**arguments, **kwargs})[0]


def _converted(cls: type, arguments: dict[str, object]) -> tuple[str, Unit]:
    """Return the text, and what is known about the class."""
    for name in ("reset", "step"):
        if not is_convertible(method_of(cls, name)):
            advice = "has no source in Python", "write it in a file"
            raise error_of(cls.__name__, [Obstacle("", 0, f"{cls.__name__}.{name}", *advice)])
    sources = reached(cls, "reset", "step")
    names = {name for source in sources for name, _ in changed_attributes(source)}
    try:
        trace = Trace(cls, lambda: cls(**arguments), names)
    except Exception as problem:
        reason = f"{cls.__name__} cannot be converted: a run of it raised {problem!r}"
        raise error.ConversionError(reason) from problem
    action, observation = (
        convert_space(space) for space in (trace.env.action_space, trace.env.observation_space)
    )
    unit = Unit(cls, trace, observation)
    for name, space in (("action_space", action), ("observation_space", observation)):
        valid = None
        with contextlib.suppress(error.Error):
            valid = array_layout(name, space) if name[0] == "o" else checked_action(space)
        if valid is None:
            advice = "is a space that lanes do not have", "see the docstring of gymcore.jit.Env"
            unit.initial_obstacles.append(Obstacle("", 0, f"{name} = {space}", *advice))
    text = converted_module(unit, action, arguments)
    if text is None:
        raise error_of(cls.__name__, unit.obstacles)
    return formatted(text), unit


def _obstacle_of(problem: BaseException, cls: type, text: str) -> Obstacle:
    """Return an exception as an obstacle, in the line of the original that is most like its own."""
    message = re.search(r" converted from .*?>:(\d+): (.*)", str(problem))
    frames = traceback.extract_tb(problem.__traceback__)
    numbers = [frame.lineno or 0 for frame in frames if " converted from " in frame.filename]
    number = int(message[1]) if message else numbers[-1] if numbers else 0
    line = text.splitlines()[number - 1].strip() if number else ""
    places = [
        (difflib.SequenceMatcher(None, line, raw.decode().strip()).ratio(), source, k)
        for source in reached(cls, "reset", "step")
        for k, raw in enumerate(source.lines)
    ]
    reason = message[2].strip(": ") if message else f"raises {type(problem).__name__}: {problem}"
    likeness, source, k = max(places, key=lambda place: place[0])
    if not line or likeness < _LIKE:
        return Obstacle("", 0, line or cls.__name__, reason, _ANOTHER_WAY)
    original = source.lines[k].decode().strip()
    return Obstacle(source.file, source.first_line + k, original, reason, _ANOTHER_WAY)


def class_of_text(name: str, origin: str, text: str) -> type[Env]:
    """Return the class `name` that a text defines, in a module of its own.

    Messages name `origin`, the module of the original.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    module_name = f"gymcore_converted_{name}_{digest}"
    with _loading:
        if module_name not in sys.modules:
            module = ModuleType(module_name)
            module.__file__ = filename = f"<{name} converted from {origin}, {digest}>"
            linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
            sys.modules[module_name] = module
            try:
                exec(compile(text, filename, "exec"), module.__dict__)
                _texts[getattr(module, name)] = name, origin, text
            except BaseException:
                del sys.modules[module_name]
                raise
    result: type[Env] = getattr(sys.modules[module_name], name)
    return result


# The arguments of `class_of_text`, by class.
_texts: dict[type, tuple[str, str, str]] = {}


def _reduced(
    cls: NativeEnvMeta,
) -> str | tuple[Callable[..., NativeEnvMeta], tuple[str, str, str]]:
    """Pickle a converted class as its text, which another process lacks, others by their names."""
    return (class_of_text, _texts[cls]) if cls in _texts else cls.__qualname__


copyreg.pickle(NativeEnvMeta, _reduced)
