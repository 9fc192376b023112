"""The functional CliffWalking walks like Gymnasium's, from every place."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import gymcore
from tests.envs.functional import modules, same, same_signatures, same_spaces, step_both


def both() -> list[Any]:
    return list(modules("tabular.cliffwalking"))


def test_names_and_signatures() -> None:
    ours, theirs = both()
    for name in ("CliffWalkingFunctional", "CliffWalkingJaxEnv"):
        same_signatures(getattr(ours, name), getattr(theirs, name))
    functions = [one.CliffWalkingFunctional() for one in (ours, theirs)]
    same_spaces(*functions)
    assert str(functions[0].metadata) == str(functions[1].metadata)
    assert ours.EnvState._fields == theirs.EnvState._fields
    kept = len(ours.RenderStateType._fields)
    assert ours.RenderStateType._fields == theirs.RenderStateType._fields[:kept]
    envs = [one.CliffWalkingJaxEnv() for one in (ours, theirs)]
    same_spaces(*envs)
    assert envs[0].metadata == envs[1].metadata
    assert functions[0].get_default_params() is functions[1].get_default_params() is None


def test_functions_from_every_place() -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    modules_ = both()
    key = jax.random.PRNGKey(1)
    same(*(tuple(one.CliffWalkingFunctional().initial(key)) for one in modules_))
    for row in range(4):
        for column in range(12):
            place = jnp.array([row, column])
            same(*(one.fell_off(place) for one in modules_))
            for action in range(-1, 5):
                results = []
                for module in modules_:
                    functions = module.CliffWalkingFunctional()
                    old = module.EnvState(place, -1, jnp.array([False]))
                    new = functions.transition(old, jnp.array([action]), key)
                    results.append(
                        (
                            *new,
                            functions.observation(new),
                            functions.terminal(new),
                            functions.reward(old, action, new),
                            functions.reward(new, action, old),
                            functions.state_info(new),
                            functions.transition_info(old, action, new),
                        )
                    )
                same(*results)


def test_episodes() -> None:
    """Episodes cross the cliff and fall over it."""
    both()
    around = [0, *[1] * 11, 2]
    random = np.random.default_rng(4).integers(4, size=150).tolist()
    actions = [np.array([action], np.int32) for action in (*around, *random, *around)]
    assert step_both("tabular/CliffWalking-v0", actions) >= 1


def test_the_shortest_way_pays_13() -> None:
    both()
    env = gymcore.make("tabular/CliffWalking-v0")
    env.reset(seed=1)
    rewards, terminated = 0.0, False
    for action in (0, *[1] * 11, 2):
        assert not terminated
        _, reward, terminated, _, _ = env.step(np.array([action]))
        rewards += reward
    assert (rewards, terminated) == (-13, True)
    env.reset()
    observation, reward, terminated, _, _ = env.step(np.array([1]))
    assert (int(observation[0]), reward, terminated) == (36, -100, False)


def test_batches_are_of_single_environments() -> None:
    both()
    envs = gymcore.make_vec("tabular/CliffWalking-v0", num_envs=2)
    observations, _ = envs.reset(seed=1)
    assert observations.tolist() == [[36], [36]]
    assert envs.step(np.array([[0], [1]]))[0].tolist() == [[24], [36]]
    envs.close()


def test_a_compiled_batch() -> None:
    """Gymnasium cannot make one, because states are tuples."""
    from gymcore.envs.functional_jax_env import FunctionalJaxVectorEnv

    ours, _ = both()
    envs = FunctionalJaxVectorEnv(ours.CliffWalkingFunctional(), 2, max_episode_steps=3)
    assert envs.reset(seed=1)[0].tolist() == [[36], [36]]
    for step, (places, rewards) in enumerate(
        [([24, 36], [-1, -100]), ([12, 36], [-1, -100]), ([0, 36], [-1, -100]), ([36, 36], [0, 0])]
    ):
        observations, paid, terminated, truncated, _ = envs.step(np.array([[0], [1]]))
        assert observations[:, 0].tolist() == places
        assert paid.tolist() == rewards
        assert not terminated.any() and bool(truncated.all()) == (step == 2)


def test_a_pickle_holds_the_arguments() -> None:
    ours, _ = both()
    env = ours.CliffWalkingJaxEnv()
    same(env.reset(seed=1), pickle.loads(pickle.dumps(env)).reset(seed=1))


def test_pictures() -> None:
    pytest.importorskip("pygame")
    jax = pytest.importorskip("jax")

    ours, theirs = both()
    states = []
    for module in (ours, theirs):
        functions = module.CliffWalkingFunctional()
        state, render_state = functions.initial(jax.random.PRNGKey(1)), functions.render_init()
        render_state, frame = functions.render_image(state, render_state)
        assert (frame.shape, frame.dtype) == ((256, 768, 3), np.uint8)
        assert functions.render_close(render_state) is None
        states.append(render_state)
    assert states[0][1:4] == states[1][1:4]
    assert states[0].screen.get_size() == states[1].screen.get_size()
    same(states[0].cliff, states[1].cliff)
    env = gymcore.make("tabular/CliffWalking-v0", render_mode="rgb_array")
    env.reset(seed=1)
    frames = [np.asarray(env.render())]
    env.step(np.array([0]))
    frames.append(np.asarray(env.render()))
    assert frames[0].shape == (256, 768, 3)
    assert (frames[0] != frames[1]).any()
    env.close()
