"""Actions selected by `--policy`: random, from a checkpoint, or from a function."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore.cli.errors import CliError
from gymcore.cli.options import seed
from gymcore.spaces import Space

if TYPE_CHECKING:
    from gymcore import spaces
    from gymcore.learn.policies import Act
    from gymcore.vector import VectorEnv

_Bound: TypeAlias = int | np.ndarray


def add_policy_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that select the actions."""
    parser.add_argument(
        "--seed", type=seed, metavar="SEED", help="lane i is seeded with SEED + i [random]"
    )
    parser.add_argument(
        "--policy",
        default="random",
        metavar="POLICY",
        help="'random', a checkpoint of gymcore train (FILE.npz), or module:name of a function "
        "that turns observations [N, ...] into actions, a torch module, or a model of "
        "Stable-Baselines3 [random]",
    )


class Lanes(NamedTuple):
    """The lanes of an actor, for which no vector environment is made in this process.

    Attributes:
        num_envs: Number of lanes.
        single_observation_space: Observation space of one lane.
        single_action_space: Action space of one lane.
        action_space: Action space of all lanes.
    """

    num_envs: int
    single_observation_space: Space
    single_action_space: Space
    action_space: Space


def actions_of(policy: str, envs: VectorEnv | Lanes, seed: int) -> RandomActions | PolicyActions:
    """Return the actions selected by `--policy` for a batch of environments."""
    if policy == "random":
        return RandomActions(envs.single_action_space, envs.num_envs, seed)
    return PolicyActions(load_policy(policy, envs), envs.action_space, policy)


def world_actions_of(policy: str, envs: VectorEnv, seed: int) -> Callable[[Any], object]:
    """Return the actions selected by `--policy`; in worlds, it acts for each agent as for a lane.

    Worlds whose agents differ in their spaces, or do not observe arrays, get actions for worlds.
    """
    from gymcore.spaces.batching import batch_space

    team = envs.agents
    if team is None or team.groups is not None or not envs.single_observation_space.shape:
        return actions_of(policy, envs, seed)
    number = envs.num_envs * len(team.names)
    action_space = team.action_space(team.names[0])
    lanes = Lanes(
        number,
        team.observation_space(team.names[0]),
        action_space,
        batch_space(action_space, number),
    )
    act = actions_of(policy, lanes, seed)

    def world_actions(observations: np.ndarray) -> object:
        actions = np.asarray(act(observations.reshape(number, *observations.shape[2:])))
        return actions.reshape(envs.num_envs, len(team.names), *actions.shape[1:])

    return world_actions


# Separates the stream of actions from the lanes' own streams, which use the same seed.
_ACTION_STREAM = 0xAC7105


class RandomActions:
    """Uniform random actions for a batch, drawn in blocks of [steps, num_envs, ...].

    The same seed gives the same actions with every engine if the blocks have the same sizes.

    Examples:
        >>> from gymcore.spaces import Discrete
        >>> block = RandomActions(Discrete(3), num_envs=4, seed=7).block(5)
        >>> block.shape, block.dtype.name, int(block.min()), int(block.max())
        ((5, 4), 'int64', 0, 2)
    """

    def __init__(self, single_action_space: Space, num_envs: int, seed: int) -> None:
        """Prepare for one lane's action space; raise `CliError` if it is unsupported."""
        from gymcore import spaces

        space = single_action_space
        self._generator = np.random.default_rng([seed, _ACTION_STREAM])
        self._dtype = np.dtype(space.dtype)
        self._shape = (num_envs, *(space.shape or ()))
        self._space: spaces.Box | None = None
        self._low: _Bound = 0
        self._high: _Bound = 2
        if isinstance(space, spaces.Discrete):
            self._low, self._high = int(space.start), int(space.start + space.n)
        elif isinstance(space, spaces.MultiDiscrete):
            self._low = np.asarray(space.start, np.int64)
            self._high = self._low + np.asarray(space.nvec, np.int64)
        elif isinstance(space, spaces.Box):
            self._low, self._high = space.low, space.high
            if not space.is_bounded() or self._dtype.kind != "f":
                # Rare case: the space draws each action itself.
                self._space = type(space)(space.low, space.high, space.shape, space.dtype)
                self._space.seed(int(self._generator.integers(2**32)))
        elif not isinstance(space, spaces.MultiBinary):
            raise CliError(
                "--policy random: expected a Discrete, MultiDiscrete, MultiBinary or Box action "
                f"space, got {space}; pass --policy module:function"
            )

    def __call__(self, observations: object, begins: object = None) -> npt.NDArray[np.generic]:
        """Return the actions of the next step, [num_envs, ...]."""
        action: np.ndarray = self.block(1)[0]
        return action

    def block(self, steps: int) -> npt.NDArray[np.generic]:
        """Return the actions of the next steps, a new array [steps, num_envs, ...]."""
        shape = (steps, *self._shape)
        if self._space is not None:
            samples = [self._space.sample() for _ in range(steps * self._shape[0])]
            return np.array(samples, self._dtype).reshape(shape)
        if self._dtype.kind != "f":
            return self._generator.integers(self._low, self._high, shape).astype(self._dtype)
        block = self._generator.random(shape) * (self._high - self._low) + self._low
        # Rounding may exceed the upper bound.
        actions: np.ndarray = np.minimum(block.astype(self._dtype), self._high)
        return actions


def load_policy(name: str, envs: VectorEnv | Lanes) -> Act:
    """Return the policy of a checkpoint (FILE.npz), or import it: `module:name`, `module:a.b`.

    It is of any kind that `gymcore.learn.evaluate` accepts. Another object, or a checkpoint of an
    environment with other spaces than `envs`, raises `CliError`.
    """
    from gymcore.error import Error
    from gymcore.learn.policies import policy_function

    try:
        return policy_function(name if name.endswith(".npz") else _imported(name), envs)
    except (Error, OSError) as error:
        raise CliError(f"--policy {name}: {str(error).removeprefix(f'{name}: ')}") from error


def _imported(name: str) -> object:
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise CliError(f"--policy: expected 'random', FILE.npz or module:name, got {name!r}")
    try:
        policy: object = importlib.import_module(module_name)
    except Exception as error:
        raise CliError(
            f"--policy {name}: cannot import {module_name!r}: {type(error).__name__}: {error}"
        ) from error
    for part in path.split("."):
        try:
            policy = getattr(policy, part)
        except AttributeError:
            raise CliError(f"--policy {name}: {module_name!r} has no {path!r}") from None
    return policy


class PolicyActions:
    """Calls the user's policy and checks the actions it returns.

    Examples:
        >>> import numpy as np
        >>> from gymcore.spaces import MultiDiscrete
        >>> act = PolicyActions(lambda obs, begins: [0, 1], MultiDiscrete([2, 2]), "example:f")
        >>> act(np.zeros((2, 4)))
        array([0, 1])
    """

    def __init__(self, policy: Act, action_space: Space, name: str) -> None:
        """Store the policy, the batched action space, and the policy's name for messages."""
        self._policy = policy
        self._name = name
        self._shape = action_space.shape
        self._dtype = action_space.dtype

    def __call__(self, observations: object, begins: npt.NDArray[np.bool_] | None = None) -> object:
        """Return the policy's actions, as an array if the action space has a shape.

        `begins` has flags of the lanes whose episode begins, which recurrent policies need. A
        `CliError` is raised if the policy fails, or returns another shape or kind of number.
        """
        try:
            actions = self._policy(observations, begins)
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
