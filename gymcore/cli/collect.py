"""`gymcore collect`: step a batch of environments, report the throughput, save the data."""

from __future__ import annotations

import argparse
import contextlib
import platform
import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gymcore.base.nested import rows_at
from gymcore.base.new_file import check_target
from gymcore.cli.cluster import actors_of, cluster
from gymcore.cli.episodes import EpisodeStatistics
from gymcore.cli.errors import CliError, file_errors
from gymcore.cli.formats import byte_count, rate
from gymcore.cli.list import is_native
from gymcore.cli.options import add_env_arguments, agents_as_lanes, count, make_env
from gymcore.cli.plots import PARTS, RunHistory, check_plot, plot_run
from gymcore.cli.policies import PolicyActions, RandomActions, actions_of, add_policy_arguments
from gymcore.cli.progress import Bar, progress
from gymcore.cli.recording import Recording, check_disk, save
from gymcore.cli.signals import Interruption, interruption
from gymcore.core import Info
from gymcore.vector.lane_episodes import AutoresetMode
from gymcore.vector.rollouts import Lanes, OnEnd, Rollout, Steps, write_row
from gymcore.vector.vector_env import VectorEnv

if TYPE_CHECKING:
    from gymcore.distributed import Collector as Actors
    from gymcore.distributed.fragment import Fragment
    from gymcore.learn.dataset import DatasetWriter

HELP = "collect experience from an environment, and report steps per second and episode returns"

_MODES = {"next-step": "NextStep", "same-step": "SameStep", "disabled": "Disabled"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore collect`."""
    add_env_arguments(parser)
    parser.add_argument(
        "--num-envs", type=count, default=64, metavar="N", help="number of lanes [64]"
    )
    parser.add_argument(
        "--num-steps",
        type=count,
        default=1_000_000,
        metavar="STEPS",
        help="total number of environment steps, rounded up to a multiple of --num-envs [1e6]",
    )
    add_policy_arguments(parser)
    parser.add_argument(
        "--vectorization",
        choices=("auto", "native", "sync", "async"),
        default="auto",
        help="compiled engine (native), this process (sync), worker processes (async), or the "
        "default of make_vec for this environment (auto) [auto]",
    )
    stored = parser.add_mutually_exclusive_group()
    stored.add_argument(
        "--out",
        type=Path,
        metavar="FILE.npz",
        help="store every step: [T, N] observations, actions, rewards, flags; final observations "
        "with their (t, lane); metadata",
    )
    stored.add_argument(
        "--dataset",
        type=Path,
        metavar="DIR",
        help="stream the episodes to a data set that minari.load_dataset reads, such as "
        "~/.minari/datasets/cartpole/random-v0; the last ones are truncated",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE.png",
        help="plot episode returns and throughput over the steps (png, pdf, svg or jpg)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace existing files")
    parser.add_argument("--no-progress", action="store_true", help="do not show progress")
    parser.add_argument(
        "--num-threads",
        type=count,
        metavar="K",
        help="number of threads of the compiled engine [automatic]",
    )
    parser.add_argument(
        "--autoreset-mode",
        choices=tuple(_MODES),
        help="when ended lanes are reset: in the same step, in the next one (Gymnasium's default), "
        "or by this command (disabled) [same-step, or the environment's default if it has its "
        "own vector environment]",
    )
    parser.add_argument(
        "--max-episode-steps", type=count, metavar="LIMIT", help="maximum length of an episode"
    )
    parser.add_argument(
        "--cluster",
        type=cluster,
        metavar="ray[:ADDRESS]",
        help="collect with actors on a Ray cluster; without ADDRESS, a running or a new cluster on "
        "this machine",
    )
    parser.add_argument(
        "--actors", type=count, metavar="N", help="number of actors that share the lanes [2]"
    )


def run(arguments: argparse.Namespace) -> int:
    """Collect and print the summary; return 0, or 130 if Ctrl-C ended the run early."""
    started = time.perf_counter()
    if arguments.overwrite and arguments.out is None and arguments.plot is None:
        raise CliError("--overwrite needs --out FILE.npz or --plot FILE.png")
    if arguments.cluster is None and arguments.actors is not None:
        raise CliError("--actors needs --cluster ray[:ADDRESS]")
    if arguments.cluster is not None and arguments.dataset is not None:
        raise CliError("--dataset: expected no --cluster, whose steps only --out stores")
    arguments.actors = arguments.actors or 2
    if arguments.plot is not None:
        check_plot(arguments.plot, overwrite=arguments.overwrite)
    first_seed = secrets.randbelow(2**31) if arguments.seed is None else arguments.seed
    envs = _make(arguments)
    try:
        code = _collect(arguments, envs, first_seed, started)
    finally:
        envs.close()
    return code


def _make(arguments: argparse.Namespace) -> VectorEnv:
    """Return the vector environment; raise a `CliError` if it cannot be made.

    The agents of worlds become lanes.
    """
    limit, mode = arguments.max_episode_steps, arguments.vectorization
    envs: VectorEnv = make_env(
        arguments,
        num_envs=arguments.num_envs,
        vectorization_mode=None if mode == "auto" else mode,
        vector_kwargs=_vector_kwargs(arguments),
        **({} if limit is None else {"max_episode_steps": limit}),
    )
    return agents_as_lanes(arguments, envs)


def _vector_kwargs(arguments: argparse.Namespace) -> Info:
    """Return the engine's options; same-step autoreset is the default."""
    import gymcore

    options: Info = {}
    if arguments.num_threads is not None:
        options["num_threads"] = arguments.num_threads
    mode = arguments.autoreset_mode
    if mode is None and ":" not in arguments.id and arguments.id in gymcore.registry:
        spec = gymcore.registry[arguments.id]
        foreign = spec.vector_entry_point is not None and not str(
            getattr(spec.vector_entry_point, "__module__", spec.vector_entry_point)
        ).startswith("gymcore.")
        uses_jax = spec.vector_entry_point is not None and not is_native(spec)
        # A foreign vector environment, or one of JAX functions, may support only one mode.
        if (foreign or uses_jax) and arguments.vectorization in ("auto", "native"):
            return options
    options["autoreset_mode"] = gymcore.vector.AutoresetMode(_MODES[mode or "same-step"])
    return options


def _collect(
    arguments: argparse.Namespace, envs: VectorEnv, first_seed: int, started: float
) -> int:
    """Run the loop on an open environment, then save and report."""
    from gymcore.error import EnvironmentFailed, Error

    actions = actions_of(arguments.policy, envs, first_seed)
    steps = -(-arguments.num_steps // envs.num_envs)
    recording: Recording | DatasetWriter | None = None
    storing: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
    dataset = None
    if arguments.dataset is not None:
        recording = storing = dataset = _dataset(arguments, envs)
    if arguments.out is not None:
        with file_errors("--out", arguments.out):
            check_target(arguments.out, overwrite=arguments.overwrite)
        recording = Recording(envs, steps)
        check_disk(arguments.out, recording.predicted_bytes)
    history = None
    if arguments.plot is not None:
        history = RunHistory(steps * envs.num_envs)
    bar = progress(arguments.id, steps * envs.num_envs, "steps", silent=arguments.no_progress)
    engine = type(envs.unwrapped).__name__
    actors: contextlib.AbstractContextManager[Actors | None] = contextlib.nullcontext()
    if arguments.cluster is not None:
        actors = actors_of(arguments, _make, envs, first_seed)
        engine = f"{engine} in {arguments.actors} actors"
    try:
        with actors as cluster_collector, bar, storing:
            collector = Collector(
                envs,
                actions,
                steps=steps,
                seed=first_seed,
                recording=recording,
                history=history,
                actors=cluster_collector,
            )
            collector.run(bar)
            metadata = _metadata(arguments, collector, engine, first_seed)
            if dataset is not None:
                dataset.metadata["gymcore"] = metadata
    except EnvironmentFailed:  # the environment's error, not the command line's
        raise
    except Error as error:
        raise CliError(f"{arguments.id}: {type(error).__name__}: {error}") from error
    seconds = time.perf_counter() - started
    _print_summary(arguments, collector, engine, first_seed, seconds)
    if isinstance(recording, Recording):
        _store(arguments, collector, recording, metadata)
    if dataset is not None:
        size = byte_count(sum(file.stat().st_size for file in dataset.path.glob("data/*")))
        print(
            f"stored      {arguments.dataset} ({dataset.total_episodes:,} episodes, "
            f"{dataset.total_steps:,} steps, {size})"
        )
    if history is not None:
        title = f"{arguments.id}: {envs.num_envs} lanes, {engine}, policy {arguments.policy}"
        title += f", seed {first_seed}"
        plot_run(history, collector.episodes, arguments.plot, title, overwrite=arguments.overwrite)
        print(f"plotted     {arguments.plot}")
    return 130 if collector.interrupted else 0


def _dataset(arguments: argparse.Namespace, envs: VectorEnv) -> DatasetWriter:
    """Return the writer of `--dataset`; raise a `CliError` if it cannot be made."""
    from gymcore.error import Error
    from gymcore.learn.dataset import DatasetWriter

    path, description = arguments.dataset.expanduser(), {"algorithm_name": arguments.policy}
    try:
        return DatasetWriter(path, envs, metadata=description)
    except (Error, OSError, MemoryError) as error:
        raise CliError(f"--dataset: {error}") from error


def _store(
    arguments: argparse.Namespace,
    collector: Collector,
    recording: Recording,
    metadata: Info,
) -> None:
    """Write the file; an interrupted run never replaces an existing file."""
    if collector.interrupted and (arguments.out.exists() or collector.steps_done == 0):
        print(f"stored      nothing: interrupted, {arguments.out} is unchanged")
        return
    next_step = collector.mode.value == _MODES["next-step"]
    arrays = recording.arrays(next_step=next_step, metadata=metadata)
    size = save(arguments.out, arrays, overwrite=arguments.overwrite)
    print(f"stored      {arguments.out} ({byte_count(size)})")


def _metadata(
    arguments: argparse.Namespace, collector: Collector, engine: str, first_seed: int
) -> Info:
    """Return the description of the data, with everything needed to reproduce it."""
    import gymcore

    return {
        "id": arguments.id,
        "seed": first_seed,
        "num_envs": collector.num_envs,
        "steps": collector.steps_done,
        "policy": arguments.policy,
        "vectorization": arguments.vectorization,
        "engine": engine,
        "autoreset_mode": collector.mode.value,
        "max_episode_steps": arguments.max_episode_steps,
        "env_args": {name: repr(value) for name, value in arguments.env_args},
        "interrupted": collector.interrupted,
        "episodes": collector.episodes.summary(),
        "versions": {
            "gymcore": gymcore.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def _print_summary(
    arguments: argparse.Namespace,
    collector: Collector,
    engine: str,
    first_seed: int,
    wall_seconds: float,
) -> None:
    """Print throughput and episode statistics to stdout."""
    steps = collector.steps_done * collector.num_envs
    summary = collector.episodes.summary()
    if collector.interrupted:
        print("interrupted; this is the summary so far", file=sys.stderr)
    mode = next(name for name, value in _MODES.items() if value == collector.mode.value)
    print(
        f"{arguments.id}: {collector.num_envs} lanes x {collector.steps_done} steps, "
        f"{engine}, {mode} autoreset, seed {first_seed}"
    )
    rest = "setup" if arguments.dataset is None else "setup and writing"
    per_second = steps / collector.seconds if collector.seconds > 0 else 0.0
    print(
        f"throughput  {rate(per_second)} ({steps:,} steps in {collector.seconds:.3f} s; "
        f"{wall_seconds:.3f} s with {rest})"
    )
    if collector.lost:
        print(f"lost        {collector.lost:,} fragments of failed actors, collected again")
    resets = f", {summary['reset_steps']:,} steps that only reset" if summary["reset_steps"] else ""
    print(
        f"episodes    {summary['episodes']:,} ended: {summary['terminated']:,} terminated, "
        f"{summary['truncated']:,} truncated{resets}"
    )
    for name in ("return", "length"):
        if name in summary:
            value = summary[name]
            about = "" if summary["medians_exact"] else "about "
            print(
                f"{name:<12}mean {value['mean']:.6g}, median {about}{value['median']:.6g}, "
                f"min {value['min']:.6g}, max {value['max']:.6g}"
            )


# --- the loop: actions in, blocks of [T, N] steps out -------------------------------------------

# Environment steps per block: 0.5 MB for CartPole, which fits into the L2 cache.
_BLOCK = 2**14


class Collector:
    """Steps a vector environment a given number of times and counts the episodes.

    If the environment can take many steps in one call (`rollout`) and no policy needs the
    observations in between, blocks of steps are taken that way, otherwise one by one. Both ways use
    the same random actions, so the episodes are the same.

    Attributes:
        mode: The `AutoresetMode` of the environment.
        episodes: Statistics of completed episodes.
        steps_done: Number of steps taken by every lane.
        seconds: Time of the loop, without the first reset [s].
        interrupted: Whether Ctrl-C ended the loop early.
    """

    def __init__(
        self,
        envs: VectorEnv,
        actions: RandomActions | PolicyActions,
        *,
        steps: int,
        seed: int,
        recording: Recording | DatasetWriter | None = None,
        history: RunHistory | None = None,
        actors: Actors | None = None,
    ) -> None:
        """Prepare `steps` steps of every lane of a vector environment that has not been reset.

        Lane i is reset with `seed + i`. `recording` stores the steps; `history` records the
        throughput for a plot. `actors` is a `gymcore.distributed.Collector` that takes the steps
        instead of `envs`, which must be like the environments of all actors together.
        """
        self._rollout = Rollout(envs)
        self._actions = actions
        self._total = steps
        self._seed = seed
        self._recording = recording
        self._history = history
        self._actors = actors
        self._fragments: dict[int, Fragment] = {}  # the last fragment of each actor
        self.num_envs = int(envs.num_envs)
        self.mode = self._rollout.mode
        self.episodes = EpisodeStatistics(
            self.num_envs, resets_take_a_step=self.mode is AutoresetMode.NEXT_STEP
        )
        self.steps_done = 0
        self.seconds = 0.0
        self.interrupted = False
        self._rows = max(1, min(steps, _BLOCK // self.num_envs))
        if history is not None:
            self._rows = max(1, min(self._rows, steps // PARTS))
        # Without a recording, all blocks are written to the same arrays.
        self._steps = Steps.empty(self._rows, self.num_envs)

    @property
    def lost(self) -> int:
        """Number of fragments that were lost with actors of a cluster and collected again."""
        return 0 if self._actors is None else int(self._actors.lost)

    def run(self, bar: Bar) -> None:
        """Reset the batch, then take all steps, or as many as possible before Ctrl-C.

        `bar.update` receives the number of environment steps; a failing policy raises `CliError`.
        """
        if self._actors is None:
            self._rollout.reset(self._seed)
            if self._recording is not None:
                write_row(self._recording.steps.observations, 0, self._rollout.observations)
        with interruption() as interrupted:
            start = time.perf_counter()
            if self._history is not None:
                self._history.start()
            try:
                while self.steps_done < self._total and not interrupted.requested:
                    self._take_block(bar, interrupted)
            finally:
                self.seconds = time.perf_counter() - start
            self.interrupted = interrupted.requested and self.steps_done < self._total

    def _take_block(self, bar: Bar, interrupted: Interruption) -> None:
        """Take the steps of a block, or fewer after Ctrl-C, and count them."""
        rows, recording = min(self._rows, self._total - self.steps_done), self._recording
        steps, first = self._steps.part(0, rows), 0
        on_end: OnEnd | None = None
        if recording is not None:
            rows = recording.reserve(rows)
            first, add_finals = recording.rows, recording.add_finals
            steps = recording.steps.part(first, rows)

            def on_end(t: int | Lanes, lanes: Lanes, last: object) -> None:
                add_finals(first + t, lanes, last)

        if self._actors is not None:
            for fragment in self._actors.collect(None, rows):
                self._add_fragment(fragment, steps)
            bar.update(rows * self.num_envs)
        elif isinstance(self._actions, RandomActions) and self._rollout.runs_natively:
            actions = self._actions.block(rows)
            if recording is not None:
                write_row(recording.actions, slice(first, first + rows), actions)
            self._rollout.run(actions, steps, on_end)
            bar.update(rows * self.num_envs)
        else:
            source = self._actions
            if isinstance(source, RandomActions):
                block = source.block(rows)

            def act(t: int, observations: object) -> object:
                if interrupted.requested:
                    return None
                actions = source(observations) if isinstance(source, PolicyActions) else block[t]
                if recording is not None:
                    write_row(recording.actions, first + t, actions)
                bar.update(self.num_envs)
                return actions

            rows = self._rollout.collect(act, steps, on_end)
        self._block_done(steps.part(0, rows))

    def _add_fragment(self, fragment: Fragment, steps: Steps) -> None:
        """Write a fragment to the lanes of its actor."""
        first, (rows, count) = self.steps_done, fragment.rewards.shape
        columns = slice(fragment.actor * count, (fragment.actor + 1) * count)
        lanes = np.arange(columns.start, columns.stop)
        for name in ("rewards", "terminated", "truncated"):
            getattr(steps, name)[:, columns] = getattr(fragment, name)
        before = self._fragments.get(fragment.actor, fragment)
        self._fragments[fragment.actor] = fragment
        replaced = before.restart != fragment.restart
        if replaced:
            self.episodes.forget(lanes)
        recording = self._recording
        if recording is None:
            return
        if replaced:  # truncate the episodes of the lost actor
            unfinished = ~(before.terminated[-1] | before.truncated[-1])
            recording.steps.truncated[first - 1, lanes[unfinished]] = True
            last = rows_at(before.last_observations, np.flatnonzero(unfinished))
            recording.add_finals(first - 1, lanes[unfinished], last)
        block = slice(first, first + rows), columns
        write_row(recording.actions, block, fragment.actions)
        write_row(steps.observations, (slice(rows), columns), fragment.observations)
        write_row(steps.observations, (rows, columns), fragment.last_observations)
        t, lane = fragment.final_indices.T
        recording.add_finals(first + t, lanes[lane], fragment.final_observations)

    def _block_done(self, steps: Steps) -> None:
        """Count a completed block."""
        self.episodes.add(steps.rewards, steps.terminated, steps.truncated)
        self.steps_done += len(steps.rewards)
        if self._history is not None:
            self._history.add(steps.rewards.size)
        if self._recording is not None:
            self._recording.advance(len(steps.rewards))
