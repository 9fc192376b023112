"""Checks of an environment before use: spaces, seeding, determinism and returned data.

`check_env` runs all of them. Problems that would break a program raise errors, probable mistakes
cause warnings.
"""

from __future__ import annotations

import inspect
from copy import deepcopy
from itertools import combinations
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np

from gymcore import error, logger
from gymcore.base import program
from gymcore.checking import rules
from gymcore.checking.data import data_equivalence, data_shares_objects
from gymcore.checking.passive import (
    check_action_space,
    check_observation_space,
    env_render_passive_checker,
    env_reset_passive_checker,
    env_step_passive_checker,
    subspaces,
)
from gymcore.core import Env, Info
from gymcore.rendering.window import expects_display
from gymcore.spaces import Box, Space

if TYPE_CHECKING:
    from gymcore.specs.env_spec import EnvSpec

__all__ = [
    "check_env",
    "check_reset_options",
    "check_reset_return_info_deprecation",
    "check_reset_return_type",
    "check_reset_seed_determinism",
    "check_returned_data_not_reused",
    "check_seed_deprecation",
    "check_space_limit",
    "check_step_determinism",
    "data_equivalence",
    "data_shares_objects",
]

_HOW_TO = f"See {rules.GUIDE} for more info."


def _reset_pair(env: Env, **kwargs: Any) -> tuple[object, Info]:
    """Reset, and return observation and info; raise `FailedCheck` unless there are two results."""
    result = env.reset(**kwargs)
    rules.RESET_UNPACKS.check(result)
    return result[0], result[1]


def _step_five(env: Env, action: object) -> tuple[object, SupportsFloat, bool, bool, Info]:
    """Step, and return the result; raise `FailedCheck` if it does not have five elements."""
    result = env.step(action)
    rules.STEP_UNPACKS.check(result)
    return result


def check_reset_seed_determinism(env: Env) -> None:
    """Check that `reset(seed=...)` seeds the environment's generator and is deterministic.

    Args:
        env: The environment; it is reset five times.

    Raises:
        Error: If `reset` has no argument `seed`.
        FailedCheck: If it cannot be reset with a seed, an observation is outside the observation
            space, the same seed gives different observations (unless the spec is
            `nondeterministic`), or the generator is not seeded. Also an `AssertionError`.

    Examples:
        >>> import gymcore
        >>> check_reset_seed_determinism(gymcore.make("CartPole-v1"))
    """
    parameters = inspect.signature(env.reset).parameters
    rules.RESET_TAKES.check(parameters, "seed", article="a")
    try:
        _check_seeded_resets(env)
    except TypeError as problem:
        rules.RESET_ACCEPTS_VALUE.check(
            problem, argument="a random seed", names="`seed` or `kwargs`"
        )
    rules.DEFAULT_SEED_IS_NONE.check(parameters)


def _check_seeded_resets(env: Env) -> None:
    compares = env.spec is not None and not env.spec.nondeterministic

    def reset_to(call: str, **kwargs: object) -> object:
        observation, _ = _reset_pair(env, **kwargs)
        rules.OBS_IN_SPACE.check(observation, env.observation_space, call=call)
        return observation

    def compare(call: str, first: object, second: object) -> None:
        if compares:
            rules.apply(rules.SAME_OBS, first, second, call=call)

    def generator() -> np.random.Generator | None:
        return env.unwrapped._np_random

    first = reset_to("env.reset(seed=123)", seed=123)
    rules.HAS_GENERATOR.check(generator())
    seeded = deepcopy(generator())
    first_after = reset_to("env.reset()")
    second = reset_to("env.reset(seed=123)", seed=123)
    again = deepcopy(generator())
    compare("`env.reset(seed=123)`", first, second)
    second_after = reset_to("env.reset()")
    compare("`env.reset(seed=123)` then `env.reset()`", first_after, second_after)
    rules.SAME_SEED_SAME_GENERATOR.check(seeded, again)
    reset_to("env.reset(seed=456)", seed=456)
    rules.OTHER_SEED_OTHER_GENERATOR.check(seeded, generator())


def check_reset_options(env: Env) -> None:
    """Check that `reset` accepts options.

    Args:
        env: The environment; it is reset once.

    Raises:
        Error: If `reset` has no argument `options`.
        FailedCheck: If it cannot be reset with options (also an `AssertionError`).

    Examples:
        >>> import gymcore
        >>> check_reset_options(gymcore.make("CartPole-v1"))
    """
    rules.RESET_TAKES.check(inspect.signature(env.reset).parameters, "options", article="an")
    try:
        env.reset(options={})
    except TypeError as problem:
        rules.RESET_ACCEPTS_VALUE.check(
            problem, argument="options", names="`options` or `**kwargs`"
        )


def check_reset_return_info_deprecation(env: Env) -> None:
    """Warn if `reset` has Gym 0.25's argument `return_info`.

    Args:
        env: The environment; it is not run.

    Examples:
        >>> import gymcore
        >>> check_reset_return_info_deprecation(gymcore.make("CartPole-v1"))
    """
    rules.HAS_NO_RETURN_INFO.check(inspect.signature(env.reset).parameters)


def check_seed_deprecation(env: Env) -> None:
    """Warn if the environment has Gym 0.21's method `seed`.

    Args:
        env: The environment; it is not run.

    Examples:
        >>> import gymcore
        >>> check_seed_deprecation(gymcore.make("CartPole-v1"))
    """
    rules.HAS_NO_SEED_METHOD.check(env)


def check_reset_return_type(env: Env) -> None:
    """Check that `reset` returns an observation of the observation space and an info dict.

    Args:
        env: The environment; it is reset once.

    Raises:
        FailedCheck: If it does not (also an `AssertionError`).

    Examples:
        >>> import gymcore
        >>> check_reset_return_type(gymcore.make("CartPole-v1"))
    """
    result = env.reset()
    rules.RESET_RETURNS_TUPLE.demand(result)
    rules.RESET_RETURNS_PAIR.check(result)
    rules.RESET_OBS_IN_SPACE.check(result[0], env.observation_space)
    rules.RESET_INFO_IS_DICT.check(result[1])


def check_step_determinism(env: Env, seed: int = 123) -> None:
    """Check that the first step after `reset(seed=seed)` always gives the same results.

    Nothing is checked if the spec is `nondeterministic`.

    Args:
        env: The environment; it is reset and stepped twice, and its action space is seeded.
        seed: Seed of the environment and of the action.

    Raises:
        FailedCheck: If the results or the generators' states differ, or the first step truncates
            (also an `AssertionError`).

    Examples:
        >>> import gymcore
        >>> check_step_determinism(gymcore.make("CartPole-v1"))
    """
    if env.spec is not None and env.spec.nondeterministic:
        return
    env.action_space.seed(seed)
    action = env.action_space.sample()
    env.reset(seed=seed)
    first = _step_five(env, action)
    generator = deepcopy(env.unwrapped.np_random)
    env.reset(seed=seed)
    second = _step_five(env, action)
    rules.STEP_UPDATES_GENERATOR.check(generator, env.unwrapped.np_random)
    names = ("observations", "rewards", "termination", "truncation", "info")
    for name, value, other_value in zip(names, first, second, strict=True):
        if name == "truncation":
            rules.FIRST_STEP_DOES_NOT_TRUNCATE.check(value, other_value)
            continue
        rules.SAME_STEP.check(value, other_value, name=name)
        if name in ("observations", "info"):
            rules.EQUAL_STEP.check(value, other_value, name=name)


def check_returned_data_not_reused(env: Env, seed: int = 123) -> None:
    """Check that every call returns new observation and info objects.

    Callers keep results, so changing one must not change another.

    Args:
        env: The environment; it is reset twice and stepped at most twice in between.
        seed: Seed of the environment and of the actions.

    Raises:
        FailedCheck: If two calls returned data that share memory (also an `AssertionError`).

    Examples:
        >>> import gymcore
        >>> check_returned_data_not_reused(gymcore.make("CartPole-v1"))
    """
    env.action_space.seed(seed)
    calls = ["env.reset() (call 1)"]
    results = [_reset_pair(env, seed=seed)]
    for number in (2, 3):
        result = _step_five(env, env.action_space.sample())
        calls.append(f"env.step() (call {number})")
        results.append((result[0], result[4]))
        if result[2] or result[3]:
            break
    calls.append(f"env.reset() (call {len(calls) + 1})")
    results.append(_reset_pair(env, seed=seed))

    for (source, before), (following, after) in combinations(zip(calls, results, strict=True), 2):
        for name, first, second in zip(("observation", "info"), before, after, strict=True):
            rules.DATA_IS_NEVER_REUSED.check(
                first, second, name=name, source=source, following=following
            )


def check_space_limit(space: Space, space_type: str) -> None:
    """Warn about infinite bounds, and about actions that are not in [-1, 1] or [0, 1].

    Args:
        space: The space; boxes in a `Dict` or `Tuple` are checked as well.
        space_type: "observation" or "action".

    Examples:
        >>> check_space_limit(Box(-1, 1, (2,)), "action")
    """
    if isinstance(space, Box):
        rules.apply(
            rules.ACTION_LIMITS if space_type == "action" else rules.LIMITS, space, kind=space_type
        )
    for subspace in subspaces(space):
        check_space_limit(subspace, space_type)


def check_env(
    env: Env,
    warn: bool | None = None,
    skip_render_check: bool = False,
    skip_close_check: bool = False,
) -> None:
    """Check that an environment follows the interface, and warn about probable mistakes.

    Pass the environment itself, without wrappers: `env.unwrapped`.

    Args:
        env: The environment; it is reset and stepped several times, and rendered if it has a render
            mode.
        warn: Ignored.
        skip_render_check: Whether to skip rendering, and making the environment in each of its
            render modes (which needs `env.spec`).
        skip_close_check: Whether to skip making a second environment and closing it twice.

    Raises:
        ArgumentTypeError: If `env` is not an `Env`, or one of its spaces is not a `Space`.
        AttributeError: If a space is missing.
        Error: If `reset` has no argument `seed` or `options`.
        FailedCheck: If another check failed (also an `AssertionError`).

    Examples:
        >>> import gymcore
        >>> check_env(gymcore.make("MountainCar-v0").unwrapped, skip_render_check=True)
    """
    if warn is not None:
        logger.warn("`check_env(warn=...)` parameter is now ignored.")
    rules.IS_ENV.check(env, hint=f"{error.bridge_hint(env)}. {_HOW_TO}")
    rules.IS_UNWRAPPED.check(env)
    rules.METADATA_IS_DICT.check(env.metadata)
    for kind, check in (("action", check_action_space), ("observation", check_observation_space)):
        rules.HAS_SPACE.check(env, kind, hint=f" {_HOW_TO}")
        space = getattr(env, f"{kind}_space")
        check(space)
        check_space_limit(space, kind)

    if hasattr(env.unwrapped, "check_source"):  # of gymcore.jit
        env.unwrapped.check_source()
    check_seed_deprecation(env)
    check_reset_return_info_deprecation(env)
    check_reset_return_type(env)
    check_reset_seed_determinism(env)
    check_reset_options(env)

    env_reset_passive_checker(env)
    env_step_passive_checker(env, env.action_space.sample())
    check_step_determinism(env)
    check_returned_data_not_reused(env)

    if not skip_render_check:
        _check_render_modes(env)
    if not skip_close_check and env.spec is not None:
        _check_close(env.spec)


def _check_render_modes(env: Env) -> None:
    """Render, and make a new environment in each of the render modes."""
    if env.render_mode is not None:
        env_render_passive_checker(env)
    if env.spec is None:
        logger.warn(
            "Not able to test alternative render modes due to the environment not having a spec. "
            f"Try instantiating the environment through `{program.package}.make`"
        )
        return
    # That this machine has no display says nothing about the environment.
    token = expects_display.set(False)
    try:
        for render_mode in env.metadata.get("render_modes") or ():
            _check_render_mode(env.spec, render_mode)
    finally:
        expects_display.reset(token)


def _check_render_mode(spec: EnvSpec, render_mode: str) -> None:
    env = spec.make(render_mode=render_mode)
    try:
        env.reset()
        env_render_passive_checker(env)
    finally:
        env.close()


def _check_close(spec: EnvSpec) -> None:
    """Close a new environment twice; raise if the second call fails."""
    other = spec.make()
    other.close()
    try:
        other.close()
    except Exception as problem:
        logger.warn(
            "Calling `env.close()` on the closed environment should be allowed, but it raised an "
            f"exception: {problem}"
        )
