"""`gymcore play`: play an environment with the keyboard."""

from __future__ import annotations

import argparse
from typing import Any

from gymcore.cli.common import CliError, seconds, seed

HELP = "play an environment with the keyboard, in a window"


def positive(text: str) -> float:
    """Parse a positive number."""
    try:
        return seconds(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}") from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore play`."""
    parser.add_argument("id", metavar="ID", help="environment id, or module:id")
    parser.add_argument("--fps", type=positive, metavar="RATE", help="steps a second [its own]")
    parser.add_argument("--zoom", type=positive, metavar="FACTOR", help="size of the window [1]")
    parser.add_argument("--seed", type=seed, metavar="SEED", help="of the first episode")
    parser.add_argument("--wait", action="store_true", help="stand still while no key is down")
    parser.add_argument("--plot", action="store_true", help="draw the reward of the last 150 steps")


def run(arguments: argparse.Namespace) -> int:
    """Play until the window is closed.

    Args:
        arguments: The parsed options.

    Returns:
        0.

    Raises:
        CliError: If there are no keys, no pictures, no screen, or a package is missing.
    """
    from gymcore.error import Error
    from gymcore.utils.play import PlayPlot, play

    env = make_rgb(arguments.id)
    total = [0.0, 0]
    try:
        plot = None
        if arguments.plot:
            plot = PlayPlot(lambda *step: [step[3]], 150, ["reward"])

        def after_step(*step: Any) -> None:
            total[0] += float(step[3])
            total[1] += 1
            if plot is not None:
                plot.callback(*step)
            if step[4] or step[5]:
                print(f"episode     return {total[0]:.6g}, {total[1]} steps", flush=True)
                total[:] = [0.0, 0]

        print("Escape or the window's close button ends the game.", flush=True)
        play(
            env,
            fps=arguments.fps,
            zoom=arguments.zoom,
            seed=arguments.seed,
            callback=after_step,
            wait_on_player=arguments.wait,
        )
    except Error as error:
        raise CliError(f"{arguments.id}: {error}") from error
    finally:
        env.close()
    return 0


def make_rgb(env_id: str, num_envs: int | None = None) -> Any:
    """Return an environment (or a batch) that renders "rgb_array", or say why there is none.

    Args:
        env_id: The id.
        num_envs: Number of lanes; None makes a single environment.
    """
    import gymcore
    from gymcore.error import Error

    try:
        if num_envs is None:
            env: Any = gymcore.make(env_id, render_mode="rgb_array")
        else:
            env = gymcore.make_vec(env_id, num_envs=num_envs, render_mode="rgb_array")
    except Error as error:
        raise CliError(f"{env_id}: {error}") from error
    except Exception as error:
        raise CliError(f"{env_id}: {type(error).__name__}: {error}") from error
    if env.render_mode != "rgb_array":
        env.close()
        raise CliError(
            f"{env_id}: has no render mode 'rgb_array', only "
            f"{env.metadata.get('render_modes') or 'none at all'}"
        )
    return env
