"""ALE as it is installed: the C++ functions of ale-py that compiled code calls, and its games."""

from __future__ import annotations

import ctypes
import dataclasses
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.envs.atari.atari_env import choose_mode, load_ale
from gymcore.envs.atari.last_action import seeded
from gymcore.envs.atari.memory import GameMemory
from gymcore_ext.atari.games import STATE_BYTES, SYMBOLS

if TYPE_CHECKING:
    from ale_py import ALEInterface, ALEState

TESTED = "0.12.1"

# Flags of an object of nanobind: it is ready (2), and holds its C++ object itself (4).
_FLAGS, _READY_AND_DIRECT = 0b111, 0b110

# Where an ALEState has the memory of its emulator, a std::string.
_MEMORY_OFFSET = 24

# Actions with which the functions are tested.
_TRIED = (1, 3, 0, 4, 1)


class _State(ctypes.Structure):
    """ALE's C++ class ALEState."""

    _fields_ = (("bytes", ctypes.c_uint8 * STATE_BYTES),)


# Argument and result types of SYMBOLS, to call them from Python.
_TYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "act": (ctypes.c_int, (ctypes.c_int, ctypes.c_float)),
    "reset_game": (None, ()),
    "lives": (ctypes.c_int, ()),
    "frame_number": (ctypes.c_int, ()),
    "episode_frame_number": (ctypes.c_int, ()),
    "game_over": (ctypes.c_bool, (ctypes.c_int,)),
    "game_truncated": (ctypes.c_bool, ()),
    "screen": (ctypes.c_void_p, ()),
    "clone": (_State, (ctypes.c_int,)),
    "restore": (None, (ctypes.c_void_p,)),
    "free": (None, ()),
}


class _Screen(ctypes.Structure):
    """The head of ALE's C++ class ALEScreen."""

    _fields_ = (
        ("rows", ctypes.c_int),
        ("columns", ctypes.c_int),
        ("pixels", ctypes.POINTER(ctypes.c_uint8)),
    )


def unusable(reason: str) -> error.DependencyNotInstalled:
    """Return the error for an ale-py whose C++ functions cannot be called."""
    version = getattr(load_ale(), "__version__", "of an unknown version")
    return error.DependencyNotInstalled(
        f"compiled batches of Atari games cannot use ale-py {version} as it is installed: {reason}."
        f" They are tested with ale-py {TESTED} on Linux; vectorization_mode='async' works with "
        "every version"
    )


def address_of(ale: ALEInterface | ALEState) -> int:
    """Return where the C++ object of an object of ale-py is.

    Raises:
        DependencyNotInstalled: If ale-py lays out its objects in another way.
    """
    kind, head = type(ale), object.__basicsize__
    # After the head of a Python object: the offset of the C++ object, int32, and flags.
    if not type(kind).__name__.startswith("nb_type") or kind.__basicsize__ < head + 16:
        raise unusable("its objects are not nanobind objects")
    offset = ctypes.c_int32.from_address(id(ale) + head).value
    flags = ctypes.c_uint32.from_address(id(ale) + head + 4).value
    if flags & _FLAGS != _READY_AND_DIRECT or not head + 8 <= offset < kind.__basicsize__:
        raise unusable(f"{kind.__name__} has another memory layout ({offset}, {flags:#x})")
    return id(ale) + offset


@cache
def state_offset() -> int:
    """Return where in an `ALEState` its C++ object is, which must be laid out as expected.

    Raises:
        DependencyNotInstalled: If it is laid out in another way.
    """
    state = load_ale().ALEState()
    address = address_of(state)
    offset = address - id(state)
    if type(state).__basicsize__ - offset != STATE_BYTES:
        raise unusable(f"an ALEState has {type(state).__basicsize__ - offset} bytes")
    # An empty std::string of libstdc++: the address of the bytes that it holds itself, and 0.
    text, size = (ctypes.c_uint64 * 2).from_address(address + _MEMORY_OFFSET)
    if (text, size) != (address + _MEMORY_OFFSET + 16, 0):
        raise unusable("the memory of an ALEState is not where it is expected")
    return offset


@cache
def library_functions() -> dict[str, int]:
    """Return the addresses of ALE's C++ functions by their names in SYMBOLS; not tested yet.

    Raises:
        DependencyNotInstalled: If ale-py is not installed, or lacks one of the functions.
    """
    ale_py = load_ale()
    library = ctypes.CDLL(ale_py._ale_py.__file__)
    addresses = {}
    for name, symbol in SYMBOLS.items():
        # The program and preloaded libraries come first, as for the dynamic linker: a preloaded
        # allocator replaces `operator delete`.
        owner = next((o for o in (ctypes.pythonapi, library) if hasattr(o, symbol)), None)
        if owner is None:
            raise unusable(f"it has no {symbol}")
        addresses[name] = ctypes.cast(getattr(owner, symbol), ctypes.c_void_p).value or 0
    return addresses


def _function(addresses: dict[str, int], name: str) -> Any:
    """Return one of the functions for calls from Python."""
    result, arguments = _TYPES[name]
    return ctypes.CFUNCTYPE(result, ctypes.c_void_p, *arguments)(addresses[name])


def screen_of(addresses: dict[str, int], ale: ALEInterface) -> npt.NDArray[np.uint8]:
    """Return the screen [rows, columns] of a loaded game: ALE's own memory, in colors."""
    screen = _Screen.from_address(_function(addresses, "screen")(address_of(ale)))
    size = (screen.rows, screen.columns)
    if size != tuple(ale.getScreenDims()):
        raise unusable(f"a screen of {ale.getScreenDims()} reports the size {size}")
    return np.ctypeslib.as_array(screen.pixels, size)


def try_functions(addresses: dict[str, int], ale: ALEInterface) -> None:
    """Play the same frames with ale-py and with the functions; raise if results differ."""
    call, address = {name: _function(addresses, name) for name in SYMBOLS}, address_of(ale)
    begun = ale.cloneState(include_rng=True)  # numbers drawn in a reset may change the game
    ale.reset_game()
    expected: list[object] = []
    for action in _TRIED:
        reward = int(ale.act(action, 1.0))
        expected.append((reward, ale.lives(), ale.getFrameNumber(), ale.getEpisodeFrameNumber()))
        over = ale.game_over(), ale.game_truncated()
        expected.append((*over, bytes(ale.getRAM()), ale.getScreen().tobytes()))
    ale.restoreState(begun)
    call["reset_game"](address)
    results: list[object] = []
    for action in _TRIED:
        numbers = [call["act"](address, action, 1.0)]
        numbers += [call[name](address) for name in ("lives", "frame_number")]
        results.append((*numbers, call["episode_frame_number"](address)))
        over = call["game_over"](address, 1), call["game_truncated"](address)
        results.append((*over, bytes(ale.getRAM()), screen_of(addresses, ale).tobytes()))
    ale_py = load_ale()
    state = ale_py.ALEState()
    cloned = call["clone"](address, 0)
    ctypes.memmove(id(state) + state_offset(), ctypes.byref(cloned), STATE_BYTES)
    results.append(state.serialize())
    expected.append(ale.cloneState().serialize())
    call["restore"](address, address_of(begun))
    results.append(ale.cloneState().serialize())
    ale.restoreState(begun)
    expected.append(ale.cloneState().serialize())
    if results != expected:
        raise unusable("its functions and ale-py play a game differently")


def open_game(
    path: str,
    game: str,
    mode: int | None = None,
    difficulty: int | None = None,
    frame_limit: int = 0,
) -> ALEInterface:
    """Return an `ALEInterface` with a ROM, without sticky actions.

    Raises:
        InvalidArgument: If the game has no such mode or difficulty.
    """
    ale: ALEInterface = load_ale().ALEInterface()
    ale.setInt("max_num_frames_per_episode", frame_limit)
    load_game(path, game, mode, difficulty, ale, 0.0, 0)
    return ale


def load_game(
    path: str,
    game: str,
    mode: int | None,
    difficulty: int | None,
    ale: ALEInterface,
    repeat_action_probability: float,
    seed: int,
) -> None:
    """Load a ROM into an `ALEInterface`, with sticky actions and the seed of their generator.

    Raises:
        InvalidArgument: If the game has no such mode or difficulty.
    """
    ale.setFloat("repeat_action_probability", repeat_action_probability)
    ale.setInt("random_seed", int(np.uint32(seed).astype(np.int32)))
    ale.loadROM(path)
    ale.setFloat("repeat_action_probability", 0.0)  # a program may load another ROM
    choose_mode(ale, game, mode, difficulty)


@dataclasses.dataclass(frozen=True)
class Cartridge:
    """Properties of a game, read from its loaded ROM.

    Attributes:
        screen: Rows and columns.
        minimal: ALE's numbers of the actions that do something.
        legal: ALE's numbers of all actions.
        gray: Luminance of each palette entry, uint8 [1, 256].
        colors: Red, green and blue of each palette entry, uint8 [3, 256].
        first_state: The serialized state in which the ROM was loaded.
        memory: What states of the game may contain.
        resets_draw: Whether ALE draws numbers when it resets the game.
    """

    screen: tuple[int, int]
    minimal: tuple[int, ...]
    legal: tuple[int, ...]
    gray: npt.NDArray[np.uint8]
    colors: npt.NDArray[np.uint8]
    first_state: bytes
    memory: GameMemory
    resets_draw: bool


@cache
def cartridge(path: str, game: str, mode: int | None, difficulty: int | None) -> Cartridge:
    """Load a ROM, and read the properties of its game.

    Raises:
        InvalidArgument: If the game has no such mode or difficulty.
        DependencyNotInstalled: If ale-py cannot be used.
    """
    ale = open_game(path, game, mode, difficulty)
    first_state = ale.cloneState().serialize()
    try_functions(library_functions(), ale)
    try:
        memory = GameMemory(first_state)
    except ValueError as problem:
        raise unusable(str(problem)) from None
    ale.reset_game()
    begun = ale.cloneState(include_rng=True).serialize()
    screen = screen_of(library_functions(), ale)
    # Put every color on the screen, and read ale-py's values for it.
    screen.reshape(-1)[:256] = np.arange(256)
    gray = ale.getScreenGrayscale().reshape(-1)[:256]
    colors = ale.getScreenRGB().reshape(-1, 3)[:256]
    return Cartridge(
        screen=(int(screen.shape[0]), int(screen.shape[1])),
        minimal=tuple(int(action.value) for action in ale.getMinimalActionSet()),
        legal=tuple(int(action.value) for action in ale.getLegalActionSet()),
        gray=gray[None].copy(),
        colors=np.ascontiguousarray(colors.T),
        first_state=first_state,
        memory=memory,
        resets_draw=seeded(begun, 0) != begun,
    )
