"""`gymcore collect --cluster`: with fragments made here, and with Ray on this machine."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tqdm import tqdm

import gymcore as gym
from gymcore.cli.cluster import ActorPolicy
from gymcore.cli.collect import Collector
from gymcore.cli.policies import Lanes, actions_of
from gymcore.cli.recording import Recording
from gymcore.distributed.fragment import FragmentMaker
from gymcore.learn import PPO
from tests.distributed import local_ray
from tests.distributed.policies import cartpole, random_bits

LANES, STEPS = 6, 200


class Cluster:
    """Two actors of three lanes, in this process; the second one is lost in the third round."""

    lost = 0

    def __init__(self):
        self.rounds = 0
        self.makers = [self.maker(0), self.maker(1)]

    def maker(self, actor, restart=0):
        return FragmentMaker(lambda: cartpole(3), random_bits_of_lanes, 1, actor, restart)

    def collect(self, weights, steps):
        self.rounds += 1
        if self.rounds == 3:
            self.lost = 1
            self.makers[1] = self.maker(1, restart=1)
        return [maker.collect(weights, steps) for maker in self.makers]


def random_bits_of_lanes(weights, observations, generator):
    return random_bits(weights, observations.T, generator)


def check_steps(data):
    """Check that every observation follows from the one before it, or starts an episode."""
    ended = data["terminated"] | data["truncated"]
    assert np.array_equal(np.argwhere(ended), data["final_indices"])
    following = np.concatenate([data["observations"][1:], data["last_observations"][None]])
    assert (np.abs(following[ended]) <= 0.05).all()  # the first one of an episode
    following[ended] = data["final_observations"]
    with gym.make_vec("CartPole-v1", LANES, max_episode_steps=-1) as envs:
        for observations, actions, expected in zip(
            data["observations"], data["actions"], following, strict=True
        ):
            envs.reset(seed=0)
            envs.set_attr("state", list(observations.astype(np.float64)))
            assert np.allclose(envs.step(actions)[0], expected, atol=1e-5)


def test_fragments_are_recorded_and_a_lost_actor_cuts_its_episodes():
    cluster = Cluster()
    envs = cartpole(LANES)
    recording = Recording(envs, STEPS)
    actions = actions_of("random", envs, 0)
    collector = Collector(envs, actions, steps=STEPS, seed=0, recording=recording, actors=cluster)
    collector._rows = 30
    collector.run(tqdm(disable=True))
    data = recording.arrays(next_step=False, metadata={})
    check_steps(data)
    ended = data["terminated"] | data["truncated"]
    assert ended[59, 3:].all() and (data["truncated"][59, 3:] ^ data["terminated"][59, 3:]).all()
    assert data["truncated"].sum() == data["truncated"][59, 3:].sum() > 0
    summary = collector.episodes.summary()
    assert summary["episodes"] == ended.sum() - data["truncated"].sum()
    assert collector.lost == 1 and collector.steps_done == STEPS
    assert np.array_equal(np.lexsort(data["final_indices"].T[::-1]), np.arange(ended.sum()))


def test_a_checkpoint_is_a_policy_of_actors(tmp_path):
    path = tmp_path / "cartpole.npz"
    ppo = PPO("CartPole-v1", seed=1, num_envs=4, num_steps=8)
    ppo.save(path)
    with cartpole() as envs:
        spaces = envs.single_observation_space, envs.single_action_space, envs.action_space
        policy = ActorPolicy(str(path), Lanes(envs.num_envs, *spaces))
        observations, _ = envs.reset(seed=1)
        actions = policy(None, observations, np.random.default_rng(1))
    np.testing.assert_array_equal(actions, ppo.act(observations))


COLLECT = ("collect", "CartPole-v1", "--num-envs", LANES, "--seed", 3, "--no-progress")


def test_a_run(run, tmp_path):
    local_ray.start()
    out = tmp_path / "run.npz"
    words = (
        *COLLECT,
        "--cluster",
        "ray",
        "--actors",
        3,
        "--num-steps",
        LANES * STEPS,
        "--out",
        out,
    )
    ran = run(*words)
    assert ran.code == 0, ran.err
    assert "CartPoleVectorEnv in 3 actors, same-step autoreset, seed 3" in ran.out
    first = dict(np.load(out))
    check_steps(first)
    assert json.loads(str(first["metadata"]))["episodes"]["episodes"] == len(first["final_indices"])
    assert run(*words, "--overwrite").code == 0
    again = np.load(out)
    assert all(np.array_equal(again[name], first[name]) for name in first if name != "metadata")
    ran = run(*words, "--overwrite", "--policy", "tests.distributed.policies:nonsense")
    assert ran.code == 2 and "has no 'nonsense'" in ran.err


def test_what_is_refused(run):
    for words, text in (
        (("--actors", 2), "--actors needs --cluster"),
        (("--cluster", "ray", "--actors", 4), "expected a multiple of --actors 4, got 6"),
    ):
        ran = run(*COLLECT, *words)
        assert ran.code == 2 and text in ran.err, ran.err
    with pytest.raises(SystemExit):
        run(*COLLECT, "--cluster", "slurm")
    local_ray.start()
    ran = run(*COLLECT, "--cluster", "ray", "--autoreset-mode", "disabled")
    assert ran.code == 2 and "expected a vector environment with autoreset_mode" in ran.err
