"""Lets unchanged programs get gymcore when they import `gymnasium` or `gym`.

`python -m gymcore.alias script.py` runs a program in this way; a program can also call `install()`
in its first line. Both put a folder with packages of these names before the installed ones: into
`sys.path`, which `multiprocessing` gives to its workers under every start method, and into
`PYTHONPATH`, which other child processes inherit. Such a package has a few lines, which call
`stand_for`.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from gymcore import error, spaces
from gymcore.base import program
from gymcore.spaces.box import _BOUNDS
from gymcore.specs import registry

__all__ = ["ERAS", "install", "stand_for"]

ERAS = ("gymnasium==1.4", "gymnasium==0.29", "gym==0.26", "gym==0.21")
"""What can be imported; each is a folder in `_PATHS`."""

_PATHS = Path(__file__).parent / "paths"

# Modules of earlier versions whose names are in one package now.
_JOINED = {
    "vector": {"async_vector_env", "sync_vector_env", "vector_env"},
    "wrappers": {
        "atari_preprocessing",
        "autoreset",
        "clip_action",
        "compatibility",
        "env_checker",
        "filter_observation",
        "flatten_observation",
        "frame_stack",
        "gray_scale_observation",
        "human_rendering",
        "monitor",
        "monitoring",
        "monitoring.video_recorder",
        "normalize",
        "order_enforcing",
        "pixel_observation",
        "record_episode_statistics",
        "record_video",
        "render_collection",
        "rescale_action",
        "resize_observation",
        "step_api_compatibility",
        "time_aware_observation",
        "time_limit",
        "transform_observation",
        "transform_reward",
        "vector_list_info",
    },
}


def install(era: str = "gymnasium==1.4") -> None:
    """Let `import gymnasium` and `import gym` import gymcore, in this process and its children.

    Call it before anything imports them. These packages need not be installed.

    Args:
        era: The version that one of them stands for, one of `ERAS`. The other is `gymnasium==1.4`
            or `gym==0.26`.

    Raises:
        InvalidArgument: `era` is none of them.
        Error: One of the packages has already been imported, so the program would use both.

    Example:
        >>> from gymcore.alias import install
        >>> install("gymnasium==2.0")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        gymcore.error.InvalidArgument: era: expected one of gymnasium==1.4, ...
    """
    if era not in ERAS:
        raise error.InvalidArgument(f"era: expected one of {', '.join(ERAS)}, got {era!r}")
    chosen = {"gymnasium": "gymnasium==1.4", "gym": "gym==0.26", era.partition("==")[0]: era}
    folders = [str(_PATHS / name) for name in chosen.values()]
    for package, folder in zip(chosen, folders, strict=True):
        module = sys.modules.get(package)
        if module is not None and not str(module.__file__).startswith(folder):
            raise error.Error(
                f"{package} has been imported already, from {module.__file__}: call "
                "gymcore.alias.install() before, or use `python -m gymcore.alias`"
            )
    inherited = os.environ.get("PYTHONPATH")
    sys.path[:] = dict.fromkeys([*folders, *sys.path])
    given = inherited.split(os.pathsep) if inherited else ()
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*folders, *given]))


class _Finder(MetaPathFinder, Loader):
    """Imports `gymnasium.x` as module `x` of a namespace, or else of gymcore."""

    def __init__(self, package: str, namespace: str) -> None:
        self.package = package
        self.namespace = namespace

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec with the module's real name in `loader_state`; None if there is none."""
        package, _, rest = name.partition(".")
        if package != self.package or not rest:
            return None
        candidates = [f"{self.namespace}.{rest}", f"gymcore.{rest}"]
        parent, _, module = rest.partition(".")
        if self.namespace != "gymcore" and module in _JOINED.get(parent, ()):
            candidates.insert(1, f"{self.namespace}.{parent}")
        if parent == "envs" and "." in module:  # a file of a family, whose names the family has
            candidates.insert(1, f"{self.namespace}.envs.{module.partition('.')[0]}")
        for candidate in candidates:
            with contextlib.suppress(ModuleNotFoundError):  # of a parent
                if importlib.util.find_spec(candidate):
                    return ModuleSpec(name, self, loader_state=candidate)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put the real module in the place of the empty one."""
        assert module.__spec__ is not None
        real = importlib.import_module(module.__spec__.loader_state)
        sys.modules[module.__name__] = real


def stand_for(package: str, namespace: str, version: str) -> None:
    """Let a package that is being imported stand for a namespace of gymcore.

    Args:
        package: "gymnasium" or "gym", which calls this.
        namespace: "gymcore", or a module of `gymcore.compat`.
        version: What `__version__` says.
    """
    alias, real = sys.modules[package], importlib.import_module(namespace)
    vars(alias).update(
        __version__=version,
        __all__=real.__all__,
        __getattr__=lambda name: getattr(real, name),
        __dir__=lambda: dir(real),
    )
    sys.meta_path.insert(0, _Finder(package, namespace))
    if package == "gymnasium":
        # What Gymnasium loads and gymcore does not.
        importlib.import_module("gymcore.utils.passive_env_checker")
        # The names that spaces are pickled under.
        for cls in filter(inspect.isclass, vars(spaces).values()):
            cls.__module__ = cls.__module__.replace("gymcore", package, 1)
            importlib.import_module(cls.__module__)
        spaces.Box.__getstate__ = _state_of_box  # type: ignore[assignment, method-assign]
        if namespace == "gymcore":
            program.package = package
            for spec in registry.values():
                for name in ("entry_point", "vector_entry_point"):
                    place = getattr(spec, name)
                    if isinstance(place, str) and place.startswith("gymcore."):
                        setattr(spec, name, place.replace("gymcore", package, 1))
    if namespace != "gymcore":
        from gymcore.compat.gym26.envs.registration import load_env_plugins

        load_env_plugins(f"{package}.envs")


def _state_of_box(box: spaces.Box[Any]) -> dict[str, Any]:
    """Return what a box of Gymnasium is made of: bounds and their texts are never lazy there."""
    repr(box)  # makes the texts
    state = spaces.Space.__getstate__(box)
    state.pop("_rows", None)
    return {**state, **{name: getattr(box, name) for name in _BOUNDS}}
