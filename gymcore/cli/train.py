"""`gymcore train`: train an agent with the PPO of `gymcore.learn`, which needs only NumPy."""

from __future__ import annotations

import argparse
import inspect
import math
import re
import secrets
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gymcore.base.new_file import check_target
from gymcore.cli.errors import CliError, file_errors
from gymcore.cli.formats import duration, rate
from gymcore.cli.options import add_env_arg_option, count, env_kwargs, seed
from gymcore.cli.plots import check_plot, plot_curve
from gymcore.cli.progress import progress
from gymcore.cli.signals import interruption
from gymcore.learn.settings import Settings

if TYPE_CHECKING:
    from gymcore.learn import PPO, TensorBoardLog

HELP = "train an agent (PPO in NumPy), store a checkpoint and plot the learning curve"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore train`."""
    parser.add_argument("id", nargs="?", metavar="ID", help="environment id, or module:id")
    add_env_arg_option(parser)
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FILE.npz",
        help="continue from a checkpoint and overwrite it; also pass ID if it is module:id",
    )
    parser.add_argument(
        "--seed",
        type=seed,
        metavar="SEED",
        help="seed of the whole run; lane i is seeded with SEED + i [random]",
    )
    parser.add_argument(
        "--num-workers",
        type=count,
        metavar="N",
        help="processes that step the lanes, for an environment written in Python",
    )
    parser.add_argument("--out", type=Path, metavar="FILE.npz", help="checkpoint to write [ID.npz]")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE.png", help="plot the returns (png, pdf, svg or jpg)"
    )
    parser.add_argument(
        "--log", type=Path, metavar="DIR", help="write the metrics of each update for TensorBoard"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace existing files")
    parser.add_argument("--no-progress", action="store_true", help="do not show progress")
    group = parser.add_argument_group("settings", "defaults differ for some environments")
    for field in fields(Settings):
        option, text = f"--{field.name.replace('_', '-')}", _HELP_OF_SETTINGS.get(field.name, "")
        if isinstance(field.default, bool):
            group.add_argument(option, action=argparse.BooleanOptionalAction, help=text)
        else:
            parse, metavar = _PARSERS[type(field.default)]
            default = "the id's" if field.default is None else field.default
            group.add_argument(option, type=parse, metavar=metavar, help=f"{text} [{default}]")


def _sizes(text: str) -> tuple[int, ...]:
    """Parse the sizes of layers, such as `64,64`."""
    return tuple(count(size) for size in text.split(","))


_PARSERS: dict[type, tuple[Callable[[str], object], str]] = {
    int: (count, "N"),
    float: (float, "X"),
    type(None): (float, "X"),
    tuple: (_sizes, "N,N,..."),
}
"""Parser and text of an option, by the type of the setting's default."""

_HELP_OF_SETTINGS = {
    name: " ".join(text.split()).rstrip(".")
    for name, text in re.findall(
        r"^    (\w+): (.*(?:\n {8}.*)*)", inspect.cleandoc(Settings.__doc__ or ""), re.MULTILINE
    )
}
"""Help text of each setting, from the docstring of `Settings`."""


def run(arguments: argparse.Namespace) -> int:
    """Train and save the checkpoint; return 0, or 130 if Ctrl-C ended training early."""
    resumed: Path | None = arguments.resume
    if arguments.id is None and resumed is None:
        raise CliError("expected an environment id or --resume FILE.npz")
    if resumed is not None and arguments.seed is not None:
        raise CliError("--seed: expected none with --resume; the checkpoint has the random state")
    if resumed is not None and arguments.env_args:
        raise CliError("--env-arg: expected none with --resume; the checkpoint has the arguments")
    if arguments.plot is not None:
        check_plot(arguments.plot, overwrite=arguments.overwrite)
    path = arguments.out or resumed or Path(f"{arguments.id.replace('/', '-').split(':')[-1]}.npz")
    with file_errors("--out", path):
        overwrite = arguments.overwrite or path == resumed
        check_target(path, overwrite=overwrite)
    ppo = _ppo(arguments)
    try:
        interrupted = _train(ppo, arguments)
        if path.exists() and not overwrite:  # created during training
            path = path.with_stem(f"{path.stem}-{secrets.token_hex(3)}")
        with file_errors("--out", path):
            ppo.save(path, overwrite=overwrite)
    finally:
        ppo.close()
    print(f"stored      {path}")
    if arguments.plot is not None:
        plot_curve(ppo, arguments.plot, overwrite=arguments.overwrite)
        print(f"plotted     {arguments.plot}")
    if interrupted:
        print(f"interrupted; continue with: gymcore train --resume {path}", file=sys.stderr)
    return 130 if interrupted else 0


def _ppo(arguments: argparse.Namespace) -> PPO:
    """Return the agent to train; raise `CliError` if it cannot be made."""
    from gymcore.learn import PPO

    options = {field.name: getattr(arguments, field.name) for field in fields(Settings)}
    options["num_workers"] = arguments.num_workers
    changes = {name: value for name, value in options.items() if value is not None}
    try:
        if arguments.resume is not None:
            return _resumed(arguments, changes)
        first_seed = secrets.randbelow(2**31) if arguments.seed is None else arguments.seed
        ppo = PPO(arguments.id, seed=first_seed, env_kwargs=env_kwargs(arguments), **changes)
    except Exception as error:
        name = arguments.resume or arguments.id
        message = str(getattr(error, "message", error)).removeprefix(f"{name}: ")
        raise CliError(f"{name}: {message}") from error
    print(f"seed        {first_seed}")
    return ppo


def _resumed(arguments: argparse.Namespace, changes: dict[str, Any]) -> PPO:
    """Load the agent of a checkpoint, for the environment named on the command line, if any.

    The module of "module:id" is imported, which a checkpoint itself cannot cause.
    """
    from gymcore.learn import PPO
    from gymcore.learn.checkpoint import read_checkpoint
    from gymcore.specs.lookup import find_spec, registered_id

    expected = None if arguments.id is None else find_spec(arguments.id).id
    ppo = PPO.load(arguments.resume, **changes)
    try:
        if expected not in (None, registered_id(ppo.env_id)):
            raise CliError(f"expected a checkpoint of {expected}, got one of {ppo.env_id}")
        if reasons := _reasons_to_end(ppo, ppo.settings):
            options = " and ".join(f"a higher {option}" for option in reasons)
            raise CliError(
                f"training is complete: it {' and '.join(reasons.values())}; pass {options} to "
                "continue"
            )
    except CliError:
        ppo.close()
        raise
    reasons = _reasons_to_end(ppo, read_checkpoint(arguments.resume).settings)
    ended = " and ".join(reasons.values()) or "was interrupted"
    print(f"resumed     at {ppo.steps:,} steps; the run before {ended}")
    return ppo


def _reasons_to_end(ppo: PPO, settings: Settings) -> dict[str, str]:
    """Return why training with these settings has ended, by the option that lets it continue."""
    reasons = {}
    if settings.target is not None and ppo.mean_return >= settings.target:
        reasons["--target"] = (
            f"reached the target, {settings.target:g}, with a mean return of {ppo.mean_return:.6g}"
        )
    if ppo.steps >= settings.total_steps:
        reasons["--total-steps"] = f"took {ppo.steps:,} of {settings.total_steps:,} steps"
    return reasons


def _log(folder: Path) -> closing[TensorBoardLog]:
    """Return the log for `--log`, which is closed at the end of a `with` block."""
    from gymcore.error import DependencyNotInstalled
    from gymcore.learn import TensorBoardLog

    try:
        return closing(TensorBoardLog(folder))
    except (DependencyNotInstalled, OSError) as error:
        raise CliError(f"--log: {error}") from error


def _train(ppo: PPO, arguments: argparse.Namespace) -> bool:
    """Update until the target or the last step, and report; return whether Ctrl-C ended it."""
    from threadpoolctl import threadpool_limits

    settings, first, started = ppo.settings, ppo.steps, time.perf_counter()
    total, target = settings.total_steps, cast("float", settings.target)
    print(f"settings    {', '.join(f'{k}={v}' for k, v in asdict(settings).items())}")
    until = (
        "" if target == math.inf else f", or until the mean return of 100 episodes is {target:g}"
    )
    lanes = f"{settings.num_envs} lanes of {type(ppo.envs.unwrapped).__name__}"
    print(f"plan        {total - first:,} steps{until}; {lanes}", flush=True)
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(1))  # see PPO
        log = None if arguments.log is None else stack.enter_context(_log(arguments.log))
        interrupted = stack.enter_context(interruption())
        metrics = ppo.update()  # shows how long the others will take
        remaining = (time.perf_counter() - started) * (total - first) / (ppo.steps - first)
        print(f"time        about {duration(remaining)} for all steps", flush=True)
        bar = progress(ppo.env_id, total, "steps", silent=arguments.no_progress, done=first)
        stack.enter_context(bar)

        def report(ppo: PPO, metrics: dict[str, float]) -> bool:
            if log is not None:
                log(ppo, metrics)
            if ppo.curve:
                bar.set_postfix_str(f"return {ppo.curve[-1][2]:.4g}", refresh=False)
            bar.update(settings.num_envs * settings.num_steps)
            return interrupted.requested

        if not report(ppo, metrics):
            ppo.train(report)
    seconds, steps = time.perf_counter() - started, ppo.steps - first
    reasons = _reasons_to_end(ppo, settings)
    print(
        f"{ppo.env_id}: {ppo.steps:,} steps, {sum(ended for _, ended, _ in ppo.curve):,} episodes"
    )
    print(f"throughput  {rate(steps / seconds)} ({steps:,} steps in {seconds:.3f} s)")
    mean = "no episode has ended"
    if ppo.recent:
        mean = f"mean {np.mean(ppo.recent):.6g} of the last {len(ppo.recent)} episodes"
    solved = " (reached)" if "--target" in reasons else ""
    print(f"return      {mean}" + ("" if target == math.inf else f", target {target:g}{solved}"))
    return interrupted.requested and not reasons
