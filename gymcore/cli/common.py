"""What the sub-commands share: errors, argument types, formats, progress, Ctrl-C, and actions."""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt


class CliError(Exception):
    """A request that cannot be fulfilled; `main` prints it on one line and returns 2."""


# --- types of arguments ---------------------------------------------------------------------------


def count(text: str) -> int:
    """Parse a positive integer: `64`, `1_000_000` or `1e6`.

    Example:
        >>> count("1e6") == count("1_000_000") == 1000000
        True
    """
    try:
        number = int(text)
    except ValueError:
        try:
            number = int(float(text))
        except (ValueError, OverflowError):
            number = -1
        if number != -1 and number != float(text):
            number = -1
        if number == -1:
            raise argparse.ArgumentTypeError(f"expected an integer, got {text!r}") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {text!r}")
    return number


def seed(text: str) -> int:
    """Parse a seed: an integer of at least 0."""
    return 0 if text == "0" else count(text)


def positive(text: str) -> float:
    """Parse a finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return number


_WORDS = {"true": True, "false": False, "none": None}


def env_arg(text: str) -> tuple[str, Any]:
    """Parse `NAME=VALUE` into the name and the value: a Python literal, or else a string.

    Example:
        >>> env_arg("gravity=-5"), env_arg("map_name=8x8"), env_arg("is_slippery=false")
        (('gravity', -5), ('map_name', '8x8'), ('is_slippery', False))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, _WORDS.get(value.lower(), value)


def frame_size(text: str) -> tuple[int, int]:
    """Parse the width and height of frames, `640x480`."""
    width, _, height = text.lower().partition("x")
    try:
        return count(width), count(height)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"expected WIDTHxHEIGHT, such as 640x480, got {text!r}"
        ) from None


def add_env_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the environment's id and its arguments."""
    parser.add_argument("id", metavar="ID", help="environment id, or module:id")
    add_env_arg_option(parser)


def add_env_arg_option(parser: argparse.ArgumentParser) -> None:
    """Add `--env-arg`, whose values are in `arguments.env_args`, a list of (name, value)."""
    parser.add_argument(
        "--env-arg",
        dest="env_args",
        action="append",
        default=[],
        type=env_arg,
        metavar="NAME=VALUE",
        help="an argument of the environment, as map_name=8x8; can be given several times",
    )


def add_frame_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of what frames show."""
    parser.add_argument("--camera", metavar="NAME", help="camera of a MuJoCo model [that tracks]")
    parser.add_argument(
        "--frame-size",
        type=frame_size,
        metavar="WIDTHxHEIGHT",
        help="size of the frames of a MuJoCo environment [480x480]",
    )


def env_kwargs(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the environment's arguments that the command line gives."""
    kwargs = dict(arguments.env_args)
    if getattr(arguments, "camera", None) is not None:
        kwargs["camera_name"] = arguments.camera
    if getattr(arguments, "frame_size", None) is not None:
        kwargs["width"], kwargs["height"] = arguments.frame_size
    return kwargs


# --- formats --------------------------------------------------------------------------------------


def rate(per_second: float) -> str:
    """Return a rate of steps a second as text.

    Example:
        >>> rate(41_234_567.0), rate(128_400.0), rate(87.0)
        ('41.2 M steps/s', '128 k steps/s', '87 steps/s')
    """
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        # 999.6 k would print as 1e+03 k: take the next unit from where rounding reaches it.
        if per_second >= limit * 0.9995:
            return f"{_three_figures(per_second / limit)}{unit} steps/s"
    return f"{_three_figures(per_second)} steps/s"


def duration(length: float) -> str:
    """Return a time in seconds as text.

    Example:
        >>> duration(1.234e-9), duration(0.0156), duration(75.0)
        ('1.23 ns', '15.6 ms', '75 s')
    """
    for limit, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if length >= limit * 0.9995:
            return f"{_three_figures(length / limit)} {unit}"
    return f"{_three_figures(length / 1e-9)} ns"


def times(ratio: float) -> str:
    """Return a ratio as text.

    Example:
        >>> times(1234.5), times(60.0), times(0.5514)
        ('1234x', '60x', '0.55x')
    """
    return f"{_three_figures(ratio)}x"


def byte_count(number: float) -> str:
    """Return a number of bytes as text, with a binary unit.

    Example:
        >>> byte_count(3 * 2**30), byte_count(17)
        ('3 GiB', '17 B')
    """
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if number >= 2**power * 0.9995:
            return f"{_three_figures(number / 2**power)} {unit}"
    return f"{number:.0f} B"


def _three_figures(number: float) -> str:
    """Return 1.23, 12.3 or 123, without trailing zeros after the decimal point."""
    decimals = 0 if number >= 99.95 else 1 if number >= 9.995 else 2
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def table(rows: list[list[str]], header: list[str]) -> str:
    """Return rows as aligned columns: the first left-aligned, the others right-aligned.

    Example:
        >>> print(table([["a", "1"], ["bcd", "22"]], ["name", "n"]))
        name   n
        ----  --
        a      1
        bcd   22
    """
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


# --- files, environments, Ctrl-C ------------------------------------------------------------------


@contextlib.contextmanager
def file_errors(option: str, path: Path) -> Iterator[None]:
    """Turn an `OSError` in the block, in which the file of `option` is written, into a `CliError`.

    Example:
        >>> with file_errors("--out", Path("no/file")):
        ...     open("no/file", "w")
        Traceback (most recent call last):
        gymcore.cli.common.CliError: --out: cannot write no/file: No such file or directory
    """
    try:
        yield
    except FileExistsError as error:
        raise CliError(f"{option}: {error}; --overwrite replaces it") from error
    except OSError as error:
        raise CliError(f"{option}: cannot write {path}: {error.strerror or error}") from error


def make_rgb(env_id: str, num_envs: int | None = None, **kwargs: Any) -> Any:
    """Return an environment with render mode "rgb_array"; a `CliError` if there is none.

    `num_envs` makes a vector environment; `kwargs` are arguments of the environment.
    """
    import gymcore
    from gymcore.error import Error

    try:
        if num_envs is None:
            env: Any = gymcore.make(env_id, render_mode="rgb_array", **kwargs)
        else:
            env = gymcore.make_vec(env_id, num_envs=num_envs, render_mode="rgb_array", **kwargs)
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


class _PercentLines:
    """Reports progress as lines on stderr: after 2, 6, 14, ... seconds, then once a minute."""

    def __init__(self, name: str, total: int, done: int) -> None:
        self._name, self._total, self._done, self._note = name, total, done, ""
        self._wait, self._next = 2.0, time.monotonic() + 2.0

    def __enter__(self) -> _PercentLines:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def update(self, steps: int = 1) -> None:
        self._done += steps
        if (now := time.monotonic()) >= self._next:
            percent = 100 * self._done // self._total
            print(f"{self._name}: {percent} %{self._note}", file=sys.stderr, flush=True)
            self._wait = min(2 * self._wait, 60.0)
            self._next = now + self._wait

    def set_postfix_str(self, note: str, refresh: bool = False) -> None:
        self._note = f", {note}"


def progress(name: str, total: int, unit: str, *, silent: bool, done: int = 0) -> Any:
    """Return a bar of tqdm's if stderr is a terminal, else lines by percent, both to be updated.

    `silent` shows nothing; `done` is where it begins.
    """
    from tqdm import tqdm

    if not silent and not sys.stderr.isatty():
        return _PercentLines(name, total, done)
    return tqdm(
        total=total,
        initial=done,
        desc=name,
        unit=f" {unit}",
        unit_scale=True,
        disable=silent,
        dynamic_ncols=True,
    )


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings on one line of stderr, without the file that warned.

    Colours stay on a terminal, unless `NO_COLOR` is set.
    """
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        text = " ".join(str(message).split())
        if not coloured:
            text = re.sub(r"\x1b\[[0-9;]*m", "", text)
        print(f"gymcore: {text}", file=sys.stderr)

    previous = warnings.showwarning
    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = previous


class Interruption:
    """Whether Ctrl-C was pressed; see `interruption`.

    Attributes:
        requested: True once it was.
    """

    requested = False


@contextlib.contextmanager
def interruption() -> Iterator[Interruption]:
    """Turn the first Ctrl-C inside a `with` block into a flag, so that loops end between steps.

    The second Ctrl-C raises `KeyboardInterrupt` at once. Outside the main thread, where Python
    delivers no signals, the flag stays False.

    Example:
        >>> with interruption() as interrupted:
        ...     interrupted.requested
        False
    """
    state = Interruption()

    def note(signum: int, frame: FrameType | None) -> None:
        if state.requested:
            raise KeyboardInterrupt
        state.requested = True

    with _handling(signal.SIGINT, note):
        yield state


@contextlib.contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Let SIGTERM raise `SystemExit`, so that `finally` clauses run, unless the program handles it.

    By default the signal ends Python at once, and temporary files would stay.
    """

    def leave(signum: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + signum)

    handled = signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    with contextlib.nullcontext() if handled else _handling(signal.SIGTERM, leave):
        yield


@contextlib.contextmanager
def _handling(number: int, handler: Any) -> Iterator[None]:
    """Handle a signal in the block, if this is the main thread; then restore what did before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, previous)


# --- actions --------------------------------------------------------------------------------------


def add_policy_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that decide on the actions."""
    parser.add_argument(
        "--seed", type=seed, metavar="SEED", help="lane i is seeded with SEED + i [random]"
    )
    parser.add_argument(
        "--policy",
        default="random",
        metavar="POLICY",
        help="'random', a checkpoint of gymcore train (FILE.npz), or module:function that turns "
        "observations [N, ...] into actions [random]",
    )


def actions_of(policy: str, envs: Any, seed: int) -> RandomActions | PolicyActions:
    """Return the actions of `--policy`, for a batch of environments."""
    if policy == "random":
        return RandomActions(envs.single_action_space, envs.num_envs, seed)
    load = load_checkpoint if policy.endswith(".npz") else load_policy
    return PolicyActions(load(policy), envs.action_space, policy)


# Separates the stream of actions from the lanes' own streams, which start from the same seed.
_ACTION_STREAM = 0xAC7105


class RandomActions:
    """Uniform random actions for a batch, drawn in blocks of [steps, num_envs, ...].

    The same seed gives the same actions on every engine, provided the blocks have the same sizes.

    Example:
        >>> from gymcore.spaces import Discrete
        >>> block = RandomActions(Discrete(3), num_envs=4, seed=7).block(5)
        >>> block.shape, block.dtype.name, int(block.min()), int(block.max())
        ((5, 4), 'int64', 0, 2)
    """

    def __init__(self, single_action_space: Any, num_envs: int, seed: int) -> None:
        """Prepare for an action space of one lane; raise a `CliError` if it is unsupported."""
        from gymcore import spaces

        space = single_action_space
        self._generator = np.random.default_rng([seed, _ACTION_STREAM])
        self._dtype = np.dtype(space.dtype)
        self._shape = (num_envs, *(space.shape or ()))
        self._space: Any = None
        self._low: Any = 0
        self._high: Any = 2
        if isinstance(space, spaces.Discrete):
            self._low, self._high = int(space.start), int(space.start + space.n)
        elif isinstance(space, spaces.MultiDiscrete):
            self._low = np.asarray(space.start, np.int64)
            self._high = self._low + np.asarray(space.nvec, np.int64)
        elif isinstance(space, spaces.Box):
            self._low, self._high = space.low, space.high
            if not space.is_bounded() or self._dtype.kind != "f":
                # Rare: the space draws each action itself.
                self._space = type(space)(space.low, space.high, space.shape, space.dtype)
                self._space.seed(int(self._generator.integers(2**32)))
        elif not isinstance(space, spaces.MultiBinary):
            raise CliError(
                "random actions need a Discrete, MultiDiscrete, MultiBinary or Box action space, "
                f"this one is {space}; pass --policy module:function"
            )

    def block(self, steps: int) -> npt.NDArray[Any]:
        """Return the actions of the next steps, a new array [steps, num_envs, ...]."""
        shape = (steps, *self._shape)
        if self._space is not None:
            samples = [self._space.sample() for _ in range(steps * self._shape[0])]
            return np.array(samples, self._dtype).reshape(shape)
        if self._dtype.kind != "f":
            return self._generator.integers(self._low, self._high, shape).astype(self._dtype)
        block = self._generator.random(shape) * (self._high - self._low) + self._low
        # Rounding can exceed the upper bound.
        return np.minimum(block.astype(self._dtype), self._high)


def load_policy(name: str) -> Callable[[Any], Any]:
    """Import the user's policy: `module:function`, or another callable, as `module:agent.act`.

    The policy is called with the batch of observations
    [num_envs, ...] and returns actions. A name that leads to no callable is a `CliError`.
    """
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise CliError(f"--policy: expected 'random' or module:function, got {name!r}")
    try:
        policy: Any = importlib.import_module(module_name)
    except Exception as error:
        raise CliError(
            f"--policy {name}: cannot import {module_name!r}: {type(error).__name__}: {error}"
        ) from error
    for part in path.split("."):
        try:
            policy = getattr(policy, part)
        except AttributeError:
            raise CliError(f"--policy {name}: {module_name!r} has no {path!r}") from None
    if not callable(policy):
        raise CliError(f"--policy {name}: {type(policy).__name__} object is not callable")
    return policy


def load_checkpoint(path: str) -> Callable[[Any], Any]:
    """Return the policy of a checkpoint of `gymcore train`, which takes the most probable actions.

    A file that is not one is a `CliError`.
    """
    from gymcore.error import Error
    from gymcore.learn import PPO

    try:
        ppo = PPO.load(path, num_envs=1)
    except (Error, OSError) as error:
        raise CliError(f"--policy {path}: {error}") from error
    ppo.close()
    return ppo.act


class PolicyActions:
    """Calls the user's policy and checks the actions that it returns.

    Example:
        >>> import numpy as np
        >>> from gymcore.spaces import MultiDiscrete
        >>> act = PolicyActions(lambda obs: [0, 1], MultiDiscrete([2, 2]), "example:f")
        >>> act(np.zeros((2, 4)))
        array([0, 1])
    """

    def __init__(self, policy: Callable[[Any], Any], action_space: Any, name: str) -> None:
        """Keep the policy, the batched action space, and the policy's name for messages."""
        self._policy = policy
        self._name = name
        self._shape = action_space.shape
        self._dtype = action_space.dtype

    def __call__(self, observations: Any) -> Any:
        """Return the policy's actions, as an array where the action space has a shape.

        Raises a `CliError` if the policy raises, or returns another shape or kind of number.
        """
        try:
            actions = self._policy(observations)
        except Exception as error:
            raise CliError(
                f"--policy {self._name} raised {type(error).__name__}: {error}"
            ) from error
        if self._shape is None or self._dtype is None:
            return actions
        array = np.asarray(actions)
        if array.shape != self._shape:
            raise CliError(
                f"--policy {self._name}: expected actions of shape {self._shape}, got {array.shape}"
            )
        if array.dtype == self._dtype:
            return array
        if not np.can_cast(array.dtype, self._dtype, casting="same_kind"):
            raise CliError(
                f"--policy {self._name}: expected actions of dtype {self._dtype}, got {array.dtype}"
            )
        return array.astype(self._dtype)
