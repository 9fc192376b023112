"""`gymcore play`: play an environment with the keyboard."""

from __future__ import annotations

import argparse
from typing import Any

from gymcore.cli.common import CliError, make_rgb, positive, seed

HELP = "play an environment with the keyboard, in a window"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore play`."""
    parser.add_argument("id", metavar="ID", help="environment id, or module:id")
    parser.add_argument(
        "--fps", type=positive, metavar="RATE", help="steps a second [the environment's]"
    )
    parser.add_argument("--zoom", type=positive, metavar="FACTOR", help="size of the window [1]")
    parser.add_argument("--seed", type=seed, metavar="SEED", help="seed of the first episode")
    parser.add_argument("--wait", action="store_true", help="do not step while no key is down")
    parser.add_argument("--plot", action="store_true", help="plot the last 150 rewards")


def run(arguments: argparse.Namespace) -> int:
    """Play until the window is closed; return 0."""
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
