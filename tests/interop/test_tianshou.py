"""Tianshou's collectors and trainers, unchanged, on `gymcore.interop.tianshou`."""

from __future__ import annotations

import numpy as np
import pytest

import gymcore as gym

pytest.importorskip("tianshou")
gymnasium = pytest.importorskip("gymnasium")

from tianshou.algorithm import DQN  # noqa: E402
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy  # noqa: E402
from tianshou.algorithm.optim import AdamOptimizerFactory  # noqa: E402
from tianshou.data import Collector, VectorReplayBuffer  # noqa: E402
from tianshou.env import DummyVectorEnv  # noqa: E402
from tianshou.highlevel.env import EnvFactoryRegistered, VectorEnvType  # noqa: E402
from tianshou.trainer import OffPolicyTrainerParams  # noqa: E402
from tianshou.utils.net.common import Net  # noqa: E402

from gymcore.interop.tianshou import GymcoreFactory, TianshouVectorEnv, make_venv  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # warnings of Tianshou and torch


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1"])
def test_steps_are_those_of_a_dummy_vector_env_of_gymnasium(env_id):
    ours = make_venv(env_id, 4)
    theirs = DummyVectorEnv([lambda: gymnasium.make(env_id)] * 4)
    assert len(ours) == 4
    assert ours.action_space == theirs.action_space
    assert ours.observation_space == theirs.observation_space
    ours.seed(3)
    rows = [worker.env.reset(seed=3 + i)[0] for i, worker in enumerate(theirs.workers)]
    observations, infos = ours.reset()
    np.testing.assert_array_equal(observations, np.stack(rows))
    assert infos.shape == (4,)
    generator = np.random.default_rng(1)
    for _ in range(60):
        ids = generator.permutation(4)[: generator.integers(1, 5)]
        actions = generator.integers(0, 2, len(ids))
        mine, other = ours.step(actions, ids), theirs.step(actions, ids)
        for k in range(4):
            np.testing.assert_allclose(mine[k], other[k], rtol=1e-5, atol=1e-5)
        assert [info["env_id"] for info in mine[4]] == ids.tolist()
        assert [sorted(info) for info in mine[4]] == [sorted(info) for info in other[4]]
        if (ended := ids[mine[2] | mine[3]]).size:
            observations, infos = ours.reset(ended)
            expected, other_infos = theirs.reset(ended)
            np.testing.assert_array_equal(observations, expected)
            assert [sorted(info) for info in infos] == [sorted(info) for info in other_infos]
    ours.close()


def test_attributes_seeds_and_frames():
    envs = make_venv("CartPole-v1", 3, render_mode="rgb_array")
    assert envs.seed([7, 8, 9]) == [[7], [8], [9]]
    first = envs.reset()[0]
    envs.seed(7)
    np.testing.assert_array_equal(envs.reset([0, 1, 2])[0], first)
    np.testing.assert_array_equal(envs.reset(2, seed=[None, None, 9])[0], first[2:])
    envs.set_env_attr("length", 0.7, [1])
    assert envs.get_env_attr("length") == [0.5, 0.7, 0.5]
    assert envs.get_env_attr("length", 1) == [0.7]
    assert [frame.shape for frame in envs.render()] == [(400, 600, 3)] * 3
    envs.close()
    with pytest.raises(gym.error.UnsupportedMode, match="expected autoreset mode DISABLED"):
        TianshouVectorEnv(gym.make_vec("CartPole-v1", 2))


def algorithm_for(envs: TianshouVectorEnv) -> DQN:
    space = envs.action_space[0]
    net = Net(state_shape=envs.observation_space[0].shape, action_shape=space.n, hidden_sizes=[16])
    policy = DiscreteQLearningPolicy(model=net, action_space=space, eps_training=0.5)
    return DQN(policy=policy, optim=AdamOptimizerFactory())


def test_a_collector_collects_whole_episodes():
    envs = make_venv("CartPole-v1", 4)
    collector = Collector(algorithm_for(envs), envs, VectorReplayBuffer(4000, 4))
    collector.reset()
    stats = collector.collect(n_episode=9, random=True)
    assert stats.n_collected_episodes == 9
    assert stats.lens.sum() == stats.n_collected_steps == stats.returns.sum()
    envs.close()


def test_an_algorithm_trains_on_what_the_factory_makes():
    factory = EnvFactoryRegistered(
        task="CartPole-v1", venv_type=VectorEnvType.DUMMY, envpool_factory=GymcoreFactory()
    )
    envs = factory.create_envs(num_training_envs=4, num_test_envs=2, seed=1)
    assert isinstance(envs.training_envs, TianshouVectorEnv)
    algorithm = algorithm_for(envs.training_envs)
    result = algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=Collector(
                algorithm, envs.training_envs, VectorReplayBuffer(1000, 4)
            ),
            test_collector=Collector(algorithm, envs.test_envs),
            max_epochs=1,
            epoch_num_steps=64,
            collection_step_num_env_steps=16,
            test_step_num_episodes=2,
            update_step_num_gradient_steps_per_sample=0.1,
            show_progress=False,
        )
    )
    assert result.best_reward > 0
