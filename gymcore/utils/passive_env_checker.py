"""Checks of an environment's spaces and return values while it is used.

Errors are raised for what would break a program, warnings for what is probably a mistake.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from gymcore import error, logger, spaces
from gymcore.core import Env
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
]


def _check_box_shapes(space: Box, space_type: str) -> None:
    for bound in ("low", "high"):
        shape = getattr(space, bound).shape
        if shape != space.shape:
            # Gymnasium's message repeats "have" in two cases, and programs match messages.
            twice = (space_type, bound) in (("observation", "high"), ("action", "low"))
            raise error.FailedCheck(
                f"The Box {space_type} space shape and {bound} shape "
                f"{'have have' if twice else 'have'} different shapes, "
                f"{bound} shape: {shape}, box shape: {space.shape}"
            )


def _check_box_observation_space(observation_space: Box) -> None:
    """Check the bounds of a `Box` of observations."""
    _check_box_shapes(observation_space, "observation")
    low, high = observation_space.low, observation_space.high
    if (low < high).all():
        return
    if (low == high).any():
        logger.warn("A Box observation space maximum and minimum values are equal.")
    elif (low > high).any():
        logger.warn("A Box observation space low value is greater than a high value.")


def _check_box_action_space(action_space: Box) -> None:
    """Check the bounds of a `Box` of actions."""
    _check_box_shapes(action_space, "action")
    if (action_space.low == action_space.high).any():
        logger.warn("A Box action space maximum and minimum values are equal.")


def check_space(
    space: Space[Any], space_type: str, check_box_space_fn: Callable[[Box], None]
) -> None:
    """Check a space and its subspaces, each `Box` with the given function.

    Messages contain `space_type`, "observation" or "action". An object that is not a `Space` raises
    `ArgumentTypeError`; a space that cannot be sampled raises `FailedCheck`.
    """
    if not isinstance(space, spaces.Space):
        raise error.ArgumentTypeError(
            f"{space_type} space does not inherit from `gymcore.spaces.Space`, "
            f"actual type: {type(space)}"
        )
    if isinstance(space, spaces.Box):
        check_box_space_fn(space)
    elif isinstance(space, spaces.Discrete):
        if space.n <= 0:
            raise error.FailedCheck(
                f"Discrete {space_type} space's number of elements must be positive, "
                f"actual number of elements: {space.n}"
            )
        if space.shape != ():
            raise error.FailedCheck(
                f"Discrete {space_type} space's shape should be empty, actual shape: {space.shape}"
            )
    elif isinstance(space, spaces.MultiDiscrete):
        if space.shape != space.nvec.shape:
            raise error.FailedCheck(
                f"Multi-discrete {space_type} space's shape must be equal to the nvec shape, "
                f"space shape: {space.shape}, nvec shape: {space.nvec.shape}"
            )
        if not np.all(space.nvec > 0):
            raise error.FailedCheck(
                f"Multi-discrete {space_type} space's all nvec elements must be greater than 0, "
                f"actual nvec: {space.nvec}"
            )
    elif isinstance(space, spaces.MultiBinary):
        if not all(length > 0 for length in space.shape):
            raise error.FailedCheck(
                f"Multi-binary {space_type} space's all shape elements must be greater than 0, "
                f"actual shape: {space.shape}"
            )
    elif isinstance(space, (spaces.Tuple, spaces.Dict)):
        if len(space.spaces) == 0:
            raise error.FailedCheck(
                f"An empty {type(space).__name__} {space_type} space is not allowed."
            )
        subspaces = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        for subspace in subspaces:
            check_space(subspace, space_type, check_box_space_fn)


check_observation_space = partial(
    check_space, space_type="observation", check_box_space_fn=_check_box_observation_space
)
check_action_space = partial(
    check_space, space_type="action", check_box_space_fn=_check_box_action_space
)


def check_obs(obs: Any, observation_space: Space[Any], method_name: str) -> None:
    """Warn if an observation has the wrong type or lies outside the observation space.

    Messages contain `method_name`, "reset" or "step". Wrong keys or a wrong length raise
    `FailedCheck` (also an `AssertionError`).
    """
    pre = f"The obs returned by the `{method_name}()` method"
    if isinstance(observation_space, spaces.Discrete):
        if not isinstance(obs, (np.int64, int)):
            logger.warn(f"{pre} should be an int or np.int64, actual type: {type(obs)}")
    elif isinstance(observation_space, spaces.Box):
        if not isinstance(obs, np.ndarray):
            logger.warn(f"{pre} was expecting a numpy array, actual type: {type(obs)}")
        elif obs.dtype != observation_space.dtype:
            logger.warn(
                f"{pre} was expecting numpy array dtype to be {observation_space.dtype}, "
                f"actual type: {obs.dtype}"
            )
    elif isinstance(observation_space, (spaces.MultiBinary, spaces.MultiDiscrete)):
        if not isinstance(obs, np.ndarray):
            logger.warn(f"{pre} was expecting a numpy array, actual type: {type(obs)}")
    elif isinstance(observation_space, spaces.Tuple):
        if not isinstance(obs, tuple):
            logger.warn(f"{pre} was expecting a tuple, actual type: {type(obs)}")
        if len(obs) != len(observation_space.spaces):
            raise error.FailedCheck(
                f"{pre} length is not same as the observation space length, "
                f"obs length: {len(obs)}, space length: {len(observation_space.spaces)}"
            )
        for sub_obs, sub_space in zip(obs, observation_space.spaces, strict=True):
            check_obs(sub_obs, sub_space, method_name)
    elif isinstance(observation_space, spaces.Dict):
        if not isinstance(obs, dict):
            raise error.FailedCheck(f"{pre} must be a dict, actual type: {type(obs)}")
        if obs.keys() != observation_space.spaces.keys():
            raise error.FailedCheck(
                f"{pre} observation keys is not same as the observation space keys, "
                f"obs keys: {list(obs)}, space keys: {list(observation_space.spaces)}"
            )
        for key, sub_space in observation_space.spaces.items():
            check_obs(obs[key], sub_space, method_name)

    try:
        if obs not in observation_space:
            logger.warn(f"{pre} is not within the observation space.")
    except Exception as problem:
        logger.warn(f"{pre} is not within the observation space with exception: {problem}")


def data_shares_objects(data_1: Any, data_2: Any) -> bool:
    """Return whether changing one of two observations or infos in place would change the other.

    That is the case if they have the same dict, or arrays that share memory, in the same place of
    nested dicts and tuples. Other objects are regarded as independent.

    Example:
        >>> position = np.zeros(2)
        >>> data_shares_objects({"position": position}, {"position": position[:1]})
        True
        >>> data_shares_objects({"position": position}, {"position": position.copy()})
        False
    """
    if type(data_1) is not type(data_2):
        return False
    if isinstance(data_1, np.ndarray):
        try:
            return np.shares_memory(data_1, data_2, max_work=10_000)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            return np.may_share_memory(data_1, data_2)
    if isinstance(data_1, dict):
        return data_1 is data_2 or any(
            data_shares_objects(value, data_2[key])
            for key, value in data_1.items()
            if key in data_2
        )
    if isinstance(data_1, tuple):
        return any(data_shares_objects(a, b) for a, b in zip(data_1, data_2, strict=False))
    return False


def env_data_reuse_passive_checker(
    previous_data: tuple[Any, dict[str, Any]],
    data: tuple[Any, dict[str, Any]],
    previous_source: str,
    source: str,
) -> None:
    """Warn if an environment returned the same observation or info object twice.

    Args:
        previous_data: The observation and info of one call.
        data: The observation and info of the next.
        previous_source: The name of the first call: "reset" or "step".
        source: The name of the next.
    """
    for name, before, after in zip(("observation", "info"), previous_data, data, strict=False):
        if data_shares_objects(before, after):
            logger.warn(
                f"The {name}s returned by `{previous_source}` and the following `{source}` share "
                "an object, therefore, modifying one will modify the other. Environments should "
                f"return new {name} data on every call as users commonly keep the data returned to "
                "them."
            )


def _check_reset_signature(reset: Callable[..., Any]) -> None:
    parameters = inspect.signature(reset).parameters
    takes_anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    seed = parameters.get("seed")
    if seed is None and not takes_anything:
        logger.deprecation(
            "Current gymcore version requires that `Env.reset` can be passed a `seed` instead of "
            "using `Env.seed` for resetting the environment random number generator."
        )
    elif seed is not None and seed.default is not None:
        logger.warn(
            "The default seed argument in `Env.reset` should be `None`, otherwise the environment "
            f"will by default always be deterministic. Actual default: {seed}"
        )
    if "options" not in parameters and not takes_anything:
        logger.deprecation(
            "Current gymcore version requires that `Env.reset` can be passed `options` to allow "
            "the environment initialisation to be passed additional information."
        )


def env_reset_passive_checker(env: Env[Any, Any], **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """Reset an environment; check the signature of `reset` and its result, and return the result.

    An info that is not a dict raises `FailedCheck`.
    """
    _check_reset_signature(env.reset)
    result = env.reset(**kwargs)

    if not isinstance(result, tuple):
        logger.warn(
            "The result returned by `env.reset()` was not a tuple of the form `(obs, info)`, where "
            "`obs` is a observation and `info` is a dictionary containing additional information. "
            f"Actual type: `{type(result)}`"
        )
    elif len(result) != 2:
        logger.warn(
            "The result returned by `env.reset()` should be `(obs, info)` by default, , where "
            "`obs` is a observation and `info` is a dictionary containing additional information."
        )
    else:
        obs, info = result
        check_obs(obs, env.observation_space, "reset")
        if not isinstance(info, dict):
            raise error.FailedCheck(
                "The second element returned by `env.reset()` was not a dictionary, "
                f"actual type: {type(info)}"
            )
    return result


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        logger.warn(f"Expects `{name}` signal to be a boolean, actual type: {type(value)}")


def _check_reward(reward: Any) -> None:
    if isinstance(reward, bool) or not isinstance(reward, (np.integer, int, np.floating, float)):
        logger.warn(
            "The reward returned by `step()` must be a float, int, np.integer or np.floating, "
            f"actual type: {type(reward)}"
        )
        return
    if np.isnan(reward):
        logger.warn("The reward is a NaN value.")
    if np.isinf(reward):
        logger.warn("The reward is an inf value.")


def env_step_passive_checker(
    env: Env[Any, Any], action: Any
) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
    """Step an environment; check the result, and return it.

    A result that is not a tuple, or an info that is not a dict, raises `FailedCheck`.
    """
    result: tuple[Any, ...] = env.step(action)
    if not isinstance(result, tuple):
        raise error.FailedCheck(f"Expects step result to be a tuple, actual type: {type(result)}")
    if len(result) == 4:
        logger.deprecation(
            "Core environment is written in old step API which returns one bool instead of two. "
            "It is recommended to rewrite the environment with new step API. "
        )
        obs, reward, done, info = result
        _check_flag("done", done)
    elif len(result) == 5:
        obs, reward, terminated, truncated, info = result
        _check_flag("terminated", terminated)
        _check_flag("truncated", truncated)
    else:
        raise error.Error(
            "Expected `Env.step` to return a four or five element tuple, "
            f"actual number of elements returned: {len(result)}."
        )
    check_obs(obs, env.observation_space, "step")
    _check_reward(reward)
    if not isinstance(info, dict):
        raise error.FailedCheck(
            "The `info` returned by `step()` must be a python dictionary, "
            f"actual type: {type(info)}"
        )
    return result  # type: ignore[return-value]


def _check_render_return(render_mode: str | None, render_return: Any) -> None:
    """Warn if a frame does not have the form of its render mode."""
    if render_mode == "human":
        if render_return is not None:
            logger.warn(f"Human rendering should return `None`, got {type(render_return)}")
    elif render_mode == "rgb_array":
        if not isinstance(render_return, np.ndarray):
            logger.warn(
                f"RGB-array rendering should return a numpy array, got {type(render_return)}"
            )
            return
        if render_return.dtype != np.uint8:
            logger.warn(
                "RGB-array rendering should return a numpy array with dtype uint8, "
                f"got {render_return.dtype}"
            )
        if render_return.ndim != 3:
            logger.warn(
                "RGB-array rendering should return a numpy array with three axes, "
                f"got {render_return.ndim}"
            )
        elif render_return.shape[2] != 3:
            logger.warn(
                "RGB-array rendering should return a numpy array in which the last axis has three "
                f"dimensions, got {render_return.shape[2]}"
            )
    elif render_mode == "depth_array":
        if not isinstance(render_return, np.ndarray):
            logger.warn(
                f"Depth-array rendering should return a numpy array, got {type(render_return)}"
            )
        elif render_return.ndim != 2:
            logger.warn(
                "Depth-array rendering should return a numpy array with two axes, "
                f"got {render_return.ndim}"
            )
    elif render_mode in ("ansi", "ascii"):
        if not isinstance(render_return, str):
            logger.warn(f"ANSI/ASCII rendering should produce a string, got {type(render_return)}")
    elif isinstance(render_mode, str) and render_mode.endswith("_list"):
        if not isinstance(render_return, list):
            logger.warn(
                f"Render mode `{render_mode}` should produce a list, got {type(render_return)}"
            )
        else:
            for frame in render_return:
                _check_render_return(render_mode.removesuffix("_list"), frame)


def _check_render_metadata(env: Env[Any, Any]) -> None:
    """Check the render modes and the frame rate that an environment declares."""
    render_modes = env.metadata.get("render_modes")
    if render_modes is None:
        logger.warn(
            "No render modes was declared in the environment (env.metadata['render_modes'] is None "
            "or not defined), you may have trouble when calling `.render()`."
        )
        return
    if not isinstance(render_modes, (list, tuple)):
        logger.warn(
            "Expects the render_modes to be a sequence (i.e. list, tuple), "
            f"actual type: {type(render_modes)}"
        )
        if not isinstance(render_modes, Collection):
            return
    elif not all(isinstance(mode, str) for mode in render_modes):
        logger.warn(
            "Expects all render modes to be strings, "
            f"actual types: {[type(mode) for mode in render_modes]}"
        )
    if len(render_modes) > 0:
        render_fps = env.metadata.get("render_fps")
        if render_fps is None:
            logger.warn(
                "No render fps was declared in the environment (env.metadata['render_fps'] is None "
                "or not defined), rendering may occur at inconsistent fps."
            )
        elif not isinstance(render_fps, (int, float, np.integer, np.floating)):
            logger.warn(
                "Expects the `env.metadata['render_fps']` to be an integer or a float, "
                f"actual type: {type(render_fps)}"
            )
        else:
            if not render_fps > 0:
                raise error.FailedCheck(
                    "Expects the `env.metadata['render_fps']` to be greater than zero, "
                    f"actual value: {render_fps}"
                )
        if env.render_mode is not None and env.render_mode not in render_modes:
            raise error.FailedCheck(
                "The environment was initialized successfully however with an unsupported render "
                f"mode. Render mode: {env.render_mode}, modes: {render_modes}"
            )
    else:
        if env.render_mode is not None:
            raise error.FailedCheck(
                "With no render_modes, expects the Env.render_mode to be None, "
                f"actual value: {env.render_mode}"
            )


def env_render_passive_checker(env: Env[Any, Any]) -> Any:
    """Render an environment; check its metadata and the frame, and return the frame.

    An undeclared render mode, or a frame rate that is not positive, raises `FailedCheck`.
    """
    _check_render_metadata(env)
    result = env.render()
    if env.render_mode is not None:
        _check_render_return(env.render_mode, result)
    return result
