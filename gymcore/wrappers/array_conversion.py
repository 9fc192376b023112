"""Convert between array libraries: NumPy, PyTorch, JAX, CuPy and others.

Arrays are converted through DLPack, or the library's own equivalent, so both sides share memory
where possible. The new array keeps the old one's memory alive: a compiled engine does not reuse it
while a tensor refers to it.
"""

from __future__ import annotations

import importlib
import numbers
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, singledispatch
from types import ModuleType, NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat, TypeAlias, TypeGuard

import numpy as np

from gymcore import error
from gymcore.base.optional_packages import pip_install
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import Env, Info, Options, Wrapper
from gymcore.wrappers.utils import Array

if TYPE_CHECKING:
    from torch import Tensor

    from gymcore.vector.vector_env import VectorEnv

__all__ = ["ArrayConversion", "array_conversion"]

Device: TypeAlias = object
"""Device argument of an array library: for PyTorch a `torch.device` or its name."""

_LIBRARY_TITLES = {"torch": "Torch", "jax": "Jax", "cupy": "CuPy"}


class _NoConversionError(error.ArgumentTypeError):
    """Raised for a value of a type without a registered conversion."""


def module_name_to_namespace(name: str) -> ModuleType:
    """Import an array library by name.

    Examples:
        >>> module_name_to_namespace("numpy") is np
        True
    """
    try:
        module = importlib.import_module(name)
    except ImportError as problem:
        package = name.partition(".")[0]
        raise error.DependencyNotInstalled(
            f"{_LIBRARY_TITLES.get(package, package)} is not installed therefore its arrays cannot "
            f"be used, run `{pip_install(package)}`"
        ) from problem
    return module_namespace(module)


def module_namespace(xp: ModuleType | str) -> ModuleType:
    """Return the module of an array library that has its array functions.

    Examples:
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
    """A namespace, and the name of its library: "numpy", "torch", "jax" or another one."""

    namespace: ModuleType
    name: str


@cache
def _library(xp: ModuleType | str) -> _Library:
    """Return the `_Library` of a namespace, which may be one of `array_api_compat`."""
    namespace = module_namespace(xp)
    parts = namespace.__name__.split(".")
    return _Library(namespace, parts[parts[0] == "array_api_compat" and len(parts) > 1])


def _is_tensor(value: object) -> TypeGuard[Tensor]:
    # `isinstance` would call a check of torch's in Python.
    return getattr(sys.modules.get("torch"), "Tensor", None) in type(value).__mro__


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray) or hasattr(value, "__dlpack__")


@singledispatch
def array_conversion(value: object, xp: ModuleType, device: Device = None) -> Any:
    """Convert the arrays in a value to another library.

    Arrays share memory with the originals if both libraries support it. NumPy, PyTorch and JAX on
    the CPU do. Some arrays are copied: those that are read-only (PyTorch has no read-only tensors),
    that have negative strides or a foreign byte order, or whose dtype the other library lacks
    (bfloat16 becomes float32 in NumPy).

    Mappings, sequences and named tuples become new ones of the same type. Numbers become arrays
    with zero axes. Strings, bytes and None are unchanged, as are NumPy's arrays of strings; the
    elements of object arrays are converted.

    `array_conversion.register(cls, function)` adds a conversion for another type: the function is
    called with the value, the library and the device.

    Args:
        value: Value to convert.
        xp: Target library: `numpy`, `torch`, `jax.numpy` and so on.
        device: Device for the arrays, in the notation of `xp`; None for its default.

    Raises:
        ArgumentTypeError: If the type of a value has no conversion.
        InvalidArgument: If `xp` is not an array library.

    Examples:
        >>> array_conversion({"speed": 1.5, "name": "left"}, np)
        {'speed': array(1.5), 'name': 'left'}
    """
    if _is_array(value):
        return _array_api_array_conversion(value, xp, device)
    raise _NoConversionError(
        f"No known conversion for ({type(value)}) to xp module ({xp}) registered. "
        "Register one: `array_conversion.register(cls, function)`."
    )


def _array_api_array_conversion(value: Any, xp: ModuleType, device: Device = None) -> object:
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
        except (BufferError, RuntimeError, TypeError, ValueError):  # on a GPU, unsupported dtype
            return np.asarray(value)
    elif name == "torch":
        tensor = importlib.import_module("torch").from_dlpack(value)
        return tensor if device is None else tensor.to(device)
    return _through_dlpack(value, namespace, name, device)


@array_conversion.register(np.ndarray)
def _numpy_array_conversion(value: Array, xp: ModuleType, device: Device = None) -> object:
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
    """Return the array, or a copy if other libraries cannot share its memory."""
    if not value.dtype.isnative:
        return value.astype(value.dtype.newbyteorder("="))
    if any(stride < 0 or stride % value.itemsize for stride in value.strides):
        return value.copy()
    return value


def _numpy_to_torch(value: Array) -> Tensor | None:
    """Return a tensor, or None for an array of strings or objects."""
    from_numpy = sys.modules["torch"].from_numpy
    if value.flags.writeable:
        try:
            return from_numpy(value)
        except (TypeError, ValueError):  # negative strides, byte order, or no numbers
            pass
    if value.dtype.kind not in "biufc":
        return None
    return from_numpy(np.array(value, value.dtype.newbyteorder("=")))


def _torch_to_numpy(value: Tensor) -> Array:
    try:
        array: Array = value.numpy()
    except (RuntimeError, TypeError):  # other device, gradient, lazy conjugate, bfloat16
        value = value.detach().cpu().resolve_conj().resolve_neg()
        try:
            array = value.numpy()
        except TypeError:  # NumPy has no such dtype
            array = value.float().numpy()
    return array


def _through_dlpack(value: object, xp: ModuleType, name: str, device: Device) -> object:
    try:
        array = xp.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError, AttributeError):
        # Copy: it is read-only, or of a dtype that one of the libraries does not export.
        array = xp.asarray(np.array(value, copy=True) if isinstance(value, np.ndarray) else value)
    if device is None:
        return array
    if name == "jax":
        return importlib.import_module("jax").device_put(array, device)
    return array.to_device(device) if hasattr(array, "to_device") else array


def _objects(value: Array, xp: ModuleType, device: Device) -> Array:
    """Convert the elements of an object array; strings and records are unchanged."""
    if value.dtype != object:
        return value
    converted = np.empty_like(value, subok=False)
    for index in np.ndindex(value.shape):
        converted[index] = convert_known({"": value[index]}, xp, device)[""]
    return converted


@array_conversion.register(numbers.Number)
@array_conversion.register(np.generic)
def _number_array_conversion(
    value: numbers.Number | np.generic, xp: ModuleType, device: Device = None
) -> object:
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
    value: Mapping[object, object], xp: ModuleType, device: Device = None
) -> object:
    new: Callable[..., object] = type(value)
    return new({key: array_conversion(item, xp, device) for key, item in value.items()})


@array_conversion.register(Iterable)
def _iterable_array_conversion(value: Any, xp: ModuleType, device: Device = None) -> object:
    if _is_array(value):  # before the check for iterables
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
def _none_array_conversion(
    value: str | bytes | None, xp: ModuleType, device: Device = None
) -> str | bytes | None:
    return value


def convert_known(data: Mapping[str, object], xp: ModuleType, device: Device = None) -> Info:
    """Convert infos or options; values without a registered conversion are unchanged.

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
    """Convert the arrays in a value to NumPy; see `array_conversion`."""
    return array_conversion(value, np, device)


def to_torch(value: object, device: Device = None) -> Any:
    """Convert the arrays in a value to PyTorch; see `array_conversion`."""
    return array_conversion(value, module_name_to_namespace("torch"), device)


def to_jax(value: object, device: Device = None) -> Any:
    """Convert the arrays in a value to JAX; see `array_conversion`."""
    return array_conversion(value, module_name_to_namespace("jax.numpy"), device)


class ConvertsArrays:
    """A mixin with the parts of `ArrayConversion` shared by single and vector environments."""

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
            env: The environment or vector environment.
            env_xp: Library of its arrays: `numpy`, `torch`, `jax` and so on, or its name.
            target_xp: Library that the caller uses.
            env_device: Device for arrays passed to the environment; None for the default.
            target_device: Device for arrays returned to the caller; None for the default.

        Raises:
            InvalidArgument: If a module is not an array library.
            DependencyNotInstalled: If no module of this name is installed.
            ArgumentTypeError: If `env` is not an environment of the right kind.
        """
        begin: Callable[..., None] = super().__init__  # of the other base class
        begin(env)
        self._env_xp = module_namespace(env_xp)
        self._target_xp = module_namespace(target_xp)
        self._env_device = env_device
        self._target_device = target_device

    def reset(self, *, seed: object = None, options: Options = None) -> tuple[Any, Info]:
        """Reset with converted options, and convert the results."""
        if options is not None:
            options = convert_known(options, self._env_xp, self._env_device)
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._from_env(observations), self._infos(infos)

    def render(self) -> Any:
        """Render the environment, and convert the frame or frames."""
        return self._from_env(self.env.render())

    def _to_env(self, value: object) -> object:
        if _is_tensor(value) and _library(self._env_xp).name == "numpy":
            return _torch_to_numpy(value)
        return array_conversion(value, self._env_xp, self._env_device)

    def _from_env(self, value: object) -> object:
        """Convert a value that the environment returned."""
        if type(value) is np.ndarray:  # 1 us faster than the dispatch
            return _numpy_array_conversion(value, self._target_xp, self._target_device)
        return array_conversion(value, self._target_xp, self._target_device)

    def _infos(self, infos: Info) -> Info:
        return convert_known(infos, self._target_xp, self._target_device)

    def __getstate__(self) -> Info:
        """Return the attributes, with names in place of modules, which cannot be pickled."""
        names = {"_env_xp": self._env_xp.__name__, "_target_xp": self._target_xp.__name__}
        return self.__dict__ | names

    def __setstate__(self, state: Info) -> None:
        """Restore the attributes, and import the modules."""
        self.__dict__.update(state)
        self._env_xp = module_name_to_namespace(state["_env_xp"])
        self._target_xp = module_name_to_namespace(state["_target_xp"])


class ArrayConversion(ConvertsArrays, Wrapper, RecordConstructorArgs):
    """Use an environment that works on arrays of one library from another library.

    Actions and options are converted to the environment's library; observations, infos and frames
    to the caller's. The reward becomes a `float`, the flags become `bool`. The spaces are those of
    the environment.

    Arrays share memory where possible; see `array_conversion`. Other objects in infos and options
    are unchanged.

    Examples:
        >>> import gymcore
        >>> env = ArrayConversion(gymcore.make("CartPole-v1"), env_xp=np, target_xp=np)
        >>> observation, info = env.reset(seed=1)
        >>> env.step(1)[1:4]
        (1.0, False, False)
    """

    def step(self, action: object) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        """Step the environment with the converted action, and convert the results."""
        observation, reward, terminated, truncated, info = self.env.step(self._to_env(action))
        return (
            self._from_env(observation),
            float(reward),
            bool(terminated),
            bool(truncated),
            self._infos(info),
        )


class ToTorch(ConvertsArrays):
    """A mixin for single and vector wrappers that convert an environment's arrays to PyTorch."""

    _library: str
    """The library of the environment's arrays."""

    def __init__(self, env: Env | VectorEnv, device: Device = None) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            device: Device for tensors returned to the caller; None for the default.

        Raises:
            DependencyNotInstalled: If PyTorch or the environment's library is not installed.
        """
        super().__init__(env, self._library, "torch", target_device=device)
        self.device = device


class JaxToNumpyArrays(ConvertsArrays):
    """A mixin for single and vector wrappers that convert an environment's JAX arrays to NumPy."""

    def __init__(self, env: Env | VectorEnv) -> None:
        """Wrap `env`; raise `DependencyNotInstalled` if JAX is not installed."""
        super().__init__(env, "jax.numpy", "numpy")
