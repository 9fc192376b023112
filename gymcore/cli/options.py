"""Options shared by sub-commands, types of their values, and environments made from them."""

from __future__ import annotations

import argparse
import ast
from typing import TYPE_CHECKING, Any

from gymcore.cli.errors import CliError
from gymcore.specs.env_spec import Kwargs

if TYPE_CHECKING:
    from gymcore.vector import VectorEnv


def count(text: str, minimum: int = 1) -> int:
    """Parse an integer of at least `minimum`: `64`, `1_000_000` or `1e6`.

    Examples:
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
    if number < minimum:
        raise argparse.ArgumentTypeError(f"expected at least {minimum}, got {text!r}")
    return number


def seed(text: str) -> int:
    """Parse a seed: an integer of at least 0."""
    return count(text, minimum=0)


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


def env_arg(text: str) -> tuple[str, object]:
    """Parse `NAME=VALUE` into the name and the value: a Python literal, or otherwise a string.

    Examples:
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
    """Parse the width and height of frames, such as `640x480`."""
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
    """Add `--env-arg`, whose values are stored in `arguments.env_args`, a list of (name, value)."""
    parser.add_argument(
        "--env-arg",
        dest="env_args",
        action="append",
        default=[],
        type=env_arg,
        metavar="NAME=VALUE",
        help="argument of the environment, such as map_name=8x8; may be repeated",
    )


def add_frame_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the contents of frames."""
    parser.add_argument(
        "--camera", metavar="NAME", help="camera of a MuJoCo model [the tracking camera]"
    )
    parser.add_argument(
        "--frame-size",
        type=frame_size,
        metavar="WIDTHxHEIGHT",
        help="size of the frames of a MuJoCo environment [480x480]",
    )


def env_kwargs(arguments: argparse.Namespace) -> Kwargs:
    """Return the environment's arguments given on the command line."""
    kwargs = dict(arguments.env_args)
    if getattr(arguments, "camera", None) is not None:
        kwargs["camera_name"] = arguments.camera
    if getattr(arguments, "frame_size", None) is not None:
        kwargs["width"], kwargs["height"] = arguments.frame_size
    return kwargs


def make_env(arguments: argparse.Namespace, **options: object) -> Any:
    """Make `arguments.id` with its arguments on the command line; raise `CliError` if that fails.

    `options` are further arguments of `make`, or of `make_vec` if `num_envs` is among them.
    """
    import gymcore
    from gymcore.error import Error

    make: Any = gymcore.make_vec if "num_envs" in options else gymcore.make
    try:
        return make(arguments.id, **options, **env_kwargs(arguments))
    except Error as error:
        raise CliError(f"{arguments.id}: {error}") from error
    except MemoryError:
        raise CliError(f"{arguments.id}: not enough memory") from None
    except Exception as error:
        raise CliError(f"{arguments.id}: {type(error).__name__}: {error}") from error


def agents_as_lanes(arguments: argparse.Namespace, envs: VectorEnv) -> VectorEnv:
    """Return a batch in which the agents of worlds are lanes; raise `CliError` if that fails."""
    from gymcore.error import UnsupportedMode
    from gymcore.wrappers.vector import AgentsAsLanes

    if envs.agents is None:
        return envs
    try:
        return AgentsAsLanes(envs)
    except UnsupportedMode as problem:
        envs.close()
        raise CliError(f"{arguments.id}: {problem}") from problem


def make_rgb(arguments: argparse.Namespace, **options: object) -> Any:
    """Make an environment with render mode "rgb_array"; raise `CliError` if it has none."""
    env = make_env(arguments, render_mode="rgb_array", **options)
    if env.render_mode != "rgb_array":
        env.close()
        raise CliError(
            f"{arguments.id}: expected an environment with render mode 'rgb_array', got one with "
            f"{env.metadata.get('render_modes') or 'no render modes'}"
        )
    return env
