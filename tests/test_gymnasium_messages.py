"""Errors and warnings of Gymnasium have the same class and message in gymcore.

Each row is an expression that makes Gymnasium itself raise or warn (not Python, because of a
mistake that Gymnasium does not notice). It is evaluated with either library. Ours must raise (or
warn) with the same class name or built-in base, and a message that contains the first sentence of
Gymnasium's, apart from the name of the library.
"""

from __future__ import annotations

import builtins
import functools
import re
import warnings
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from tests import message_envs

_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def first_sentence(text: str) -> str:
    """Return the first sentence of a message, up to the value that it shows at its end."""
    return re.split(r"(?<=[.?!])\s|, (?=actual |got |valid |current )", plain(text))[0].rstrip(".")


def plain(text: str) -> str:
    text = _ADDRESS.sub("", _COLOR.sub("", text)).removeprefix("WARN: ").removeprefix("ERROR: ")
    text = re.sub(r"gymnasium(\.envs\.\w+)?", "gymcore", text, flags=re.IGNORECASE)
    text = re.sub(r"<class '[\w.<>]*\.(\w+)'>", r"<class '\1'>", text)
    return re.sub(r"\s+", " ", text)


@functools.cache
def names(gym: ModuleType) -> dict[str, Any]:
    """Return the names that the expressions may use, from one library."""
    import importlib

    def module(path: str) -> ModuleType:
        return importlib.import_module(f"{gym.__name__}.{path}")

    return {
        "gym": gym,
        "np": np,
        **{name: getattr(gym.spaces, name) for name in gym.spaces.__all__},
        "spaces": gym.spaces,
        "utils": module("utils"),
        "seeding": module("utils.seeding"),
        "step_api": module("utils.step_api_compatibility"),
        "checker": module("utils.env_checker"),
        "passive": module("utils.passive_env_checker"),
        "match": module("utils.env_match"),
        "play": module("utils.play"),
        "space_utils": module("spaces.utils"),
        "w": gym.wrappers,
        "vw": module("wrappers.vector"),
        "vector": gym.vector,
        "vector_utils": module("vector.utils"),
        "registration": module("envs.registration"),
        **message_envs.environments(gym),
    }


def happens(gym: ModuleType, expression: str) -> tuple[list[str], BaseException | None]:
    """Return the warnings and the error of an expression."""
    registry = dict(gym.registry)
    error: BaseException | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # imports warn once, on their own account
        available = names(gym)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Python 3.12 and 3.13 warn about forks in Gymnasium; gymcore's own forks do not warn.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded")
        try:
            eval(expression, dict(available))
        except Exception as problem:
            error = problem
        finally:
            gym.registry.clear()
            gym.registry.update(registry)
    return [str(warning.message) for warning in caught], error


def is_of_its_class(ours: BaseException, theirs: BaseException) -> bool:
    """Return whether an error has the class of another one, by name or by a built-in base."""
    name = type(theirs).__name__
    if name in {cls.__name__ for cls in type(ours).__mro__}:
        return True
    known = [cls for cls in type(theirs).__mro__ if getattr(builtins, cls.__name__, None) is cls]
    return isinstance(ours, known[0]) and known[0] is not Exception


def check(expression: str) -> None:
    """Assert that the expression has the same effect in both libraries."""
    their_warnings, theirs = happens(gymnasium, expression)
    our_warnings, ours = happens(gymcore, expression)
    assert theirs is not None or their_warnings, "Gymnasium has nothing to say"
    if theirs is not None:
        assert ours is not None, f"nothing is raised, theirs: {theirs!r}"
        assert is_of_its_class(ours, theirs), (ours, theirs)
        assert first_sentence(str(theirs)) in plain(str(ours))
    for text in their_warnings:
        assert any(first_sentence(text) in plain(other) for other in our_warnings), (
            first_sentence(text),
            list(map(plain, our_warnings)),
            ours,
        )


SPACES = """
Box(0, 1, dtype=None)
Box(0, 1, dtype=str)
Box(0, 1, shape=3)
Box(0, 1, shape=(1.5,))
Box(np.zeros(2), np.ones(3))
Box("0", "1")
Box(np.zeros(2, np.float32), 1, shape=(3,))
Box(0, np.ones(2, np.float32), shape=(3,))
Box(np.nan, 1)
Box(np.array([0, np.nan]), 1)
Box(0, np.nan)
Box(0, np.array([1, np.nan]))
Box("0", 1, shape=(1,))
Box(0, "1", shape=(1,))
Box(np.array(["a"]), 1)
Box(0, np.array(["a"]))
Box(-1, 1, dtype=np.uint8)
Box(0, 300, dtype=np.uint8)
Box(np.array([-1]), np.array([1]), dtype=np.uint8)
Box(np.array([0]), np.array([300]), dtype=np.uint8)
Box(-np.inf, 1, dtype=np.uint8)
Box(0, np.inf, dtype=np.uint8)
Box(np.array([-np.inf]), 1, dtype=np.uint8)
Box(0, np.array([np.inf]), dtype=np.uint8)
Box(np.zeros(2, np.float64), 1, dtype=np.float32)
Box(0, np.ones(2, np.float64), dtype=np.float32)
Box(2, 1)
Box(0, 1).is_bounded("sideways")
Box(0, 1).sample(mask=1)
Box(0, 1).sample(probability=1)
Box(0, 1).contains([0.5])
Box(0, 1, seed="seed")
Box(0, 1, seed=-1)
Discrete(2.5)
Discrete(0)
Discrete(3, start=0.5)
Discrete(3, dtype=np.float32)
Discrete(3, dtype=None)
Discrete(3).sample(mask=[1, 1, 1])
Discrete(3).sample(mask=np.ones(3))
Discrete(3).sample(mask=np.ones(2, np.int8))
Discrete(3).sample(mask=np.full(3, 2, np.int8))
Discrete(3).sample(probability=[1, 1, 1])
Discrete(3).sample(probability=np.ones(3, np.int8))
Discrete(3).sample(probability=np.ones(2))
Discrete(3).sample(probability=np.full(3, 1.5))
Discrete(3).sample(probability=np.full(3, 0.1))
Discrete(3).sample(mask=np.ones(3, np.int8), probability=np.ones(3) / 3)
MultiBinary(0)
MultiBinary([2, 0])
MultiBinary(3).sample(mask=[1, 1, 1])
MultiBinary(3).sample(mask=np.ones(3))
MultiBinary(3).sample(mask=np.ones(2, np.int8))
MultiBinary(3).sample(mask=np.full(3, 3, np.int8))
MultiBinary(3).sample(probability=[1, 1, 1])
MultiBinary(3).sample(probability=np.ones(3, np.int8))
MultiBinary(3).sample(probability=np.ones(2))
MultiBinary(3).sample(probability=np.full(3, 1.5))
MultiBinary(3).sample(mask=np.ones(3, np.int8), probability=np.ones(3))
MultiDiscrete([2, 0])
MultiDiscrete([2, 3], dtype=None)
MultiDiscrete([2, 3], dtype=np.float32)
MultiDiscrete([2, 3], start=[1])
MultiDiscrete([2, 3]).sample(mask=[1, 1])
MultiDiscrete([2, 3]).sample(mask=(np.ones(2, np.int8),))
MultiDiscrete([2, 3]).sample(mask=(1, 1))
MultiDiscrete([2, 3]).sample(mask=(np.ones(3, np.int8), np.ones(3, np.int8)))
MultiDiscrete([2, 3]).sample(mask=(np.ones(2), np.ones(3)))
MultiDiscrete([2, 3]).sample(mask=(np.full(2, 2, np.int8), np.ones(3, np.int8)))
MultiDiscrete([2, 3]).sample(probability=(np.ones(2, np.int8), np.ones(3)))
MultiDiscrete([2, 3]).sample(probability=(np.full(2, 1.5), np.ones(3)))
MultiDiscrete([2, 3]).sample(probability=(np.ones(2), np.ones(3)))
MultiDiscrete([2, 3]).sample(mask=(), probability=())
len(MultiDiscrete([[2, 3], [2, 3]]))
Text("a")
Text(2, min_length="a")
Text(2, min_length=-1)
Text(2, min_length=3)
Text(3, charset=["ab"])
Text(3).sample(mask=1)
Text(3).sample(mask=(1,))
Text(3).sample(mask=("1", None))
Text(3).sample(mask=(4, None))
Text(3, charset="ab").sample(mask=(1, [1, 1]))
Text(3, charset="ab").sample(mask=(1, np.ones(2)))
Text(3, charset="ab").sample(mask=(1, np.ones(3, np.int8)))
Text(3, charset="ab").sample(mask=(1, np.full(2, 2, np.int8)))
Text(3, charset="ab").sample(mask=(1, np.zeros(2, np.int8)))
Text(3, charset="ab").sample(probability=1)
Text(3, charset="ab").sample(probability=(1, np.ones(2, np.int8)))
Text(3, charset="ab").sample(probability=(1, np.full(2, 1.5)))
Text(3, charset="ab").sample(probability=(1, np.full(2, 0.1)))
Text(3).sample(mask=(1, None), probability=(1, None))
Tuple([Discrete(2), 3])
Tuple([Discrete(2), Discrete(3)], seed="seed")
Tuple([Discrete(2), Discrete(3)], seed=(1, 2, 3))
Tuple([Discrete(2)]).sample(mask=[None])
Tuple([Discrete(2)]).sample(mask=(None, None))
Tuple([Discrete(2)]).sample(probability=[None])
Tuple([Discrete(2)]).sample(probability=(None, None))
Tuple([Discrete(2)]).sample(mask=(None,), probability=(None,))
Dict(5)
Dict({"a": Discrete(2)}, a=Discrete(3))
Dict(a=3)
Dict(a=Discrete(2), seed="seed")
Dict(a=Discrete(2), seed={"b": 1})
Dict(a=Discrete(2)).sample(mask=[None])
Dict(a=Discrete(2)).sample(mask={"b": None})
Dict(a=Discrete(2)).sample(probability=[None])
Dict(a=Discrete(2)).sample(probability={"b": None})
Dict(a=Discrete(2)).sample(mask={"a": None}, probability={"a": None})
Dict(a=Discrete(2)).__setitem__("a", 3)
Graph(3, None)
Graph(Discrete(2), 3)
Graph(Discrete(2), None, seed="seed")
Graph(Discrete(2), None, seed=(1,))
Graph(Discrete(2), Discrete(2), seed=(1,))
Graph(Discrete(2), None).sample(num_nodes=0)
Graph(Discrete(2), Discrete(2)).sample(num_nodes=2, num_edges=-1)
Graph(Discrete(2), None).sample(num_nodes=2, num_edges=1)
Graph(Discrete(2), None).sample(mask=(None, None), probability=(None, None))
Sequence(3)
Sequence(Discrete(2), seed="seed")
Sequence(Discrete(2), seed=(1,))
Sequence(Discrete(2)).sample(mask=(-1, None))
Sequence(Discrete(2)).sample(mask=(np.array([[1]]), None))
Sequence(Discrete(2)).sample(mask=(np.array([-1]), None))
Sequence(Discrete(2)).sample(mask=(np.array([1.0]), None))
Sequence(Discrete(2)).sample(mask=("1", None))
Sequence(Discrete(2)).sample(mask=(1, None), probability=(1, None))
OneOf(3)
OneOf([])
OneOf([Discrete(2), 3])
OneOf([Discrete(2)], seed="seed")
OneOf([Discrete(2)], seed=(1,))
OneOf([Discrete(2)]).sample(mask=[None])
OneOf([Discrete(2)]).sample(mask=(None, None))
OneOf([Discrete(2)]).sample(probability=[None])
OneOf([Discrete(2)]).sample(probability=(None, None))
OneOf([Discrete(2)]).sample(mask=(None,), probability=(None,))
Custom().seed("seed")
Custom().seed(-1)
spaces.flatdim(Custom())
spaces.flatdim(Sequence(Discrete(2)))
spaces.flatdim(Graph(Discrete(2), None))
spaces.flatdim(Tuple([Sequence(Discrete(2))]))
spaces.flatdim(Dict(a=Sequence(Discrete(2))))
spaces.flatten(Custom(), 1)
spaces.unflatten(Custom(), 1)
spaces.flatten_space(Custom())
spaces.unflatten(Discrete(3), np.zeros(3))
spaces.unflatten(MultiDiscrete([2, 3]), np.zeros(5))
spaces.unflatten(Tuple([Discrete(2)]), [1, 0])
spaces.unflatten(Tuple([Sequence(Discrete(2))]), [1, 0])
spaces.unflatten(Dict(a=Discrete(2)), [1, 0])
spaces.unflatten(Dict(a=Sequence(Discrete(2))), [1, 0])
space_utils.is_space_dtype_shape_equiv(Custom(), Discrete(2))
space_utils.is_space_dtype_shape_equiv(3, Discrete(2))
"""

BATCHES = """
vector_utils.batch_space(3, 2)
vector_utils.iterate(3, [])
vector_utils.iterate(Custom(), [])
list(vector_utils.iterate(Discrete(3), [1]))
list(vector_utils.iterate(Box(0, 1), 1))
list(vector_utils.iterate(Tuple([Custom()]), 3))
vector_utils.concatenate(3, [], None)
vector_utils.create_empty_array(3)
vector_utils.create_shared_memory(3)
vector_utils.create_shared_memory(Custom())
vector_utils.read_from_shared_memory(3, None)
vector_utils.read_from_shared_memory(Custom(), None)
vector_utils.write_to_shared_memory(3, 0, 0, None)
vector_utils.write_to_shared_memory(Custom(), 0, 0, None)
vector_utils.batch_differing_spaces([])
vector_utils.batch_differing_spaces([Discrete(2), Box(0, 1)])
vector_utils.batch_differing_spaces([Custom(), Custom()])
vector_utils.batch_differing_spaces([Box(0, 1), Box(0, 1, dtype=np.float64)])
vector_utils.batch_differing_spaces([Box(0, 1), Box(0, 1, (2,))])
vector_utils.batch_differing_spaces([MultiDiscrete([2]), MultiDiscrete([2], dtype=np.int32)])
vector_utils.batch_differing_spaces([MultiDiscrete([2]), MultiDiscrete([2, 2])])
vector_utils.batch_differing_spaces([MultiBinary(2), MultiBinary(3)])
vector_utils.batch_differing_spaces([Dict(a=Discrete(2)), Dict(b=Discrete(2))])
"""

REGISTRY = """
gym.make(3)
gym.make("Car(Pole-v1")
gym.make("nowhere:CartPole-v1")
gym.make("Nowhere/CartPole-v1")
gym.make("phys/CartPole-v1")
gym.make("CartPol-v1")
gym.make("Xyzzy-v1")
gym.make("phys2d/CartPol-v1")
gym.make("CartPole-v9")
gym.make("Reacher-v1")
gym.make("Reacher-v3")
gym.make("CartPole-v0")
gym.make("CartPole")
gym.make("CartPole-v1", unknown=3)
gym.make("CartPole-v1", render_mode="nothing")
gym.make_vec("Xyzzy-v1")
gym.make_vec(3)
gym.make_vec("CartPole-v1", vectorization_mode="nothing")
gym.make_vec("Taxi-v4", vectorization_mode="vector_entry_point", wrappers=[w.Autoreset])
gym.make_vec("CartPole-v1", vectorization_mode="vector_entry_point", wrappers=[w.Autoreset])
gym.make_vec(with_wrappers("CartPole-v1"), vectorization_mode="vector_entry_point")
gym.make_vec("GymV21Environment-v0", vectorization_mode="vector_entry_point")
gym.make_vec(registered(vector_entry_point=Anything), vectorization_mode="sync")
gym.make_vec(registered(vector_entry_point=Anything), vectorization_mode="async")
gym.make_vec(registered(vector_entry_point=VectorWithoutMode))
gym.make_vec(registered(vector_entry_point=VectorWithOddMode))
gym.make(registered(vector_entry_point=Anything))
gym.make(registered(entry_point=NotAnEnv))
gym.make(registered(entry_point=Plain), unknown=1)
gym.make(registered(entry_point=OldGym))
gym.make(registered(entry_point=OddMetadata))
gym.make(registered(entry_point=NoRenderModes))
gym.make(registered(entry_point=OddRenderModes))
gym.make(registered(entry_point=OldRendering), render_mode="human")
gym.make(registered(entry_point=Pixels), render_mode="human")
gym.make(unrecorded())
gym.make(registered(entry_point=Plain, additional_wrappers=other_wrappers()))
gym.register("Maze-v0")
gym.register("Maze (0)", entry_point=Plain)
gym.register("CartPole", entry_point=Plain)
[gym.register(id, entry_point=Plain) for id in ("Maze", "Maze-v0")]
gym.register("CartPole-v1", entry_point=Plain)
[gym.register("Maze", entry_point=Plain), gym.make("Maze-v3")]
[gym.register("a/Maze-v1", entry_point=Plain), gym.make("a/Maze-v2")]
[gym.register("a/Maze-v1", entry_point=Plain), gym.make("a/Maze-v0")]
[gym.register("a/Maze-v1", entry_point=Plain), gym.make("a/Maz-v1")]
gym.spec("Xyzzy-v1")
gym.spec("CartPole-v9")
gym.spec("CartPole")
registration.parse_env_id("a b")
registration.EnvSpec("a b")
registration.EnvSpec("Maze-v0", entry_point=Plain).to_json()
registration.EnvSpec.from_json('{"id": "Maze-v0", "additional_wrappers": [{"a": 1}]}')
registration.EnvSpec.from_json('{"id": "Maze-v0", "unknown": 1, "additional_wrappers": []}')
in_namespace("a", "Maze-v0", kwargs={"namespace": "b"})
"""

CORE = """
gym.Wrapper(3)
gym.Wrapper(Plain())._np_random
gym.Wrapper(Plain()).get_wrapper_attr("unknown")
Plain().get_wrapper_attr("unknown")
gym.Wrapper(Plain()).unknown
Plain().reset(seed=-1)
Plain().reset(seed="seed")
gym.Env().step(0)
gym.Env().render()
seeding.np_random("seed")
seeding.np_random(-1)
utils.colorize("text", "mauve")
gym.logger.warn("careful")
gym.logger.deprecation("old")
gym.logger.error("wrong")
step_api.convert_to_terminated_truncated_step_api((1, 2, 3))
step_api.convert_to_done_step_api((1, 2, 3))
"""

CHECKERS = """
checker.check_env(3)
checker.check_env(Plain(), warn=True)
checker.check_env(gym.Wrapper(Plain()))
checker.check_env(NoActionSpace())
checker.check_env(NoObservationSpace())
checker.check_env(broken(action_space=3))
checker.check_env(broken(observation_space=3))
checker.check_env(broken(observation_space=Box(0, 1, (1,)), obs=np.zeros(2)))
checker.check_env(broken(observation_space=Box(-np.inf, np.inf, (1,))))
checker.check_env(broken(action_space=Box(-np.inf, np.inf, (1,))))
checker.check_env(broken(action_space=Box(-3, 2, (1,))))
checker.check_env(broken(reset=lambda self: (0, {})))
checker.check_env(broken(reset=lambda self, seed=None: (0, {})))
checker.check_env(broken(reset=lambda self, seed=None, options=None: 0))
checker.check_env(broken(reset=lambda self, seed=None, options=None: (0,)))
checker.check_env(broken(reset=lambda self, seed=None, options=None: (0, 1, 2)))
checker.check_env(broken(reset=lambda self, seed=None, options=None: (9, {})))
checker.check_env(broken(reset=lambda self, seed=None, options=None: (0, 3)))
checker.check_env(broken(reset=lambda self, seed=None, options=None: (0, {})))
checker.check_env(broken(reset=lambda self, seed=None, return_info=True, options=None: (0, {})))
checker.check_env(broken(seed=lambda self, seed: None))
checker.check_env(broken(step=lambda self, action: 3))
checker.check_env(broken(step=lambda self, action: (0, 1.0, False, 3)))
checker.check_env(broken(step=lambda self, action: (0, 1.0)))
checker.check_env(broken(step=lambda self, action: (0, "a", False, False, {})))
checker.check_env(broken(step=lambda self, action: (0, np.nan, False, False, {})))
checker.check_env(broken(step=lambda self, action: (0, np.inf, False, False, {})))
checker.check_env(broken(step=lambda self, action: (0, 1.0, 3, False, {})))
checker.check_env(broken(step=lambda self, action: (0, 1.0, False, 3, {})))
checker.check_env(broken(step=lambda self, action: (0, 1.0, False, False, 3)))
checker.check_env(broken(step=lambda self, action: (0, np.random.random(), False, False, {})))
checker.check_env(broken(step=lambda self, action: (0, 1.0, False, True, {})))
checker.check_env(broken(step=lambda self, action: (9, 1.0, False, False, {})))
checker.check_env(Reusing())
checker.check_env(Unseeded())
checker.check_env(DefaultSeed())
checker.check_env(registered(entry_point=CloseOnce).make().unwrapped)
checker.check_env(broken(render_mode="human"))
checker.check_env(broken(metadata={"render_modes": []}, render_mode="human"))
checker.check_env(broken(metadata={"render_modes": ["human"]}, render_mode="human"))
checker.check_env(broken(metadata={"render_modes": ["human"], "render_fps": "a"}))
checker.check_space_limit(Box(-np.inf, np.inf), "observation")
passive.check_space(3, "observation", None)
passive.check_observation_space(broken_box(low=np.zeros(3)))
passive.check_observation_space(broken_box(high=np.ones(3)))
passive.check_observation_space(broken_box(low=np.ones(2), high=np.ones(2)))
passive.check_observation_space(broken_box(low=np.ones(2), high=np.zeros(2)))
passive.check_action_space(broken_box(low=np.zeros(3)))
passive.check_action_space(broken_box(high=np.ones(3)))
passive.check_action_space(broken_box(low=np.ones(2), high=np.ones(2)))
passive.check_observation_space(Tuple([]))
passive.check_observation_space(Dict())
passive.check_observation_space(broken_space(Discrete(3), n=0))
passive.check_observation_space(broken_space(Discrete(3), _shape=(1,)))
passive.check_observation_space(broken_space(MultiDiscrete([3]), _shape=(2,)))
passive.check_observation_space(broken_space(MultiDiscrete([3]), nvec=np.array([0])))
passive.check_observation_space(broken_space(MultiBinary(3), _shape=(2, 0)))
passive.check_obs(1.5, Discrete(3), "reset")
passive.check_obs([1.0], Box(0, 1), "reset")
passive.check_obs(np.zeros(1), Box(0, 1), "reset")
passive.check_obs([1.0], MultiBinary(1), "reset")
passive.check_obs([1.0], Tuple([Discrete(2)]), "reset")
passive.check_obs((1, 2), Tuple([Discrete(2)]), "reset")
passive.check_obs([1], Dict(a=Discrete(2)), "reset")
passive.check_obs({"b": 1}, Dict(a=Discrete(2)), "reset")
passive.check_obs(9, Discrete(3), "reset")
passive.check_obs(9, Raising(), "reset")
passive.env_reset_passive_checker(broken(reset=lambda self: (0, {})))
passive.env_reset_passive_checker(broken(reset=lambda self, seed=3, options=None: (0, {})))
passive.env_reset_passive_checker(broken(reset=lambda self, seed=None, options=None: 0))
passive.env_reset_passive_checker(broken(reset=lambda self, seed=None, options=None: (0, 1, 2)))
passive.env_reset_passive_checker(broken(reset=lambda self, seed=None, options=None: (0, 3)))
passive.env_step_passive_checker(broken(step=lambda self, action: [0]), 0)
passive.env_step_passive_checker(broken(step=lambda self, action: (0, 1.0, 3, {})), 0)
passive.env_step_passive_checker(broken(step=lambda self, action: (0, 1.0)), 0)
passive.env_step_passive_checker(broken(step=lambda self, action: (0, 1.0, 3, 4, {})), 0)
passive.env_step_passive_checker(broken(step=lambda self, action: (0, "a", False, False, {})), 0)
passive.env_step_passive_checker(broken(step=lambda self, action: (0, np.nan, False, False, 3)), 0)
passive.env_data_reuse_passive_checker(*[(shared(), {})] * 2, "reset", "step")
passive.env_data_reuse_passive_checker(*[(0, {"a": 1})] * 2, "reset", "step")
rendered("human", 3)
rendered("rgb_array", 3)
rendered("rgb_array", np.zeros((2, 2, 3)))
rendered("rgb_array", np.zeros((2, 2), np.uint8))
rendered("rgb_array", np.zeros((2, 2, 4), np.uint8))
rendered("depth_array", 3)
rendered("depth_array", np.zeros((2, 2, 3)))
rendered("ansi", 3)
rendered("rgb_array_list", 3)
rendered("rgb_array_list", [3])
rendered("human", None, render_modes=None)
warned(rendered, "human", None, render_modes=3)
rendered("human", None, render_modes=("human", 3))
rendered("human", None, render_fps=None)
rendered("human", None, render_fps="a")
rendered("human", None, render_fps=0)
rendered("human", None, render_modes=["rgb_array"])
rendered("human", None, render_modes=[])
match.check_environments_match(Plain(), broken(reward=2.0), 2)
match.check_environments_match(Plain(), broken(obs=1), 2)
match.check_environments_match(Plain(), broken(info={"a": 1}), 2)
match.check_environments_match(
    broken(info={"a": 1}), Plain(), 2, info_comparison="keys-equivalence"
)
match.check_environments_match(Plain(), broken(terminated=True), 2)
match.check_environments_match(Plain(), broken(truncated=True), 2)
"""

PLAY = """
play.play(registered(entry_point=Pixels).make())
play.play(registered(entry_point=Pixels).make(), keys_to_action={"a": 0})
play.play(OddRate(render_mode="rgb_array"), keys_to_action={"a": 0})
play.play(Pixels(render_mode="rgb_array"))
play.play(registered(entry_point=Pixels).make(render_mode="rgb_array"))
play.play(Pixels(render_mode="rgb_array"), keys_to_action={"a": 9})
play.play(Pixels(render_mode="rgb_array"), keys_to_action={(): 0})
play.play(Pixels(render_mode="rgb_array"), keys_to_action=3)
play.play(Pixels(render_mode="rgb_array"), keys_to_action={1.5: 0})
play.play(Pixels(render_mode="rgb_array"), keys_to_action={(1.5,): 0})
play.PlayableGame(Pixels(render_mode="rgb_array"), {(97,): 0}, zoom=-1)
play.PlayableGame(Pixels(render_mode="rgb_array"), [(97,)])
play.PlayableGame(Pixels(render_mode=None), {(97,): 0})
"""

WRAPPERS = """
w.TimeLimit(Plain(), 1.5)
w.TimeLimit(Plain(), 0)
w.PassiveEnvChecker(3)
w.PassiveEnvChecker(NoActionSpace())
w.PassiveEnvChecker(NoObservationSpace())
closed_twice(w.PassiveEnvChecker(CloseOnce()))
w.OrderEnforcing(Plain()).step(0)
w.OrderEnforcing(Plain("rgb_array")).render()
w.StickyAction(Plain(), -1)
w.StickyAction(Plain(), 0.5, 1.5)
w.StickyAction(Plain(), 0.5, (1, 2, 3))
w.StickyAction(Plain(), 0.5, (2, 1))
w.StickyAction(Plain(), 0.5, (0, 1))
w.RepeatAction(Plain(), 1.5)
w.RepeatAction(Plain(), 0)
w.DelayObservation(Plain(), 1.5)
w.DelayObservation(Plain(), -1)
w.TimeAwareObservation(Plain())
w.TimeAwareObservation(w.TimeLimit(DictEnv(), 3), dict_time_key="a")
w.FrameStackObservation(Boxes(), 1.5)
w.FrameStackObservation(Boxes(), 0)
w.FrameStackObservation(Plain(), 2, padding_type="nothing")
w.FrameStackObservation(Boxes(), 2, padding_type=3)
w.NormalizeObservation(Boxes(), epsilon=0)
w.NormalizeObservation(DictEnv())
w.MaxAndSkipObservation(Boxes(), 1.5)
w.MaxAndSkipObservation(Boxes(), 1)
w.MaxAndSkipObservation(DictEnv())
w.NormalizeReward(Plain(), gamma=2)
w.NormalizeReward(Plain(), epsilon=0)
w.ClipReward(Plain())
w.ClipReward(Plain(), 2, 1)
w.ClipAction(Plain())
w.RescaleAction(Plain(), 0, 1)
w.RescaleAction(Boxes(), 1, 1)
w.DiscretizeAction(Plain(), 3)
w.DiscretizeAction(Unbounded(), 3)
w.DiscretizeAction(Boxes(), (3, 3, 3))
w.FilterObservation(DictEnv(), 3)
w.FilterObservation(DictEnv(), [3])
w.FilterObservation(DictEnv(), ["c"])
w.FilterObservation(DictEnv(), [])
w.FilterObservation(TupleEnv(), ["a"])
w.FilterObservation(TupleEnv(), [0, 0])
w.FilterObservation(TupleEnv(), [3])
w.FilterObservation(TupleEnv(), [])
w.FilterObservation(Plain(), [0])
w.GrayscaleObservation(Plain())
w.GrayscaleObservation(Boxes())
w.GrayscaleObservation(Images(np.float32))
w.ResizeObservation(Plain(), (2, 2))
w.ResizeObservation(Boxes(), (2, 2))
w.ResizeObservation(Images(np.float32), (2, 2))
w.ResizeObservation(Images(np.int32), (2, 2))
w.ResizeObservation(Images(), [2, 2])
w.ResizeObservation(Images(), (2, 2, 2))
w.ResizeObservation(Images(), (2.5, 2))
w.ResizeObservation(Images(), (0, 2))
w.ReshapeObservation(Plain(), (2,))
w.ReshapeObservation(Boxes(), (3,))
w.ReshapeObservation(Boxes(), [2])
w.ReshapeObservation(Boxes(), (2.0,))
w.ReshapeObservation(Boxes(), (-2, -1))
w.RescaleObservation(Plain(), 0, 1)
w.RescaleObservation(Boxes(), "a", 1)
w.RescaleObservation(Boxes(), 0, "a")
w.RescaleObservation(Boxes(), np.zeros(3), 1)
w.RescaleObservation(Boxes(), 0, np.ones(3))
w.RescaleObservation(Boxes(), 2, 1)
w.RescaleObservation(Unbounded(), 0, 1)
w.DtypeObservation(DictEnv(), np.float32)
w.AddRenderObservation(Plain())
w.AddRenderObservation(Plain("human"))
w.AddRenderObservation(Plain("ansi"))
w.AddRenderObservation(PixelDict("rgb_array"), render_only=False, render_key="a")
w.DiscretizeObservation(Plain(), 3)
w.DiscretizeObservation(Unbounded(), 3)
w.DiscretizeObservation(Boxes(), (3, 3, 3))
w.RenderCollection(Plain())
w.RenderCollection(Plain("rgb_array_list"))
w.RecordVideo(Plain(), folder)
w.RecordVideo(Plain("human"), folder)
w.RecordVideo(Plain("rgb_array_list"), folder)
[w.RecordVideo(Pixels("rgb_array"), folder) for _ in range(2)]
w.RecordVideo(Pixels("rgb_array"), folder)._capture_frame()
w.RecordVideo(Pixels("rgb_array"), folder).stop_recording()
w.HumanRendering(Plain())
w.HumanRendering(Plain("ansi"))
w.HumanRendering(NoRate("rgb_array"))
w.AddWhiteNoise(Pixels("rgb_array"), 2)
w.ObstructView(Pixels("rgb_array"), 2, 3)
w.ObstructView(Pixels("rgb_array"), 0.5, 0)
w.AtariPreprocessing(Plain(), frame_skip=0)
w.AtariPreprocessing(Plain(), screen_size=0)
w.AtariPreprocessing(Plain())
w.AtariPreprocessing(broken(_frameskip=1), noop_max=-1)
w.utils.create_zero_array(3)
w.utils.create_zero_array(Custom())
w.utils.rescale_box(3, 0, 1)
vw.RecordEpisodeStatistics(3)
vw.NormalizeObservation(batch(Boxes), epsilon=0)
vw.NormalizeReward(batch(), gamma=2)
vw.NormalizeReward(batch(), epsilon=0)
vw.HumanRendering(batch())
vw.RecordVideo(batch(), folder)
vw.ClipReward(batch())
vw.ClipAction(batch())
vw.RescaleAction(batch(), 0, 1)
vw.ResizeObservation(batch(Boxes), (2, 2))
vw.GrayscaleObservation(batch(Boxes))
vw.FilterObservation(batch(DictEnv), ["c"])
vw.ReshapeObservation(batch(Boxes), (3,))
vw.DtypeObservation(batch(DictEnv), np.float32)
"""

VECTOR = """
vector.VectorWrapper(3)
vector.VectorObservationWrapper(3)
vector.SyncVectorEnv([Plain], observation_mode=(3, 3))
vector.SyncVectorEnv([Plain], observation_mode="else")
vector.SyncVectorEnv([Plain, Boxes])
vector.SyncVectorEnv([Plain, lambda: broken(observation_space=Discrete(5))])
vector.SyncVectorEnv([Plain, lambda: broken(action_space=Discrete(5))])
vector.SyncVectorEnv([Boxes, Wide], observation_mode="different")
vector.SyncVectorEnv([Boxes], observation_mode=(Box(0, 1, (3,)), Box(0, 1, (1, 3))))
batch().reset(seed=[1, 2, 3])
batch().reset(options={"reset_mask": [True, False]})
batch().reset(options={"reset_mask": np.array([True])})
batch().reset(options={"reset_mask": np.array([1, 0])})
batch().reset(options={"reset_mask": np.array([False, False])})
batch().set_attr("x", [1, 2, 3])
vector.AsyncVectorEnv([Plain], observation_mode=(3, 3))
vector.AsyncVectorEnv([Plain], observation_mode="else")
vector.AsyncVectorEnv([Plain], max_concurrency=1.5)
vector.AsyncVectorEnv([Plain], max_concurrency=0)
vector.AsyncVectorEnv([Plain], worker=lambda a: None)
vector.AsyncVectorEnv([lambda: broken(observation_space=Raising())])
vector.AsyncVectorEnv([Plain, Boxes])
vector.AsyncVectorEnv([Plain, lambda: broken(observation_space=Discrete(5))])
vector.AsyncVectorEnv([Plain, lambda: broken(action_space=Discrete(5))])
vector.AsyncVectorEnv([Boxes, Wide], observation_mode="different")
vector.AsyncVectorEnv([Boxes], observation_mode=(Box(0, 1, (3,)), Box(0, 1, (1, 3))))
workers(lambda envs: envs.reset(seed=[1, 2, 3]))
workers(lambda envs: envs.reset(options={"reset_mask": [True, False]}))
workers(lambda envs: envs.reset(options={"reset_mask": np.array([True])}))
workers(lambda envs: envs.reset(options={"reset_mask": np.array([1, 0])}))
workers(lambda envs: envs.reset(options={"reset_mask": np.array([False, False])}))
workers(lambda envs: [envs.reset_async(), envs.reset_async()])
workers(lambda envs: [envs.reset_async(), envs.step_async([0, 0])])
workers(lambda envs: [envs.reset_async(), envs.call_async("x")])
workers(lambda envs: [envs.reset_async(), envs.set_attr("x", 1)])
workers(lambda envs: [envs.reset(), envs.step_async([0, 0]), envs.step_async([0, 0])])
workers(lambda envs: envs.reset_wait())
workers(lambda envs: envs.step_wait())
workers(lambda envs: envs.call_wait())
workers(lambda envs: envs.set_attr("x", [1, 2, 3]))
workers(lambda envs: [envs.close(), envs.reset()])
workers(lambda envs: [envs.close(), envs.step([0, 0])])
workers(lambda envs: [envs.close(), envs.call("x")])
workers(lambda envs: [envs.reset_async(), envs.close()])
silently(lambda: workers(lambda envs: envs.call("reset")))
workers(lambda envs: [envs.reset(), envs.step_async([0, 0]), envs.step_wait(timeout=0)], Slow)
silently(lambda: workers(lambda envs: envs.reset(), FailingReset))
"""


def rows(table: str) -> list[str]:
    """Return the expressions of a table; an indented line continues the one before."""
    found: list[str] = []
    for line in filter(None, table.splitlines()):
        if line.startswith((" ", ")")):
            found[-1] += line.strip()
        else:
            found.append(line)
    return found


@pytest.mark.parametrize("expression", rows(SPACES))
def test_spaces(expression: str) -> None:
    check(expression)


@pytest.mark.parametrize("expression", rows(BATCHES))
def test_batches(expression: str) -> None:
    check(expression)


@pytest.mark.parametrize("expression", rows(REGISTRY))
def test_registry(expression: str) -> None:
    check(expression)


@pytest.mark.parametrize("expression", rows(CORE))
def test_core(expression: str) -> None:
    check(expression)


@pytest.mark.parametrize("expression", rows(CHECKERS))
def test_checkers(expression: str) -> None:
    check(expression)


@pytest.mark.parametrize("expression", rows(WRAPPERS))
def test_wrappers(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    check(expression)


@pytest.mark.parametrize("expression", rows(VECTOR))
def test_vector(expression: str) -> None:
    check(expression)


@pytest.mark.parametrize("expression", rows(PLAY))
def test_play(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    check(expression)
