"""`convert`: converted classes, kept in this process and in files, so that each is proved once."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gymcore.jit.code_files import cached_file, read_file, write_file
from gymcore.jit.constants import digest_of
from gymcore.jit.conversion.converter import class_of_text, converted
from gymcore.jit.conversion.proof import prove
from gymcore.jit.conversion.source import find_class, reached
from gymcore.jit.env import Env

__all__ = ["convert"]

# Steps for which a class from a file is compared again, as it may depend on other files.
_STEPS = 50
_classes: dict[bytes, type[Env]] = {}


def convert(
    env: object,
    *,
    seeds: int = 10,
    steps: int = 500,
    policy: Callable[[object], object] | None = None,
    tolerance: float = 0.0,
    **kwargs: object,
) -> type[Env]:
    """Return a `gymcore.jit.Env` class that is made from the source of a Gymnasium class.

    The class is then run beside the original, and every observation, reward, flag, info and draw
    is compared. Conversion runs the code of the class: only convert source that you trust.

    The result is kept in memory, and in a file next to the compiled code. The key of the file
    includes the source of the class, of its bases and of the functions that they call, the loaded
    modules of their packages, the arguments, and the versions of Python, NumPy and this package. A
    class from a file is compared with the original for some steps.

    Args:
        env: The class, `"module:Class"`, or an id such as `"gymnasium:CartPole-v1"`.
        seeds: Number of seeds that both are run with.
        steps: Number of steps for each seed.
        policy: Function from an observation to an action; None for random actions.
        tolerance: Largest difference of floats, relative to the larger value or 1. The default
            demands equal values.
        **kwargs: Arguments of the constructor of the original.

    Raises:
        ConversionError: If the source has obstacles, all of which are listed with file and line,
            or if the results differ.
        ArgumentTypeError: If `env` is none of these.

    Examples:
        >>> import gymcore as gym
        >>> CartPole = gym.jit.convert("gymnasium:CartPole-v1")  # doctest: +SKIP
        >>> envs = CartPole.vector_class(num_envs=64)  # doctest: +SKIP
    """
    cls, arguments = find_class(env)
    arguments.update(kwargs)
    options: dict[str, Any] = {"seeds": seeds, "steps": steps, "tolerance": tolerance, **arguments}
    try:
        key = b"" if policy is not None else _key(cls, options)
    except TypeError:  # an argument whose value cannot be part of a key
        key = b""
    if not key:
        return converted(cls, policy=policy, **options)[0]
    if key not in _classes:
        path = cached_file(f"{key.hex()}.py.bin")
        text = read_file(path)
        result = _proved(cls, text, arguments, tolerance) if text else None
        if result is None:
            result, new = converted(cls, **options)
            write_file(path, new.encode())
        _classes[key] = result
    return _classes[key]


def _proved(
    cls: type, text: bytes, arguments: dict[str, object], tolerance: float
) -> type[Env] | None:
    """Return the class of a text, or None if it does not do what the original does now."""
    try:
        result = class_of_text(cls.__name__, cls.__module__, text.decode())
        options: dict[str, Any] = {"steps": _STEPS, "policy": None, "tolerance": tolerance}
        prove(cls(**arguments), result(), seeds=range(1), reseeds=True, **options)
    except Exception:  # converting the class again raises what is wrong with the class itself
        return None
    return result


def _key(cls: type, options: dict[str, object]) -> bytes:
    digest = hashlib.sha256(f"{cls.__module__}:{cls.__qualname__}".encode() + _versions())
    digest.update(digest_of(tuple(sorted(options.items()))))
    sources = reached(cls, "__init__", "reset", "step")
    for source in sources:  # those of a notebook are in no file
        digest.update(b"\n".join(source.lines))
    packages = {source.function.__module__.partition(".")[0] for source in sources}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in packages and file is not None:
            with contextlib.suppress(OSError):
                digest.update(name.encode() + Path(file).read_bytes())
    return digest.digest()


@functools.cache
def _versions() -> bytes:
    """Return the inputs of the text besides the class: Python, NumPy, and this package."""
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    versions = f"{sys.version} {np.__version__} {platform.machine()}".encode()
    return versions + b"".join(file.read_bytes() for file in files)
