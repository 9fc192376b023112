"""Arrays of every dtype, layout and rank for every entry point that takes arrays."""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gymcore as gym
from gymcore.interop.gymnasium import to_gymnasium
from gymcore.learn import compute_advantages
from gymcore_ext import arrays, rollouts, spaces
from gymcore_ext.engine.batch import Batch
from gymcore_ext.physics import cartpole
from gymcore_ext.wrappers import statistics
from gymcore_ext.wrappers.frame_stack import BEGIN, FrameMemory
from tests.hostile.programs import spec_of

pytestmark = [pytest.mark.hostile, pytest.mark.filterwarnings("ignore")]

Array = npt.NDArray[Any]

# Exceptions that a call may raise for an array that it cannot take.
REFUSALS = (gym.error.Error, TypeError, ValueError, OverflowError, IndexError)

DTYPES = (
    *("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g", "c8", "c16"),
    *("O", "S3", "U2", "M8[s]", "m8[s]", "V5"),
)


def misaligned(array: Array) -> Array:
    """Return the same values at an address one byte past an aligned one."""
    if array.dtype.hasobject:
        return array
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
    result: Array = memory[: array.nbytes].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


def strided(array: Array) -> Array:
    wide = np.repeat(np.atleast_1d(array), 2, axis=-1)
    return wide[..., ::2]


def read_only(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array


def with_wild_values(rng: np.random.Generator, array: Array) -> Array:
    if array.dtype.kind not in "iuf" or not array.size:
        return array
    array = array.copy()
    wild: list[Any] = [np.nan, np.inf, -1e308]
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        wild = [limits.min, limits.max, 7]
    array.reshape(-1)[rng.integers(array.size)] = wild[rng.integers(3)]
    return array


def recast(rng: np.random.Generator, array: Array) -> Array:
    try:
        return array.astype(DTYPES[rng.integers(len(DTYPES))])
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: times whose text is too long
        return array


CHANGES: tuple[Callable[[np.random.Generator, Array], Any], ...] = (
    recast,
    lambda rng, a: misaligned(a),
    lambda rng, a: strided(a),
    lambda rng, a: a[::-1] if a.ndim else a,
    lambda rng, a: np.asfortranarray(a),
    lambda rng, a: a.T,
    lambda rng, a: np.broadcast_to(a.reshape(-1)[:1], a.shape) if a.size else a,
    lambda rng, a: a.astype(a.dtype.newbyteorder()) if not a.dtype.hasobject else a,
    # Not for strings: NumPy cannot print an invalid code point in a message.
    lambda rng, a: (
        a if a.dtype.hasobject or a.dtype.kind == "U" else a.view(a.dtype.newbyteorder())
    ),
    lambda rng, a: a[..., None],
    lambda rng, a: a[None],
    lambda rng, a: a[0] if a.ndim and len(a) else a,
    lambda rng, a: a[:-1] if a.ndim else a,
    lambda rng, a: a[:0] if a.ndim else a,
    lambda rng, a: np.concatenate([a, a]) if a.ndim else a,
    lambda rng, a: read_only(a),
    with_wild_values,
    lambda rng, a: np.ma.masked_array(a),
    lambda rng, a: a.reshape((*a.shape, *[1] * (20 - a.ndim))),
)
OTHERS: tuple[Any, ...] = (None, 1, -1.5, "text", b"", [], [[1], [2, 3]], {}, object(), np.array(3))


def hostile(rng: np.random.Generator, valid: Any) -> Any:
    """Return an argument near a valid one, changed in one to three ways, or quite another one."""
    if rng.random() < 0.3:
        return valid
    if rng.random() < 0.05:
        return OTHERS[rng.integers(len(OTHERS))]
    if isinstance(valid, tuple):
        return tuple(hostile(rng, part) for part in valid)
    result = np.asarray(valid)
    for _ in range(rng.integers(1, 4)):
        change = CHANGES[rng.integers(len(CHANGES))]
        with contextlib.suppress(AttributeError):  # a masked record, which NumPy cannot copy
            result = np.asanyarray(change(rng, result))
    if rng.random() < 0.1:
        return result.tolist()
    return result


def shared(rng: np.random.Generator, outputs: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs, some of which occasionally share memory."""
    if rng.random() < 0.7:
        return outputs
    memory = np.zeros(1 << 16, np.uint8)
    moved = {}
    for name, array in outputs.items():
        if not isinstance(array, np.ndarray) or array.dtype.hasobject or array.nbytes > 1 << 15:
            moved[name] = array
            continue
        at = int(rng.integers(0, 4096))
        moved[name] = memory[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
    return moved


NATIVE = (
    "CartPole-v1",
    "Pendulum-v1",
    "Blackjack-v1",
    "FrozenLake-v1",
    "Taxi-v4",
    "HalfCheetah-v5",
    "LunarLander-v3",
    "BipedalWalker-v3",
    "CarRacing-v3",
    "Pong",
    "Everything",
    "Arm",
)
LANES = 3


def attack_native(envs: Any, rng: np.random.Generator) -> None:
    """Call one entry point with hostile arrays."""
    choice = rng.integers(10)
    actions = hostile(rng, envs.action_space.sample())
    if choice == 0:
        envs.step(actions)
    elif choice == 1:
        envs.step(actions, hostile(rng, np.arange(LANES)))
    elif choice == 2:
        envs.send(actions, hostile(rng, np.arange(LANES)))
        envs.recv()
    elif choice in (3, 4, 9):
        steps = int(rng.integers(1, 4))
        lead: tuple[int, ...] = (steps, LANES) if choice == 4 else (LANES,)
        outputs = {
            "observations": envs._batch.empty_observations(lead),
            "rewards": np.empty(lead),
            "terminated": np.empty(lead, bool),
            "truncated": np.empty(lead, bool),
            "actions": np.array(
                np.broadcast_to(envs.action_space.sample(), (*lead[:-1], *envs.action_space.shape))
            ),
        }
        if rng.random() < 0.7:
            name = list(outputs)[rng.integers(len(outputs))]
            outputs[name] = hostile(rng, outputs[name])
        outputs = shared(rng, outputs)
        if choice == 9:
            step = envs.bind_step(**outputs)
            if isinstance(outputs["observations"], dict):
                outputs["observations"].clear()  # the step keeps references to its arrays
            outputs.clear()
            step()
        else:
            (envs.step_into if choice == 3 else envs.rollout)(**outputs)
    elif choice == 5:
        envs.reset(options={"reset_mask": hostile(rng, np.array([True, False, True]))})
    elif choice == 6:
        envs.set_state(hostile(rng, envs.get_state()), hostile(rng, np.arange(LANES)))
    elif choice == 7:
        envs.end_episodes(hostile(rng, np.zeros(LANES, bool)))
    else:
        envs.reset(seed=hostile(rng, np.arange(LANES)))


def attack_python(envs: Any, rng: np.random.Generator) -> None:
    choice = rng.integers(4)
    if choice == 1 and not hasattr(envs, "send"):
        choice = 0
    actions = hostile(rng, envs.action_space.sample())
    if choice == 0:
        envs.step(actions)
    elif choice == 1:
        envs.send(actions, hostile(rng, np.arange(LANES)))
        envs.recv()
    elif choice == 2:
        envs.reset(options={"reset_mask": hostile(rng, np.array([True, False, True]))})
    else:
        envs.reset(seed=hostile(rng, np.arange(LANES)))


def attack_until_the_end(
    envs: Any,
    attack: Callable[[Any, np.random.Generator], None],
    rng: np.random.Generator,
    rounds: Iterator[int],
) -> None:
    envs.action_space.seed(1)
    envs.reset(seed=1)
    for number in rounds:
        with contextlib.suppress(*REFUSALS):
            attack(envs, rng)
        if number % 50 == 0:
            envs.reset(seed=number)
            envs.step(envs.action_space.sample())
    envs.reset(seed=1)
    envs.step(envs.action_space.sample())
    envs.close()


@pytest.mark.parametrize("env_id", NATIVE)
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_native(env_id: str, mode: str, rng: np.random.Generator, rounds: Iterator[int]) -> None:
    envs = gym.make_vec(spec_of(env_id), num_envs=LANES, vector_kwargs={"autoreset_mode": mode})
    attack_until_the_end(envs, attack_native, rng, rounds)


@pytest.mark.parametrize("env_id", NATIVE)
def test_one_environment(env_id: str, rng: np.random.Generator, rounds: Iterator[int]) -> None:
    env: Any = gym.make(spec_of(env_id), disable_env_checker=True).unwrapped
    env.reset(seed=1)
    for number in rounds:
        with contextlib.suppress(*REFUSALS):
            env.step(hostile(rng, np.asarray(env.action_space.sample())))
        with contextlib.suppress(*REFUSALS):
            env.set_state(hostile(rng, env.get_state()))
        if env_id != "CarRacing-v3":  # its state includes an image, which cannot be set
            with contextlib.suppress(*REFUSALS):
                env.state = hostile(rng, env.state)
        if number % 50 == 0:
            env.reset(seed=number)
    env.reset(seed=1)
    env.step(env.action_space.sample())
    env.close()


@pytest.mark.parametrize(
    ("env_id", "vectorization_mode"),
    [
        *itertools.product(("CartPole-v1", "Pendulum-v1", "Blackjack-v1"), ("sync", "async")),
        ("ArrayCartPole", "vector_entry_point"),
        ("CartPole-v1", "gymnasium"),
    ],
)
def test_python_environments(
    env_id: str, vectorization_mode: str, rng: np.random.Generator, rounds: Iterator[int]
) -> None:
    mode = "vector_entry_point" if vectorization_mode == "gymnasium" else vectorization_mode
    envs: Any = gym.make_vec(spec_of(env_id), num_envs=LANES, vectorization_mode=mode)
    if vectorization_mode == "gymnasium":
        envs = to_gymnasium(envs)
    attack_until_the_end(envs, attack_python, rng, rounds)


def test_rollouts(rng: np.random.Generator, rounds: Iterator[int]) -> None:
    """Compute advantages of hostile arrays, and store policy outputs in hostile rows."""
    flags = np.zeros((4, LANES), bool)
    given = {
        "rewards": np.ones((4, LANES)),
        "values": np.ones((5, LANES), np.float32),
        "terminated": flags,
        "truncated": flags,
        "final_values": np.ones((4, LANES), np.float32),
        "reset_steps": flags,
    }
    rows = tuple(np.ones(LANES, dtype) for dtype in (np.int64, np.float32, np.float32))
    for _ in rounds:
        with contextlib.suppress(*REFUSALS):
            changed = {name: hostile(rng, array) for name, array in given.items()}
            compute_advantages(**changed, gamma=0.99, gae_lambda=0.95)
        with contextlib.suppress(*REFUSALS):
            outputs = tuple(hostile(rng, row) for row in rows)
            rollouts.store(tuple(hostile(rng, row) for row in rows), outputs)


def test_arrays_of_spaces(rng: np.random.Generator, rounds: Iterator[int]) -> None:
    valid = np.arange(6, dtype=np.float32).reshape(2, 3)
    box = gym.spaces.Box(-1.0, 7.0, (2, 3))
    boxes = gym.vector.utils.batch_space(box, 3)
    calls: tuple[Callable[[], object], ...] = (
        lambda: spaces.repeat(hostile(rng, valid), int(rng.integers(-1, 4))),
        lambda: spaces.identical(hostile(rng, valid), hostile(rng, valid)),
        lambda: arrays.are_lanes(hostile(rng, np.arange(4)), int(rng.integers(-1, 6))),
        lambda: hostile(rng, valid) in box,
        lambda: gym.spaces.Box(hostile(rng, valid), hostile(rng, valid)),
        lambda: gym.spaces.MultiDiscrete(hostile(rng, np.array([2, 3]))),
        lambda: list(gym.vector.utils.iterate(boxes, hostile(rng, np.stack([valid] * 3)))),
        lambda: gym.vector.utils.concatenate(
            box, [hostile(rng, valid) for _ in range(3)], hostile(rng, np.stack([valid] * 3))
        ),
        lambda: gym.spaces.flatten(box, hostile(rng, valid)),
    )
    for number in rounds:
        with contextlib.suppress(*REFUSALS, AssertionError, NotImplementedError):
            calls[number % len(calls)]()


def test_parameters_and_lanes_of_a_batch(rng: np.random.Generator, rounds: Iterator[int]) -> None:
    batch = Batch(cartpole.kernel, LANES, errors=gym.error)
    batch.seed(1, 0, LANES)
    batch.reset()
    parameters = batch.get_parameters()
    calls: tuple[Callable[[], object], ...] = (
        lambda: batch.set_parameters(hostile(rng, parameters)),
        lambda: batch.set_parameters(hostile(rng, np.repeat(parameters, LANES, axis=1))),
        lambda: batch.step_subset(
            hostile(rng, np.zeros(LANES, np.int64)), hostile(rng, np.arange(LANES))
        ),
        lambda: batch.reset(hostile(rng, np.array([True, False, True]))),
        lambda: batch.step_single(hostile(rng, np.array(1))),
        lambda: batch.step_single_array(hostile(rng, np.array(1))),
    )
    for number in rounds:
        with contextlib.suppress(*REFUSALS, AttributeError):
            calls[number % len(calls)]()


def test_frames(rng: np.random.Generator, rounds: Iterator[int]) -> None:
    """Stacks have the requested size, whatever was passed before."""
    memory = FrameMemory(LANES, 2, (3,), np.float32, errors=gym.error)
    observations, oldest = np.ones((LANES, 3), np.float32), False
    for number in rounds:
        with contextlib.suppress(*REFUSALS, MemoryError):
            if number % 20 == 0:
                only_oldest = bool(rng.integers(2))
                memory = FrameMemory(
                    LANES,
                    int(rng.integers(-1, 5)),
                    (3,),
                    DTYPES[rng.integers(len(DTYPES))],
                    padding=hostile(rng, np.zeros(3)) if number % 40 else None,
                    oldest=only_oldest,
                    errors=gym.error,
                )
                oldest = only_oldest
            changes = rng.integers(0, 5, LANES).astype(np.uint8)
            given = shared(
                rng, {"rows": hostile(rng, observations), "changes": hostile(rng, changes)}
            )
            lanes = hostile(rng, rng.integers(-1, 4, LANES)) if number % 3 else None
            memory.update(given["rows"], given["changes"], lanes)
        stacks = memory.update(observations, np.full(LANES, BEGIN, np.uint8))
        assert oldest or (stacks[:, -1] == 1).all()
        memory = copy.deepcopy(memory)


def attack_statistics(rng: np.random.Generator) -> None:
    """Make one call with hostile arrays, some of which may share memory."""
    flag = lambda: hostile(rng, rng.random(LANES) < 0.3)  # noqa: E731
    given = {
        "returns": np.zeros(LANES),
        "lengths": np.zeros(LANES, np.int64),
        "starts": np.zeros(LANES),
        "ended": np.zeros(LANES, bool),
        "totals": np.zeros(LANES, np.float32),
        "rewards": hostile(rng, rng.normal(size=LANES)),
    }
    if rng.random() < 0.7:
        name = list(given)[rng.integers(len(given))]
        given[name] = hostile(rng, given[name])
    given = shared(rng, given)
    modes = rng.integers(2, size=3) > 0
    numbers = rng.normal(size=5) * 10.0 ** rng.integers(-300, 300, 5)
    choice = rng.integers(3)
    if choice == 0:
        state = [given[name] for name in ("returns", "lengths", "starts", "ended", "rewards")]
        state.insert(4, ([], [], []))
        statistics.count_episodes(*state, flag(), flag(), numbers[0], *modes[:2])
    elif choice == 1:
        state = [given[name] for name in ("totals", "ended", "rewards")]
        statistics.normalize_rewards(*state, flag(), flag(), *numbers, *modes)
    else:
        shape = tuple(rng.integers(0, 4, rng.integers(0, 4)))
        dtype = (np.float32, np.float64)[rng.integers(2)]
        shapes = ((LANES, *shape), shape, shape)
        arrays = [hostile(rng, np.ones(each, dtype)) for each in shapes]
        # Compare text, not bytes: the padding bytes of a long double are undefined.
        before = [repr(np.array(array).tolist()) for array in arrays]
        statistics.normalize_observations(*arrays, *numbers[:2], modes[0])
        assert [repr(np.array(array).tolist()) for array in arrays] == before


def test_statistics(rng: np.random.Generator, rounds: Iterator[int]) -> None:
    for _ in rounds:
        with contextlib.suppress(*REFUSALS, AttributeError):
            attack_statistics(rng)


def test_operations_of_mujocos_programs(rng: np.random.Generator, rounds: Iterator[int]) -> None:
    """A program that is accepted stays within its arrays, whatever it computes."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    from gymcore_ext.mujoco.simulations import Simulations
    from tests.envs.mujoco.hanging import HangingEnv

    env = HangingEnv()
    arguments = {"models": [env.model], "datas": [env.data], "frame_skip": 1}
    arguments["signature"] = int(mujoco.mjtState.mjSTATE_INTEGRATION)
    accepted = 0
    for _ in rounds:
        programs = {phase: table.copy() for phase, table in env._program.programs.items()}
        tables = [table for table in programs.values() if len(table)]
        for _ in range(rng.integers(1, 4)):
            table = tables[rng.integers(len(tables))]
            numbers = table.view(np.int32)
            place = rng.integers(len(numbers))
            numbers[place] = rng.integers(-2, 40) if rng.random() < 0.9 else rng.integers(1 << 31)
        with contextlib.suppress(ValueError):
            program = SimpleNamespace(**vars(env._program) | {"programs": programs})
            lanes = Simulations(program, **arguments, on_fault=lambda *fault: None)
            batch = Batch(lanes.kernel, 1, store=lanes, errors=gym.error)
            batch.seed(1, 0, 1)
            batch.reset()
            batch.step(np.ones((1, 1), (np.float32, np.float64)[rng.integers(2)]))
            accepted += 1
    assert accepted
