"""Environments over JAX functions, compared with Gymnasium's."""

from __future__ import annotations

import importlib
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.envs.functional_jax_env import FunctionalJaxEnv, FunctionalJaxVectorEnv

OUR_MODULE, THEIR_MODULE = "gymcore.envs.functional_jax_env", "gymnasium.envs.functional_jax_env"


def make_functions(gym: Any, terminates: float = 0.3) -> Any:
    """Return functions in which each result depends on its key."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    functional = importlib.import_module(f"{gym.__name__}.experimental.functional")

    class Drift(functional.FuncEnv):
        observation_space = gym.spaces.Box(-9, 9, (4,))
        action_space = gym.spaces.Discrete(3)

        def initial(self, rng, params=None):
            return jax.random.uniform(rng, (2,))

        def transition(self, state, action, rng, params=None):
            return state + action * jax.random.uniform(rng, (2,))

        def observation(self, state, rng, params=None):
            return jnp.concatenate([state, jax.random.uniform(rng, (2,))])

        def reward(self, state, action, next_state, rng, params=None):
            return jax.random.uniform(rng) + next_state.sum()

        def terminal(self, state, rng, params=None):
            return jax.random.uniform(rng) < terminates

        def state_info(self, state, params=None):
            return {"first": state[0]}

        def transition_info(self, state, action, next_state, params=None):
            return {"moved": next_state[0] - state[0]}

        def render_init(self, params=None, **kwargs):
            return 0

        def render_image(self, state, render_state, params=None):
            return render_state + 1, np.full((2, 2, 3), render_state, np.uint8)

        def render_close(self, render_state, params=None):
            pass

    return Drift()


def same(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-6)


def test_single_environments_do_what_gymnasiums_do():
    envs = [
        importlib.import_module(module).FunctionalJaxEnv(
            make_functions(gym), render_mode="rgb_array"
        )
        for module, gym in ((OUR_MODULE, gymcore), (THEIR_MODULE, gymnasium))
    ]
    for seed in (1, None, None):
        (one, info), (other, other_info) = (env.reset(seed=seed) for env in envs)
        same(one, other)
        same(info["first"], other_info["first"])
        for action in (0, 1, 2, 2):
            ours, theirs = (env.step(action) for env in envs)
            same(ours[0], theirs[0])
            same(ours[1], theirs[1])
            assert ours[2:4] == theirs[2:4]
            same(ours[4]["moved"], theirs[4]["moved"])
            assert [type(one) for one in ours[1:4]] == [float, bool, bool]
        same(envs[0].render(), envs[1].render())
    for env in envs:
        env.close()


@pytest.mark.parametrize("limit", [0, 4])
def test_vector_environments_do_what_gymnasiums_do(limit):
    """Except that the reward of a resetting step is 0, and infos have one row per lane."""
    envs = [
        importlib.import_module(module).FunctionalJaxVectorEnv(
            make_functions(gym, 0.0), 3, max_episode_steps=limit
        )
        for module, gym in ((OUR_MODULE, gymcore), (THEIR_MODULE, gymnasium))
    ]
    (one, info), (other, other_info) = (env.reset(seed=1) for env in envs)
    same(one, other)
    same(info["first"], other_info["first"])
    begun = np.zeros(3, bool)
    for _ in range(9):
        ours, theirs = (env.step(np.array([0, 1, 2])) for env in envs)
        same(ours[0], theirs[0])
        same(ours[1], np.where(begun, 0, theirs[1]))
        same(ours[2], theirs[2])
        same(ours[3], theirs[3])
        assert ours[4]["moved"].shape == (3,)
        begun = np.asarray(ours[2] | ours[3])


def test_episodes_of_vector_environments():
    pytest.importorskip("jax")
    functions = make_functions(gymcore)
    envs = FunctionalJaxVectorEnv(functions, 8, max_episode_steps=5, render_mode="rgb_array")
    envs.reset(seed=1)
    ended = np.zeros(8, bool)
    steps = np.zeros(8, int)
    for _ in range(40):
        observations, rewards, terminated, truncated, _ = envs.step(np.ones(8, int))
        steps = np.where(ended, 0, steps + 1)
        assert (np.asarray(rewards)[ended] == 0).all()
        assert not np.asarray(terminated | truncated)[ended].any()
        assert (np.asarray(truncated) == (steps >= 5)).all()
        assert np.asarray(observations)[ended, :2].max(initial=0) < 1
        ended = np.asarray(terminated | truncated)
    assert envs.render().shape == (8, 2, 2, 3)
    mask = np.arange(8) < 3
    after, _ = envs.reset(options={"reset_mask": mask})
    same(after[3:], observations[3:])
    assert (np.asarray(envs.steps)[:3] == 0).all()
    assert "initial" not in vars(functions)


def test_errors():
    pytest.importorskip("jax")
    for env in (
        FunctionalJaxEnv(make_functions(gymcore)),
        FunctionalJaxVectorEnv(make_functions(gymcore), 2),
    ):
        with pytest.raises(error.ResetNeeded):
            env.step(0)
        env.reset(seed=1)
        with pytest.raises(error.UnsupportedMode, match="without a render mode"):
            env.render()


def test_unknown_render_modes_are_refused():
    pytest.importorskip("jax")
    for make in (FunctionalJaxEnv, lambda one, **kwargs: FunctionalJaxVectorEnv(one, 2, **kwargs)):
        with pytest.raises(error.UnsupportedMode, match="expected None or 'rgb_array', got 'film'"):
            make(make_functions(gymcore), render_mode="film")


def test_a_missing_jax_is_named():
    try:
        importlib.import_module("jax")
    except ImportError:
        with pytest.raises(error.DependencyNotInstalled, match="pip install jax"):
            FunctionalJaxEnv(gymcore.experimental.FuncEnv())


def test_the_functions_are_checked():
    for make in (FunctionalJaxEnv, lambda one: FunctionalJaxVectorEnv(one, 2)):
        with pytest.raises(error.ArgumentTypeError, match="func_env: expected a FuncEnv"):
            make("CartPole-v1")
