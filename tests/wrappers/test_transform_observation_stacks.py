"""Stacks of wrappers of several kinds: recreated from specs and JSON, with nested observations."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import gymcore as gym
from gymcore import wrappers as w
from gymcore.envs.registration import EnvSpec
from tests.testing_env import assert_same
from tests.wrappers.side_by_side import check_side_by_side
from tests.wrappers.walk_env import make_walk_env


def numbers():
    """Return an environment under wrappers of numbers, some with a state and some without."""
    env = gym.make("MountainCarContinuous-v0", max_episode_steps=6)
    env = w.RescaleAction(env, -2.0, 2.0)
    env = w.StickyAction(env, 0.25, (1, 2))
    env = w.RescaleObservation(env, -1, 1)
    env = w.ClipReward(env, -1.0, 1.0)
    env = w.FrameStackObservation(env, 3, padding_type="zero")
    env = w.ReshapeObservation(env, (6,))
    env = w.RecordEpisodeStatistics(env, buffer_length=5)
    env = w.TimeAwareObservation(env, normalize_time=True)
    env = w.NormalizeReward(env, gamma=0.9)
    return w.DelayObservation(env, 1)


def pictures():
    pytest.importorskip("cv2")
    env = gym.make("CartPole-v1", max_episode_steps=5, render_mode="rgb_array")
    env = w.AddRenderObservation(env, render_only=True)
    env = w.ResizeObservation(env, (20, 30))
    env = w.GrayscaleObservation(env)
    env = w.FrameStackObservation(env, 2)
    env = w.RepeatAction(env, 2)
    return w.DtypeObservation(env, "float32")


def indices():
    env = gym.make("MountainCarContinuous-v0", max_episode_steps=6)
    env = w.DiscretizeAction(env, (5,))
    env = w.DtypeObservation(env, "float64")
    env = w.DiscretizeObservation(env, (4, 6), multidiscrete=True)
    env = w.FlattenObservation(env)
    return w.TransformReward(w.RecordEpisodeStatistics(env), abs)


STACKS = {"numbers": numbers, "pictures": pictures, "indices": indices}


@pytest.mark.parametrize("form", ["spec", "json"])
@pytest.mark.parametrize("name", STACKS)
def test_a_spec_makes_a_stack_again(name, form):
    env = STACKS[name]()
    spec = env.spec
    assert len(spec.additional_wrappers) >= 5
    if form == "json":
        if name == "indices":
            with pytest.raises(TypeError, match=r"TransformReward kwargs\['func'\]"):
                spec.to_json()
            env = env.env
            spec = env.spec
        spec = EnvSpec.from_json(spec.to_json())
    again = gym.make(spec)
    assert str(again) == str(env)
    assert again.observation_space == env.observation_space
    assert again.action_space == env.action_space
    env.action_space.seed(4)
    run(env, again, [env.action_space.sample() for _ in range(14)])


def run(env, again, actions):
    assert_same(again.reset(seed=3), env.reset(seed=3))
    for action in actions:
        one, other = again.step(action), env.step(action)
        for info in (one[-1], other[-1]):
            info.get("episode", {}).pop("t", None)  # seconds
        assert_same(one, other)
        if other[2] or other[3]:
            assert_same(again.reset(), env.reset())


@pytest.mark.parametrize("kind", ["dict", "tuple"])
def test_nested_observations_pass_a_stack_as_in_gymnasium(kind):
    def wrap(package, env):
        wrappers = package.wrappers
        env = wrappers.DelayObservation(wrappers.FrameStackObservation(env, 2), 1)
        env = wrappers.AddRenderObservation(env, render_only=False, obs_key="stack")
        keys = ["stack", "pixels"] if kind == "tuple" else ["goal", "pixels", "camera"]
        env = wrappers.FilterObservation(env, keys)
        return wrappers.TransformReward(env, lambda reward: 2 * reward)

    def no_text(package):
        s = package.spaces
        box = s.Box(-10, 10, (2,), np.float32)
        if kind == "tuple":
            return s.Tuple((box, s.Dict(x=s.Discrete(4), y=s.MultiBinary(3))))
        goal = s.Tuple((s.Discrete(5, start=-2), s.MultiBinary((2, 2))))
        return s.Dict({"position": box, "goal": goal, "camera": s.Dict(x=goal)})

    spaces = {gym: no_text(gym), gymnasium: no_text(gymnasium)}

    def wrap_with_space(package, env):
        env.observation_space = spaces[package]
        return wrap(package, env)

    check_side_by_side(wrap_with_space, steps=18, render_mode="rgb_array")


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_alike(copied):
    env = gym.make("MountainCar-v0", max_episode_steps=4)
    env = w.DtypeObservation(w.ReshapeObservation(env, (1, 2)), "float64")
    env = w.DiscretizeObservation(w.FlattenObservation(env), 7, multidiscrete=True)
    env.reset(seed=3)
    again = copied(env)
    for action in (0, 2, 2, 1):
        assert_same(again.step(action), env.step(action))
    assert again._batch_function() is not None
    assert again.env._batch_function() is not None


def test_a_size_is_a_tuple_again_after_json(registries):
    """Wrappers that need a tuple, as Gymnasium's do, get one from a spec that was JSON."""
    space = gym.spaces.Box(0, 255, (6, 6), np.uint8)
    gym.register("Pictures-v0", lambda: make_walk_env(gym)(observation_space=space))
    env = w.ResizeObservation(gym.make("Pictures-v0"), (3, 2))
    spec = env.spec
    spec.entry_point = None
    again = EnvSpec.from_json(spec.to_json())
    assert again.additional_wrappers[0].kwargs == {"shape": [3, 2]}
    again.entry_point = gym.spec("Pictures-v0").entry_point
    assert gym.make(again).shape == (3, 2)
