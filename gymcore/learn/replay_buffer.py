"""Replay buffers: the steps of a vector environment, and batches of transitions drawn from them.

`gymcore_ext/replay.pyx` stores and draws arrays. This module splits observations and actions
into arrays, stores objects that are not arrays, and maps files.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import sys
from copy import deepcopy
from typing import Generic, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from gymcore import error
from gymcore.base import seeding
from gymcore.base.arguments import MAX_COUNT, positive
from gymcore.base.new_file import NewFile
from gymcore.base.no_copies import NoCopies
from gymcore.checking.data import data_equivalence
from gymcore.core import ActType, Info, Metadata, ObsType
from gymcore.error import ArgumentTypeError, InvalidArgument, UnsupportedMode
from gymcore.learn.policies import HasSpaces
from gymcore.spaces.batching import batch_space, concatenate, create_empty_array, iterate
from gymcore.spaces.conversion import convert_space
from gymcore.spaces.layouts import Layout, has_objects, layout_of, map_layout
from gymcore.vector.lane_episodes import AUTORESET_NUMBERS, AutoresetMode
from gymcore.vector.vector_env import ArrayType
from gymcore_ext.layouts import leaves
from gymcore_ext.replay import VERSION, ReplayMemory, priority_tree_size

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, flock

Array = np.ndarray


class _Stepped(HasSpaces, Protocol):
    """The attributes of a vector environment that a buffer uses."""

    @property
    def num_envs(self) -> int:
        """Number of environments."""

    @property
    def metadata(self) -> Metadata:
        """Metadata with the `autoreset_mode`."""


class Transitions(NamedTuple, Generic[ObsType, ActType, ArrayType]):
    """A batch of transitions. Observations and actions have the structure of their spaces.

    The target of a value function is `rewards + discounts * values_of(next_observations)`.

    Attributes:
        observations: Observations before the steps, [B, ...].
        actions: Actions, [B, ...].
        rewards: Sums of the discounted rewards of up to `n_steps` steps, float32 [B].
        discounts: Factors of the values of the next observations, float32 [B]: the discount to the
            power of the number of steps, or 0 if the last of these steps terminated the episode.
        next_observations: Observations after these steps, [B, ...]; the last observation of the
            episode if it ended on the way.
        weights: Weights of the losses, float32 [B]: the importance weights of prioritized sampling,
            divided by the largest of the batch; 1 otherwise.
        indices: Numbers of the transitions for `update_priorities`, int64 [B].

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> buffer = ReplayBuffer(envs, capacity=100, seed=1)
        >>> observations, _ = envs.reset(seed=1)
        >>> buffer.add(observations, [0, 1], *envs.step([0, 1]))
        >>> batch = buffer.sample(4)
        >>> batch.rewards, batch.next_observations.shape
        (array([1., 1., 1., 1.], dtype=float32), (4, 4))
    """

    observations: ObsType
    actions: ActType
    rewards: ArrayType
    discounts: ArrayType
    next_observations: ObsType
    weights: ArrayType
    indices: ArrayType


class ReplayBuffer(NoCopies):
    """The latest steps of a batch, from which batches of transitions are drawn at random.

    Each observation is stored once, so an episode of k steps takes k + 1 of `capacity`. The stored
    transitions are the same in each autoreset mode: they end with the last observations of
    episodes, and the step that only resets a lane, in next-step mode, is not stored.

    The buffer takes observations and actions of any space. A part that is not an array, such as a
    text, is stored as a Python object.

    Attributes:
        capacity: Number of observations that fit.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=8)
        >>> buffer = ReplayBuffer(envs, capacity=10_000, seed=1)
        >>> observations, _ = envs.reset(seed=1)
        >>> for actions in np.random.default_rng(1).integers(0, 2, (100, 8)):
        ...     step = envs.step(actions)
        ...     buffer.add(observations, actions, *step)
        ...     observations = step[0]
        >>> batch = buffer.sample(256)
        >>> batch.observations.shape, batch.rewards.dtype.name
        ((256, 4), 'float32')

    For PyTorch, `tensors = Transitions(*map(torch.from_numpy, batch))` shares the memory of the
    batch, and `buffer.sample(256, out=batch)` fills it again.
    """

    def __init__(
        self, envs: _Stepped, capacity: int, *, n_steps: int = 1, discount: float = 0.99,
        stack: int = 1, prioritized: bool = False, alpha: float = 0.6,
        path: str | os.PathLike[str] | None = None, seed: int | None = None,
    ) -> None:  # fmt: skip
        """Allocate the memory, or map a file.

        Args:
            envs: The vector environment, or any object with its `num_envs`, its single spaces and
                its `metadata["autoreset_mode"]`, which are all that is read.
            capacity: Number of observations to store, of all lanes together.
            n_steps: Number of rewards that a transition adds up, fewer if the episode ends. A
                transition can be drawn when all of these steps are stored.
            discount: Factor of each reward, and of the next value, relative to the one before it.
            stack: Number of frames if observations are stacks of the last frames along their first
                axis, as those of Atari and `FrameStackObservation` are. Each frame is then stored
                once. Batches have the stacks.
            prioritized: Whether transitions are drawn in proportion to their priorities (Schaul et
                al. 2016). A new transition has the largest priority so far.
            alpha: Exponent of priorities, from 0 (all alike) to 1.
            path: A file that holds the buffer. If it exists, the buffer checks its contents and
                continues with them; the other arguments must be the same, except that `n_steps`
                and `discount` may change, and `seed` is not used. `np.load(path, mmap_mode="r")`
                reads the steps. Only one buffer at a time can use the file.
            seed: Seed of the draws; None takes one from the operating system.

        Raises:
            ArgumentTypeError: If an argument has the wrong type.
            InvalidArgument: If a value is out of range, or the file is not that of such a buffer.
            UnsupportedMode: If objects other than arrays are to be stacked, or stored in a file.
            OSError: If the file cannot be opened or made.
        """
        try:
            self._num_envs = n = positive("envs.num_envs", envs.num_envs, 1 << 20)
            spaces = [envs.single_observation_space, envs.single_action_space]
            mode = envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        except AttributeError as missing:
            raise ArgumentTypeError(
                f"envs: expected a vector environment, got {envs!r:.200} ({missing})"
            ) from None
        n_steps, stack = positive("n_steps", n_steps), positive("stack", stack, 1 << 10)
        # NumPy limits the tree of priorities, which is a field, to 2**31 numbers.
        limit = 1 << 30 if prioritized else MAX_COUNT
        self.capacity = capacity = positive("capacity", capacity, limit)
        # In one step, every lane may begin an episode, of `1 + stack` observations.
        if capacity < (at_least := n * (1 + stack) * (n_steps + stack)):
            raise InvalidArgument(
                f"capacity: expected at least {at_least} observations for {n} lanes, n_steps "
                f"{n_steps} and stack {stack}, got {capacity}"
            )
        spaces = list(map(convert_space, spaces))
        self._observation, self._action = layouts = tuple(map(layout_of, spaces))
        self._are_arrays = layouts[0][0] == layouts[1][0] == "array"
        self._has_objects = any(map(has_objects, layouts))
        if self._has_objects and (stack > 1 or path is not None):
            raise UnsupportedMode(
                f"{'stack' if stack > 1 else 'path'}: expected spaces of arrays, got {spaces}"
            )
        self._space, self._batch_space = spaces[0], batch_space(spaces[0], n)
        parts = [
            (name, *(part[1:] if part[0] == "array" else (np.dtype(np.int64), ())))
            for layout, name, space in zip(
                layouts, ("observations", "actions"), spaces, strict=True
            )
            for name, part, _ in _leaves(layout, name, create_empty_array(space, 1))
        ]
        self._objects = _ObjectStore(
            n, 4 * (capacity + 2 * n) * len(parts) if self._has_objects else 0
        )
        num_observed = sum(name.startswith("observations") for name, _, _ in parts)
        fields: list[tuple[object, ...]] = []
        for k, (name, dtype, shape) in enumerate(parts):
            if dtype.kind not in "biufc" or not dtype.isnative:
                raise InvalidArgument(f"{name}: expected arrays of numbers, got {dtype}")
            if k < num_observed and stack > 1 and shape[:1] != (stack,):
                raise InvalidArgument(
                    f"stack: expected {stack} frames along the first axis of {name}, got {shape}"
                )
            fields.append((name, dtype, shape[1:] if k < num_observed and stack > 1 else shape))
        fields += [("reward", np.float32), ("next", np.int32)]
        record, alpha = np.dtype(fields, align=True), _fraction("alpha", alpha)
        self._prioritized = bool(prioritized)
        saved = _saved_dtype(n, priority_tree_size(capacity) if self._prioritized else 0)
        state = seeding.np_random(seed)[0].bit_generator.state["state"]
        words = [*divmod(state["state"], 1 << 64), *divmod(state["inc"], 1 << 64)]
        last = np.array([((), VERSION, stack, alpha, 1, words, 0, 0, 0)], _saved_dtype(n, 0))
        self._memory = ReplayMemory(
            *_arrays(path, record, capacity, saved, last.tobytes()), tuple(parts), num_observed,
            num_envs=n, n_steps=n_steps, discount=_fraction("discount", discount), stack=stack,
            alpha=alpha,
            autoreset_mode=AUTORESET_NUMBERS[AutoresetMode(getattr(mode, "value", mode))],
            prioritized=self._prioritized, single=self._are_arrays, errors=error,
        )  # fmt: skip

    def __len__(self) -> int:
        return self._memory.num_transitions

    def add(
        self, observations: object, actions: object, next_observations: object,
        rewards: npt.ArrayLike, terminated: npt.ArrayLike, truncated: npt.ArrayLike, infos: Info,
    ) -> None:  # fmt: skip
        """Store a copy of a step of all lanes: `add(observations, actions, *envs.step(actions))`.

        If a lane's observation is not the one that its last step returned, the lane has been reset:
        it begins an episode, and its previous episode ends as if truncated.

        Args:
            observations: Observations that the actions act on, [num_envs, ...].
            actions: Actions, [num_envs, ...].
            next_observations: Observations that the step returned, [num_envs, ...].
            rewards: Rewards, [num_envs].
            terminated: Whether the step terminated an episode, bool [num_envs].
            truncated: Whether the step truncated an episode, bool [num_envs].
            infos: The infos of the step. In same-step mode, the last observations of ended
                episodes are in `infos["final_obs"]`.

        Raises:
            InvalidArgument: If an array has the wrong shape or dtype, frames do not continue a
                stack, or last observations are missing.
            ArgumentTypeError: If a part of an observation or action has the wrong type.
            ConcurrentUseError: If another thread is using the buffer.
        """
        if self._are_arrays:
            self._memory.add(
                observations, actions, next_observations, rewards, terminated, truncated, infos,
                next_observations, self,
            )  # fmt: skip
            return
        self._objects.begin_step()
        before = self._split(self._observation, "observations", observations)
        acted = self._split(self._action, "actions", actions)
        after = self._split(self._observation, "next_observations", next_observations)
        arguments = infos, next_observations, self
        self._memory.add(before, acted, after, rewards, terminated, truncated, *arguments)
        self._objects.commit_step()

    def _split(self, layout: Layout, name: str, batch: object) -> tuple[Array, ...]:
        """Return the arrays of a batch; other parts are replaced by arrays of object numbers."""
        return tuple(
            value if part[0] == "array" else self._objects.numbers(name, list(value))
            for name, part, value in _leaves(layout, name, batch)
        )

    def _final_observations(
        self, infos: Info, after: object, terminated: npt.ArrayLike, truncated: npt.ArrayLike
    ) -> Array | tuple[Array, ...]:
        """Return arrays with the last observations of lanes that ended, in same-step mode."""
        if "final_obs" not in infos:
            raise InvalidArgument(
                "infos: expected 'final_obs', which same-step autoreset requires when an episode "
                f"ends, got {list(infos)}"
            )
        last: Array = infos["final_obs"]
        if self._are_arrays and last.dtype.kind != "O":
            return last
        rows = list(iterate(self._batch_space, after))
        try:
            for lane in np.flatnonzero(np.logical_or(terminated, truncated)).tolist():
                rows[lane] = last[lane]
            batch = concatenate(self._space, rows, create_empty_array(self._space, len(rows)))
        except (TypeError, ValueError, LookupError, AttributeError) as failure:
            raise InvalidArgument(
                f"infos: expected 'final_obs' with an element of {self._space} for each lane that "
                f"ended, got {last!r:.200} ({failure})"
            ) from None
        return (
            batch
            if self._are_arrays
            else self._split(self._observation, "final_observations", batch)
        )

    def sample(
        self, batch_size: int, *, beta: float = 0.4, out: Transitions | None = None
    ) -> Transitions:
        """Draw transitions, with replacement.

        Args:
            batch_size: Number of transitions, B.
            beta: Exponent of the importance weights, from 0 (no correction) to 1 (full), if
                sampling is prioritized. Schaul et al. raise it from 0.4 to 1 during training.
            out: Transitions to write to, whose C-contiguous arrays, or tensors in the memory of the
                CPU, have the same shapes and dtypes. None returns arrays that belong to you.

        Returns:
            The transitions: `out` if it is given and spaces consist of arrays.

        Raises:
            InvalidArgument: If no transition is complete yet, a number is out of range, or an array
                of `out` has the wrong shape or dtype.
            ArgumentTypeError: If an argument has the wrong type.
            ConcurrentUseError: If another thread is using the buffer.
        """
        targets = None if out is None else self._targets(out)
        arrays = self._memory.sample(
            positive("batch_size", batch_size), _fraction("beta", beta), targets
        )
        if out is not None and not self._has_objects:
            return out
        if self._are_arrays:
            return Transitions._make(arrays)
        rest = iter(arrays if targets is None else targets)

        def part(layout: Layout) -> Array:
            array = next(rest)
            return array if layout[0] == "array" else layout[1](self._objects.at(array))

        return Transitions(
            map_layout(part, self._observation), map_layout(part, self._action), next(rest),
            next(rest), map_layout(part, self._observation), next(rest), next(rest),
        )  # fmt: skip

    def _targets(self, out: Transitions) -> tuple[Array, ...]:
        """Return the arrays of `out`; tensors become arrays that share their memory."""
        if not isinstance(out, tuple) or len(out) != len(Transitions._fields):
            raise ArgumentTypeError(f"out: expected Transitions, got {type(out)}")
        if self._are_arrays and all(type(array) is np.ndarray for array in out):
            return tuple(out)
        layouts = {"actions": self._action, "observations": self._observation}
        layouts["next_observations"] = self._observation
        arrays = []
        for field, value in zip(Transitions._fields, out, strict=True):
            layout = layouts.get(field, ("array",))
            for name, part, leaf in _leaves(layout, f"out.{field}", value):
                if part[0] != "array":
                    leaf = np.empty(len(out.indices), np.int64)
                elif not hasattr(leaf, "__dlpack_device__"):
                    raise ArgumentTypeError(f"{name}: expected an array, got {type(leaf)}")
                arrays.append(np.asarray(leaf))
        return tuple(arrays)

    def update_priorities(self, indices: npt.ArrayLike, priorities: npt.ArrayLike) -> None:
        """Set the priorities of transitions, typically absolute TD errors.

        Args:
            indices: The `indices` of a batch, int64 [n]. Transitions that have been overwritten
                since then are skipped.
            priorities: Numbers from 0 to 3e38, [n]. 1e-6 is added, so that each transition is drawn
                now and then.

        Raises:
            UnsupportedMode: If the buffer is not prioritized.
            InvalidArgument: If an array has the wrong shape or dtype, a priority is out of range,
                or there never was a transition of that index. Then no priority has changed.
            ConcurrentUseError: If another thread is using the buffer.
        """
        if not self._prioritized:
            raise UnsupportedMode(
                "update_priorities: this buffer draws uniformly; make it with prioritized=True"
            )
        self._memory.update_priorities(indices, priorities)


class _ObjectStore:
    """Stores objects and numbers them; records contain the numbers.

    A step of all lanes takes at most three numbers for each lane and part. A number is used again
    only when no record contains it any more.
    """

    def __init__(self, num_envs: int, count: int) -> None:
        self._num_envs = num_envs
        self._objects: list[object] = [None] * count
        self._first = self._next = 0
        self._last: dict[str, list[int]] = {}
        self._new: dict[str, list[int]] = {}

    def begin_step(self) -> None:
        """Begin a step, and free the numbers of a step that was not committed."""
        self._next, self._new = self._first, {}

    def commit_step(self) -> None:
        """End a step; the next one takes other numbers."""
        self._first, self._last = self._next, self._new

    def numbers(self, name: str, objects: list[object]) -> npt.NDArray[np.int64]:
        """Store copies of objects, and return their numbers.

        Objects that equal those which the last step returned have the same numbers.
        """
        if len(objects) != self._num_envs:
            raise InvalidArgument(f"{name}: expected {self._num_envs} elements, got {len(objects)}")
        numbers, last = [], self._last.get(f"next_{name}")
        for k, value in enumerate(objects):
            if last is None or not data_equivalence(self._objects[last[k]], value, exact=True):
                self._objects[self._next] = deepcopy(value)
                numbers.append(self._next)
                self._next = (self._next + 1) % len(self._objects)
            else:
                numbers.append(last[k])
        self._new[name] = numbers
        return np.array(numbers)

    def at(self, numbers: Array) -> list[object]:
        """Return the objects that have these numbers."""
        return [self._objects[k] for k in numbers.tolist()]


def _leaves(layout: Layout, name: str, value: object) -> list[tuple[str, Layout, Array]]:
    return leaves(layout, name, value, ArgumentTypeError, InvalidArgument)


def _fraction(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ArgumentTypeError(f"{name}: expected a number from 0 to 1, got {value!r:.200}")
    if not 0 <= value <= 1:
        raise InvalidArgument(f"{name}: expected a number from 0 to 1, got {value}")
    return float(value)


def _saved_dtype(num_envs: int, tree_size: int) -> np.dtype[np.void]:
    """Return the dtype of the fields that `ReplayMemory` saves besides the records."""
    fields: list[tuple[object, ...]] = [("tree", np.float64, (tree_size,)), ("version", np.int64)]
    fields += [("stack", np.int64), ("alpha", np.float64)]
    fields += [("max_priority", np.float64), ("random", np.uint64, (4,)), ("head", np.int64)]
    fields += [(name, np.int64, (num_envs,)) for name in ("windows", "states")]
    return np.dtype(fields)


def _arrays(
    path: str | os.PathLike[str] | None, record: np.dtype[np.void], capacity: int,
    saved: np.dtype[np.void], last: bytes,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the arrays of the records and of the saved fields (`_saved_dtype`).

    Without a path, the system allocates their memory when it is first written to. With a path, they
    share the memory of a file: an array in the format .npy, followed by the saved fields. A new
    buffer contains zeros, except for `last`, its last bytes.
    """
    written = io.BytesIO()
    header = {"descr": npy.dtype_to_descr(record), "fortran_order": False, "shape": (capacity,)}
    npy.write_array_header_2_0(written, header)
    begin = len(written.getvalue())
    end = begin + capacity * record.itemsize
    rest = -(-end // 64) * 64  # a cache line, which holds eight numbers of the tree, begins here
    if path is not None:
        memory = _map(path, written.getvalue(), last, rest + saved.itemsize)
    else:
        size = rest + saved.itemsize
        if sys.platform == "linux":
            new = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            # Huge pages need fewer entries of the TLB. Shared memory has none by default.
            with contextlib.suppress(OSError):  # a kernel without huge pages
                new.madvise(mmap.MADV_HUGEPAGE)
        else:
            new = mmap.mmap(-1, size)
        new[-len(last) :] = last
        memory = np.frombuffer(new, np.uint8)
    return memory[begin:end].view(record), memory[rest:].view(saved)


def _map(
    path: str | os.PathLike[str], header: bytes, last: bytes, nbytes: int
) -> npt.NDArray[np.uint8]:
    """Open or make the file of a buffer, and return an array that shares its memory.

    The file is locked as long as the array exists: the mapping has its own descriptor of it.
    """
    if not os.path.exists(path):
        with NewFile(path, overwrite=False) as new, new.part.open("r+b") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, nbytes)  # raises if the disk is full
            file.write(header)
            file.seek(nbytes - len(last))
            file.write(last)
    elif not os.path.isfile(path):
        raise InvalidArgument(f"path: expected a regular file, got {path}")
    with open(path, "r+b") as file:
        try:
            if sys.platform != "win32":
                flock(file, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            raise InvalidArgument(f"path: {path} is in use by another buffer") from None
        if (got := os.fstat(file.fileno()).st_size) != nbytes or file.read(len(header)) != header:
            raise InvalidArgument(
                f"path: expected the file of a buffer with {header[12:].decode().strip()}, which "
                f"has {nbytes} bytes, got another one with {got} bytes in {path}"
            )
        return np.memmap(file, np.uint8, "r+", shape=(nbytes,)).view(np.ndarray)
