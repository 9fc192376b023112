"""Render the animated picture of the README: four environments side by side.

python tools/render_readme.py
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pygame

import gymcore as gym
from gymcore.envs.box2d.lunar_lander import heuristic
from gymcore.rendering.tiling import tile_frames
from gymcore.rendering.video_files import VideoWriter

FILE = Path(__file__).parents[1] / "docs" / "images" / "environments.gif"
SIZE, FRAMES, FPS = 180, 100, 20
PADDLE, BALL = 51, 54  # addresses of their heights in Pong's memory


def balance(env: Any, obs: Any, step: int) -> int:
    """Push the cart toward the side to which its pole falls."""
    return int(obs[2] + 0.5 * obs[3] > 0)


def run(env: Any, obs: Any, step: int) -> Any:
    """Move the cheetah's joints in waves."""
    phases = np.array([0.0, 1.2, 2.0, 3.1, 4.2, 5.0])
    return np.sin(2 * math.pi * step / 9 + phases).astype(np.float32)


def follow(env: Any, obs: Any, step: int) -> int:
    """Move the paddle toward the ball."""
    ram = env.unwrapped.ale.getRAM()
    distance = int(ram[BALL]) - int(ram[PADDLE]) - 10
    return 0 if ram[BALL] == 0 or abs(distance) < 4 else 3 if distance > 0 else 2


# Id, arguments, steps per frame, first frame, and a policy of environment, obs and step.
Scene = tuple[str, dict[str, Any], int, int, Callable[[Any, Any, int], Any]]
SCENES: tuple[Scene, ...] = (
    ("CartPole-v1", {}, 2, 0, balance),
    (
        "LunarLander-v3",
        {},
        2,
        0,
        lambda env, obs, step: heuristic(env.unwrapped, obs),
    ),
    ("HalfCheetah-v5", {"width": SIZE, "height": SIZE}, 1, 0, run),
    ("ALE/Pong-v5", {"frameskip": 3, "repeat_action_probability": 0.0}, 1, 30, follow),
)


def scaled(frame: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a square of a frame, SIZE pixels high, without the score above Pong's table."""
    height, width = frame.shape[:2]
    side = min(height, width)
    top, left = 2 * (height - side) // 3, (width - side) // 2
    square = np.ascontiguousarray(frame[top : top + side, left : left + side])
    surface = pygame.image.frombuffer(square, (side, side), "RGB")
    surface = pygame.transform.smoothscale(surface, (SIZE, SIZE))
    return np.array(pygame.surfarray.array3d(surface)).transpose(1, 0, 2)


def frames_of(scene: Scene) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the frames of one environment; a finished episode is followed by another."""
    env_id, arguments, skip, first, policy = scene
    with gym.make(env_id, render_mode="rgb_array", **arguments) as env:
        obs, _ = env.reset(seed=2)
        for step in range((first + FRAMES) * skip):
            if step % skip == 0 and step >= first * skip:
                yield scaled(env.render())
            obs, _, terminated, truncated, _ = env.step(policy(env, obs, step))
            if terminated or truncated:
                obs, _ = env.reset()


def main() -> None:
    """Write the image."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.unlink(missing_ok=True)
    with VideoWriter(FILE, fps=FPS) as video:
        for frames in zip(*map(frames_of, SCENES), strict=True):
            video.write(tile_frames(list(frames), columns=len(SCENES)))
    print(f"{FILE.name} {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
