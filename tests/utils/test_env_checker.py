"""Results of `check_env` and its parts for good and faulty environments, and Gymnasium's."""

from __future__ import annotations

import inspect
import itertools
import re
import warnings
from typing import Any

import gymnasium
import gymnasium.utils.env_checker
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.utils import env_checker
from tests.utils.broken_envs import broken_envs, good_env

ANSI = re.compile("\x1b\\[[0-9;]*m")
CHECKERS = {gymcore: env_checker, gymnasium: gymnasium.utils.env_checker}
CHECKS = (
    "check_reset_seed_determinism",
    "check_reset_options",
    "check_step_determinism",
    "check_returned_data_not_reused",
    "check_reset_return_type",
    "check_reset_return_info_deprecation",
    "check_seed_deprecation",
)

BETTER = (
    *("StepFour", "StepThree", "StepSix", "StepList", "StepNone"),
    *("ResetThree", "ResetNoTuple", "ResetList", "ReturnInfo", "MetadataNone"),
)
"""Environments on which gymcore says more than Gymnasium, whose own code fails on them."""


def outcome(check: Any, *args: Any, **kwargs: Any) -> list[tuple[str, str]]:
    """Return the exception's kind and text, and all warnings, without package names."""
    result = ("", "")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            check(*args, **kwargs)
        except Exception as problem:
            kinds = (AssertionError, AttributeError, TypeError, ValueError, KeyError, RuntimeError)
            kind = next((k.__name__ for k in kinds if isinstance(problem, k)), "Error")
            result = (kind, str(problem))
    said = [result, *((w.category.__name__, ANSI.sub("", str(w.message))) for w in caught)]
    return [(kind, text.replace("gymnasium", "gymcore")) for kind, text in said]


@pytest.mark.parametrize("name", broken_envs(gymcore))
def test_check_env_says_what_gymnasium_says(name):
    ours = outcome(env_checker.check_env, broken_envs(gymcore)[name]())
    theirs = outcome(CHECKERS[gymnasium].check_env, broken_envs(gymnasium)[name]())
    if name in ("MetadataNone", "StepFour"):
        assert ours[0][0] == "AssertionError" and theirs[0][0] in ("ValueError", "AttributeError")
        assert ours[1:] == theirs[1:]
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", broken_envs(gymcore))
def test_single_checks_say_what_gymnasium_says(name):
    if name in ("NotAnEnv", "Namespace", "NoActionSpace", "NoObservationSpace", "ActionSpaceText"):
        return  # only check_env checks for an environment and its spaces
    for check in CHECKS:
        theirs = outcome(getattr(CHECKERS[gymnasium], check), broken_envs(gymnasium)[name]())
        ours = outcome(getattr(env_checker, check), broken_envs(gymcore)[name]())
        if name in BETTER and ours != theirs:
            assert ours[0][0] == "AssertionError", check
        else:
            assert ours == theirs, check


def with_spec(gym: Any, make: Any, *, nondeterministic: bool = False) -> Any:
    """Return the environment with a spec, as `make` would have set it."""
    env = make()
    env.spec = gym.envs.registration.EnvSpec(
        "Broken-v0", entry_point=make, nondeterministic=nondeterministic
    )
    return env


def drifting_resets(gym: Any) -> dict[str, Any]:
    """Return environments whose resets differ slightly, or only on certain calls."""
    good = good_env(gym)

    def resetting(change: Any) -> Any:
        class Resetting(good):
            count = 0

            def reset(self, *, seed=None, options=None):
                self.count += 1
                observation, info = super().reset(seed=seed)
                return change(self, self.count, seed, observation), info

        return Resetting

    def almost(env, count, seed, observation):
        return observation * np.float32(0.9) + np.float32(1e-7 * count)

    def draws_more(env, count, seed, observation):
        if seed == 123 and count > 2:
            env.np_random.random()
        return observation

    def same_for_456(env, count, seed, observation):
        if seed == 456:
            env.np_random = np.random.default_rng(123)
            env.np_random.uniform(-1, 1, 2)
        return observation

    outside = {
        f"outside at reset {i}": resetting(lambda env, n, seed, obs, i=i: obs + 7 * (n == i))
        for i in range(1, 10)
    }
    found = {"almost": almost, "draws more": draws_more, "same for 456": same_for_456}
    return {name: resetting(change) for name, change in found.items()} | outside


@pytest.mark.parametrize("nondeterministic", [False, True])
def test_environments_with_a_spec_say_what_gymnasium_says(nondeterministic):
    kinds = {}
    for gym in CHECKERS:
        of_steps = {k: v for k, v in broken_envs(gym).items() if k.startswith(("Step", "Reset"))}
        kinds[gym] = (
            of_steps | drifting_resets(gym) | {"AlwaysSame": broken_envs(gym)["AlwaysSame"]}
        )
    for name in kinds[gymcore]:
        if name in BETTER:
            continue
        said = [
            outcome(
                checker.check_env,
                with_spec(gym, kinds[gym][name], nondeterministic=nondeterministic),
                skip_render_check=True,
                skip_close_check=True,
            )
            for gym, checker in CHECKERS.items()
        ]
        assert said[0] == said[1], name


@pytest.mark.parametrize("kind", ["Good", "RgbFloat", "UnknownMode", "CloseRaises", "CloseOnce"])
def test_environments_made_again_say_what_gymnasium_says(kind):
    """In each of their render modes, and closed twice."""
    said = []
    for gym, checker in CHECKERS.items():
        make = broken_envs(gym)[kind]

        def entry_point(render_mode: Any = None, make: Any = make) -> Any:
            env = make()
            env.render_mode = render_mode
            return env

        entry_point.metadata = {"render_modes": ["rgb_array", "human"]}
        said.append(outcome(checker.check_env, with_spec(gym, entry_point)))
    assert said[0] == said[1]


def test_what_is_called_is_what_gymnasium_calls():
    logs = []
    for gym, checker in CHECKERS.items():
        log: list[Any] = []

        class Logged(good_env(gym)):
            def reset(self, *, seed=None, options=None, log=log):
                log.append(("reset", seed, options))
                return super().reset(seed=seed)

            def step(self, action, log=log):
                log.append("step")
                return super().step(action)

            def render(self, log=log):
                log.append(("render", self.render_mode))
                return super().render()

            def close(self, log=log):
                log.append("close")

            def __del__(self):
                """gymcore closes environments when they are collected."""

        env = with_spec(gym, Logged)
        checker.check_env(env)
        logs.append(list(log))
    assert logs[0] == logs[1] and len(logs[0]) > 20


def test_arguments():
    env = good_env(gymcore)()
    quiet = {"skip_render_check": True, "skip_close_check": True}
    assert outcome(env_checker.check_env, env, **quiet) == [("", "")]
    said = outcome(env_checker.check_env, env, True, **quiet)
    assert said == [
        ("", ""),
        ("UserWarning", "WARN: `check_env(warn=...)` parameter is now ignored."),
    ]
    with pytest.raises(error.ArgumentTypeError, match=r"must inherit from the gymcore\.Env class"):
        env_checker.check_env("CartPole-v1")


@pytest.mark.parametrize("env_id", ["CartPole-v1", "MountainCarContinuous-v0", "Acrobot-v1"])
def test_environments_of_the_package_pass(env_id):
    with gymcore.make(env_id, disable_env_checker=True).unwrapped as env:
        said = outcome(env_checker.check_env, env, skip_render_check=True)
        assert said[0] == ("", "")


def test_a_machine_without_a_display_is_no_fault_of_the_environment(monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame.quit()
    monkeypatch.delenv("SDL_VIDEODRIVER")
    pygame.display.init()
    monkeypatch.setattr(pygame.display, "get_driver", lambda: "offscreen")
    with gymcore.make("MountainCar-v0", disable_env_checker=True).unwrapped as env:
        assert outcome(env_checker.check_env, env) == [("", "")]
    with (
        gymcore.make("MountainCar-v0", render_mode="human") as env,
        pytest.warns(UserWarning, match="no display"),  # outside of the check
    ):
        env.reset()
    pygame.quit()


def test_environments_without_render_modes_can_be_checked():
    """Gymnasium raises a KeyError."""
    env = with_spec(gymcore, broken_envs(gymcore)["MetadataEmpty"])
    assert outcome(env_checker.check_env, env, skip_close_check=True) == [("", "")]


BOUNDS = [
    ([0, 0], [0.5, 0.5]),
    ([-0.5, -0.5], [0.5, 0.5]),
    ([-1, 0], [1, 1]),
    ([-1, -1], [1, 0.5]),
    ([0.2, 0.2], [0.8, 0.8]),
    ([-1, -1], [0, 0]),
    ([0, 0], [1, 2]),
    ([1, 1], [1, 1]),
    ([-np.inf, 0], [1, 1]),
    ([0, 0], [np.inf, 1]),
    ([-2, -2], [2, 2]),
]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("kind", ["action", "observation", "goal"])
def test_space_limits(kind, bounds):
    said = []
    for gym, checker in CHECKERS.items():
        box = gym.spaces.Box(*(np.float32(bound) for bound in bounds))
        for space in (box, gym.spaces.Tuple((box, gym.spaces.Dict(a=box)))):
            said.append(outcome(checker.check_space_limit, space, kind))
    assert said[:2] == said[2:]


def values() -> list[Any]:
    a = np.array
    return [
        *(1, 1.0, True, None, "a", b"a", 1j, float("nan"), 1 + 1e-7),
        *(np.float32(1), np.int64(1), a(1), a([1]), a([1.0]), a([1 + 1e-6]), a([1 + 1e-4])),
        *(a([1], np.float32), a([[1]]), a([True]), a([np.inf]), a([np.nan]), a([1j])),
        *(a([None]), a([{"a": 1}]), a([{"a": 1.0}]), a([a([1.0]), None], dtype=object)),
        *([1], (1,), [1.0], [], (), {}, {"a": 1}, {"a": 1.0}, {"b": 1}),
        *({"a": 1, "b": a([1.0])}, {"b": a([1.0 + 1e-7]), "a": 1}, [a([1.0])], {1}),
        gymcore.spaces.GraphInstance(a([[1.0]]), None, None),
        gymcore.spaces.GraphInstance(a([[1.0]]), a([1]), a([[0, 0]])),
    ]


@pytest.mark.parametrize("exact", [False, True])
def test_data_equivalence_is_gymnasiums(exact):
    theirs = CHECKERS[gymnasium].data_equivalence
    for one, other in itertools.product(values(), values()):
        result = env_checker.data_equivalence(one, other, exact)
        assert isinstance(result, bool)
        assert result == theirs(one, other, exact), (one, other)


def test_data_equivalence_of_texts_and_records():
    """Gymnasium raises unless `exact`."""
    texts = np.array(["left", "right"])
    assert env_checker.data_equivalence(texts, texts.copy())
    assert not env_checker.data_equivalence(texts, texts[::-1])
    record = np.array((1, 2.0), dtype=[("x", "i4"), ("y", "f4")])
    assert env_checker.data_equivalence(record, record.copy())


def test_truncated_may_be_a_numpy_bool():
    """Gymnasium treats it as a truncation."""

    class Numpy(good_env(gymcore)):
        def step(self, action):
            return self.observe(), 1.0, np.False_, np.False_, {}

    env_checker.check_step_determinism(Numpy())


def test_the_public_names():
    """The names that Gymnasium's module itself defines."""
    names = [n for n in dir(CHECKERS[gymnasium]) if n.startswith(("check_", "data_", "env_"))]
    assert not [name for name in names if not hasattr(env_checker, name)]
    for name in CHECKS:
        theirs = inspect.signature(getattr(CHECKERS[gymnasium], name))
        assert list(inspect.signature(getattr(env_checker, name)).parameters) == list(
            theirs.parameters
        )
