"""FrameStack and LazyFrames."""

from __future__ import annotations

import builtins
import pickle
import sys
from typing import Any

import numpy as np
import pytest

from gymcore import error, spaces
from gymcore.compat.gym26.wrappers import FrameStack, LazyFrames
from gymcore.vector import SyncVectorEnv
from tests.compat.gym26.scripted import Scripted

PICTURES = spaces.Box(0, 255, (84, 84), np.uint8)


class Noise(Scripted):
    """Environment with frames that cannot be compressed."""

    def __init__(self) -> None:
        super().__init__([0.0] * 1000, observation_space=PICTURES)
        self.generator = np.random.default_rng(0)

    def observe(self) -> Any:
        return self.generator.integers(0, 256, (84, 84), np.uint8)


def test_the_first_observation_fills_the_stack() -> None:
    env = FrameStack(Scripted([0.0] * 5), 3)
    stacks = [env.reset()[0]] + [env.step(None)[0] for _ in range(4)]
    assert [np.asarray(stack).ravel().tolist() for stack in stacks] == [
        [0, 0, 0],
        [0, 0, 1],
        [0, 1, 2],
        [1, 2, 3],
        [2, 3, 4],
    ]
    assert np.asarray(env.reset()[0]).ravel().tolist() == [0, 0, 0]


def test_the_space_and_what_is_in_it() -> None:
    env = FrameStack(Scripted(), 4)
    assert env.observation_space == spaces.Box(-100, 100, (4, 1), np.float32)
    stack = np.asarray(env.reset()[0])
    assert stack in env.observation_space
    assert env.secret == "found"  # attributes of inner layers


def test_stacks_share_their_frames() -> None:
    env = FrameStack(Noise(), 4)
    first = env.reset()[0]
    second = env.step(None)[0]
    assert second[0] is first[1]
    assert second[-1] is not first[-1]


@pytest.mark.parametrize("lz4", [False, True])
def test_a_replay_memory_takes_a_quarter_of_stacked_arrays(lz4: bool) -> None:
    if lz4:
        pytest.importorskip("lz4", reason="lz4 is not installed")
    env = FrameStack(Noise(), 4, lz4)
    memory = [env.reset()[0]] + [env.step(None)[0] for _ in range(299)]
    held = {id(frame): frame for stack in memory for frame in stack._frames}
    size = sum(sys.getsizeof(f) if lz4 else f.nbytes for f in held.values())
    size += sum(sys.getsizeof(stack._frames) for stack in memory)
    stacked = sum(np.asarray(stack).nbytes for stack in memory)
    assert stacked == 300 * 4 * 84 * 84
    assert stacked / size > 3.9


def test_compressed_frames_are_the_same_and_smaller() -> None:
    pytest.importorskip("lz4", reason="lz4 is not installed")
    frames = [np.full((84, 84), i, np.uint8) for i in range(3)]
    plain, packed = LazyFrames(frames), LazyFrames(frames, lz4_compress=True)
    assert sum(len(frame._bytes) for frame in packed._frames) < sum(f.nbytes for f in frames) / 50
    np.testing.assert_array_equal(np.asarray(packed), np.asarray(plain))
    np.testing.assert_array_equal(packed[1], frames[1])
    np.testing.assert_array_equal(packed[1:], np.stack(frames[1:]))
    assert packed.shape == plain.shape and packed.dtype == plain.dtype
    env = FrameStack(Noise(), 2, lz4_compress=True)
    env.reset()
    stack = env.step(None)[0]
    np.testing.assert_array_equal(np.asarray(stack), np.stack(env.frames))


def test_lz4_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fail(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("lz4"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(error.DependencyNotInstalled, match="run `pip install lz4`"):
        FrameStack(Scripted(), 2, lz4_compress=True)


def test_lazy_frames_as_arrays() -> None:
    frames = [np.array([1, 2], np.int16), np.array([3, 4], np.int16), np.array([5, 6], np.int16)]
    stack = LazyFrames(frames)
    assert (stack.shape, stack.frame_shape, stack.dtype, len(stack)) == ((3, 2), (2,), np.int16, 3)
    assert np.array(stack).dtype == np.int16
    assert np.asarray(stack, np.float64).dtype == np.float64
    assert stack[0] is frames[0] and stack[np.int64(-1)] is frames[2]
    assert stack[1:].tolist() == [[3, 4], [5, 6]]
    assert stack[3:].shape == (0, 2)
    assert stack[:, 0].tolist() == [1, 3, 5]
    assert [frame.tolist() for frame in stack] == [[1, 2], [3, 4], [5, 6]]
    assert (stack == np.stack(frames)).all() and (np.stack(frames) == stack).all()
    assert (stack == LazyFrames(frames)).all() and not (stack != stack).any()
    assert (stack == 3).tolist() == [[False, False], [True, False], [False, False]]
    assert (pickle.loads(pickle.dumps(stack)) == stack).all()
    assert repr(stack) == "LazyFrames(shape=(3, 2), dtype=int16)"
    again = np.array(stack)
    again[:] = 0
    assert frames[0].tolist() == [1, 2]
    with pytest.raises(ValueError, match="copy"):
        stack.__array__(copy=False)
    with pytest.raises(IndexError):
        stack[3]
    with pytest.raises(error.InvalidArgument, match="frames: expected at least one"):
        LazyFrames([])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_stacks_in_a_batch(mode: str) -> None:
    envs = SyncVectorEnv([lambda: FrameStack(Scripted(), 2)] * 2, autoreset_mode=mode)
    assert envs.reset()[0].tolist() == [[[0], [0]]] * 2
    assert envs.step(np.zeros((2, 2), np.float32))[0].tolist() == [[[0], [1]]] * 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [((0,), error.InvalidArgument), ((-1,), error.InvalidArgument)],
)
def test_wrong_arguments(arguments: Any, problem: type[Exception]) -> None:
    with pytest.raises(problem, match="num_stack: expected at least 1"):
        FrameStack(Scripted(), *arguments)


def test_wrong_spaces_and_order() -> None:
    with pytest.raises(AssertionError, match="expected a Box observation space"):
        FrameStack(Scripted(observation_space=spaces.Discrete(3)), 2)
    with pytest.raises(AssertionError, match="call reset first"):
        FrameStack(Scripted(), 2).observation()
