"""Tensorforce's environment interface: states, actions, `reset` and `execute`."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import positive
from gymcore.base.nested import map_leaves
from gymcore.base.no_copies import NoCopies
from gymcore.core import Env
from gymcore.environment.gym_adapter import GymAdapter, is_level
from gymcore.environment.process import ProcessConnection
from gymcore.environment.requests import HELLO, KIND, HostedEnvironment
from gymcore.environment.shaping import VARIABLES, parse_expression
from gymcore.environment.value_specs import Spec, check_values, checked_spec
from gymcore.error import (
    ArgumentTypeError,
    Error,
    InvalidArgument,
    RemoteError,
    ResetNeeded,
)
from gymcore.remote.client import Client
from gymcore.remote.server import Server
from gymcore.specs.env_spec import Kwargs
from gymcore.specs.ids import check_no_module

ABORTED = 2
"""Terminal code of an episode ended by a time limit; 1 is a terminal state, 0 is neither."""

RESET = -1
"""The `terminal` that `receive_execute` returns after `start_reset`."""

GYM_KEYS = ("default", "gym", "openai_gym", "gymnasium", "gymcore")
"""Names under which `create` makes environments with Gym's interface; `level` selects one."""

REMOTES = (None, "multiprocessing", "socket-client", "socket-server")
CLIENT_OPTIONS = ("keys", "connect_timeout", "timeout", "max_message_bytes")
SERVER_OPTIONS = ("keys", "max_message_bytes", "session_seconds", "log")

MAX_PARALLEL = 1024
"""Default of `max_parallel`: how many environments a client can run in parallel."""

RewardShaping = Callable[..., object]
Shaping = str | RewardShaping | None


class Environment:
    """Base class of environments with Tensorforce's interface.

    A subclass defines `states`, `actions`, `reset` and `execute`. Use `create` to make
    environments: it adds checks of the order of calls, a time limit and reward shaping.

    Examples:
        >>> class Coin(Environment):
        ...     def states(self):
        ...         return {"type": "int", "num_values": 2}
        ...     def actions(self):
        ...         return {"type": "int", "num_values": 2}
        ...     def reset(self):
        ...         return 0
        ...     def execute(self, actions):
        ...         return 0, False, float(actions == 1)
        >>> environment = Environment.create(Coin, max_episode_timesteps=2)
        >>> environment.reset()
        0
        >>> environment.execute(1), environment.execute(0)
        ((0, 0, 1.0), (0, 2, 0.0))
    """

    def states(self) -> Spec:
        """Return the specification of the states: of one value, or a nested dict of specifications.

        The specification of a value has a `type` ("bool", "int" or "float") and a `shape`, and may
        have `num_values` (of an int), `min_value` and `max_value`.
        """
        raise NotImplementedError

    def actions(self) -> Spec:
        """Return the specification of the actions, in the same form as `states`."""
        raise NotImplementedError

    def max_episode_timesteps(self) -> int | None:
        """Return the time limit of an episode, or None."""
        return None

    def is_vectorizable(self) -> bool:
        """Return whether `reset(num_parallel)` runs environments in parallel."""
        return False

    def num_actors(self) -> int:
        """Return the number of actors; `reset` and `execute` have one row per actor."""
        return 1

    def episode_return(self, parallel: object = None) -> Any:
        """Return the episode's return if it is not the sum of the rewards, otherwise None."""
        return None

    def seed(self, seed: int) -> None:
        """Seed the next reset; environments without random numbers need not define this method."""

    def reset(self, num_parallel: int | None = None) -> Any:
        """Start an episode.

        Args:
            num_parallel: Number of environments that start an episode; None for one, without the
                extra axis.

        Returns:
            The states; with `num_parallel` a pair: the indices of the environments, int64
            `[num_parallel]`, and states with an additional first axis.
        """
        raise NotImplementedError

    def execute(self, actions: object) -> Any:
        """Take one step.

        Args:
            actions: Actions that match the specification; in parallel, one row per environment
                with an unfinished episode, in the order of the last returned indices.

        Returns:
            A tuple of states, terminal (0; 1 in a terminal state; 2 if the episode was cut off) and
            reward. In parallel, the indices and states are those of environments with unfinished
            episodes; int64 terminals and rewards are those of all environments that were stepped.
        """
        raise NotImplementedError

    def final_states(self) -> Any:
        """Return the states in which episodes ended in the last `execute`, for bootstrapping.

        In parallel, they have one row per environment whose episode ended, in order. The result is
        None if no episode ended or the environment does not provide the states.
        """
        return None

    def abort(self, parallel: npt.NDArray[np.int64]) -> None:
        """End the episodes of some of the parallel environments, given by index.

        Raises:
            InvalidArgument: If this environment does not support it.
        """
        raise InvalidArgument(f"{self} cannot end the episodes of some environments")

    def start_reset(self, num_parallel: int | None = None) -> None:
        """Request a reset; `receive_execute` returns its result."""
        self._start(lambda: self._after_reset(self.reset(num_parallel), num_parallel))

    def start_execute(self, actions: object) -> None:
        """Request a step; `receive_execute` returns its result."""
        self._start(lambda: self.execute(actions))

    def receive_execute(self) -> Any:
        """Return the result of the last `start_reset` or `start_execute`.

        After `start_reset` it has the form of `execute`, with terminal -1 and reward None.

        Raises:
            ResetNeeded: If there was no request.
        """
        pending, self._pending = self._pending, None
        if pending is None:
            raise ResetNeeded("receive_execute: expected start_reset or start_execute first")
        return pending()

    _pending: Callable[[], object] | None = None

    def _start(self, request: Callable[[], object]) -> None:
        if self._pending is not None:
            raise InvalidArgument(
                "expected receive_execute between two calls of start_reset or start_execute"
            )
        self._pending = request

    def _after_reset(self, result: Any, num_parallel: int | None) -> tuple[object, ...]:
        if num_parallel is None and self.num_actors() == 1:
            return result, RESET, None
        return *result, RESET, None

    def close(self) -> None:
        """Release the resources of the environment."""

    def __str__(self) -> str:
        return type(self).__name__

    def __enter__(self) -> Environment:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @staticmethod
    def create(
        environment: object = None,
        max_episode_timesteps: int | None = None,
        reward_shaping: Shaping = None,
        remote: str | None = None,
        blocking: bool = False,
        host: str | None = None,
        port: int | None = None,
        **kwargs: Any,
    ) -> Environment:
        """Create an environment.

        Args:
            environment: An id, a class or an instance of environments of gymcore or Gymnasium; a
                key ("gym", "default"); a subclass or an instance of `Environment`; a module, or
                `module.Class`, that contains one; a dict of these arguments, or the path of a JSON
                file with such a dict.
            max_episode_timesteps: Time limit; not above the environment's own.
            reward_shaping: A function of (states, actions, terminal, reward, next_states), or an
                expression of them (`shaping.parse_expression`), that returns the reward, or
                (reward, terminal). In parallel, a function gets one row per environment that was
                stepped; an expression is evaluated for each of them.
            remote: None; "multiprocessing" for a separate process; "socket-server" to serve one
                client over TCP until it closes the environment, and then return None;
                "socket-client" to use the environment of a server.
            blocking: Whether `receive_execute` of a remote environment waits for the reply;
                otherwise it returns None until the reply has arrived.
            host: IP address for sockets; the default is this machine. A server requires `keys` for
                any other.
            port: Port for sockets.
            **kwargs: Arguments of the environment; with sockets also those of `remote.Server` and
                `remote.Client`, such as `keys`, `timeout` and `max_message_bytes`. A server also
                takes `max_parallel`, the largest `num_parallel` of its clients (1024).

        Raises:
            ArgumentTypeError: If `environment` is none of these.
            InvalidArgument: If an argument is invalid or incompatible with another one.
            UnregisteredEnv: If a name is neither a key, a module nor an id.
        """
        if remote not in REMOTES:
            raise InvalidArgument(f"remote: expected one of {REMOTES}, got {remote!r}")
        if blocking and remote not in ("multiprocessing", "socket-client"):
            raise InvalidArgument(f"blocking: expected False with remote={remote!r}, got True")
        arguments = environment, max_episode_timesteps, reward_shaping
        if remote in (None, "multiprocessing"):
            if host is not None or port is not None:
                raise InvalidArgument(
                    f"host and port: expected None with remote={remote!r}, got {host!r}, {port!r}"
                )
            if remote is None:
                return _make_environment(*arguments, kwargs)
            make = functools.partial(Environment.create, *arguments, **kwargs)
            return RemoteEnvironment(ProcessConnection(make), blocking)
        if port is None:
            raise InvalidArgument(f"port: expected a number with remote={remote!r}, got None")
        if remote == "socket-server":
            options = {name: kwargs.pop(name) for name in SERVER_OPTIONS if name in kwargs}
            limit = positive("max_parallel", kwargs.pop("max_parallel", MAX_PARALLEL))
            hosted = _make_environment(*arguments, kwargs)
            _serve(HostedEnvironment(hosted, limit), host or "127.0.0.1", port, options)
            return None  # type: ignore[return-value]  # there is none here
        unknown = sorted(set(kwargs) - set(CLIENT_OPTIONS))
        if arguments != (None, None, None) or unknown:
            raise InvalidArgument(
                "expected no environment arguments with remote='socket-client': the server makes "
                f"the environment, got {[a for a in arguments if a is not None] + unknown}"
            )
        host = host or "127.0.0.1"
        client = Client(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", KIND, **kwargs)
        try:
            _check_hello(client)
        except BaseException:
            client.close()
            raise
        return RemoteEnvironment(client, blocking)


def _check_hello(client: Client) -> None:
    """Raise a `RemoteError` if a server does not describe an environment; complete its specs."""
    for name, kinds in HELLO.items():
        if name not in client.hello or not isinstance(client.hello[name], kinds):
            raise client.malformed_error(f"{name} as {kinds}", client.hello.get(name))
    try:
        client.hello["states"] = checked_spec(client.hello["states"], "states")
        client.hello["actions"] = checked_spec(client.hello["actions"], "actions")
    except Error as problem:
        raise RemoteError(f"{client.address}: {problem}") from None


def _serve(hosted: HostedEnvironment, host: str, port: int, options: Kwargs) -> None:
    """Serve an environment until a client has ended its session."""
    try:
        with Server(hosted, host, port, **options) as server:
            server.run(sessions=1)
    finally:
        hosted.environment.close()


class GymEnvironment(GymAdapter, Environment):
    """One or many environments with Gym's interface as an `Environment`.

    Examples:
        >>> environment = GymEnvironment("FrozenLake-v1", is_slippery=False)
        >>> environment.max_episode_timesteps()
        100
        >>> environment.reset(), environment.execute(2)
        (0, (1, 0, 0.0))
    """


class EnvironmentWrapper(Environment):
    """An environment with checks of the order of calls, a time limit and reward shaping.

    Attributes:
        environment: The wrapped environment.

    Examples:
        >>> inner = Environment.create("gym", level="FrozenLake-v1", is_slippery=False)
        >>> environment = EnvironmentWrapper(inner, 1, reward_shaping="reward - 1")
        >>> environment.reset(), environment.execute(2)
        (0, (1, 2, -1.0))
    """

    def __init__(
        self,
        environment: Environment,
        max_episode_timesteps: int | None = None,
        reward_shaping: Shaping = None,
    ) -> None:
        """Wrap an environment; the arguments are those of `Environment.create`."""
        self.environment = environment
        self._states = checked_spec(environment.states(), "states")
        self._actions = checked_spec(environment.actions(), "actions")
        self._env_limit = environment.max_episode_timesteps()
        if max_episode_timesteps is not None:
            positive("max_episode_timesteps", max_episode_timesteps, maximum=self._env_limit)
        if environment.is_vectorizable() and environment.num_actors() > 1:
            raise InvalidArgument(
                f"environment: expected several actors or environments in parallel, not both, got "
                f"{environment}"
            )
        self._limit = max_episode_timesteps
        self._shape = _shaping(reward_shaping)
        self._num_live: int | None = None
        self._running = False
        self._timestep = 0
        self._checked = [False, False]
        # Whether this class has nothing to do in parallel steps in which no episode ends.
        self._forwards_unchanged = False
        self._last: object = None
        self._final_states: object = None

    def states(self) -> Spec:
        """Return the specification of the states, in full form."""
        return self._states

    def actions(self) -> Spec:
        """Return the specification of the actions, in full form."""
        return self._actions

    def max_episode_timesteps(self) -> int | None:
        """Return the time limit, or None."""
        return self._env_limit if self._limit is None else self._limit

    def is_vectorizable(self) -> bool:
        """Return whether environments can run in parallel."""
        return self.environment.is_vectorizable()

    def num_actors(self) -> int:
        """Return how many actors an episode has."""
        return self.environment.num_actors()

    def episode_return(self, parallel: object = None) -> Any:
        """Return the episode's return if it is not the sum of the rewards; see `Environment`."""
        return self.environment.episode_return(parallel)

    def final_states(self) -> Any:
        """Return the states in which episodes ended in the last `execute`; see `Environment`."""
        return self._final_states

    def seed(self, seed: int) -> None:
        """Seed the next reset."""
        self.environment.seed(seed)

    def reset(self, num_parallel: int | None = None) -> object:
        """Start an episode; see `Environment.reset`.

        Raises:
            InvalidArgument: If the environment does not support `num_parallel`, or the states do
                not match `states()` (checked in the first reset).
        """
        if num_parallel is None:
            result = self.environment.reset()
        else:
            positive("num_parallel", num_parallel)
            if not self.is_vectorizable():
                raise InvalidArgument(
                    f"num_parallel: expected None, as {self.environment} does not run in parallel, "
                    f"got {num_parallel}"
                )
            result = self.environment.reset(num_parallel=num_parallel)
        self._timestep, self._final_states = 0, None
        states = result
        self._num_live = None
        if num_parallel is not None or self.num_actors() > 1:
            parallel, states = result
            self._num_live = len(parallel)
        if not self._checked[0]:
            check_values(states, self._states, "states", self._num_live)
            self._checked[0] = True
        self._last = states
        self._running = True
        return result

    def execute(self, actions: object) -> tuple[object, ...]:
        """Take one step; see `Environment.execute`.

        Raises:
            ResetNeeded: If `reset` has not been called, or all episodes have ended.
            InvalidArgument: If states, terminal or reward are invalid (checked in the first step),
                or reward shaping continues an episode that has ended.
        """
        if not self._running:
            raise ResetNeeded(
                "execute: expected reset() before the first step and after the end of an episode"
            )
        result: tuple[Any, ...] = self.environment.execute(actions)
        self._timestep += 1
        if self._num_live is not None:
            if self._forwards_unchanged and len(result[0]) == self._num_live:
                self._final_states = None
                return result
            return self._after_parallel(actions, self._num_live, *result)
        states, terminal, reward = result
        terminal = int(terminal)
        if not self._checked[1]:
            check_values(states, self._states, "states")
            _check_terminal(terminal)
            self._checked[1] = True
        if self._shape is not None:
            shaped = self._shape(self._last, actions, terminal, reward, states)
            reward, terminal = _reward_and_terminal(shaped, terminal)
        if terminal == 0 and self._timestep == self._limit:
            terminal = ABORTED
        if terminal:
            self._running = False
            self._final_states = states
        self._last = states
        return states, terminal, reward

    def _after_parallel(
        self,
        actions: object,
        num_live: int,
        parallel: npt.NDArray[np.int64],
        states: object,
        terminal: npt.NDArray[np.int64],
        reward: npt.ArrayLike,
    ) -> tuple[object, ...]:
        """Return the results of parallel environments, of which `num_live` were stepped."""
        is_int64 = isinstance(terminal, np.ndarray) and terminal.dtype == np.int64
        terminal = np.asarray(terminal, np.int64)
        if not self._checked[1]:
            check_values(states, self._states, "states", len(parallel))
            self._forwards_unchanged = is_int64 and self._shape is None and self._limit is None
            _check_terminal(terminal)
            for name, values in (("terminal", terminal), ("reward", reward)):
                if np.shape(values) != (num_live,):
                    raise InvalidArgument(
                        f"{name}: expected shape {(num_live,)}, got {np.shape(values)}"
                    )
            self._checked[1] = True
        ended = len(parallel) < num_live
        self._final_states = self.environment.final_states() if ended else None
        if self._shape is not None or self._timestep == self._limit:
            parallel, states, terminal, reward = self._shaped_and_limited(
                actions, parallel, states, terminal, reward
            )
        self._num_live = len(parallel)
        self._running = self._num_live > 0
        self._last = states
        return parallel, states, terminal, reward

    def _shaped_and_limited(
        self,
        actions: object,
        parallel: npt.NDArray[np.int64],
        states: object,
        terminal: npt.NDArray[np.int64],
        reward: npt.ArrayLike,
    ) -> tuple[npt.NDArray[np.int64], object, npt.NDArray[np.int64], npt.ArrayLike]:
        """Return the results of a step after reward shaping and the time limit."""
        was_live = terminal == 0
        rows = _scattered(was_live, states, self._final_states)
        if self._shape is not None:
            if rows is None:
                raise InvalidArgument(
                    f"reward_shaping: expected {self.environment} to return final_states()"
                )
            shaped = self._shape(self._last, actions, terminal, reward, rows)
            reward, terminal = _reward_and_terminal(shaped, terminal)
        if self._timestep == self._limit:
            terminal = np.where(terminal == 0, ABORTED, terminal)
        live = terminal[was_live] == 0
        if live.any() and not live.all():
            self.environment.abort(parallel[~live])
        if rows is not None:
            self._final_states = map_leaves(lambda array: array[terminal != 0], rows)
        return parallel[live], map_leaves(lambda array: array[live], states), terminal, reward

    def close(self) -> None:
        """Close the environment."""
        self._running = False
        self.environment.close()

    def __str__(self) -> str:
        return str(self.environment)


class RemoteEnvironment(NoCopies, Environment):
    """An environment in another process, where the time limit and reward shaping are applied.

    An exception of the environment is raised here as an `EnvironmentFailed` that is also an
    instance of its class; the environment remains usable. After the process has ended, calls that
    need it raise `WorkerDied` or `ClosedEnvironmentError`; the specifications can still be read.

    Examples:
        >>> environment = Environment.create("gym", level="FrozenLake-v1", remote="multiprocessing")
        >>> isinstance(environment, RemoteEnvironment), environment.reset()
        (True, 0)
        >>> environment.close()
    """

    def __init__(self, connection: Any, blocking: bool) -> None:
        """Take ownership of a connection to an environment.

        Args:
            connection: A `ProcessConnection`.
            blocking: Whether `receive_execute` waits for the reply.
        """
        self._connection = connection
        self._blocking = blocking
        self._hello = connection.hello
        self._pending_verb: str | None = None
        self._in_parallel = False
        self._final_states: object = None

    def states(self) -> Spec:
        """Return the specification of the states."""
        return dict(self._hello["states"])

    def actions(self) -> Spec:
        """Return the specification of the actions."""
        return dict(self._hello["actions"])

    def max_episode_timesteps(self) -> int | None:
        """Return the time limit, or None."""
        limit: int | None = self._hello["max_episode_timesteps"]
        return limit

    def is_vectorizable(self) -> bool:
        """Return whether environments can run in parallel."""
        return bool(self._hello["is_vectorizable"])

    def num_actors(self) -> int:
        """Return how many actors an episode has."""
        return int(self._hello["num_actors"])

    def episode_return(self, parallel: object = None) -> Any:
        """Return the episode's return if it is not the sum of the rewards; see `Environment`."""
        return self._request("episode_return", parallel)

    def final_states(self) -> Any:
        """Return the states in which episodes ended in the last `execute`; see `Environment`."""
        return self._final_states

    def seed(self, seed: int) -> None:
        """Seed the next reset."""
        self._request("seed", seed)

    def reset(self, num_parallel: int | None = None) -> object:
        """Start an episode; see `Environment.reset`."""
        self._in_parallel = num_parallel is not None
        self._final_states = None
        return self._checked("reset", self._request("reset", num_parallel))

    def execute(self, actions: object) -> object:
        """Take one step; see `Environment.execute`."""
        return self._checked("execute", self._request("execute", actions))

    def start_reset(self, num_parallel: int | None = None) -> None:
        """Request a reset; `receive_execute` returns its result."""
        self._begin("reset", num_parallel)
        self._in_parallel = num_parallel is not None
        self._final_states = None

    def start_execute(self, actions: object) -> None:
        """Request a step; `receive_execute` returns its result."""
        self._begin("execute", actions)

    def receive_execute(self) -> object:
        """Return the result of the last request; None if not `blocking` and there is no reply yet.

        An exception of the environment, or the end of its process, is raised here once.
        """
        verb = self._pending_verb
        if verb is None:
            raise ResetNeeded("receive_execute: expected start_reset or start_execute first")
        try:
            reply = self._connection.receive(None if self._blocking else 0.0)
        except BaseException:
            self._pending_verb = None
            raise
        if reply is None:
            return None
        self._pending_verb = None
        result = self._checked(verb, reply)
        if verb == "reset":
            return self._after_reset(result, 0 if self._in_parallel else None)
        return result

    def close(self) -> None:
        """Close the environment and end its process; can be called more than once."""
        self._connection.close()

    def __str__(self) -> str:
        return str(self._hello["name"])

    def _begin(self, verb: str, argument: object) -> None:
        if self._pending_verb is not None:
            raise InvalidArgument(
                "expected receive_execute between two calls of start_reset or start_execute"
            )
        self._connection.send(verb, argument)
        self._pending_verb = verb

    def _request(self, verb: str, argument: object) -> Any:
        if self._pending_verb is not None:
            raise InvalidArgument(f"{verb}: expected receive_execute() first")
        self._connection.send(verb, argument)
        return self._connection.receive()

    def _checked(self, verb: str, reply: Any) -> object:
        """Return the result of a reset or a step; a reply of a server may have any form."""
        has_rows = self._in_parallel or self.num_actors() > 1
        try:
            if verb == "execute":
                reply, self._final_states = reply
            results = reply if verb == "execute" else (*reply, 0, 0) if has_rows else (reply, 0, 0)
            parallel, states, _, _ = results if has_rows else (None, *results)
            check_values(states, self.states(), "states", len(parallel) if has_rows else None)
        except (TypeError, ValueError) as problem:
            raise RemoteError(
                f"{verb}: expected states, terminals and rewards: {problem}"
            ) from None
        return reply


def _check_terminal(terminal: npt.ArrayLike) -> None:
    if not np.isin(terminal, (0, 1, ABORTED)).all():
        raise InvalidArgument(f"terminal: expected 0, 1 or 2, got {np.asarray(terminal)}")


def _scattered(mask: npt.NDArray[np.bool_], selected: object, others: object) -> object:
    """Return rows in order: `selected` where the mask is true, `others` elsewhere."""
    if mask.all():
        return selected
    if others is None:
        return None

    def scatter(inside: npt.ArrayLike, outside: npt.ArrayLike) -> np.ndarray:
        rows = np.empty((len(mask), *np.shape(inside)[1:]), np.result_type(inside, outside))
        rows[mask], rows[~mask] = inside, outside
        return rows

    return map_leaves(scatter, selected, others)


def _shaping(shaping: Shaping) -> RewardShaping | None:
    """Return the reward shaping function, for one environment or for rows."""
    if shaping is None or callable(shaping):
        return shaping
    expression = parse_expression(shaping)

    def shaped(
        states: object, actions: object, terminal: Any, reward: object, next_states: object
    ) -> object:
        values = (states, actions, terminal, reward, next_states)
        if np.ndim(terminal) == 0:
            return expression(dict(zip(VARIABLES, values, strict=True)))
        results = []
        for k in range(len(terminal)):
            row = [map_leaves(lambda array: array[k], value) for value in values]  # noqa: B023
            results.append(expression(dict(zip(VARIABLES, row, strict=True))))
        if isinstance(results[0], tuple):
            rewards, terminals = zip(*results, strict=True)
            return np.array(rewards, np.float64), np.array(terminals)
        return np.array(results, np.float64)

    return shaped


def _reward_and_terminal(shaped: object, terminal: Any) -> tuple[Any, Any]:
    """Return the shaped rewards and terminals; unshaped terminals are the environment's."""
    reward, new_terminal = shaped if isinstance(shaped, tuple) else (shaped, terminal)
    _check_terminal(new_terminal)
    if np.ndim(terminal) == 0:
        reward, new_terminal = float(reward), int(new_terminal)
    else:
        reward, new_terminal = np.asarray(reward, np.float64), np.asarray(new_terminal, np.int64)
        if reward.shape != terminal.shape or new_terminal.shape != terminal.shape:
            raise InvalidArgument(
                f"reward_shaping: expected results of shape {terminal.shape}, got {reward.shape} "
                f"and {new_terminal.shape}"
            )
    if np.any((new_terminal == 0) & (terminal != 0)):
        raise InvalidArgument(
            f"reward_shaping: expected no terminal 0 where an episode has ended, got {new_terminal}"
        )
    return reward, new_terminal


def _make_environment(
    environment: object, limit: int | None, shaping: Shaping, kwargs: Spec
) -> EnvironmentWrapper:
    """Make the environment described by the arguments of `create`."""
    if isinstance(environment, Environment):
        if kwargs:
            raise InvalidArgument(
                f"expected no arguments for an existing environment, got {sorted(kwargs)}"
            )
        if not isinstance(environment, EnvironmentWrapper):
            return EnvironmentWrapper(environment, limit, shaping)
        if limit not in (None, environment.max_episode_timesteps()) or shaping is not None:
            raise InvalidArgument(
                "expected neither max_episode_timesteps nor reward_shaping for an environment that "
                f"create() has returned, got {limit!r} and {shaping!r}"
            )
        return environment
    if isinstance(environment, type) and issubclass(environment, Environment):
        if issubclass(environment, EnvironmentWrapper):
            raise ArgumentTypeError(
                f"environment: expected an environment class without a wrapper, got {environment}"
            )
        return EnvironmentWrapper(environment(**kwargs), limit, shaping)
    if is_level(environment):
        gym_environment = GymEnvironment(environment, max_episode_timesteps=limit, **kwargs)
        return EnvironmentWrapper(gym_environment, None, shaping)
    if environment is None or isinstance(environment, Mapping):
        return _make_from_dict(
            _merge_arguments(dict(environment or {}), kwargs, ""), limit, shaping
        )
    if not isinstance(environment, str):
        raise ArgumentTypeError(
            "environment: expected an id, an environment or its class, a module, a dict or a file, "
            f"got {environment!r} ({type(environment)})"
        )
    if environment in GYM_KEYS:
        if "level" not in kwargs:
            raise InvalidArgument(f"level: expected an id or an environment for {environment!r}")
        gym_environment = GymEnvironment(max_episode_timesteps=limit, **kwargs)
        return EnvironmentWrapper(gym_environment, None, shaping)
    if Path(environment).is_file():
        described = _read_json(environment)
        try:
            return _make_environment(described, limit, shaping, kwargs)
        except Error:
            raise
        except Exception as problem:  # any error that a forged file or unknown arguments cause
            raise InvalidArgument(f"{environment}: {problem}") from problem
    if env_class := _class_of_module(environment):
        return _make_environment(env_class, limit, shaping, kwargs)
    gym_environment = GymEnvironment(environment, max_episode_timesteps=limit, **kwargs)
    return EnvironmentWrapper(gym_environment, None, shaping)


def _make_from_dict(described: Spec, limit: int | None, shaping: Shaping) -> EnvironmentWrapper:
    """Make the environment described by a dict; explicit arguments take precedence."""
    described_limit = described.pop("max_episode_timesteps", None)
    described_shaping = described.pop("reward_shaping", None)
    kind = described.pop("type", "default")
    environment = described.pop("environment", kind)
    return _make_environment(
        environment,
        described_limit if limit is None else limit,
        described_shaping if shaping is None else shaping,
        described,
    )


def _merge_arguments(described: Spec, kwargs: Mapping[str, object], name: str) -> Spec:
    """Return a dict with arguments added; values given in both must be equal."""
    for key, value in kwargs.items():
        if isinstance(described.get(key), Mapping) and isinstance(value, Mapping):
            described[key] = _merge_arguments(dict(described[key]), value, f"{name}{key}/")
        elif described.setdefault(key, value) != value:
            raise InvalidArgument(
                f"{name}{key}: expected {described[key]!r} as in the dict, got {value!r}"
            )
    return described


def _read_json(path: str) -> Spec:
    """Return the dict in a JSON file, which must name neither modules nor output folders."""
    try:
        described = json.loads(Path(path).read_text())
    except ValueError as problem:
        raise InvalidArgument(f"environment: expected JSON in {path!r} ({problem})") from None
    if not isinstance(described, dict):
        raise InvalidArgument(f"environment: expected a JSON object in {path!r}, got {described!r}")
    kind = described.pop("type", "default")
    name = described.pop("environment", kind)
    level = described.pop("level", None) if name in GYM_KEYS else name
    if not isinstance(level, str) or ":" in level or "import_modules" in described:
        raise InvalidArgument(
            f"environment: expected an environment id in {path!r}, without a module to import, "
            f"got {level!r}; pass the dict itself if you trust it"
        )
    check_no_module(described)
    if "visualize_directory" in described:
        raise InvalidArgument(
            f"visualize_directory: expected as an argument, not in {path!r}: a file must not name "
            "a folder to write to"
        )
    return {**described, "environment": "default", "level": level}


def _class_of_module(name: str) -> type | None:
    """Return the environment class in a module, or the class named by `module.Class`."""
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    module = _import_if_exists(name)
    if module is not None:
        classes = {
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, (Environment, Env))
            and value not in (Environment, EnvironmentWrapper, GymEnvironment, Env)
        }
        classes -= {c for c in classes if classes > {c} and all(issubclass(x, c) for x in classes)}
        if len(classes) != 1:
            raise InvalidArgument(
                f"environment: expected one environment class in module {name!r}, got "
                f"{sorted(c.__name__ for c in classes)}"
            )
        return classes.pop()
    owner, _, attribute = name.rpartition(".")
    value = getattr(_import_if_exists(owner), attribute, None) if owner else None
    return value if isinstance(value, type) else None


def _import_if_exists(name: str) -> ModuleType | None:
    """Return a module, or None if it does not exist; errors inside the module are raised."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{name}.".startswith(f"{missing.name}."):
            raise
        return None
