"""One Atari game as an environment, over `ale_py.ALEInterface`; Gymnasium need not be installed."""

from __future__ import annotations

import atexit
import difflib
import operator
import os
import sys
import threading
import time
import weakref
import zlib
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base import process_wide, seeding
from gymcore.base.arguments import check_options, invalid_action
from gymcore.base.ezpickle import EzPickle
from gymcore.base.optional_packages import needs
from gymcore.core import Env, Info, Options
from gymcore.envs.atari.games import GAMES, GAMES_FOR_SEVERAL, NOT_RESTORED
from gymcore.envs.atari.last_action import LastAction, seeded
from gymcore.envs.atari.memory import COMPLETE, GameMemory
from gymcore.envs.atari.pipelines import STAGES
from gymcore.spaces import Box, Dict, Discrete
from gymcore.specs.registered import keeps_batches
from gymcore_ext.atari.games import PLAYER_ACTIONS

if TYPE_CHECKING:
    from ale_py import Action, ALEInterface, ALEState

# The screen or the RAM; with sound, a dict of "image" and "sound".
Observation: TypeAlias = npt.NDArray[np.uint8] | dict[str, npt.NDArray[np.uint8]]

OBS_TYPES = ("rgb", "grayscale", "ram")
STATE_VERSION = 1

# What the parts of the name of an action mean, in the order of the keys of `get_keys_to_action`.
_KEYS = {"UP": "w", "DOWN": "s", "LEFT": "a", "RIGHT": "d", "FIRE": " "}


# nanobind reports emulators that still exist when Python exits as leaks.
_alive: weakref.WeakSet[AtariEnv] = weakref.WeakSet()


python_ends = threading.Event()


@atexit.register
def _release_emulators() -> None:
    python_ends.set()
    until = time.monotonic() + 1.0
    for env in list(_alive):
        attributes = vars(env)
        if threading.active_count() > 1 and "ale" in attributes:
            # A daemon thread that plays the game refers to the emulator until its step has ended.
            while sys.getrefcount(attributes["ale"]) > 2 and time.monotonic() < until:
                time.sleep(0.001)
        attributes.pop("ale", None)


def block_daemons_at_exit() -> None:
    """Block a daemon thread once Python has begun to shut down and to release the emulators."""
    while python_ends.is_set() and threading.current_thread() is not threading.main_thread():
        time.sleep(1.0)


class RomNotFound(error.Error, FileNotFoundError):
    """The file of a game is missing, or is not the one that the emulator knows."""


class NoKeys(error.Error, AttributeError):
    """Actions are continuous, so there are no keys for them."""


def load_ale() -> ModuleType:
    """Import ale-py, and let it print errors only; if missing, raise `DependencyNotInstalled`.

    At its import, ale-py registers its own vector environments under the alias. Those are for
    programs that import it themselves, so this import leaves the registry as it is.
    """
    token = keeps_batches.set(True)
    try:
        with needs("ale_py"):
            ale_py = process_wide.load_registering_module("ale_py")
    finally:
        keeps_batches.reset(token)
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    return ale_py


def rom_path(game: str) -> str:
    """Return the file of a game: in the folder `ALE_ROMS_DIR`, or in that of ale-py.

    The emulator exits the process if it does not know a file, so the file is checked first.

    Args:
        game: The name of the ROM, such as "space_invaders".

    Raises:
        DependencyNotInstalled: If ale-py is not installed.
        ArgumentTypeError: If `game` is not a string.
        NameNotFound: If there is no such game.
        InvalidArgument: If the game is for several players only.
        RomNotFound: If the game's file is missing, or is not its ROM.

    Examples:
        >>> rom_path("pongg")
        Traceback (most recent call last):
        gymcore.error.NameNotFound: game: there is no 'pongg', did you mean 'pong'? \
gymcore.envs.atari.games.GAMES lists all 104
    """
    ale_py = load_ale()
    if not isinstance(game, str):
        raise error.ArgumentTypeError(f"game: expected the name of a ROM, got {game!r}")
    if game in GAMES_FOR_SEVERAL:
        raise error.InvalidArgument(
            f"game: {game!r} is for several players only, and the emulator does not run it for one;"
            " PettingZoo supports it"
        )
    folder = os.environ.get("ALE_ROMS_DIR") or os.path.join(*ale_py.__path__, "roms")
    path = os.path.join(folder, f"{game}.bin")
    if os.path.basename(path) != f"{game}.bin" or not os.path.isfile(path):
        if game not in GAMES:
            close = difflib.get_close_matches(game.lower().replace(" ", "_"), GAMES, n=1)
            hint = f", did you mean {close[0]!r}?" if close else ";"
            raise error.NameNotFound(
                f"game: there is no {game!r}{hint} gymcore.envs.atari.games.GAMES lists all "
                f"{len(GAMES)}"
            )
        games = [name for name in GAMES if os.path.isfile(os.path.join(folder, f"{name}.bin"))]
        raise RomNotFound(
            f"no file {path!r}. ale-py ships the ROMs in its own folder; ALE_ROMS_DIR names another"
            f" one. Games there: {', '.join(games) or 'none'}"
        )
    if ale_py.ALEInterface.isSupportedROM(path) != game:
        raise RomNotFound(f"{path!r} is not the ROM of {game!r} that the emulator knows")
    return path


def check_restored(game: str) -> None:
    """Raise `StateNotSupported` for a game whose states ALE does not restore."""
    if game in NOT_RESTORED:
        raise error.StateNotSupported(f"ALE does not restore states of {game} exactly")


def choose_mode(ale: ALEInterface, game: str, mode: int | None, difficulty: int | None) -> None:
    """Set the mode and the difficulty of a loaded game; None leaves one as it is.

    Raises:
        InvalidArgument: If the game has no such mode or difficulty.
    """
    if mode is not None:
        if mode not in ale.getAvailableModes():
            raise error.InvalidArgument(
                f"mode: {game} has the modes {ale.getAvailableModes()}, got {mode!r}"
            )
        ale.setMode(mode)
    if difficulty is not None:
        if difficulty not in ale.getAvailableDifficulties():
            raise error.InvalidArgument(
                f"difficulty: {game} has the difficulties {ale.getAvailableDifficulties()}, got "
                f"{difficulty!r}"
            )
        ale.setDifficulty(difficulty)


class AtariEnv(Env, EzPickle):
    """An Atari 2600 game.

    Frames, rewards, flags, infos and random numbers are those of ale-py's environment for
    Gymnasium with the same arguments and seeds.

    Attributes:
        ale: The emulator, an `ale_py.ALEInterface`.

    Examples:
        >>> import gymcore
        >>> env = gymcore.make("ALE/Pong-v5", obs_type="ram")
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, info["lives"], env.unwrapped.get_action_meanings()[:2]
        ((128,), 0, ['NOOP', 'FIRE'])
    """

    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012
    # `make_vec` uses it for ids without a batch of their own, if one of these arguments is given.
    vector_class = "gymcore.envs.atari.vector_env:PresetAtariVectorEnv"
    vector_arguments = frozenset({"preset", *STAGES}) - {"frameskip", "max_num_frames_per_episode"}

    def __init__(
        self,
        game: str,
        mode: int | None = None,
        difficulty: int | None = None,
        obs_type: str = "rgb",
        frameskip: int | tuple[int, int] = 4,
        repeat_action_probability: float = 0.25,
        full_action_space: bool = False,
        continuous: bool = False,
        continuous_action_threshold: float = 0.5,
        max_num_frames_per_episode: int | None = None,
        render_mode: str | None = None,
        sound_obs: bool = False,
    ) -> None:
        """Load the game. The defaults are those of Machado et al. (2018), as in ids of version 5.

        Args:
            game: The name of the ROM, such as "space_invaders".
            mode: A mode of the game, None for its first; `ale.getAvailableModes()` lists them.
            difficulty: A difficulty, None for the lowest; `ale.getAvailableDifficulties()`.
            obs_type: Observe the screen as "rgb" `[height, width, 3]` or "grayscale" `[height,
                width]`, or the memory as "ram" `[128]`; all uint8.
            frameskip: Frames for which a step repeats its action, or the range (low, high) from
                which `np_random` draws them, high excluded.
            repeat_action_probability: The probability that a frame repeats the action of the
                previous frame ("sticky actions").
            full_action_space: Whether to take all 18 actions, or those that the game distinguishes.
            continuous: Whether an action is `[radius, angle, fire]`, of a joystick in float32.
            continuous_action_threshold: The value above which a direction or fire counts as
                pressed.
            max_num_frames_per_episode: Frames after which an episode is truncated; None or 0 for no
                limit.
            render_mode: "human" lets the emulator show its own window, with sound, at the speed of
                the console; "rgb_array" makes `render` return the screen.
            sound_obs: Whether observations are a dict of "image" and "sound" `[512] uint8`.

        Raises:
            DependencyNotInstalled: If ale-py is not installed.
            NameNotFound: If there is no such game; the message suggests one.
            RomNotFound: If the game's file is missing, or is not its ROM.
            InvalidArgument: If the game has no such mode or difficulty (the message lists what it
                has), or another argument is out of range.
            InvalidProbability: If `repeat_action_probability` is not in [0, 1].
            UnsupportedMode: If `render_mode` is not one of these.
        """
        EzPickle.__init__(
            self,
            game=game,
            mode=mode,
            difficulty=difficulty,
            obs_type=obs_type,
            frameskip=frameskip,
            repeat_action_probability=repeat_action_probability,
            full_action_space=full_action_space,
            continuous=continuous,
            continuous_action_threshold=continuous_action_threshold,
            max_num_frames_per_episode=max_num_frames_per_episode,
            render_mode=render_mode,
            sound_obs=sound_obs,
        )
        if obs_type not in OBS_TYPES:
            raise error.InvalidArgument(f"obs_type: expected one of {OBS_TYPES}, got {obs_type!r}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise error.UnsupportedMode(
                f"render_mode: expected None, 'human' or 'rgb_array', got {render_mode!r}"
            )
        if not 0 <= repeat_action_probability <= 1:
            raise error.InvalidProbability(
                f"repeat_action_probability: expected 0 to 1, got {repeat_action_probability!r}"
            )
        frames = 0 if max_num_frames_per_episode is None else max_num_frames_per_episode
        if not 0 <= operator.index(frames) < 2**31:
            raise error.InvalidArgument(
                f"max_num_frames_per_episode: expected 0 (no limit) to 2**31 - 1, got {frames}"
            )
        self._frameskip = _checked_frameskip(frameskip)
        self._rom = rom_path(game)
        self._game, self._game_mode, self._game_difficulty = game, mode, difficulty
        self._obs_type = obs_type
        self.render_mode = render_mode
        self.sound_obs = sound_obs
        self.continuous = continuous
        self.continuous_action_threshold = continuous_action_threshold

        self.ale: ALEInterface = load_ale().ALEInterface()
        self.ale.setFloat("repeat_action_probability", float(repeat_action_probability))
        self.ale.setInt("max_num_frames_per_episode", operator.index(frames))
        self.ale.setBool("sound_obs", bool(sound_obs))
        if render_mode == "human":
            self.ale.setBool("display_screen", True)
            self.ale.setBool("sound", True)
        _alive.add(self)
        self.seed_game()
        self.load_game()

        self._action_set: list[Action] = (
            self.ale.getLegalActionSet()
            if full_action_space or continuous
            else self.ale.getMinimalActionSet()
        )
        self.action_space = (
            Box(np.array([0, -np.pi, 0], np.float32), np.array([1, np.pi, 1], np.float32))
            if continuous
            else Discrete(len(self._action_set))
        )
        shapes: dict[str, tuple[int, ...]] = {
            "rgb": (*self.ale.getScreenDims(), 3),
            "grayscale": self.ale.getScreenDims(),
            "ram": (self.ale.getRAMSize(),),
        }
        image = Box(0, 255, shapes[obs_type], np.uint8)
        self.observation_space = image
        if sound_obs:
            sound = Box(0, 255, (self.ale.getAudioSize(),), np.uint8)
            self.observation_space = Dict(image=image, sound=sound)

    def seed_game(self, seed: int | None = None) -> tuple[np.uint32, np.uint32]:
        """Seed `np_random` and the emulator, which takes its seed when a game is loaded.

        Args:
            seed: Both seeds are derived from it; None uses the system's entropy.

        Returns:
            The seed of `np_random` and that of the emulator.
        """
        entropy = None if seed is None else seeding.checked_seed(seed)
        np_seed, ale_seed = np.random.SeedSequence(entropy).generate_state(2)
        self._np_random, np_random_seed = seeding.np_random(int(np_seed))
        if seed is None:
            self._np_random_seed = np_random_seed
        self.ale.setInt("random_seed", int(ale_seed.astype(np.int32)))
        return np_seed, ale_seed

    def load_game(self) -> None:
        """Load the game again, and set its mode and difficulty.

        Raises:
            InvalidArgument: If the game has no such mode or difficulty.
        """
        self.ale.loadROM(self._rom)
        choose_mode(self.ale, self._game, self._game_mode, self._game_difficulty)
        self._last_action = LastAction(
            (load_ale().Action.NOOP, 1.0),
            self.ale.getFloat("repeat_action_probability"),
            self.ale,
        )
        state = self.ale.cloneState(include_rng=True).serialize()
        # Some games draw sticky actions while they are loaded, and another ale-py may have other
        # states.
        is_undrawn = seeded(state, self._emulator_seed()) == state
        restores = is_undrawn and not self.sound_obs and self._game not in NOT_RESTORED
        self._loaded = (self._settings_of_ale(), state) if restores else None

    def _emulator_seed(self) -> int:
        return int(self.ale.getInt("random_seed")) % 2**32

    def _settings_of_ale(self) -> tuple[str, float, int]:
        """Return the ROM and the settings with which the emulator loads it."""
        ale = self.ale
        return (
            ale.getString("rom_file"),
            ale.getFloat("repeat_action_probability"),
            ale.getInt("max_num_frames_per_episode"),
        )

    def _restart(self) -> None:
        """Do what `load_game` does after `seed_game`, but restore a state, which is fast.

        States lack the phase of the sound, and settings of `ale` that a program has changed.
        """
        if self._loaded is None or self._loaded[0] != self._settings_of_ale():
            self.load_game()
        else:
            state = seeded(self._loaded[1], self._emulator_seed())
            self.ale.restoreState(load_ale().ALEState(state))

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[Observation, Info]:
        """Start a new game.

        Args:
            seed: Seeds `np_random` and the emulator, whose frames begin at 0 again.
            options: None or {}; there are no options.

        Returns:
            The observation and the info: "lives", "episode_frame_number", "frame_number", and with
            a seed "seeds", that of `np_random` and that of the emulator.
        """
        check_options(options)
        block_daemons_at_exit()
        super().reset(seed=seed)
        seeds = None
        if seed is not None:
            seeds = self.seed_game(seed)
            self._restart()
        self.ale.reset_game()
        self._last_action.reset(self.ale)
        info = self._info()
        if seeds is not None:
            info["seeds"] = seeds
        return self._observation(), info

    def step(self, action: object) -> tuple[Observation, float, bool, bool, Info]:
        """Repeat an action for `frameskip` frames.

        Args:
            action: An index into `get_action_meanings()`; or, if `continuous`, radius, angle and
                fire.

        Returns:
            The observation, a new array; the sum of the rewards of the frames; whether the game is
            over; whether the frame limit ended it; and the info of `reset`.

        Raises:
            InvalidAction: If `action` is not such an index, or not three finite numbers if
                `continuous`.
        """
        _, reward, terminated, truncated, info = self._step_unobserved(action)
        return self._observation(), reward, terminated, truncated, info

    def _step_unobserved(self, action: object) -> tuple[None, float, bool, bool, Info]:
        """Step without an observation, for AtariPreprocessing, which reads the screen itself."""
        block_daemons_at_exit()
        press = self._joystick(action) if self.continuous else (self._ale_action(action), 1.0)
        frames = self._frameskip
        if isinstance(frames, tuple):
            frames = int(self.np_random.integers(*frames))
        act, reward = self.ale.act, 0.0
        for _ in range(frames):
            reward += act(*press)
        self._last_action.record(press, frames)
        terminated = self.ale.game_over(with_truncation=False)
        return None, reward, terminated, self.ale.game_truncated(), self._info()

    def _ale_action(self, action: Any) -> Action:
        """Return the emulator's action of an index."""
        try:
            index = operator.index(action)
            if index >= 0:
                return self._action_set[index]
        except (TypeError, IndexError):
            pass
        raise invalid_action(action, f"an integer from 0 to {len(self._action_set) - 1}")

    def _joystick(self, action: object) -> tuple[Action, float]:
        """Return the emulator's action for radius, angle and fire, and how far it is pressed."""
        try:
            radius, angle, fire = np.asarray(action, np.float32)
            finite = bool(np.isfinite([radius, angle, fire]).all())
        except (TypeError, ValueError, OverflowError):
            finite = False
        if not finite:
            raise invalid_action(action, "three finite numbers (radius, angle, fire)")
        x, y = radius * np.cos(angle), radius * np.sin(angle)
        edge = self.continuous_action_threshold
        name = "UP" if y > edge else "DOWN" if y < -edge else ""
        name += "RIGHT" if x > edge else "LEFT" if x < -edge else ""
        name += "FIRE" if fire > edge else ""
        return getattr(load_ale().Action, name or "NOOP"), float(radius)

    def _observation(self) -> Observation:
        if self._obs_type == "rgb":
            image = self.ale.getScreenRGB()
        elif self._obs_type == "grayscale":
            image = self.ale.getScreenGrayscale()
        else:
            image = self.ale.getRAM()
        return {"image": image, "sound": self.ale.getAudio()} if self.sound_obs else image

    def _info(self) -> Info:
        return {
            "lives": self.ale.lives(),
            "episode_frame_number": self.ale.getEpisodeFrameNumber(),
            "frame_number": self.ale.getFrameNumber(),
        }

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The screen `[height, width, 3] uint8` for "rgb_array"; None for "human".

        The emulator draws with every frame: after `set_state` the screen is the one before, until
        the next step.

        Raises:
            UnsupportedMode: If the environment was made without a render mode.
        """
        if self.render_mode == "human":
            return None
        if self.render_mode == "rgb_array":
            screen: npt.NDArray[np.uint8] = self.ale.getScreenRGB()
            return screen
        name = self.spec.id if self.spec is not None else "ALE/Pong-v5"
        raise error.UnsupportedMode(
            f"render: made without a render mode, use "
            f'gymcore.make("{name}", render_mode="rgb_array") or "human"'
        )

    def get_action_meanings(self) -> list[str]:
        """Return the name of each action, such as "NOOP" and "UPFIRE"."""
        return [action.name for action in self._action_set]

    def get_keys_to_action(self) -> dict[tuple[str, ...], int]:
        """Return the action of each combination of keys: w, a, s, d, space, and e for none.

        Raises:
            NoKeys: If actions are continuous.
        """
        if self.continuous:
            raise NoKeys(
                "`get_keys_to_action` can't be provided for this Atari environment as "
                "`continuous=True`."
            )
        return {
            tuple(key for part, key in _KEYS.items() if part in name) or ("e",): action
            for action, name in enumerate(self.get_action_meanings())
        }

    def clone_state(self, include_rng: bool = False) -> ALEState:
        """Return the state of the emulator, an `ale_py.ALEState`; `get_state` is complete.

        It lacks the action that sticky actions may repeat in the next frame.

        Args:
            include_rng: Whether to include its random generator, which decides on sticky actions.
        """
        return self.ale.cloneState(include_rng=include_rng)

    def restore_state(self, state: ALEState) -> None:
        """Continue from a state of `clone_state`.

        Raises:
            ArgumentTypeError: If `state` is not an `ale_py.ALEState`.
            InvalidArgument: If the state is of another game; this one continues as before.
        """
        if not isinstance(state, load_ale().ALEState):
            raise error.ArgumentTypeError(f"state: expected an ale_py.ALEState, got {state!r}")
        before = self.ale.cloneState(include_rng=True)
        try:
            self.ale.restoreState(state)
        except Exception as problem:
            self.ale.restoreState(before)
            raise error.InvalidArgument(f"state: expected a state of {self._game}") from problem
        self._last_action.follow(self.ale)

    def get_state(self) -> dict[str, Any]:
        """Return everything that determines how the game continues, random generators included.

        Returns:
            A dict of plain values that pickles, some 15 kB; the caller owns it.

        Raises:
            StateNotSupported: If ALE does not restore states of this game.
        """
        check_restored(self._game)
        emulator = self.ale.cloneState(include_rng=True).serialize()
        action, strength = self._last_action.now()
        return {
            **self._identity(),
            "emulator": emulator,
            "checksum": zlib.crc32(emulator),
            "last_action": (action.value, strength),
            "random": self.np_random.bit_generator.state,
        }

    def _identity(self) -> dict[str, object]:
        """Return the arguments that later steps depend on; a state must have equal ones."""
        unimportant = ("obs_type", "render_mode", "sound_obs")
        arguments = {k: v for k, v in self._ezpickle_kwargs.items() if k not in unimportant}
        return {"environment": "AtariEnv", "version": STATE_VERSION, "settings": arguments}

    def check_state(self, state: dict[str, Any]) -> None:
        """Raise what `set_state` raises before it changes anything."""
        if not isinstance(state, dict):
            raise error.ArgumentTypeError(
                f"state: expected what get_state() returned, got {state!r}"
            )
        expected = self._identity()
        if (actual := {name: state.get(name) for name in expected}) != expected:
            raise error.InvalidArgument(f"state: expected one of {expected}, got one of {actual}")
        try:
            action, strength = state["last_action"]
            intact = (
                zlib.crc32(state["emulator"]) == state["checksum"]
                and 0.0 <= strength <= 1.0
                and 0 <= load_ale().Action(action).value < PLAYER_ACTIONS
                and self._frame_position(state["emulator"]) is not None
            )
            drawn_by = type(seeding.bit_generator_of(state["random"]))
        except (KeyError, TypeError, ValueError) as problem:
            raise error.InvalidArgument(f"state: incomplete or invalid ({problem!r})") from problem
        if drawn_by is not type(self.np_random.bit_generator):
            raise error.InvalidArgument(f"state: expected another bit generator, got {drawn_by}")
        if not intact:
            raise error.InvalidArgument("state: its emulator is not as get_state() returned it")

    def _frame_position(self, emulator: bytes | None = None) -> int | None:
        """Return how far a serialized state, by default the current one, is in its frame, or None.

        None means that it cannot be a state of this game. Raise `StateNotSupported` if this version
        of ALE lays out its states in another way.
        """
        now = self.ale.cloneState().serialize()
        try:
            memory = GameMemory(now)
        except ValueError as problem:
            raise error.StateNotSupported(f"ale-py {load_ale().__version__}: {problem}") from None
        if emulator is None:
            return memory.known_position
        return memory.position_of_all(bytes(emulator))

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what `get_state` returned, here or in another environment.

        Frames, rewards and flags are the same from then on, given the same actions. The screen is
        drawn by the next step. After the end of a game the emulator draws nothing: until a reset,
        observations show the screen from before this call. ALE's states do not record where in a
        frame the console is: a state that was saved while the game computed for longer than a
        frame, as tic_tac_toe_3d does, may continue differently.

        Args:
            state: What `get_state` returned; it is not changed.

        Raises:
            ArgumentTypeError: If `state` is not a dict.
            InvalidArgument: If the state is damaged, is of another game or other arguments, or has
                a number that ALE's memory cannot have; the game continues as before.
            StateNotSupported: If this version of ALE lays out its states in another way.
        """
        self.check_state(state)
        ale_py = load_ale()
        emulator = ale_py.ALEState(bytes(state["emulator"]))
        # States do not record whether and where in a frame the console is: it stays there.
        position = self._frame_position(state["emulator"])
        if position != COMPLETE:
            self.ale.reset_game()
        if self._frame_position() != position:
            if position == COMPLETE:
                self.ale.restoreState(emulator)
            self.ale.act(ale_py.Action.NOOP)
        action, strength = state["last_action"]
        self._last_action.restore(self.ale, emulator, (ale_py.Action(action), strength))
        self.np_random.bit_generator.state = state["random"]
        self._np_random_seed = -1

    def __getstate__(self) -> dict[str, object]:
        """Return the arguments, and the state of the game."""
        return {**EzPickle.__getstate__(self), "spec": self.spec, "state": self.get_state()}

    def __setstate__(self, d: dict[str, Any]) -> None:
        """Load the game, and continue it as the original does."""
        EzPickle.__setstate__(self, d)
        self.spec = d["spec"]
        self.set_state(d["state"])


def _checked_frameskip(frameskip: Any) -> int | tuple[int, int]:
    """Return a positive integer, or two in ascending order."""
    is_range = isinstance(frameskip, (tuple, list))
    try:
        frames = [operator.index(each) for each in (frameskip if is_range else [frameskip])]
    except TypeError:
        frames = []
    if len(frames) != 1 + is_range or not 0 < frames[0] < 2**31:
        frames = []
    if not frames or frames != sorted(set(frames)):
        raise error.InvalidArgument(
            "frameskip: expected a positive integer, or a range (low, high) with 0 < low < high, "
            f"got {frameskip!r}"
        )
    return (frames[0], frames[1]) if is_range else frames[0]
