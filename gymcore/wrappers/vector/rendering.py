"""Wrappers about the pictures of a batch: collect, show and film what its lanes render."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, ObsType
from gymcore.rendering.window import Window, load_pygame
from gymcore.utils import RecordConstructorArgs
from gymcore.rendering.video_files import as_rgb
from gymcore.vector.vector_env import ArrayType, VectorEnv
from gymcore.vector.vector_wrappers import VectorWrapper
from gymcore.rendering.tiling import columns_for
from gymcore.wrappers.vector.lane_episodes import LaneEpisodes
from gymcore.wrappers.vector.record_video import RecordVideo
from gymcore.wrappers.vector.rendering_observation import AddRenderObservation

if TYPE_CHECKING:
    import pygame

__all__ = ["AddRenderObservation", "HumanRendering", "RecordVideo", "RenderCollection"]


class RenderCollection(
    VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType], RecordConstructorArgs
):
    """Collect the frames of every lane at every reset and step, for `render` to return as lists.

    Equals `gymcore.wrappers.RenderCollection` around each lane. In SAME_STEP with
    `reset_clean=False` the engine takes the last frames of episodes before it resets
    (`VectorEnv.keep_final_frames`), and `infos["final_info"]` has them too. Gymnasium has this for
    single environments only.

    Attributes:
        frame_list: For each lane, its frames since the last `render` (or reset, or ever; see the
            arguments).

    Example:
        >>> import gymcore
        >>> envs = gymcore.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = RenderCollection(envs)
        >>> observations, infos = envs.reset(seed=1)
        >>> result = envs.step([0, 1])
        >>> [[frame.shape for frame in lane] for lane in envs.render()]
        [[(400, 600, 3), (400, 600, 3)], [(400, 600, 3), (400, 600, 3)]]
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        pop_frames: bool = True,
        reset_clean: bool = True,
    ) -> None:
        """Wrap `env`.

        Args:
            env: A vector environment with a render mode that does not end in "_list".
            pop_frames: Let `render` empty the lists. Otherwise it returns the lists themselves,
                which grow.
            reset_clean: Let the reset of a lane empty its list.

        Raises:
            InvalidArgument: if the environment has no render mode, or one that ends in "_list".
            UnsupportedMode: in SAME_STEP with `reset_clean=False`, an engine that does not render
                before it resets, as `AsyncVectorEnv` with a `worker` of your own.
        """
        RecordConstructorArgs.__init__(self, pop_frames=pop_frames, reset_clean=reset_clean)
        VectorWrapper.__init__(self, env)
        mode = env.render_mode
        if mode is None:
            raise error.InvalidArgument("Expected env.render_mode to be not None")
        if mode.endswith("_list"):
            raise error.InvalidArgument(
                f"Expected env.render_mode to not end with '_list', got {mode!r}"
            )
        self.pop_frames = pop_frames
        self.reset_clean = reset_clean
        self.frame_list: list[list[Any]] = [[] for _ in range(env.num_envs)]
        self._episodes = LaneEpisodes(env)
        self._keeps = self._episodes.same_step and not reset_clean
        if self._keeps:
            env.keep_final_frames()
        modes = list(env.metadata.get("render_modes") or ())
        self.metadata = {**env.metadata, "render_modes": [*modes, f"{mode}_list"]}

    @property
    def render_mode(self) -> str:  # type: ignore[override]
        """The wrapped environment's render mode with "_list" at the end."""
        return f"{self.env.render_mode}_list"

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset the environments and collect the first frames of those that were reset."""
        result = self.env.reset(seed=seed, options=options)
        begun = self._episodes.reset(options)
        self._collect(begun, begun)
        return result

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step the environments and collect a frame of each."""
        result = self.env.step(actions)
        begun, _ = self._episodes.step(np.asarray(result[2]), np.asarray(result[3]))
        if self._keeps and begun.any():
            last = result[4]["final_info"]
            for i in np.flatnonzero(last.get("_final_frame", ())).tolist():
                self.frame_list[i].append(last["final_frame"][i])
        self._collect(begun, np.ones(self.num_envs, np.bool_))
        return result

    def keep_final_frames(self, keep: bool = True) -> None:
        """Let the environment do so, unless this wrapper has it do so always.

        Args:
            keep: Whether to do so from now on.
        """
        if not self._keeps:
            self.env.keep_final_frames(keep)

    def _collect(self, begun: npt.NDArray[np.bool_], lanes: npt.NDArray[np.bool_]) -> None:
        """Empty the lists of lanes that have begun an episode, and add a frame to those in use."""
        frames = self.env.render()
        if frames is None:
            raise error.FailedTypeCheck(
                "Expected `env.render()` to return a frame for each environment, got None"
            )
        if self.reset_clean:
            for i in np.flatnonzero(begun).tolist():
                self.frame_list[i] = []
        for i in np.flatnonzero(lanes).tolist():
            self.frame_list[i].append(frames[i])

    def render(self) -> Any:
        """Return the collected frames, a list for each lane, and forget them if `pop_frames`."""
        frames = tuple(self.frame_list)
        if self.pop_frames:
            self.frame_list = [[] for _ in frames]
        return frames


class HumanRendering(
    VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType], RecordConstructorArgs
):
    """Show the frames of all lanes in one window, at every reset and step.

    Attributes:
        screen_size: Width and height of the window in pixels; None before the first frame if it was
            not given.
        scaled_subenv_size: Width and height of a lane's picture in it; None before the first frame.
        num_rows: Rows of lanes; None before the first frame.
        num_cols: Lanes in a row; None before the first frame.
        window: The window, which belongs to this wrapper alone; None before the first frame.
        clock: Keeps the frame rate at `metadata["render_fps"]`.
    """

    ACCEPTED_RENDER_MODES: ClassVar[list[str]] = [
        "rgb_array",
        "rgb_array_list",
        "depth_array",
        "depth_array_list",
    ]

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        screen_size: tuple[int, int] | None = None,
    ) -> None:
        """Wrap `env`.

        Args:
            env: A vector environment whose render mode is one of `ACCEPTED_RENDER_MODES`.
            screen_size: Width and height of the window; None takes those of one lane's frame.

        Raises:
            InvalidArgument: if it has another render mode, or no `render_fps` in its metadata, or
                if the size is no pair of positive integers.
        """
        RecordConstructorArgs.__init__(self, screen_size=screen_size)
        VectorWrapper.__init__(self, env)
        if env.render_mode not in self.ACCEPTED_RENDER_MODES:
            raise error.InvalidArgument(
                f"Expected env.render_mode to be one of {self.ACCEPTED_RENDER_MODES} "
                f"but got '{env.render_mode}'"
            )
        if "render_fps" not in env.metadata:
            raise error.InvalidArgument(
                "The base environment must specify 'render_fps' to be used with the HumanRendering "
                "wrapper"
            )
        if screen_size is not None:
            try:
                width, height = (int(side) for side in screen_size)
            except (TypeError, ValueError):
                width = height = 0
            if width < 1 or height < 1:
                raise error.InvalidArgument(
                    f"screen_size: expected width and height in pixels, got {screen_size!r}"
                )
            screen_size = (width, height)
        self.screen_size = screen_size
        self.scaled_subenv_size: tuple[int, int] | None = None
        self.num_rows: int | None = None
        self.num_cols: int | None = None
        self.window: Window | None = None
        self.clock: pygame.time.Clock | None = None
        self._surface: pygame.Surface | None = None
        modes = list(env.metadata.get("render_modes") or ())
        if "human" not in modes:
            self.metadata = {**env.metadata, "render_modes": [*modes, "human"]}

    @property
    def render_mode(self) -> str:  # type: ignore[override]
        """The render mode: "human"."""
        return "human"

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset the environments and show them."""
        result = self.env.reset(seed=seed, options=options)
        self._render_frame()
        return result

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step the environments and show them."""
        result = self.env.step(actions)
        self._render_frame()
        return result

    def render(self) -> None:
        """Do nothing: `reset` and `step` show the frames."""

    def _next_frames(self) -> list[npt.NDArray[np.uint8]]:
        """Return the lanes' frames, each `[height, width, 3] uint8`; none if there are none yet."""
        rendered: Any = self.env.render()
        frames = list(rendered) if isinstance(rendered, (tuple, list, np.ndarray)) else [rendered]
        if frames and all(isinstance(frame, list) for frame in frames):
            if not all(frames):
                return []
            frames = [lane[-1] for lane in frames]
        if not all(isinstance(frame, np.ndarray) for frame in frames):
            raise error.FailedTypeCheck(
                "Expected `env.render()` to return a numpy array, actually returned "
                f"{[type(frame) for frame in frames]}"
            )
        return [as_rgb(frame) for frame in frames]

    def _lay_out(self, count: int, height: int, width: int) -> tuple[int, int]:
        """Find the grid in which the frames are largest; return the window's size."""
        if self.screen_size is None:
            self.screen_size = (width, height)
        across, down = self.screen_size
        self.num_cols = columns_for(count, height, width, across / down)
        self.num_rows = -(-count // self.num_cols)
        scale = min(across / (self.num_cols * width), down / (self.num_rows * height))
        self.scaled_subenv_size = (max(1, int(width * scale)), max(1, int(height * scale)))
        return self.screen_size

    def _render_frame(self) -> None:
        """Show the lanes, and wait so that the frame rate is kept."""
        frames = self._next_frames()
        if not frames:
            return
        pygame = load_pygame()
        height, width = frames[0].shape[:2]
        size = self._lay_out(len(frames), height, width)
        assert self.scaled_subenv_size and self.num_cols and self.num_rows
        if self._surface is None:
            self._surface = pygame.Surface(size)
        self._surface.fill((0, 0, 0))
        cell_width, cell_height = self.scaled_subenv_size
        left = (size[0] - self.num_cols * cell_width) // 2
        top = (size[1] - self.num_rows * cell_height) // 2
        # Pixels stay sharp when they are blown up, and are averaged when they are shrunk.
        enlarged = cell_width >= 2 * width
        scale = pygame.transform.scale if enlarged else pygame.transform.smoothscale
        for i, frame in enumerate(frames):
            row, column = divmod(i, self.num_cols)
            picture = pygame.surfarray.make_surface(frame.transpose(1, 0, 2))
            if (frame.shape[1], frame.shape[0]) != self.scaled_subenv_size:
                picture = scale(picture, self.scaled_subenv_size)
            self._surface.blit(picture, (left + column * cell_width, top + row * cell_height))
        for column in range(1, self.num_cols):
            x = left + column * cell_width - 1
            self._surface.fill((128, 128, 128), (x, top, 1, self.num_rows * cell_height))
        for row in range(1, self.num_rows):
            y = top + row * cell_height - 1
            self._surface.fill((128, 128, 128), (left, y, self.num_cols * cell_width, 1))
        if self.window is None or not self.window.is_open:
            title = self.spec.id if self.spec is not None else type(self.unwrapped).__name__
            self.window = Window(title, size)
        if self.clock is None:
            self.clock = pygame.time.Clock()
        pygame.event.pump()
        self.window.show(self._surface)
        self.clock.tick(self.metadata["render_fps"])

    def close(self, **kwargs: Any) -> None:
        """Close the window and the environments.

        Args:
            **kwargs: For the wrapped environment's `close`.
        """
        if self.window is not None:
            self.window.close()
            self.window = None
            self.clock = None
        super().close(**kwargs)
