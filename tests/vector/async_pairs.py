"""Our vector environment and Gymnasium's over the same environments, for use side by side."""

from __future__ import annotations

import functools
import signal
import warnings

import gymnasium
import gymnasium.vector.async_vector_env

import gymcore
import gymcore.vector.async_vector_env
from tests.testing_env import assert_same, make_counting_env, make_random_env
from tests.vector.isolation import Fixture

PACKAGES = (gymcore, gymnasium)
MODES = ["NextStep", "SameStep", "Disabled"]
RANDOM = {package: make_random_env(package) for package in PACKAGES}
COUNTING = {package: make_counting_env(package) for package in PACKAGES}


class AsyncPairs(Fixture):
    """Factory of our and Gymnasium's AsyncVectorEnv, which it closes at the end."""

    def __init__(self):
        self.made = []

    def __call__(self, envs=COUNTING, num_envs=2, env_kwargs=(), **kwargs):
        # A display opened by an earlier test handles SIGTERM: Gymnasium's workers would not end.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for package in PACKAGES:
            env_fns = [functools.partial(envs[package], **dict(env_kwargs))] * num_envs
            self.made.append(package.vector.AsyncVectorEnv(env_fns, **kwargs))
        return self.made[-2], self.made[-1]

    def close(self):
        for envs in self.made:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                envs.close(terminate=True)


def error_of(function, *args, **kwargs):
    """Return the exception that a call raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except Exception as error:
        return error
    return None


def assert_alike(ours, theirs, where="data"):
    """Compare like `assert_same`, but with dicts in any order: Gymnasium's engines differ in it."""
    assert_same(ours, in_order_of(theirs, ours), where)


def in_order_of(value, other):
    if isinstance(value, dict) and isinstance(other, dict) and set(value) == set(other):
        return {key: in_order_of(value[key], other[key]) for key in other}
    if isinstance(value, tuple) and isinstance(other, tuple) and len(value) == len(other):
        return tuple(map(in_order_of, value, other))
    return value


def step_both(ours, theirs, num_steps, mode):
    """Step both with the same random actions, with masked resets if there is no autoreset."""
    ours.action_space.seed(11)
    for i in range(num_steps):
        actions = ours.action_space.sample()
        our_step, their_step = ours.step(actions), theirs.step(actions)
        assert_alike(our_step, their_step, f"step {i}")
        ended = our_step[2] | our_step[3]
        if mode == "Disabled" and ended.any():
            results = [
                envs.reset(options={"reset_mask": ended.copy(), "turn": i})
                for envs in (ours, theirs)
            ]
            assert_same(*results, f"reset after step {i}")


OPERATIONS = {
    "reset_async": lambda envs: envs.reset_async(),
    "step_async": lambda envs: envs.step_async([0, 1]),
    "call_async": lambda envs: envs.call_async("length"),
    "reset_wait": lambda envs: envs.reset_wait(),
    "step_wait": lambda envs: envs.step_wait(),
    "call_wait": lambda envs: envs.call_wait(timeout=5),
    "reset": lambda envs: envs.reset(seed=1),
    "step": lambda envs: envs.step([0, 1]),
    "call": lambda envs: envs.call("length"),
    "get_attr": lambda envs: envs.get_attr("length"),
    "set_attr": lambda envs: envs.set_attr("length", 3),
    "render": lambda envs: envs.render(),
    "np_random": lambda envs: envs.np_random,
    "np_random_seed": lambda envs: envs.np_random_seed,
}


def errors_of(ours, theirs, name):
    return [error_of(OPERATIONS[name], envs) for envs in (ours, theirs)]


def assert_same_error(ours, theirs):
    assert type(ours).__name__ == type(theirs).__name__, f"{ours!r} against {theirs!r}"
    assert str(ours) == str(theirs)
    assert vars(ours) == vars(theirs)
