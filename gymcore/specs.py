"""Descriptions of environments: what `register` stores, `make` reads and `env.spec` returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from gymcore.envs.env_id import parse_env_id
from gymcore.error import ArgumentTypeError, Error, InvalidArgument
from gymcore.utils.record_constructor import snapshot

if TYPE_CHECKING:
    from gymcore.core import Env
    from gymcore.vector import VectorEnv


LEGACY_FIELDS = ("autoreset", "apply_api_compatibility")
"""What Gym 0.26 had besides the fields of a spec."""


class EnvCreator(Protocol):
    """What makes an environment: a subclass of `Env`, or a function."""

    def __call__(self, **kwargs: Any) -> Env[Any, Any]:
        """Make an environment."""
        ...


class VectorEnvCreator(Protocol):
    """What makes a vector environment: a subclass of `VectorEnv`, or a function."""

    def __call__(self, **kwargs: Any) -> VectorEnv[Any, Any, Any]:
        """Make a vector environment."""
        ...


class VectorizeMode(Enum):
    """How `make_vec` runs several copies of an environment.

    Attributes:
        ASYNC: One after another in a pool of worker processes.
        SYNC: One after another in this process.
        VECTOR_ENTRY_POINT: All at once, by the vector environment that was registered for the id.
        NATIVE: The same as `VECTOR_ENTRY_POINT`.
    """

    ASYNC = "async"
    SYNC = "sync"
    VECTOR_ENTRY_POINT = "vector_entry_point"
    NATIVE = "native"


@dataclass
class WrapperSpec:
    """A wrapper that `make` puts around an environment.

    Attributes:
        name: The wrapper's name, for people.
        entry_point: Where its class is, as "module:name".
        kwargs: Its arguments besides the environment; None if they were not recorded, in which case
            it cannot be made again.
    """

    name: str
    entry_point: str
    kwargs: dict[str, Any] | None


@dataclass
class EnvSpec:
    """Everything `make` and `make_vec` need to know about an environment.

    Attributes:
        id: `[namespace/]name[-v(version)]`.
        entry_point: The environment's class or a function that makes it, or where it is:
            "module:name".
        reward_threshold: The return from which the task counts as solved.
        nondeterministic: Whether it is random even after seeding.
        max_episode_steps: Steps after which `TimeLimit` truncates an episode; None for no limit.
        order_enforce: Whether `make` adds `OrderEnforcing`.
        disable_env_checker: Whether `make` leaves out `PassiveEnvChecker`.
        kwargs: Arguments for the entry point.
        namespace: Taken from the id, None without one.
        name: Taken from the id.
        version: Taken from the id, None without one.
        additional_wrappers: Wrappers that `make` adds outside its own.
        vector_entry_point: A vector environment's class, function or place, for `make_vec`.
        autoreset: (Gym 0.26) Whether `make` adds `AutoResetWrapper`; `register` sets it.
        apply_api_compatibility: (Gym 0.26) Whether the entry point makes an environment of Gym
            0.21, around which `make` puts `EnvCompatibility`; `register` sets it.

    Example:
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

    # No fields, so that constructor, text and comparison are Gymnasium's.
    autoreset: ClassVar[bool] = False
    apply_api_compatibility: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Take the id apart."""
        self.namespace, self.name, self.version = parse_env_id(self.id)

    def make(self, **kwargs: Any) -> Env[Any, Any]:
        """Make the environment; see `gymcore.make`.

        Args:
            **kwargs: As for `gymcore.make`.
        """
        from gymcore.envs.making import make

        return make(self, **kwargs)

    def copy(self, **changes: Any) -> EnvSpec:
        """Return a copy, with some fields changed.

        Args:
            **changes: New values by field name.

        Returns:
            A spec of the same class. Containers in `kwargs` and in the wrappers' arguments are
            copied; other objects in them are shared, so copying is cheap and works for any object.
        """
        new = object.__new__(type(self))
        fields = new.__dict__
        fields.update(self.__dict__)
        if fields["kwargs"]:
            fields["kwargs"] = snapshot(fields["kwargs"])
        fields.update(changes)
        if fields["additional_wrappers"]:
            fields["additional_wrappers"] = tuple(
                WrapperSpec(wrapper.name, wrapper.entry_point, snapshot(wrapper.kwargs))
                for wrapper in fields["additional_wrappers"]
            )
        return new

    def to_json(self) -> str:
        """Return the spec as JSON.

        Returns:
            An object with every field that the constructor takes, and those of Gym 0.26 if true.

        Raises:
            InvalidArgument: if an entry point is a function or a class instead of "module:name".
            ArgumentTypeError: if an argument in `kwargs`, or of a wrapper, is nothing that JSON
                has.

        Example:
            >>> spec = EnvSpec("Maze-v0", entry_point="maze:Maze", kwargs={"size": 4})
            >>> EnvSpec.from_json(spec.to_json()) == spec
            True
        """
        import json

        content = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}
        content.update({name: True for name in LEGACY_FIELDS if getattr(self, name)})
        self._check_can_jsonify(content)
        content["additional_wrappers"] = [vars(wrapper) for wrapper in self.additional_wrappers]
        try:
            return json.dumps(content)
        except TypeError as error:
            raise ArgumentTypeError(
                f"{error}: {self._first_unjsonable()} of {self.id} cannot be written as JSON"
            ) from error

    def _first_unjsonable(self) -> str:
        """Return the name and value of the first argument that JSON has no form for."""
        import json

        owners: list[tuple[str, Mapping[str, Any]]] = [("kwargs", self.kwargs)]
        owners += [(f"{w.name} kwargs", w.kwargs or {}) for w in self.additional_wrappers]
        for owner, kwargs in owners:
            for name, value in kwargs.items():
                try:
                    json.dumps(value)
                except TypeError:
                    return f"{owner}[{name!r}] = {value!r}"
        return "a field"

    @staticmethod
    def _check_can_jsonify(env_spec: dict[str, Any]) -> None:
        """Raise if a field of the spec, given as a dict, is a function or a class."""
        for name, value in env_spec.items():
            if callable(value):
                raise InvalidArgument(
                    f"Callable found in {env_spec['id']} for {name} attribute with value={value}. "
                    "Currently, gymcore does not support serialising callables."
                )

    @staticmethod
    def from_json(json_env_spec: str) -> EnvSpec:
        """Return the spec that `to_json` wrote.

        Args:
            json_env_spec: The JSON text. Fields may be missing; a list stays a list, even if it was
                a tuple before it was written.

        Raises:
            InvalidArgument: if the text is no JSON object of a spec.
        """
        import json

        parsed = json.loads(json_env_spec)
        if not isinstance(parsed, dict):
            raise InvalidArgument(f"json_env_spec: expected a JSON object, got {json_env_spec!r}")
        legacy = {name: parsed.pop(name) for name in LEGACY_FIELDS if name in parsed}
        wrappers = []
        for wrapper in parsed.pop("additional_wrappers", ()):
            try:
                wrappers.append(WrapperSpec(**wrapper))
            except TypeError as error:
                raise InvalidArgument(
                    f"An issue occurred when trying to make {wrapper} a WrapperSpec"
                ) from error
        try:
            spec = EnvSpec(**parsed, additional_wrappers=tuple(wrappers))
        except (TypeError, Error) as error:
            raise InvalidArgument(
                f"An issue occurred when trying to make {parsed} an EnvSpec"
            ) from error
        vars(spec).update(legacy)
        return spec

    def pprint(
        self,
        disable_print: bool = False,
        include_entry_points: bool = False,
        print_all: bool = False,
    ) -> str | None:
        """Print the spec, a field a line.

        Args:
            disable_print: Return the text instead.
            include_entry_points: Print the entry points, of the wrappers too.
            print_all: Print fields that have their default value too.

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
