"""Land the lunar lander by planning alone: a beam search through the lanes of a batch.

    python examples/planning.py
    python examples/planning.py --id Acrobot-v1 --hold 4

Every lane is a node at the current depth of a search tree. `copy_lanes` gives each of the best
nodes one lane for every action, and a few steps of all lanes give the nodes of the next depth. The
best sequence of actions is then played in a single environment, where it has the same return.
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

import gymcore as gym


def beam_search(
    env_id: str, seed: int, width: int, hold: int, max_steps: int = 1000
) -> npt.NDArray[np.int64]:
    """Return the actions with the best return that was found in an episode.

    Args:
        env_id: An environment with `Discrete` actions and arrays as observations, whose rewards
            show progress early.
        seed: The seed of the episode.
        width: Number of nodes that are kept at each depth.
        hold: Number of steps for which an action is repeated.
        max_steps: Number of steps after which the search ends.
    """
    with gym.make(env_id) as env:
        num_actions = int(env.action_space.n)
    num_envs = width * num_actions
    envs = gym.make_vec(env_id, num_envs=num_envs)
    envs.reset(seed=[seed] * num_envs)
    actions = np.tile(np.arange(num_actions), width)  # what each lane does next
    history = np.zeros((num_envs, 0), np.int64)
    returns = np.zeros(num_envs)
    best_return, best_actions = -np.inf, history[0]
    while history.shape[1] < max_steps:
        ended = np.zeros(num_envs, np.bool_)
        for _ in range(hold):
            observations, rewards, terminated, truncated, _ = envs.step(actions)
            history = np.column_stack([history, actions])
            returns += np.where(ended, 0.0, rewards)
            ends = (terminated | truncated) & ~ended
            ended |= ends
            lane = np.where(ends, returns, -np.inf).argmax()
            if ends[lane] and returns[lane] > best_return:
                best_return, best_actions = returns[lane], history[lane].copy()
        if ended.all() or returns[~ended].max() < best_return:
            break
        # The best of the lanes that go on, one of each observation; the first depth has few.
        _, distinct = np.unique(observations, axis=0, return_index=True)
        distinct = distinct[~ended[distinct]]
        survivors = distinct[np.argsort(-returns[distinct], kind="stable")[:width]]
        source = np.repeat(np.resize(survivors, width), num_actions)
        envs.copy_lanes(source, np.arange(num_envs))
        history, returns = history[source], returns[source]
    envs.close()
    return best_actions


def play(env_id: str, seed: int, actions: npt.NDArray[np.int64] | None) -> float:
    """Return the return of an episode with these actions, or with random ones."""
    env = gym.make(env_id)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    total, ended, step = 0.0, False, 0
    while not ended:
        action = env.action_space.sample() if actions is None else int(actions[step])
        _, reward, terminated, truncated, _ = env.step(action)
        total, ended, step = total + float(reward), terminated or truncated, step + 1
    env.close()
    return total


def main() -> None:
    """Compare a plan with random actions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--id", default="LunarLander-v3")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--width", type=int, default=32, help="nodes kept at each depth")
    parser.add_argument("--hold", type=int, default=10, help="steps with the same action")
    args = parser.parse_args()
    print(f"random actions: return {play(args.id, args.seed, None):.1f}")
    plan = beam_search(args.id, args.seed, args.width, args.hold)
    print(f"plan of {len(plan)} steps: return {play(args.id, args.seed, plan):.1f}")


if __name__ == "__main__":
    main()
