"""States of lanes of compiled environments: saved as one record for each lane, and their seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base import seeding
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.native.parameters import write_table

# `elapsed` of a lane that was saved before its first reset.
NEVER_RESET = -1
# Version of the records' layout: part of their identity.
LAYOUT = 1


def lane_dtype(kernel_spec: dict[str, Any], state: Any = None) -> np.dtype[Any]:
    """Structured dtype of one saved lane.

    Fields: `state` float64 (the columns of the physics; or the dtype `state` of physics that keep
    their state outside the batch), `random` uint64 [5] (PCG64 state and increment, high words
    first, and the buffered half draw), `elapsed` int32 (-1 before the first reset),
    `episode_return` float64, `ended` bool, `parameters` float64, `steps_after_end` int32 (of a
    single CartPole that has been stepped since it terminated, else -1), `identity` uint64 [2]
    (digests of the environment's id, 0 where it has none, and of all that is fixed when it is made:
    kernel, table or model).
    """
    return np.dtype(
        [
            ("state", state or np.dtype((np.float64, (len(kernel_spec["state_names"]),)))),
            ("random", np.uint64, (5,)),
            ("parameters", np.float64, (len(kernel_spec["parameters"]),)),
            ("episode_return", np.float64),
            ("elapsed", np.int32),
            ("ended", np.bool_),
            ("steps_after_end", np.int32),
            ("identity", np.uint64, (2,)),
        ]
    )


def digest(*parts: Any) -> int:
    """A 64-bit digest of bytes-like objects."""
    hashed = hashlib.blake2b(digest_size=8)
    for part in parts:
        hashed.update(part)
    return int.from_bytes(hashed.digest(), "little")


def _identity(model: Any, spec: Any) -> npt.NDArray[np.uint64]:
    """The `identity` of the records of an environment that was made from `spec`, if from any."""
    name = 0 if spec is None else digest(spec.id.encode())
    return np.array([name, digest(b"%d %d" % (LAYOUT, model.fixed_digest()))], np.uint64)


def read_states(batch: Any, indices: Any) -> npt.NDArray[Any]:
    """Physics states, a copy: float64 [len(indices), state_size], or records [len(indices)]."""
    if not hasattr(batch.constants, "fields"):
        return np.ascontiguousarray(batch.view_state()[:, indices].T)
    records = np.zeros(len(indices), np.dtype((np.record, batch.constants.saved_dtype)))
    batch.constants.save(indices, records)
    return records


def write_states(batch: Any, values: Sequence[Any], names: Sequence[str], indices: Any) -> None:
    """Write physics states, a sequence of numbers or a record each, into lanes.

    Args:
        batch: whose lanes they are; they may be stepped then.
        values: a state for each lane.
        names: of the columns of the physics.
        indices: int64, which lanes.

    Raises:
        InvalidArgument: a value that is not a number for every column, or not a record that lanes
            can have; nothing has changed.
    """
    external = batch.constants if hasattr(batch.constants, "fields") else None
    if len(indices) < batch.num_envs and not batch.is_ready:
        raise InvalidArgument("lanes: expected all lanes, or a reset() before some are set")
    dtype, what = np.dtype((np.float64, (len(names),))), "numbers"
    if external is not None:
        dtype, names, what = external.saved_dtype, external.saved_dtype.names, "fields"
    states = np.zeros(len(values), dtype)
    for row, value in enumerate(values):
        try:
            if external is None:
                numbers = np.asarray(value, np.float64)
                valid = numbers.shape == states[row].shape
            else:
                numbers = np.array([tuple(value)], dtype)
                valid = external.valid(numbers).all()
        except (TypeError, ValueError, OverflowError):
            valid = False
        if not valid:
            raise InvalidArgument(
                f"state: expected {len(names)} {what} ({', '.join(names)}), got {value!r}"
            )
        states[row : row + 1] = numbers

    def write() -> None:
        if external is None:
            batch.view_state()[:, indices] = states.T
        else:
            external.load(indices, states)
        batch.mark_ready()

    batch.exclusively(write)


def _external_memory(batch: Any) -> Any:
    """The object that stores states outside the batch, or None.

    It has `saved_dtype` of a lane, `save`, `load`, and `valid` if there are states to refuse; and
    `copied` if only a part of a state can be invalid, which copies that part.
    """
    return batch.constants if hasattr(batch.constants, "load") else None


def save_lanes(batch: Any, model: Any, spec: Any, indices: Any) -> npt.NDArray[Any]:
    """Copy lanes into a structured array [len(indices)].

    Args:
        batch: whose lanes they are.
        model: the `NativeEnv` that the batch is of.
        spec: what the environment was made from, or None.
        indices: int64, which lanes.
    """
    parameters = batch.get_parameters()
    if parameters.shape[1] > 1:
        parameters = parameters[:, indices]
    ended, elapsed, returns = batch.view_lifecycle()
    external = _external_memory(batch)
    saved = np.empty(
        len(indices), lane_dtype(model.kernel_spec(), external and external.saved_dtype)
    )
    saved["identity"] = _identity(model, spec)
    saved["steps_after_end"] = -1

    def save() -> None:
        if external is None:
            saved["state"] = batch.view_state()[:, indices].T
        else:
            external.save(indices, saved["state"])
        saved["random"] = batch.view_random()[indices]
        saved["parameters"] = parameters.T
        saved["episode_return"] = returns[indices]
        saved["elapsed"] = elapsed[indices] if batch.is_ready else NEVER_RESET
        saved["ended"] = ended[indices]

    batch.exclusively(save)
    return saved


def checked_lanes(batch: Any, model: Any, spec: Any, saved: Any, indices: Any) -> dict[str, Any]:
    """The fields of saved lanes, copies, which may be written to these lanes (see `save_lanes`).

    Raises:
        InvalidArgument: lanes of another environment, or another number of them; a value that no
            lane can have; lanes that were never reset beside lanes that were.
        ArgumentTypeError: not an array.
    """
    external = _external_memory(batch)
    wanted = lane_dtype(model.kernel_spec(), external and external.saved_dtype)
    if not isinstance(saved, np.ndarray):
        raise ArgumentTypeError(f"state: expected the array of get_state(), got {type(saved)}")
    name = model.kernel_spec()["name"] if spec is None else spec.id
    if saved.dtype != wanted or saved.shape != (len(indices),):
        raise InvalidArgument(
            f"state: expected {len(indices)} lanes of {name} ({wanted}), "
            f"got shape {saved.shape} of {saved.dtype}"
        )
    # What is checked is what is written.
    copies = {"state": external.copied} if hasattr(external, "copied") else {}
    fields = {name: copies.get(name, np.copy)(saved[name]) for name in wanted.names or ()}
    (own_id, fixed), ids = _identity(model, spec), fields["identity"][:, 0]
    of_another_id = (ids != own_id) & (ids != 0) & (own_id != 0)
    if of_another_id.any() or (fields["identity"][:, 1] != fixed).any():
        raise InvalidArgument(
            f"state: expected lanes of {name}, got some of another id, kernel, table, model or "
            "version of the records"
        )
    fresh = fields["elapsed"] == NEVER_RESET
    for field, valid in _valid_fields(batch, model, fields, fresh, indices):
        if not valid.all():
            lane = int(np.flatnonzero(~valid)[0])
            raise InvalidArgument(
                f"state: expected a {field} that lanes of {name} can have, "
                f"got {saved[field][lane]} at {lane}"
            )
    whole = len(indices) == batch.num_envs
    if not whole and not batch.is_ready:
        raise InvalidArgument("lanes: expected all lanes, or a reset() before some are set")
    if fresh.any() and not (whole and fresh.all()):
        raise InvalidArgument(
            f"state: lanes {np.flatnonzero(fresh).tolist()} were saved before their first reset; "
            "only a whole batch can go back to that"
        )
    return fields


def _valid_fields(
    batch: Any, model: Any, saved: dict[str, Any], fresh: Any, indices: Any
) -> Iterable[tuple[str, npt.NDArray[np.bool_]]]:
    """Names of the fields of saved lanes, and whether their values are possible, bool [lanes]."""
    yield "elapsed", saved["elapsed"] >= NEVER_RESET
    yield "steps_after_end", saved["steps_after_end"] >= -1
    yield "ended", saved["ended"].view(np.uint8) <= 1
    yield "episode_return", ~np.isnan(saved["episode_return"])
    # PCG64's increment is odd; the last number is whether half a draw is buffered, and that half.
    halves = np.ascontiguousarray(saved["random"][:, 4:]).view(np.uint32)
    yield "random", (saved["random"][:, 3] % 2 == 1) & (halves[:, 0] <= 1)
    external = _external_memory(batch)
    if hasattr(external, "valid"):
        valid = external.valid(saved["state"])
    else:
        valid = np.isfinite(saved["state"]).all(axis=1)
    names = model.kernel_spec()["state_names"]
    for name, (low, high) in model.state_bounds().items():
        column = saved["state"][:, names.index(name)]
        valid &= fresh | ((low <= column) & (column <= high))
        if isinstance(low, int):
            valid &= column == np.floor(column)
    yield "state", valid
    table = batch.get_parameters()
    changed = (saved["parameters"] != table[:, indices % table.shape[1]].T).any(axis=1)
    valid = ~changed
    for lane in np.flatnonzero(changed).tolist():
        valid[lane] = _is_encoded(model, saved["parameters"][lane])
    yield "parameters", valid


def _is_encoded(model: Any, columns: npt.NDArray[np.float64]) -> bool:
    """Whether these are parameter columns that setting attributes could have led to."""
    for parameter in model.parameters.values():
        values = columns[parameter.rows(model.kernel_spec())].tolist()
        try:
            if [*parameter.encoded(parameter.decode(values))] != values:
                return False
        except (IndexError, ValueError, OverflowError):
            return False
    return True


def write_lanes(batch: Any, saved: Any, indices: Any) -> None:
    """Write the fields of saved lanes back, which have been checked."""
    external = _external_memory(batch)
    fresh = saved["elapsed"] == NEVER_RESET
    table = batch.get_parameters()
    if (saved["parameters"] != table[:, indices % table.shape[1]].T).any():
        table = np.repeat(table, batch.num_envs // table.shape[1], axis=1)
        table[:, indices] = saved["parameters"].T
        write_table(batch, table)

    def load() -> None:
        ended, elapsed, returns = batch.view_lifecycle()
        if external is None:
            batch.view_state()[:, indices] = saved["state"].T
        else:
            external.load(indices, saved["state"])
        batch.view_random()[indices] = saved["random"]
        returns[indices] = saved["episode_return"]
        elapsed[indices] = np.where(fresh, 0, saved["elapsed"])
        ended[indices] = saved["ended"]
        batch.mark_ready(indices)
        if fresh.all():
            batch.forget()

    batch.exclusively(load)


# The seed of a stream that was not seeded here, as that of a saved state.
UNKNOWN = -1


class LaneSeeds:
    """The seeds of a batch's lanes; unseeded streams get the system's entropy."""

    def __init__(self, batch: Any) -> None:
        """Take the batch, whose streams are not seeded yet."""
        self._batch = batch
        # The first lane's seed if the others count on from it (a million lanes need no list), a
        # seed for each lane, or None.
        self.known: int | list[int] | None = None

    def _seed(self, first: int, lo: int, hi: int) -> None:
        """Seed lanes lo, lo + 1, ... of [lo, hi) with first, first + 1, ..."""
        self._batch.seed(first, lo, hi)

    def seed_all(self, first: int) -> None:
        """Seed lane i with `first + i`."""
        self._seed(first, 0, self._batch.num_envs)
        self.known = first

    def ensure(self) -> None:
        """Seed the lanes from the system's entropy if they are not seeded."""
        if self.known is None:
            self.seed_all(seeding.np_random()[1])

    def seed_lanes(self, seeds: list[int | None], mask: npt.NDArray[np.bool_] | None) -> None:
        """Seed the lanes of the mask (None for all) that have a seed."""
        self.ensure()
        known = list(self.as_tuple())
        for lane, seed in enumerate(seeds):
            if seed is not None and (mask is None or mask[lane]):
                self._seed(seed, lane, lane + 1)
                known[lane] = seed
        self.known = known

    def forget(self, lanes: npt.NDArray[Any]) -> None:
        """Note that these lanes' streams were not seeded here."""
        unseeded = [UNKNOWN] * self._batch.num_envs
        known = unseeded if self.known is None else list(self.as_tuple())
        for lane in lanes.tolist():
            known[lane] = UNKNOWN
        self.known = known

    def as_tuple(self) -> tuple[int, ...]:
        """The seed of every lane."""
        self.ensure()
        if isinstance(self.known, int):
            return tuple(range(self.known, self.known + self._batch.num_envs))
        return tuple(self.known or ())
