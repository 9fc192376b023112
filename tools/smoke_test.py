"""Try an installed gymcore in a folder that is independent of the checkout.

python tools/smoke_test.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import gymcore as gym
import gymcore_ext


def command(*words: str) -> None:
    """Run `gymcore` without NumPy's threads, which wait for each other on a busy machine."""
    words = (sys.executable, "-m", "gymcore", *words)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(words, check=True, timeout=300, env=environment)


def are_equal(row: object, single: object) -> bool:
    """Compare observations: arrays, or dicts of arrays and strings."""
    if isinstance(row, dict) and isinstance(single, dict):
        return row.keys() == single.keys() and all(are_equal(row[k], single[k]) for k in row)
    return np.array_equal(row, single)


def step_everything() -> int:
    """Step every registered id that needs no extra 300 times; return the number of environments."""
    stepped = 0
    for env_id in sorted(gym.registry):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # some ids warn of their age
                envs = gym.make_vec(env_id, num_envs=4)
                # A world of several agents has no single environment.
                env = gym.make(env_id) if envs.agents is None else None
        except gym.error.DependencyNotInstalled as missing:
            assert "pip install" in str(missing), missing
            continue
        except gym.error.DeprecatedEnv:
            continue
        observations, _ = envs.reset(seed=1)
        if env is not None:
            single, _ = env.reset(seed=3)
            row = list(gym.vector.utils.iterate(envs.observation_space, observations))[2]
            # Batches of Atari games are preprocessed, single games are not.
            is_same = envs.single_observation_space == env.observation_space
            assert are_equal(row, single) or not is_same, env_id
            env.close()
        for _ in range(300):
            observations, *_ = envs.step(envs.action_space.sample())
        assert observations in envs.observation_space, env_id
        envs.close()
        stepped += 1
    return stepped


def main() -> None:
    """Fail if anything is missing."""
    for module in (gym, gymcore_ext):
        assert Path(str(module.__file__)).is_relative_to(sys.prefix), module.__file__
    assert (Path(gymcore_ext.get_include()) / "gymcore" / "lanes.h").exists()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        command("list")
        command("collect", "CartPole-v1", "--num-steps", "1e6", "--no-progress")
        command("collect", "Pendulum-v1", "--num-steps", "8000", "--out", "a.npz", "--no-progress")
        assert Path("a.npz").stat().st_size > 100_000
        command("train", "CartPole-v1", "--total-steps", "5000", "--no-progress")
        print(f"stepped {step_everything()} environments")
        os.chdir("/")


if __name__ == "__main__":
    main()
