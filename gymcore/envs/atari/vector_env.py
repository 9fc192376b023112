"""Many Atari games in one batch: compiled preprocessing over ALE's own emulators."""

from __future__ import annotations

import atexit
import contextlib
import os
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import check_options
from gymcore.core import Info, Metadata, Options
from gymcore.envs.atari.atari_env import (
    block_daemons_at_exit,
    check_restored,
    load_ale,
    python_ends,
    rom_path,
)
from gymcore.envs.atari.library import (
    TESTED,
    Cartridge,
    address_of,
    cartridge,
    library_functions,
    load_game,
    open_game,
    unusable,
)
from gymcore.envs.atari.memory import COMPLETE, frame_position
from gymcore.envs.atari.pipelines import STAGES, pipeline_of
from gymcore.native.env import NativeEnv
from gymcore.native.lane_generator import lane_generator
from gymcore.native.parameters import KernelSpec, Lane, Parameter, as_number
from gymcore.native.state import LaneSeeds, digest
from gymcore.native.vector_env import Bools, Floats, NativeVectorEnv
from gymcore.rendering.area_resizer import area_resizer
from gymcore.spaces import Box, Discrete
from gymcore.vector.vector_env import EnvIds
from gymcore_ext.atari.games import Games
from gymcore_ext.engine.batch import Batch

if TYPE_CHECKING:
    from ale_py import ALEInterface

# nanobind reports emulators that still exist when Python exits as leaks.
_alive: weakref.WeakSet[PreprocessedAtariEnv | AtariVectorEnv] = weakref.WeakSet()

# Values that mean the default in ale-py's `AtariVectorEnv`; here they mean no argument.
_NOT_CHOSEN = {"batch_size": 0, "num_threads": 0, "thread_affinity_offset": -1}

_loading: set[object] = set()  # blocks of `_loads_games` that have begun

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_loading.clear)  # the child has no thread to end them


@contextlib.contextmanager
def _loads_games() -> Iterator[None]:
    """Make the exit of Python wait for the block, whose emulators `_alive` does not list.

    Raise `SystemExit` if Python has begun to shut down. This is not a lock: an interrupt just
    before the block would leave it locked.
    """
    block = object()
    try:
        _loading.add(block)
        if python_ends.is_set():
            raise SystemExit
        yield
    finally:
        _loading.discard(block)


@atexit.register
def _release_emulators() -> None:
    python_ends.set()  # here too: this runs before the function in atari_env.py
    until = time.monotonic() + 5.0
    while _loading and time.monotonic() < until:
        time.sleep(0.001)
    for env in list(_alive):
        # A daemon thread that steps it may finish its step, and blocks in the next one.
        batch = env._batch
        for _ in range(1000):
            try:
                batch.close()
                batch.exclusively(batch.store.release)
                break
            except error.ConcurrentUseError:
                time.sleep(0.001)


class LaneGames(Games):
    """`Games` whose lanes can be seeded and saved."""

    opener: Callable[[], ALEInterface]  # returns an emulator with the game
    # Loads the game, given stickiness and a seed; None if ALE draws no numbers in resets.
    drawing_loader: Callable[[ALEInterface, float, int], None] | None = None
    game: str
    path: str  # of the ROM
    cartridge: Cartridge

    def load_roms(self) -> None:
        """Load the ROM into every lane, so that resets only restore states.

        Each takes 0.1 s, nine tenths of it for a table of averaged colors that ALE computes for
        every emulator, used or not.
        """
        for lane in range(len(self)):
            with _loads_games():
                self._restart(lane)

    def _restart(self, lane: int) -> None:
        """Restore the state in which the ROM was loaded, which is the same as loading it again."""
        ale = self.ales[lane] if self._has_game(lane) else self.opener()
        ale.restoreState(load_ale().ALEState(self.cartridge.first_state))
        self.set_ale(lane, ale, address_of(ale))

    def _has_game(self, lane: int) -> bool:
        """Return whether a lane's emulator has its ROM; a program may have loaded another one."""
        ale = self.ales[lane]
        return ale is not None and ale.getString("rom_file") == self.path

    def seed(self, batch: Batch, gymnasium: bool, first: int, lo: int, hi: int) -> None:
        """Seed lanes lo, lo + 1, ... with first, first + 1, ...; their games start again."""
        batch.seed(first, lo, hi)
        probabilities = np.broadcast_to(batch.get_parameters()[0], len(self))
        for lane in range(lo, hi):
            seed = first + lane - lo
            noop_seed = sticky_seed = seed & 0x7FFFFFFF
            if gymnasium:
                rng_seed, sticky_seed = np.random.SeedSequence(seed).generate_state(2).tolist()
                batch.seed(rng_seed, lane, lane + 1)
            with _loads_games():
                self._restart(lane)
            self.seed_generators(lane, noop_seed, sticky_seed)
            if self.drawing_loader is not None:
                self._load_drawing(lane, float(probabilities[lane]), sticky_seed)

    def _load_drawing(self, lane: int, probability: float, seed: int) -> None:
        """Load the ROM of a lane again, which draws numbers."""
        assert self.drawing_loader is not None
        self.drawing_loader(self.ales[lane], probability, seed)
        try:
            self.take_generator(lane, probability)
        except ValueError:
            raise unusable("its emulators have another memory layout") from None

    def raise_faults(self) -> None:
        """Raise an `Error` for lanes whose frames cannot be read."""
        lanes = [lane for lane, _ in self.take_faults()]
        raise error.Error(
            f"lanes {lanes}: expected screens of {self.cartridge.screen} pixels, as in "
            f"{self.game}: another ROM was loaded into `ale`; reset with a seed loads the game "
            "again"
        )

    def save(self, indices: npt.NDArray[np.int64], saved: np.ndarray) -> None:
        """Write lanes into an array of `saved_dtype`. Emulators have no random numbers to save.

        Raises:
            StateNotSupported: If ALE does not restore states of this game.
        """
        check_restored(self.game)
        super().save(indices, saved)

    def valid(self, saved: np.ndarray) -> npt.NDArray[np.bool_]:
        """Return which elements of an array of `saved_dtype` are lanes: bool [len(saved)]."""
        valid = super().valid(saved)
        for row in np.flatnonzero(valid & (saved["size"] > 0)):
            valid[row] = self.cartridge.memory.position(_serialized(saved[row])) is not None
        return valid

    def load(self, indices: npt.NDArray[np.int64], saved: np.ndarray) -> None:
        """Restore saved lanes, an array of `saved_dtype`."""
        for lane, game in zip(indices.tolist(), saved, strict=True):
            if not self._has_game(lane):
                with _loads_games():
                    self._restart(lane)
            if game["size"]:
                self._end_frame(self.ales[lane], game)
        super().load(indices, saved)

    def _end_frame(self, ale: ALEInterface, game: np.void) -> None:
        """Bring an emulator to a position in a frame from which it can continue a saved game.

        ALE's states do not record whether the console is in the middle of a frame, and where in its
        buffer: it stays there. Drawing the rest of another frame from there may overrun the buffer.
        After a reset the console is at the beginning of a frame, or elsewhere in some games.
        """
        position = frame_position(game["memory"])
        after_reset = self.cartridge.memory.known_position
        if position != COMPLETE:
            ale.reset_game()
        elif after_reset >= 0:
            ale.restoreState(load_ale().ALEState(_serialized(game)))
        if after_reset >= 0 and position != after_reset:
            ale.act(0)

    def release(self) -> None:
        """Release the emulators; the lanes cannot be stepped anymore."""
        for lane in range(len(self)):
            self.set_ale(lane, None, 0)


def _serialized(game: np.void) -> bytes:
    """Return the state of a saved game as ALE serializes it."""
    state, size = game["state"], game["size"].astype(np.int32)
    head, limits = state[[0, 1, 4, 5, 14, 15]], state[2:4]
    memory = game["memory"][:size].tobytes()
    return b"".join((head.tobytes(), size.tobytes(), memory, limits.tobytes()))


class _GameSeeds(LaneSeeds):
    """The seeds of a batch of games, whose emulators are seeded too."""

    def __init__(self, batch: Batch, gymnasium: bool) -> None:
        super().__init__(batch)
        self._gymnasium = gymnasium

    def _seed(self, first: int, lo: int, hi: int) -> None:
        self._batch.store.seed(self._batch, self._gymnasium, first, lo, hi)


def _as_probability(value: Any) -> tuple[float, ...]:
    (number,) = as_number(value)
    if not 0.0 <= number <= 1.0:
        raise error.InvalidArgument(f"expected a number in [0, 1], got {number}")
    return (number,)


class _Probability(Parameter):
    """The probability of sticky actions, which is 0 by default."""

    def __init__(self) -> None:
        super().__init__(encode=_as_probability)

    def __get__(self, env: Lane | None, owner: type) -> float:
        return 0.0 if env is None else super().__get__(env, owner)


class PreprocessedAtariEnv(NativeEnv):
    """One lane of `AtariVectorEnv`, as an environment: for its arguments see there.

    Attributes:
        repeat_action_probability: Probability that a frame repeats the previous action.

    Examples:
        >>> env = PreprocessedAtariEnv("pong", preset="gymnasium")
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, info["lives"], env.get_action_meanings()[:3]
        ((4, 84, 84), 0, ['NOOP', 'FIRE', 'RIGHT'])
    """

    kernel_module = ""
    metadata: Metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 15}  # noqa: RUF012
    arguments: ClassVar[tuple[str, ...]] = (
        "game",
        "preset",
        "mode",
        "difficulty",
        "full_action_space",
        "continuous",
        "continuous_action_threshold",
        *STAGES,
    )
    settable: ClassVar[tuple[str, ...]] = ("state",)
    repeat_action_probability = _Probability()

    def __init__(
        self,
        game: str = "pong",
        *,
        preset: str = "ale_vector",
        mode: int | None = None,
        difficulty: int | None = None,
        full_action_space: bool = False,
        continuous: bool = False,
        continuous_action_threshold: float = 0.5,
        render_mode: str | None = None,
        **stages: Any,
    ) -> None:
        """Load the game, and make the batch of one.

        Args:
            game: The name of the ROM, such as "space_invaders".
            preset: The library whose preprocessing to use: "ale_vector", "gymnasium" or "envpool".
            mode: The game's mode; None for the default.
            difficulty: The game's difficulty; None for the default.
            full_action_space: Whether there are all 18 actions, not only those that do something.
            continuous: Whether actions are radius, angle and fire, float32 [3].
            continuous_action_threshold: The value above which they count as pressed.
            render_mode: None, "rgb_array" or "human".
            **stages: `repeat_action_probability`, and stages of the preset to change, see
                `gymcore.envs.atari.pipelines.Pipeline`.

        Raises:
            NameNotFound: If there is no such game.
            InvalidArgument: If a value is out of range.
            ArgumentTypeError: If a value is of the wrong type, or there is no such argument.
            DependencyNotInstalled: If ale-py is not installed, or has another layout.
        """
        parameters = {name: stages.pop(name) for name in self.parameters if name in stages}
        if unknown := sorted(stages.keys() - set(STAGES)):
            raise error.ArgumentTypeError(f"got unexpected arguments {unknown}")
        # Checked before the ROM is loaded, which takes 0.1 s.
        for name, value in parameters.items():
            self.parameters[name].encoded(value)
        if not isinstance(continuous_action_threshold, (int, float, np.number)):
            raise error.ArgumentTypeError(
                f"continuous_action_threshold: expected a number, got "
                f"{continuous_action_threshold!r}"
            )
        if continuous not in (True, False):
            raise error.ArgumentTypeError(f"continuous: expected True or False, got {continuous!r}")
        self.game = game
        self.pipeline = pipeline = pipeline_of(preset, stages)
        self._path = rom_path(game)
        self._mode, self._difficulty = mode, difficulty
        self._threshold = continuous_action_threshold
        self.continuous = continuous
        with _loads_games():
            self._cartridge = loaded = cartridge(self._path, game, mode, difficulty)
        for name, size in zip(("img_height", "img_width"), loaded.screen, strict=True):
            if getattr(pipeline, name) > size:
                raise error.InvalidArgument(
                    f"{name}: expected at most {size}, the screen's; got {getattr(pipeline, name)}"
                )
        self._actions = loaded.legal if full_action_space or continuous else loaded.minimal
        self._fixed_digest = digest(
            repr((game, mode, difficulty, self._actions, pipeline)).encode(),
            repr((continuous, self._threshold)).encode(),
        )
        self.observation_space = Box(0, 255, pipeline.observation_shape, np.uint8)
        if continuous:
            low, high = np.array([[0, -np.pi, 0], [1, np.pi, 1]], np.float32)
            self.action_space: Box | Discrete = Box(low, high)
        else:
            self.action_space = Discrete(len(self._actions))
        super().__init__(render_mode, **parameters)

    object_bytes = 500_000

    def make_batch(self, num_envs: int, **options: Any) -> Batch:
        """Return a batch of this game."""
        games = self._games(num_envs)
        batch = Batch(games.kernel, num_envs, errors=error, store=games, **options)
        return batch

    def _own_batch(self) -> Batch:
        _alive.add(self)
        return super()._own_batch()

    def _games(self, num_envs: int) -> LaneGames:
        pipeline, loaded = self.pipeline, self._cartridge
        actions = _joystick_actions() if self.continuous else self._actions
        limits_itself = pipeline.frame_limit == "game_frames"
        limit = pipeline.max_num_frames_per_episode if limits_itself else 0
        games = LaneGames(
            functions=library_functions(),
            num_lanes=num_envs,
            stages=pipeline.numbers(1 in self._actions, self.continuous),
            resizer=area_resizer(loaded.screen, (pipeline.img_height, pipeline.img_width)),
            palette=loaded.gray if pipeline.grayscale else loaded.colors,
            actions=actions,
            threshold=self._threshold,
            observation_shape=pipeline.observation_shape,
            state_size=len(loaded.first_state),
            resets_draw=loaded.resets_draw,
            reports_lanes=pipeline.reports_lanes,
        )
        games.game = self.game
        games.path = self._path
        games.cartridge = loaded
        rom = self._path, self.game, self._mode, self._difficulty
        games.opener = partial(open_game, *rom, limit)
        if loaded.resets_draw:
            # Lane and emulator exchange the generator, at addresses of this version.
            if load_ale().__version__ != TESTED:
                raise unusable(f"resets of {self.game} are random, which needs ale-py {TESTED}")
            games.drawing_loader = partial(load_game, *rom)
        return games

    def kernel_spec(self) -> KernelSpec:  # type: ignore[override]
        """Return sizes, names and defaults of the kernel."""
        return self._batch.spec

    def fixed_digest(self) -> int:
        """Digest of the game, its actions and the stages."""
        return self._fixed_digest

    @classmethod
    def reset_bounds(cls, options: Options) -> None:
        """Return None: resets have no options."""
        check_options(options)

    # --- stepping ------------------------------------------------------------------------------

    def _seed(self, seed: int) -> None:
        self.seeds_of(self._batch).seed_all(seed)
        self._np_random_seed = seed
        self._generator = lane_generator(self._batch, 0)

    def seeds_of(self, batch: Batch) -> LaneSeeds:
        """Return the object that seeds the lanes of a batch of this game."""
        return _GameSeeds(batch, self.pipeline.noop_seeding == "gymnasium")

    def step(self, action: Any) -> tuple[npt.NDArray[np.uint8], float, bool, bool, Info]:
        """Take one action; see `Env.step`.

        Raises:
            InvalidAction: If `action` is not an element of `action_space`.
            ResetNeeded: If `reset` has not been called.
        """
        block_daemons_at_exit()
        if not self.action_space.contains(action):
            raise self._invalid(action)
        step = self._batch.step_single_array if self.continuous else self._batch.step_single
        observation, reward, terminated = step(action)
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, self._batch.truncated, self._batch.infos()

    # --- what lanes have -----------------------------------------------------------------------

    @property
    def ale(self) -> ALEInterface:
        """The emulator of this lane, for reading between steps.

        A single environment loads its ROM, and has an emulator, when it is first reset.
        """
        emulator: ALEInterface = self._batch.store.ales[self._lane]
        return emulator

    @property
    def lives(self) -> int:
        """Lives that are left."""
        return int(self.ale.lives())

    def get_action_meanings(self) -> list[str]:
        """Return the names of the actions."""
        return [load_ale().Action(number).name for number in self._actions]

    @property
    def state(self) -> npt.NDArray[np.float64] | None:
        """The 128 bytes of the console's memory, float64, a copy; None before the first reset.

        Assign 128 numbers to change them.
        """
        if not self._batch.is_ready:
            return None
        return np.array(self.ale.getRAM(), np.float64)

    @state.setter
    def state(self, value: object) -> None:
        ram = np.asarray(value)
        if ram.shape != (128,) or not _are_bytes(ram):
            raise error.InvalidArgument(f"state: expected 128 bytes, got {value!r}")
        if not self._batch.is_ready:
            raise error.ResetNeeded("state: expected reset() first")
        for index, byte in enumerate(ram.tolist()):
            self.ale.setRAM(index, int(byte))

    def _render_frame(self, render_mode: str, state: object) -> npt.NDArray[np.uint8] | None:
        """Return the screen [height, width, 3] uint8, or show it."""
        frame = self.ale.getScreenRGB()
        if render_mode == "rgb_array":
            return frame
        if self._renderer is None:
            from gymcore.rendering.frames import Renderer, draw_frame

            size = 3 * frame.shape[1], 3 * frame.shape[0]
            fps = self.metadata["render_fps"]
            self._renderer = Renderer(draw_frame, size, fps, "human", self.game)
        return self._renderer.render(frame)


def _are_bytes(numbers: np.ndarray) -> bool:
    return numbers.dtype.kind in "iufb" and bool(np.isin(numbers, np.arange(256)).all())


def _joystick_actions() -> list[int]:
    """ALE's numbers of the actions [left, none, right] x [down, none, up] x [no fire, fire]."""
    action = load_ale().Action
    names = []
    for horizontal in ("LEFT", "", "RIGHT"):
        for vertical in ("DOWN", "", "UP"):
            for fire in ("", "FIRE"):
                names.append((vertical + horizontal + fire) or "NOOP")
    return [int(getattr(action, name).value) for name in names]


class AtariVectorEnv(NativeVectorEnv):
    """Steps many games of ALE, with the usual preprocessing.

    Observations are uint8 [num_envs, stack_num, img_height, img_width]. Presets are the stages of
    other libraries, each of which you can change: see `gymcore.envs.atari.pipelines.Pipeline`, and
    `PreprocessedAtariEnv` for the other arguments.

    - Infos: `lives`, `frame_number`, `episode_frame_number`; `reward` before it is clipped; and
      `game_return`, `game_length` (in steps) and `game_over` of the game, which has many episodes
      if lost lives end them without ending the game. Returns of `episode_statistics` are
      sums of rewards before they are clipped. Except with the preset "gymnasium", every info has
      `env_id`, the indices of the lanes, as in the other two libraries (`reports_lanes`).
    - `get_attr("ale")` returns the emulators, for reading between steps. Lanes may differ in
      `repeat_action_probability`.

    Lane `i` of `reset(seed=s)` plays as the original library does with the seed `s + i`.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("ALE/Breakout-v5", num_envs=2, preset="envpool")
        >>> observations, infos = envs.reset(seed=1)
        >>> observations.shape, infos["lives"]
        ((2, 4, 84, 84), array([5, 5]))
        >>> envs.close()
    """

    env_class: ClassVar[type[PreprocessedAtariEnv]] = PreprocessedAtariEnv
    _model: PreprocessedAtariEnv

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make the batch, see `NativeVectorEnv`, and load the ROM into every lane."""
        if unsupported := sorted({"obs_type", "sound_obs"} & kwargs.keys()):
            raise error.ArgumentTypeError(
                f"{', '.join(unsupported)}: expected none in a batch that preprocesses screens; "
                "vectorization_mode='sync' and 'async' take the arguments of make()"
            )
        if kwargs.get("preset", "ale_vector") == "ale_vector":
            kwargs = {k: v for k, v in kwargs.items() if (k, v) not in _NOT_CHOSEN.items()}
        super().__init__(*args, **kwargs)
        self._batch.store.load_roms()  # after all arguments were checked

    def _make_batch(self) -> None:
        super()._make_batch()
        self._seeds = self._model.seeds_of(self._batch)
        _alive.add(self)

    @property
    def map_action_idx(self) -> npt.NDArray[np.int32]:
        """ALE's numbers of the actions [left, none, right] x [down, none, up] x [no fire, fire]."""
        return np.array(_joystick_actions(), np.int32).reshape(3, 3, 2)

    def step(
        self, actions: np.ndarray, env_ids: EnvIds | None = None
    ) -> tuple[np.ndarray, Floats, Bools, Bools, Info]:
        """Step every game, or some of them; see `NativeVectorEnv.step`."""
        block_daemons_at_exit()
        return super().step(actions, env_ids)

    def _states(self) -> list[object]:
        return [env.state for env in self.lane_envs()]

    def _set_lanes_attr(self, name: str, values: Any) -> None:
        """Set `np_random`, or `state`: 128 bytes for all lanes, or for each."""
        if name != "state":
            super()._set_lanes_attr(name, values)
            return
        try:
            rows = np.broadcast_to(np.asarray(values), (self.num_envs, 128))
        except ValueError:
            shape = np.shape(values)
            raise error.InvalidArgument(
                f"state: expected 128 bytes for all lanes or for each of {self.num_envs}, got "
                f"shape {shape}"
            ) from None
        if not _are_bytes(rows):
            raise error.InvalidArgument(f"state: expected 128 bytes, got {values!r}")

        def write() -> None:
            for env, row in zip(self.lane_envs(), rows, strict=True):
                env.state = row

        self._batch.exclusively(write)

    def close_extras(self, **kwargs: object) -> None:
        """Stop the threads, and close the window."""
        super().close_extras(**kwargs)
        self._model.close()


class PresetAtariVectorEnv(AtariVectorEnv):
    """An `AtariVectorEnv` of ids for which `make_vec` preprocesses frames only on request.

    Ids without frame skipping leave it to the preprocessing: the preset sets `frameskip`.
    """

    ignored_arguments: ClassVar[dict[str, object]] = {"frameskip": 1}  # of the ids

    def __init__(self, *args: Any, frameskip: int | tuple[int, int] = 1, **kwargs: Any) -> None:
        """Make the batch, with the preset's `frameskip` instead of 1; see `AtariVectorEnv`."""
        super().__init__(*args, **kwargs, **({} if frameskip == 1 else {"frameskip": frameskip}))


__all__ = ["AtariVectorEnv", "PreprocessedAtariEnv", "PresetAtariVectorEnv"]
