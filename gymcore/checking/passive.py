"""Checks of an environment's spaces and return values while it is used.

Violations that would break a program raise errors; probable mistakes cause warnings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, SupportsFloat

from gymcore import spaces
from gymcore.checking import rules
from gymcore.checking.data import data_shares_objects
from gymcore.core import ActType, Env, Info, ObsType
from gymcore.spaces import Box, Space

__all__ = [
    "check_action_space",
    "check_obs",
    "check_observation_space",
    "check_space",
    "data_shares_objects",
    "env_data_reuse_passive_checker",
    "env_render_passive_checker",
    "env_reset_passive_checker",
    "env_step_passive_checker",
    "subspaces",
]


def subspaces(space: Space) -> Collection[Space]:
    """Return the spaces inside a `Dict` or `Tuple`, and none for other spaces."""
    return space._parts() if isinstance(space, (spaces.Dict, spaces.Tuple)) else ()


def check_space(space: Space, space_type: str, check_box_space_fn: Callable[[Box], None]) -> None:
    """Check a space and its subspaces, each `Box` with the given function.

    Messages contain `space_type`, "observation" or "action". An object that is not a `Space` raises
    `ArgumentTypeError`; a space that cannot be sampled raises `FailedCheck`.
    """
    rules.IS_SPACE.check(space, kind=space_type)
    if isinstance(space, Box):
        check_box_space_fn(space)
    rules.apply(rules.for_space(rules.SPACES, space), space, kind=space_type)
    for subspace in subspaces(space):
        check_space(subspace, space_type, check_box_space_fn)


def _check_box(kind: str, box: Box) -> None:
    rules.apply(rules.BOXES[kind], box, kind=kind)


check_observation_space = partial(
    check_space,
    space_type="observation",
    check_box_space_fn=partial(_check_box, "observation"),
)
check_action_space = partial(
    check_space, space_type="action", check_box_space_fn=partial(_check_box, "action")
)


def check_obs(obs: object, observation_space: Space, method_name: str) -> None:
    """Warn if an observation has the wrong type or is outside the observation space.

    Messages contain `method_name`, "reset" or "step". Wrong keys or a wrong length raise
    `FailedCheck` (also an `AssertionError`).
    """
    entries = rules.for_space(rules.OBSERVATIONS, observation_space)
    rules.apply(entries, obs, observation_space, method=method_name)
    if isinstance(observation_space, (spaces.Dict, spaces.Tuple)):
        parts = observation_space._parts()
        for value, part in zip(observation_space._unpack(obs), parts, strict=True):
            check_obs(value, part, method_name)
    try:
        rules.IN_SPACE.check(obs, observation_space, method=method_name)
    except Exception as problem:
        rules.CAN_BE_IN_SPACE.check(problem, method=method_name)


def env_data_reuse_passive_checker(
    previous_data: tuple[object, Info],
    data: tuple[object, Info],
    previous_source: str,
    source: str,
) -> None:
    """Warn if an environment returned the same observation or info object twice.

    Args:
        previous_data: The observation and info of one call.
        data: The observation and info of the next call.
        previous_source: The name of the first call: "reset" or "step".
        source: The name of the next call.
    """
    for name, first, second in zip(("observation", "info"), previous_data, data, strict=False):
        rules.DATA_IS_NEW.check(first, second, name=name, source=previous_source, following=source)


def env_reset_passive_checker(env: Env[ObsType, Any], **kwargs: Any) -> tuple[ObsType, Info]:
    """Reset an environment; check the signature of `reset` and its result, and return the result.

    An info that is not a dict raises `FailedCheck`.
    """
    rules.apply(rules.RESET_SIGNATURE, inspect.signature(env.reset).parameters)
    try:
        result = env.reset(**kwargs)
    except TypeError as problem:
        if "unexpected keyword argument" in str(problem):
            problem.add_note(rules.old_interface_hint())
        raise
    if rules.apply((rules.RESET_RETURNS_TUPLE, rules.RESET_RETURNS_TWO), result):
        check_obs(result[0], env.observation_space, "reset")
        rules.RESET_INFO_IS_DICT.check(result[1])
    return result


def env_step_passive_checker(
    env: Env[ObsType, ActType], action: ActType
) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
    """Step an environment, check the result and return it.

    A result that is not a tuple, or an info that is not a dict, raises `FailedCheck`.
    """
    result = env.step(action)
    rules.apply(rules.STEP_RESULT, result)
    names = ("terminated", "truncated") if len(result) == 5 else ("done",)
    for name, flag in zip(names, result[2:], strict=False):
        rules.FLAG_IS_BOOL.check(flag, name=name)
    check_obs(result[0], env.observation_space, "step")
    rules.apply(rules.REWARD, result[1])
    rules.STEP_INFO_IS_DICT.check(result[-1])
    return result


def _check_frame(mode: str, frame: object) -> None:
    """Warn if a frame does not have the form of its render mode."""
    rules.apply(rules.FRAMES.get(mode, ()), frame)
    if mode.endswith("_list"):
        rules.FRAMES_ARE_LIST.check(frame, mode=mode)
        for each in frame if isinstance(frame, list) else ():
            _check_frame(mode.removesuffix("_list"), each)


def env_render_passive_checker(env: Env) -> object:
    """Render an environment; check its metadata and the frame, and return the frame.

    An undeclared render mode, or a frame rate that is not positive, raises `FailedCheck`.
    """
    modes = env.metadata.get("render_modes")
    rules.apply(rules.RENDER_MODES, modes)
    if isinstance(modes, Collection):
        if modes:
            rules.apply(rules.RENDER_FPS, env.metadata.get("render_fps"))
        rules.apply(rules.RENDER_MODE, env.render_mode, modes)
    frame = env.render()
    if isinstance(env.render_mode, str):
        _check_frame(env.render_mode, frame)
    return frame
