"""Results that are larger than the caches have the same bytes as smaller ones."""

import subprocess
import sys

import numpy as np
import pytest

import gymcore as gym


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize("num_envs", [4096, 4099])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_long_rollout_equals_short_ones(mode, num_envs, num_threads):
    steps, short = 160, 16
    actions = np.random.default_rng(0).integers(0, 2, (steps, num_envs))
    assert actions.size * 4 * 4 > 8 * 2**20
    options = {"autoreset_mode": mode, "num_threads": num_threads}
    long_envs, short_envs = (
        gym.make_vec("CartPole-v1", num_envs=num_envs, vector_kwargs=options) for _ in range(2)
    )
    long_envs.reset(seed=5)
    short_envs.reset(seed=5)
    final = mode == "SameStep"
    whole = long_envs.rollout(actions, final_observations=final)
    for start in range(0, steps, short):
        part = short_envs.rollout(actions[start : start + short], final_observations=final)
        for name, have, want in zip(part._fields, whole, part, strict=True):
            if isinstance(want, np.ndarray):
                np.testing.assert_array_equal(have[start : start + short], want, err_msg=name)
    assert long_envs.get_state().tobytes() == short_envs.get_state().tobytes()


def test_a_step_of_a_huge_batch_equals_steps_of_its_parts():
    num_envs, parts = 600_000, 4
    assert num_envs * 4 * 4 > 8 * 2**20
    actions = np.random.default_rng(1).integers(0, 2, (3, num_envs))
    whole = gym.make_vec("CartPole-v1", num_envs=num_envs)
    observations = [whole.reset(seed=9)[0]]
    rewards = []
    for batch in actions:
        observation, reward, *_ = whole.step(batch)
        observations.append(observation)
        rewards.append(reward)
    size = num_envs // parts
    for part in range(parts):
        lanes = slice(part * size, (part + 1) * size)
        envs = gym.make_vec("CartPole-v1", num_envs=size)
        np.testing.assert_array_equal(envs.reset(seed=9 + part * size)[0], observations[0][lanes])
        for t, batch in enumerate(actions):
            observation, reward, *_ = envs.step(batch[lanes])
            np.testing.assert_array_equal(observation, observations[t + 1][lanes])
            np.testing.assert_array_equal(reward, rewards[t][lanes])


TOO_MANY = """
import resource
import sys

resource.setrlimit(resource.RLIMIT_AS, (8 << 30,) * 2)
import gymcore as gym

try:
    gym.make_vec(sys.argv[1], num_envs=2**31 - 1)
except MemoryError as problem:
    print(problem)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "env_id", ["LunarLander-v3", "CarRacing-v3", "HalfCheetah-v5", "ALE/Pong-v5"]
)
def test_lanes_that_no_memory_holds_are_refused_before_any_is_made(env_id):
    """Objects of C++ would end the process."""
    pytest.importorskip("resource", reason="the system has no limits of resources")
    done = subprocess.run(
        [sys.executable, "-c", TOO_MANY, env_id], capture_output=True, text=True, timeout=240
    )
    assert done.stdout.startswith("num_envs: 2147483647 lanes take "), done.stderr
