"""Checks of what an environment returns, made while somebody uses it.

What would break a program raises; what is only likely to be a mistake warns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gymcore import error, logger
from gymcore.utils.space_checks import (
    _check_box_action_space,  # noqa: F401 - programs import these two from here
    _check_box_observation_space,  # noqa: F401
    check_action_space,
    check_obs,
    check_observation_space,
    check_space,
    data_shares_objects,
)

if TYPE_CHECKING:
    from gymcore.core import Env

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
    """Reset an environment and check its `reset` and what it returns.

    Args:
        env: The environment.
        **kwargs: Arguments for `reset`. One that `reset` does not take is left out.

    Returns:
        What `reset` returned.

    Raises:
        FailedCheck: (also an `AssertionError`) if the info is no dict.
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
    """Step an environment and check what it returns.

    Args:
        env: The environment.
        action: The action; it is not checked.

    Returns:
        What `step` returned.

    Raises:
        FailedCheck: (also an `AssertionError`) if that is no tuple, or the info is no dict.
        Error: if it is no tuple of four or five.
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
    if not isinstance(render_modes, Sequence):
        logger.warn(
            "Expects the render_modes to be a sequence (i.e. list, tuple), "
            f"actual type: {type(render_modes)}"
        )
        return
    if not all(isinstance(mode, str) for mode in render_modes):
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
    """Render an environment and check its metadata and the frame.

    Args:
        env: The environment.

    Returns:
        What `render` returned.

    Raises:
        FailedCheck: (also an `AssertionError`) if the render mode is none of the declared ones, or
            the frame rate is not positive.
    """
    _check_render_metadata(env)
    result = env.render()
    if env.render_mode is not None:
        _check_render_return(env.render_mode, result)
    return result
