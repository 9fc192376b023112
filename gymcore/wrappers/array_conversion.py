"""Environments whose arrays are of one library, used from another: NumPy, PyTorch, JAX, CuPy, ...

Arrays are converted through DLPack, or the library's own equivalent, so both sides share their
memory where possible. The new array keeps the old one's memory alive: a compiled engine does not
recycle it while a tensor over it exists.
"""

from __future__ import annotations

import importlib
import numbers
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache, singledispatch
from types import ModuleType, NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat, TypeAlias

import numpy as np

from gymcore import error
from gymcore.base.optional_packages import pip_install
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import Env, Info, Options, Wrapper
from gymcore.wrappers.utils import Array

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv

__all__ = ["ArrayConversion", "array_conversion"]

Device: TypeAlias = object
"""What the `to` of a library's arrays takes: for PyTorch a `torch.device` or its name."""

_TITLES = {"torch": "Torch", "jax": "Jax", "cupy": "CuPy"}


class _NoConversionError(error.ArgumentTypeError):
    """A value without a registered conversion."""


def module_name_to_namespace(name: str) -> ModuleType:
    """Import an array library by name.

    Example:
        >>> module_name_to_namespace("numpy") is np
        True
    """
    try:
        module = importlib.import_module(name)
    except ImportError as problem:
        package = name.partition(".")[0]
        raise error.DependencyNotInstalled(
            f"{_TITLES.get(package, package)} is not installed therefore its arrays cannot be "
            f"used, run `{pip_install(package)}`"
        ) from problem
    return module_namespace(module)


def module_namespace(xp: ModuleType | str) -> ModuleType:
    """Return the module of an array library that makes its arrays.

    Example:
        >>> module_namespace(np) is np
        True
    """
    if isinstance(xp, str):
        return module_name_to_namespace(xp)
    if isinstance(xp, ModuleType):
        if xp.__name__ == "jax":
            return importlib.import_module("jax.numpy")
        if callable(getattr(xp, "asarray", None)) and callable(getattr(xp, "from_dlpack", None)):
            return xp
    raise error.InvalidArgument(f"Module {xp} is not an Array API compatible module.")


class _Library(NamedTuple):
    """A namespace, and which one it is: "numpy", "torch", "jax" or the name of another."""

    namespace: ModuleType
    name: str


@cache
def _library(xp: ModuleType | str) -> _Library:
    """Return what is known of a library, also through `array_api_compat`."""
    namespace = module_namespace(xp)
    parts = namespace.__name__.split(".")
    return _Library(namespace, parts[parts[0] == "array_api_compat" and len(parts) > 1])


@cache
def _is_torch_type(cls: Hashable) -> bool:
    bases = getattr(cls, "__mro__", ())
    return any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in bases)


def _is_tensor(value: object) -> bool:
    return _is_torch_type(type(value))  # type: ignore[arg-type]


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray) or hasattr(value, "__dlpack__")


@singledispatch
def array_conversion(value: object, xp: ModuleType, device: Device = None) -> Any:
    """Return a value whose arrays are of another library.

    Arrays share their memory with the given ones if both libraries support it. NumPy, PyTorch and
    JAX on the CPU do, except for these arrays, which are copied: arrays that are read-only (PyTorch
    has no such tensors), have negative strides or the other byte order, or a dtype that the other
    library lacks (bfloat16 becomes float32 in NumPy).

    Mappings, sequences and named tuples become new ones of the same type. Numbers become arrays
    without an axis. Texts, bytes and None stay as they are, and so do NumPy's arrays of texts;
    arrays of objects stay with their elements converted.

    `array_conversion.register(cls, function)` says how to convert another type: the function is
    called with the value, the library and the device.

    Args:
        value: What to convert.
        xp: The library: `numpy`, `torch`, `jax.numpy`, ...
        device: Where to put the arrays, as `xp` names it; None for its default.

    Raises:
        ArgumentTypeError: If it is none of these types.
        InvalidArgument: If `xp` has no arrays.

    Example:
        >>> array_conversion({"speed": 1.5, "name": "left"}, np)
        {'speed': array(1.5), 'name': 'left'}
    """
    if _is_array(value):
        return _array_api_array_conversion(value, xp, device)
    raise _NoConversionError(
        f"No known conversion for ({type(value)}) to xp module ({xp}) registered. "
        "Register one: `array_conversion.register(cls, function)`."
    )


def _array_api_array_conversion(value: Any, xp: ModuleType, device: Device = None) -> Any:
    namespace, name = _library(xp)
    if isinstance(value, np.ndarray):
        return _numpy_array_conversion(value, xp, device)
    if _is_tensor(value):
        if name == "torch":
            return value if device is None else value.to(device)
        if name == "numpy":
            return _torch_to_numpy(value)
        value = value.detach().contiguous()
    elif name == "numpy":
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError):  # on a GPU, or an odd dtype
            return np.asarray(value)
    elif name == "torch":
        tensor = importlib.import_module("torch").from_dlpack(value)
        return tensor if device is None else tensor.to(device)
    return _through_dlpack(value, namespace, name, device)


@array_conversion.register(np.ndarray)
def _numpy_array_conversion(value: Array, xp: ModuleType, device: Device = None) -> Any:
    namespace, name = _library(xp)
    if name == "torch":
        tensor = _numpy_to_torch(value)
        if tensor is not None:
            return tensor if device is None else tensor.to(device)
    if value.dtype.kind not in "biufc":
        return _objects(value, xp, device)
    if name == "numpy":
        return value
    return _through_dlpack(_exportable(value), namespace, name, device)


def _exportable(value: Array) -> Array:
    """Return the array, or a copy if other libraries cannot use its memory."""
    if not value.dtype.isnative:
        return value.astype(value.dtype.newbyteorder("="))
    if any(stride < 0 or stride % value.itemsize for stride in value.strides):
        return value.copy()
    return value


def _numpy_to_torch(value: Array) -> Any:
    """Return a tensor, or None for an array of texts or objects."""
    from_numpy = sys.modules["torch"].from_numpy
    if value.flags.writeable:
        try:
            return from_numpy(value)
        except (TypeError, ValueError):  # negative strides, the other byte order, no numbers
            pass
    if value.dtype.kind not in "biufc":
        return None
    return from_numpy(np.array(value, value.dtype.newbyteorder("=")))


def _torch_to_numpy(value: Any) -> Array:
    try:
        return value.numpy()
    except (RuntimeError, TypeError):  # elsewhere, with a gradient, lazily conjugated, or bfloat16
        value = value.detach().cpu().resolve_conj().resolve_neg()
    try:
        return value.numpy()
    except TypeError:  # a type that NumPy lacks
        return value.float().numpy()


def _through_dlpack(value: Any, xp: ModuleType, name: str, device: Device) -> Any:
    try:
        array = xp.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError, AttributeError):
        # Read-only or of a type that one side does not export: copied.
        array = xp.asarray(np.array(value, copy=True) if isinstance(value, np.ndarray) else value)
    if device is None:
        return array
    if name == "jax":
        return importlib.import_module("jax").device_put(array, device)
    return array.to_device(device) if hasattr(array, "to_device") else array


def _objects(value: Array, xp: ModuleType, device: Device) -> Array:
    """Convert the elements of an array of objects; texts and records stay."""
    if value.dtype != object:
        return value
    converted = np.empty_like(value, subok=False)
    for index in np.ndindex(value.shape):
        converted[index] = convert_known({"": value[index]}, xp, device)[""]
    return converted


@array_conversion.register(numbers.Number)
@array_conversion.register(np.generic)
def _number_array_conversion(value: Any, xp: ModuleType, device: Device = None) -> Any:
    if isinstance(value, np.generic):
        if value.dtype.kind not in "biufc":
            return value
        return _numpy_array_conversion(np.array(value), xp, device)
    namespace, name = _library(xp)
    if device is None or name == "numpy":
        return namespace.asarray(value)
    return namespace.asarray(value, device=device)


@array_conversion.register(Mapping)
def _mapping_array_conversion(
    value: Mapping[Any, object], xp: ModuleType, device: Device = None
) -> Any:
    new: Callable[..., Any] = type(value)
    return new({key: array_conversion(item, xp, device) for key, item in value.items()})


@array_conversion.register(Iterable)
def _iterable_array_conversion(value: Any, xp: ModuleType, device: Device = None) -> Any:
    if _is_array(value):  # arrays can be iterated over
        return _array_api_array_conversion(value, xp, device)
    items = [array_conversion(item, xp, device) for item in value]
    if hasattr(value, "_make"):  # a named tuple
        return value._make(items)
    if isinstance(value, range):
        return items
    return type(value)(items)


@array_conversion.register(NoneType)
@array_conversion.register(str)
@array_conversion.register(bytes)
def _none_array_conversion(value: Any, xp: ModuleType, device: Device = None) -> Any:
    return value


def convert_known(data: Mapping[str, object], xp: ModuleType, device: Device = None) -> Info:
    """Convert infos or options; values without a registered conversion stay as they are.

    Returns:
        A new dict.
    """
    converted: Info = {}
    for key, value in data.items():
        if type(value) is dict:
            converted[key] = convert_known(value, xp, device)
            continue
        try:
            converted[key] = array_conversion(value, xp, device)
        except _NoConversionError:
            converted[key] = value
    return converted


def to_numpy(value: object, device: Device = None) -> Any:
    """Return a value whose arrays are NumPy's; see `array_conversion`."""
    return array_conversion(value, np, device)


def to_torch(value: object, device: Device = None) -> Any:
    """Return a value whose arrays are PyTorch's; see `array_conversion`."""
    return array_conversion(value, module_name_to_namespace("torch"), device)


def to_jax(value: object, device: Device = None) -> Any:
    """Return a value whose arrays are JAX's; see `array_conversion`."""
    return array_conversion(value, module_name_to_namespace("jax.numpy"), device)


class ConvertsArrays:
    """A mixin of `ArrayConversion` for environments and for vector environments."""

    env: Any

    def __init__(
        self,
        env: Env | VectorEnv,
        env_xp: ModuleType | str,
        target_xp: ModuleType | str,
        env_device: Device = None,
        target_device: Device = None,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment, or the vector environment.
            env_xp: The library of its arrays: `numpy`, `torch`, `jax`, ..., or its name.
            target_xp: The library to use it from.
            env_device: Where to put arrays for the environment; None for its library's default.
            target_device: Where to put arrays for the caller, likewise.

        Raises:
            InvalidArgument: If a module has no arrays.
            DependencyNotInstalled: If there is no module of this name.
            ArgumentTypeError: If `env` is not an environment of the right kind.
        """
        super().__init__(env)  # type: ignore[call-arg]
        self._env_xp = module_namespace(env_xp)
        self._target_xp = module_namespace(target_xp)
        self._env_device = env_device
        self._target_device = target_device

    def reset(self, *, seed: Any = None, options: Options = None) -> tuple[Any, Info]:
        """Reset with converted options, and convert what is returned."""
        if options is not None:
            options = convert_known(options, self._env_xp, self._env_device)
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._outwards(observations), self._infos(infos)

    def render(self) -> Any:
        """Render the environment, and convert the frame or frames."""
        return self._outwards(self.env.render())

    def _inwards(self, value: object) -> Any:
        """Convert actions for the environment."""
        is_tensor = _is_tensor(value)
        if is_tensor and _library(self._env_xp).name == "numpy":
            return _torch_to_numpy(value)
        return array_conversion(value, self._env_xp, self._env_device)

    def _outwards(self, value: object) -> Any:
        """Convert what the environment returned."""
        if type(value) is np.ndarray:  # without a search for what is registered: 1 us less
            return _numpy_array_conversion(value, self._target_xp, self._target_device)
        return array_conversion(value, self._target_xp, self._target_device)

    def _infos(self, infos: Info) -> Info:
        return convert_known(infos, self._target_xp, self._target_device)

    def __getstate__(self) -> Info:
        """Return the attributes, with names in place of the modules, which cannot be pickled."""
        names = {"_env_xp": self._env_xp.__name__, "_target_xp": self._target_xp.__name__}
        return self.__dict__ | names

    def __setstate__(self, state: Info) -> None:
        """Take the attributes, and import the modules."""
        self.__dict__.update(state)
        self._env_xp = module_name_to_namespace(state["_env_xp"])
        self._target_xp = module_name_to_namespace(state["_target_xp"])


class ArrayConversion(ConvertsArrays, Wrapper, RecordConstructorArgs):
    """Use an environment whose arrays are of one library from another.

    Actions and options are converted to the environment's library, observations, infos and frames
    to the other one. The reward becomes a `float`, the flags become `bool`. The spaces stay those
    of the environment.

    Arrays share their memory where possible; see `array_conversion`. Other objects in infos and
    options are not changed.

    Example:
        >>> import gymcore
        >>> env = ArrayConversion(gymcore.make("CartPole-v1"), env_xp=np, target_xp=np)
        >>> observation, info = env.reset(seed=1)
        >>> env.step(1)[1:4]
        (1.0, False, False)
    """

    def step(self, action: object) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        """Step the environment with the converted action, and convert what it returns."""
        observation, reward, terminated, truncated, info = self.env.step(self._inwards(action))
        return (
            self._outwards(observation),
            float(reward),
            bool(terminated),
            bool(truncated),
            self._infos(info),
        )


class ToTorch(ConvertsArrays):
    """A mixin of wrappers, single and vector, that let environments be used with PyTorch."""

    _library: str
    """The library of the environment's arrays."""

    def __init__(self, env: Env | VectorEnv, device: Device = None) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            device: Where to put tensors for the caller; None for the default.

        Raises:
            DependencyNotInstalled: If PyTorch or the environment's library is not installed.
        """
        super().__init__(env, self._library, "torch", target_device=device)
        self.device = device


class JaxToNumpyArrays(ConvertsArrays):
    """A mixin of wrappers, single and vector, that let environments of JAX be used with NumPy."""

    def __init__(self, env: Env | VectorEnv) -> None:
        """Wrap `env`; raise `DependencyNotInstalled` if JAX is not installed."""
        super().__init__(env, "jax.numpy", "numpy")
