"""Checks of an environment before it is used: its spaces, seeding, determinism and returned data.

`check_env` runs all of them. Errors are raised for what would break a program, warnings for what is
probably a mistake.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from itertools import combinations
from typing import Any

import numpy as np

from gymcore import error, logger, spaces
from gymcore.core import Env
from gymcore.spaces import Space
from gymcore.utils.passive_env_checker import (
    check_action_space,
    check_observation_space,
    data_shares_objects,
    env_render_passive_checker,
    env_reset_passive_checker,
    env_step_passive_checker,
)

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
]

_HOW_TO = "See https://gymnasium.farama.org/introduction/create_custom_env/ for more info."


def data_equivalence(data_1: Any, data_2: Any, exact: bool = False) -> bool:
    """Return whether two observations, infos or other nested data, and their types, are the same.

    Args:
        data_1: Arrays, numbers, strings, and dicts, tuples and lists of these.
        data_2: Data to compare it with.
        exact: Whether arrays must be equal. Otherwise numbers in arrays may differ by 1e-5,
            relative and absolute. Numbers outside arrays must always be equal.

    Returns:
        Whether types, keys (in any order), lengths, dtypes, shapes and values agree. NaN is not
        equal to itself.

    Example:
        >>> data_equivalence({"x": np.array([1.0])}, {"x": np.array([1.000001])})
        True
        >>> data_equivalence({"x": np.array([1.0])}, {"x": np.array([1.000001])}, exact=True)
        False
        >>> data_equivalence(1, 1.0)
        False
    """
    if type(data_1) is not type(data_2):
        return False
    if isinstance(data_1, dict):
        return data_1.keys() == data_2.keys() and all(
            data_equivalence(value, data_2[key], exact) for key, value in data_1.items()
        )
    if isinstance(data_1, (tuple, list)):
        return len(data_1) == len(data_2) and all(
            data_equivalence(one, other, exact) for one, other in zip(data_1, data_2, strict=True)
        )
    if isinstance(data_1, np.ndarray):
        if data_1.shape != data_2.shape or data_1.dtype != data_2.dtype:
            return False
        if data_1.dtype == object:
            return all(
                data_equivalence(one, other, exact)
                for one, other in zip(data_1.ravel(), data_2.ravel(), strict=True)
            )
        if exact or data_1.dtype.kind not in "biufc":
            return bool(np.all(data_1 == data_2))
        return bool(np.allclose(data_1, data_2, rtol=1e-5, atol=1e-5))
    return bool(data_1 == data_2)


def _demand(condition: Any, message: str) -> None:
    if not condition:
        raise error.FailedCheck(message)


def _takes(reset: Callable[..., Any], name: str) -> bool:
    """Return whether `reset` has an argument `name`, or accepts any."""
    parameters = inspect.signature(reset).parameters
    anything = parameters.get("kwargs")
    return name in parameters or (
        anything is not None and anything.kind is inspect.Parameter.VAR_KEYWORD
    )


def _is_random(env: Env[Any, Any]) -> bool:
    """Return whether the spec of an environment says `nondeterministic`."""
    return env.spec is not None and bool(env.spec.nondeterministic)


def _reset_pair(env: Env[Any, Any], **kwargs: Any) -> tuple[Any, Any]:
    """Reset, and return observation and info; raise `FailedCheck` if these are not two."""
    result = env.reset(**kwargs)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise error.FailedCheck(
            "Expects `env.reset()` to return a tuple of two, the observation and the info, "
            f"actual type: {type(result)}"
            + (f", actual length: {len(result)}" if isinstance(result, (tuple, list)) else "")
        )
    return result[0], result[1]


def _step_five(env: Env[Any, Any], action: Any) -> tuple[Any, ...]:
    result: Any = env.step(action)
    if not isinstance(result, tuple) or len(result) != 5:
        length = len(result) if isinstance(result, tuple) else f"not a tuple but {type(result)}"
        raise error.FailedCheck(
            "Expects `env.step()` to return a tuple of five, the observation, reward, terminated, "
            f"truncated and info (not enough values to unpack), actual: {length}"
        )
    return result


def check_reset_seed_determinism(env: Env[Any, Any]) -> None:
    """Check that `reset(seed=...)` seeds the environment's generator and determines what follows.

    Args:
        env: The environment; it is reset five times.

    Raises:
        Error: `reset` has no argument `seed`.
        FailedCheck: (also an `AssertionError`) It cannot be reset with a seed, an observation lies
            outside the observation space, one seed leads to different observations (unless the spec
            says `nondeterministic`), or the generator is not seeded.
    """
    if not _takes(env.reset, "seed"):
        raise error.Error(
            "The `reset` method does not provide a `seed` or `**kwargs` keyword argument."
        )
    try:
        _check_seeded_resets(env)
    except TypeError as problem:
        raise error.FailedCheck(
            "The environment cannot be reset with a random seed, even though `seed` or `kwargs` "
            "appear in the signature. This should never happen, please report this issue. "
            f"The error was: {problem}"
        ) from problem

    default = inspect.signature(env.reset).parameters.get("seed")
    if default is not None and default.default is not None:
        logger.warn(
            "The default seed argument in reset should be `None`, otherwise the environment will "
            f"by default always be deterministic. Actual default: {default.default}"
        )


def _generator(env: Env[Any, Any]) -> Any:
    return env.unwrapped._np_random


def _check_seeded_resets(env: Env[Any, Any]) -> None:
    compares = env.spec is not None and not env.spec.nondeterministic

    def reset_to(call: str, **kwargs: Any) -> Any:
        observation, _ = _reset_pair(env, **kwargs)
        _demand(
            observation in env.observation_space,
            f"The observation returned by `{call}` is not within the observation space.",
        )
        return observation

    def compare(call: str, first: Any, second: Any) -> None:
        if not compares:
            return
        _demand(
            data_equivalence(first, second),
            f"Using {call} is non-deterministic as the observations are not equivalent.",
        )
        if not data_equivalence(first, second, exact=True):
            logger.warn(f"Using {call} observations are not equal although similar.")

    first = reset_to("env.reset(seed=123)", seed=123)
    _demand(
        _generator(env) is not None,
        "Expects the random number generator to have been generated given a seed was passed to "
        "reset. Most likely the environment reset function does not call `super().reset(seed=seed)"
        "`.",
    )
    seeded = deepcopy(_generator(env))
    first_after = reset_to("env.reset()")
    second = reset_to("env.reset(seed=123)", seed=123)
    again = deepcopy(_generator(env))
    compare("`env.reset(seed=123)`", first, second)
    second_after = reset_to("env.reset()")
    compare("`env.reset(seed=123)` then `env.reset()`", first_after, second_after)
    _demand(
        _same_generator(seeded, again),
        "Most likely the environment reset function does not call `super().reset(seed=seed)` as "
        "the random generates are not same when the same seeds are passed to `env.reset`.",
    )
    reset_to("env.reset(seed=456)", seed=456)
    _demand(
        not _same_generator(seeded, _generator(env)),
        "Most likely the environment reset function does not call `super().reset(seed=seed)` as "
        "the random number generators are not different when different seeds are passed to "
        "`env.reset`.",
    )


def _same_generator(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return False
    return data_equivalence(one.bit_generator.state, other.bit_generator.state, exact=True)


def check_reset_options(env: Env[Any, Any]) -> None:
    """Check that `reset` accepts options.

    Args:
        env: The environment; it is reset once.

    Raises:
        Error: `reset` has no argument `options`.
        FailedCheck: (also an `AssertionError`) It cannot be reset with options.
    """
    if not _takes(env.reset, "options"):
        raise error.Error(
            "The `reset` method does not provide an `options` or `**kwargs` keyword argument."
        )
    try:
        env.reset(options={})
    except TypeError as problem:
        raise error.FailedCheck(
            "The environment cannot be reset with options, even though `options` or `**kwargs` "
            "appear in the signature. This should never happen, please report this issue. "
            f"The error was: {problem}"
        ) from problem


def check_reset_return_info_deprecation(env: Env[Any, Any]) -> None:
    """Warn if `reset` has Gym 0.25's argument `return_info`.

    Args:
        env: The environment; it is not run.
    """
    if "return_info" in inspect.signature(env.reset).parameters:
        # Programs filter warnings by this text, missing spaces included.
        logger.warn(
            "`return_info` is deprecated as an optional argument to `reset`. `reset`"
            "should now always return `obs, info` where `obs` is an observation, and `info` is a "
            "dictionarycontaining additional information."
        )


def check_seed_deprecation(env: Env[Any, Any]) -> None:
    """Warn if the environment has Gym 0.21's method `seed`.

    Args:
        env: The environment; it is not run.
    """
    if callable(getattr(env, "seed", None)):
        logger.warn(
            "Official support for the `seed` function is dropped. Standard practice is to reset "
            "gymcore environments using `env.reset(seed=<desired seed>)`"
        )


def check_reset_return_type(env: Env[Any, Any]) -> None:
    """Check that `reset` returns an observation of the observation space and an info dict.

    Args:
        env: The environment; it is reset once.

    Raises:
        FailedCheck: (also an `AssertionError`) It does not.
    """
    result: Any = env.reset()
    _demand(
        isinstance(result, tuple),
        "The result returned by `env.reset()` was not a tuple of the form `(obs, info)`, where "
        "`obs` is a observation and `info` is a dictionary containing additional information. "
        f"Actual type: `{type(result)}`",
    )
    _demand(
        len(result) == 2,
        f"Calling the reset method did not return a 2-tuple, actual length: {len(result)}",
    )
    observation, info = result
    _demand(
        observation in env.observation_space,
        "The first element returned by `env.reset()` is not within the observation space.",
    )
    _demand(
        isinstance(info, dict),
        "The second element returned by `env.reset()` was not a dictionary, "
        f"actual type: {type(info)}",
    )


def check_step_determinism(env: Env[Any, Any], seed: int = 123) -> None:
    """Check that the first step after `reset(seed=seed)` always returns the same.

    If the spec says `nondeterministic`, nothing is checked.

    Args:
        env: The environment; it is reset and stepped twice, and its action space is seeded.
        seed: Seed of the environment and of the action.

    Raises:
        FailedCheck: (also an `AssertionError`) The results or the generators' states differ, or the
            first step truncates.
    """
    if _is_random(env):
        return
    env.action_space.seed(seed)
    action = env.action_space.sample()
    env.reset(seed=seed)
    one = _step_five(env, action)
    after_one = deepcopy(env.unwrapped.np_random)
    env.reset(seed=seed)
    other = _step_five(env, action)
    _demand(
        _same_generator(after_one, env.unwrapped.np_random),
        "The `.np_random` is not properly been updated after step.",
    )

    def compare(index: int, name: str) -> None:
        _demand(
            data_equivalence(one[index], other[index]),
            f"Deterministic step {name} are not equivalent for the same seed and action",
        )

    def similar(index: int, name: str) -> None:
        if not data_equivalence(one[index], other[index], exact=True):
            logger.warn(
                f"Step {name} are not equal although similar given the same seed and action"
            )

    compare(0, "observations")
    similar(0, "observations")
    compare(1, "rewards")
    compare(2, "termination")
    _demand(
        all(isinstance(flag, (bool, np.bool_)) and not flag for flag in (one[3], other[3])),
        "Environment truncates after 1 step, something has gone very wrong.",
    )
    compare(4, "info")
    similar(4, "info")


def check_returned_data_not_reused(env: Env[Any, Any], seed: int = 123) -> None:
    """Check that every call returns new observation and info objects.

    Callers keep results, so changing one must not change another.

    Args:
        env: The environment; it is reset twice and stepped at most twice in between.
        seed: Seed of the environment and of the actions.

    Raises:
        FailedCheck: (also an `AssertionError`) Two calls returned data that share memory.
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

    for index, name in enumerate(("observation", "info")):
        for i, j in combinations(range(len(calls)), 2):
            _demand(
                not data_shares_objects(results[i][index], results[j][index]),
                f"The {name}s returned by `{calls[i]}` and `{calls[j]}` share an object, "
                "therefore, modifying one will modify the other. Environments must return new "
                f"{name} data on every call as users keep the data returned to them.",
            )


def check_space_limit(space: Space[Any], space_type: str) -> None:
    """Warn about infinite bounds, and about actions that are not in [-1, 1] or [0, 1].

    Args:
        space: The space; a `Box` inside of `Dict` and `Tuple` is checked as well.
        space_type: "observation" or "action".
    """
    if isinstance(space, spaces.Box):
        if np.any(np.equal(space.low, -np.inf)):
            logger.warn(
                f"A Box {space_type} space minimum value is -infinity. This is probably too low."
            )
        if np.any(np.equal(space.high, np.inf)):
            logger.warn(
                f"A Box {space_type} space maximum value is infinity. This is probably too high."
            )
        if space_type == "action" and len(space.shape) == 1:
            # In float64: abs() of the minimum of an integer type overflows.
            low, high = space.low.astype(np.float64), space.high.astype(np.float64)
            normal = ((low == 0) | (abs(low) == abs(high))) & (low >= -1) & (high <= 1)
            if not normal.all():
                logger.warn(
                    "For Box action spaces, we recommend using a symmetric and normalized space "
                    "(range=[-1, 1] or [0, 1]). See "
                    "https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html for "
                    "more information."
                )
    elif isinstance(space, (spaces.Tuple, spaces.Dict)):
        subspaces = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        for subspace in subspaces:
            check_space_limit(subspace, space_type)


def check_env(
    env: Env[Any, Any],
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
        skip_render_check: Do not render the environment, and do not make it in each of its render
            modes (which needs `env.spec`).
        skip_close_check: Do not make a second environment and close it twice.

    Raises:
        ArgumentTypeError: `env` is not an `Env`, or one of its spaces is not a `Space`.
        AttributeError: A space is missing.
        Error: `reset` has no argument `seed` or `options`.
        FailedCheck: (also an `AssertionError`) Another check failed.

    Example:
        >>> import gymcore
        >>> check_env(gymcore.make("MountainCar-v0").unwrapped, skip_render_check=True)
    """
    if warn is not None:
        logger.warn("`check_env(warn=...)` parameter is now ignored.")
    if not isinstance(env, Env):
        raise error.ArgumentTypeError(
            f"The environment must inherit from the gymcore.Env class, actual class: {type(env)}"
            f"{error.bridge_hint(env)}. {_HOW_TO}"
        )
    if env.unwrapped is not env:
        logger.warn(
            f"The environment ({env}) is different from the unwrapped version ({env.unwrapped}). "
            "This could effect the environment checker as the environment most likely has a "
            "wrapper applied to it. We recommend using the raw environment for `check_env` using "
            "`env.unwrapped`."
        )
    if not isinstance(env.metadata, dict):
        raise error.FailedTypeCheck(f"Expects `env.metadata` to be a dict, got {env.metadata!r}")

    for kind, check in (("action", check_action_space), ("observation", check_observation_space)):
        if not hasattr(env, f"{kind}_space"):
            raise AttributeError(f"The environment must specify an {kind} space. {_HOW_TO}")
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
        _check_close(env)


def _check_render_modes(env: Env[Any, Any]) -> None:
    """Render, and make the environment again in each of its render modes."""
    if env.render_mode is not None:
        env_render_passive_checker(env)
    if env.spec is None:
        logger.warn(
            "Not able to test alternative render modes due to the environment not having a spec. "
            "Try instantiating the environment through `gymcore.make`"
        )
        return
    for render_mode in env.metadata.get("render_modes") or ():
        other = env.spec.make(render_mode=render_mode)
        try:
            other.reset()
            env_render_passive_checker(other)
        finally:
            other.close()


def _check_close(env: Env[Any, Any]) -> None:
    """Close a new environment twice; the second time must not raise."""
    other = env.spec.make()  # type: ignore[union-attr]
    other.close()
    try:
        other.close()
    except Exception as problem:
        logger.warn(
            "Calling `env.close()` on the closed environment should be allowed, but it raised an "
            f"exception: {problem}"
        )
