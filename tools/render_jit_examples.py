"""Train the environments of examples/jit_*.py with gymcore.learn, and record the learned policies.

python tools/render_jit_examples.py [jit_navigation] [jit_snake] [jit_pursuit]

Needs Numba. Snake takes ten minutes of processor time, the others one or two.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pygame

import gymcore as gym
from gymcore.learn import PPO
from gymcore.rendering.shapes import blank, disc
from gymcore.rendering.video_files import VideoWriter

ROOT = Path(__file__).parents[1]
SIDE = 160  # pixels

# Id, training steps, settings that differ from the defaults, frames, frames per second, and seed of
# the recorded episodes.
Recipe = tuple[str, int, dict[str, Any], int, int, int]
RECIPES: dict[str, Recipe] = {
    "jit_navigation": ("Navigation-v0", 400_000, {}, 80, 10, 3),
    "jit_snake": (
        "Snake-v0",
        9_000_000,
        {"num_envs": 64, "minibatch": 1024, "epochs": 4, "entropy": 0.01},
        240,
        15,
        3,
    ),
    "jit_pursuit": (
        "Pursuit-v0",
        1_000_000,
        {"num_envs": 64, "minibatch": 1024, "epochs": 8, "gamma": 0.98},
        150,
        20,
        3,
    ),
}


def trained(recipe: Recipe) -> PPO:
    """Return a trained agent."""
    env_id, steps, settings, *_ = recipe
    ppo = PPO(env_id, seed=1, **settings)
    while ppo.steps < steps:
        ppo.update()
    print(f"{env_id}: {ppo.steps:,} steps, mean return {ppo.mean_return:.2f}")
    return ppo


def record(ppo: PPO, recipe: Recipe, path: Path) -> None:
    """Write a GIF of consecutive episodes."""
    env_id, _, _, frames, fps, seed = recipe
    path.unlink(missing_ok=True)
    with gym.make(env_id) as env, VideoWriter(path, fps=fps) as video:
        observation, _ = env.reset(seed=seed)
        batch = gym.vector.utils.create_empty_array(env.observation_space, 1)
        for _ in range(frames):
            video.write(picture(env.unwrapped))
            batch = gym.vector.utils.concatenate(env.observation_space, [observation], batch)
            (action,) = ppo.act(batch)
            observation, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                video.write(picture(env.unwrapped))
                observation, _ = env.reset()
    print(f"{path.name}: {path.stat().st_size} bytes")


def picture(env: Any) -> np.ndarray[Any, Any]:
    """Return a frame [SIDE, SIDE, 3]: the environment's own, or two discs if it renders none."""
    state = env.state
    if "body" in state.dtype.names:
        frame = env._functions["render"](state, None)
        return np.ascontiguousarray(frame[:: len(frame) // SIDE, :: len(frame) // SIDE])
    target = state.goal if "goal" in state.dtype.names else state.runaway
    surface = blank((SIDE, SIDE))
    for position, color in ((target, (220, 60, 60)), (state.position, (50, 90, 200))):
        x, y = (0.5 + 0.45 * position) * SIDE
        disc(surface, color, (float(x), float(y)), 7.0)
    return np.array(pygame.surfarray.array3d(surface)).transpose(1, 0, 2)


def main() -> None:
    """Train and record the named examples, or all."""
    sys.path.insert(0, str(ROOT / "examples"))
    for name in sys.argv[1:] or RECIPES:
        import_module(name)
        record(trained(RECIPES[name]), RECIPES[name], ROOT / "docs" / "images" / f"{name}.gif")


if __name__ == "__main__":
    main()
