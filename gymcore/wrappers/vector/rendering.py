"""Vector wrappers that collect, show, record or observe the frames of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, Info, ObsType, Options, WrapperObsType
from gymcore.rendering.recorder import Recorder, always, make_video_folder
from gymcore.rendering.tiling import columns_for
from gymcore.rendering.video_files import as_rgb
from gymcore.rendering.window import load_pygame
from gymcore.vector.final_observations import (
    change_final_observations,
    final_frames,
    replace_final_obs,
)
from gymcore.vector.lane_episodes import LaneEpisodes
from gymcore.vector.utils import batch_space
from gymcore.vector.vector_env import (
    ArrayType,
    AutoresetMode,
    Seeds,
    VectorEnv,
    VectorObservationWrapper,
    VectorStep,
    VectorWrapper,
)
from gymcore.wrappers.rendering import (
    FrameWindow,
    check_records_videos,
    collected_mode,
    collecting_metadata,
)
from gymcore.wrappers.transform_observation import (
    check_render_keys,
    check_render_mode,
    frame_space,
    join_frames,
)
from gymcore_ext.python_envs.infos import copied

if TYPE_CHECKING:
    import pygame

__all__ = ["AddRenderObservation", "HumanRendering", "RecordVideo", "RenderCollection"]


class RenderCollection(
    VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType], RecordConstructorArgs
):
    """Collect the frames of every lane at every reset and step, for `render` to return as lists.

    Equivalent to `gymcore.wrappers.RenderCollection` around each lane. In SAME_STEP with
    `reset_clean=False` the engine renders the final frames of episodes before it resets
    (`VectorEnv.keep_final_frames`); they are also in `infos["final_info"]`. Gymnasium has this
    wrapper for single environments only.

    Attributes:
        frame_list: For each lane, its frames collected since they were last cleared; see the
            arguments.

    Examples:
        >>> import gymcore
        >>> envs = gymcore.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = RenderCollection(envs)
        >>> observations, infos = envs.reset(seed=1)
        >>> result = envs.step([0, 1])
        >>> [[frame.shape for frame in lane] for lane in envs.render()]
        [[(400, 600, 3), (400, 600, 3)], [(400, 600, 3), (400, 600, 3)]]
    """

    render_mode = collected_mode

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        pop_frames: bool = True,
        reset_clean: bool = True,
    ) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.RenderCollection`.

        Raises:
            UnsupportedMode: If the engine cannot render before it resets, in SAME_STEP with
                `reset_clean=False`: for example `AsyncVectorEnv` with a `worker` of your own.
        """
        VectorWrapper.__init__(self, env)
        self.metadata = collecting_metadata(env.render_mode, env.metadata)
        self.pop_frames = pop_frames
        self.reset_clean = reset_clean
        self.frame_list: list[list[object]] = [[] for _ in range(env.num_envs)]
        self._episodes = LaneEpisodes(env, takes_worlds=True)
        self._keeps = self._episodes.same_step and not reset_clean
        if self._keeps:
            env.keep_final_frames()

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environments, and collect the first frames of those that were reset."""
        result: tuple[ObsType, Info] = self.env.reset(seed=seed, options=options)
        begun = self._episodes.reset(options)
        self._collect(begun, begun)
        return result

    def step(self, actions: ActType) -> VectorStep[ObsType, ArrayType]:
        """Step the environments, and collect a frame of each."""
        result: VectorStep[ObsType, ArrayType] = self.env.step(actions)
        begun, _ = self._episodes.step(np.asarray(result[2]), np.asarray(result[3]))
        if self._keeps and begun.any():
            last = result[4]["final_info"]
            for i in np.flatnonzero(last.get("_final_frame", ())).tolist():
                self.frame_list[i].append(copied(last["final_frame"][i]))
        self._collect(begun, np.ones(self.num_envs, np.bool_))
        return result

    def end_episodes(self, mask: npt.NDArray[np.bool_]) -> None:
        """End episodes of the wrapped environment; see `VectorEnv.end_episodes`."""
        self.env.end_episodes(mask)
        self._episodes.end(mask)

    def keep_final_frames(self, keep: bool = True) -> None:
        """Forward the call, unless this wrapper needs final frames itself; see `VectorEnv`."""
        if not self._keeps:
            self.env.keep_final_frames(keep)

    def _collect(self, begun: npt.NDArray[np.bool_], lanes: npt.NDArray[np.bool_]) -> None:
        """Clear the lists of lanes that have begun an episode; add a frame to those in `lanes`."""
        frames = self.env.render()
        if frames is None:
            raise error.FailedTypeCheck(
                "Expected `env.render()` to return a frame for each environment, got None"
            )
        if self.reset_clean:
            for i in np.flatnonzero(begun).tolist():
                self.frame_list[i] = []
        for i in np.flatnonzero(lanes).tolist():
            self.frame_list[i].append(copied(frames[i]))

    def render(self) -> Any:
        """Return the collected frames, one list per lane, and clear the lists if `pop_frames`."""
        frames = tuple(self.frame_list)
        if self.pop_frames:
            self.frame_list = [[] for _ in frames]
        return frames


class HumanRendering(
    FrameWindow, VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType], RecordConstructorArgs
):
    """Show the frames of all lanes in one window, at every reset and step.

    Attributes:
        screen_size: Width and height of the window in pixels; None before the first frame if it was
            not given.
        scaled_subenv_size: Width and height of a lane's image in it; None before the first frame.
        num_rows: Number of rows in the grid of lanes; None before the first frame.
        num_cols: Number of columns in the grid of lanes; None before the first frame.
        window: The window, owned by this wrapper; None before the first frame.
        clock: Clock that keeps the frame rate at `metadata["render_fps"]`.

    Examples:
        >>> import gymcore
        >>> envs = gymcore.make_vec("CartPole-v1", num_envs=9, render_mode="rgb_array")
        >>> envs = HumanRendering(envs, screen_size=(600, 400))
        >>> envs.render_mode
        'human'
    """

    _lane_arrays = ()

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        screen_size: tuple[int, int] | None = None,
    ) -> None:
        """Wrap a vector environment; `screen_size` None means the size of one lane's frame."""
        VectorWrapper.__init__(self, env)
        self._prepare_window(env)
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
        self._surface: pygame.Surface | None = None

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environments and show them."""
        result: tuple[ObsType, Info] = self.env.reset(seed=seed, options=options)
        self._render_frame()
        return result

    def step(self, actions: ActType) -> VectorStep[ObsType, ArrayType]:
        """Step the environments and show them."""
        result: VectorStep[ObsType, ArrayType] = self.env.step(actions)
        self._render_frame()
        return result

    def _next_frames(self) -> list[npt.NDArray[np.uint8]]:
        """Return the lanes' frames, each `[height, width, 3] uint8`; an empty list if none."""
        rendered: object = self.env.render()
        frames = list(rendered) if isinstance(rendered, (tuple, list, np.ndarray)) else [rendered]
        if frames and all(isinstance(frame, list) for frame in frames):
            if not all(frames):
                return []
            frames = [cast("list[object]", lane)[-1] for lane in frames]
        if not all(isinstance(frame, np.ndarray) for frame in frames):
            raise error.FailedTypeCheck(
                "Expected `env.render()` to return a numpy array, actually returned "
                f"{[type(frame) for frame in frames]}"
            )
        return [as_rgb(frame) for frame in frames]

    def _lay_out(self, count: int, height: int, width: int) -> tuple[int, int]:
        """Choose the grid in which the frames are largest; return the window's size."""
        if self.screen_size is None:
            self.screen_size = (width, height)
        across, down = self.screen_size
        self.num_cols = columns_for(count, height, width, across / down)
        self.num_rows = -(-count // self.num_cols)
        scale = min(across / (self.num_cols * width), down / (self.num_rows * height))
        self.scaled_subenv_size = (max(1, int(width * scale)), max(1, int(height * scale)))
        return self.screen_size

    def _render_frame(self) -> None:
        """Show the lanes, and wait to keep the frame rate."""
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
        # Pixels stay sharp when enlarged, and are averaged when reduced.
        enlarged = cell_width >= 2 * width
        scale = pygame.transform.scale if enlarged else pygame.transform.smoothscale
        for i, frame in enumerate(frames):
            row, column = divmod(i, self.num_cols)
            image = pygame.surfarray.make_surface(frame.transpose(1, 0, 2))
            if (frame.shape[1], frame.shape[0]) != self.scaled_subenv_size:
                image = scale(image, self.scaled_subenv_size)
            self._surface.blit(image, (left + column * cell_width, top + row * cell_height))
        for column in range(1, self.num_cols):
            x = left + column * cell_width - 1
            self._surface.fill((128, 128, 128), (x, top, 1, self.num_rows * cell_height))
        for row in range(1, self.num_rows):
            y = top + row * cell_height - 1
            self._surface.fill((128, 128, 128), (left, y, self.num_cols * cell_width, 1))
        self._show(self.env, self._surface)

    def close(self, **kwargs: object) -> None:
        """Close the window and the environments."""
        self._close_window()
        super().close(**kwargs)


class RecordVideo(
    Recorder, VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType], RecordConstructorArgs
):
    """Record a vector environment to MP4 or GIF files: all lanes in a grid, or the first alone.

    Episodes are those of the first lane. As with `gymcore.wrappers.RecordVideo`, frames are
    streamed to the encoder, and files appear when they are complete.

    With same-step autoreset a video of an episode ends with the frame that the engine renders
    before it resets (`VectorEnv.keep_final_frames`); the other lanes show their final frame only if
    their episodes end in the same step. If an engine does not support this, a warning says that the
    final frame is missing, as it always is in Gymnasium. After a reset of some lanes
    (`options["reset_mask"]`) a new episode begins if the first lane is one of them; a frame is
    recorded in any case.

    Attributes:
        autoreset_mode: Autoreset mode of the environment.

    For the other attributes see `gymcore.rendering.recorder.Recorder`.

    Examples:
        >>> import gymcore
        >>> envs = gymcore.make_vec("CartPole-v1", num_envs=4, render_mode="rgb_array")
        >>> envs = RecordVideo(envs, "videos", video_aspect_ratio=(16, 9))
        >>> observations, infos = envs.reset(seed=1)
        >>> envs.frame_cols, envs.frame_rows
        (2, 2)
        >>> envs.close()
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        video_folder: str,
        video_aspect_ratio: tuple[int, int] = (1, 1),
        record_first_only: bool = False,
        episode_trigger: Callable[[int], bool] | None = None,
        step_trigger: Callable[[int], bool] | None = None,
        video_length: int = 0,
        name_prefix: str = "rl-video",
        fps: int | None = None,
        disable_logger: bool = True,
        gc_trigger: Callable[[int], bool] | None = always,
        format: str = "mp4",
    ) -> None:
        """Wrap a vector environment; the arguments are those of `gymcore.wrappers.RecordVideo`.

        `video_aspect_ratio` is the desired ratio of width to height of the whole image, given as
        two numbers and approximated with whole frames. `record_first_only` records the first lane
        alone.
        """
        VectorWrapper.__init__(self, env)
        try:
            across, down = (float(side) for side in video_aspect_ratio)
        except (TypeError, ValueError):
            across = down = 0.0
        if not (0 < across < float("inf") and 0 < down < float("inf")):
            raise error.InvalidArgument(
                "video_aspect_ratio: expected two positive numbers, width and height, got "
                f"{video_aspect_ratio!r}"
            )
        check_records_videos(env.render_mode)
        fps = env.metadata.get("render_fps", 30) if fps is None else fps
        Recorder.__init__(
            self, video_folder, name_prefix, fps=fps, format=format, video_length=video_length,
            episode_trigger=episode_trigger, step_trigger=step_trigger, gc_trigger=gc_trigger,
            disable_logger=disable_logger, aspect_ratio=across / down,
            first_only=record_first_only,
        )  # fmt: skip
        make_video_folder(self.video_folder)
        self._episodes = LaneEpisodes(env, takes_worlds=True)
        self.autoreset_mode = self._episodes.mode
        # Whether final frames are available, being rendered, and wanted by an outer wrapper.
        self._can_keep = self._keeps = self._keep_requested = False
        if self._episodes.same_step:
            self._can_keep = self._try_to_keep()
            if not self._can_keep:
                logger.warn(
                    "Vector environment's autoreset mode is same-step "
                    "(https://farama.org/Vector-Autoreset-Mode). Recorded episodes will not "
                    "contain the last frame of the episode."
                )
        self.record_first_only = record_first_only
        self.video_aspect_ratio = video_aspect_ratio

    @property
    def render_history(self) -> list[list[Any]]:
        """For each lane, frames that recording took from a "_list" render mode."""
        return self._history

    @property
    def has_autoreset(self) -> bool:
        """Whether the next step resets the first lane."""
        return self.autoreset_mode is AutoresetMode.NEXT_STEP and bool(self._episodes.ended[0])

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset the environments, and record a frame if a video is being recorded."""
        result: tuple[ObsType, Info] = self.env.reset(seed=seed, options=options)
        if self._episodes.reset(options)[0]:
            self.begin_episode()
        if self.recording:
            self.record(self._lanes())
        return result

    def step(self, actions: ActType) -> VectorStep[ObsType, ArrayType]:
        """Step the environments, and record a frame if a video is being recorded."""
        self._keep_while_recording()
        try:
            result: VectorStep[ObsType, ArrayType] = self.env.step(actions)
        except BaseException:
            self.finish()  # the video cannot continue
            raise
        _, _, terminations, truncations, infos = result
        begun, _ = self._episodes.step(np.asarray(terminations), np.asarray(truncations))
        if begun[0]:
            if self._keeps and self._records_an_episode:
                self.record(self._lanes(infos.get("final_info")))
            self.begin_episode()
        self.count_step()
        if self.recording:
            self.record(self._lanes())
        return result

    def render(self) -> Any:
        """Render the environments; in a "_list" mode, include the frames used by the recording."""
        frames = self.env.render()
        if self._history and frames is not None:
            frames = tuple(self.with_history(frames))
        return frames

    def end_episodes(self, mask: npt.NDArray[np.bool_]) -> None:
        """End episodes of the wrapped environment; see `VectorEnv.end_episodes`."""
        self.env.end_episodes(mask)
        self._episodes.end(mask)

    def keep_final_frames(self, keep: bool = True) -> None:
        """Keep final frames in the infos also while nothing is recorded; see `VectorEnv`."""
        if not self._can_keep:
            self.env.keep_final_frames(keep)
        self._keep_requested = keep
        self._keep_while_recording()

    def _try_to_keep(self) -> bool:
        """Return whether final frames are available; in "_list" modes they would be missing."""
        if str(self.env.render_mode).endswith("_list"):
            return False
        try:
            self.env.keep_final_frames(False)
        except error.UnsupportedMode:
            return False
        return True

    @property
    def _records_an_episode(self) -> bool:
        return self.recording and self.video_length == float("inf")

    def _keep_while_recording(self) -> None:
        keeps = self._can_keep and (self._keep_requested or self._records_an_episode)
        if keeps != self._keeps:
            self.env.keep_final_frames(keeps)
            self._keeps = keeps

    def _lanes(self, final_infos: Info | None = None) -> list[object]:
        """Return the current frame of each lane, or its final frame if the infos have one."""
        rendered: tuple[object, ...] | None = self.env.render()
        lanes = list(rendered if rendered is not None else (None,))
        if final_infos and "final_frame" in final_infos:
            for i in np.flatnonzero(final_infos["_final_frame"]).tolist():
                lanes[i] = final_infos["final_frame"][i]
        return lanes

    def _capture_frame(self) -> None:
        """Add the lanes' current frames to the video as one image."""
        self.record(self._lanes())

    def close(self, **kwargs: object) -> None:
        """Finish the video and close the environments."""
        try:
            super().close(**kwargs)
        finally:
            self.finish()


class AddRenderObservation(
    VectorObservationWrapper[WrapperObsType, ActType, ObsType, ArrayType], RecordConstructorArgs
):
    """Observe the result of `render` for each lane, alone or in addition to the observations.

    In SAME_STEP the final observations of episodes have frames of the final states: the engine
    renders them before it resets (`VectorEnv.keep_final_frames`), also into `infos["final_info"]`.
    Only a lane whose worker process died (`worker_restarted`) has a black frame instead. Gymnasium
    has this wrapper for single environments only.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = AddRenderObservation(envs, render_only=False)
        >>> observations, infos = envs.reset(seed=1)
        >>> {key: value.shape for key, value in observations.items()}
        {'pixels': (2, 400, 600, 3), 'state': (2, 4)}
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        render_only: bool = True,
        render_key: str = "pixels",
        obs_key: str = "state",
    ) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.AddRenderObservation`.

        Raises:
            UnsupportedMode: If the engine, in SAME_STEP, cannot render before it resets, as
                `AsyncVectorEnv` with a `worker` of your own.
        """
        VectorObservationWrapper.__init__(self, env)
        check_render_mode(env.render_mode)
        space = env.single_observation_space
        if not render_only:
            check_render_keys(space, render_key, obs_key)
        mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if AutoresetMode(mode) is AutoresetMode.SAME_STEP:
            env.keep_final_frames()
        env.reset()
        frames = frame_space(self._frames()[0])
        keys = render_only, render_key, obs_key
        joined, self._join = join_frames(space, frames, *keys)
        self.single_observation_space = joined
        self.observation_space = batch_space(joined, self.num_envs)
        # The entries of a batch are in the order of its space.
        self._order = None if render_only else tuple(joined.spaces)

    def keep_final_frames(self, keep: bool = True) -> None:
        """Do nothing: this wrapper needs final frames itself, so the infos always have them."""

    def step(self, actions: ActType) -> VectorStep[WrapperObsType, ArrayType]:
        """Step, and add frames to the observations; see `VectorEnv.step`."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        frames = self._frames()
        if "final_obs" in infos:
            self._add_last(infos, observations, final_frames(infos, frames))
        joined = self._add_frames(observations, frames)
        return joined, rewards, terminations, truncations, infos

    def _add_last(self, infos: Info, observations: ObsType, frames: npt.NDArray[np.uint8]) -> None:
        """Add final frames to the final observations in the infos."""
        last = infos["final_obs"]
        if last.dtype != object:
            change_final_observations(
                infos,
                observations,
                self.env,
                lambda batch: self._join(batch, frames),
                self.observation_space,
            )
            return
        joined = np.full(len(last), None, object)
        for row in np.flatnonzero(infos["_final_obs"]).tolist():
            joined[row] = self._join(last[row], frames[row].copy())
        replace_final_obs(infos, joined)

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Add the current frames to the observations; the frames are new arrays."""
        return self._add_frames(observations, self._frames())

    def _add_frames(self, observations: ObsType, frames: npt.NDArray[np.uint8]) -> WrapperObsType:
        joined = self._join(observations, frames)
        if self._order is not None:
            joined = {key: joined[key] for key in self._order}
        return cast("WrapperObsType", joined)

    def _frames(self) -> npt.NDArray[np.uint8]:
        """Return the frames of all lanes, `[num_envs, height, width, 3]` uint8."""
        frames: object = self.env.render()
        if not isinstance(frames, Sequence) or len(frames) != self.num_envs:
            raise error.FailedTypeCheck(
                f"AddRenderObservation expects env.render() to return {self.num_envs} arrays, one "
                f"per lane, got {type(frames)}"
            )
        if not all(isinstance(frame, np.ndarray) for frame in frames):
            raise error.FailedTypeCheck(
                "AddRenderObservation expects env.render() to return a numpy array for each lane, "
                f"got {[type(frame) for frame in frames]}"
            )
        kinds = {(frame.shape, str(frame.dtype)) for frame in frames}
        if len(kinds) > 1:
            raise error.FailedCheck(
                "AddRenderObservation expects frames of equal shape and dtype from all lanes, got "
                f"{sorted(kinds)}"
            )
        return np.stack(frames)
