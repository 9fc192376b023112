"""TorchRL's own checks, collectors and losses on `gymcore.interop.torchrl`."""

from __future__ import annotations

import numpy as np
import pytest

import gymcore as gym
from gymcore import spaces
from gymcore.spaces.utils import unflatten

torch = pytest.importorskip("torch")
pytest.importorskip("tensordict")
pytest.importorskip("torchrl.collectors")

from tensordict.nn import TensorDictModule  # noqa: E402
from torchrl.collectors import Collector  # noqa: E402
from torchrl.envs import RewardSum, StepCounter, TransformedEnv, check_env_specs  # noqa: E402
from torchrl.modules import ProbabilisticActor, ValueOperator  # noqa: E402
from torchrl.objectives import ClipPPOLoss  # noqa: E402
from torchrl.objectives.value import GAE  # noqa: E402

from gymcore.interop.torchrl import TorchRLEnv, TorchRLWorlds, make_env, to_spec  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # warnings of TorchRL and torch


@pytest.mark.parametrize(
    "env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1", "HalfCheetah-v5"]
)
def test_its_checks_of_environments(env_id):
    env = make_env(env_id, 3)
    check_env_specs(env, seed=1)
    env.close()


def test_rollouts_reset_what_has_ended_and_equal_our_own_steps():
    env = make_env("CartPole-v1", 3, max_episode_steps=12)
    env.set_seed(7)
    data = env.rollout(60, break_when_any_done=False)
    same = gym.make_vec(
        "CartPole-v1", 3, max_episode_steps=12, vector_kwargs={"autoreset_mode": "Disabled"}
    )
    observations, _ = same.reset(seed=7)
    for t in range(60):
        step = data[:, t]
        np.testing.assert_array_equal(step["observation"], observations)
        observations, rewards, terminated, truncated, _ = same.step(step["action"].numpy())
        np.testing.assert_array_equal(step["next", "observation"], observations)
        np.testing.assert_array_equal(step["next", "reward"][:, 0], rewards)
        np.testing.assert_array_equal(step["next", "terminated"][:, 0], terminated)
        np.testing.assert_array_equal(step["next", "truncated"][:, 0], truncated)
        ended = terminated | truncated
        if ended.any():
            observations, _ = same.reset(options={"reset_mask": ended})
    assert data["next", "done"].sum() >= 12
    assert env.rollout(60).shape[1] <= 12
    env.close()


@pytest.mark.parametrize(
    "env_id", ["mpe/simple_spread_v3", "mpe/simple_adversary_v3", "Foraging-5x5-2p-1f-v3"]
)
def test_its_checks_of_worlds(env_id):
    env = make_env(env_id, 3)
    assert isinstance(env, TorchRLWorlds)
    check_env_specs(env, seed=1)
    env.close()


def test_rollouts_of_worlds_equal_our_own_steps():
    env = make_env("mpe/simple_adversary_v3", 2, max_cycles=4)
    env.set_seed(3)
    data = env.rollout(10, break_when_any_done=False)
    same = gym.make_vec(
        "mpe/simple_adversary_v3", 2, max_cycles=4, vector_kwargs={"autoreset_mode": "Disabled"}
    )
    observations, _ = same.reset(seed=3)
    for t in range(10):
        step = data[:, t]
        actions = {group: step[group, "action"].numpy() for group in ("adversary", "agent")}
        for group, numbers in observations.items():
            np.testing.assert_array_equal(step[group, "observation"], numbers)
        observations, rewards, terminated, truncated, _ = same.step(actions)
        np.testing.assert_array_equal(
            step["next", "agent", "reward"][..., 0], rewards[:, 1:].astype(np.float32)
        )
        ended = (terminated | truncated).all(axis=1)
        np.testing.assert_array_equal(step["next", "done"][:, 0], ended)
        if ended.any():
            observations, _ = same.reset(options={"reset_mask": ended})
    assert data["next", "done"].sum() == 4 and data["next", "agent", "mask"].all()
    env.close()


def test_a_policy_trains():
    env = TransformedEnv(make_env("CartPole-v1", 8))
    env.append_transform(StepCounter())
    env.append_transform(RewardSum())
    net = torch.nn.Linear(4, 2)
    actor = ProbabilisticActor(
        TensorDictModule(net, in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        spec=env.action_spec,
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )
    critic = ValueOperator(torch.nn.Linear(4, 1), in_keys=["observation"])
    loss = ClipPPOLoss(actor, critic)
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-2)
    before = net.weight.detach().clone()
    collector = Collector(env, actor, frames_per_batch=256, total_frames=512)
    for batch in collector:
        advantage(batch)
        values = loss(batch.reshape(-1))
        optimizer.zero_grad()
        sum(value for key, value in values.items() if key.startswith("loss_")).backward()
        optimizer.step()
        assert batch["next", "step_count"].max() > 8
    collector.shutdown()
    assert (net.weight != before).any()


def test_what_is_refused():
    with pytest.raises(gym.error.UnsupportedMode, match="expected autoreset mode DISABLED"):
        TorchRLEnv(gym.make_vec("CartPole-v1", 2))
    with pytest.raises(gym.error.UnsupportedMode, match="expected worlds of several agents"):
        options = {"autoreset_mode": "Disabled"}
        TorchRLWorlds(gym.make_vec("CartPole-v1", 2, vector_kwargs=options))
    with pytest.raises(gym.error.UnsupportedMode, match="TorchRL has no spec for Seq"):
        to_spec(spaces.Sequence(spaces.Text(5)), 2)


def test_texts_are_numbers():
    env = make_env("MiniGrid-DoorKey-5x5-v0", 3)
    check_env_specs(env)
    missions = env.rollout(2)["observation", "mission"]
    assert missions.shape == (3, 2, 512) and missions.dtype == torch.uint8
    space = env.envs.single_observation_space["mission"]
    text = "use the key to open the door and then get to the goal"
    assert unflatten(space, missions[2, 1].numpy()) == text
    env.close()


def test_specs_of_nested_spaces():
    space = spaces.Dict(
        pair=spaces.Tuple([spaces.MultiDiscrete([3, 4]), spaces.MultiBinary(5)]),
        free=spaces.Box(-np.inf, np.inf, (2,), np.float64),
    )
    spec = to_spec(space, 6)
    assert spec["pair", "0"].shape == (6, 2) and spec["pair", "1"].shape == (6, 5)
    assert spec["free"].shape == (6, 2) and spec["free"].dtype == torch.float64
