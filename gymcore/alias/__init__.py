"""Aliases that make unchanged programs use gymcore when they import `gymnasium` or `gym`.

`python -m gymcore.alias script.py` runs a program in this way; a program can also call `install()`
in its first line. Both put a folder with packages of these names before the installed ones: in
`sys.path`, which `multiprocessing` passes to its workers under every start method, and in
`PYTHONPATH`, which other child processes inherit. These packages consist of a few lines that call
`install_alias`.
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

from gymcore import error, spaces
from gymcore.base import program
from gymcore.spaces.box import _BOUNDS
from gymcore.specs import registry

__all__ = ["ERAS", "install", "install_alias"]

ERAS = ("gymnasium==1.4", "gymnasium==0.29", "gym==0.26", "gym==0.21")
"""The versions that can be imported; each is a folder in `_PATHS`."""

_PATHS = Path(__file__).parent / "paths"


def install(era: str = "gymnasium==1.4", *, only: bool = False) -> None:
    """Make `import gymnasium` and `import gym` import gymcore, in this process and its children.

    Call it before the program imports either package. The packages need not be installed.

    Args:
        era: One of `ERAS`, the version that one of the packages stands for. The other stands for
            `gymnasium==1.4` or `gym==0.26`.
        only: Whether to leave out the other package, so that importing it fails if it is not
            installed. Libraries that compare the two, such as TorchRL, then see one.

    Raises:
        InvalidArgument: If `era` is not in `ERAS`.
        Error: If one of the packages has already been imported, so that both would be in use.

    Examples:
        >>> from gymcore.alias import install
        >>> install("gymnasium==2.0")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        gymcore.error.InvalidArgument: era: expected one of gymnasium==1.4, ...
    """
    if era not in ERAS:
        raise error.InvalidArgument(f"era: expected one of {', '.join(ERAS)}, got {era!r}")
    others = {} if only else {"gymnasium": "gymnasium==1.4", "gym": "gym==0.26"}
    chosen = {**others, era.partition("==")[0]: era}
    folders = [str(_PATHS / name) for name in chosen.values()]
    for package, folder in zip(chosen, folders, strict=True):
        module = sys.modules.get(package)
        if module is not None and not str(module.__file__).startswith(folder):
            raise error.Error(
                f"{package} is already imported, from {module.__file__}: call "
                "gymcore.alias.install() before, or use `python -m gymcore.alias`"
            )
    inherited = os.environ.get("PYTHONPATH")
    sys.path[:] = dict.fromkeys([*folders, *sys.path])
    inherited_folders = inherited.split(os.pathsep) if inherited else ()
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*folders, *inherited_folders]))


class _Finder(MetaPathFinder, Loader):
    """Finder and loader that import `gymnasium.x` as module `x` of a namespace or of gymcore."""

    def __init__(self, package: str, namespace: str) -> None:
        self.package = package
        self.namespace = namespace

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec with the module's real name in `loader_state`, or None if not found."""
        package, _, rest = name.partition(".")
        if package != self.package or not rest:
            return None
        candidates = [f"{self.namespace}.{rest}", f"gymcore.{rest}"]
        if self.namespace != "gymcore":
            from gymcore.compat.old_modules import JOINED

            for joined, modules in JOINED.items():
                if rest.startswith(f"{joined}.") and rest.removeprefix(f"{joined}.") in modules:
                    candidates[1:] = [f"{self.namespace}.{joined}", f"gymcore.{joined}"]
        parent, _, module = rest.partition(".")
        if parent == "envs" and "." in module:  # a family's package has the names of its modules
            candidates.insert(1, f"{self.namespace}.envs.{module.partition('.')[0]}")
        for candidate in candidates:
            with contextlib.suppress(ModuleNotFoundError):  # a parent is missing
                if importlib.util.find_spec(candidate):
                    return ModuleSpec(name, self, loader_state=candidate)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module by the real one."""
        assert module.__spec__ is not None
        real = importlib.import_module(module.__spec__.loader_state)
        sys.modules[module.__name__] = real


def install_alias(package: str, namespace: str, version: str) -> None:
    """Make a package that is being imported stand for a namespace of gymcore.

    Args:
        package: "gymnasium" or "gym", the package that calls this function.
        namespace: "gymcore", or a module of `gymcore.compat`.
        version: The value of `__version__`.
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
        # Gymnasium sets it too: programs rely on a stdout without pygame's banner.
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "hide")
        # Programs tell environments apart by the modules of their base classes.
        for core in (importlib.import_module("gymcore.core"), sys.modules[real.Wrapper.__module__]):
            for cls in filter(inspect.isclass, vars(core).values()):
                if cls.__module__ == core.__name__:
                    cls.__module__ = f"{package}.core"
        importlib.import_module(f"{package}.core")
        # Spaces are pickled under Gymnasium's names.
        for cls in filter(inspect.isclass, vars(spaces).values()):
            cls.__module__ = cls.__module__.replace("gymcore", package, 1)
            importlib.import_module(cls.__module__)
        spaces.Box.__getstate__ = _state_of_box  # type: ignore[assignment, method-assign]
        if namespace == "gymcore":
            program.package = package
            # Classes that are defined later have the program's names from the start.
            if loaded := sys.modules.get("gymcore.vector.vector_env"):
                _put_in_imported_modules(loaded.VectorEnv)
            for spec in [*registry.values()]:
                for name in ("entry_point", "vector_entry_point"):
                    place = getattr(spec, name)
                    if isinstance(place, str) and place.startswith("gymcore."):
                        setattr(spec, name, place.replace("gymcore", package, 1))
    if namespace != "gymcore":
        from gymcore.compat.gym26.envs.registration import load_env_plugins

        load_env_plugins(f"{package}.envs")


def _put_in_imported_modules(cls: type[object]) -> None:
    """Put a class of gymcore and its subclasses in the modules that the program imports."""
    if cls.__module__.startswith("gymcore."):
        program.put_in_imported_module(cls)
    for subclass in cls.__subclasses__():
        _put_in_imported_modules(subclass)


def _state_of_box(box: spaces.Box) -> dict[str, object]:
    """Return the state of a Gymnasium Box, whose bounds and their texts are never lazy."""
    repr(box)  # computes the texts
    state = spaces.Space.__getstate__(box)
    state.pop("_rows", None)
    return {**state, **{name: getattr(box, name) for name in _BOUNDS}}
