"""`EnvSpec`: the description of an environment for `make` and `make_vec`."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from gymcore.base.record_constructor import snapshot
from gymcore.error import ArgumentTypeError, Error, InvalidArgument
from gymcore.specs.ids import check_no_module, parse_env_id

Kwargs: TypeAlias = dict[str, Any]
"""Arguments of an environment, of a wrapper or of an engine, by name."""


class EnvCreator(Protocol):
    """A callable that makes an environment: a subclass of `Env`, or a function."""

    def __call__(self, **kwargs: Any) -> Any:
        """Make an environment."""


class VectorEnvCreator(Protocol):
    """A callable that makes a vector environment: a subclass of `VectorEnv`, or a function."""

    def __call__(self, **kwargs: Any) -> Any:
        """Make a vector environment."""


class VectorizeMode(Enum):
    """How `make_vec` runs several copies of an environment.

    Attributes:
        ASYNC: In a pool of worker processes, which run in parallel.
        SYNC: One after another, in this process.
        VECTOR_ENTRY_POINT: All at once, in the vector environment that is registered for the id.
        NATIVE: The same as `VECTOR_ENTRY_POINT`.
        REMOTE: On another machine, hosted by a server (`gymcore serve`).
        RAY: In actors of a Ray cluster, each with a part of the batch.
        COMPILED: All at once, in code that is compiled from the source of the environment's class;
            see `gymcore.jit.convert`.
    """

    ASYNC = "async"
    SYNC = "sync"
    VECTOR_ENTRY_POINT = "vector_entry_point"
    NATIVE = "native"
    REMOTE = "remote"
    RAY = "ray"
    COMPILED = "compiled"


# Types of the fields of an environment's and a wrapper's spec in JSON.
_JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "entry_point": (str, type(None)),
    "reward_threshold": (int, float, type(None)),
    "nondeterministic": bool,
    "max_episode_steps": (int, type(None)),
    "order_enforce": bool,
    "disable_env_checker": bool,
    "kwargs": dict,
    "vector_entry_point": (str, type(None)),
    "compiled": bool,
}
_WRAPPER_JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "entry_point": str,
    "kwargs": (dict, type(None)),
}


def _check_types(
    parsed: dict[str, object], types: dict[str, type | tuple[type, ...]], prefix: str = ""
) -> None:
    """Raise `InvalidArgument` if a field of a JSON object has the wrong type."""
    for name, kinds in types.items():
        if name in parsed and not isinstance(parsed[name], kinds):
            raise InvalidArgument(f"{prefix}{name}: expected {kinds}, got {parsed[name]!r:.80}")


def _as_json(value: object) -> object:
    """Return the value of an enum member, such as an autoreset mode, or of a NumPy number."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


@dataclass
class WrapperSpec:
    """A wrapper that `make` puts around an environment.

    Attributes:
        name: Display name of the wrapper.
        entry_point: Location of the wrapper's class, "module:name".
        kwargs: The wrapper's arguments except the environment; None if they were not recorded and
            it cannot be made again.
    """

    name: str
    entry_point: str
    kwargs: dict[str, Any] | None


@dataclass
class EnvSpec:
    """Description of an environment, from which `make` and `make_vec` make it.

    Attributes:
        id: `[namespace/]name[-v(version)]`.
        entry_point: The environment's class, a function that makes it, or the location of either,
            "module:name".
        reward_threshold: The return at which the task counts as solved.
        nondeterministic: Whether the environment is random even after seeding.
        max_episode_steps: Steps after which `TimeLimit` truncates an episode; None for no limit.
        order_enforce: Whether `make` adds `OrderEnforcing`.
        disable_env_checker: Whether `make` omits `PassiveEnvChecker`.
        kwargs: Arguments for the entry point.
        namespace: Namespace in the id, or None.
        name: Name in the id.
        version: Version in the id, or None.
        additional_wrappers: Wrappers that `make` adds outside its own.
        vector_entry_point: Class, function or location of a vector environment, for `make_vec`.
        compiled: Whether `make_vec` converts the class to compiled code, as with
            `vectorization_mode="compiled"`.
        trusted: Whether any entry points are allowed; False for a spec from JSON, see `from_json`.

    Examples:
        >>> spec = EnvSpec("ALE/Pong-v5", entry_point="ale_py.env:AtariEnv")
        >>> spec.namespace, spec.name, spec.version
        ('ALE', 'Pong', 5)
    """

    id: str
    entry_point: EnvCreator | str | None = None

    reward_threshold: float | None = None
    nondeterministic: bool = False

    max_episode_steps: int | None = None
    order_enforce: bool = True
    disable_env_checker: bool = False

    kwargs: dict[str, Any] = field(default_factory=dict)

    namespace: str | None = field(init=False)
    name: str = field(init=False)
    version: int | None = field(init=False)

    additional_wrappers: tuple[WrapperSpec, ...] = field(default_factory=tuple)
    vector_entry_point: VectorEnvCreator | str | None = None

    compiled: bool = field(default=False, kw_only=True, repr=False)
    trusted: bool = field(default=True, kw_only=True, repr=False, compare=False)

    maker: ClassVar[Callable[..., object]]
    """`gymcore.make`, which a higher layer defines and sets here."""

    def __post_init__(self) -> None:
        self.namespace, self.name, self.version = parse_env_id(self.id)

    def make(self, **kwargs: object) -> Any:
        """Make the environment; see `gymcore.make`.

        Args:
            **kwargs: As for `gymcore.make`.
        """
        return type(self).maker(self, **kwargs)

    def copy(self, **changes: object) -> EnvSpec:
        """Return a copy, with some fields changed.

        Args:
            **changes: New values by field name.

        Returns:
            A spec of the same class. Containers in `kwargs` and in the wrappers' arguments are
            copied. Other objects are shared, so copying is cheap and works for any object.
        """
        new = copy.copy(self)
        new.kwargs = snapshot(self.kwargs)
        vars(new).update(changes)
        new.additional_wrappers = tuple(
            dataclasses.replace(wrapper, kwargs=snapshot(wrapper.kwargs))
            for wrapper in new.additional_wrappers
        )
        return new

    def to_json(self) -> str:
        """Return the spec as JSON.

        Returns:
            An object with every field that the constructor takes. Enum members and NumPy numbers
            are replaced by their values.

        Raises:
            InvalidArgument: If an entry point is a function or a class instead of "module:name".
            ArgumentTypeError: If an argument in `kwargs`, or of a wrapper, cannot be written as
                JSON.

        Examples:
            >>> spec = EnvSpec("Maze-v0", entry_point="maze:Maze", kwargs={"size": 4})
            >>> EnvSpec.from_json(spec.to_json()) == spec
            True
        """
        import json

        content = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}
        del content["trusted"]
        if not self.compiled:  # a field that Gymnasium does not know
            del content["compiled"]
        self._check_can_jsonify(content)
        content["additional_wrappers"] = [vars(wrapper) for wrapper in self.additional_wrappers]
        arguments = {f"kwargs[{name!r}]": value for name, value in self.kwargs.items()}
        for wrapper in self.additional_wrappers:
            for name, value in (wrapper.kwargs or {}).items():
                arguments[f"{wrapper.name} kwargs[{name!r}]"] = value
        for name, value in arguments.items():
            try:
                json.dumps(value, default=_as_json)
            except TypeError as error:
                raise ArgumentTypeError(
                    f"{error}: {name} = {value!r} of {self.id} cannot be written as JSON"
                ) from error
        return json.dumps(content, default=_as_json)

    @staticmethod
    def _check_can_jsonify(env_spec: dict[str, object]) -> None:
        """Raise if a field of the spec, given as a dict, is a function or a class."""
        for name, value in env_spec.items():
            if callable(value):
                raise InvalidArgument(
                    f"Callable found in {env_spec['id']} for {name} attribute with value={value}. "
                    "Currently, gymcore does not support serialising callables."
                )

    @staticmethod
    def from_json(json_env_spec: str, trusted: bool = False) -> EnvSpec:
        """Return the spec that `to_json` wrote.

        `make` and `make_vec` import the modules of the entry points and call the class or function.
        Unless `trusted`, they do so only for entry points of registered ids. For other ids, they
        import only modules of gymcore, and call only classes of environments and wrappers in
        gymcore and in modules that your program has imported. Anything else raises
        `InvalidArgument`. Arguments are passed on unchanged.

        Args:
            json_env_spec: The JSON text. Fields may be missing. A list stays a list, even if it was
                a tuple before it was written.
            trusted: Whether any entry points are allowed, as in a spec that you make yourself.

        Raises:
            json.JSONDecodeError: If the text is not JSON.
            InvalidArgument: If the text is not a JSON object of a spec, or, unless `trusted`, if
                its argument `env_id` contains a module to import.
        """
        import json

        try:
            parsed = json.loads(json_env_spec)
        except json.JSONDecodeError:
            raise
        except (ValueError, RecursionError) as error:  # a long integer, deep nesting
            raise InvalidArgument(f"json_env_spec: {error}") from error
        if not isinstance(parsed, dict):
            raise InvalidArgument(f"json_env_spec: expected a JSON object, got {json_env_spec!r}")
        wrappers, listed = [], parsed.pop("additional_wrappers", ())
        if not isinstance(listed, (list, tuple)):
            raise InvalidArgument(f"additional_wrappers: expected a list, got {listed!r}")
        for wrapper in listed:
            try:
                wrappers.append(WrapperSpec(**wrapper))
            except TypeError as error:
                raise InvalidArgument(
                    f"An issue occurred when trying to make {wrapper} a WrapperSpec"
                ) from error
            _check_types(wrapper, _WRAPPER_JSON_TYPES, "additional_wrappers: ")
        _check_types(parsed, _JSON_TYPES)
        try:
            spec = EnvSpec(**parsed, additional_wrappers=tuple(wrappers), trusted=trusted)
        except (TypeError, Error) as error:
            raise InvalidArgument(
                f"An issue occurred when trying to make {parsed} an EnvSpec"
            ) from error
        if not trusted:
            check_no_module(spec.kwargs)
        return spec

    def pprint(
        self,
        disable_print: bool = False,
        include_entry_points: bool = False,
        print_all: bool = False,
    ) -> str | None:
        """Print the spec, one field per line.

        Args:
            disable_print: Whether to return the text instead of printing it.
            include_entry_points: Whether to include entry points, also of the wrappers.
            print_all: Whether to include fields that have their default value.

        Returns:
            The text if `disable_print`, else None.
        """
        lines = [f"id={self.id}"]

        def add(name: str, shown: bool) -> None:
            if shown or print_all:
                lines.append(f"{name}={getattr(self, name)}")

        add("entry_point", include_entry_points)
        add("reward_threshold", self.reward_threshold is not None)
        add("nondeterministic", self.nondeterministic is not False)
        add("max_episode_steps", self.max_episode_steps is not None)
        add("order_enforce", self.order_enforce is not True)
        add("disable_env_checker", self.disable_env_checker is not False)

        wrappers = []
        for wrapper in self.additional_wrappers:
            place = f"entry_point={wrapper.entry_point}, " if include_entry_points else ""
            wrappers.append(f"\n\tname={wrapper.name}, {place}kwargs={wrapper.kwargs}")
        if wrappers:
            lines.append(f"additional_wrappers=[{','.join(wrappers)}\n]")
        elif print_all:
            lines.append("additional_wrappers=[]")

        text = "\n".join(lines)
        if disable_print:
            return text
        print(text)
        return None
