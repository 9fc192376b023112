"""Environments over Box2D in compiled code: lanes as the package shows them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType
from gymcore.envs.box2d.box2d_env import Box2D, draw_of
from gymcore.envs.box2d.library import library_functions
from gymcore.native.env import NativeEnv
from gymcore.native.state import digest
from gymcore_ext.box2d.worlds import Worlds
from gymcore_ext.engine.batch import Batch


class Counted:
    """An attribute of an environment that its lane's progress holds."""

    def __init__(self, kind: Callable[[Any], Any]) -> None:
        """Take the type of its values."""
        self.kind = kind
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        """Learn the attribute's name."""
        self.name = name

    def __get__(self, env: Any, owner: Any) -> Any:
        """The lane's value."""
        return self if env is None else self.kind(env._progress[self.name])

    def __set__(self, env: Any, value: Any) -> None:
        """Write the lane's value."""
        env._progress[self.name] = self.kind(value)


class _Foot(Box2D.b2Body):
    """A body that says whether it touches the ground."""

    @property
    def ground_contact(self) -> bool:
        """Whether it does, now."""
        return bool(self._touches[0])

    @ground_contact.setter
    def ground_contact(self, value: bool) -> None:
        self._touches[0] = bool(value)


def foot(body: Any, joint: Any, touches: npt.NDArray[np.int32]) -> None:
    """Give a body `joint` and `ground_contact`, which is an element of the lane's progress."""
    body.joint, body._touches, body.__class__ = joint, touches, _Foot


class CompiledBox2DEnv(NativeEnv[ActType]):
    """Base of the compiled environments over Box2D.

    Attributes such as `world` are the package's objects over the memory that compiled code steps:
    read and change them between steps. They belong to one episode.
    """

    lanes: ClassVar[type[Worlds]]
    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 50}  # noqa: RUF012
    # The package's bodies, and of which building of the world they are.
    _found: tuple[int, list[Any]] = (0, [])

    def _kernel(self) -> Any:
        """Return the kernel for the arguments."""
        return import_module(self.kernel_module).kernel

    def _definitions(self) -> list[Any]:
        """Return what worlds are made of, in the order that compiled code counts on."""
        raise NotImplementedError

    def _lane_options(self) -> dict[str, Any]:
        """Return what `lanes` takes besides."""
        return {}

    def make_batch(self, num_envs: int, **options: Any) -> Batch:  # type: ignore[override]
        """Return a batch of worlds.

        Raises:
            DependencyNotInstalled: Box2D cannot be called from compiled code.
        """
        lanes = self.lanes(
            functions=library_functions(),
            worlds=[Box2D.b2World() for _ in range(num_envs)],
            definitions=self._definitions(),
            error=error.Error,
            **self._lane_options(),
        )
        return Batch(self._kernel(), num_envs, errors=error, constants=lanes, **options)

    def fixed_digest(self) -> int:
        """Digest of the class and its arguments."""
        arguments = [getattr(self, name) for name in self.arguments]
        return digest(repr((self.kernel_module, arguments)).encode())

    def __getstate__(self) -> dict[str, Any]:
        """Return what `NativeEnv` does; the package's objects are made again."""
        state = super().__getstate__()
        state.pop("_found", None)
        return state

    # --- the package's objects -----------------------------------------------------------------

    @property
    def _progress(self) -> Any:
        """The numbers of the lane, to read and to write."""
        return self._batch.constants.progress[self._lane]

    @property
    def _world(self) -> Any:
        return self._batch.constants.worlds[self._lane]

    @property
    def _bodies(self) -> list[Any]:
        """The bodies of the world in the order of creation; empty before the first reset."""
        builds = self._batch.constants.builds(self._lane)
        if self._found[0] != builds:
            bodies = self._world.bodies
            self._made_bodies(bodies)
            self._found = builds, bodies
        return self._found[1]

    def _made_bodies(self, bodies: list[Any]) -> None:
        """Complete objects of bodies that were just made."""

    # --- rendering -----------------------------------------------------------------------------

    def _draw(self, surface: Any) -> None:
        """Draw the current state; every pixel is overwritten."""
        raise NotImplementedError

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The frame [400, 600, 3] uint8 for "rgb_array"; a window and None for "human".

        Raises:
            ResetNeeded: before the first reset.
            DependencyNotInstalled: pygame is not installed.
        """
        if not self._has_render_mode():
            return None
        if not self._batch.is_ready:
            raise error.ResetNeeded("render: call reset() first")
        return self._render_frame(str(self.render_mode), None)

    def _render_frame(self, render_mode: str, state: Any) -> Any:
        return self._drawn(draw_of, render_mode, self)
