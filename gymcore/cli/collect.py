"""`gymcore collect`: step a batch of environments, report the throughput, keep the data."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymcore.cli.common import CliError, byte_count, count, rate, seed
from gymcore.cli.list import is_native

if TYPE_CHECKING:
    from gymcore.cli.collector import Collector
    from gymcore.cli.recording import Recording

HELP = "collect experience from an environment and report steps a second and episode returns"

_MODES = {"next-step": "NextStep", "same-step": "SameStep", "disabled": "Disabled"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore collect`."""
    parser.add_argument("id", metavar="ID", help="environment id, or module:id")
    parser.add_argument("--num-envs", type=count, default=64, metavar="N", help="lanes [64]")
    parser.add_argument(
        "--num-steps",
        type=count,
        default=1_000_000,
        metavar="STEPS",
        help="environment steps in total, all lanes together; rounded up to whole batches [1e6]",
    )
    parser.add_argument(
        "--seed", type=seed, metavar="SEED", help="lane i is seeded with SEED + i [drawn anew]"
    )
    parser.add_argument(
        "--policy",
        default="random",
        metavar="POLICY",
        help="'random', or module:function that turns observations [N, ...] into actions [random]",
    )
    parser.add_argument(
        "--vectorization",
        choices=("auto", "native", "sync", "async"),
        default="auto",
        help="engine; auto takes the compiled one where there is one, else sync [auto]",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE.npz",
        help="keep every step: [T, N] observations, actions, rewards, flags; final observations "
        "with their (t, lane); metadata",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE.png",
        help="draw episode returns and throughput over the steps (png, pdf, svg or jpg)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    parser.add_argument("--no-progress", action="store_true", help="no progress bar")
    parser.add_argument(
        "--num-threads", type=count, metavar="K", help="threads of the engine [its own choice]"
    )
    parser.add_argument(
        "--autoreset-mode",
        choices=tuple(_MODES),
        help="when an ended lane is reset: same-step wastes no step, next-step is Gymnasium's "
        "default, disabled leaves it to this command [same-step]",
    )
    parser.add_argument(
        "--max-episode-steps", type=count, metavar="LIMIT", help="time limit of an episode"
    )


def run(arguments: argparse.Namespace) -> int:
    """Collect, then print the summary.

    Args:
        arguments: The parsed options.

    Returns:
        0, or 130 if Ctrl-C ended the run early.

    Raises:
        CliError: If the request cannot be fulfilled.
    """
    started = time.perf_counter()
    if arguments.overwrite and arguments.out is None and arguments.plot is None:
        raise CliError("--overwrite says what to do with --out FILE.npz, which is missing")
    if arguments.plot is not None:
        from gymcore.cli.collect_plot import check_plot

        check_plot(arguments.plot, overwrite=arguments.overwrite)
    first_seed = secrets.randbelow(2**31) if arguments.seed is None else arguments.seed
    envs = _make(arguments)
    try:
        code = _collect(arguments, envs, first_seed, started)
    finally:
        envs.close()
    return code


def _make(arguments: argparse.Namespace) -> Any:
    """Return the vector environment, or say in one line why there is none."""
    import gymcore
    from gymcore.error import Error

    options: dict[str, Any] = {}
    if arguments.max_episode_steps is not None:
        options["max_episode_steps"] = arguments.max_episode_steps
    try:
        vector_kwargs = _vector_kwargs(arguments)
        return gymcore.make_vec(
            arguments.id,
            num_envs=arguments.num_envs,
            vectorization_mode=None
            if arguments.vectorization == "auto"
            else arguments.vectorization,
            vector_kwargs=vector_kwargs,
            **options,
        )
    except Error as error:
        raise CliError(f"{arguments.id}: {error}") from error
    except MemoryError:
        raise CliError(f"{arguments.id}: no memory for {arguments.num_envs:,} lanes") from None
    except Exception as error:
        raise CliError(f"{arguments.id}: {type(error).__name__}: {error}") from error


def _vector_kwargs(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the engine's options: what the user asked for, and same-step autoreset by default."""
    import gymcore

    options: dict[str, Any] = {}
    if arguments.num_threads is not None:
        options["num_threads"] = arguments.num_threads
    mode = arguments.autoreset_mode
    if mode is None and ":" not in arguments.id and arguments.id in gymcore.registry:
        spec = gymcore.registry[arguments.id]
        foreign = spec.vector_entry_point is not None and not str(
            getattr(spec.vector_entry_point, "__module__", spec.vector_entry_point)
        ).startswith("gymcore.")
        of_jax = spec.vector_entry_point is not None and not is_native(spec)
        # One from outside, or over JAX, may know a single mode: leave it the choice.
        if (foreign or of_jax) and arguments.vectorization in ("auto", "native"):
            return options
    options["autoreset_mode"] = gymcore.vector.AutoresetMode(_MODES[mode or "same-step"])
    return options


def _collect(arguments: argparse.Namespace, envs: Any, first_seed: int, started: float) -> int:
    """Run the loop on an open environment; save and report."""
    from tqdm import tqdm

    from gymcore.cli.actions import PolicyActions, RandomActions, load_policy
    from gymcore.cli.collector import Collector
    from gymcore.cli.npz_file import check_target
    from gymcore.cli.recording import Recording
    from gymcore.error import EnvironmentFailed, Error

    actions: RandomActions | PolicyActions
    if arguments.policy == "random":
        actions = RandomActions(envs.single_action_space, envs.num_envs, first_seed)
    else:
        policy = load_policy(arguments.policy)
        actions = PolicyActions(policy, envs.action_space, arguments.policy)
    steps = -(-arguments.num_steps // envs.num_envs)
    recording = None
    if arguments.out is not None:
        check_target(arguments.out, overwrite=arguments.overwrite, size=0)
        recording = Recording(envs, steps)
        size = recording.predicted_bytes
        check_target(arguments.out, overwrite=arguments.overwrite, size=size)
    history = None
    if arguments.plot is not None:
        from gymcore.cli.collect_plot import RunHistory

        history = RunHistory(steps * envs.num_envs)
    collector = Collector(
        envs, actions, steps=steps, seed=first_seed, recording=recording, history=history
    )
    bar = tqdm(
        total=steps * envs.num_envs,
        unit=" steps",
        unit_scale=True,
        desc=arguments.id,
        disable=arguments.no_progress,
        dynamic_ncols=True,
    )
    try:
        with bar:
            collector.run(bar)
    except EnvironmentFailed:  # theirs, not a mistake on the command line
        raise
    except Error as error:
        raise CliError(f"{arguments.id}: {type(error).__name__}: {error}") from error
    seconds = time.perf_counter() - started
    _print_summary(arguments, envs, collector, first_seed, seconds)
    if recording is not None:
        _store(arguments, envs, collector, recording, first_seed)
    if history is not None:
        from gymcore.cli.collect_plot import draw

        engine = type(envs.unwrapped).__name__
        draw(
            history,
            arguments.plot,
            f"{arguments.id}: {envs.num_envs} lanes, {engine}, policy {arguments.policy}, "
            f"seed {first_seed}",
        )
        print(f"plotted     {arguments.plot}")
    return 130 if collector.interrupted else 0


def _store(
    arguments: argparse.Namespace,
    envs: Any,
    collector: Collector,
    recording: Recording,
    first_seed: int,
) -> None:
    """Write the file; what an interrupted run has so far never replaces another file."""
    from gymcore.cli.npz_file import save

    if collector.interrupted and (arguments.out.exists() or collector.steps_done == 0):
        print(f"stored      nothing: interrupted, {arguments.out} is as it was")
        return
    next_step = collector.mode.value == _MODES["next-step"]
    metadata = _metadata(arguments, envs, collector, first_seed)
    arrays = recording.arrays(next_step=next_step, metadata=metadata)
    size = save(arguments.out, arrays, overwrite=arguments.overwrite)
    print(f"stored      {arguments.out} ({byte_count(size)})")


def _metadata(
    arguments: argparse.Namespace, envs: Any, collector: Collector, first_seed: int
) -> dict[str, Any]:
    """Return what is needed to collect the same data again, and to know what it is."""
    import platform

    import numpy as np

    import gymcore

    return {
        "id": arguments.id,
        "seed": first_seed,
        "num_envs": envs.num_envs,
        "steps": collector.steps_done,
        "policy": arguments.policy,
        "vectorization": arguments.vectorization,
        "engine": type(envs.unwrapped).__name__,
        "autoreset_mode": collector.mode.value,
        "max_episode_steps": arguments.max_episode_steps,
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
    envs: Any,
    collector: Collector,
    first_seed: int,
    wall_seconds: float,
) -> None:
    """Print throughput and episodes to stdout."""
    steps = collector.steps_done * envs.num_envs
    found = collector.episodes.summary()
    if collector.interrupted:
        print("interrupted: the summary so far", file=sys.stderr)
    mode = next(name for name, value in _MODES.items() if value == collector.mode.value)
    print(
        f"{arguments.id}: {envs.num_envs} lanes x {collector.steps_done} steps, "
        f"{type(envs.unwrapped).__name__}, {mode} autoreset, seed {first_seed}"
    )
    per_second = steps / collector.seconds if collector.seconds > 0 else 0.0
    print(
        f"throughput  {rate(per_second)} ({steps:,} steps in {collector.seconds:.3f} s; "
        f"{wall_seconds:.3f} s with set-up)"
    )
    resets = f", {found['reset_steps']:,} steps only reset" if found["reset_steps"] else ""
    print(
        f"episodes    {found['episodes']:,} ended: {found['terminated']:,} terminated, "
        f"{found['truncated']:,} truncated{resets}"
    )
    for name in ("return", "length"):
        if name in found:
            value = found[name]
            about = "" if found["medians_exact"] else "about "
            print(
                f"{name:<12}mean {value['mean']:.6g}, median {about}{value['median']:.6g}, "
                f"min {value['min']:.6g}, max {value['max']:.6g}"
            )
