"""PPO: gradients against finite differences, checkpoints, learning."""

from __future__ import annotations

import json
import re
import zipfile

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.learn import PPO, Settings
from gymcore.learn.ppo import Moments, Network

SMALL = {"num_envs": 4, "num_steps": 16, "minibatch": 32, "epochs": 2}


def loss(ppo, observations, actions, old, old_values, advantages, returns):
    """Return PPO's loss in float64, written as in the paper."""
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    _, outputs, values = ppo._network.forward(ppo._inputs(observations).astype(np.float64))
    if ppo._network.log_std is None:
        probs = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
        log_probs = np.log(probs[np.arange(len(actions)), actions])
        entropy = -(probs * np.log(probs)).sum(axis=1)
    else:
        std = np.exp(ppo._network.log_std.astype(np.float64))
        log_probs = -0.5 * (((actions - outputs) / std) ** 2 + np.log(2 * np.pi * std**2))
        log_probs = log_probs.sum(axis=1)
        entropy = 0.5 * np.log(2 * np.pi * np.e * std**2).sum()
    ratio = np.exp(log_probs - old)
    clip = ppo.settings.clip
    surrogate = np.minimum(ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages)
    room = ppo.settings.clip_value
    near = old_values + np.clip(values - old_values, -room, room)
    errors = np.maximum((values - returns) ** 2, (near - returns) ** 2)
    ppo.parts = {
        "policy_loss": -surrogate.mean(),
        "value_loss": errors.mean(),
        "entropy": np.mean(entropy),
        "kl": (ratio - 1 - np.log(ratio)).mean(),
        "clip_fraction": (abs(ratio - 1) > clip).mean(),
    }
    return (ppo.settings.value * errors - surrogate - ppo.settings.entropy * entropy).mean()


@pytest.mark.parametrize("clip_value", [np.inf, 0.5])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_gradients_are_those_of_the_loss(env_id, clip_value, monkeypatch):
    random = np.random.default_rng(1)
    options = {"entropy": 0.1, "max_gradient": 1e9, "clip_value": clip_value}
    ppo = PPO(env_id, seed=1, **SMALL, hidden=(5, 4), **options)
    network, n = ppo._network, 32
    # Larger weights than the initial ones, in float64 for exact differences.
    flat = network.parameters + random.normal(size=len(network.parameters)) * 0.3
    monkeypatch.setattr(ppo, "_take_adam_step", lambda: None)
    network.parameters[...] = flat
    observations = random.normal(size=(n, ppo._space.shape[0])).astype(np.float32)
    values = network.forward(ppo._inputs(observations))[2]
    actions, old, _ = ppo._sample(observations)
    old = old + random.normal(size=n).astype(np.float32) * 0.3  # some steps are clipped
    # Values have moved by less and more than 0.5, toward the returns and away from them.
    old_values, returns = values + random.normal(size=n), values + random.normal(size=n)
    batch = (observations, actions, old, old_values, random.normal(size=n), returns)
    losses = ppo._learn(*batch)
    gradients = network.gradients.copy()
    loss(ppo, *batch)
    assert losses._asdict() == pytest.approx(ppo.parts, rel=1e-4)
    step, checked = 1e-3, [*random.choice(len(flat), 25, replace=False).tolist(), len(flat) - 1]
    for k in checked:
        before, differences = network.parameters[k], []
        for sign in (1, -1):
            network.parameters[k] = before + sign * step
            differences.append(sign * loss(ppo, *batch))
        network.parameters[k] = before
        assert gradients[k] == pytest.approx(sum(differences) / (2 * step), rel=0.05, abs=2e-3), k


def test_an_update_ends_early_at_the_target_kl():
    """One minibatch moves the policy too far; the next one detects it and changes nothing."""
    ppo = PPO("CartPole-v1", seed=1, **SMALL, target_kl=1e-6, learning_rate=0.01)
    metrics = ppo.update()
    assert ppo._adam_steps == 1 and metrics["kl"] > 1e-6
    ppo = PPO("CartPole-v1", seed=1, **SMALL, target_kl=1e6, learning_rate=0.01)
    ppo.update()
    assert ppo._adam_steps == SMALL["epochs"] * 2


def test_the_learning_rate_decreases_to_0(tmp_path):
    options = {"anneal": True, "learning_rate": 0.4, "total_steps": 4 * 64}
    ppo, rates = PPO("CartPole-v1", seed=1, **SMALL, **options), []
    ppo.train(lambda ppo, metrics: rates.append(metrics["learning_rate"]))
    assert rates == pytest.approx([0.4, 0.3, 0.2, 0.1]) and ppo.learning_rate == 0
    parameters = ppo._network.parameters.copy()
    ppo.update()
    assert (ppo._network.parameters == parameters).all()
    ppo.save(tmp_path / "a.npz")
    assert PPO.load(tmp_path / "a.npz", total_steps=640).learning_rate == pytest.approx(0.2)


def test_metrics_of_updates():
    ppo, updates = PPO("CartPole-v1", seed=1, **SMALL, total_steps=10**6), []

    def callback(ppo, metrics):
        updates.append((ppo.steps, metrics))
        return len(updates) == 5

    ppo.train(callback)
    assert [steps for steps, _ in updates] == [64, 128, 192, 256, 320]
    metrics = updates[-1][1]
    assert metrics["return"] == metrics["length"] == ppo.curve[-1][2]  # a reward of 1 per step
    assert set(metrics) == {
        "return", "length", "policy_loss", "value_loss", "entropy", "kl", "clip_fraction",
        "explained_variance", "learning_rate", "steps_per_second",
    }  # fmt: skip
    values, (_, returns) = ppo._collector.rollout.values, ppo._collector.advantages(0.98, 0.9)
    explained = 1 - (returns - values).var() / returns.var()
    assert metrics["explained_variance"] == pytest.approx(explained, rel=1e-4)
    assert metrics["steps_per_second"] > 0
    assert "return" not in PPO("Pendulum-v1", seed=1, **SMALL).update()  # no episode has ended


def test_training_ends_at_the_target():
    ppo = PPO("CartPole-v1", seed=1, **SMALL)
    ppo.train(target=12)
    assert len(ppo.recent) == 100 and ppo.mean_return >= 12
    steps = ppo.steps
    ppo.train(target=12)
    assert ppo.steps == steps < ppo.settings.total_steps


def test_layers_begin_orthogonal():
    random = np.random.default_rng(0)
    network = Network(6, (8, 5), 3, False, random)
    for layer in network._weights[:4:2]:
        for matrix in layer:
            small = matrix @ matrix.T if matrix.shape[0] < matrix.shape[1] else matrix.T @ matrix
            np.testing.assert_allclose(small, 2 * np.eye(len(small)), atol=1e-5)


def test_moments_are_those_of_all_rows():
    random = np.random.default_rng(0)
    rows, moments = random.normal(5, 3, size=(100, 2)), Moments(2)
    for part in np.split(rows, [1, 7, 60]):
        moments.add(part)
    wanted = [rows.mean(axis=0), rows.var(axis=0), np.full(2, 100.0)]
    np.testing.assert_allclose(moments.values, wanted)
    np.testing.assert_allclose(moments.deviation, rows.std(axis=0))


def contents(path):
    """Return the members of an .npz file, as bytes."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_a_resumed_training_equals_an_uninterrupted_one(env_id, tmp_path):
    whole = PPO(env_id, seed=3, **SMALL)
    for _ in range(4):
        whole.update()
    whole.save(tmp_path / "whole.npz")
    first = PPO(env_id, seed=3, **SMALL)
    for _ in range(2):
        first.update()
    first.save(tmp_path / "part.npz")
    resumed = PPO.load(tmp_path / "part.npz")
    resumed.save(tmp_path / "again.npz")
    assert contents(tmp_path / "again.npz") == contents(tmp_path / "part.npz")
    for _ in range(2):
        resumed.update()
    resumed.save(tmp_path / "resumed.npz")
    assert contents(tmp_path / "resumed.npz") == contents(tmp_path / "whole.npz")
    other = PPO(env_id, seed=4, **SMALL)
    for _ in range(4):
        other.update()
    assert (other._network.parameters != whole._network.parameters).any()


def test_lanes_of_python_begin_new_episodes(tmp_path):
    ppo = PPO("Line-v0", seed=1, **SMALL)
    ppo.update()
    ppo.save(tmp_path / "a.npz")
    resumed = PPO.load(tmp_path / "a.npz")
    assert (resumed.steps, resumed.curve) == (ppo.steps, ppo.curve)
    resumed.update()
    assert resumed.steps == 2 * ppo.steps


@pytest.fixture(autouse=True)
def line():
    gym.register("Line-v0", "tests.learn.reference:Line", max_episode_steps=50)
    yield
    del gym.registry["Line-v0"]


def test_checkpoints_are_not_pickles(tmp_path):
    ppo = PPO("CartPole-v1", seed=1, **SMALL)
    ppo.save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        arrays = dict(file)
    metadata = json.loads(str(arrays["metadata"]))
    assert metadata["id"] == "CartPole-v1" and metadata["settings"]["num_envs"] == 4
    assert PPO.load(tmp_path / "a.npz", num_envs=2, learning_rate=1.0).settings.num_envs == 2


def test_files_that_are_not_checkpoints(tmp_path):
    path, ppo = tmp_path / "a.npz", PPO("CartPole-v1", seed=1, **SMALL)
    ppo.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    metadata = json.loads(str(arrays["metadata"]))
    bad = {
        "metadata": np.array("{}"),
        "parameters": np.zeros(3, np.float32),
        "lanes": np.zeros(4),
        "curve": np.zeros(2),
        "moments_0": np.zeros(2),
    }
    for name, array in bad.items():
        np.savez(path, **{**arrays, name: array})
        with pytest.raises(error.InvalidArgument):
            PPO.load(path)
    np.savez(path, **{**arrays, "metadata": np.array(json.dumps({**metadata, "version": 99}))})
    with pytest.raises(error.InvalidArgument, match="version 1, got 99"):
        PPO.load(path)
    np.savez(path, metadata=np.array([None]))
    with pytest.raises(error.InvalidArgument, match="not a checkpoint"):
        PPO.load(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(error.InvalidArgument, match="not a checkpoint"):
        PPO.load(path)
    with pytest.raises(FileNotFoundError):
        PPO.load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("num_envs", 0, "at least 1, got 0"),
        ("total_steps", 0, "at least 1, got 0"),
        ("learning_rate", float("nan"), "at least 1e-09, got nan"),
        ("gamma", -0.1, "at least 0, got -0.1"),
        ("gamma", 5, "at most 1, got 5"),
        ("gae_lambda", 1.5, "at most 1, got 1.5"),
        ("clip", 0.0, "at least 1e-09, got 0.0"),
        ("entropy", -1.0, "at least 0, got -1.0"),
        ("max_gradient", float("inf"), "at most 1.79769e"),
        ("target_kl", 0, "at least 1e-09, got 0"),
        ("clip_value", float("nan"), "at least 1e-09, got nan"),
        ("hidden", (8, 0), "at least 1, got 0"),
        ("hidden", (), "at least one layer, got none"),
    ],
)
def test_settings_out_of_range(name, value, message):
    with pytest.raises(error.InvalidArgument, match=f"^{name}: expected {re.escape(message)}"):
        Settings(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("minibatch", 16.5, "an integer, got 16.5"),
        ("epochs", "3", "an integer, got '3'"),
        ("gamma", "0.9", "a number, got '0.9'"),
        ("hidden", 64, "a sequence of sizes, got 64"),
        ("hidden", (8.0,), "an integer, got 8.0"),
        ("normalize", 2, "a bool, got 2"),
        ("anneal", "no", "a bool, got 'no'"),
    ],
)
def test_settings_of_another_type(name, value, message):
    with pytest.raises(error.ArgumentTypeError, match=f"^{name}: expected {re.escape(message)}"):
        Settings(**{name: value})


def test_settings_at_the_ends_of_their_ranges(tmp_path):
    """NumPy's numbers are converted, because checkpoints contain JSON."""
    ends = {"value": 0, "gae_lambda": np.float32(0), "gamma": 1, "minibatch": np.int64(3)}
    ends |= {"target_kl": np.inf, "clip_value": 1e-9}
    ppo = PPO("CartPole-v1", **SMALL | ends, hidden=[4])
    ppo.update()
    assert np.isfinite(ppo._network.parameters).all()
    ppo.save(tmp_path / "a.npz")
    assert PPO.load(tmp_path / "a.npz").settings == ppo.settings
    assert vars(ppo.settings).items() >= {**ends, "hidden": (4,)}.items()


def test_bad_settings_for_a_checkpoint(tmp_path):
    path = tmp_path / "a.npz"
    PPO("CartPole-v1", seed=1, **SMALL).save(path)
    with pytest.raises(error.InvalidArgument, match=r"^gamma: expected at least 0, got -1$"):
        PPO.load(path, gamma=-1)
    with pytest.raises(error.ArgumentTypeError, match=r"^minibatch: expected an integer"):
        PPO.load(path, minibatch=2.5)
    with pytest.raises(error.InvalidArgument, match=r"^hidden: expected \(32,\) as in the chec"):
        PPO.load(path, hidden=(8,))
    with pytest.raises(TypeError, match="rate"):
        PPO.load(path, rate=3)


def test_environments_that_it_cannot_learn():
    spaces = gym.spaces
    for space in (
        spaces.MultiDiscrete([2, 2]), spaces.MultiBinary(2), spaces.Box(0, 5, (2,), np.int64),
        spaces.Box(0, 255, (2,), np.uint8), spaces.Dict(a=spaces.Discrete(2)),
    ):  # fmt: skip
        with pytest.raises(error.UnsupportedMode, match=f"got {re.escape(str(space))}"):
            aim(space)
    with pytest.raises(error.UnsupportedMode, match=r"got images, Box\(0, 255, \(96, 96, 3\)"):
        PPO("CarRacing-v3")
    with pytest.raises(TypeError, match="rate"):
        PPO("CartPole-v1", rate=3)


@pytest.mark.parametrize(
    ("env_id", "observations"),
    [
        ("CartPole-v1", np.zeros(4)),
        ("CartPole-v1", np.zeros((3, 5))),
        ("CartPole-v1", np.zeros((0, 5))),
        ("CartPole-v1", np.zeros((2, 2, 2))),
        ("CartPole-v1", np.zeros(())),
        ("CartPole-v1", "x"),
        ("CartPole-v1", {"a": 1}),
        ("CartPole-v1", None),
        ("Taxi-v4", 3),
        ("Taxi-v4", np.zeros((4, 1), np.int64)),
        ("Taxi-v4", [500]),
        ("Blackjack-v1", (np.zeros(2, np.int64), np.zeros(2, np.int64))),
        ("Blackjack-v1", tuple(np.zeros((3, 2, 1), np.int64))),
    ],
)
def test_observations_of_another_space(env_id, observations):
    ppo = PPO(env_id, seed=1, num_envs=2, num_steps=1)
    with pytest.raises(error.InvalidArgument, match="observations: expected a batch of"):
        ppo.act(observations)


def test_acting_keeps_no_arrays_of_other_batch_sizes():
    ppo = PPO("CartPole-v1", seed=1, **SMALL)
    ppo.update()
    sizes = set(ppo._network._buffers)
    actions = [ppo.act(np.full((n, 4), 0.1)) for n in (1, 7, 300)]
    assert set(ppo._network._buffers) == sizes and len(set(np.concatenate(actions))) == 1


class Aim(gym.Env):
    """The reward is 1 less the distance of the action from a point, as a fraction of the range."""

    observation_space = gym.spaces.Box(-1, 1, (1,))

    def __init__(self, action_space, at=0.0):
        self.action_space, self.at = action_space, at

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        assert action in self.action_space
        low, high = self.action_space.low, self.action_space.high
        reward = 1 - np.abs(action - low - self.at * (high - low)).mean() / np.mean(high - low)
        return np.zeros(1, np.float32), float(reward), True, False, {}


def aim(space, **options):
    """Return an agent for `Aim`, which is registered only while the agent is made."""
    gym.register("Aim-v0", Aim, kwargs={"action_space": space, "at": 0.75})
    try:
        return PPO("Aim-v0", seed=1, num_envs=32, num_steps=8, minibatch=128, **options)
    finally:
        del gym.registry["Aim-v0"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.Box(-1, 1, (1,)),
        gym.spaces.Box(0, 100, (1,)),
        gym.spaces.Box(-0.002, 0.001, (2,), np.float64),
        gym.spaces.Box(1e6, 3e6, (2, 2)),
        gym.spaces.Box(3, 7, ()),
        gym.spaces.Box(np.array([0, 50], np.float32), np.array([1, 60], np.float32)),
    ],
)
def test_actions_of_a_bounded_box_are_scaled(space):
    ppo = aim(space, total_steps=3200, learning_rate=0.01)
    ppo.train()
    (action,) = ppo.act(np.zeros((1, 1)))
    assert action in space
    np.testing.assert_allclose((action - space.low) / (space.high - space.low), 0.75, atol=0.1)


def test_actions_without_a_range_are_not_scaled():
    largest = np.finfo(np.float32).max
    low = np.array([-np.inf, 0, -largest], np.float32)
    ppo = aim(gym.spaces.Box(low, np.array([np.inf, np.inf, largest], np.float32)))
    assert ppo._offset.tolist() == [0] * 3 and ppo._factor.tolist() == [1] * 3
    ppo = aim(gym.spaces.Box(0, 100, (1,)), scale_actions=False)
    assert (ppo._offset, ppo._factor) == (0, 1)


@pytest.mark.parametrize("num_workers", [1, 2])
def test_workers_change_nothing(num_workers):
    agents = [PPO("Line-v0", seed=1, **SMALL, num_workers=n) for n in (None, num_workers)]
    for ppo in agents:
        ppo.update()
    parameters = [ppo._network.parameters for ppo in agents]
    np.testing.assert_array_equal(*parameters)
    assert agents[1].envs.unwrapped.num_workers == num_workers
    for ppo in agents:
        ppo.close()


def test_it_learns():
    ppo = PPO("CartPole-v1", seed=1)
    while ppo.steps < 20_000:
        ppo.update()
    assert ppo.curve[-1][2] > 3 * ppo.curve[0][2]
    envs = gym.make_vec("CartPole-v1", 8)
    observations, _ = envs.reset(seed=1)
    total = np.zeros(8)
    for _ in range(100):
        observations, rewards, *_ = envs.step(ppo.act(observations))
        total += rewards
    assert total.mean() > 60


@pytest.mark.slow
def test_it_learns_from_dicts_with_missions():
    ppo = PPO("MiniGrid-Empty-5x5-v0", seed=1, num_envs=8, total_steps=12_000)
    ppo.train(target=0.85)
    assert ppo.mean_return >= 0.85
    observations, _ = gym.make_vec("MiniGrid-Empty-5x5-v0", num_envs=3).reset(seed=0)
    assert ppo.act(observations).shape == (3,)


TARGETS = {
    "CartPole-v1": 475, "Acrobot-v1": -100, "MountainCar-v0": -110,
    "MountainCarContinuous-v0": 90, "Pendulum-v1": -200, "LunarLander-v3": 200,
    "FrozenLake-v1": 0.7, "CliffWalking-v1": -20, "Taxi-v4": 7,
    "Blackjack-v1": -0.1, "MiniGrid-Empty-8x8-v0": 0.9, "MiniGrid-DoorKey-5x5-v0": 0.9,
    "MiniGrid-Empty-5x5-v0": np.inf,
}  # fmt: skip


@pytest.mark.parametrize("env_id", TARGETS)
def test_targets_of_ids(env_id):
    if env_id == "LunarLander-v3":
        pytest.importorskip("Box2D", reason="Box2D is not installed")
    assert PPO(env_id, num_envs=1).settings.target == TARGETS[env_id]
    assert PPO(env_id, num_envs=1, target=3).settings.target == 3


def test_a_draw_of_zero_does_not_warn():
    class Zeros:
        def standard_exponential(self, shape, dtype):
            return np.zeros(shape, dtype)

    ppo = PPO("CartPole-v1", seed=1, num_envs=2, num_steps=4)
    ppo._random = Zeros()
    assert np.isfinite(ppo._sample(np.zeros((2, 4), np.float32))[1]).all()


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("env_id", [each for each in TARGETS if TARGETS[each] < np.inf])
def test_it_solves(env_id):
    ppo = PPO(env_id, seed=1)
    ppo.train()
    assert ppo.mean_return >= TARGETS[env_id]
