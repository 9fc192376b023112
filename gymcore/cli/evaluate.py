"""`gymcore evaluate`: play episodes with a policy, and report their returns and lengths."""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import sys
from pathlib import Path

from gymcore.base.new_file import check_target
from gymcore.cli import video
from gymcore.cli.errors import CliError, file_errors
from gymcore.cli.list import family_of
from gymcore.cli.options import add_env_arguments, agents_as_lanes, count, make_env
from gymcore.cli.policies import actions_of, add_policy_arguments
from gymcore.cli.progress import progress

HELP = "play episodes with a policy, and report the mean and spread of their returns"

_MAX_LANES = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore evaluate`."""
    add_env_arguments(parser)
    add_policy_arguments(parser)
    parser.add_argument(
        "--episodes", type=count, default=100, metavar="K",
        help="number of episodes; in worlds of several agents, each agent plays as many [100]",
    )  # fmt: skip
    parser.add_argument(
        "--num-envs",
        type=count,
        metavar="N",
        help="number of lanes, which play equally many episodes: one more in the first lanes if "
        f"there is a remainder [one for each episode, at most {_MAX_LANES}]",
    )
    parser.add_argument(
        "--video", type=Path, metavar="FILE", help="record another run of the first lane's first "
        "episode to FILE.mp4 or FILE.gif",
    )  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="replace existing files")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--no-progress", action="store_true", help="do not show progress")


def run(arguments: argparse.Namespace) -> int:
    """Play the episodes and print their statistics; return 0."""
    from gymcore import registry
    from gymcore.error import EnvironmentFailed, Error
    from gymcore.learn.evaluation import play

    if arguments.video is not None:
        with file_errors("--video", arguments.video):
            check_target(arguments.video, overwrite=arguments.overwrite)
    if arguments.num_envs is None:
        arguments.num_envs = min(arguments.episodes, _MAX_LANES)
    if arguments.seed is None:
        arguments.seed = secrets.randbelow(2**31)
    episodes = arguments.episodes
    # Atari's batches clip rewards, but not the statistics of episodes.
    spec = registry.get(arguments.id)
    is_atari = spec is not None and family_of(spec) == "atari"
    options = {"episode_statistics": True} if is_atari else {}
    envs = make_env(arguments, num_envs=arguments.num_envs, vector_kwargs=options)
    agents = 1
    if envs.agents is not None:  # each agent plays an episode
        agents = len(envs.agents.names)
        episodes *= agents
        envs.close()
        world_options = {"autoreset_mode": "SameStep", "episode_statistics": True}
        envs = make_env(arguments, num_envs=arguments.num_envs, vector_kwargs=world_options)
        envs = agents_as_lanes(arguments, envs)
    engine = type(envs.unwrapped).__name__
    try:
        actions = actions_of(arguments.policy, envs, arguments.seed)
        with progress(arguments.id, episodes, "episodes", silent=arguments.no_progress) as bar:
            evaluation = play(actions, envs, episodes, arguments.seed, bar.update)
    except EnvironmentFailed:  # the environment's error, not the command line's
        raise
    except Error as error:
        raise CliError(f"{arguments.id}: {type(error).__name__}: {error}") from error
    finally:
        envs.close()
    summary = evaluation.summary()
    if arguments.json:
        run_fields = {"id": arguments.id, "policy": arguments.policy, "seed": arguments.seed}
        if agents > 1:
            run_fields["agents"] = agents
        print(json.dumps({**run_fields, "num_envs": arguments.num_envs, **summary}, indent=2))
    else:
        lanes = "1 lane" if arguments.num_envs == 1 else f"{arguments.num_envs} lanes"
        if agents > 1:
            lanes += f" of {agents} agents each"
        print(f"{arguments.id}: {episodes:,} episodes in {lanes}, {engine}, seed {arguments.seed}")
        print(f"policy      {arguments.policy}")
        for name in ("return", "length"):
            numbers = ", ".join(f"{key} {value:.6g}" for key, value in summary[name].items())
            print(f"{name:<12}{numbers}")
        if "success_rate" in summary:
            print(f"successes   {summary['success_rate'] * episodes:,.0f} of {episodes:,}")
    if arguments.video is None:
        return 0
    changes = {"out": arguments.video, "num_envs": 1, "episodes": 1, "steps": None, "fps": None}
    with contextlib.redirect_stdout(sys.stderr if arguments.json else sys.stdout):
        return video.run(argparse.Namespace(**{**vars(arguments), **changes}))
