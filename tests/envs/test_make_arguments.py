"""`make` and `make_vec` accept the same arguments, and refuse others with the same errors."""

from __future__ import annotations

import functools
import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.envs.registration import EnvSpec
from gymcore.vector import AutoresetMode

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "make": gymcore.make,
    "make_vec": functools.partial(gymcore.make_vec, num_envs=2),
    "sync": functools.partial(gymcore.make_vec, num_envs=2, vectorization_mode="sync"),
    "async": functools.partial(gymcore.make_vec, num_envs=2, vectorization_mode="async"),
}
ENDLESS = 10**9


def asked(name: str, id: Any, **arguments: Any) -> tuple[Any, list[str]]:
    """Return the result of one of the functions, and its warnings, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env = FUNCTIONS[name](id, **arguments)
    texts = (re.sub(r"\x1b\[[0-9;]*m", "", str(warning.message)) for warning in caught)
    return env, list(dict.fromkeys(texts))


def first_lane(env: Any, name: str) -> Any:
    """Return an attribute of an environment, or of the first one of a batch."""
    return env.get_attr(name)[0] if hasattr(env, "num_envs") else env.get_wrapper_attr(name)


def steps_until_truncated(env: Any, most: int = 6) -> int:
    """Return the length of an episode that a time limit ends; `ENDLESS` if none does."""
    env.reset(seed=1)
    for step in range(1, most + 1):
        action = env.action_space.sample()
        if np.all(env.step(action)[3]):
            return step
    return ENDLESS


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (3, 3),
        (np.int64(3), 3),
        (np.uint8(3), 3),
        (True, 1),
        (-1, ENDLESS),
        (np.int32(-1), ENDLESS),
        (None, 4),
        (2.0, TypeError("to be an integer, actually: <class 'float'>")),
        (np.float64(2), TypeError("to be an integer, actually: <class 'numpy.float64'>")),
        ("3", TypeError("to be an integer, actually: <class 'str'>")),
        ([3], TypeError("to be an integer, actually: <class 'list'>")),
        (0, ValueError("to be positive, actually: 0")),
        (False, ValueError("to be positive, actually: False")),
        (-2, ValueError("to be positive, actually: -2")),
        (np.int64(-2), ValueError("to be positive, actually: -2")),
    ],
)
def test_max_episode_steps(name: str, limit: Any, expected: int | Exception) -> None:
    spec = gymcore.spec("Pendulum-v1").copy(max_episode_steps=4)
    if isinstance(expected, Exception):
        message = f"Expect the `max_episode_steps` {expected}"
        with pytest.raises(type(expected), match=f"^{re.escape(message)}$") as caught:
            FUNCTIONS[name](spec, max_episode_steps=limit)
        assert isinstance(caught.value, error.Error)
        return
    env, texts = asked(name, spec, max_episode_steps=limit)
    assert steps_until_truncated(env) == expected
    assert texts == []
    env.close()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("mode", "warning"),
    [
        (None, None),
        ("rgb_array", None),
        ("rgb_array_list", None),
        ("foo", "is being initialised with render_mode='foo' that is not in the possible"),
        (3, "is being initialised with render_mode=3 that is not in the possible"),
    ],
)
def test_render_mode(name: str, mode: Any, warning: str | None) -> None:
    env, texts = asked(name, "CartPole-v1", render_mode=mode)
    assert env.render_mode == mode
    assert env.spec.kwargs["render_mode"] == (mode if name != "make" else env.unwrapped.render_mode)
    if name != "async":  # its workers have warnings of their own
        assert len(texts) == (warning is not None)
        assert all(warning is not None and warning in text for text in texts)
    env.close()


@pytest.mark.parametrize("name", ["make", "make_vec", "sync"])
def test_an_unknown_render_mode_cannot_be_rendered(name: str) -> None:
    env, _ = asked(name, "CartPole-v1", render_mode="foo", disable_env_checker=True)
    env.reset(seed=1)
    with pytest.raises(error.UnsupportedMode, match=r"render_mode: expected .*, got 'foo'"):
        env.render()


def test_a_render_mode_that_needs_a_wrapper_takes_single_environments() -> None:
    env = gymcore.make_vec("CartPole-v1", 2, render_mode="rgb_array_list")
    assert type(env).__name__ == "SyncVectorEnv"
    for mode in ("native", "vector_entry_point"):
        with pytest.raises(error.UnsupportedMode, match="'rgb_array_list' needs a wrapper"):
            gymcore.make_vec("CartPole-v1", 2, mode, render_mode="rgb_array_list")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("disabled", [True, False, None, 1, 0])
def test_disable_env_checker(name: str, disabled: Any) -> None:
    env, texts = asked(name, "CartPole-v1", disable_env_checker=disabled)
    assert texts == []
    if name in ("make", "sync"):
        single = env if name == "make" else env.envs[0]
        assert ("PassiveEnvChecker" in str(single)) is not bool(disabled)
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("id", "arguments"),
    [
        ("CartPole-v1", {"gravity": 1.0}),
        ("CartPole-v1", {"length": np.float32(0.75), "sutton_barto_reward": True}),
        ("MountainCar-v0", {"max_speed": 0.1, "goal_velocity": 0.02}),
        ("MountainCarContinuous-v0", {"power": 0.5}),
        ("Pendulum-v1", {"g": 5.0, "l": 2.0}),
        ("Acrobot-v1", {"LINK_LENGTH_1": 2.0}),
        ("FrozenLake-v1", {"map_name": "8x8"}),
    ],
)
def test_arguments_of_environments(name: str, id: str, arguments: dict[str, Any]) -> None:
    env, texts = asked(name, id, **arguments)
    assert texts == []
    for key in arguments.keys() - {"map_name"}:
        assert first_lane(env, key) == arguments[key]
    for spec in (env.spec, pickle.loads(pickle.dumps(env.spec))):
        assert {**spec.kwargs, **arguments} == spec.kwargs
        single = spec.make()
        assert all(
            getattr(single.unwrapped, key) == arguments[key]
            for key in arguments.keys() - {"map_name"}
        )
    env.close()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "arguments", [{"nope": 1}, {"gravity": 1.0, "nope": 1}, {"gravity": "much"}]
)
def test_arguments_that_environments_do_not_have(name: str, arguments: dict[str, Any]) -> None:
    wrong = "nope" if "nope" in arguments else "gravity"
    with pytest.raises(TypeError, match=wrong) as caught:
        FUNCTIONS[name]("CartPole-v1", **arguments)
    if wrong == "nope" and name in ("sync", "async"):  # checked before an environment is made
        expected = "Arguments of the environment: force_mag, gravity"
    else:
        expected = "was raised from the environment creator for CartPole-v1 with kwargs"
    assert expected in str(caught.value)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("id", "expected"),
    [
        (5, error.ArgumentTypeError),
        (None, error.ArgumentTypeError),
        (b"CartPole-v1", error.ArgumentTypeError),
        (["CartPole-v1"], error.ArgumentTypeError),
        ("CartPole-v9", error.VersionNotFound),
        ("CartPale-v1", error.NameNotFound),
        ("games/CartPole-v1", error.NamespaceNotFound),
        ("Cart Pole", error.Error),
        ("no_such_module:CartPole-v1", ModuleNotFoundError),
        (EnvSpec("Empty-v0"), error.Error),
    ],
)
def test_ids_that_are_refused(name: str, id: Any, expected: type[Exception]) -> None:
    with pytest.raises(expected) as ours:
        FUNCTIONS[name](id)
    if isinstance(id, str):
        with pytest.raises(expected, match=f"^{re.escape(str(ours.value))}$"):
            gymcore.make(id)
    assert isinstance(ours.value, TypeError) is (expected is error.ArgumentTypeError)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mode", ["native", "sync", "async"])
def test_the_spec_of_a_batch(name: str, mode: str) -> None:
    """The spec makes the batch and a single environment, also after JSON and pickle."""
    arguments: dict[str, Any] = {"max_episode_steps": np.int64(3), "g": np.float64(5)}
    options = {"autoreset_mode": AutoresetMode.SAME_STEP}
    batch = gymcore.make_vec("Pendulum-v1", 3, mode, options, **arguments)
    batch.close()
    copies = [
        batch.spec,
        pickle.loads(pickle.dumps(batch.spec)),
        EnvSpec.from_json(batch.spec.to_json()),
    ]
    for spec in copies:
        env = FUNCTIONS[name](spec, **({} if name == "make" else {"num_envs": None}))
        assert steps_until_truncated(env) == 3
        assert first_lane(env, "g") == 5.0
        if name != "make":
            assert env.num_envs == 3
            assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        if name == "make_vec":
            assert type(env) is type(batch)
        env.close()


def test_num_envs_that_is_not_given_is_not_one() -> None:
    spec = gymcore.make_vec("CartPole-v1", 3).spec
    assert gymcore.make_vec("CartPole-v1").num_envs == 1
    assert [gymcore.make_vec(spec, n).num_envs for n in (None, 1, np.int8(2))] == [3, 1, 2]


NOT_FLAGS = ("yes", 2, float("nan"), None, [], np.array([1, 2]))
NOT_TEXTS = (5, float("nan"), "agents", b"x", [3], np.array([1, 2]))
NOT_COUNTS = (float("nan"), 1.5, "x", [], 10**30, 2**31, -1, np.array([1, 2]))
NOT_DICTS = (5, "x", [1, 2], {3: 4}, np.array([1, 2]))
NONSENSE: dict[str, dict[str, tuple[Any, ...]]] = {
    "mpe/simple_spread_v3": {
        "N": NOT_COUNTS,
        "num_agent_neighbors": NOT_COUNTS,
        "continuous_actions": NOT_FLAGS,
        "curriculum": NOT_FLAGS,
        "dynamic_rescaling": NOT_FLAGS,
        "terminate_on_success": NOT_FLAGS,
        "render_mode": (5, "x", np.array([1, 2])),
    },
    "mpe/simple_world_comm_v3": dict.fromkeys(("num_good", "num_food"), NOT_COUNTS),
    "Foraging-8x8-2p-3f-v3": {
        "players": NOT_COUNTS,
        "force_coop": NOT_FLAGS,
        "grid_observation": NOT_FLAGS,
        "normalize_reward": NOT_FLAGS,
        "observe_agent_levels": NOT_FLAGS,
    },
    "rware-tiny-2ag-v2": {
        "n_agents": NOT_COUNTS,
        "layout": (5, b"x", ["g"], np.array([1, 2])),
        "image_observation_layers": NOT_TEXTS,
        "image_observation_directional": NOT_FLAGS,
        "normalised_coordinates": NOT_FLAGS,
    },
    "mamujoco/HalfCheetah-v1": {
        "agent_conf": (5, [1, 2], np.array([1, 2])),
        "agent_factorization": (5, "x", [], {}, {"nodes": 3}),
        "local_categories": (5, "x", [], [3], np.array([1, 2])),
        "global_categories": NOT_TEXTS,
    },
    "dm_control/cartpole-balance-v0": {
        "task": (5, [], np.array([1, 2])),
        "flat_observation": NOT_FLAGS,
        "task_kwargs": NOT_DICTS,
        "time_limit": (float("nan"), "x", [1], 0),
        "environment_kwargs": NOT_DICTS,
        "n_sub_steps": (0, "x", [1], 1.5, 10**30),
        "control_timestep": (0, float("nan"), float("inf"), "x", [1], 1e300),
    },
}
_GROUPS = {
    "time_limit": "task_kwargs",
    **dict.fromkeys(("n_sub_steps", "control_timestep"), "environment_kwargs"),
}


@pytest.mark.filterwarnings("ignore:.*is not in the possible render_modes")
@pytest.mark.parametrize(
    ("env_id", "name"), [(env_id, name) for env_id, names in NONSENSE.items() for name in names]
)
def test_arguments_of_families_are_refused_by_name(env_id: str, name: str) -> None:
    if env_id.startswith(("mamujoco", "dm_control")):
        pytest.importorskip("mujoco")
    group = _GROUPS.get(name)
    for value in NONSENSE[env_id][name]:
        arguments = {group: {name: value}} if group else {name: value}
        if name == "agent_factorization":
            arguments["agent_conf"] = "2x3"
        with pytest.raises(error.Error, match=f"^(len\\()?{name}.*: .*(got|actual)|n_sub_steps"):
            gymcore.make_vec(env_id, 2, **arguments)


def test_agents_observe_at_any_distance() -> None:
    pytest.importorskip("mujoco")
    env_id = "mamujoco/HalfCheetah-2x3-v1"
    near, all_joints, farther = (
        gymcore.make_vec(env_id, 1, agent_obsk=distance).single_observation_space
        for distance in (1, 5, 10**30)
    )
    assert near != all_joints == farther
