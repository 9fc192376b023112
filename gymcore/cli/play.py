"""`gymcore play`: play an environment with the keyboard."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from gymcore.cli.errors import CliError
from gymcore.cli.list import family_of
from gymcore.cli.options import (
    add_env_arguments,
    add_frame_arguments,
    make_env,
    make_rgb,
    positive,
    seed,
)

HELP = "play an environment with the keyboard, in a window"

# Steps per second, by environment or family, where the environment's own rate is too fast for
# people. With four frames per step, 15 is Atari's real time.
_SPEEDS = {"CartPole": 15, "LunarLander": 30, "BipedalWalker": 15, "atari": 15}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore play`."""
    add_env_arguments(parser)
    parser.add_argument(
        "--fps", type=positive, metavar="RATE", help="steps per second [a playable speed]"
    )
    add_frame_arguments(parser)
    parser.add_argument("--zoom", type=positive, metavar="FACTOR", help="scale of the window [1]")
    parser.add_argument("--seed", type=seed, metavar="SEED", help="seed of the first episode")
    parser.add_argument(
        "--wait",
        action="store_true",
        help="step only while a key is pressed (always the case for toy text and MiniGrid)",
    )
    parser.add_argument("--plot", action="store_true", help="plot the last 150 rewards")


def run(arguments: argparse.Namespace) -> int:
    """Play until the window is closed; return 0."""
    from gymcore.error import Error
    from gymcore.utils.play import PlayPlot, play
    from gymcore.utils.play_keys import every_keys

    # Without a display, SDL would open an invisible window.
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    if sys.platform == "linux" and not any(os.environ.get(name) for name in displays):
        raise CliError("play needs a display, but DISPLAY is not set; `gymcore video` needs none")
    env = _make(arguments)
    total = [0.0, 0]
    try:
        plot = None
        if arguments.plot:
            plot = PlayPlot(lambda *step: [step[3]], 150, ["reward"])

        def after_step(
            before: object,
            after: object,
            action: object,
            reward: float,
            terminated: bool,
            truncated: bool,
            info: dict[str, object],
        ) -> None:
            total[0] += float(reward)
            total[1] += 1
            if plot is not None:
                plot.callback(before, after, action, reward, terminated, truncated, info)
            if terminated or truncated:
                print(f"episode     return {total[0]:.6g}, {total[1]} steps", flush=True)
                total[:] = [0.0, 0]

        keys = every_keys(env)
        if keys is None:
            raise CliError(f"{arguments.id}: no keys are known for the actions {env.action_space}")
        family = family_of(env.spec)
        print("\n".join(keys.legend))
        print("Press a key to start an episode, or Escape (or close the window) to quit.")
        sys.stdout.flush()
        play(
            env,
            fps=arguments.fps or _SPEEDS.get(env.spec.name) or _SPEEDS.get(family),
            keys_to_action={pressed: action for pressed, action in keys.actions.items() if pressed},
            noop=keys.actions.get((), 0),
            zoom=arguments.zoom,
            seed=arguments.seed,
            callback=after_step,
            wait_on_player=arguments.wait or family in ("toy_text", "minigrid"),
            wait_for_start=True,
        )
    except Error as error:
        raise CliError(f"{arguments.id}: {error}") from error
    finally:
        env.close()
    return 0


def _make(arguments: argparse.Namespace) -> Any:
    """Make the environment; a world of several agents becomes one environment."""
    from gymcore.error import UnsupportedMode
    from gymcore.utils.play_world import PlayedWorld

    try:
        return make_rgb(arguments)
    except CliError as problem:
        if not isinstance(problem.__cause__, UnsupportedMode):
            raise
        options = {"autoreset_mode": "Disabled"}
        envs = make_env(arguments, num_envs=1, render_mode="rgb_array", vector_kwargs=options)
        if envs.agents is not None:
            return PlayedWorld(envs)
        envs.close()
        raise
