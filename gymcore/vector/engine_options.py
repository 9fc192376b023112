"""Checks of the functions, values and spaces passed to engines of Python environments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import eq
from typing import TYPE_CHECKING, TypeAlias

from gymcore.base.nested import named_leaves
from gymcore.error import ArgumentTypeError, InvalidArgument, SpaceMismatch
from gymcore.spaces import Space
from gymcore.spaces.batching import batch_differing_spaces, batch_space
from gymcore.spaces.utils import is_space_dtype_shape_equiv

if TYPE_CHECKING:
    from gymcore.vector.protocols import EnvFn, PythonEngine

Fits: TypeAlias = Callable[[Space, Space], bool]

_MAX_NAMED = 5


def checked_functions(env_fns: Iterable[EnvFn]) -> tuple[EnvFn, ...]:
    """Return the functions that make the environments.

    Raises:
        ArgumentTypeError: If `env_fns` or one of its elements has the wrong type.
        InvalidArgument: If there are no functions.
    """
    if callable(env_fns):
        raise ArgumentTypeError(
            f"env_fns: expected a sequence of functions, got one: {env_fns!r}; "
            "pass [env_fn] * num_envs"
        )
    functions = tuple(env_fns)
    if not functions:
        raise InvalidArgument("env_fns: expected at least one function, got none")
    for i, function in enumerate(functions):
        if not callable(function):
            raise ArgumentTypeError(
                f"env_fns[{i}]: expected a function, got {type(function)}; "
                'for an environment pass the function that makes it: lambda: make("CartPole-v1")'
            )
    return functions


def values_per_env(values: object, num_envs: int) -> Sequence[object]:
    """Return the values for `set_attr`, one for each environment.

    Raises:
        InvalidArgument: If a list or tuple has the wrong length.
    """
    if not isinstance(values, (list, tuple)):
        return [values] * num_envs
    if len(values) != num_envs:
        raise InvalidArgument(
            "Values must be a list or tuple with length equal to the number of environments. "
            f"Got `{len(values)}` values for {num_envs} environments."
        )
    return values


def adopt_spaces(
    envs: PythonEngine, observation_spaces: Sequence[Space], action_spaces: Sequence[Space]
) -> None:
    """Set the four spaces of a vector environment from the spaces of its environments.

    Raises:
        SpaceMismatch: If the spaces cannot be batched (a `RuntimeError`).
        InvalidArgument: If `observation_mode` is unknown (a `ValueError`).
        ArgumentTypeError: If `observation_mode` is a pair, but not of spaces (a `TypeError`).
    """
    name, num_envs, mode = type(envs).__name__, envs.num_envs, envs.observation_mode
    if isinstance(mode, tuple) and len(mode) == 2:
        if not all(isinstance(space, Space) for space in mode):
            raise ArgumentTypeError(
                "observation_mode: Expected both elements of observation_mode to be "
                f"Spaces, got {type(mode[0])} and {type(mode[1])}"
            )
        envs.observation_space, envs.single_observation_space = mode
    elif isinstance(mode, str) and mode in ("same", "different"):
        envs.single_observation_space = observation_spaces[0]
        if mode == "same":
            check_equal_spaces("observation", observation_spaces[0], observation_spaces, name)
            envs.observation_space = batch_space(observation_spaces[0], num_envs)
        else:
            envs.observation_space = batch_differing_spaces(list(observation_spaces))
    else:
        raise InvalidArgument(
            "Invalid `observation_mode`, expected: 'same' or 'different' or tuple of single "
            f"and batch observation space, actual got {mode}"
        )
    if mode != "same":
        check_equivalent_spaces(envs.single_observation_space, observation_spaces, name)

    envs.single_action_space = action_spaces[0]
    check_equal_spaces("action", action_spaces[0], action_spaces, name)
    envs.action_space = batch_space(action_spaces[0], num_envs)


def check_equal_spaces(
    kind: str, single_space: Space, spaces: Sequence[Space], vector_class: str
) -> None:
    """Check that all spaces of a kind ("observation" or "action") equal `single_space`.

    Raises:
        SpaceMismatch: If some differ (a `RuntimeError`); the message names them.
    """
    differing = [
        i for i, space in enumerate(spaces) if space is not single_space and space != single_space
    ]
    if not differing:
        return
    message = (
        f"Some environments have an {kind} space different from `{single_space}`. "
        f"In order to batch {kind}s, the {kind} spaces from all environments must be equal: "
        f"{_differences(single_space, spaces, differing, eq)}."
    )
    if kind == "observation":
        message += (
            f" {vector_class}(..., observation_mode='same') however "
            f"{'some of ' if 'Async' in vector_class else ''}the sub-environments observation "
            f"spaces are not equivalent. single_observation_space={single_space}, "
            f"sub-environment observation_space={spaces[differing[0]]}. "
            "If this is intentional, use `observation_mode='different'` instead."
        )
    else:
        message += (
            " Sub-environment action space doesn't make the `single_action_space`, "
            f"action_space={spaces[differing[0]]}, single_action_space={single_space}"
        )
    raise SpaceMismatch(message)


def check_equivalent_spaces(
    single_space: Space, spaces: Sequence[Space], vector_class: str
) -> None:
    """Check that every observation space has the shape and dtype of `single_space`.

    Raises:
        SpaceMismatch: If some differ (a `RuntimeError`); the message names them.
    """
    differing = [
        i for i, space in enumerate(spaces) if not is_space_dtype_shape_equiv(space, single_space)
    ]
    if differing:
        # The messages of Gymnasium's two engines differ, and programs match on them.
        lanes = "sub-environment's" if "Async" in vector_class else "sub-environments"
        raise SpaceMismatch(
            f"{vector_class}(..., observation_mode='different' or custom space) however the "
            f"{lanes} observation spaces do not share a common shape and dtype, "
            f"single_observation_space={single_space}, "
            f"sub-environment observation space={spaces[differing[0]]}: "
            f"{_differences(single_space, spaces, differing, is_space_dtype_shape_equiv)}."
        )


def _differences(expected: Space, spaces: Sequence[Space], differing: list[int], fits: Fits) -> str:
    """Return "env 1 has Box(...) (shape (3,) instead of (2,)), env 4 has ... and 12 more"."""
    parts = []
    for i in differing[:_MAX_NAMED]:
        difference = _difference(expected, spaces[i], fits)
        parts.append(f"env {i} has {spaces[i]}{f' ({difference})' if difference else ''}")
    if len(differing) > _MAX_NAMED:
        parts.append(f"and {len(differing) - _MAX_NAMED} more")
    return ", ".join(parts)


def _difference(expected: Space, space: Space, fits: Fits) -> str:
    """Describe the part, shape or dtype in which `space` differs; "" if its text shows it."""
    parts = named_leaves(space)
    for path, expected_part in named_leaves(expected).items():
        part = parts.get(path)
        if part is None:
            return f"without {path}" if path else ""
        if not fits(part, expected_part):
            where = f"{path}: " if path else ""
            if type(part) is type(expected_part):
                for name in ("shape", "dtype"):
                    value, other = getattr(expected_part, name), getattr(part, name)
                    if value != other:
                        return f"{where}{name} {other} instead of {value}"
            return f"{where}{part} instead of {expected_part}" if path else ""
    return ""
