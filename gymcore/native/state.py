"""Saved states of lanes of compiled environments, one record for each lane, and lane seeds."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore.base import seeding
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.native.lane_generator import lane_generator
from gymcore.native.parameters import KernelSpec, Parameter, write_table
from gymcore_ext.engine.batch import Batch

if TYPE_CHECKING:
    from gymcore.specs import EnvSpec

# `elapsed` of a lane that was saved before its first reset.
NEVER_RESET = -1
# Version of the record layout, which is part of a record's identity.
LAYOUT_VERSION = 2

# Records of saved lanes, or their fields by name.
Records: TypeAlias = np.ndarray
Fields: TypeAlias = dict[str, Any]
Indices: TypeAlias = npt.NDArray[np.int64]


class BatchEnv(Protocol):
    """The environment of a batch, with the properties that saved lanes depend on."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The declared parameters."""

    def fixed_digest(self) -> int:
        """Return a digest of everything that is fixed when the environment is made."""

    def state_bounds(self) -> Mapping[str, tuple[float, float]]:
        """Return bounds of columns of the state."""


class StateStore(Protocol):
    """The owner of the states of a batch's lanes, if these are not columns of the batch.

    It may also have `valid(saved)`, which returns whether each state is possible, bool [lanes].
    """

    saved_dtype: np.dtype

    def save(self, indices: Indices, into: Records) -> None:
        """Write lanes into an array of `saved_dtype`."""

    def load(self, indices: Indices, saved: Records) -> None:
        """Restore lanes from an array of `saved_dtype`."""


def lane_dtype(kernel_spec: KernelSpec, store: StateStore | None = None) -> np.dtype:
    """Return the structured dtype of one saved lane.

    Fields: `state` float64 (the columns of the physics, or the data that `store` saves), `random`
    uint64 [5] (PCG64 state and increment, high words first, and the buffered half draw), `elapsed`
    int32 (-1 before the first reset), `episode_return` float64, `ended` bool, `parameters` float64,
    `steps_after_end` int32 (for a single CartPole that has been stepped since it terminated, else
    -1), `identity` uint64 [2] (digests of the environment's id, 0 if it has none, and of everything
    that is fixed when it is made: kernel, table or model). In a world of agents also `agent_states`
    uint8 [agents] (1 for those in the episode, 2 if they ended in the last step, 0 if before), and
    their returns and lengths.
    """
    columns = np.dtype((np.float64, (len(kernel_spec["state_names"]),)))
    agents = kernel_spec["agents"]
    of_agents = [
        ("agent_states", np.uint8, agents),
        ("agent_returns", np.float64, agents),
        ("agent_lengths", np.int32, agents),
    ]
    return np.dtype(
        [
            ("state", columns if store is None else store.saved_dtype),
            ("random", np.uint64, (5,)),
            ("parameters", np.float64, (len(kernel_spec["parameters"]),)),
            ("episode_return", np.float64),
            ("elapsed", np.int32),
            ("ended", np.bool_),
            ("steps_after_end", np.int32),
            ("identity", np.uint64, (2,)),
            *of_agents[: 3 * len(agents)],
        ]
    )


def digest(*parts: Any) -> int:
    """Return a 64-bit digest of bytes-like objects."""
    hashed = hashlib.blake2b(digest_size=8)
    for part in parts:
        hashed.update(part)
    return int.from_bytes(hashed.digest(), "little")


def _identity(model: BatchEnv, spec: EnvSpec | None) -> npt.NDArray[np.uint64]:
    """Return the `identity` of records of an environment; `spec` is None if it has no id."""
    name = 0 if spec is None else digest(spec.id.encode())
    return np.array([name, digest(b"%d %d" % (LAYOUT_VERSION, model.fixed_digest()))], np.uint64)


def read_states(batch: Batch, indices: Indices | list[int]) -> Records:
    """Return copies of states: float64 [len(indices), state_size], or records [len(indices)]."""
    if not hasattr(batch.store, "fields"):
        return np.ascontiguousarray(batch.view_state()[:, indices].T)
    records = np.zeros(len(indices), np.dtype((np.record, batch.store.saved_dtype)))
    batch.store.save(indices, records)
    return records


def write_states(batch: Batch, values: Sequence[Any], indices: Indices) -> None:
    """Write physics states, each a sequence of numbers or a record, into lanes.

    Raises:
        InvalidArgument: If a value does not have a number for every column, or is not a possible
            record; nothing is changed.
    """
    external = batch.store if hasattr(batch.store, "fields") else None
    if len(indices) < batch.num_envs and not batch.is_ready:
        raise InvalidArgument("lanes: expected all lanes, or reset() before setting some")
    names, unit = batch.spec["state_names"], "numbers"
    dtype = np.dtype((np.float64, (len(names),)))
    if external is not None:
        dtype, names, unit = external.saved_dtype, external.saved_dtype.names, "fields"
    if not names:
        raise ArgumentTypeError("state: these lanes have no numbers to set; call set_state()")
    states = np.zeros(len(values), dtype)
    for row, value in enumerate(values):
        try:
            if external is None:
                numbers = np.asarray(value, np.float64)
                valid = numbers.shape == states[row].shape
            else:
                numbers = np.array([tuple(value)], dtype)
                valid = batch.exclusively(functools.partial(external.valid, numbers)).all()
        except (TypeError, ValueError, OverflowError):
            valid = False
        if not valid:
            raise InvalidArgument(
                f"state: expected {len(names)} {unit} ({', '.join(names)}), got {value!r}"
            )
        states[row : row + 1] = numbers

    def write() -> None:
        if external is None:
            batch.view_state()[:, indices] = states.T
        else:
            external.load(indices, states)
        batch.mark_ready()

    batch.exclusively(write)


def _external_store(batch: Batch) -> StateStore | None:
    """Return the object that stores states outside the batch, or None."""
    return batch.store if hasattr(batch.store, "load") else None


def save_lanes(batch: Batch, model: BatchEnv, spec: EnvSpec | None, indices: Indices) -> Records:
    """Copy lanes of a batch of the `NativeEnv` `model` into a structured array [len(indices)]."""
    parameters = batch.get_parameters()
    if parameters.shape[1] > 1:
        parameters = parameters[:, indices]
    ended, elapsed, returns = batch.view_lifecycle()
    external = _external_store(batch)
    saved = np.empty(len(indices), lane_dtype(batch.spec, external))
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
        for field, array in _agent_arrays(batch):
            saved[field] = array[indices]

    batch.exclusively(save)
    return saved


def _agent_arrays(batch: Batch) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return names and arrays of the records of agents, if lanes are worlds of agents."""
    names = ("agent_states", "agent_returns", "agent_lengths")
    return zip(names, batch.view_agents(), strict=True) if batch.spec["agents"] else ()


def checked_lanes(
    batch: Batch, model: BatchEnv, spec: EnvSpec | None, saved: object, indices: Indices
) -> Fields:
    """Check saved lanes and return copies of their fields, which may be written to `indices`.

    `saved` is a result of `save_lanes`; the other arguments are the same as for `save_lanes`.

    Raises:
        InvalidArgument: If the lanes belong to another environment, their number is wrong, only
            some of them were ever reset, or a value is impossible.
        ArgumentTypeError: If `saved` is not an array.
    """
    external = _external_store(batch)
    expected_dtype = lane_dtype(batch.spec, external)
    if not isinstance(saved, np.ndarray):
        raise ArgumentTypeError(f"state: expected what get_state() returned, got {type(saved)}")
    name = batch.spec["name"] if spec is None else spec.id
    if saved.dtype != expected_dtype or saved.shape != (len(indices),):
        raise InvalidArgument(
            f"state: expected {len(indices)} lanes of {name} ({expected_dtype}), "
            f"got shape {saved.shape} of {saved.dtype}"
        )
    # Copied, so that no other thread can change the values after the check.
    fields = {name: np.copy(saved[name]) for name in expected_dtype.names or ()}
    (env_id, fixed), ids = _identity(model, spec), fields["identity"][:, 0]
    has_other_id = (ids != env_id) & (ids != 0) & (env_id != 0)
    if has_other_id.any() or (fields["identity"][:, 1] != fixed).any():
        raise InvalidArgument(
            f"state: expected lanes of {name}, got some of another id, kernel, table, model or "
            "version of the records"
        )
    never_reset = fields["elapsed"] == NEVER_RESET
    for field, valid in _valid_fields(batch, model, fields, never_reset, indices):
        if not valid.all():
            lane = int(np.flatnonzero(~valid)[0])
            with np.printoptions(threshold=8):  # a world or a game has thousands of numbers
                value = str(saved[field][lane])
            raise InvalidArgument(
                f"state: expected a {field} that lanes of {name} can have, got {value} at {lane}"
            )
    if never_reset.any() and not (len(indices) == batch.num_envs and never_reset.all()):
        raise InvalidArgument(
            f"state: lanes {np.flatnonzero(never_reset).tolist()} were saved before their first "
            "reset; only a whole batch can go back to that"
        )
    return fields


def _valid_fields(
    batch: Batch,
    model: BatchEnv,
    saved: Fields,
    never_reset: npt.NDArray[np.bool_],
    indices: Indices,
) -> Iterable[tuple[str, npt.NDArray[np.bool_]]]:
    """Yield field names of saved lanes, each with whether its values are possible, bool [lanes]."""
    yield "elapsed", saved["elapsed"] >= NEVER_RESET
    yield "steps_after_end", saved["steps_after_end"] >= -1
    yield "ended", saved["ended"].view(np.uint8) <= 1
    yield "episode_return", ~np.isnan(saved["episode_return"])
    if batch.spec["agents"]:
        states = saved["agent_states"]
        goes_on = never_reset | saved["ended"] | (states == 1).any(axis=1)
        yield "agent_states", (states <= 2).all(axis=1) & goes_on
        yield "agent_returns", ~np.isnan(saved["agent_returns"]).any(axis=1)
        yield "agent_lengths", (saved["agent_lengths"] >= 0).all(axis=1)
    # PCG64's increment is odd. The last number holds a flag for a buffered half draw, and the half.
    halves = np.ascontiguousarray(saved["random"][:, 4:]).view(np.uint32)
    yield "random", (saved["random"][:, 3] % 2 == 1) & (halves[:, 0] <= 1)
    external = _external_store(batch)
    if external is not None and hasattr(external, "valid"):
        valid = batch.exclusively(lambda: external.valid(saved["state"]))  # uses its threads
    else:
        valid = np.isfinite(saved["state"]).all(axis=1)
    names = batch.spec["state_names"]
    for name, (low, high) in model.state_bounds().items():
        column = saved["state"][:, names.index(name)]
        valid &= never_reset | ((low <= column) & (column <= high))
        if isinstance(low, int):
            valid &= column == np.floor(column)
    yield "state", valid
    table = batch.get_parameters()
    current = table[:, indices % table.shape[1]].T
    valid = (saved["parameters"] == current).all(axis=1)
    for lane in np.flatnonzero(~valid).tolist():
        valid[lane] = _is_encoded(batch, model, saved["parameters"][lane], current[lane])
    yield "parameters", valid


def _is_encoded(
    batch: Batch,
    model: BatchEnv,
    columns: npt.NDArray[np.float64],
    current: npt.NDArray[np.float64],
) -> bool:
    """Return whether setting attributes can produce these columns from a lane's current ones."""
    settable = current.copy()
    for parameter in model.parameters.values():
        rows = parameter.rows(batch.spec)
        try:
            settable[rows] = parameter.encoded(parameter.decode(columns[rows].tolist()))
        except (IndexError, ValueError, OverflowError):
            return False
    return bool((settable == columns).all())


def write_lanes(batch: Batch, saved: Fields | Records, indices: Indices) -> None:
    """Write checked fields of saved lanes into the lanes of a batch."""
    external = _external_store(batch)
    never_reset = saved["elapsed"] == NEVER_RESET
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
        elapsed[indices] = np.where(never_reset, 0, saved["elapsed"])
        ended[indices] = saved["ended"]
        for field, array in _agent_arrays(batch):
            array[indices] = saved[field]
        batch.mark_ready(indices)
        if never_reset.all():
            batch.require_reset()

    batch.exclusively(load)


# Seed of a stream that was not seeded by `LaneSeeds`, such as the stream of a saved state.
UNKNOWN = -1


class LaneSeeds:
    """The seeds of a batch's lanes; unseeded streams get the system's entropy."""

    def __init__(self, batch: Batch) -> None:
        """Store the batch, whose streams are not seeded yet."""
        self._batch = batch
        # An int if lane i has the seed `seeds + i` (a million lanes need no list), a list with a
        # seed for each lane, or None.
        self.seeds: int | list[int] | None = None
        self._generators: dict[int, np.random.Generator] = {}

    def _seed(self, first: int, lo: int, hi: int) -> None:
        """Seed lanes lo, lo + 1, ... of [lo, hi) with first, first + 1, ...; may be overridden."""
        self._batch.seed(first, lo, hi)

    def seed_all(self, first: int) -> None:
        """Seed lane i with `first + i`."""
        self._seed(first, 0, self._batch.num_envs)
        self.seeds = first

    def ensure(self) -> None:
        """Seed the lanes from the system's entropy if they are not seeded."""
        if self.seeds is None:
            self.seed_all(seeding.np_random()[1])

    def seed_lanes(self, seeds: list[int | None], mask: npt.NDArray[np.bool_] | None) -> None:
        """Seed the lanes of the mask (None for all) that have a seed."""
        self.ensure()
        new_seeds = list(self.as_tuple())
        for lane, seed in enumerate(seeds):
            if seed is not None and (mask is None or mask[lane]):
                self._seed(seed, lane, lane + 1)
                new_seeds[lane] = seed
        self.seeds = new_seeds

    def reset(
        self, seed: int | list[int | None] | None, mask: npt.NDArray[np.bool_] | None
    ) -> None:
        """Seed the lanes of a mask (None for all) at a reset.

        An integer seeds lane `i` with `seed + i`; a list has a seed or None for each lane.
        """
        if seed is None:
            self.ensure()
        elif isinstance(seed, list):
            self.seed_lanes(seed, mask)
        elif mask is None:
            self.seed_all(seed)
        else:
            self.seed_lanes([seed + lane for lane in range(self._batch.num_envs)], mask)

    def forget(self, lanes: Indices) -> None:
        """Record that the streams of these lanes were not seeded by this object."""
        unseeded = [UNKNOWN] * self._batch.num_envs
        seeds = unseeded if self.seeds is None else list(self.as_tuple())
        for lane in lanes.tolist():
            seeds[lane] = UNKNOWN
        self.seeds = seeds

    def generators(self, lanes: Iterable[int]) -> list[np.random.Generator]:
        """Return a generator for each lane; drawing from it advances the lane's random stream."""
        self.ensure()
        generators = self._generators
        for lane in lanes:
            if lane not in generators:
                generators[lane] = lane_generator(self._batch, lane)
        return [generators[lane] for lane in lanes]

    def as_tuple(self) -> tuple[int, ...]:
        """Return the seed of every lane."""
        self.ensure()
        if isinstance(self.seeds, int):
            return tuple(range(self.seeds, self.seeds + self._batch.num_envs))
        return tuple(self.seeds or ())
