"""A vector environment on another machine, and its counterpart on the server."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from gymcore import error
from gymcore.base.no_copies import NoCopies
from gymcore.core import ActType, Info, ObsType, Options, RenderFrame
from gymcore.remote.client import Client
from gymcore.remote.space_messages import (
    agents_message,
    agents_of,
    is_array,
    is_batch,
    lane_bytes,
    space_message,
    space_of,
)
from gymcore.remote.transport import MAX_MESSAGE_BYTES
from gymcore.remote.wire import encode
from gymcore.spaces.batching import batch_space
from gymcore.vector.engine import (
    Lanes,
    Mask,
    StepResult,
    VectorEngine,
    check_name,
    checked_actions,
)
from gymcore.vector.vector_env import AutoresetMode, VectorEnv
from gymcore_ext.arrays import one_at_a_time

KIND = "vector"
VERBS = ("reset", "step", "render", "central_state", "get_attr")


# Types of the entries with which a server describes a vector environment.
_HELLO: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "num_envs": int,
    "single_observation_space": list,
    "single_action_space": list,
    "autoreset_mode": (str, type(None)),
    "steps_some_lanes": bool,
    "render_mode": (str, type(None)),
    "render_fps": (int, float, type(None)),
    "agents": (list, type(None)),
}


class HostedVectorEnv:
    """A vector environment that a server hosts.

    Attributes:
        envs: The vector environment.

    Examples:
        >>> import gymcore as gym
        >>> hosted = HostedVectorEnv(gym.make_vec("CartPole-v1", num_envs=2), "CartPole-v1")
        >>> hosted.hello()["num_envs"]
        2
    """

    def __init__(self, envs: VectorEnv, env_id: str, attributes: Sequence[str] = ()) -> None:
        """Host a vector environment.

        Args:
            envs: The vector environment.
            env_id: Id of the environments, which clients compare with the id they expect.
            attributes: Names of attributes that clients may read with `get_attr`.

        Raises:
            ArgumentTypeError: If a space cannot be sent.
        """
        self.envs = envs
        self._attributes = tuple(attributes)
        self._steps = 0
        mode = envs.metadata.get("autoreset_mode")
        self._hello = {
            "kind": KIND,
            "id": env_id,
            "num_envs": envs.num_envs,
            "single_observation_space": space_message(envs.single_observation_space),
            "single_action_space": space_message(envs.single_action_space),
            "autoreset_mode": mode.value if isinstance(mode, AutoresetMode) else None,
            "steps_some_lanes": envs.steps_some_lanes,
            "render_mode": envs.render_mode,
            "render_fps": envs.metadata.get("render_fps"),
            "agents": agents_message(envs.agents),
        }
        encode(self._hello)  # raises if something cannot be sent

    def hello(self) -> dict[str, object]:
        """Return the properties that never change."""
        return self._hello

    def steps(self) -> int:
        """Return the number of steps of environments so far."""
        return self._steps

    def respond(self, verb: str, arguments: Sequence[Any]) -> object:
        """Return the reply to a request.

        Raises:
            InvalidArgument: If there is no such request.
        """
        if verb == "step":
            actions, env_ids = arguments
            results = (
                self.envs.step(actions)
                if env_ids is None
                else self.envs.step_lanes(actions, env_ids)
            )
            self._steps += len(results[1])
            return results
        if verb == "reset":
            seed, options = arguments
            return self.envs.reset(seed=seed, options=options)
        if verb == "render":
            return self.envs.render()
        if verb == "central_state":
            return self.envs.central_state()
        if verb == "get_attr":
            (name,) = arguments
            if name not in self._attributes:
                raise error.InvalidArgument(
                    f"name: expected one of {self._attributes}, which this server allows, "
                    f"got {name!r}"
                )
            envs: Any = self.envs
            return envs.get_attr(name)
        raise error.InvalidArgument(f"verb: expected one of {', '.join(VERBS)}, got {verb!r}")


class RemoteVectorEnv(NoCopies, VectorEngine[ObsType, ActType]):
    """Vector environment that a server hosts; one message steps all of its environments.

    Results are identical, bit for bit, to the results of the server's vector environment.
    Exceptions of environments are raised here, with the same class if it is one of Python or
    gymcore. Calls raise `RemoteRefused` if the session has ended, for example after a restart of
    the server, and `RemoteTimeout` if there is no reply in time; a late reply is discarded.

    After `send`, the server steps while this program continues. Everything that was sent must be
    received before the next `send`.

    Attributes:
        batch_size: Number of environments that `recv` returns, which is the number sent.
        address: Address of the server.
        specification_hash: Hash of the id, size, spaces and modes of the vector environment.

    Examples:
        >>> import threading
        >>> import gymcore as gym
        >>> from gymcore.remote.server import Server
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> server = Server(HostedVectorEnv(envs, "CartPole-v1"))
        >>> thread = threading.Thread(target=server.run)
        >>> thread.start()
        >>> with RemoteVectorEnv("CartPole-v1", server.address) as remote:
        ...     observations, infos = remote.reset(seed=1)
        >>> observations.shape
        (2, 4)
        >>> server.stop(), thread.join(), server.close(), envs.close()
        (None, None, None, None)
    """

    ends_episodes = False
    _needs_reset = False  # the server checks it

    def __init__(
        self,
        env_id: str | None,
        address: str,
        num_envs: int | None = None,
        keys: str | Path | None = None,
        connect_timeout: float | None = 10.0,
        timeout: float | None = 60.0,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        """Begin a session with a server.

        Args:
            env_id: Id that the server must host; None for any id.
            address: `tcp://host:port` or `host:port`.
            num_envs: Number of environments that the server must have; None for any number.
            keys: The folder with the client's keys (`gymcore keys`).
            connect_timeout: Maximum time for the server's first answer, in seconds; None or `inf`
                for no limit.
            timeout: Maximum time of a call, in seconds; None or `inf` for no limit.
            max_message_bytes: Maximum size of a received message.

        Raises:
            ArgumentTypeError: If an argument has the wrong type.
            InvalidArgument: If an argument is out of range.
            RemoteRefused: If the server rejects this client or hosts something else.
            RemoteTimeout: If there is no answer in time.
        """
        self._client = Client(address, KIND, keys, connect_timeout, timeout, max_message_bytes)
        try:
            self._set_spaces(env_id, num_envs, max_message_bytes)
        except BaseException:
            self._client.close()
            raise

    def _set_spaces(self, env_id: str | None, num_envs: int | None, max_message_bytes: int) -> None:
        """Check the server's description of itself, and set spaces and options from it."""
        client, hello = self._client, self._client.hello
        for name, kinds in _HELLO.items():
            if name not in hello or not isinstance(hello[name], kinds):
                raise client.malformed_error(f"{name} as {kinds}", hello.get(name))
        for name, value in {"id": env_id, "num_envs": num_envs}.items():
            if value is not None and hello[name] != value:
                raise error.RemoteRefused(
                    f"{client.address}: expected {name} {value!r}, got {hello[name]!r}"
                )
        self.address = client.address
        self.specification_hash = client.specification_hash
        mode = hello["autoreset_mode"]
        try:
            self.single_observation_space = space_of(hello["single_observation_space"])
            self.single_action_space = space_of(hello["single_action_space"])
            self.agents = agents_of(hello["agents"])
            mode = AutoresetMode.NEXT_STEP if mode is None else AutoresetMode(mode)
        except ValueError as problem:
            raise error.RemoteError(f"{client.address}: {problem}") from None
        spaces = self.single_observation_space, self.single_action_space
        if self.agents is not None and self.agents.world_spaces != spaces:
            raise client.malformed_error(f"agents with the spaces {spaces}", self.agents)
        self._results = () if self.agents is None else (len(self.agents.names),)
        # A message must hold a step, or the lanes could not be stepped: the observations or the
        # actions, and rewards and two flags of each lane.
        for space in spaces:
            size = lane_bytes(space) + 10 * math.prod(self._results)
            if not 0 < hello["num_envs"] * size <= max_message_bytes:
                raise client.malformed_error(
                    f"1 or more lanes in messages of {max_message_bytes} bytes", hello["num_envs"]
                )
        self._set_options(hello["num_envs"], mode)
        self.steps_some_lanes = hello["steps_some_lanes"]
        self.render_mode = hello["render_mode"]
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {"render_modes": [self.render_mode] if self.render_mode else []}
        if hello["render_fps"] is not None:
            self.metadata["render_fps"] = hello["render_fps"]
        if hello["autoreset_mode"] is not None:
            self.metadata["autoreset_mode"] = self.autoreset_mode
        self._find_action_layout()

    def _reset_lanes(
        self, seed: int | list[int | None] | None, options: Options, mask: Mask | None
    ) -> tuple[ObsType, Info]:
        """Begin new episodes; options are numbers, strings and arrays."""
        if mask is not None:
            options = {**(options or {}), "reset_mask": mask}
        results = self._client.request("reset", seed, options)
        match results:
            case (observations, dict(infos)) if self._is_batch(observations, self.num_envs):
                return observations, infos
        raise self._client.malformed_error("observations of its space and infos", results)

    def _is_batch(self, observations: object, count: int) -> bool:
        return is_batch(self.single_observation_space, observations, count)

    def _check_steppable(self, lanes: Lanes | None) -> None:
        """Do nothing: the server checks which lanes may be stepped."""

    def _checked_actions(self, actions: ActType, count: int) -> Any:
        layout = self._action_layout
        return actions if layout is None else checked_actions(layout, actions, count)

    def _step_engine(self, actions: object, lanes: Lanes | None) -> StepResult[ObsType]:
        return self._checked_step(self._client.request("step", actions, lanes), lanes)

    def _checked_step(
        self, results: Any, lanes: Sequence[int] | Lanes | None
    ) -> StepResult[ObsType]:
        count = self.num_envs if lanes is None else len(lanes)
        shape = (count, *self._results)
        match results:
            case (observations, rewards, terminations, truncations, dict(infos)) if (
                self._is_batch(observations, count)
                # Rewards of single agents may be vectors.
                and is_array(rewards, np.float64, (count, *getattr(rewards, "shape", ())[1:2]))
                and (not self._results or rewards.shape == shape)
                and is_array(terminations, np.bool_, shape)
                and is_array(truncations, np.bool_, shape)
            ):
                return observations, rewards, terminations, truncations, infos
        raise self._client.malformed_error(f"a step of {count} lanes of its spaces", results)

    def _check_some_lanes(self, method: str) -> None:
        if method not in ("send", "recv"):  # all lanes can be sent
            super()._check_some_lanes(method)

    def _send_lanes(self, actions: object, lanes: Lanes) -> None:
        self._check_call("send")
        is_all = np.array_equal(lanes, np.arange(self.num_envs))
        self._client.send("step", deepcopy(actions), None if is_all else lanes)
        self._sent = lanes, None
        self.batch_size = len(lanes)

    def _receive_lanes(self, timeout: float | None) -> tuple[Lanes, StepResult]:
        lanes = self._sent_lanes()
        try:
            # After a `RemoteTimeout`, the lanes stay sent: the next `recv` may get the reply.
            reply = self._client.receive(None if timeout is None else max(timeout, 1e-6))
            results = self._checked_step(reply, lanes)
        except error.RemoteTimeout:
            raise
        except (error.EnvironmentFailed, error.RemoteError):
            self._clear_queue()
            raise
        self._clear_queue()
        return np.asarray(lanes), results

    def _clear_queue(self) -> None:
        super()._clear_queue()
        self.batch_size = self.num_envs

    def _generators(self) -> NoReturn:
        raise error.UnsupportedMode(f"np_random: the generators are on the server {self.address}")

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """Not available, like `np_random`, because random numbers are drawn on the server."""
        self._generators()

    @one_at_a_time(error)
    def render(self) -> tuple[RenderFrame, ...] | None:
        """Render the server's vector environment, and return the result."""
        self._check_call("render")
        frames: tuple[RenderFrame, ...] | None = self._client.request("render")
        return frames

    @one_at_a_time(error)
    def central_state(self) -> np.ndarray:
        """Return the states of worlds for central critics; see `VectorEnv.central_state`."""
        self._check_call("central_state")
        self._check_reset("central_state")
        states = self._client.request("central_state")
        if not isinstance(states, np.ndarray) or states.shape[:1] != (self.num_envs,):
            raise self._client.malformed_error(f"an array of {self.num_envs} states", states)
        return states

    @one_at_a_time(error)
    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment; the server must allow its name."""
        self._check_call("call")
        check_name(name)
        values = self._client.request("get_attr", name)
        if not isinstance(values, tuple) or len(values) != self.num_envs:
            raise self._client.malformed_error(f"{self.num_envs} values", values)
        return values

    @one_at_a_time(error)
    def close_extras(self, **kwargs: object) -> None:
        """End the session; the server's vector environment stays open."""
        self._client.close()
