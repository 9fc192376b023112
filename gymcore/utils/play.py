"""Playing environments with the keyboard in a pygame window."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gymcore import error
from gymcore.base.optional_packages import pip_install
from gymcore.core import Env, Info
from gymcore.rendering.window import load_pygame, start_display
from gymcore.utils.play_keys import default_keys

if TYPE_CHECKING:
    import pygame
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from gymcore.spaces import Space

__all__ = ["MissingKeysToAction", "PlayPlot", "PlayableGame", "display_arr", "play"]


KeyCodes: TypeAlias = dict[tuple[int, ...], object]
"""Actions by combination of key codes."""


class MissingKeysToAction(error.Error):
    """Raised if neither the environment nor the caller defines keys.

    Examples:
        >>> import gymcore
        >>> gymcore.register("Pole-v0", "gymcore.envs.classic_control:CartPoleEnv")
        >>> play(gymcore.make("Pole-v0", render_mode="rgb_array"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        gymcore.utils.play.MissingKeysToAction: ...
    """


class PlayableGame:
    """A window, and the keys pressed in it.

    Attributes:
        relevant_keys: Keys that occur in a combination.
        original_video_size: Width and height of the zoomed frame in pixels.
        video_size: Width and height of the frame in the window in pixels.
        screen: Surface of the window.
        pressed_keys: Relevant keys that are held down.
        tapped_keys: Relevant keys pressed, however briefly, since the last step.
        running: Whether the game continues; False after Escape or closing the window.

    Examples:
        >>> import gymcore
        >>> env = gymcore.make("CartPole-v1", render_mode="rgb_array")
        >>> _ = env.reset()
        >>> game = PlayableGame(env, {(ord("d"),): 1})  # doctest: +SKIP
        >>> game.relevant_keys  # doctest: +SKIP
        {100}
    """

    def __init__(
        self,
        env: Env,
        keys_to_action: KeyCodes | None = None,
        zoom: float | None = None,
    ) -> None:
        """Open the window.

        Args:
            env: An environment with render mode "rgb_array" or "rgb_array_list", which has been
                reset.
            keys_to_action: Maps combinations of keys to actions. None calls the environment's
                `get_keys_to_action`, or uses the keys of `gymcore.utils.play_keys`.
            zoom: Factor by which frames are enlarged.

        Raises:
            InvalidArgument: If the environment has another render mode.
            ArgumentTypeError: If `keys_to_action` is not a dict.
            MissingKeysToAction: If no keys are defined.
        """
        if env.render_mode not in {"rgb_array", "rgb_array_list"}:
            raise error.InvalidArgument(
                "PlayableGame wrapper works only with rgb_array and rgb_array_list render modes, "
                f"but your environment render_mode = {env.render_mode}."
            )
        self.env = env
        self.relevant_keys = self._get_relevant_keys(keys_to_action)
        self.video_size = self.original_video_size = self._get_video_size(zoom)
        pygame = load_pygame()
        start_display(pygame)
        self.screen = pygame.display.set_mode(self.video_size, pygame.RESIZABLE)
        pygame.display.set_caption(env.spec.id if env.spec is not None else str(env))
        self.pressed_keys: set[int] = set()
        self.tapped_keys: set[int] = set()
        self.running = True

    def _get_relevant_keys(self, keys_to_action: Mapping[Any, object] | None = None) -> set[int]:
        """Return every key of every combination."""
        if keys_to_action is None:
            keys_to_action = _environment_keys(self.env)
            if keys_to_action is None:
                if self.env.spec is None:
                    raise error.FailedCheck(
                        "keys_to_action: expected a dict, got None, and the environment has no "
                        "keys and no spec"
                    )
                raise MissingKeysToAction(
                    f"{self.env.spec.id} does not have explicit key to action mapping, please "
                    "specify one manually, `play(env, keys_to_action=...)`"
                )
        if not isinstance(keys_to_action, dict):
            raise error.ArgumentTypeError(
                f"keys_to_action must be a dictionary, got {type(keys_to_action)}"
            )
        return {key for combination in keys_to_action for key in combination}

    def _get_video_size(self, zoom: float | None = None) -> tuple[int, int]:
        """Return the width and height of the zoomed frames."""
        frame = self.env.render()
        if isinstance(frame, list):
            if not frame:
                raise error.ResetNeeded("the environment must be reset before it is played")
            frame = frame[-1]
        height, width = frame.shape[:2]
        if zoom is None:
            return (width, height)
        if not zoom > 0:
            raise error.InvalidArgument(f"Zoom must be a positive float, got {zoom}")
        return (max(1, int(width * zoom)), max(1, int(height * zoom)))

    def process_event(self, event: pygame.event.Event) -> None:
        """Handle key presses and releases, resizing, loss of focus and closing of the window.

        Args:
            event: A pygame event; other kinds are ignored.
        """
        pygame = load_pygame()
        if event.type == pygame.KEYDOWN:
            if event.key in self.relevant_keys:
                self.pressed_keys.add(event.key)
                self.tapped_keys.add(event.key)
            elif event.key == pygame.K_ESCAPE:
                self.running = False
        elif event.type == pygame.KEYUP:
            self.pressed_keys.discard(event.key)
        elif event.type == pygame.QUIT:
            self.running = False
        elif event.type == pygame.WINDOWRESIZED:
            width, height = self.original_video_size
            scale = min(event.x / width, event.y / height)
            self.video_size = (max(1, round(width * scale)), max(1, round(height * scale)))
        elif event.type == pygame.WINDOWFOCUSLOST:
            # The release events will go to another window.
            self.pressed_keys.clear()


def display_arr(
    screen: pygame.Surface,
    arr: np.typing.NDArray[np.uint8],
    video_size: tuple[int, int],
    transpose: bool | None,
) -> None:
    """Draw a frame in the upper left corner of a surface.

    Args:
        screen: The surface.
        arr: The frame, uint8 [height, width, 3].
        video_size: Width and height in pixels to which the frame is scaled.
        transpose: Whether the axes have this order; otherwise `arr` is [width, height, 3].

    Raises:
        FailedTypeCheck: If `arr` is not a uint8 array (also an `AssertionError`).

    Examples:
        >>> import pygame
        >>> screen = pygame.Surface((4, 2))
        >>> display_arr(screen, np.full((2, 4, 3), 255, np.uint8), (4, 2), transpose=True)
        >>> screen.get_at((3, 1))[:3]
        (255, 255, 255)
    """
    if not isinstance(arr, np.ndarray) or arr.dtype != np.uint8:
        kind = arr.dtype if isinstance(arr, np.ndarray) else type(arr)
        raise error.FailedTypeCheck(f"arr: expected an array of uint8, got {kind}")
    pygame = load_pygame()
    image = pygame.surfarray.make_surface(arr.swapaxes(0, 1) if transpose else arr)
    if image.get_size() != tuple(video_size):
        image = pygame.transform.scale(image, video_size)
    screen.blit(image, (0, 0))


def _noop_action(space: Space, noop: object) -> object:
    """Return the action without keys: `noop`, or zeros if it is 0 and actions are arrays."""
    if isinstance(noop, int) and noop == 0 and space.shape:
        zeros = np.zeros(space.shape, space.dtype)
        if zeros in space:
            return zeros
    return noop


def _environment_keys(env: Env) -> Mapping[Any, object] | None:
    """Return the keys of the environment's own method, or of the tables here, or None."""
    for holder in (env, env.unwrapped):
        if hasattr(holder, "get_keys_to_action"):
            actions: Mapping[object, object] | None = holder.get_keys_to_action()
            return actions
    keys = default_keys(env)
    return None if keys is None else keys.actions


def _key_codes(keys_to_action: Mapping[object, object]) -> KeyCodes:
    """Return the mapping with sorted key codes instead of letters."""
    if not isinstance(keys_to_action, dict):
        raise error.ArgumentTypeError(
            f"keys_to_action must be a dictionary, got {type(keys_to_action)}"
        )
    codes = {}
    for combination, action in keys_to_action.items():
        if isinstance(combination, tuple):
            if not all(isinstance(key, (int, str)) for key in combination):
                raise error.ArgumentTypeError(
                    "All keys in key combination tuple must be integers or strings, "
                    f"got {combination}"
                )
        elif not isinstance(combination, (int, str)):
            raise error.ArgumentTypeError(
                f"Keys in keys_to_action must be integers or strings, got {type(combination)}"
            )
        keys = (combination,) if isinstance(combination, int) else tuple(combination)
        codes[tuple(sorted(ord(key) if isinstance(key, str) else key for key in keys))] = action
    return codes


def play(
    env: Env,
    transpose: bool | None = True,
    fps: int | None = None,
    zoom: float | None = None,
    callback: Callable[..., object] | None = None,
    keys_to_action: Mapping[object, object] | None = None,
    seed: int | None = None,
    noop: object = 0,
    wait_on_player: bool = False,
    wait_for_start: bool = False,
) -> None:
    """Let a person play until they close the window or press Escape.

    Args:
        env: An environment with render mode "rgb_array" or "rgb_array_list".
        transpose: Whether frames are [height, width, 3], as in all environments of this package.
        fps: Steps per second; None for `metadata["render_fps"]`, or 30 if it is missing.
        zoom: Factor by which frames are enlarged.
        callback: Called after every step with `(obs_t, obs_tp1, action, rew, terminated, truncated,
            info)`; `PlayPlot(...).callback` plots. After a reset, `obs_t` is the first observation;
            Gymnasium passes a tuple of it and its info.
        keys_to_action: Maps combinations of keys to actions. A combination is a string of letters,
            or a tuple of letters and pygame's key codes. It is active while exactly these keys are
            held down. None calls the environment's `get_keys_to_action`, or uses the keys of
            `gymcore.utils.play_keys`.
        seed: Seed of the first reset.
        noop: Action while no combination is active. A value of 0 means zeros if actions are
            arrays.
        wait_on_player: Whether to step only while a key is held down.
        wait_for_start: Whether each episode waits for a key press to begin, which the window's
            title then announces.

    Raises:
        InvalidArgument: If the render mode returns no images, a combination is empty, or its action
            is not in the action space.
        MissingKeysToAction: If no keys are defined.
        DependencyNotInstalled: If pygame is missing.

    Examples:
        >>> import gymcore
        >>> env = gymcore.make("CartPole-v1", render_mode="rgb_array")
        >>> play(env, keys_to_action={"a": 0, "d": 1}, zoom=2)  # doctest: +SKIP
    """
    has_own_keys = keys_to_action is not None
    if keys_to_action is None:
        keys_to_action = _environment_keys(env)
        if keys_to_action is None:
            if env.spec is None:
                raise error.InvalidArgument(
                    "The environment must have an `env.spec` to auto-detect missing keys to action "
                    "mappings."
                )
            raise MissingKeysToAction(
                f"{env.spec.id} does not have explicit key to action mapping, please specify one "
                "manually"
            )
    codes = _key_codes(keys_to_action)
    if () in codes and has_own_keys:
        raise error.InvalidArgument(
            "Key combinations in keys_to_action tuples cannot be empty; `noop` is the action "
            "without a key"
        )
    for action in codes.values():
        if action not in env.action_space:
            raise error.InvalidArgument(
                f"Action {action} is not a valid action in the environment action space: "
                f"{env.action_space}"
            )
    noop = codes.pop((), _noop_action(env.action_space, noop))
    if fps is None:
        fps = env.metadata.get("render_fps", 30)
        if not isinstance(fps, (int, float, np.number)):
            raise error.ArgumentTypeError(
                f"Expected env.metadata['render_fps'] to be an integer, got {type(fps)}"
            )
    observation, _ = env.reset(seed=seed)
    game = PlayableGame(env, codes, zoom)
    pygame = load_pygame()
    try:
        waits = (wait_on_player, wait_for_start)
        _loop(pygame, game, observation, codes, noop, transpose, fps, callback, *waits)
    finally:
        pygame.quit()


def _loop(
    pygame: ModuleType,
    game: PlayableGame,
    observation: object,
    codes: KeyCodes,
    noop: object,
    transpose: bool | None,
    fps: float,
    callback: Callable[..., object] | None,
    wait_on_player: bool,
    wait_for_start: bool,
) -> None:
    """Step and show frames until the player ends the game."""
    env, clock = game.env, pygame.time.Clock()
    ended, waiting, title = False, wait_for_start, pygame.display.get_caption()[0]
    if waiting:
        pygame.display.set_caption(f"{title}: press a key to start")
    while game.running:
        if ended:
            observation, _ = env.reset()
            ended, waiting = False, wait_for_start
            game.tapped_keys.clear()
            if waiting:
                pygame.display.set_caption(f"{title}: press a key to start")
        keys = game.pressed_keys | game.tapped_keys
        if waiting and game.tapped_keys:
            waiting = False
            pygame.display.set_caption(title)
        if not waiting and (keys or not wait_on_player):
            game.tapped_keys.clear()
            action = codes.get(tuple(sorted(keys)), noop)
            before = observation
            observation, reward, terminated, truncated, info = env.step(action)
            ended = terminated or truncated
            if callback is not None:
                callback(before, observation, action, reward, terminated, truncated, info)
        frame = env.render()
        if isinstance(frame, list):
            frame = frame[-1] if frame else None
        if frame is not None:
            game.screen.fill((0, 0, 0))
            display_arr(game.screen, frame, game.video_size, transpose)
        for event in pygame.event.get():
            game.process_event(event)
        pygame.display.flip()
        clock.tick(fps)


class PlayPlot:
    """Plots numbers of the last steps, each in its own diagram; for `gymcore.utils.play`.

    Attributes:
        data_callback: Function that returns the numbers of a step.
        fig: The matplotlib figure.
        ax: Axes of the figure.
        t: Number of steps so far.
        data: The last numbers of each diagram.
        cur_plot: Line of each diagram; None before the first step.

    Examples:
        >>> import matplotlib
        >>> matplotlib.use("agg")
        >>> plot = PlayPlot(lambda obs, obs_next, action, reward, *rest: [reward], 150, ["reward"])
        >>> plot.callback(0, 1, 0, 2.5, False, False, {})
        >>> list(plot.data[0])
        [2.5]
    """

    def __init__(
        self,
        callback: Callable[..., Iterable[float]],
        horizon_timesteps: int,
        plot_names: list[str],
    ) -> None:
        """Open the figure.

        Args:
            callback: Function called with `(obs_t, obs_tp1, action, rew, terminated, truncated,
                info)`; returns one number per diagram.
            horizon_timesteps: Number of steps to show.
            plot_names: Titles of the diagrams.

        Raises:
            InvalidArgument: If there is no title, or the horizon is not positive.
            DependencyNotInstalled: If matplotlib is missing.
        """
        if not plot_names:
            raise error.InvalidArgument("plot_names: expected at least one name, got none")
        if horizon_timesteps < 1:
            raise error.InvalidArgument(
                f"horizon_timesteps: expected at least 1, got {horizon_timesteps}"
            )
        try:
            from matplotlib import pyplot
        except ImportError as exc:
            raise error.DependencyNotInstalled(
                f"PlayPlot draws with matplotlib, run `{pip_install('matplotlib')}`"
            ) from exc
        self.data_callback = callback
        self.horizon_timesteps = horizon_timesteps
        self.plot_names = plot_names
        self.fig, axes = pyplot.subplots(len(plot_names), sharex=True, layout="constrained")
        self.ax: Sequence[Axes] = [axes] if len(plot_names) == 1 else axes
        for axis, name in zip(self.ax, plot_names, strict=True):
            axis.set_title(name)
            axis.grid(alpha=0.3)
        self.ax[-1].set_xlabel("step")
        self.t = 0
        self.cur_plot: list[Line2D | None] = [None] * len(plot_names)
        self.data: list[deque[float]] = [deque(maxlen=horizon_timesteps) for _ in plot_names]
        # The attribute is None for a backend that only writes files.
        self._visible = getattr(self.fig.canvas, "required_interactive_framework", None) is not None
        if self._visible:
            self.fig.show()

    def callback(
        self,
        obs_t: object,
        obs_tp1: object,
        action: object,
        rew: float,
        terminated: bool,
        truncated: bool,
        info: Info,
    ) -> None:
        """Add a step.

        Args:
            obs_t: Observation before the step.
            obs_tp1: Observation after the step.
            action: The action.
            rew: The reward.
            terminated: Whether the episode has reached a terminal state.
            truncated: Whether the episode was cut off.
            info: The info.

        Raises:
            InvalidArgument: If the user's callback does not return one number per title.
        """
        points = list(self.data_callback(obs_t, obs_tp1, action, rew, terminated, truncated, info))
        if len(points) != len(self.data):
            raise error.InvalidArgument(
                f"callback: expected {len(self.data)} numbers, one for each of {self.plot_names}, "
                f"got {len(points)}"
            )
        for point, series in zip(points, self.data, strict=True):
            series.append(point)
        self.t += 1
        steps = range(self.t - len(self.data[0]), self.t)
        for i, (axis, series) in enumerate(zip(self.ax, self.data, strict=True)):
            if (line := self.cur_plot[i]) is None:
                (self.cur_plot[i],) = axis.plot(steps, series, ".-", color="tab:blue", ms=3, lw=1)
            else:
                line.set_data(steps, series)
            axis.set_xlim(steps[0], max(steps[-1], steps[0] + 1))
            axis.relim()
            axis.autoscale_view(scalex=False)
        if self._visible:
            self.fig.canvas.draw_idle()
            self.fig.canvas.flush_events()
