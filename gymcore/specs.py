"""Specs of environments: their ids, what `register` stores, and how `make` finds it by an id."""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, Protocol

from gymcore import error, logger
from gymcore.base.optional_packages import pip_install
from gymcore.base.record_constructor import snapshot
from gymcore.error import ArgumentTypeError, Error, InvalidArgument

_ENV_ID = re.compile(r"(?:([\w:-]+)/)?([\w:.-]+?)(?:-v(\d+))?")


def parse_env_id(env_id: str) -> tuple[str | None, str, int | None]:
    """Split an id into its parts.

    Args:
        env_id: `[namespace/]name[-v(version)]`.

    Returns:
        A tuple of the namespace (or None), the name, and the version (or None).

    Raises:
        Error: if the id does not have that form.
        ArgumentTypeError: if it is not a string.

    Example:
        >>> parse_env_id("ALE/Pong-v5")
        ('ALE', 'Pong', 5)
        >>> parse_env_id("CartPole")
        (None, 'CartPole', None)
    """
    if not isinstance(env_id, str):
        raise ArgumentTypeError(f"env_id: expected a string, got {env_id!r} ({type(env_id)})")
    match = _ENV_ID.fullmatch(env_id)
    if match is None:
        raise Error(
            f"Malformed environment ID: {env_id}. (Currently all IDs must be of the form "
            "[namespace/](env-name)-v(version). (namespace is optional))"
        )
    namespace, name, version = match.groups()
    return namespace, name, None if version is None else int(version)


def get_env_id(ns: str | None, name: str, version: int | None) -> str:
    """Put an id together; the opposite of `parse_env_id`.

    Args:
        ns: The namespace, or None.
        name: The name.
        version: The version, or None.

    Returns:
        The id.

    Example:
        >>> get_env_id("ALE", "Pong", 5)
        'ALE/Pong-v5'
    """
    full_name = name if ns is None else f"{ns}/{name}"
    return full_name if version is None else f"{full_name}-v{version}"


class EnvCreator(Protocol):
    """A callable that makes an environment: a subclass of `Env`, or a function."""

    def __call__(self, **kwargs: Any) -> Any:
        """Make an environment."""
        ...


class VectorEnvCreator(Protocol):
    """A callable that makes a vector environment: a subclass of `VectorEnv`, or a function."""

    def __call__(self, **kwargs: Any) -> Any:
        """Make a vector environment."""
        ...


class EntryPointFromJson(str):
    """An entry point from a text that may not be yours: `load_creator` restricts what it may name.

    The mark is on the name itself, so that copies of a spec, its pickles, and specs that are made
    of its fields keep it.
    """


class VectorizeMode(Enum):
    """How `make_vec` runs several copies of an environment.

    Attributes:
        ASYNC: One after another in a pool of worker processes.
        SYNC: One after another in this process.
        VECTOR_ENTRY_POINT: All at once, by the vector environment that was registered for the id.
        NATIVE: The same as `VECTOR_ENTRY_POINT`.
        REMOTE: On another machine, by a server (`gymcore serve`).
        RAY: In actors of a Ray cluster, each with a part of the batch.
    """

    ASYNC = "async"
    SYNC = "sync"
    VECTOR_ENTRY_POINT = "vector_entry_point"
    NATIVE = "native"
    REMOTE = "remote"
    RAY = "ray"


program_package = "gymcore"
"""The package that the program imports; `gymcore.alias` changes it."""


def place_of(cls: type) -> str:
    """Return where a class is, "module:name", for programs that import `program_package`."""
    module = cls.__module__
    if module.startswith("gymcore."):
        module = module.replace("gymcore", program_package, 1)
    return f"{module}:{cls.__name__}"


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

    def __post_init__(self) -> None:
        """Split the id into its parts."""
        self.namespace, self.name, self.version = parse_env_id(self.id)

    def make(self, **kwargs: Any) -> Any:
        """Make the environment; see `gymcore.make`.

        Args:
            **kwargs: As for `gymcore.make`.
        """
        from gymcore.envs.registration import make

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
            An object with every field that the constructor takes.

        Raises:
            InvalidArgument: if an entry point is a function or a class instead of "module:name".
            ArgumentTypeError: if an argument in `kwargs`, or of a wrapper, has no form in
                JSON.

        Example:
            >>> spec = EnvSpec("Maze-v0", entry_point="maze:Maze", kwargs={"size": 4})
            >>> EnvSpec.from_json(spec.to_json()) == spec
            True
        """
        import json

        content = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}
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
    def from_json(json_env_spec: str, trusted: bool = False) -> EnvSpec:
        """Return the spec that `to_json` wrote.

        `make` and `make_vec` import the modules that the entry points name and call what they find
        there. Unless `trusted`, they do so only for entry points of registered ids. For others,
        they import only modules of gymcore, and call only classes of environments and wrappers:
        those of gymcore, and of modules that your program has imported. Anything else raises
        `InvalidArgument`. Arguments are used as the text gives them.

        Args:
            json_env_spec: The JSON text. Fields may be missing; a list stays a list, even if it was
                a tuple before it was written.
            trusted: Whether entry points may be anything, as in a spec that you make yourself.

        Raises:
            InvalidArgument: if the text is not a JSON object of a spec.
        """
        import json

        parsed = json.loads(json_env_spec)
        if not isinstance(parsed, dict):
            raise InvalidArgument(f"json_env_spec: expected a JSON object, got {json_env_spec!r}")
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
        for owner in () if trusted else (spec, *wrappers):
            for field_name in ("entry_point", "vector_entry_point"):
                if isinstance(entry_point := getattr(owner, field_name, None), str):
                    setattr(owner, field_name, EntryPointFromJson(entry_point))
        return spec

    def pprint(
        self,
        disable_print: bool = False,
        include_entry_points: bool = False,
        print_all: bool = False,
    ) -> str | None:
        """Print the spec, one field per line.

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


registry: dict[str, EnvSpec] = {}
"""Every registered environment, by id."""


class Alias(NamedTuple):
    """A retired id.

    Attributes:
        new_id: The id to use instead.
        change: None if `new_id` behaves the same; else what is different, in words.
    """

    new_id: str
    change: str | None = None


aliases: dict[str, Alias] = {}
"""Retired ids, by id. An id that is registered too is found in `registry`."""


def load_env_creator(name: str) -> Callable[..., Any]:
    """Import the class or function that "module:attribute" names.

    Raises an `ArgumentTypeError` if `name` is not a string, an `InvalidArgument` if it has another
    form, and what Python raises for a missing module or attribute.

    Example:
        >>> load_env_creator("math:gcd")(12, 18)
        6
    """
    if not isinstance(name, str):
        raise error.ArgumentTypeError(f"entry point: expected 'module:attribute', got {name!r}")
    parts = name.split(":")
    if len(parts) != 2:
        raise error.InvalidArgument(f"entry point: expected 'module:attribute', got {name!r}")
    return getattr(importlib.import_module(parts[0]), parts[1])


def load_creator(entry_point: Any, base: type) -> Callable[..., Any]:
    """Return the class or function that an entry point of a spec is or names.

    Raise an `InvalidArgument` for a name from JSON that is not registered, unless its module is one
    of gymcore or imported already, and it is the name of a class derived from `base`.
    """
    if callable(entry_point):
        return entry_point
    if not isinstance(entry_point, EntryPointFromJson) or any(
        entry_point in (each.entry_point, each.vector_entry_point) for each in registry.values()
    ):
        return load_env_creator(entry_point)
    module = entry_point.partition(":")[0]
    if module.startswith(("gymcore.", f"{program_package}.")) or module in sys.modules:
        creator = load_env_creator(entry_point)
        if isinstance(creator, type) and issubclass(creator, base):
            return creator
    raise InvalidArgument(
        f"the entry point {entry_point!r} in JSON is neither registered nor a class derived from "
        f"{base.__name__} in a module that is imported; import it, or allow anything by "
        "EnvSpec.from_json(text, trusted=True)"
    )


def _versioned_specs(ns: str | None, name: str) -> dict[int, EnvSpec]:
    """Return the registered versions of an environment."""
    return {
        spec.version: spec
        for spec in registry.values()
        if spec.name == name and spec.namespace == ns and spec.version is not None
    }


def find_highest_version(ns: str | None, name: str) -> int | None:
    """Return the newest registered version of an environment.

    Args:
        ns: Its namespace, or None.
        name: Its name.

    Returns:
        The version, or None if no version of it is registered.
    """
    return max(_versioned_specs(ns, name), default=None)


def _closest(word: str, words: set[str]) -> str | None:
    """Return the one of `words` that `word` may be a typo of."""
    import difflib

    by_lower_case = {known.lower(): known for known in sorted(words)}
    matches = difflib.get_close_matches(word.lower(), by_lower_case, n=1)
    return by_lower_case[matches[0]] if matches else None


def check_namespace_exists(ns: str | None) -> None:
    """Raise `NamespaceNotFound`, with a suggestion, if no registered id is in `ns`."""
    namespaces = {spec.namespace for spec in registry.values() if spec.namespace is not None}
    if ns is None or ns in namespaces:
        return
    suggestion = _closest(ns, namespaces)
    hint = (
        f"Did you mean: `{suggestion}`?"
        if suggestion
        else f"Have you installed the proper package for {ns}?"
    )
    raise error.NamespaceNotFound(f"Namespace {ns} not found. {hint}")


def check_name_exists(ns: str | None, name: str) -> None:
    """Raise `NameNotFound`, with a suggestion, if `ns` holds no environment `name`."""
    check_namespace_exists(ns)
    names = {spec.name for spec in registry.values() if spec.namespace == ns}
    if name in names:
        return
    suggestion = _closest(name, names)
    place = f" in namespace {ns}" if ns else ""
    hint = f"Did you mean: `{suggestion}`? " if suggestion else ""
    raise error.NameNotFound(
        f"Environment `{name}` doesn't exist{place}. {hint}"
        "`gymcore list` prints all ids; importing another package registers its own."
    )


def check_version_exists(ns: str | None, name: str, version: int | None) -> None:
    """Raise, with a suggestion, if this version (None: the one without) is not registered."""
    if get_env_id(ns, name, version) in registry:
        return
    check_name_exists(ns, name)
    if version is None:
        return
    full_name = get_env_id(ns, name, None)
    versions = sorted(_versioned_specs(ns, name))
    message = f"Environment version `v{version}` for environment `{full_name}` doesn't exist."
    if not versions:
        raise error.DeprecatedEnv(f"{message} It provides the default version `{full_name}`.")
    if version > versions[-1]:
        listed = ", ".join(f"`v{known}`" for known in versions)
        others = [known for known in registry if known.endswith(f"/{name}-v{version}")]
        hint = f" Did you mean: `{others[0]}`?" if others else ""
        raise error.VersionNotFound(
            f"{message} It provides versioned environments: [ {listed} ].{hint}"
        )
    raise error.DeprecatedEnv(
        f"Environment version v{version} for `{full_name}` is deprecated. "
        f"Please use `{get_env_id(ns, name, versions[-1])}` instead."
    )


def follow_alias(env_id: str) -> EnvSpec | None:
    """Return what a retired id stands for now, with a deprecation warning, or None.

    Raises:
        DeprecatedEnv: if the new environment behaves differently.
    """
    alias = aliases.get(env_id)
    if alias is None or alias.new_id not in registry:
        return None
    if alias.change is not None:
        raise error.DeprecatedEnv(
            f"The environment {env_id} is deprecated, and its successor differs: {alias.change}. "
            f"Please use `{alias.new_id}` instead."
        )
    logger.deprecation(
        f"The environment {env_id} is out of date. It is now called `{alias.new_id}` and behaves "
        "the same; please use that id."
    )
    return registry[alias.new_id]


def spec(env_id: str) -> EnvSpec:
    """Return the registered spec of an id.

    Args:
        env_id: `[namespace/]name[-v(version)]`, exactly as registered; or "gymnasium:" and an id of
            Gymnasium's registry.

    Returns:
        The spec itself, not a copy.

    Raises:
        Error: one of the registry's errors, with a suggestion, if the id is not registered.

    Example:
        >>> spec("CartPole-v1").max_episode_steps
        500
    """
    match = registry.get(env_id) if isinstance(env_id, str) else None
    if match is None and isinstance(env_id, str) and env_id.startswith(GYMNASIUM):
        return _gymnasium_spec(env_id)
    if match is None and (match := follow_alias(env_id)) is None:
        ns, name, version = parse_env_id(env_id)
        check_version_exists(ns, name, version)
        raise error.Error(f"No registered env with id: {env_id}")
    return match


GYMNASIUM = "gymnasium:"
"""What an id of an environment that is registered with Gymnasium begins with."""


def from_gymnasium_spec(theirs: Any) -> EnvSpec | None:
    """Return a spec of Gymnasium's as one of gymcore's, whose id begins with "gymnasium:".

    The result is None for None, and for a spec with wrappers, because these wrap Gymnasium's
    classes only. A spec of gymcore's (under the alias) is returned unchanged.
    """
    if theirs is None or isinstance(theirs, EnvSpec):
        return theirs
    if theirs.additional_wrappers:
        return None
    ours = (field.name for field in dataclasses.fields(EnvSpec) if field.init)
    fields: dict[str, Any] = {name: getattr(theirs, name, None) for name in ours}
    fields.update(id=GYMNASIUM + theirs.id, kwargs=dict(theirs.kwargs), vector_entry_point=None)
    return EnvSpec(**{**fields, "additional_wrappers": ()})


def _gymnasium_spec(env_id: str) -> EnvSpec:
    """Return the spec of "gymnasium:[module:]id", from Gymnasium's registry."""
    try:
        registration = importlib.import_module("gymnasium.envs.registration")
    except ModuleNotFoundError as missing:
        raise error.DependencyNotInstalled(
            f"{env_id} is made by the package gymnasium: run `{pip_install('gymnasium')}`"
        ) from missing
    name = _import_prefix(env_id.removeprefix(GYMNASIUM))
    try:
        theirs = registration.spec(name)
    except registration.error.Error as problem:
        raise error.UnregisteredEnv(f"{env_id}: Gymnasium has no such id: {problem}") from problem
    spec = from_gymnasium_spec(theirs)
    if spec is None:
        raise error.Error(
            f"{env_id} is registered with wrappers: make it with gymnasium.make, and bring it here "
            "with gymcore.interop.gymnasium.from_gymnasium"
        )
    return spec


def _import_prefix(env_id: str) -> str:
    """Import the module of "module:id" and return the id."""
    module, separator, rest = env_id.partition(":")
    if not separator:
        return env_id
    if ":" in rest:
        raise error.InvalidArgument(f"id: expected '[module:]id', got {env_id!r}")
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"{missing}. Environment registration via importing a module failed. "
            f"Check whether '{module}' contains env registration and can be imported."
        ) from missing
    return rest


def _warn_of_newer(env_id: str) -> None:
    """Warn if there is a newer version, whether this one is still there or not."""
    ns, name, version = parse_env_id(env_id)
    newest = None if version is None else find_highest_version(ns, name)
    if newest is not None and version is not None and newest > version:
        logger.deprecation(
            f"The environment {env_id} is out of date. "
            f"You should consider upgrading to version `v{newest}`."
        )


def find_spec(env_id: str) -> EnvSpec:
    """Return the spec that `make(env_id)` uses.

    Unlike `spec`, this imports the module of "module:id", takes the newest version if none is
    given, and warns when there is a newer one.

    Args:
        env_id: `[module:][namespace/]name[-v(version)]`; or "gymnasium:" and an id of Gymnasium's
            registry, which may have a module too.

    Raises:
        DependencyNotInstalled: if the id is one of Gymnasium's, which is missing.
        ModuleNotFoundError: if the module cannot be imported.
        Error: one of the registry's errors, with a suggestion, if the id is not registered.
    """
    if env_id.startswith(GYMNASIUM):
        return _gymnasium_spec(env_id)
    env_id = _import_prefix(env_id)
    match = registry.get(env_id)
    if match is not None or env_id not in aliases:
        _warn_of_newer(env_id)
    if match is None:
        if (aliased := follow_alias(env_id)) is not None:
            return aliased
        ns, name, version = parse_env_id(env_id)
        versions = _versioned_specs(ns, name)
        if version is None and versions:
            latest = versions[max(versions)]
            logger.warn(
                f"Using the latest versioned environment `{latest.id}` "
                f"instead of the unversioned environment `{env_id}`."
            )
            return latest
        check_version_exists(ns, name, version)
        raise error.Error(
            f"No registered env with id: {env_id}. Did you register it, or import the package that "
            "registers it? Use `gymcore.pprint_registry()` to see all of the registered "
            "environments."
        )
    return match
