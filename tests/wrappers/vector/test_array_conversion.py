"""Vector environments used from another array library, in every autoreset mode."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers.array_conversion import array_conversion
from gymcore.wrappers.vector import ArrayConversion, JaxToNumpy, NumpyToTorch
from tests.testing_env import assert_same, make_random_env
from tests.wrappers.lane_by_lane import MODES
from tests.wrappers.test_array_conversion import OtherArray, other


def to_numpy(value: Any) -> Any:
    return array_conversion(value, np)


def make_lanes(mode: AutoresetMode, kind: str = "box") -> SyncVectorEnv:
    env = make_random_env(gymcore)
    return SyncVectorEnv([lambda: env(kind, limit=5)] * 3, autoreset_mode=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["box", "dict", "tuple"])
def test_batches_there_and_back(mode, kind):
    """Arrays are unchanged by two conversions, to the other library and back."""
    plain = make_lanes(mode, kind)
    envs = ArrayConversion(ArrayConversion(make_lanes(mode, kind), np, other), other, np)
    assert envs.observation_space == plain.observation_space
    assert_same(envs.reset(seed=3), to_numpy(plain.reset(seed=3)))
    plain.action_space.seed(3)
    for _ in range(30):
        actions = plain.action_space.sample()
        ours, theirs = envs.step(actions), plain.step(actions)
        assert_same(ours, to_numpy(theirs))
        ended = theirs[2] | theirs[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            options = {"reset_mask": ended}
            assert_same(envs.reset(options=options), to_numpy(plain.reset(options=options)))
            assert options["reset_mask"] is ended


def assert_other(value: Any) -> None:
    """Assert that a value contains no NumPy array except for strings and objects."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = tuple(value)
    if isinstance(value, (tuple, list)):
        for one in value:
            assert_other(one)
    else:
        assert value is None or isinstance(value, (OtherArray, str)) or value.dtype.kind == "U"


@pytest.mark.parametrize("mode", MODES)
def test_everything_is_converted(mode):
    envs = ArrayConversion(make_lanes(mode, "dict"), np, other)
    assert_other(envs.reset(seed=3))
    envs.action_space.seed(3)
    final = 0
    for _ in range(12):
        result = envs.step(array_conversion(envs.action_space.sample(), other))
        assert_other(result)
        final += "final_obs" in result[4]
        ended = to_numpy(result[2]) | to_numpy(result[3])
        if mode is AutoresetMode.DISABLED and ended.any():
            envs.reset(options={"reset_mask": OtherArray(ended)})
    assert (final > 0) == (mode is AutoresetMode.SAME_STEP)


@pytest.mark.parametrize("mode", MODES)
def test_compiled_environments(mode):
    plain = gymcore.make_vec("CartPole-v1", num_envs=4, autoreset_mode=mode)
    inner = gymcore.make_vec("CartPole-v1", num_envs=4, autoreset_mode=mode)
    envs = ArrayConversion(inner, np, other)
    assert_same(to_numpy(envs.reset(seed=3)), to_numpy(plain.reset(seed=3)))
    kept = []
    for _ in range(40):
        actions = np.ones(4, np.int64)
        ours, theirs = envs.step(OtherArray(actions)), plain.step(actions)
        kept.append((ours, theirs))
        ended = theirs[2] | theirs[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            options = {"reset_mask": ended}
            envs.reset(options=options)
            plain.reset(options=options)
    for ours, theirs in kept:
        assert_same(to_numpy(ours[:4]), theirs[:4])
        assert_same(to_numpy(ours[4]), to_numpy(theirs[4]))


def test_what_a_capsule_holds_is_not_recycled():
    """A compiled engine recycles arrays without references; the other library's array is one."""
    envs = ArrayConversion(gymcore.make_vec("CartPole-v1", num_envs=64), np, other)
    envs.reset(seed=1)
    actions = OtherArray(np.zeros(64, np.int64))
    results = [envs.step(actions)[0] for _ in range(10)]
    copies = [result.array.copy() for result in results]
    gc.collect()
    for _ in range(30):
        envs.step(actions)
    for result, copy in zip(results, copies, strict=True):
        np.testing.assert_array_equal(result.array, copy)


def test_tensors_are_not_recycled():
    torch = pytest.importorskip("torch")
    envs = NumpyToTorch(gymcore.make_vec("CartPole-v1", num_envs=64), device="cpu")
    assert envs.device == "cpu"
    envs.reset(seed=1)
    actions = torch.zeros(64, dtype=torch.int64)
    results = [envs.step(actions)[0] for _ in range(10)]
    views = [result[:, 1:] for result in results]
    copies = [view.clone() for view in views]
    pointers = {result.data_ptr() for result in results}
    assert len(pointers) == 10
    del results
    gc.collect()
    for _ in range(30):
        envs.step(actions)
    for view, copy in zip(views, copies, strict=True):
        assert torch.equal(view, copy)


@pytest.mark.parametrize("mode", MODES)
def test_torch_from_compiled_and_python_environments(mode):
    torch = pytest.importorskip("torch")
    for vectorization_mode in ("sync", "vector_entry_point"):
        envs = NumpyToTorch(
            gymcore.make_vec(
                "CartPole-v1",
                num_envs=3,
                vectorization_mode=vectorization_mode,
                vector_kwargs={"autoreset_mode": mode},
            )
        )
        observations, _ = envs.reset(seed=1)
        assert isinstance(observations, torch.Tensor) and observations.dtype == torch.float32
        for _ in range(30):
            *arrays, infos = envs.step(torch.ones(3, dtype=torch.int64))
            assert all(isinstance(array, torch.Tensor) for array in arrays)
            ended = arrays[2] | arrays[3]
            if ended.any() and mode is AutoresetMode.SAME_STEP:
                last = infos["final_obs"]
                lanes = ended.nonzero()[:, 0].tolist()
                assert all(isinstance(last[i], torch.Tensor) for i in lanes)
                assert (infos["_final_obs"] == ended).all()
            if ended.any() and mode is AutoresetMode.DISABLED:
                envs.reset(options={"reset_mask": ended})
        envs.close()


def test_jax_batches():
    jnp = pytest.importorskip("jax.numpy")

    class JaxEnvs(gymcore.vector.VectorEnv):
        num_envs = 2

        def reset(self, *, seed=None, options=None):
            return jnp.zeros((2, 3)), {}

        def step(self, actions):
            assert isinstance(actions, jnp.ndarray)
            return jnp.ones((2, 3)), jnp.zeros(2), jnp.zeros(2, bool), jnp.zeros(2, bool), {}

    envs = JaxToNumpy(JaxEnvs())
    assert_same(envs.reset()[0], np.zeros((2, 3), np.float32))
    assert [array.dtype.name for array in envs.step(np.zeros(2, np.int32))[:4]] == [
        *("float32", "float32", "bool", "bool")
    ]


def test_wrong_arguments():
    with pytest.raises(error.ArgumentTypeError, match="VectorEnv"):
        ArrayConversion(gymcore.make("CartPole-v1"), np, other)
    with pytest.raises(error.InvalidArgument, match="not an Array API compatible module"):
        ArrayConversion(gymcore.make_vec("CartPole-v1", num_envs=2), np, gymcore)
