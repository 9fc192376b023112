"""Pictures of the lanes of a compiled batch: one a lane, one of them all, or a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.native.lanes import lane_envs

if TYPE_CHECKING:
    from gymcore.native.vector_env import NativeVectorEnv

Frame = npt.NDArray[np.uint8]

# Height and width that a window may take: larger batches are shown smaller.
WINDOW_ROOM = (840, 1280)


class Pictures:
    """Draws a native vector environment, and has its window if there is one."""

    def __init__(self) -> None:
        """Begin without a window."""
        self._window: Any = None

    def rendered(self, envs: NativeVectorEnv) -> tuple[Any, ...] | None:
        """What `render` returns in the render mode of the environment."""
        if envs.render_mode is None:
            logger.warn(
                f"render: {envs} was made without a render mode, so there is nothing to show; give "
                'make_vec a render_mode, e.g. render_mode="rgb_array"'
            )
            return None
        if envs.render_mode == "human":
            self.show(envs)
            return None
        return self.texts(envs) if envs.render_mode == "ansi" else self.frames(envs)

    def frames(self, envs: NativeVectorEnv) -> tuple[Frame, ...]:
        """A frame [height, width, 3] uint8 of every lane."""
        _check_ready(envs)
        states = envs.get_attr("state")
        lanes = zip(lane_envs(envs), states, strict=True)
        return tuple(env._picture("rgb_array", state) for env, state in lanes)  # type: ignore[misc]

    def texts(self, envs: NativeVectorEnv) -> tuple[str, ...]:
        """What every lane looks like in letters."""
        _check_ready(envs)
        return tuple(env.text() for env in lane_envs(envs))

    def tiled(self, envs: NativeVectorEnv, columns: int | None) -> Frame:
        """All lanes in one frame [rows * height, columns * width, 3] uint8."""
        from gymcore.rendering.tiling import tile_frames

        return tile_frames(self.frames(envs), columns)

    def show(self, envs: NativeVectorEnv) -> None:
        """Show all lanes in the window, which is opened if need be."""
        from gymcore.rendering.frames import Renderer, draw_frame

        frame = self.tiled(envs, None)
        if self._window is None:
            sides = frame.shape[:2]
            scale = min(1.0, WINDOW_ROOM[0] / sides[0], WINDOW_ROOM[1] / sides[1])
            height, width = (max(1, round(side * scale)) for side in sides)
            title = repr(envs) if envs.spec is None else f"{envs.spec.id} x {envs.num_envs}"
            fps = envs.metadata["render_fps"]
            self._window = Renderer(draw_frame, (width, height), fps, "human", title)
        self._window.render(frame)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None


def _check_ready(envs: NativeVectorEnv) -> None:
    if not envs._batch.is_ready:
        raise error.ResetNeeded("render: expected reset() before the first render()")
