"""Step CartPoles of 64 pole lengths in one batch, and measure how long a rule balances each.

    python examples/domain_randomization.py

Every lane has its own physics parameters; a batch step is still one call into the engine.
"""

from __future__ import annotations

import numpy as np

import gymcore as gym

N = 64


def main() -> None:
    """Print the mean episode length for each group of pole lengths."""
    lengths = np.linspace(0.1, 3.2, N)
    options = {"autoreset_mode": "SameStep", "episode_statistics": True}
    envs = gym.make_vec("CartPole-v1", num_envs=N, vector_kwargs=options)
    envs.set_attr("length", lengths)
    print(
        "pole lengths of the first lanes:",
        *(f"{length:.2f}" for length in envs.get_attr("length")[:4]),
    )

    observations, _ = envs.reset(seed=1)
    total, episodes = np.zeros(N), np.zeros(N)
    for _ in range(4000):
        # Push toward the side to which the pole leans.
        actions = (observations[:, 2] > 0).astype(np.int64)
        observations, _, _, _, infos = envs.step(actions)
        if "episode" in infos:
            ended = infos["_episode"]
            total[ended] += infos["episode"]["l"][ended]
            episodes[ended] += 1
    envs.close()

    for group in np.split(np.arange(N), 8):
        mean = total[group].sum() / episodes[group].sum()
        first, last = lengths[group[0]], lengths[group[-1]]
        print(f"length {first:4.2f} to {last:4.2f} m: {mean:6.1f} steps an episode")


if __name__ == "__main__":
    main()
