"""Checks of arguments that several parts of the package share: counts, seeds, lanes and masks.

All engines use them, so an argument means the same, and raises the same error, in each of them.
"""

from __future__ import annotations

import difflib
import inspect
import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidAction, InvalidArgument
from gymcore_ext.arrays import are_lanes

Lanes = npt.NDArray[np.int64]
_Options: TypeAlias = dict[str, object] | None

RESET_MASK = "reset_mask"
MAX_COUNT = 2**40
"""The largest number of lanes, or of elements of a batch."""
MAX_STEPS = 2**31 - 1
"""The largest value of the engine's counters of steps."""


def count(name: str, value: Any, minimum: int = 0, maximum: int | None = None) -> int:
    """Return a Python or NumPy integer as an int; errors call it `name`.

    Another type raises `ArgumentTypeError`, a value out of range `InvalidArgument`.

    Examples:
        >>> count("video_length", 0)
        0
    """
    try:
        number = int(operator.index(value))  # `index` returns True for True
    except TypeError:
        raise ArgumentTypeError(
            f"{name}: expected an integer, got {value!r} ({type(value)})"
        ) from None
    if number < minimum:
        raise InvalidArgument(f"{name}: expected at least {minimum}, got {number}")
    if maximum is not None and number > maximum:
        raise InvalidArgument(f"{name}: expected at most {maximum}, got {number}")
    return number


def positive(name: str, value: object, maximum: int | None = None) -> int:
    """Return a count of at least 1 as an int; see `count`.

    Examples:
        >>> positive("num_envs", 3, maximum=10)
        3
    """
    return count(name, value, 1, maximum)


def flag(name: str, value: object) -> bool:
    """Return a bool, or 0 or 1, as a bool; others raise `ArgumentTypeError`.

    Examples:
        >>> flag("coop", np.True_), flag("coop", 0)
        (True, False)
    """
    if isinstance(value, (bool, int, np.bool_, np.integer)) and value in (0, 1):
        return bool(value)
    raise ArgumentTypeError(f"{name}: expected True or False, got {value!r} ({type(value)})")


def step_limit(name: str, value: object) -> int | None:
    """Return the number of steps after which episodes are truncated; None and -1 as they are.

    Another type raises `ArgumentTypeError`, 0 or a smaller number than -1 `InvalidArgument`.

    Examples:
        >>> step_limit("max_episode_steps", 500), step_limit("max_episode_steps", -1)
        (500, -1)
    """
    if value is None:
        return None
    number = count(name, value, -1)
    return number if number == -1 else positive(name, number)


def keywords(name: str, value: object) -> dict[str, Any]:
    """Return a mapping of arguments as a new dict, empty for None.

    Others raise `ArgumentTypeError`.

    Examples:
        >>> keywords("task_kwargs", None)
        {}
    """
    if value is None:
        return {}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {**value}
    raise ArgumentTypeError(f"{name}: expected a dict of arguments or None, got {value!r}")


def texts(name: str, value: Any) -> list[str]:
    """Return a sequence of texts as a list; others raise `ArgumentTypeError`.

    Examples:
        >>> texts("layers", ("agents", "goals"))
        ['agents', 'goals']
    """
    is_list = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    if is_list and all(isinstance(text, str) for text in value):
        return [*value]
    raise ArgumentTypeError(f"{name}: expected a list of texts, got {value!r}")


def time_limit(name: str, value: object) -> float:
    """Return a time limit in seconds as a float; None and `inf` are no limit, and give `inf`.

    Another type raises `ArgumentTypeError`; zero, a negative number or nan `InvalidArgument`.

    Examples:
        >>> time_limit("timeout", 3), time_limit("timeout", None)
        (3.0, inf)
    """
    if value is None:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ArgumentTypeError(f"{name}: expected seconds or None, got {value!r}")
    if not value > 0:
        raise InvalidArgument(f"{name}: expected more than 0 seconds, got {value!r}")
    try:
        return float(value)
    except OverflowError:  # an int of more than 308 digits
        return math.inf


def seeds_per_env(
    seed: int | Sequence[int | None] | npt.NDArray[np.integer] | None, num_envs: int
) -> list[int | None]:
    """Return one seed, a Python int or None, for each environment.

    None seeds nothing; an integer `s` seeds environment `i` with `s + i`; a sequence or array of
    length `num_envs` has a seed, or None, for each environment. Another type raises
    `ArgumentTypeError`, a wrong length or a negative seed `InvalidArgument`.

    Examples:
        >>> import numpy as np
        >>> seeds_per_env(np.int64(7), 3), seeds_per_env([1, None], 2)
        ([7, 8, 9], [1, None])
    """
    seeds = checked_seeds(seed, num_envs)
    if isinstance(seeds, int):
        return [seeds + i for i in range(num_envs)]
    return [None] * num_envs if seeds is None else seeds


def checked_seeds(
    seed: int | Sequence[int | None] | npt.NDArray[np.integer] | None, num_envs: int
) -> int | list[int | None] | None:
    """Return a seed argument of `seeds_per_env` as a Python int, a list or None.

    Examples:
        >>> import numpy as np
        >>> checked_seeds(np.int64(7), 10**12)
        7
    """
    if seed is None:
        return None
    if isinstance(seed, np.ndarray):
        if seed.ndim > 1:
            raise InvalidArgument(f"seed: expected a one-dimensional array, got shape {seed.shape}")
        seed = seed.tolist()
    if isinstance(seed, Sequence) and not isinstance(seed, (str, bytes)):
        if len(seed) != num_envs:
            raise InvalidArgument(
                "If seeds are passed as a list the length must match "
                f"num_envs={num_envs} but got length={len(seed)}."
            )
        return [
            None if value is None else _as_seed(value, f"seed[{i}]") for i, value in enumerate(seed)
        ]
    return _as_seed(seed, "seed")


def check_rewards_are_numbers(rewards: npt.ArrayLike) -> None:
    """Raise `InvalidArgument` if rewards of lanes are vectors, which only engines support.

    Examples:
        >>> check_rewards_are_numbers(np.ones((2, 3)))
        Traceback (most recent call last):
        gymcore.error.InvalidArgument: rewards: expected a number for each lane, got shape (2, 3)
    """
    if np.ndim(rewards) != 1:
        raise InvalidArgument(
            f"rewards: expected a number for each lane, got shape {np.shape(rewards)}"
        )


def _as_seed(value: Any, name: str) -> int:
    try:
        seed = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{name}: Seed must be a python integer (or a NumPy one), "
            f"actual type: {type(value)}, value: {value!r}"
        ) from None
    if seed < 0:
        raise InvalidArgument(
            f"{name}: Seed must be greater or equal to zero, actual value: {seed}"
        )
    return seed


def check_options(options: Mapping[str, object] | None, known: Collection[str] = ()) -> None:
    """Check that reset options are a dict, or None, whose keys are all known.

    Another type raises `ArgumentTypeError`, an unknown key `InvalidArgument`, because an option
    that the environment would ignore is probably misspelled.

    Examples:
        >>> check_options({"lo": -0.1}, ("low", "high"))
        Traceback (most recent call last):
        ...
        gymcore.error.InvalidArgument: options: expected the keys 'low', 'high', got 'lo'
    """
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise ArgumentTypeError(f"options: expected a dict or None, got {type(options)}")
    if unknown := [key for key in options if key not in known]:
        expected = ", ".join(map(repr, known))
        expected = f"the keys {expected}" if known else "no keys"
        raise InvalidArgument(f"options: expected {expected}, got {unknown[0]!r}")


def split_reset_mask(
    options: _Options, num_envs: int
) -> tuple[_Options, npt.NDArray[np.bool_] | None]:
    """Return reset options without `reset_mask`, and the mask, bool [num_envs].

    The caller's dict is not changed. The mask is None if the options have none. A wrong type
    raises `ArgumentTypeError`; a wrong shape, or a mask that selects no environment, raises
    `InvalidArgument`.

    Examples:
        >>> import numpy as np
        >>> options = {"reset_mask": np.array([True, False]), "low": -0.1}
        >>> split_reset_mask(options, 2)
        ({'low': -0.1}, array([ True, False]))
    """
    if options is None:
        return None, None
    if not isinstance(options, Mapping):
        raise ArgumentTypeError(f"options: expected a dict or None, got {type(options)}")
    if RESET_MASK not in options:
        return options, None

    mask = options[RESET_MASK]
    if not isinstance(mask, np.ndarray):
        raise ArgumentTypeError(f"`options['reset_mask']` must be a numpy array, got {type(mask)}")
    if mask.dtype != np.bool_:
        raise ArgumentTypeError(
            f"`options['reset_mask']` must have `dtype=np.bool_`, got {mask.dtype}"
        )
    if mask.shape != (num_envs,):
        raise InvalidArgument(
            f"`options['reset_mask']` must have shape `{(num_envs,)}`, got {mask.shape}"
        )
    if not mask.any():
        raise InvalidArgument(
            "`options['reset_mask']` must contain a boolean array with at least one True value, "
            f"got reset_mask={mask}"
        )
    return {key: value for key, value in options.items() if key != RESET_MASK}, mask


def lane_indices(
    lanes: Sequence[int] | npt.NDArray[np.integer] | None,
    num_envs: int,
    name: str = "lanes",
    *,
    distinct: bool = True,
) -> Lanes:
    """Return indices of environments as a new int64 array.

    `lanes` are indices, a bool mask [num_envs], or None for all. Other types raise
    `ArgumentTypeError`; empty or out-of-range indices raise `InvalidArgument`, and so do repeated
    ones if `distinct` is true.

    Examples:
        >>> lane_indices([2, 0], num_envs=3), lane_indices(None, num_envs=2)
        (array([2, 0]), array([0, 1]))
    """
    if lanes is None:
        return np.arange(num_envs, dtype=np.int64)
    try:
        indices = np.asarray(lanes)
    except ValueError:  # lists of different lengths
        indices = np.empty((), object)
    if indices.dtype == np.bool_ and indices.shape == (num_envs,):
        indices = np.flatnonzero(indices)
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise ArgumentTypeError(
            f"{name}: expected integers or a mask [{num_envs}] bool, got {lanes!r}"
        )
    indices = np.array(indices, dtype=np.int64)
    if not are_lanes(indices if distinct else np.unique(indices), num_envs):
        raise InvalidArgument(
            f"{name}: expected {'distinct ' * distinct}environments from 0 to {num_envs - 1}, "
            f"got {lanes!r}"
        )
    return indices


def check_mask(mask: object, num_envs: int, name: str = "mask") -> npt.NDArray[np.bool_]:
    """Return `mask`; raise `InvalidArgument` if it is not a bool array [num_envs]."""
    expected = f"{name}: expected a bool array of shape ({num_envs},)"
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise InvalidArgument(f"{expected}, got {mask!r}")
    if mask.shape != (num_envs,):
        raise InvalidArgument(f"{expected}, got shape {mask.shape}")
    return mask


def argument_names(function: Callable[..., object]) -> set[str] | None:
    """Return the names of a function's arguments; None if it accepts any, or has no signature.

    Examples:
        >>> argument_names(lambda size, copy=True: 0) == {"size", "copy"}
        True
    """
    try:
        signature = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of some compiled functions
        return None
    return (
        None
        if any(each.kind is each.VAR_KEYWORD for each in signature)
        else {each.name for each in signature}
    )


def unexpected_arguments(
    owner: str, names: Iterable[str], options: Iterable[str], parameters: Iterable[str]
) -> ArgumentTypeError:
    """Return the error for arguments of a batch that neither its engine nor its lanes have.

    Examples:
        >>> print(unexpected_arguments("Maze", ["num_thraeds"], ["copy", "num_threads"], ["size"]))
        Maze: got unexpected arguments ['num_thraeds']; did you mean num_threads? Options of the \
engine: copy, num_threads. Arguments of the environment: size
    """
    names, options = sorted(names), sorted(options)
    parameters = sorted({*parameters} - {*options})
    candidates = {*options, *parameters} - {*names}
    close = [match for name in names for match in difflib.get_close_matches(name, candidates, 1)]
    hint = f"; did you mean {', '.join(close)}?" if close else "."
    return ArgumentTypeError(
        f"{owner}: got unexpected arguments {names}{hint} Options of the engine: "
        f"{', '.join(options)}. Arguments of the environment: {', '.join(parameters) or 'none'}"
    )


def invalid_action(action: object, expected: str) -> InvalidAction:
    """Return the error for an invalid action of a single environment."""
    if isinstance(action, np.ndarray):
        action = action.copy()  # another thread may write to it while it is formatted
    return InvalidAction(f"action: {action!r} ({type(action)}) invalid, expected {expected}")
