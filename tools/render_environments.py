"""Render the images of docs/environments: each environment some steps into an episode.

Atari is one contact sheet of twelve games; MiniGrid and BabyAI are twelve levels, MPE is twelve
worlds, level-based foraging two fields, RWARE two warehouses, the control suite twenty tasks.

python tools/render_environments.py [ID...]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pygame

import gymcore as gym

FOLDER = Path(__file__).parents[1] / "docs" / "environments" / "images"

# Id -> number of steps and a policy that lead to a typical scene; None for random actions.
SCENES: dict[str, tuple[int, Callable[[Any], Any] | None]] = {
    "CartPole-v1": (8, lambda obs: 0),
    "MountainCar-v0": (62, lambda obs: 2 if obs[1] >= 0 else 0),
    "MountainCarContinuous-v0": (72, lambda obs: np.sign(obs[1:])),
    "Pendulum-v1": (33, lambda obs: 2 * np.sign(obs[2:])),
    "Acrobot-v1": (52, lambda obs: 2 if obs[5] > 0 else 0),
    "CarRacing-v3": (95, lambda obs: np.array([0.0, 0.15, 0.0], np.float32)),
    "LunarLander-v3": (75, lambda obs: 2 if obs[3] < -0.25 else 1 if obs[4] < 0 else 3),
    "FrozenLake-v1": (3, lambda obs: 2),
    "CliffWalking-v1": (6, lambda obs: 0 if obs == 36 else 1),
    "Taxi-v4": (3, lambda obs: 1),
    "Blackjack-v1": (0, lambda obs: 1),
}


def gait() -> Callable[[Any], Any]:
    """Return the walker's own controller, which remembers its phase."""
    from gymcore.envs.box2d.bipedal_walker import BipedalWalkerHeuristics

    return BipedalWalkerHeuristics().step_heuristic


SCENES |= {"BipedalWalker-v3": (90, gait()), "BipedalWalkerHardcore-v3": (70, gait())}
# MuJoCo's bodies, after random actions.
MUJOCO = {
    "Ant-v5": 12,
    "HalfCheetah-v5": 12,
    "Hopper-v5": 12,
    "Humanoid-v5": 6,
    "HumanoidStandup-v5": 12,
    "InvertedDoublePendulum-v5": 2,
    "InvertedPendulum-v5": 4,
    "Pusher-v5": 12,
    "Reacher-v5": 12,
    "Swimmer-v5": 40,
    "Walker2d-v5": 12,
}
SCENES |= {env_id: (steps, None) for env_id, steps in MUJOCO.items()}


def render(env_id: str, steps: int, rule: Callable[[Any], Any] | None) -> pygame.Surface:
    """Return the frame after this many steps of the policy, at half its size."""
    with gym.make(env_id, render_mode="rgb_array") as env:
        observation, _ = env.reset(seed=1)
        env.action_space.seed(1)
        for _ in range(steps):
            action = rule(observation) if rule else env.action_space.sample()
            observation, *_ = env.step(action)
        frame = env.render()
    height, width = frame.shape[:2]
    surface = pygame.image.frombuffer(frame, (width, height), "RGB")
    return pygame.transform.smoothscale(surface, (width // 2, height // 2))


# Games and the number of random actions after which there is something to see.
GAMES = {
    "Pong": 60,
    "Breakout": 60,
    "SpaceInvaders": 120,
    "MsPacman": 120,
    "Seaquest": 110,
    "MontezumaRevenge": 25,
    "Qbert": 60,
    "Enduro": 120,
    "BeamRider": 150,
    "Frostbite": 60,
    "Pitfall": 40,
    "Riverraid": 60,
}


LEVELS = (
    "MiniGrid-DoorKey-8x8-v0",
    "MiniGrid-FourRooms-v0",
    "MiniGrid-LavaCrossingS9N2-v0",
    "MiniGrid-MultiRoom-N6-v0",
    "MiniGrid-Dynamic-Obstacles-8x8-v0",
    "MiniGrid-LockedRoom-v0",
    "MiniGrid-MemoryS13-v0",
    "MiniGrid-KeyCorridorS4R3-v0",
    "MiniGrid-ObstructedMaze-2Q-v1",
    "MiniGrid-Playground-v0",
    "BabyAI-GoToLocal-v0",
    "BabyAI-BossLevel-v0",
)


# Tasks of all domains of the control suite, and the camera that shows it best.
TASKS = {
    "acrobot-swingup": 0,
    "ball_in_cup-catch": 0,
    "cartpole-three_poles": 0,
    "cheetah-run": 0,
    "dog-fetch": 2,
    "finger-spin": 0,
    "fish-swim": 1,
    "hopper-hop": 0,
    "humanoid-walk": 0,
    "humanoid_CMU-run": 1,
    "lqr-lqr_6_2": 0,
    "manipulator-insert_peg": 0,
    "pendulum-swingup": 0,
    "point_mass-easy": 0,
    "quadruped-walk": 1,
    "quadruped-fetch": 2,
    "reacher-easy": 0,
    "stacker-stack_4": 0,
    "swimmer-swimmer15": 0,
    "walker-run": 0,
}


def sheet_of(frames: list[np.ndarray], columns: int) -> pygame.Surface:
    """Arrange frames of one size in rows."""
    rows = [np.pad(frame, ((0, 4), (0, 4), (0, 0))) for frame in frames]
    lines = [np.hstack(rows[i : i + columns]) for i in range(0, len(rows), columns)]
    sheet = np.ascontiguousarray(np.vstack(lines)[:-4, :-4])
    height, width = sheet.shape[:2]
    return pygame.image.frombuffer(sheet, (width, height), "RGB").copy()


def levels(columns: int = 6, side: int = 160) -> pygame.Surface:
    """Return the first frame of each level, scaled to a square."""
    frames = []
    for env_id in LEVELS:
        with gym.make(env_id, render_mode="rgb_array") as env:
            env.reset(seed=4)
            frame = env.render()
        height, width = frame.shape[:2]
        picture = pygame.image.frombuffer(frame, (width, height), "RGB")
        scale = side / max(height, width)
        size = round(width * scale), round(height * scale)
        square = pygame.Surface((side, side))
        place = (side - size[0]) // 2, (side - size[1]) // 2
        square.blit(pygame.transform.smoothscale(picture, size), place)
        frames.append(pygame.surfarray.array3d(square).swapaxes(0, 1))
    return sheet_of(frames, columns)


def domains(columns: int = 5) -> pygame.Surface:
    """Return a frame of these tasks of the control suite, after some random actions."""
    frames = []
    for task, camera in TASKS.items():
        env_id, size = f"dm_control/{task}-v0", {"width": 480, "height": 360}
        with gym.make(env_id, render_mode="rgb_array", camera_id=camera, **size) as env:
            env.reset(seed=4)
            env.action_space.seed(4)
            for _ in range(8):
                env.step(np.clip(env.action_space.sample(), -1, 1))
            frame = env.render()
        picture = pygame.image.frombuffer(np.ascontiguousarray(frame), (480, 360), "RGB")
        small = pygame.transform.smoothscale(picture, (160, 120))
        frames.append(pygame.surfarray.array3d(small).swapaxes(0, 1))
    return sheet_of(frames, columns)


def games(columns: int = 6) -> pygame.Surface:
    """Return one frame [210, 160, 3] of each game."""
    frames = []
    for game, steps in GAMES.items():
        with gym.make(f"ALE/{game}-v5", render_mode="rgb_array") as env:
            env.reset(seed=4)
            env.action_space.seed(4)
            for _ in range(steps):
                env.step(env.action_space.sample())
            frames.append(env.render())
    return sheet_of(frames, columns)


def worlds(columns: int = 6, side: int = 160) -> pygame.Surface:
    """Return a frame of each world of MPE, after some random actions."""
    frames = []
    for env_id in (env_id for env_id in gym.registry if env_id.startswith("mpe/")):
        envs = gym.make_vec(env_id, 1, render_mode="rgb_array")
        envs.reset(seed=4)
        envs.action_space.seed(4)
        for _ in range(4):
            envs.step(envs.action_space.sample())
        picture = pygame.image.frombuffer(envs.render()[0], (700, 700), "RGB")
        square = pygame.transform.smoothscale(picture, (side, side))
        frames.append(pygame.surfarray.array3d(square).swapaxes(0, 1))
        envs.close()
    return sheet_of(frames, columns)


def side_by_side(*env_ids: str, steps: int) -> pygame.Surface:
    """Return a frame of each of these worlds, after some random actions."""
    frames = []
    for env_id in env_ids:
        envs = gym.make_vec(env_id, 1, render_mode="rgb_array")
        envs.reset(seed=4)
        envs.action_space.seed(4)
        for _ in range(steps):
            envs.step(envs.action_space.sample())
        frames.extend(envs.render())
        envs.close()
    return sheet_of(frames, len(frames))


# Families with one image of many environments.
SHEETS = {
    "Atari": games,
    "MiniGrid": levels,
    "MPE": worlds,
    "DeepMindControl": domains,
    "LBF": partial(side_by_side, "Foraging-8x8-2p-3f-v3", "Foraging-8x8-4p-5f-v3", steps=4),
    "RWARE": partial(side_by_side, "rware-small-4ag-v2", "rware-medium-8ag-v2", steps=60),
}


def main() -> None:
    """Write one PNG per environment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", metavar="ID", help="of these environments alone")
    ids = parser.parse_args().ids or [*SCENES, *SHEETS]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for env_id in ids:
        path = FOLDER / f"{env_id}.png"
        picture = SHEETS[env_id]() if env_id in SHEETS else render(env_id, *SCENES[env_id])
        pygame.image.save(picture, path)
        print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
