"""Environments whose class is in the main program, under every start method."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
import gymcore as gym


class Plain(gym.Env):
    def __init__(self):
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.full(2, action, np.float32), 1.0, False, False, {}


class WithClose(Plain):
    def close(self):
        self.is_closed = True
        super().close()


class OverWrapper(gym.Wrapper):
    def close(self):
        super().close()


def make_wrapped():
    return OverWrapper(WithClose())


def main():
    for env_fn in (Plain, WithClose, make_wrapped, lambda: WithClose()):
        env = env_fn()  # one here too, as programs have it
        envs = gym.vector.AsyncVectorEnv([env_fn] * 3, context=sys.argv[1], num_workers=2)
        envs.reset(seed=1)
        print(envs.step([0, 1, 1])[0][:, 0].tolist())
        envs.close()
        env.close()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_classes_of_the_main_program(method: str, tmp_path: Path) -> None:
    """With and without a `close` of their own: a wrapped `close` could not be pickled."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program), method], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "[0.0, 1.0, 1.0]\n" * 4), done.stderr
