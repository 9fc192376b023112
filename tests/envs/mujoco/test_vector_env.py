"""Batches of MuJoCo simulations: lanes equal single environments, however they are stepped."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import mujoco
import numpy as np
import pytest

from gymcore import error
from gymcore.vector import AutoresetMode
from tests.envs.mujoco.hanging import HangingEnv, actions, hanging
from tests.vector.contract import same_bytes

MODES = tuple(AutoresetMode)


def play(envs: Any, batches: Any, seed: int | None = 7) -> list[Any]:
    """Return all results of a run; ended lanes are reset by mask if there is no autoreset."""
    results: list[Any] = [envs.reset(seed=seed)]
    for batch in batches:
        result = envs.step(batch)
        results.append(result)
        ended = result[2] | result[3]
        if envs.autoreset_mode is AutoresetMode.DISABLED and ended.any():
            results.append(envs.reset(options={"reset_mask": ended}))
    return results


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("num_threads", [2, 5])
def test_threads_change_nothing(mode: AutoresetMode, num_threads: int) -> None:
    one = hanging(7, autoreset_mode=mode, num_threads=1, max_episode_steps=40)
    more = hanging(7, autoreset_mode=mode, num_threads=num_threads, max_episode_steps=40)
    batches = actions(one, 120)
    assert same_bytes(play(one, batches), play(more, batches))


def test_every_processor_by_default() -> None:
    assert hanging(2).num_threads <= 2
    assert hanging(1).num_threads == 1
    assert hanging(3, num_threads=8).num_threads == 3


@pytest.mark.parametrize("mode", MODES)
def test_lanes_are_single_environments(mode: AutoresetMode) -> None:
    envs = hanging(3, autoreset_mode=mode)
    singles = [HangingEnv() for _ in range(3)]
    observations, infos = envs.reset(seed=3)
    ended = np.zeros(3, bool)
    for lane, single in enumerate(singles):
        row, info = single.reset(seed=3 + lane)
        assert observations[lane].tobytes() == row.tobytes()
        assert {key for key in infos if key[0] != "_"} == info.keys() == {"tip", "x"}
        assert infos["x"][lane] == info["x"]
    for batch in actions(envs, 100):
        if mode is AutoresetMode.DISABLED and ended.any():
            observations, _ = envs.reset(options={"reset_mask": ended})
            for lane in np.flatnonzero(ended):
                assert observations[lane].tobytes() == singles[lane].reset()[0].tobytes()
        observations, rewards, terminated, truncated, infos = envs.step(batch)
        for lane, single in enumerate(singles):
            if mode is AutoresetMode.NEXT_STEP and ended[lane]:
                row, info = single.reset()
                assert "speed" not in info
                assert "speed" not in infos or not infos["_speed"][lane]
                assert (rewards[lane], terminated[lane]) == (0.0, False)
            else:
                row, reward, ends, _, info = single.step(batch[lane])
                assert (rewards[lane], terminated[lane]) == (reward, ends)
                if mode is AutoresetMode.SAME_STEP and ends:
                    assert infos["final_obs"][lane].tobytes() == row.tobytes()
                    assert infos["final_info"]["speed"][lane] == info["speed"]
                    row, info = single.reset()
                    assert "_speed" not in infos or not infos["_speed"][lane]
                else:
                    assert infos["speed"][lane] == info["speed"]
                    assert infos["_speed"][lane]
            assert observations[lane].tobytes() == row.tobytes()
            assert infos["tip"][lane].tobytes() == info["tip"].tobytes()
        ended = terminated | truncated
    assert infos["tip"].shape == (3, 3)


def test_step_infos_are_gone_when_all_lanes_begin() -> None:
    envs = hanging(2, max_episode_steps=1)
    envs.reset(seed=0)
    assert "speed" in envs.step(np.zeros((2, 1)))[4]
    infos = envs.step(np.zeros((2, 1)))[4]
    assert "speed" not in infos
    assert "_speed" not in infos
    assert infos["_x"].all()


def test_partial_batches() -> None:
    envs = hanging(5, batch_size=2)
    whole = hanging(5)
    batch = actions(envs, 1)[0]
    envs.reset(seed=1)
    whole.reset(seed=1)
    expected = whole.step(batch)[0]
    envs.send(batch, np.arange(5))
    seen = []
    while len(seen) < 4:
        observations, *_, infos = envs.recv()
        for row, lane in zip(observations, infos["env_id"], strict=True):
            assert row.tobytes() == expected[lane].tobytes()
            seen.append(int(lane))
    assert len(set(seen)) == 4


def test_some_lanes_are_stepped() -> None:
    envs, whole = hanging(6, num_threads=2), hanging(6)
    envs.reset(seed=1)
    whole.reset(seed=1)
    batch = actions(envs, 1)[0]
    expected = whole.step(batch)
    some = np.array([4, 0, 5, 1])
    observations, rewards, *_ = envs.step(batch[some], env_ids=some)
    assert observations.tobytes() == expected[0][some].tobytes()
    assert rewards.tobytes() == expected[1][some].tobytes()


def test_rollout_and_step_into() -> None:
    envs, other = hanging(4, num_threads=2), hanging(4)
    batches = actions(envs, 30)
    envs.reset(seed=2)
    rolled = envs.rollout(batches)
    results = play(other, batches, seed=2)[1:]
    for k, name in enumerate(("observations", "rewards", "terminated", "truncated")):
        expected = np.stack([result[k] for result in results])
        assert getattr(rolled, name).tobytes() == expected.tobytes()
    out = {
        "observations": np.empty((4, 7)),
        "rewards": np.empty(4),
        "terminated": np.empty(4, bool),
        "truncated": np.empty(4, bool),
    }
    expected = other.step(batches[0])
    infos = envs.step_into(batches[0], **out)
    assert out["observations"].tobytes() == expected[0].tobytes()
    assert infos["speed"].tobytes() == expected[4]["speed"].tobytes()


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy, None])
def test_saved_lanes_go_on(copied: Any) -> None:
    envs = hanging(3)
    batches = actions(envs, 60)
    envs.reset(seed=1)
    for batch in batches[:20]:
        envs.step(batch)
    if copied is None:
        other = hanging(3)
        other.set_state(envs.get_state())
    else:
        other = copied(envs)
        other = pickle.loads(other) if isinstance(other, bytes) else other
    for batch in batches[20:]:
        assert same_bytes(envs.step(batch), other.step(batch))


def test_single_environments_are_copied() -> None:
    env = HangingEnv()
    env.reset(seed=1)
    env.step(np.ones(1))
    twin, saved = pickle.loads(pickle.dumps(env)), env.get_state()
    other = HangingEnv()
    other.set_state(saved)
    assert env._get_obs().tobytes() == twin._get_obs().tobytes() == other._get_obs().tobytes()
    for _ in range(30):
        expected = env.step(np.ones(1))
        assert same_bytes(expected, twin.step(np.ones(1)))
        assert same_bytes(expected, other.step(np.ones(1)))
    assert same_bytes(env.reset(), twin.reset())


def test_lanes_with_models_of_their_own() -> None:
    envs = hanging(3)
    masses = np.repeat(envs.get_attr("body_mass")[0][None], 3, axis=0)
    masses[:, 2] *= [1.0, 2.0, 4.0]
    envs.set_attr("body_mass", masses)
    assert np.array_equal(np.stack(envs.get_attr("body_mass")), masses)
    singles = [HangingEnv() for _ in range(3)]
    envs.reset(seed=0)
    for lane, (single, mass) in enumerate(zip(singles, masses, strict=True)):
        single.model.body_mass[:] = mass
        mujoco.mj_setConst(single.model, mujoco.MjData(single.model))
        single.reset(seed=lane)
    twin = pickle.loads(pickle.dumps(envs))
    for batch in actions(envs, 20):
        observations = envs.step(batch)[0]
        for lane, single in enumerate(singles):
            assert observations[lane].tobytes() == single.step(batch[lane])[0].tobytes()
        assert observations.tobytes() == twin.step(batch)[0].tobytes()


@pytest.mark.parametrize(("source", "target"), [([0], [1]), ([0, 1], [1, 0])])
def test_copies_of_lanes_have_their_models(source: list[int], target: list[int]) -> None:
    envs = hanging(3)
    envs.reset(seed=0)
    envs.copy_lanes([0], [1])
    assert len({id(model) for model in envs.get_attr("model")}) == 1
    masses = np.stack(envs.get_attr("body_mass")) * [[1.0], [2.0], [4.0]]
    envs.set_attr("body_mass", masses)
    envs.set_attr("gravity", [[0.0, 0.0, -9.0], [0.0, 0.0, -3.0], [0.0, 0.0, -1.0]])
    envs.reset(seed=0)
    original = copy.deepcopy(envs)
    envs.copy_lanes(source, target)
    masses[target] = masses[source]
    assert np.array_equal(np.stack(envs.get_attr("body_mass")), masses)
    for _ in range(5):
        expected = original.step(np.ones((3, 1)))[0]
        observations = envs.step(np.ones((3, 1)))[0]
        assert observations[target].tobytes() == expected[source].tobytes()
    envs.set_attr("body_mass", masses[::-1])  # the copies are separate
    assert np.array_equal(np.stack(envs.get_attr("body_mass")), masses[::-1])


def test_options_of_the_simulation() -> None:
    envs = hanging(2)
    envs.set_attr("gravity", [[0.0, 0.0, -9.81], [0.0, 0.0, 0.0]])
    envs.reset(seed=0, options={"qpos": [0.0, 1.0], "qvel": [0.0, 0.0]})
    observations = envs.step(np.zeros((2, 1)))[0]
    assert observations[0, 1] < 0.99
    assert observations[1, 1] == 1.0
    envs.set_attr("gravity", [0.0, 0.0, -1.0])
    assert np.array_equal(envs.get_attr("gravity"), [[0.0, 0.0, -1.0]] * 2)
    envs.set_attr("density", [0.0, 1.2])
    assert np.array_equal(envs.get_attr("density"), [0.0, 1.2])


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("body_mass", [1.0], "body_mass: expected finite numbers of shape"),
        ("body_mass", [np.nan] * 3, "body_mass: expected finite"),
        ("gravity", "down", "gravity: expected finite numbers .* got str"),
        ("state", [0.0] * 3, "state: expected 2 positions and 2 velocities"),
    ],
)
def test_values_that_do_not_fit(name: str, values: Any, message: str) -> None:
    envs = hanging(2)
    before = envs.get_attr(name)
    with pytest.raises(error.InvalidArgument, match=message):
        envs.set_attr(name, values)
    assert same_bytes(before, envs.get_attr(name))


def test_weights_of_lanes() -> None:
    envs = hanging(2, effort_weight=[0.0, 10.0])
    assert envs.get_attr("effort_weight") == (0.0, 10.0)
    envs.reset(seed=1)
    _, rewards, *_, infos = envs.step(np.ones((2, 1)))
    assert rewards[0] == infos["speed"][0]
    assert rewards[1] == infos["speed"][1] - 10.0
    with pytest.raises(AttributeError, match="no attribute 'effort_wight'"):
        envs.set_attr("effort_wight", 1.0)


def test_states_are_read_and_set() -> None:
    envs = hanging(2)
    assert envs.get_attr("state") == (None, None)
    envs.set_attr("state", [[0.1, 0.2, 0.3, 0.4], [1.0, 2.0, 3.0, 4.0]])
    assert np.array_equal(envs.get_attr("state")[1], [1.0, 2.0, 3.0, 4.0])
    assert envs.step(np.zeros((2, 1)))[2].tolist() == [False, True]


def test_starts_that_are_asked_for() -> None:
    envs = hanging(3)
    rows = np.arange(6.0).reshape(3, 2) / 10
    observations, _ = envs.reset(seed=0, options={"qpos": rows})
    assert np.array_equal(observations[:, :2], rows)
    drawn = observations[:, 2:4]
    assert (drawn != 0.0).all()
    plain, _ = envs.reset(seed=0)
    assert np.array_equal(plain[:, 2:4], drawn)
    mask = np.array([False, True, False])
    options = {"reset_mask": mask, "qpos": [0.3, 0.4], "qvel": [0.0, 0.0]}
    observations, _ = envs.reset(options=options)
    assert observations[1, :4].tolist() == [0.3, 0.4, 0.0, 0.0]
    assert observations[[0, 2]].tobytes() == plain[[0, 2]].tobytes()
    env = HangingEnv()
    assert env.reset(options={"qpos": [0.1, 0.2]})[0][:2].tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    "options",
    [{"qpos": [0.0]}, {"qvel": np.zeros((2, 2))}, {"qpos": [np.inf, 0.0]}, {"qpos": "left"}],
)
def test_starts_that_do_not_fit(options: dict[str, Any]) -> None:
    envs = hanging(3)
    envs.reset(seed=0)
    before = envs.get_state()
    for reset in (envs.reset, HangingEnv().reset):
        with pytest.raises(error.Error, match="options\\['q"):
            reset(options=options)
    assert envs.get_state().tobytes() == before.tobytes()


def test_actions_of_any_type() -> None:
    envs, other = hanging(2), hanging(2)
    envs.reset(seed=0)
    other.reset(seed=0)
    for kind in (np.float32, np.float64, np.int64):
        batch = np.ones((2, 1), kind)
        assert envs.step(batch)[0].tobytes() == other.step(batch.astype(np.float64))[0].tobytes()
    precise = np.full((2, 1), 1 / 3)
    single = HangingEnv()
    single.reset(seed=0)
    for _ in range(3):
        single.step(np.ones(1))
    assert envs.step(precise)[0][0].tobytes() == single.step(np.full(1, 1 / 3))[0].tobytes()


@pytest.mark.parametrize(
    "batch", [np.zeros(2), np.zeros((2, 2)), np.full((2, 1), np.nan), "left", [[1.0], [1.0, 2.0]]]
)
def test_impossible_actions(batch: Any) -> None:
    envs = hanging(2)
    envs.reset(seed=0)
    before = envs.get_state()
    with pytest.raises(error.InvalidAction, match="actions"):
        envs.step(batch)
    assert envs.get_state().tobytes() == before.tobytes()
    env = HangingEnv()
    env.reset(seed=0)
    with pytest.raises(error.InvalidAction, match="ction"):
        env.step(batch)


def test_after_close() -> None:
    envs = hanging(2)
    envs.reset(seed=0)
    envs.close()
    with pytest.raises(error.ClosedEnvironmentError):
        envs.step(np.zeros((2, 1)))
    with pytest.raises(error.ClosedEnvironmentError):
        envs.reset()


def test_a_closed_single_environment_may_be_reset() -> None:
    env = HangingEnv()
    expected, _ = env.reset(seed=1)
    env.close()
    env.close()
    observation, _ = env.reset(seed=1)
    assert observation.tobytes() == expected.tobytes()
    env.step(np.zeros(1))
