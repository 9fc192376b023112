"""The functional physics environments equal Gymnasium's, function by function and in episodes.

Single functions agree up to float32 rounding: the compiler may reorder operations.
"""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from tests.envs.functional import modules, same, same_signatures, same_spaces, step_both

NAMES = ("CartPole", "Pendulum")
OTHER_PARAMS: dict[str, list[dict[str, Any]]] = {
    "CartPole": [
        {},
        {"gravity": 3.0, "force_mag": 4.0, "tau": 0.1, "x_init": 0.5, "masscart": 7.0},
        {"masspole": 0.4, "total_mass": 2.0, "length": 0.8, "polemass_length": 0.3},
        {"sutton_barto_reward": True},
        {"sutton_barto_reward": True, "x_threshold": 0.2, "theta_threshold_radians": 0.1},
    ],
    "Pendulum": [
        {},
        {"g": 3.0, "m": 2.0, "l": 0.7, "dt": 0.2},
        {"max_speed": 0.5, "high_x": 0.3, "high_y": 6.0},
    ],
}
CASES = [(name, number) for name in NAMES for number in range(len(OTHER_PARAMS[name]))]


def parts(name: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Return modules, functions and classes of parameters."""
    both = list(modules(f"phys2d.{name.lower()}"))
    return (
        both,
        [getattr(one, f"{name}Functional")() for one in both],
        [getattr(one, f"{name}Params") for one in both],
    )


def random_action(name: str, random: np.random.Generator) -> Any:
    if name == "CartPole":
        return int(random.integers(2))
    return random.uniform(-3, 3, 1).astype(np.float32)


@pytest.mark.parametrize("name", NAMES)
def test_names_and_signatures(name: str) -> None:
    (ours, theirs), functions, _ = parts(name)
    for suffix in ("Functional", "JaxEnv", "JaxVectorEnv"):
        same_signatures(getattr(ours, name + suffix), getattr(theirs, name + suffix))
    for other in ("StateType", "PRNGKeyType"):
        assert getattr(ours, other) == getattr(theirs, other)
    assert ours.RenderStateType == theirs.RenderStateType
    same_spaces(*functions)
    package, other_package = modules("phys2d")
    assert package.__all__ == other_package.__all__


@pytest.mark.parametrize("name", NAMES)
def test_parameters(name: str) -> None:
    jax = pytest.importorskip("jax")

    _, functions, (ours, theirs) = parts(name)
    assert repr(ours()) == repr(theirs()) == repr(functions[0].default_params)
    for field, value in vars(theirs()).items():
        assert getattr(ours, field) == value
        changed = ours().replace(**{field: 3})
        assert repr(changed) == repr(theirs().replace(**{field: 3}))
        assert repr(functions[0].get_default_params(**{field: 3})) == repr(changed)
    assert ours() == ours() != changed
    assert hash(ours()) == hash(ours())
    with pytest.raises(AttributeError):
        changed.tau = 2
    assert jax.tree_util.tree_leaves(ours()) == jax.tree_util.tree_leaves(theirs())
    doubled = jax.tree_util.tree_map(lambda leaf: 2 * leaf, ours())
    assert type(doubled) is ours
    with pytest.raises(TypeError):
        ours(no_such_field=1)


@pytest.mark.parametrize(("name", "number"), CASES)
def test_functions(name: str, number: int) -> None:
    jax = pytest.importorskip("jax")

    _, functions, classes = parts(name)
    params = [one(**OTHER_PARAMS[name][number]) for one in classes]
    random = np.random.default_rng(number)
    key = jax.random.PRNGKey(number)
    rows = list(zip(functions, params, strict=True))
    for _ in range(12):
        key, this = jax.random.split(key)
        state, other = (function.initial(this, param) for function, param in rows)
        same(state, other)
        # Also beyond the ends of episodes.
        state = state * np.float32(random.choice([1, 5, 20]))
        action = random_action(name, random)
        following = [one.transition(state, action, None, param) for one, param in rows]
        same(*following, exactly=False)
        compared = [
            (
                function.observation(state, this, param),
                function.terminal(state, this, param),
                function.terminal(following[1], this, param),
                function.reward(state, action, following[1], this, param),
                function.reward(following[1], action, state, this, param),
                function.state_info(state, param),
                function.transition_info(state, action, following[1], param),
            )
            for function, param in rows
        ]
        same(*compared, exactly=False)


@pytest.mark.parametrize("name", NAMES)
def test_default_arguments_are_the_default_parameters(name: str) -> None:
    jax = pytest.importorskip("jax")

    _, functions, (params, _) = parts(name)
    key, action = jax.random.PRNGKey(5), random_action(name, np.random.default_rng(1))
    for function in functions[:1]:
        state = function.initial(key)
        same(state, function.initial(key, params()))
        same(function.transition(state, action), function.transition(state, action, None, params()))


@pytest.mark.parametrize("action", [0.5, 1.7, 2, -1, True, np.array(0), np.int64(1)])
def test_actions_of_cartpole_of_other_kinds(action: Any) -> None:
    _, functions, _ = parts("CartPole")
    same(*(one.transition(np.zeros(4, np.float32), action, None) for one in functions))


def test_pendulums_largest_torque_is_an_option() -> None:
    _, functions, _ = parts("Pendulum")
    strong = [type(one)({"max_torque": 5.0}) for one in functions]
    same_spaces(*strong)
    state, action = np.array([1.0, 0.2], np.float32), np.array([9.0], np.float32)
    for function in ("transition", "reward"):
        extra = (None,) if function == "transition" else (state, None)
        ours, theirs, weak = (
            getattr(one, function)(state, action, *extra) for one in (*strong, functions[0])
        )
        same(ours, theirs, exactly=False)
        assert not np.allclose(np.asarray(ours), np.asarray(weak))


@pytest.mark.parametrize("env_id", ["phys2d/CartPole-v0", "phys2d/CartPole-v1"])
@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
def test_episodes_of_cartpole(env_id: str) -> None:
    modules("phys2d.cartpole")
    random = np.random.default_rng(2)
    actions = [random_action("CartPole", random) for _ in range(300)]
    assert step_both(env_id, actions, exactly=False) > 5


def test_episodes_of_pendulum() -> None:
    modules("phys2d.pendulum")
    random = np.random.default_rng(2)
    actions = [random_action("Pendulum", random) for _ in range(250)]
    assert step_both("phys2d/Pendulum-v0", actions, exactly=False, max_episode_steps=60) == 4


@pytest.mark.parametrize("name", NAMES)
def test_metadata_and_attributes(name: str) -> None:
    (ours, theirs), _, _ = parts(name)
    one, other = (getattr(each, f"{name}JaxEnv")() for each in (ours, theirs))
    assert dict_of(one.metadata) == dict_of(other.metadata)
    same_spaces(one, other)
    batch, other_batch = (getattr(each, f"{name}JaxVectorEnv")(3) for each in (ours, theirs))
    same_spaces(batch, other_batch)
    assert batch.time_limit == other_batch.time_limit == 200
    assert dict_of(batch.metadata) | dict_of(other_batch.metadata) == dict_of(batch.metadata)
    # Gymnasium's Pendulum lacks this entry, and its make_vec warns about that.
    assert batch.metadata["autoreset_mode"] is gymcore.vector.AutoresetMode.NEXT_STEP
    with pytest.raises(TypeError):
        getattr(ours, f"{name}JaxEnv")(gravity=1.0)


def dict_of(metadata: dict[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in metadata.items()}


@pytest.mark.parametrize("mode", [None, "vector_entry_point"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:.*missing AutoresetMode:UserWarning")
def test_batches(name: str, mode: str | None) -> None:
    """Except for the reward of a step that resets, which is 0 here."""
    modules("phys2d")
    env_id = {"CartPole": "phys2d/CartPole-v1", "Pendulum": "phys2d/Pendulum-v0"}[name]
    ours, theirs = (
        gym.make_vec(env_id, num_envs=4, vectorization_mode=mode, max_episode_steps=12)
        for gym in (gymcore, gymnasium)
    )
    assert type(ours).__name__ == type(theirs).__name__ == f"{name}JaxVectorEnv"
    assert ours.time_limit == theirs.time_limit == 12
    same(*(envs.reset(seed=4) for envs in (ours, theirs)))
    random, begun = np.random.default_rng(1), np.zeros(4, bool)
    for _ in range(40):
        actions = np.array([random_action(name, random) for _ in range(4)])
        one, other = (envs.step(actions) for envs in (ours, theirs))
        same(one[0], other[0], exactly=False)
        same(one[1], np.where(begun, 0, other[1]), exactly=False)
        same(one[2:], other[2:])
        begun = np.asarray(one[2] | one[3])
    same(ours.rng, theirs.rng)
    ours.close()
    theirs.close()


def test_limits_of_batches_are_those_of_the_ids() -> None:
    modules("phys2d")
    for env_id, limit in (("phys2d/CartPole-v1", 500), ("phys2d/Pendulum-v0", 200)):
        envs: Any = gymcore.make_vec(env_id, num_envs=2)
        assert envs.time_limit == limit


@pytest.mark.parametrize("name", NAMES)
def test_pickles_continue_the_episode(name: str) -> None:
    (ours, _), _, _ = parts(name)
    env = getattr(ours, f"{name}JaxEnv")(options={"kept": 7})
    again = pickle.loads(pickle.dumps(env))
    same(env.reset(seed=1), again.reset(seed=1))
    assert again.func_env.kept == 7
    envs = getattr(ours, f"{name}JaxVectorEnv")(3, max_episode_steps=9)
    again = pickle.loads(pickle.dumps(envs))
    assert (again.num_envs, again.time_limit) == (3, 9)
    for each, actions in ((env, 1), (envs, [1, 0, 1])):
        each.reset(seed=2)
        if name == "Pendulum":
            actions = np.asarray(actions, np.float32).reshape(-1, 1)
            actions = actions[0] if each is env else actions
        other = pickle.loads(pickle.dumps(each))
        same(each.step(actions), other.step(actions))


def test_parameters_with_a_row_a_lane() -> None:
    """The purpose of the functions: other parameters in each lane, and gradients."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    _, (functions, _), (params, _) = parts("CartPole")
    states = jax.vmap(functions.initial)(jax.random.split(jax.random.PRNGKey(1), 3))
    gravities = jnp.array([1.0, 9.8, 20.0])

    def step(state: Any, gravity: Any) -> Any:
        return functions.transition(state, 1, None, params(gravity=gravity))

    batch = jax.jit(jax.vmap(step))(states, gravities)
    for lane in range(3):
        same(batch[lane], step(states[lane], gravities[lane]), exactly=False)
    slope = jax.grad(lambda gravity: step(states[0], gravity)[3])(9.8)
    assert np.isfinite(float(slope)) and float(slope) != 0
