"""Collect rollouts as in PPO, and learn CartPole from them with a linear policy in NumPy.

    python examples/ppo_style_collection.py --updates 30

The engine writes every step directly into the [T, N] arrays used for training. Ended episodes
restart in the same step; if the time limit ended one, its value is bootstrapped from `final_obs`.
"""

from __future__ import annotations

import argparse

import numpy as np

import gymcore as gym

T, N = 128, 64
GAMMA, LAMBDA = 0.99, 0.95


def features(observations: np.ndarray) -> np.ndarray:
    """Return inputs of the value function [..., 9]: the state, its squares and a constant."""
    scaled = observations / np.array([2.4, 2.0, 0.2, 2.0], np.float32)
    ones = np.ones((*scaled.shape[:-1], 1), np.float32)
    return np.concatenate([scaled, scaled**2, ones], axis=-1)


def probability(observations: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the probability of pushing to the right."""
    return 1.0 / (1.0 + np.exp(-np.clip(observations @ weights, -30.0, 30.0)))


def advantages(rewards, values, next_values, terminated, truncated) -> np.ndarray:
    """Return generalized advantage estimates [T, N] (Schulman et al. 2016, eq. 16)."""
    deltas = rewards + GAMMA * next_values * ~terminated - values
    advantages, running = np.empty_like(deltas), np.zeros(N)
    for t in reversed(range(T)):
        running = deltas[t] + GAMMA * LAMBDA * running * ~(terminated[t] | truncated[t])
        advantages[t] = running
    return advantages


def main() -> None:
    """Train, and print the mean return of the episodes that ended in each update."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=30)
    updates = parser.parse_args().updates

    options = {"autoreset_mode": "SameStep", "episode_statistics": True}
    envs = gym.make_vec("CartPole-v1", num_envs=N, vector_kwargs=options)
    random = np.random.default_rng(1)
    weights, value_weights = np.zeros(4), np.zeros(9)

    observations = np.empty((T + 1, N, 4), np.float32)
    after = np.empty((T, N, 4), np.float32)
    actions = np.empty((T, N), np.int64)
    rewards = np.empty((T, N))
    terminated, truncated = np.empty((2, T, N), np.bool_)
    observations[0], _ = envs.reset(seed=1)

    for update in range(updates):
        returns: list[float] = []
        for t in range(T):
            actions[t] = random.random(N) < probability(observations[t], weights)
            infos = envs.step_into(
                actions[t],
                observations=observations[t + 1],
                rewards=rewards[t],
                terminated=terminated[t],
                truncated=truncated[t],
            )
            after[t] = observations[t + 1]
            if "episode" in infos:
                ended = infos["_episode"]
                after[t, ended] = infos["final_obs"][ended]
                returns += infos["episode"]["r"][ended].tolist()

        values, next_values = (
            features(observations[:-1]) @ value_weights,
            features(after) @ value_weights,
        )
        gains = advantages(rewards, values, next_values, terminated, truncated)
        inputs = features(observations[:-1]).reshape(-1, 9)
        value_weights = np.linalg.lstsq(inputs, (gains + values).ravel(), rcond=None)[0]

        gains = (gains - gains.mean()) / gains.std()
        right = probability(observations[:-1], weights)
        before = np.where(actions, right, 1 - right)
        for _ in range(8):
            right = probability(observations[:-1], weights)
            ratio = np.where(actions, right, 1 - right) / before
            # PPO's clipped objective: no gradient where the policy has already moved far enough.
            free = np.where(gains > 0, ratio < 1.2, ratio > 0.8)
            slope = (gains * ratio * free * (actions - right))[..., None] * observations[:-1]
            weights = weights + 2.0 * slope.mean(axis=(0, 1))
        observations[0] = observations[T]
        mean = np.mean(returns)
        print(f"update {update + 1:3}: {len(returns):4} episodes, mean return {mean:.1f}")
    envs.close()


if __name__ == "__main__":
    main()
