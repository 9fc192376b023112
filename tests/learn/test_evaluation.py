"""`evaluate`: which episodes count, what is reported of them, and policies of every kind."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import gymcore as gym
from gymcore.error import ArgumentTypeError, InvalidArgument, UnsupportedMode
from gymcore.learn import PPO, evaluate
from gymcore.learn.policies import policy_function
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers import RecordEpisodeStatistics, TransformReward

MODES = [mode.value for mode in AutoresetMode]


class Lengths(gym.Env):
    """Episodes of lane k last 1, 2, 3, ... times k + 1 steps and succeed if that is even."""

    observation_space = gym.spaces.Box(-1, 99, (2,), np.float64)
    action_space: ClassVar[gym.Space] = gym.spaces.Discrete(3, start=5)

    def __init__(self, lane: int, name: str | None = "is_success") -> None:
        self.lane, self.name, self.episode = lane, name, 0

    def reset(self, *, seed: int | None = None, options: Any = None):
        super().reset(seed=seed)
        self.episode, self.t = self.episode + 1, 0
        return np.zeros(2), {"is_success": True}

    def step(self, action: Any):
        self.t += 1
        last = (self.lane + 1) * self.episode
        infos = {} if self.name is None else {self.name: last % 2 == 0}
        return np.full(2, self.t), float(action), self.t >= last, False, infos


def batch(mode: str = "NextStep", num_envs: int = 3, **kwargs: Any) -> SyncVectorEnv:
    functions = [lambda lane=lane: Lengths(lane, **kwargs) for lane in range(num_envs)]
    return SyncVectorEnv(functions, autoreset_mode=mode)


def fives(observations: np.ndarray) -> np.ndarray:
    return np.full(len(observations), 5)


@pytest.mark.parametrize("mode", MODES)
def test_each_lane_plays_its_share(mode: str) -> None:
    evaluation = evaluate(fives, batch(mode), 8)
    lengths = [1, 2, 3, 2, 4, 6, 3, 6]
    assert evaluation.lengths.tolist() == lengths
    assert evaluation.returns.tolist() == [5.0 * each for each in lengths]
    assert evaluation.successes.tolist() == [each % 2 == 0 for each in lengths]
    assert evaluate(fives, batch(mode), 2).lengths.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["success", "is_success", None])
def test_successes_are_those_of_the_last_steps(name: str | None) -> None:
    summary = evaluate(fives, batch("Disabled", name=name), 3).summary()
    assert summary.get("success_rate") == (None if name is None else 1 / 3)
    assert summary["length"] == {
        "mean": 2.0, "std": pytest.approx((2 / 3) ** 0.5), "median": 2.0, "min": 1.0, "max": 3.0,
    }  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("engine", ["native", "sync"])
def test_a_lane_of_one_episode_each_equals_the_loop(mode: str, engine: str) -> None:
    def upright(observations: np.ndarray) -> np.ndarray:
        return (observations[:, 2] > 0).astype(int)

    envs = gym.make_vec("CartPole-v1", num_envs=10)
    observations, _ = envs.reset(seed=1000)
    returns, running = np.zeros(10), np.ones(10, np.bool_)
    while running.any():
        observations, rewards, terminated, truncated, _ = envs.step(upright(observations))
        returns += rewards * running
        running &= ~(terminated | truncated)
    options = {"autoreset_mode": mode}
    envs = gym.make_vec("CartPole-v1", 10, vectorization_mode=engine, vector_kwargs=options)
    evaluation = evaluate(upright, envs, 10, seed=1000)
    np.testing.assert_array_equal(evaluation.returns, returns)
    assert evaluation.mean == returns.mean()
    assert evaluation.summary()["return"]["std"] == returns.std()
    assert evaluation.successes is None


@pytest.mark.parametrize("mode", MODES)
def test_statistics_precede_changes_of_rewards(mode: str) -> None:
    def make() -> gym.Env:
        return TransformReward(RecordEpisodeStatistics(Lengths(3)), lambda reward: 1)

    evaluation = evaluate(fives, SyncVectorEnv([make], autoreset_mode=mode), 2)
    assert evaluation.returns.tolist() == [20.0, 40.0]
    assert evaluation.lengths.tolist() == [4, 8]


def test_agents_and_checkpoints(tmp_path) -> None:
    ppo = PPO("CartPole-v1", seed=1, num_envs=8)
    ppo.update()
    ppo.save(tmp_path / "a.npz")
    envs = gym.make_vec("CartPole-v1", num_envs=4)
    first = evaluate(ppo, envs, 4, seed=1).returns
    for policy in (ppo.act, tmp_path / "a.npz", str(tmp_path / "a.npz")):
        assert evaluate(policy, envs, 4, seed=1).returns.tolist() == first.tolist()
    with pytest.raises(InvalidArgument, match=r"a\.npz: trained on CartPole-v1, expected single_"):
        evaluate(tmp_path / "a.npz", gym.make_vec("Pendulum-v1"))


def test_torch_modules() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")

    class Scores(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores = torch.nn.Parameter(torch.tensor([[0.0, 0.0, 9.0]]))
            self.dropout, self.frozen = torch.nn.Dropout(0.99), torch.nn.Dropout().eval()

        def forward(self, x: Any) -> Any:
            assert x.dtype == torch.float32 and not self.dropout.training
            assert not torch.is_grad_enabled()
            return self.dropout(self.scores.expand(len(x), 3) + 1)

    module = Scores()
    assert evaluate(module, batch(), 3).returns.tolist() == [7.0, 14.0, 21.0]
    assert module.dropout.training and not module.frozen.training
    far = torch.nn.Linear(3, 1)  # beyond Pendulum's bounds, to which its actions are clipped
    torch.nn.init.constant_(far.bias, 1e6)
    evaluate(far, gym.make_vec("Pendulum-v1", num_envs=2, max_episode_steps=3), 2)
    pair = torch.nn.LSTM(2, 3)
    with pytest.raises(
        InvalidArgument, match=r"policy: expected a tensor from the module, got .*t"
    ):
        evaluate(pair, batch())


class Recurrent:
    """A model with Stable-Baselines3's `predict`, which acts by the number of the step."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None,
        deterministic: bool = False,
    ) -> Any:  # fmt: skip
        assert deterministic
        state = np.zeros(len(observation)) if state is None else state
        if episode_start is not None:
            state[episode_start] = 0
            np.testing.assert_array_equal(state, observation[:, 0])  # the number of the step
        return np.full(len(observation), 5), state + 1


@pytest.mark.parametrize("mode", MODES)
def test_recurrent_models_are_told_where_episodes_begin(mode: str) -> None:
    evaluation = evaluate(Recurrent(), batch(mode), 9)
    assert evaluation.lengths.sum() == 6 + 12 + 18
    with pytest.raises(UnsupportedMode, match="only evaluation supports recurrent policies"):
        policy_function(Recurrent(), batch())(np.zeros((3, 2)), None)


def test_models_of_stable_baselines() -> None:
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    model = sb3.PPO("MlpPolicy", "CartPole-v1", n_steps=8, batch_size=8, seed=1, device="cpu")
    envs = gym.make_vec("CartPole-v1", num_envs=3)
    returns = [evaluate(policy, envs, 3, seed=1).returns for policy in (model, model.policy)]
    act = lambda observations: model.predict(observations, deterministic=True)[0]  # noqa: E731
    np.testing.assert_array_equal(returns, [evaluate(act, envs, 3, seed=1).returns] * 2)


@pytest.mark.parametrize(
    ("arguments", "problem", "message"),
    [
        ((fives, None), ArgumentTypeError, "envs: expected a vector environment, .* got None"),
        ((fives, Lengths(0)), ArgumentTypeError, "envs: expected a vector environment"),
        ((3, batch()), ArgumentTypeError, "policy: expected a function of observations, .* got 3"),
        ((fives, batch(), 0), InvalidArgument, "episodes: expected at least 1, got 0"),
        ((fives, batch(), 2.5), ArgumentTypeError, "episodes: expected an integer, got 2.5"),
        (("no.npz", batch()), OSError, r"no\.npz"),
    ],
    ids=["envs", "single", "policy", "none", "fraction", "file"],
)
def test_bad_arguments(arguments, problem, message: str) -> None:
    with pytest.raises(problem, match=message):
        evaluate(*arguments)
