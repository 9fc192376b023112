"""Base of the compiled environments over Box2D: worlds as the package's objects."""

from __future__ import annotations

import dis
from importlib import import_module
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, Info, ObsType, Options
from gymcore.envs.box2d.box2d_env import Body, Box2D, Definition, DrawnBox2DEnv, Joint, World
from gymcore.envs.box2d.library import library_functions
from gymcore.native.env import NativeEnv, NativeEnvMeta, warn_of_python
from gymcore.native.state import digest
from gymcore_ext.box2d.worlds import Worlds
from gymcore_ext.engine.batch import Batch


class EpisodeField:
    """An attribute of an environment that is a field of its lane's episode."""

    def __init__(self, kind: type[bool | float]) -> None:
        self.kind = kind
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, env: Any, owner: type) -> Any:
        return self if env is None else self.kind(env._episode[self.name])

    def __set__(self, env: Any, value: float) -> None:
        env._episode[self.name] = self.kind(value)


class BodyOf(Box2D.b2Body):
    """A body of the world with attributes that Gymnasium's environments give it.

    It is one more object of the package for the same body, and equal to the others.
    """

    def __init__(self, body: Body) -> None:
        self.this = body.this


class Foot(BodyOf):
    """A body with an attribute for contact with the ground."""

    def __init__(self, body: Body, joint: Joint, touches: npt.NDArray[np.int32]) -> None:
        super().__init__(body)
        self.joint, self._touches = joint, touches

    @property
    def ground_contact(self) -> bool:
        """Whether it touches the ground now."""
        return bool(self._touches[0])

    @ground_contact.setter
    def ground_contact(self, value: bool) -> None:
        self._touches[0] = bool(value)


# Version of what worlds.pyx saves of a lane: states of another one are rejected.
STATE_VERSION = 4


class _CompiledBox2DEnvMeta(NativeEnvMeta):
    """Lets a class that overrides one of `compiled_methods` inherit from `python_class` instead.

    Only the environment in Python calls these methods, as Gymnasium's does. A class also inherits
    from it if its methods assign what compiled code computes, as those of Gymnasium do, or use one
    of `python_names`.
    """

    def mro(cls) -> list[type]:
        """Return the order of inheritance, in which `python_class` may replace compiled classes."""
        order = super().mro()
        compiled: Any = next((base for base in order if "python_class" in vars(base)), cls)
        overridden = {
            name
            for base in order[: order.index(compiled)]
            for name, value in vars(base).items()
            if name in compiled.compiled_methods or _needs_python(value, compiled)
        }
        if not overridden:
            return order
        warn_of_python(cls, min(overridden))
        type.__setattr__(cls, "in_python", tuple(sorted(overridden)))
        python = compiled.python_class.__mro__
        return [*(base for base in order if base not in (*compiled.__mro__, *python)), *python]

    def __setattr__(cls, name: str, value: object) -> None:
        """Set an attribute of the class; a method may change the order of inheritance."""
        super().__setattr__(name, value)
        # As cloudpickle does.
        if name in getattr(cls, "compiled_methods", ()) or _needs_python(value, cls):
            cls.__bases__ = cls.__bases__  # calls mro()


def _needs_python(method: object, cls: Any) -> bool:
    """Return whether a method uses `python_names`, or assigns a read-only property."""
    if not isinstance(method, FunctionType):
        return False
    assigned = {x.argval for x in dis.get_instructions(method) if x.opname == "STORE_ATTR"}
    attributes = [getattr(cls, name, None) for name in assigned]
    return not cls.python_names.isdisjoint(method.__code__.co_names) or any(
        isinstance(x, property) and not x.fset for x in attributes
    )


class CompiledBox2DEnv(
    DrawnBox2DEnv[ObsType, ActType], NativeEnv[ObsType, ActType], metaclass=_CompiledBox2DEnvMeta
):
    """Base of the compiled environments over Box2D.

    Attributes such as `world` are the package's objects over the memory that compiled code steps:
    read and change them between steps. They belong to one episode.
    """

    lanes: ClassVar[type[Worlds]]
    # The same environment in Python, which calls `compiled_methods`.
    python_class: ClassVar[type]
    # Attributes that only the environment in Python has as Gymnasium does.
    python_names: ClassVar[frozenset[str]] = frozenset()
    _not_pickled = (*NativeEnv._not_pickled, "_view")
    # The number of builds of the world when its bodies were read, and these bodies.
    _view: tuple[int, list[Body]] = (0, [])
    # The action of the step that `reset` makes, through a subclass's `step`, as in Gymnasium;
    # None if `reset` never calls `step`.
    first_action: Any = None

    def _kernel(self) -> object:
        """Return the kernel for the arguments."""
        return import_module(self.kernel_module).kernel

    def _definitions(self) -> list[Definition]:
        """Return the definitions and shapes of a world, in the order that compiled code expects."""
        raise NotImplementedError

    def _lane_options(self) -> dict[str, object]:
        """Return further arguments of `lanes`."""
        return {}

    object_bytes = 4_096

    def make_batch(self, num_envs: int, **options: Any) -> Batch:
        """Return a batch of worlds.

        Raises:
            DependencyNotInstalled: If Box2D cannot be called from compiled code.
        """
        kernel = self._kernel()
        lanes = self.lanes(
            kernel=kernel,
            functions=library_functions(),
            worlds=[Box2D.b2World() for _ in range(num_envs)],
            definitions=self._definitions(),
            error=error.Error,
            **self._lane_options(),
        )
        return Batch(kernel, num_envs, errors=error, store=lanes, **options)

    def _own_batch(self) -> Batch:
        """Return a batch of one, which leaves the first step to a `step` of a subclass."""
        batch = super()._own_batch()
        if self._first_step_is_overridden():
            batch.store.leave_first_step()
        return batch

    def _first_step_is_overridden(self) -> bool:
        return self.first_action is not None and self._override("step") is not None

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Begin an episode; see `NativeEnv.reset`."""
        results = super().reset(seed=seed, options=options)
        if self._first_step_is_overridden():
            return self.step(self.first_action)[0], results[1]
        return results

    def fixed_digest(self) -> int:
        """Digest of the class and its arguments."""
        arguments = [getattr(self, name) for name in self.arguments]
        return digest(repr((STATE_VERSION, self.kernel_module, arguments)).encode())

    # --- the package's objects -----------------------------------------------------------------

    @property
    def _episode(self) -> Any:
        """The episode of the lane, to read and to write."""
        return self._batch.store.episodes[self._lane]

    @property
    def _world(self) -> World:
        return self._batch.store.worlds[self._lane]

    @property
    def _bodies(self) -> list[Body]:
        """The bodies of the world in the order of creation; empty before the first reset."""
        builds = self._batch.store.builds(self._lane)
        if self._view[0] != builds:
            self._view = builds, self._with_gymnasium_attributes(self._world.bodies)
        return self._view[1]

    def _with_gymnasium_attributes(self, bodies: list[Body]) -> list[Body]:
        """Return bodies that were just made with the attributes that Gymnasium gives them."""
        return bodies

    def _has_begun(self) -> bool:
        return self._batch.is_ready
