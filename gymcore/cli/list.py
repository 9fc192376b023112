"""`gymcore list`: the registered environments by family, and the missing requirements."""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import json
import warnings
from typing import NamedTuple

from gymcore.base.optional_packages import pip_install
from gymcore.cli.errors import CliError
from gymcore.core import Info
from gymcore.specs import EnvSpec

HELP = "list environment ids by family, and the packages that each family needs"


class Family(NamedTuple):
    """The requirements of a family of environments.

    Attributes:
        needs: Modules required to make the environments.
        renders: Modules required only for rendering.
        replaces: Whether a new version replaces an old one. Atari's versions are settings: -v0 has
            sticky actions, -v4 does not.
    """

    needs: tuple[str, ...] = ()
    renders: tuple[str, ...] = ()
    replaces: bool = True


# By folder below `gymcore.envs`. The requirements of other packages are unknown.
FAMILIES = {
    "classic_control": Family(renders=("pygame",)),
    "toy_text": Family(renders=("pygame",)),
    "box2d": Family(needs=("Box2D",), renders=("pygame",)),
    "mujoco": Family(needs=("mujoco",)),
    "atari": Family(needs=("ale_py",), replaces=False),
    "lbf": Family(renders=("pygame",)),
    "minigrid": Family(),
    "dm_control": Family(needs=("mujoco",)),
    "mamujoco": Family(needs=("mujoco",)),
    "mpe": Family(renders=("pygame",)),
    "rware": Family(renders=("pygame",)),
    "phys2d": Family(needs=("jax",), renders=("pygame",)),
    "tabular": Family(needs=("jax",), renders=("pygame",)),
}

# A family with more ids is listed only on request.
_MAX_LISTED = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore list`."""
    parser.add_argument(
        "pattern",
        nargs="?",
        metavar="PATTERN",
        help="list only ids that contain PATTERN, or match it if it has wildcards, such as "
        "'Humanoid*-v5'; case is ignored",
    )
    parser.add_argument("--family", metavar="NAME", help="list only this family")
    parser.add_argument(
        "--native", action="store_true", help="list only environments with a compiled engine"
    )
    parser.add_argument("--all", action="store_true", help="include ids that have a newer version")
    parser.add_argument(
        "--spaces", action="store_true", help="show the spaces (makes each environment)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print the registry, grouped by family; return 0."""
    import gymcore

    # A request for a version, or for JSON, includes replaced ids.
    pattern = arguments.pattern
    replaced = arguments.all or arguments.json or (pattern is not None and "-v" in pattern)
    families = by_family(include_replaced=replaced)
    if arguments.family is not None:
        if arguments.family not in families:
            raise CliError(
                f"--family: expected one of {', '.join(families)}, got {arguments.family!r}"
            )
        families = {arguments.family: families[arguments.family]}
    for family in families.values():
        family["environments"] = [
            environment
            for environment in family["environments"]
            if (pattern is None or _matches(environment["id"], pattern))
            and (environment["native"] or not arguments.native)
        ]
    chosen = arguments.family is not None or pattern is not None
    if chosen or arguments.native:
        families = {name: family for name, family in families.items() if family["environments"]}
    if not families:
        query = "the options" if pattern is None else repr(pattern)
        raise CliError(f"no id matches {query}; `gymcore list` shows all ids")
    if arguments.spaces:
        for family in families.values():
            for environment in family["environments"]:
                environment["spaces"] = _spaces(environment["id"])
    if arguments.json:
        print(json.dumps(families, indent=2))
        return 0
    for name, family in families.items():
        print(f"{name}  ({_state(family)})")
        if not chosen and len(family["environments"]) > _MAX_LISTED:
            print(f"  {len(family['environments'])} ids: gymcore list --family {name}\n")
            continue
        width = max(28, *(len(environment["id"]) + 2 for environment in family["environments"]))
        for environment in family["environments"]:
            marks = []
            if environment["native"]:
                marks.append("native")
            if environment["max_episode_steps"] is not None:
                marks.append(f"at most {environment['max_episode_steps']} steps")
            print(f"  {environment['id']:<{width}}{', '.join(marks)}".rstrip())
            for line in environment.get("spaces", ()):
                print(f"      {line}")
        print()
    total = sum(len(family["environments"]) for family in families.values())
    hidden = len(gymcore.registry) - total
    more = "" if chosen or arguments.native or not hidden else f" ({hidden} older ids: --all)"
    ids = "id" if total == 1 else "ids"
    print(f"{total} {ids}{more}; native = gymcore.make_vec makes a compiled vector environment")
    return 0


def by_family(*, include_replaced: bool = True) -> dict[str, Info]:
    """Return the registry by family in a form that JSON can represent.

    Args:
        include_replaced: Whether to include ids that have a newer version.

    Returns:
        Family name -> `installed` (bool), `missing` and `missing_rendering` (names of modules),
        `environments`: a list of `id`, `native` (bool) and `max_episode_steps` (int or None).
        Families and ids are sorted.

    Examples:
        >>> cartpole = by_family()["classic_control"]["environments"][1]
        >>> cartpole["id"], cartpole["native"]
        ('CartPole-v0', True)
    """
    import gymcore

    families: dict[str, Info] = {}
    specs: list[EnvSpec] = sorted(gymcore.registry.values(), key=lambda spec: spec.id)
    newest: dict[tuple[str | None, str], int] = {}
    for spec in specs:
        family_name = (spec.namespace, spec.name)
        newest[family_name] = max(newest.get(family_name, 0), spec.version or 0)
    for spec in specs:
        name = family_of(spec)
        family = FAMILIES.get(name, Family())
        is_old = (spec.version or 0) < newest[spec.namespace, spec.name]
        if is_old and family.replaces and not include_replaced:
            continue
        if name not in families:
            families[name] = {
                "installed": not _absent(family.needs),
                "missing": _absent(family.needs),
                "missing_rendering": _absent(family.renders),
                "environments": [],
            }
        families[name]["environments"].append(
            {
                "id": spec.id,
                "native": is_native(spec),
                "max_episode_steps": spec.max_episode_steps,
            }
        )
    return dict(sorted(families.items()))


def is_native(spec: EnvSpec) -> bool:
    """Return whether an `EnvSpec` has its own vector environment that does not use JAX."""
    family = FAMILIES.get(family_of(spec))
    return spec.vector_entry_point is not None and (family is None or "jax" not in family.needs)


def family_of(spec: EnvSpec) -> str:
    """Return the family of an `EnvSpec`: its folder below `gymcore.envs`, namespace or package."""
    entry_point = spec.entry_point or spec.vector_entry_point
    module = entry_point if isinstance(entry_point, str) else getattr(entry_point, "__module__", "")
    parts = module.split(":")[0].split(".")
    if parts[0] == "gymcore" and len(parts) > 2:
        return parts[2] if parts[1] == "envs" else parts[1]
    return str(spec.namespace or parts[0] or "other")


def _matches(env_id: str, pattern: str) -> bool:
    """Return whether an id contains the pattern, or matches its wildcards."""
    if any(sign in pattern for sign in "*?["):
        return fnmatch.fnmatchcase(env_id.lower(), pattern.lower())
    return pattern.lower() in env_id.lower()


def _spaces(env_id: str) -> list[str]:
    """Return lines with the spaces of an environment, or with the reason why it cannot be made."""
    import gymcore

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old versions warn, but are requested here
            env = gymcore.make(env_id)
    except Exception as error:
        return [" ".join(str(error).split())]
    spaces = {"observations": env.observation_space, "actions": env.action_space}
    env.close()
    return [f"{name:<13}{' '.join(str(space).split())}" for name, space in spaces.items()]


def _absent(modules: tuple[str, ...]) -> list[str]:
    """Return the modules that are not installed, without importing any."""
    return [name for name in modules if importlib.util.find_spec(name) is None]


def _state(family: Info) -> str:
    """Return whether a family is installed, or the command that installs it."""
    missing, undrawn = family["missing"], family["missing_rendering"]
    if missing:
        return f"needs {', '.join(missing)}: {pip_install(*missing, *undrawn)}"
    if undrawn:
        return f"installed; rendering needs {', '.join(undrawn)}: {pip_install(*undrawn)}"
    return "installed"
