"""Where `gymcore collect` takes its actions from: random blocks, or the user's function."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.cli.common import CliError

#: Separates the stream of actions from the lanes' own streams, which start from the same seed.
_ACTION_STREAM = 0xAC7105


class RandomActions:
    """Uniform random actions for a batch, drawn by numpy in blocks of [steps, num_envs, ...].

    The same seed gives the same actions on every engine, provided the blocks have the same sizes.

    Example:
        >>> from gymcore.spaces import Discrete
        >>> block = RandomActions(Discrete(3), num_envs=4, seed=7).block(5)
        >>> block.shape, block.dtype.name, int(block.min()), int(block.max())
        ((5, 4), 'int64', 0, 2)
    """

    def __init__(self, single_action_space: Any, num_envs: int, seed: int) -> None:
        """Choose how to draw from this space.

        Args:
            single_action_space: The action space of one lane: Discrete, MultiDiscrete, MultiBinary
                or Box (the finite bounds are drawn from uniformly; an unbounded side gives a
                normal or exponential distribution, as `Box.sample` does).
            num_envs: Number of lanes.
            seed: Seed of the actions' stream.

        Raises:
            CliError: If the space is of another kind.
        """
        from gymcore import spaces

        self._num_envs = num_envs
        self._generator = np.random.Generator(
            np.random.SFC64(np.random.SeedSequence([seed, _ACTION_STREAM]))
        )
        self._shape: tuple[int, ...] = tuple(single_action_space.shape or ())
        self._dtype = np.dtype(single_action_space.dtype)
        space = single_action_space
        if isinstance(space, spaces.Discrete):
            self._draw = self._integers_below(int(space.n), int(space.start))
        elif isinstance(space, spaces.MultiDiscrete):
            self._draw = self._mixed_integers(np.asarray(space.nvec), np.asarray(space.start))
        elif isinstance(space, spaces.MultiBinary):
            self._draw = self._integers_below(2, 0)
        elif isinstance(space, spaces.Box):
            self._draw = self._box(space)
        else:
            raise CliError(
                f"random actions need a Discrete, MultiDiscrete, MultiBinary or Box action space, "
                f"this one is {space}; write a policy and pass --policy module:function"
            )

    def block(self, steps: int) -> npt.NDArray[Any]:
        """Draw the actions of the next steps.

        Args:
            steps: Number of steps.

        Returns:
            A new array [steps, num_envs, ...] of the action space's dtype.
        """
        return self._draw((steps, self._num_envs, *self._shape))

    def _integers_below(self, n: int, start: int) -> Callable[[tuple[int, ...]], npt.NDArray[Any]]:
        """Return a drawer of integers in [start, start + n)."""
        generator, dtype = self._generator, self._dtype
        if n <= 256 and n & (n - 1) == 0:
            # Random bytes with a mask: 0.7 ns an action where `integers` takes 2 to 4.
            def draw(shape: tuple[int, ...]) -> npt.NDArray[Any]:
                size = int(np.prod(shape))
                values = np.frombuffer(generator.bytes(size), dtype=np.uint8) & np.uint8(n - 1)
                block = values.astype(dtype).reshape(shape)
                return block + dtype.type(start) if start else block

            return draw
        narrow = np.dtype(np.uint8) if n <= 256 else np.dtype(np.int64)

        def draw_any(shape: tuple[int, ...]) -> npt.NDArray[Any]:
            block = generator.integers(0, n, size=shape, dtype=narrow).astype(dtype)
            return block + dtype.type(start) if start else block

        return draw_any

    def _mixed_integers(
        self, counts: npt.NDArray[Any], starts: npt.NDArray[Any]
    ) -> Callable[[tuple[int, ...]], npt.NDArray[Any]]:
        """Return a drawer of integers with a range of their own in each place."""
        generator, dtype = self._generator, self._dtype
        return lambda shape: (generator.integers(0, counts, size=shape) + starts).astype(dtype)

    def _box(self, space: Any) -> Callable[[tuple[int, ...]], npt.NDArray[Any]]:
        """Return a drawer from a box."""
        generator, dtype = self._generator, self._dtype
        low, high = np.asarray(space.low), np.asarray(space.high)
        if dtype.kind != "f":
            wide_low, wide_high = low.astype(np.int64), high.astype(np.int64)
            return lambda shape: generator.integers(
                wide_low, wide_high, size=shape, endpoint=True
            ).astype(dtype)
        below, above = np.isfinite(low), np.isfinite(high)
        if below.all() and above.all():
            wide = np.float32 if dtype.itemsize <= 4 else np.float64
            lowest, span = low.astype(wide), high.astype(wide) - low.astype(wide)

            def draw(shape: tuple[int, ...]) -> npt.NDArray[Any]:
                block: npt.NDArray[Any] = generator.random(shape, dtype=wide)
                block *= span
                block += lowest
                # The sum may round up to just above the bound.
                return np.minimum(block, high, out=block).astype(dtype, copy=False)

            return draw

        def draw_unbounded(shape: tuple[int, ...]) -> npt.NDArray[Any]:
            block = generator.standard_normal(shape)
            tail = generator.standard_exponential(shape)
            share = generator.random(shape)
            with np.errstate(invalid="ignore"):
                block = np.where(below & ~above, low + tail, block)
                block = np.where(above & ~below, high - tail, block)
                block = np.where(below & above, low + share * (high - low), block)
            return block.astype(dtype)

        return draw_unbounded


def load_policy(name: str) -> Callable[[Any], Any]:
    """Import the user's policy.

    Args:
        name: `module:function`; the module may lie in the current directory, the function may be
            any callable and may sit inside another object (`module:agent.act`).

    Returns:
        The callable; it takes the batch of observations [num_envs, ...] and returns actions.

    Raises:
        CliError: If the name has another form, or nothing callable is found behind it.
    """
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise CliError(f"--policy: expected 'random' or module:function, got {name!r}")
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        raise CliError(
            f"--policy {name}: cannot import {module_name!r}: {type(error).__name__}: {error}"
        ) from error
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise CliError(f"--policy {name}: {module_name!r} has no {path!r}") from None
    if not callable(found):
        raise CliError(f"--policy {name}: {type(found).__name__} object is not callable")
    policy: Callable[[Any], Any] = found
    return policy


class PolicyActions:
    """Asks the user's policy for actions and checks what comes back.

    Example:
        >>> import numpy as np
        >>> from gymcore.spaces import MultiDiscrete
        >>> act = PolicyActions(lambda obs: [0, 1], MultiDiscrete([2, 2]), "example:f")
        >>> act(np.zeros((2, 4)))
        array([0, 1])
    """

    def __init__(self, policy: Callable[[Any], Any], action_space: Any, name: str) -> None:
        """Keep the policy and what its answers must look like.

        Args:
            policy: Takes observations [num_envs, ...], returns actions [num_envs, ...].
            action_space: The batched action space.
            name: How messages call the policy.
        """
        self._policy = policy
        self._name = name
        self._space = action_space
        self._shape = action_space.shape
        self._dtype = action_space.dtype

    def __call__(self, observations: Any) -> Any:
        """Return the policy's actions, as an array where the action space has a shape.

        Args:
            observations: The batch, as the vector environment gave it.

        Returns:
            Actions [num_envs, ...] of the action space's dtype.

        Raises:
            CliError: If the policy raises, or answers with another shape or kind of number.
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
