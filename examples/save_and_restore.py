"""Save lanes in the middle of their episodes, restore them elsewhere, and branch from one of them.

    python examples/save_and_restore.py

A saved lane has everything that determines its future: state, parameters, counters and its random
stream. It can be written to a file with `numpy.save`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import gymcore as gym


def play(envs: gym.vector.VectorEnv, actions: np.ndarray) -> np.ndarray:
    """Return the observations [T, num_envs, 3] of the actions [T, num_envs, 1]."""
    return np.stack([envs.step(action)[0] for action in actions])


def main() -> None:
    """Show that restored lanes continue bit for bit."""
    envs = gym.make_vec("Pendulum-v1", num_envs=8)
    envs.reset(seed=1)
    actions = np.random.default_rng(2).uniform(-2, 2, (300, 8, 1)).astype(np.float32)
    play(envs, actions[:50])
    saved = envs.get_state()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lanes.npy"
        np.save(path, saved)
        loaded = np.load(path)

    # Beyond the end of the episodes at step 200, to include the random streams.
    expected = play(envs, actions[50:])
    restored = gym.make_vec("Pendulum-v1", num_envs=8)
    restored.set_state(loaded)
    print("continues bit for bit:", np.array_equal(play(restored, actions[50:]), expected))

    # Copy one lane to a thousand, each with its own constant torque.
    branches = gym.make_vec("Pendulum-v1", num_envs=1000)
    branches.set_state(np.repeat(saved[3:4], 1000))
    torques = np.linspace(-2, 2, 1000, dtype=np.float32).reshape(1000, 1)
    rewards = sum(branches.step(torques)[1] for _ in range(20))
    print(f"best constant torque of the next 20 steps: {torques[rewards.argmax(), 0]:+.2f} N m")

    for batch in (envs, restored, branches):
        batch.close()


if __name__ == "__main__":
    main()
