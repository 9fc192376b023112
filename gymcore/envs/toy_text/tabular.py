"""Environments with finitely many states and actions, defined by a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.core import Info, Options
from gymcore.envs.toy_text.utils import check_render_mode
from gymcore.error import ArgumentTypeError, InvalidArgument, InvalidProbability
from gymcore.native.env import NativeDiscreteEnv
from gymcore.native.parameters import Number, batch_of
from gymcore.native.state import digest
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.rendering.frames import drawing_object
from gymcore_ext.physics.tabular import pack

# Transitions by state and action, as mappings or sequences of Outcome, and the probabilities of
# the initial states. Both are checked.
Item = TypeVar("Item")
Table: TypeAlias = Mapping[int, Any] | Sequence[Any] | np.ndarray
# (probability, next state, reward, terminated)
Outcome: TypeAlias = tuple[float, int, float, bool]


class TabularEnv(NativeDiscreteEnv):
    """A Markov decision process defined by its table of transitions, at compiled speed.

    - Observation: the state, an int of `Discrete(len(P))`.
    - Actions: `Discrete(len(P[0]))`.
    - Info: `prob`, the probability of the transition that was drawn; 1 after a reset.
    - Every step and reset draws one random number, even if there is only one outcome.

    Attributes: `P` and `initial_state_distrib` float64 [states] (both immutable, but another one of
    the same size can be assigned), `s` (the state; can be set), `lastaction` (None after a reset).

    Examples:
        >>> from gymcore.envs.toy_text import TabularEnv
        >>> P = {
        ...     0: {0: [(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)]},
        ...     1: {0: [(1.0, 1, 0.0, True)]},
        ... }
        >>> env = TabularEnv(P, [1.0, 0.0])
        >>> env.reset(seed=2)
        (0, {'prob': 1.0})
        >>> env.step(0)
        (0, 0.0, False, False, {'prob': 0.5})
    """

    metadata: Info = {"render_modes": [], "render_fps": 4}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.tabular"
    arguments: ClassVar[tuple[str, ...]] = ("P", "initial_distribution")
    settable: ClassVar[tuple[str, ...]] = ("s", "lastaction")
    # What a constructor that does not call `_make` has assigned of the table; see `check_kernel`.
    _parts: Mapping[str, Any] = MappingProxyType({})

    def __init__(
        self, P: Table, initial_distribution: npt.ArrayLike, render_mode: str | None = None
    ) -> None:
        """Create the environment.

        Args:
            P: `P[state][action]` is a sequence of (probability, next state, reward, terminated), in
                mappings or sequences. Copied.
            initial_distribution: Probabilities of the initial states.
            render_mode: None; other render modes are not supported.

        Raises:
            InvalidArgument: If the table is invalid; the message names the entry.
            ArgumentTypeError: If an argument has the wrong type.
        """
        self._make(Transitions(P, initial_distribution), render_mode)

    def _make(
        self, transitions: Transitions, render_mode: str | None, **parameters: object
    ) -> None:
        """Create the spaces and the batch; called at the end of a subclass's `__init__`."""
        check_render_mode(self.metadata, render_mode)
        self._transitions = transitions
        self.observation_space = spaces.Discrete(transitions.num_states)
        self.action_space = spaces.Discrete(transitions.num_actions)
        NativeDiscreteEnv.__init__(self, render_mode, **parameters)

    def check_kernel(self) -> None:
        """Make the table that a subclass's constructor has assigned, and check it."""
        if getattr(self, "_transitions", _NO_TABLE) is _NO_TABLE:
            self._use(self._parts)
        super().check_kernel()

    def _masks(self) -> npt.NDArray[np.int8] | None:
        return None

    def batch_options(self) -> Info:
        """Return the table and its number of actions."""
        table = getattr(self, "_transitions", _NO_TABLE)
        return {"shared": table.capsule, "choices": table.num_actions}

    def fixed_digest(self) -> int:
        """Return a digest of the kernel and the table."""
        return digest(b"%d" % super().fixed_digest(), b"%d" % self._transitions.digest)

    def state_bounds(self) -> dict[str, tuple[float, float]]:
        """Return bounds of states, actions and probabilities."""
        return {
            "s": (0, self._transitions.num_states - 1),
            "lastaction": (-1, self._transitions.num_actions - 1),
            "prob": (0.0, 1.0 + TOLERANCE),
        }

    @property
    def P(self) -> dict[int, dict[int, list[Outcome]]]:
        """The table: `P[state][action]` lists (probability, next state, reward, terminated)."""
        table: dict[int, dict[int, list[Outcome]]] = self._parts.get("P", self._transitions.P)
        return table

    @P.setter
    def P(self, table: Table) -> None:
        self._set_part("P", table)

    @property
    def initial_state_distrib(self) -> npt.NDArray[np.float64]:
        """Distribution of the initial state, float64 [states]; the array is read-only."""
        initial: npt.NDArray[np.float64] = self._parts.get("initial", self._transitions.initial)
        return initial

    @initial_state_distrib.setter
    def initial_state_distrib(self, value: npt.ArrayLike) -> None:
        self._set_part("initial", value)

    def _set_part(self, name: str, value: object) -> None:
        if getattr(self, "_transitions", _NO_TABLE) is _NO_TABLE:
            self._transitions, self._parts = _NO_TABLE, {**self._parts, name: value}
            return
        if self._shares_batch:
            raise AttributeError("P: shared by all lanes of a vector environment")
        self._use({"P": self.P, "initial": self.initial_state_distrib, name: value})

    def _use(self, parts: Mapping[str, Any]) -> None:
        """Continue with another table."""
        if len(parts) < 2:
            raise AttributeError(f"{type(self).__name__}: expected P and initial_state_distrib")
        transitions = Transitions(**parts, masks=self._masks())
        sizes = tuple(getattr(x, "n", None) for x in (self.observation_space, self.action_space))
        if sizes != (got := (transitions.num_states, transitions.num_actions)):
            raise InvalidArgument(f"P: expected (states, actions) = {sizes}, got {got}")
        self.__setstate__({**self.__getstate__(), "_transitions": transitions, "_parts": {}})

    def step(self, action: int) -> tuple[int, float, bool, bool, Info]:
        """Take one step; see `NativeDiscreteEnv.step`."""
        observation, reward, *rest = super().step(action)
        return (observation, self._transitions.reward(reward), *rest)

    # --- the state of a lane -----------------------------------------------------------------

    def _column(self, name: str) -> float:
        if not batch_of(self).is_ready:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r} before reset()"
            )
        row = self._batch.spec["state_names"].index(name)
        return float(self._batch.view_state()[row, self._lane])

    def _set_column(self, name: str, value: object, choices: int) -> None:
        self._column(name)
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise error.ArgumentTypeError(f"{name}: expected an int, got {value!r}")
        if not 0 <= value < choices:
            raise error.InvalidArgument(f"{name}: expected 0 to {choices - 1}, got {value}")
        self._write_column(name, float(value))

    def _write_column(self, name: str, value: float) -> None:
        row = batch_of(self).spec["state_names"].index(name)
        place = row, self._lane
        self._batch.exclusively(lambda: self._batch.view_state().__setitem__(place, value))

    @property
    def s(self) -> int:
        """The state; can be set."""
        return int(self._column("s"))

    @s.setter
    def s(self, value: int) -> None:
        self._set_column("s", value, self._transitions.num_states)

    @property
    def lastaction(self) -> int | None:
        """The last action; None after a reset."""
        action = int(self._column("lastaction"))
        return None if action < 0 else action

    @lastaction.setter
    def lastaction(self, value: int | None) -> None:
        if value is None:
            self._write_column("lastaction", -1.0)
        else:
            self._set_column("lastaction", value, self._transitions.num_actions)


class TabularVectorEnv(NativeVectorEnv):
    """A batch of environments with the same table; see `NativeVectorEnv`.

    Examples:
        >>> from gymcore.envs.toy_text import TabularVectorEnv
        >>> P = [[[(1.0, 1, 2.0, False)]], [[(1.0, 1, 0.0, True)]]]
        >>> envs = TabularVectorEnv(3, P=P, initial_distribution=[1, 0])
        >>> envs.reset(seed=1)[0]
        array([0, 0, 0])
        >>> envs.step([0, 0, 0])[:2]
        (array([1, 1, 1]), array([2., 2., 2.]))
    """

    env_class: ClassVar[type[TabularEnv]] = TabularEnv


# --- environments on a grid ----------------------------------------------------------------------

Place = tuple[int, int]


def moved(place: Place, step: Place, shape: Place) -> Place:
    """Return the cell (row, column) after a step, clipped to the grid."""
    row = min(max(place[0] + step[0], 0), shape[0] - 1)
    return row, min(max(place[1] + step[1], 0), shape[1] - 1)


def probability(name: str, value: Number) -> float:
    """Return a float from 0 to 1; raise `InvalidProbability` for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise InvalidProbability(f"{name}: expected a probability from 0 to 1, got {value!r}")
    return number


class GridEnv(TabularEnv):
    """A tabular environment on a grid, which can be drawn and printed.

    A subclass sets `shape` (rows, columns) before it calls `_make`.
    """

    shape: Place
    # Attributes for a `_render_gui` of a subclass, as in Gymnasium.
    window_surface = drawing_object("window_surface", "surface")
    window = drawing_object("window", "surface")

    # Methods that `_build_table` calls.
    table_methods: ClassVar[frozenset[str]] = frozenset()
    # Side length of a tile in pixels.
    tile = 64
    # `prob` in the info of a reset: an int or a float, as in Gymnasium.
    first_prob: float = 1

    def _build_table(self) -> Transitions:
        """Build the table, which depends on the values of `arguments`."""
        raise NotImplementedError

    def _table(self) -> Transitions:
        """Return the table, which environments share unless their class builds it differently."""
        if any(self._override(name) is not None for name in self.table_methods):
            return self._build_table()
        return _built_table(type(self), *(getattr(self, name) for name in self.arguments))

    if not TYPE_CHECKING:  # a type checker sees the attribute

        @property
        def frame_size(self) -> tuple[int, int]:
            """Width and height in pixels; small maps have large tiles."""
            rows, columns = self.shape
            tile = max(8, min(self.tile, 1024 // max(rows, columns)))
            return columns * tile, rows * tile

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[int, Info]:
        """Start an episode; see `NativeEnv.reset`."""
        observation, infos = super().reset(seed=seed, options=options)
        return observation, {**infos, "prob": self.first_prob}


@lru_cache(maxsize=16)
def _built_table(cls: type[GridEnv], *arguments: object) -> Transitions:
    env = object.__new__(cls)
    vars(env).update(zip(cls.arguments, arguments, strict=True))
    return env._build_table()


# --- tables --------------------------------------------------------------------------------------

# Largest accepted deviation from 1 of the sum of an action's probabilities.
TOLERANCE = 1e-8

# Number of different 53-bit draws, one more than the largest draw.
DRAWS = 2**53

OUTCOME = np.dtype(
    [
        ("cumulative", np.float64),
        ("probability", np.float64),
        ("reward", np.float64),
        ("next", np.int32),
        ("terminated", np.int32),
    ]
)


_FIXED = (
    "P is compiled into the environment and cannot be changed in place: assign a changed copy to "
    "env.unwrapped.P (copy.deepcopy(env.P) is one)"
)


def _reject_change(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise ArgumentTypeError(getattr(self, "reason", _FIXED))


class FixedDict(dict[int, Any]):
    """An immutable dict; copies are plain dicts."""

    __setitem__ = __delitem__ = __ior__ = _reject_change
    clear = pop = popitem = setdefault = update = _reject_change

    def __reduce__(self) -> tuple[type, tuple[object]]:
        """Copy and pickle as a plain dict."""
        return dict, (dict(self),)


class FixedList(list[Item]):
    """An immutable list; copies are plain lists."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _reject_change
    clear = extend = insert = pop = remove = reverse = sort = _reject_change

    def append(self, item: Item, /) -> None:
        """Raise an error."""
        _reject_change(self, item)

    def __reduce__(self) -> tuple[type, tuple[object]]:
        """Copy and pickle as a plain list."""
        return list, (list(self),)


class Transitions:
    """A checked table of transitions, which environments and batches can share.

    Attributes:
        P: `P[state][action]` is a list of (probability, next state, reward, terminated); immutable.
        initial: Distribution of the initial state, float64 [states]; read-only.
        num_states: Number of states.
        num_actions: Number of actions in each state.
        masks: Whether each action changes something, int8 [states, actions]; or None.
        digest: Digest of the probabilities, states, rewards and terminations.
        capsule: The table for `gymcore_ext.engine.batch.Batch(shared=...)`.

    Examples:
        >>> table = Transitions({0: {0: [(1.0, 0, 5.0, True)]}}, [1.0])
        >>> table.num_states, table.num_actions
        (1, 1)
    """

    def __init__(
        self, P: Table, initial: npt.ArrayLike, masks: npt.NDArray[np.int8] | None = None
    ) -> None:
        """Check the table and copy it.

        `P` and `initial` are those of `TabularEnv`; `masks` int8 [states, actions] is for kernels
        that report which actions change something. Errors name the invalid entry.
        """
        self.num_states = _length(P, "P")
        if self.num_states == 0:
            raise InvalidArgument("P: expected at least one state, got an empty table")
        self.initial = _distribution(initial, self.num_states)
        rows = [
            [
                _outcomes(_entry(_entry(P, state, "P"), action, f"P[{state}]"), state, action, self)
                for action in range(self._count_actions(P, state))
            ]
            for state in range(self.num_states)
        ]
        self.num_actions = len(rows[0])
        self.P = FixedDict(
            (s, FixedDict((a, FixedList(outcomes)) for a, outcomes in enumerate(row)))
            for s, row in enumerate(rows)
        )
        # Rewards with their original types: 1 stays an int.
        self._rewards = {
            float(outcome[2]): outcome[2] for row in rows for each in row for outcome in each
        }
        self.masks = masks
        flat, starts = _as_records(rows), np.cumsum(self.initial)
        self.digest = digest(flat, starts)
        self.capsule = _packed(flat, starts, masks)

    def _count_actions(self, P: Table, state: int) -> int:
        count = _length(_entry(P, state, "P"), f"P[{state}]")
        first = _length(_entry(P, 0, "P"), "P[0]")
        if count != first or count == 0:
            raise InvalidArgument(
                f"P[{state}]: expected as many actions as P[0], at least one: {first}, got {count}"
            )
        return count

    def reward(self, value: float) -> float:
        """Return a reward with the type it has in the table: an int if an int was given."""
        return self._rewards.get(value, value)

    def __reduce__(self) -> tuple[type[Transitions], tuple[object, ...]]:
        """Pickle the constructor arguments."""
        return Transitions, (self.P, self.initial, self.masks)

    def __copy__(self) -> Transitions:
        """Return this table, since it is immutable."""
        return self

    def __deepcopy__(self, memo: object) -> Transitions:
        """Return this table, since it is immutable."""
        return self


def _length(value: object, name: str) -> int:
    if not isinstance(value, (Mapping, Sequence, np.ndarray)) or isinstance(value, (str, bytes)):
        raise ArgumentTypeError(
            f"{name}: expected a mapping or a sequence, got {value!r} ({type(value).__name__})"
        )
    return len(value)


def _entry(value: Table, index: int, name: str) -> Any:
    try:
        return value[index]
    except LookupError:
        raise InvalidArgument(
            f"{name}: expected entries 0 to {len(value) - 1}, got none for {index}"
        ) from None


def _distribution(initial: npt.ArrayLike, states: int) -> npt.NDArray[np.float64]:
    try:
        chances = np.array(initial, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(
            f"initial_distribution: expected {states} probabilities, got {initial!r}"
        ) from None
    if chances.shape != (states,):
        raise InvalidArgument(
            f"initial_distribution: expected {states} probabilities, as many as P has states, got "
            f"shape {chances.shape}"
        )
    bad = ~((chances >= 0) & (chances <= 1 + TOLERANCE))  # also true for nan
    if bad.any():
        state = int(np.flatnonzero(bad)[0])
        raise InvalidArgument(
            f"initial_distribution[{state}]: expected a probability, got {chances[state]}"
        )
    if abs(chances.sum() - 1) > TOLERANCE:
        raise InvalidArgument(
            f"initial_distribution: expected probabilities that add up to 1, got {chances.sum()}"
        )
    chances.flags.writeable = False
    return chances


def _outcomes(entry: Any, state: int, action: int, table: Transitions) -> list[Outcome]:
    name = f"P[{state}][{action}]"
    if _length(entry, name) == 0:
        raise InvalidArgument(f"{name}: expected at least one outcome, got none")
    outcomes = [_outcome(each, f"{name}[{k}]", table.num_states) for k, each in enumerate(entry)]
    total = math.fsum(outcome[0] for outcome in outcomes)
    if abs(total - 1) > TOLERANCE:
        raise InvalidArgument(f"{name}: expected probabilities that add up to 1, got {total}")
    return outcomes


def _outcome(entry: Any, name: str, states: int) -> Outcome:
    try:
        probability, state, reward, terminated = entry
        probability, reward = probability + 0, reward + 0
        chance, value, index = float(probability), float(reward), int(state)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(
            f"{name}: expected (probability, next state, reward, terminated), got {entry!r}"
        ) from None
    if not 0 <= chance <= 1 + TOLERANCE:
        raise InvalidArgument(f"{name}: expected a probability from 0 to 1, got {probability!r}")
    if index != state or not 0 <= index < states:
        raise InvalidArgument(
            f"{name}: expected a next state from 0 to {states - 1}, got {state!r}"
        )
    if not math.isfinite(value):
        raise InvalidArgument(f"{name}: expected a finite reward, got {reward!r}")
    return probability, index, reward, bool(terminated)


def _as_records(rows: list[list[list[Outcome]]]) -> np.ndarray:
    """Return outcomes [states, actions, width] as records of OUTCOME.

    If rounding makes an action's probabilities sum to less than 1, its first outcome is repeated at
    the end for the remaining draws. Further entries are never reached.
    """
    padded = [[_records(outcomes) for outcomes in row] for row in rows]
    width = max(len(records) for row in padded for records in row)
    flat = np.zeros((len(rows), len(rows[0]), width), OUTCOME)
    for s, row in enumerate(padded):
        for a, records in enumerate(row):
            flat[s, a] = records + [(math.inf, *records[0][1:])] * (width - len(records))
    return flat


def _packed(
    flat: np.ndarray, starts: npt.NDArray[np.float64], masks: npt.NDArray[np.int8] | None
) -> object:
    """Return the table as a capsule for the compiled loops."""
    _, actions, width = flat.shape
    flat = flat.reshape(-1, width)
    # Compared as integers, because -0.0 must differ from 0.0.
    fields = [flat[name].view(np.int64) for name in ("probability", "reward")]
    different, indices = np.unique(
        np.stack([*fields, flat["terminated"]], axis=2).reshape(-1, 3), axis=0, return_inverse=True
    )
    outcomes = np.stack([flat["next"], indices.reshape(-1, width)], axis=2).astype(np.int32)
    limits = np.ceil(np.minimum(flat["cumulative"], 1.0) * DRAWS).astype(np.int64)
    # If all outcomes are the same, the limits do not matter.
    is_random = (outcomes != outcomes[:, :1]).any(axis=(1, 2))
    shared = np.unique(limits[is_random, :-1], axis=0)
    first = second = DRAWS
    if width <= 3 and len(shared) <= 1:
        first, second = [*shared.ravel().tolist(), DRAWS, DRAWS][:2]
        limits = np.empty((0, 0), np.int64)
    return pack(different, starts, limits, outcomes, actions, first, second, masks)


def _records(outcomes: list[Outcome]) -> list[tuple[float, float, float, int, int]]:
    sums = np.cumsum([outcome[0] for outcome in outcomes]).tolist()
    records = [
        (total, float(outcome[0]), float(outcome[2]), outcome[1], int(outcome[3]))
        for total, outcome in zip(sums, outcomes, strict=True)
    ]
    if sums[-1] < 1:
        records.append((math.inf, *records[0][1:]))
    return records


# The table of an environment whose constructor has not made one.
_NO_TABLE = Transitions({0: {0: [(1.0, 0, 0.0, True)]}}, [1.0])
