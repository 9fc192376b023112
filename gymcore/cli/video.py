"""`gymcore video`: record an environment to an MP4 or GIF file."""

from __future__ import annotations

import argparse
import itertools
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from gymcore.base.new_file import check_target
from gymcore.cli.errors import CliError, file_errors
from gymcore.cli.formats import byte_count
from gymcore.cli.options import (
    add_env_arguments,
    add_frame_arguments,
    count,
    make_rgb,
    positive,
)
from gymcore.cli.policies import add_policy_arguments, world_actions_of
from gymcore.cli.progress import progress
from gymcore.cli.signals import interruption

if TYPE_CHECKING:
    from gymcore.rendering.recorder import Recorder
    from gymcore.vector import VectorEnv

HELP = "record an environment to an MP4 or GIF file"

# Maximum length of a video, unless `--steps` or `--episodes` is given.
_STEPS = 1000
# Maximum size of a frame with several lanes side by side; a single lane keeps its size.
_WIDTH, _HEIGHT = 1920, 1080


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore video`."""
    add_env_arguments(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="FILE.mp4 or FILE.gif"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--num-envs", type=count, default=1, metavar="N", help="number of lanes, tiled [1]"
    )
    parser.add_argument(
        "--episodes", type=count, metavar="K", help="episodes of the first lane to record [1]"
    )
    parser.add_argument(
        "--steps",
        type=count,
        metavar="T",
        help=f"maximum number of steps [{_STEPS}, or as many as the --episodes have]",
    )
    parser.add_argument(
        "--fps", type=positive, metavar="RATE", help="frames per second [the environment's]"
    )
    add_frame_arguments(parser)
    add_policy_arguments(parser)
    parser.add_argument("--no-progress", action="store_true", help="do not show progress")


def run(arguments: argparse.Namespace) -> int:
    """Record, then print the size and length of the file.

    Returns 0, or 130 if Ctrl-C ended the video early; the file then has the frames so far. If the
    request cannot be fulfilled, `CliError` is raised and no file is left.
    """
    from gymcore.error import Error
    from gymcore.rendering.recorder import Recorder

    path: Path = arguments.out
    with file_errors("--out", path):
        check_target(path, overwrite=arguments.overwrite)
    envs = make_rgb(arguments, num_envs=arguments.num_envs)
    try:
        fps = arguments.fps or envs.metadata.get("render_fps", 30)
        recorder = Recorder(fps=fps, overwrite=arguments.overwrite)
        recorder.begin(path)
        try:
            interrupted, unfinished = _record(arguments, envs, recorder)
        except BaseException:
            recorder.discard()
            raise
        frames = len(recorder.recorded_frames)
        recorder.finish()
    except Error as error:
        raise CliError(f"{arguments.id}: {error}") from error
    finally:
        envs.close()
    size = byte_count(path.stat().st_size)
    print(f"stored      {path} ({size}, {frames} frames, {frames / fps:.3g} s)")
    if unfinished:
        print(f"unfinished  {unfinished}; --steps sets the limit")
    return 130 if interrupted else 0


def _record(arguments: argparse.Namespace, envs: VectorEnv, recorder: Recorder) -> tuple[bool, str]:
    """Step and write frames; return whether Ctrl-C ended the recording, and what is missing."""
    from gymcore.rendering.tiling import Tiling, columns_for
    from gymcore.vector.lane_episodes import LaneEpisodes
    from gymcore.wrappers.transform_observation import load_cv2, resize

    first_seed = secrets.randbelow(2**31) if arguments.seed is None else arguments.seed
    policy = world_actions_of(arguments.policy, envs, first_seed)
    # With --steps alone, all steps are recorded; with neither option, one episode.
    episodes = arguments.episodes or (1 if arguments.steps is None else None)
    steps = arguments.steps or (_STEPS if arguments.episodes is None else None)
    lane_episodes = LaneEpisodes(envs, takes_worlds=True)
    observations, _ = envs.reset(seed=first_seed)
    frames = envs.render() or ()
    height, width = frames[0].shape[:2]
    columns = columns_for(len(frames), height, width, _WIDTH / _HEIGHT)
    rows = -(-len(frames) // columns)
    scale = 1.0
    if len(frames) > 1:
        scale = min(1.0, _WIDTH / (columns * width), _HEIGHT / (rows * height))
    if scale < 1.0:
        load_cv2("a video of so many lanes")
    shape = (int(height * scale), int(width * scale), 3)
    tile = Tiling(len(frames), *shape[:2], columns)

    def write() -> None:
        frames = envs.render() or ()
        scaled = frames if scale == 1.0 else [resize(shape, frame) for frame in frames]
        recorder.add([tile(scaled, lines=True)])

    write()
    ended = 0
    total, unit = (steps, "frames") if steps is not None else (arguments.episodes, "episodes")
    bar = progress(arguments.id, total, unit, silent=arguments.no_progress)
    with bar, interruption() as interrupted:
        for _ in itertools.count() if steps is None else range(steps):
            if interrupted.requested:
                break
            observations, _, terminated, truncated, _ = envs.step(policy(observations))
            write()
            ends = bool(lane_episodes.step(terminated, truncated)[1][0])
            bar.update(1 if steps is not None else int(ends))
            ended += ends
            if episodes is not None and ended >= episodes:
                break
        if interrupted.requested or episodes is None or ended >= episodes:
            return interrupted.requested, ""
        return False, f"{ended} of {episodes} episodes had ended after {steps:,} steps"
