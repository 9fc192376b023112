"""The public functions for registering, finding, making and listing environments."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping, Sequence
from types import ModuleType

from gymcore import error, logger
from gymcore.envs.making import make, make_vec
from gymcore.specs import (
    ENV_ID_RE,
    Alias,
    EnvCreator,
    EnvSpec,
    VectorEnvCreator,
    VectorizeMode,
    WrapperSpec,
    aliases,
    find_highest_version,
    get_env_id,
    load_env_creator,
    parse_env_id,
    registry,
    spec,
)
from gymcore.specs.registered import keeps_batches

__all__ = [
    "ENV_ID_RE",
    "Alias",
    "EnvCreator",
    "EnvSpec",
    "VectorEnvCreator",
    "VectorizeMode",
    "WrapperSpec",
    "aliases",
    "current_namespace",
    "find_highest_version",
    "get_env_id",
    "load_env_creator",
    "make",
    "make_vec",
    "namespace",
    "parse_env_id",
    "pprint_registry",
    "register",
    "register_alias",
    "register_envs",
    "registry",
    "spec",
]

current_namespace: str | None = None
"""The namespace that `register` adds to ids, set by `namespace`."""


@contextlib.contextmanager
def namespace(ns: str) -> Generator[None, None, None]:
    """Add a namespace to every id that is registered in a `with` block.

    Args:
        ns: The namespace.

    Examples:
        >>> with namespace("games"):
        ...     register("Maze-v0", entry_point="games.mazes:Maze")
        >>> registry.pop("games/Maze-v0").name
        'Maze'
    """
    global current_namespace
    outer = current_namespace
    current_namespace = ns
    try:
        yield
    finally:
        current_namespace = outer


def _check_spec_register(testing_spec: EnvSpec) -> None:
    """Raise `RegistrationError` if the name is registered both with and without a version."""
    ns, name = testing_spec.namespace, testing_spec.name
    unversioned = get_env_id(ns, name, None)
    if testing_spec.version is not None and unversioned in registry:
        raise error.RegistrationError(
            f"Can't register the versioned environment `{testing_spec.id}` when the unversioned "
            f"environment `{unversioned}` of the same name already exists."
        )
    if testing_spec.version is None and (newest := find_highest_version(ns, name)) is not None:
        raise error.RegistrationError(
            f"Can't register the unversioned environment `{testing_spec.id}` when the versioned "
            f"environment `{get_env_id(ns, name, newest)}` of the same name already exists. Note: "
            "the default behavior is that `gym.make` with the unversioned environment will return "
            "the latest versioned environment"
        )


def register(
    id: str,
    entry_point: EnvCreator | str | None = None,
    reward_threshold: float | None = None,
    nondeterministic: bool = False,
    max_episode_steps: int | None = None,
    order_enforce: bool = True,
    disable_env_checker: bool = False,
    additional_wrappers: tuple[WrapperSpec, ...] = (),
    vector_entry_point: VectorEnvCreator | str | None = None,
    kwargs: dict[str, object] | None = None,
    *,
    compiled: bool = False,
) -> None:
    """Register an environment, so that `make` and `make_vec` find it.

    The arguments are the fields of `EnvSpec`; see there. An entry point "module:name" is imported
    when the environment is made. An id that is already registered is replaced, with a warning.

    Raises:
        InvalidArgument: If there is neither an entry point nor a vector entry point.
        RegistrationError: If the name is registered with versions and this id has none, or the
            reverse.
        Error: If the id is malformed.

    Examples:
        >>> register("Maze-v0", entry_point="games.mazes:Maze", max_episode_steps=100)
        >>> registry.pop("Maze-v0").max_episode_steps
        100
    """
    if entry_point is None and vector_entry_point is None:
        raise error.InvalidArgument(
            "Either `entry_point` or `vector_entry_point` (or both) must be provided"
        )
    ns, name, version = parse_env_id(id)
    custom = (kwargs or {}).get("namespace")
    if current_namespace is not None and custom not in (None, current_namespace):
        logger.warn(
            f"Custom namespace `{custom}` is being overridden by namespace `{current_namespace}`. "
            "A namespace belongs in the id, or around `register` in `with namespace(...)`; an "
            "argument of that name is given to the environment."
        )
    full_id = get_env_id(ns if current_namespace is None else current_namespace, name, version)
    new_spec = EnvSpec(
        id=full_id,
        entry_point=entry_point,
        reward_threshold=reward_threshold,
        nondeterministic=nondeterministic,
        max_episode_steps=max_episode_steps,
        order_enforce=order_enforce,
        disable_env_checker=disable_env_checker,
        kwargs={} if kwargs is None else dict(kwargs),
        additional_wrappers=tuple(additional_wrappers),
        vector_entry_point=vector_entry_point,
        compiled=compiled,
    )
    _check_spec_register(new_spec)
    if full_id in registry:
        if str(entry_point).startswith(("ale_py.", "minigrid.")):
            # These packages register their environments at import; single ones are built in. A
            # batch of ale-py has infos, emulators and partial batches that programs rely on.
            if vector_entry_point is not None and not keeps_batches.get():
                registry[full_id].vector_entry_point = vector_entry_point
            return
        logger.warn(f"Overriding environment {full_id} already in registry.")
    registry[full_id] = new_spec


def register_alias(old_id: str, new_id: str, *, change: str | None = None) -> None:
    """Register a retired id as an alias of its successor.

    An environment registered under `old_id` itself takes precedence. The alias does not appear in
    `registry`.

    Args:
        old_id: The retired id.
        new_id: The id to use instead; it may be registered later.
        change: None if the new environment behaves the same: the old id then makes the new
            environment, with a deprecation warning. Otherwise a description of the difference:
            the old id then raises `DeprecatedEnv` with this text.

    Raises:
        Error: If an id is malformed.

    Examples:
        >>> register("Maze-v1", entry_point="games.mazes:Maze")
        >>> register_alias("Labyrinth-v0", "Maze-v1", change="the start is drawn at random")
        >>> spec("Labyrinth-v0")
        Traceback (most recent call last):
        ...
        gymcore.error.DeprecatedEnv: The environment Labyrinth-v0 is deprecated, and its successor \
differs: the start is drawn at random. Please use `Maze-v1` instead.
        >>> del registry["Maze-v1"], aliases["Labyrinth-v0"]
    """
    parse_env_id(old_id)
    parse_env_id(new_id)
    aliases[old_id] = Alias(new_id, change)


def register_envs(env_module: ModuleType) -> None:
    """Do nothing; linters regard a module that is passed to this function as used.

    Args:
        env_module: The imported module.

    Examples:
        >>> import gymcore
        >>> register_envs(gymcore.envs)
    """


def _family(env_spec: EnvSpec) -> str | None:
    """Return the namespace of a spec, the package of its entry point, or None."""
    if env_spec.namespace is not None:
        return env_spec.namespace
    if not isinstance(env_spec.entry_point, str):
        return None
    packages = env_spec.entry_point.partition(":")[0].split(".")
    if len(packages) == 1:
        return env_spec.name
    return packages[min(2, len(packages) - 1)]


def pprint_registry(
    print_registry: Mapping[str, EnvSpec] = registry,
    *,
    num_cols: int = 3,
    exclude_namespaces: Sequence[str | None] | None = None,
    disable_print: bool = False,
) -> str | None:
    """Print the ids of a registry, grouped by family.

    Args:
        print_registry: The registry.
        num_cols: Number of ids per line.
        exclude_namespaces: Families to leave out; None stands for environments without one.
        disable_print: Whether to return the text instead of printing it.

    Returns:
        The text if `disable_print`, otherwise None.

    Raises:
        InvalidArgument: If `num_cols` is less than 1.

    Examples:
        >>> mazes = {"Maze-v0": EnvSpec("Maze-v0", entry_point="games.envs.mazes:Maze")}
        >>> pprint_registry(mazes)
        ===== mazes =====
        Maze-v0
    """
    if num_cols < 1:
        raise error.InvalidArgument(f"num_cols: expected at least 1, got {num_cols}")
    families: dict[str | None, list[str]] = {}
    specs = [*print_registry.values()]  # as another thread may register an id
    for env_spec in specs:
        families.setdefault(_family(env_spec), []).append(env_spec.id)
    width = max((len(env_spec.name) for env_spec in specs), default=0)

    lines = []
    for family, ids in families.items():
        if exclude_namespaces is not None and family in exclude_namespaces:
            continue
        lines.append(f"===== {family} =====")
        ids.sort()
        for start in range(0, len(ids), num_cols):
            row = (env_id.ljust(width) for env_id in ids[start : start + num_cols])
            lines.append(" ".join(row).rstrip())

    text = "\n".join(lines)
    if disable_print:
        return text
    print(text)
    return None
