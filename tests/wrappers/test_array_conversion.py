"""Values and environments converted from one array library to another."""

from __future__ import annotations

import collections
import importlib
import json
import pickle
import types
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.envs.registration import EnvSpec
from gymcore.wrappers import ArrayConversion, JaxToNumpy, JaxToTorch, NumpyToTorch
from gymcore.wrappers.array_conversion import (
    array_conversion,
    module_name_to_namespace,
    module_namespace,
)
from tests.testing_env import assert_same
from tests.wrappers.walk_env import make_walk_env

Pair = collections.namedtuple("Pair", "x y")


class OtherArray:
    """Another library's array: a NumPy array that offers only DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def make_other() -> types.ModuleType:
    """Return the other library."""
    module = types.ModuleType("other_arrays")
    module.OtherArray = OtherArray
    module.asarray = lambda value, device=None: OtherArray(value)
    module.from_dlpack = lambda value: OtherArray(np.from_dlpack(value))
    return module


other = make_other()


@pytest.fixture(params=["other", "torch", "jax.numpy", "array_api_strict"])
def xp(request):
    """Return an array library that is not NumPy."""
    if request.param == "other":
        return other
    return pytest.importorskip(request.param)


def to_numpy(value: Any) -> Any:
    return array_conversion(value, np)


NUMBERS = (1, 1.5, True, np.float32(2), np.int64(3), np.bool_(True))
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_there_and_back(xp, dtype):
    if xp.__name__ == "jax.numpy" and dtype.endswith("64"):
        pytest.skip("jax has 32 bits unless told otherwise")
    array = np.arange(6).reshape(2, 3).astype(dtype)
    there = array_conversion(array, xp)
    assert type(there) is not np.ndarray
    assert_same(to_numpy(there), array)


def test_numbers_become_arrays(xp):
    for number in NUMBERS:
        back = to_numpy(array_conversion(number, xp))
        assert back.shape == () and back == number
    assert to_numpy(array_conversion(np.float32(2), xp)).dtype == np.float32
    assert to_numpy(array_conversion(np.bool_(True), xp)).dtype == np.bool_
    assert_same(to_numpy(3), np.array(3))


def test_nested_values_keep_their_types(xp):
    ones = np.ones(2, np.float32)
    value = {
        "list": [ones, ones],
        "tuple": (ones, "text", None, b"bytes"),
        "pair": Pair(ones, {"deep": ones}),
        "ordered": collections.OrderedDict(b=ones, a=ones),
        "graph": gymcore.spaces.GraphInstance(np.ones((1, 1), np.float32), None, None),
    }
    there = array_conversion(value, xp)
    kinds = [type(there[key]) for key in value]
    assert kinds == [type(one) for one in value.values()]
    assert there["tuple"][1:] == ("text", None, b"bytes")
    assert type(there["pair"].y["deep"]) is type(array_conversion(ones, xp)) is not np.ndarray
    assert_same(to_numpy(there), value)
    assert value["list"][0] is ones


@pytest.mark.parametrize("array", ["backwards", "big-endian", "read-only", "sliced", "empty"])
def test_memory_that_other_libraries_cannot_use(xp, array):
    base = np.arange(6, dtype=np.float32)
    value = {
        "backwards": base[::-1],
        "big-endian": base.astype(">f4"),
        "read-only": base,
        "sliced": base.reshape(2, 3)[:, ::2],
        "empty": base[:0],
    }[array]
    if array == "read-only":
        value.flags.writeable = False
    there = array_conversion(value, xp)
    back = to_numpy(there)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, value)


def test_memory_is_shared_where_it_can_be():
    array = np.zeros(3)
    there = array_conversion(array, other)
    assert np.shares_memory(there.array, array)
    assert np.shares_memory(to_numpy(there), array)
    assert array_conversion(array, np) is array


def test_memory_is_shared_with_torch():
    torch = pytest.importorskip("torch")
    array = np.zeros((2, 3))
    there = array_conversion(array, torch)
    assert there.data_ptr() == array.ctypes.data
    assert np.shares_memory(to_numpy(there), array)
    assert array_conversion(there, torch) is there

    read_only = np.zeros(2)
    read_only.flags.writeable = False
    array_conversion(read_only, torch)[0] = 7
    assert read_only[0] == 0


def test_tensors_that_numpy_lacks():
    torch = pytest.importorskip("torch")
    assert_same(to_numpy(torch.ones(2, requires_grad=True)), np.ones(2, np.float32))
    assert_same(to_numpy(torch.ones(2, dtype=torch.bfloat16)), np.ones(2, np.float32))
    assert_same(to_numpy(torch.tensor([1j]).conj()), np.array([-1j], np.complex64))
    assert_same(to_numpy(torch.ones(2, 2).T), np.ones((2, 2), np.float32))


def test_texts_and_objects_in_arrays():
    texts = np.array(["left", "right"])
    assert array_conversion(texts, other) is texts
    marker = object()
    objects = np.array([None, 1, np.ones(2), marker, {"a": 1}], dtype=object)
    there = array_conversion(objects, other)
    assert there.dtype == object and there[0] is None and there[3] is marker
    assert [type(there[i]) for i in (1, 2)] == [OtherArray] * 2
    assert type(there[4]["a"]) is OtherArray
    assert objects[1] == 1


def test_other_types_are_registered():
    class Point:
        def __init__(self, x: Any) -> None:
            self.x = x

    with pytest.raises(error.ArgumentTypeError, match=r"No known conversion for .*Point"):
        array_conversion(Point(1.0), other)
    array_conversion.register(Point, lambda value, xp, device: Point(xp.asarray(value.x)))
    assert type(array_conversion([Point(1.0)], other)[0].x) is OtherArray


def test_modules():
    assert module_namespace(np) is np
    assert module_namespace("numpy") is module_name_to_namespace("numpy") is np
    for wrong in (json, 3, None):
        with pytest.raises(error.InvalidArgument, match="is not an Array API compatible module"):
            module_namespace(wrong)
    with pytest.raises(error.InvalidArgument, match="is not an Array API compatible module"):
        module_namespace("json")
    with pytest.raises(error.DependencyNotInstalled, match="pip install no_such_arrays"):
        module_namespace("no_such_arrays")
    jax = pytest.importorskip("jax")
    assert module_namespace(jax) is module_namespace("jax") is jax.numpy


class OtherEnv(gymcore.Env):
    """An environment that takes and returns the other library's arrays."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012
    observation_space = gymcore.spaces.Dict(
        position=gymcore.spaces.Box(-1, 1, (2,)), level=gymcore.spaces.Discrete(3)
    )
    action_space = gymcore.spaces.Box(-1, 1, (2,))

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.options = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.options = options
        return {"position": OtherArray(np.zeros(2, np.float32)), "level": 1}, {
            "start": OtherArray(0)
        }

    def step(self, action):
        assert isinstance(action, OtherArray)
        observation = {"position": OtherArray(action.array), "level": 2}
        info = {"name": "x", "self": self, "deep": {"n": OtherArray(1)}}
        return observation, np.float64(1.5), np.bool_(True), False, info

    def render(self):
        return OtherArray(np.zeros((2, 2, 3), np.uint8))


def test_an_environment_is_used_from_another_library():
    base = OtherEnv("rgb_array")
    env = ArrayConversion(base, env_xp=other, target_xp=np)
    options = {"mass": np.ones(2), "model": base}
    observation, info = env.reset(seed=1, options=options)
    assert_same(observation, {"position": np.zeros(2, np.float32), "level": np.array(1)})
    assert_same(info, {"start": np.array(0)})
    assert isinstance(base.options["mass"], OtherArray) and base.options["model"] is base
    assert isinstance(options["mass"], np.ndarray)

    action = np.array([0.5, 0.25], np.float32)
    observation, reward, terminated, truncated, info = env.step(action)
    assert_same(observation, {"position": action, "level": np.array(2)})
    assert np.shares_memory(observation["position"], action)
    assert (type(reward), terminated, truncated) == (float, True, False)
    assert info["self"] is base and info["name"] == "x"
    assert_same(info["deep"], {"n": np.array(1)})
    assert env.render().shape == (2, 2, 3)
    assert env.observation_space is base.observation_space


@pytest.mark.parametrize("kind", ["box", "image", "discrete", "tuple", "dict", "graph", "sequence"])
def test_every_observation_there_and_back(kind):
    """Two conversions, to the other library and back, lose nothing."""
    plain = make_walk_env()(kind, "box")
    twice = ArrayConversion(ArrayConversion(make_walk_env()(kind, "box"), np, other), other, np)
    assert_same(to_numpy(plain.reset(seed=3)), twice.reset(seed=3))
    for action in (np.ones(2, np.float32), np.zeros(2, np.float32)):
        ours, theirs = twice.step(action), plain.step(action)
        assert_same(ours[0], to_numpy(theirs[0]))
        assert_same(ours[1:4], theirs[1:4])
        assert_same(ours[4], to_numpy(theirs[4]))


def test_the_wrapper_is_pickled_and_described():
    env = ArrayConversion(gymcore.make("CartPole-v1"), np, np)
    again = pickle.loads(pickle.dumps(env))
    assert again._env_xp is again._target_xp is np
    assert_same(again.reset(seed=1), env.reset(seed=1))

    made = gymcore.make(EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(made, ArrayConversion)
    assert_same(made.reset(seed=1), env.reset(seed=1))


@pytest.mark.parametrize(
    ("wrapper", "library"), [(NumpyToTorch, "torch"), (JaxToNumpy, "jax"), (JaxToTorch, "jax")]
)
def test_a_missing_library_is_named(wrapper, library):
    try:
        importlib.import_module(library)
    except ImportError:
        with pytest.raises(error.DependencyNotInstalled, match=f"pip install {library}"):
            wrapper(gymcore.make("CartPole-v1"))


def test_numpy_to_torch():
    torch = pytest.importorskip("torch")
    from gymcore.wrappers.numpy_to_torch import numpy_to_torch, torch_to_numpy

    plain = gymcore.make("Pendulum-v1")
    env = NumpyToTorch(gymcore.make("Pendulum-v1"), device="cpu")
    assert env.device == "cpu"
    assert_same(torch_to_numpy(env.reset(seed=3)), plain.reset(seed=3))
    for _ in range(20):
        action = plain.action_space.sample()
        result = env.step(numpy_to_torch(action))
        assert isinstance(result[0], torch.Tensor)
        assert_same(torch_to_numpy(result[0]), plain.step(action)[0])
        assert type(result[1]) is float
    assert gymcore.make(env.spec).device == "cpu"


def test_jax_to_numpy_and_torch():
    jnp = pytest.importorskip("jax.numpy")
    from gymcore.wrappers.jax_to_numpy import numpy_to_jax

    class JaxEnv(OtherEnv):
        def reset(self, *, seed=None, options=None):
            return jnp.zeros(2), {"n": jnp.asarray(1)}

        def step(self, action):
            assert isinstance(action, jnp.ndarray)
            return action * 2, jnp.asarray(1.5), jnp.asarray(True), jnp.asarray(False), {}

    env = JaxToNumpy(JaxEnv())
    assert_same(env.reset(), (np.zeros(2, np.float32), {"n": np.array(1, np.int32)}))
    result = env.step(np.ones(2, np.float32))
    assert_same(result, (np.full(2, 2, np.float32), 1.5, True, False, {}))
    assert isinstance(numpy_to_jax(np.ones(2)), jnp.ndarray)

    torch = pytest.importorskip("torch")
    env = JaxToTorch(JaxEnv())
    assert isinstance(env.reset()[0], torch.Tensor)
    assert env.step(torch.ones(2))[0].tolist() == [2, 2]
