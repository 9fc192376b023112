"""Saving, restoring and copying single environments with their wrappers."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore import wrappers as w
from gymcore.compat import gym26
from gymcore.env_states import EnvState, load_layers, save_layers, state_layers
from tests.jit.classes import CartPole
from tests.testing_env import assert_same, make_counting_env


class Board(gym.Env):
    """Environment in Python whose state is an array that it changes in place."""

    observation_space = gym.spaces.Box(-9, 9, (3,), np.float64)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.board = self.np_random.normal(size=3)
        return self.board.copy(), {}

    def step(self, action):
        self.board[action] += self.np_random.uniform()
        return self.board.copy(), 1.0, bool(self.board.sum() > 6), False, {}

    def get_state(self):
        return {"board": self.board}

    def set_state(self, state):
        self.board = state["board"]


def make_board() -> Any:
    gym.register("tests/Board-v0", Board, max_episode_steps=12)
    env = gym.make("tests/Board-v0")
    del gym.registry["tests/Board-v0"]
    return env


def make_jit() -> Any:
    return w.TimeLimit(w.OrderEnforcing(CartPole(debug=True)), 12)


def made(env_id: str, **kwargs: Any) -> Any:
    return lambda: gym.make(env_id, **{"max_episode_steps": 12, **kwargs})


FAMILIES = {
    "classic_control": made("CartPole-v1"),
    "float_actions": made("Pendulum-v1"),
    "toy_text": made("FrozenLake-v1"),
    "cards": made("Blackjack-v1"),
    "box2d": made("LunarLander-v3"),
    "box2d_walker": made("BipedalWalker-v3"),
    "mujoco": made("Hopper-v5"),
    "atari": made("ALE/Breakout-v5"),
    "atari_without_skips": made("SeaquestNoFrameskip-v4"),
    "minigrid": made("MiniGrid-Dynamic-Obstacles-5x5-v0"),
    "babyai": made("BabyAI-PickupLoc-v0"),
    "jit": make_jit,
    "python": make_board,
}

make_cartpole, make_pendulum = made("CartPole-v1"), made("Pendulum-v1")
make_drawn = made("CartPole-v1", render_mode="rgb_array")


def make_game() -> Any:
    return gym.make("ALE/Breakout-v5", frameskip=1, max_episode_steps=60)


WRAPPERS = {
    "AddRenderObservation": lambda: w.AddRenderObservation(make_drawn()),
    "AddWhiteNoise": lambda: w.AddRenderObservation(w.AddWhiteNoise(make_drawn(), 0.3)),
    "ArrayConversion": lambda: w.ArrayConversion(make_cartpole(), np, np),
    "AtariPreprocessing": lambda: w.AtariPreprocessing(make_game(), terminal_on_life_loss=True),
    "Autoreset": lambda: w.Autoreset(made("CartPole-v1", max_episode_steps=5)()),
    "ClipAction": lambda: w.ClipAction(make_pendulum()),
    "ClipReward": lambda: w.ClipReward(make_pendulum(), -1, 1),
    "DelayObservation": lambda: w.DelayObservation(make_cartpole(), 3),
    "DiscretizeAction": lambda: w.DiscretizeAction(make_pendulum(), 5),
    "DiscretizeObservation": lambda: w.DiscretizeObservation(make_pendulum(), 5),
    "DtypeObservation": lambda: w.DtypeObservation(make_cartpole(), np.float64),
    "FilterObservation": lambda: w.FilterObservation(made("MiniGrid-Empty-5x5-v0")(), ["image"]),
    "FlattenObservation": lambda: w.FlattenObservation(made("Blackjack-v1")()),
    "FrameStackObservation": lambda: w.FrameStackObservation(make_cartpole(), 4),
    "GrayscaleObservation": lambda: w.GrayscaleObservation(w.AddRenderObservation(make_drawn())),
    "HumanRendering": lambda: w.HumanRendering(make_drawn()),
    "MaxAndSkipObservation": lambda: w.MaxAndSkipObservation(make_cartpole(), 3),
    "NormalizeObservation": lambda: w.NormalizeObservation(make_cartpole()),
    "NormalizeReward": lambda: w.NormalizeReward(make_pendulum()),
    "ObstructView": lambda: w.AddRenderObservation(w.ObstructView(make_drawn(), 0.3, 3)),
    "OrderEnforcing": lambda: w.OrderEnforcing(make_cartpole()),
    "PassiveEnvChecker": lambda: w.PassiveEnvChecker(make_cartpole()),
    "RecordEpisodeStatistics": lambda: w.RecordEpisodeStatistics(make_cartpole()),
    "RecordVideo": lambda: w.RecordVideo(make_drawn(), f"videos{next(NUMBERS)}"),
    "RenderCollection": lambda: w.RenderCollection(make_drawn()),
    "RepeatAction": lambda: w.RepeatAction(make_cartpole(), 2),
    "RescaleAction": lambda: w.RescaleAction(make_pendulum(), -1, 1),
    "RescaleObservation": lambda: w.RescaleObservation(made("MountainCar-v0")(), 0, 1),
    "ReshapeObservation": lambda: w.ReshapeObservation(make_cartpole(), (2, 2)),
    "ResizeObservation": lambda: w.ResizeObservation(w.AddRenderObservation(make_drawn()), (9, 9)),
    "StickyAction": lambda: w.StickyAction(make_cartpole(), 0.5, (1, 4)),
    "TimeAwareObservation": lambda: w.TimeAwareObservation(make_cartpole()),
    "TimeLimit": lambda: w.TimeLimit(make_cartpole(), 7),
    "TransformAction": lambda: w.TransformAction(make_pendulum(), lambda a: a / 2, None),
    "TransformObservation": lambda: w.TransformObservation(make_cartpole(), lambda o: o * 2, None),
    "TransformReward": lambda: w.TransformReward(make_cartpole(), lambda r: r * 2),
    "gym26 AutoResetWrapper": lambda: gym26.wrappers.AutoResetWrapper(make_cartpole()),
    "gym26 FrameStack": lambda: gym26.wrappers.FrameStack(make_cartpole(), 3),
    "gym26 NormalizeObservation": lambda: gym26.wrappers.NormalizeObservation(make_cartpole()),
    "gym26 TimeAwareObservation": lambda: gym26.wrappers.TimeAwareObservation(make_cartpole()),
    "gym26 Monitor": lambda: gym26.wrappers.Monitor(make_drawn(), f"runs{next(NUMBERS)}"),
    "gym26 RecordVideo": lambda: gym26.wrappers.RecordVideo(make_drawn(), f"v{next(NUMBERS)}"),
    "gym26 StepAPICompatibility": lambda: gym26.wrappers.StepAPICompatibility(make_cartpole()),
}
NUMBERS = itertools.count()
# Classes that need JAX, that are not wrappers, or that are those of Gym 0.26.
OTHERS = {"JaxToNumpy", "JaxToTorch", "NumpyToTorch", "vector", *gym26.wrappers.__all__}


def plain(value: Any) -> Any:
    """Return a value without durations, and without classes of arrays."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if key != "t"}
    if isinstance(value, (tuple, list)):
        return tuple(map(plain, value))
    return np.asarray(value) if type(value).__name__ == "LazyFrames" else value


def actions_of(env: Any, count: int) -> list[Any]:
    env.action_space.seed(1)
    return [env.action_space.sample() for _ in range(count)]


def play(env: Any, actions: list[Any]) -> list[Any]:
    results: list[Any] = []
    for action in actions:
        results.append(env.step(action))
        if results[-1][2] or results[-1][3]:
            results.append(env.reset())
    return plain(results)


def save(env: Any) -> EnvState:
    return EnvState(*save_layers(state_layers(env)))


def load(env: Any, state: EnvState) -> None:
    load_layers(state_layers(env), *state)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FAMILIES, *WRAPPERS])
def test_episodes_continue(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")

    def make() -> Any:
        env = (FAMILIES | WRAPPERS)[name]()
        return w.RecordEpisodeStatistics(env) if name in FAMILIES else env

    env, other = make(), make()
    env.reset(seed=3)
    actions = actions_of(env, 30)
    play(env, actions[:15])
    saved = pickle.loads(pickle.dumps(save(env)))
    copied = copy.deepcopy(env)
    expected = play(env, actions[15:])
    assert_same(play(copied, actions[15:]), expected)
    load(other, saved)
    assert_same(play(other, actions[15:]), expected)
    load(other, saved)  # a state can be set again
    assert_same(play(other, actions[15:]), expected)
    for each in (env, other, copied):
        each.close()


def test_all_wrappers_are_tested():
    assert {name for name in w.__all__ if name not in OTHERS} <= WRAPPERS.keys()


def test_the_time_limit_is_restored():
    env = gym.make("Pendulum-v1", max_episode_steps=500)
    env.reset(seed=1)
    for _ in range(300):
        env.step([0.0])
    saved = env.get_state()
    for _ in range(100):
        env.step([0.0])
    env.set_state(saved)
    assert [env.step([0.0])[3] for _ in range(200)] == [False] * 199 + [True]


def test_states_are_copies():
    env = make_board()
    first, _ = env.reset(seed=1)
    saved = env.get_state()
    for _ in range(2):
        env.set_state(saved)
        env.step(0)
    assert saved.env["board"].tolist() == first.tolist()


def test_generators_are_restored_in_place():
    env = make_board()
    env.reset(seed=1)
    generator = env.np_random
    saved = env.get_state()
    first = generator.uniform()
    env.set_state(saved)
    assert env.np_random is generator and generator.uniform() == first
    env.unwrapped.np_random = np.random.Generator(np.random.MT19937(3))
    env.set_state(saved)
    assert env.np_random.uniform() == first


class Listening(gym.Wrapper):
    """Wrapper whose attributes refer to its environment and generator."""

    def __init__(self, env):
        super().__init__(env)
        self.inner, self.function, self.calls = env, self.step, []

    def reset(self, **kwargs):
        result = self.env.reset(**kwargs)
        self.generator, self.calls, self.added = self.np_random, [0], True
        return result

    def step(self, action):
        self.calls.append(self.generator.uniform())
        return self.env.step(action)


@pytest.mark.parametrize("make", [make_board, make_cartpole], ids=["python", "compiled"])
def test_references_are_those_of_the_restored_environment(make):
    one, other = Listening(make()), Listening(make())
    one.reset(seed=1)
    one.step(0)
    copied = copy.deepcopy(one)
    assert copied.generator is copied.np_random
    before_reset = other.get_state() if make is make_cartpole else None
    other.set_state(pickle.loads(pickle.dumps(one.get_state())))
    assert other.inner is other.env and other.function == other.step
    assert one.calls == other.calls and one.calls is not other.calls
    expected = play(one, [0, 1])
    assert_same(play(other, [0, 1]), expected)
    assert_same(play(copied, [0, 1]), expected)
    assert one.calls == other.calls == copied.calls
    if before_reset is not None:
        other.set_state(before_reset)
        assert not hasattr(other, "added")


def test_outermost_methods_save_the_rest():
    class Saving(gym.Wrapper):
        def get_state(self):
            return self.env.get_state(), "mine"

        def set_state(self, state):
            self.env.set_state(state[0])
            self.restored = state[1]

    env = w.TimeLimit(Saving(make_cartpole()), 8)
    env.reset(seed=1)
    saved = env.get_state()
    assert saved.env[1] == "mine" and len(saved.layers) == 2
    expected = play(env, [1] * 20)
    env.set_state(saved)
    assert env.env.restored == "mine"
    assert_same(play(env, [1] * 20), expected)


def test_calls_by_name_reach_the_environment():
    class Positioned(Board):
        def set_state(self, state, more=None):
            self.given = state, more

    env = w.TimeLimit(Positioned(), 3)
    env.reset(seed=1)
    assert env.get_wrapper_attr("get_state")() == {"board": env.unwrapped.board}
    env.get_wrapper_attr("set_state")(1, 2)
    assert env.unwrapped.given == (1, 2)
    env.set_state(3, 4)
    assert env.unwrapped.given == (3, 4)
    assert env.has_wrapper_attr("get_state")
    assert not w.TimeLimit(make_counting_env(gym)(), 3).has_wrapper_attr("get_state")
    with gym26.make("CartPole-v1") as old:
        old.reset(seed=1)
        assert isinstance(gym26.Wrapper(old).get_state(), np.ndarray)  # as in Gym


# Errors


def saved_pair() -> tuple[Any, EnvState]:
    env = w.RecordEpisodeStatistics(w.DelayObservation(make_cartpole(), 2))
    env.reset(seed=1)
    env.step(1)
    return env, env.get_state()


def changed(state: EnvState, wrapper: str, **attributes: Any) -> EnvState:
    return state._replace(
        layers=tuple(
            (name, {**part, **attributes} if name.endswith(wrapper) else part)
            for name, part in state.layers
        )
    )


BAD_STATES = {
    "none": (TypeError, lambda state: None),
    "the environment's own": (TypeError, lambda state: state.env),
    "of another environment": (ValueError, lambda _: _saved("MountainCar-v0")),
    "without wrappers": (ValueError, lambda state: state._replace(layers=())),
    "no layers": (ValueError, lambda state: state._replace(layers=3)),
    "impossible state": (ValueError, lambda state: state._replace(env=state.env[:0])),
    "negative count": (ValueError, lambda state: changed(state, "TimeLimit", _elapsed_steps=-1)),
    "nan count": (ValueError, lambda state: changed(state, "TimeLimit", _elapsed_steps=np.nan)),
    "text": (ValueError, lambda state: changed(state, "TimeLimit", _max_episode_steps="9")),
    "method": (ValueError, lambda state: changed(state, "TimeLimit", step=3)),
    "property": (ValueError, lambda state: changed(state, "TimeLimit", np_random=3)),
    "function": (ValueError, lambda state: changed(state, "TimeLimit", _elapsed_steps=print)),
    "layer": (ValueError, lambda state: changed(state, "TimeLimit", env=3)),
    "unknown": (ValueError, lambda state: changed(state, "TimeLimit", other=3)),
    "queue": (ValueError, lambda state: changed(state, "DelayObservation", observation_queue=[])),
    "generator": (ValueError, lambda state: changed(state, "CartPoleEnv", np_random={})),
}


def _saved(env_id: str) -> EnvState:
    env = w.RecordEpisodeStatistics(w.DelayObservation(made(env_id)(), 2))
    env.reset(seed=1)
    return env.get_state()


@pytest.mark.parametrize("name", BAD_STATES)
def test_bad_states_change_nothing(name):
    exception, change = BAD_STATES[name]
    env, saved = saved_pair()
    with pytest.raises(exception, match="state: ") as caught:
        env.set_state(change(saved))
    assert isinstance(caught.value, error.Error)
    again = env.get_state()
    assert again.env.tobytes() == saved.env.tobytes()
    assert repr(again.layers) == repr(saved.layers)


def test_environments_without_states():
    env = w.TimeLimit(make_counting_env(gym)(), 3)
    env.reset()
    for call in (env.get_state, lambda: env.set_state(EnvState(None, ()))):
        with pytest.raises(
            error.StateNotSupported, match=r"CountingEnv has no get_state.*define both"
        ):
            call()


def test_attributes_that_cannot_be_copied():
    env = make_cartpole()
    env.reset()
    with open(__file__) as env.lines, pytest.raises(AttributeError, match="TimeLimit cannot be"):
        env.get_state()


def test_a_failed_set_state_leaves_the_wrappers():
    class Failing(Board):
        def set_state(self, state):
            raise KeyError("failed")

    env = w.TimeLimit(Failing(), 3)
    env.reset(seed=1)
    saved = env.get_state()
    env.step(0)
    with pytest.raises(KeyError, match="failed"):
        env.set_state(saved)
    assert env._elapsed_steps == 1
