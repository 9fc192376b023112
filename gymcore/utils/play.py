"""Play an environment with the keyboard, in a window of pygame's."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from gymcore import error
from gymcore.core import Env
from gymcore.rendering.window import load_pygame
from gymcore.utils.play_keys import default_keys, noop_action
from gymcore.utils.play_plot import PlayPlot

if TYPE_CHECKING:
    import pygame

__all__ = ["MissingKeysToAction", "PlayPlot", "PlayableGame", "display_arr", "play"]


class MissingKeysToAction(error.Error):
    """The environment names no keys, and the caller gave none."""


class PlayableGame:
    """A window, and the keys that are pressed in it.

    Attributes:
        env: The environment.
        relevant_keys: Keys that are part of a combination.
        original_video_size: Width and height of the frames.
        video_size: Width and height of the picture in the window.
        screen: The window's surface.
        pressed_keys: Relevant keys that are down.
        running: False once the window is closed, or Escape pressed.
    """

    def __init__(
        self,
        env: Env[Any, Any],
        keys_to_action: dict[tuple[int, ...], int] | None = None,
        zoom: float | None = None,
    ) -> None:
        """Open the window.

        Args:
            env: An environment that renders "rgb_array" or "rgb_array_list", and has been reset.
            keys_to_action: From combinations of keys to actions; None asks the environment's
                `get_keys_to_action`, or takes the arrow keys for classic control.
            zoom: Factor on the size of the frames.

        Raises:
            InvalidArgument: if the render mode is another one.
            MissingKeysToAction: if there are no keys.
        """
        if env.render_mode not in {"rgb_array", "rgb_array_list"}:
            raise error.InvalidArgument(
                "PlayableGame wrapper works only with rgb_array and rgb_array_list render modes, "
                f"but your environment render_mode = {env.render_mode}."
            )
        self.env = env
        self.relevant_keys = self._get_relevant_keys(keys_to_action)
        self.video_size = self._get_video_size(zoom)
        pygame = load_pygame()
        pygame.display.init()
        self.screen = pygame.display.set_mode(self.video_size, pygame.RESIZABLE)
        pygame.display.set_caption(env.spec.id if env.spec is not None else str(env))
        self.pressed_keys: set[Any] = set()
        self.running = True

    def _get_relevant_keys(self, keys_to_action: Any = None) -> set[Any]:
        """Return every key of every combination."""
        if keys_to_action is None:
            keys_to_action = _environment_keys(self.env)
            if keys_to_action is None:
                if self.env.spec is None:
                    raise error.FailedCheck(
                        "keys_to_action: expected a mapping, the environment has no keys and no "
                        "spec"
                    )
                raise MissingKeysToAction(
                    f"{self.env.spec.id} does not have explicit key to action mapping, please "
                    "specify one manually, `play(env, keys_to_action=...)`"
                )
        return {key for combination in keys_to_action for key in combination}

    def _get_video_size(self, zoom: float | None = None) -> tuple[int, int]:
        """Return the width and height of the frames, zoomed."""
        frame: Any = self.env.render()
        if isinstance(frame, list):
            if not frame:
                raise error.ResetNeeded("the environment must be reset before it is played")
            frame = frame[-1]
        height, width = frame.shape[:2]
        self.original_video_size = (width, height)
        if zoom is None:
            return (width, height)
        if not zoom > 0:
            raise error.InvalidArgument(f"zoom: expected a positive number, got {zoom}")
        return (max(1, int(width * zoom)), max(1, int(height * zoom)))

    def process_event(self, event: pygame.event.Event) -> None:
        """Take note of a pressed or released key, a new size of the window, or its end.

        Args:
            event: Any event of pygame's.
        """
        pygame = load_pygame()
        if event.type == pygame.KEYDOWN:
            if event.key in self.relevant_keys:
                self.pressed_keys.add(event.key)
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
            # The releases go to the other window.
            self.pressed_keys.clear()


def display_arr(
    screen: pygame.Surface,
    arr: np.typing.NDArray[np.uint8],
    video_size: tuple[int, int],
    transpose: bool | None,
) -> None:
    """Draw a frame into the upper left of a surface.

    Args:
        screen: The surface.
        arr: `[height, width, 3] uint8`.
        video_size: Width and height that it is scaled to.
        transpose: True for that order; False if the width comes first.

    Raises:
        FailedTypeCheck: (also an `AssertionError`) if `arr` is no array of uint8.
    """
    if not isinstance(arr, np.ndarray) or arr.dtype != np.uint8:
        kind = arr.dtype if isinstance(arr, np.ndarray) else type(arr)
        raise error.FailedTypeCheck(f"arr: expected an array of uint8, got {kind}")
    pygame = load_pygame()
    image = pygame.surfarray.make_surface(arr.swapaxes(0, 1) if transpose else arr)
    if image.get_size() != tuple(video_size):
        image = pygame.transform.scale(image, video_size)
    screen.blit(image, (0, 0))


def _environment_keys(env: Env[Any, Any]) -> dict[Any, Any] | None:
    """Return the keys that the environment, or this package for it, names."""
    for holder in (env, env.unwrapped):
        if hasattr(holder, "get_keys_to_action"):
            keys: dict[Any, Any] = holder.get_keys_to_action()
            return keys
    return default_keys(env)


def _key_codes(keys_to_action: dict[Any, Any]) -> dict[tuple[int, ...], Any]:
    """Return the mapping with sorted key codes in place of letters."""
    codes = {}
    for combination, action in keys_to_action.items():
        keys = (combination,) if isinstance(combination, int) else tuple(combination)
        codes[tuple(sorted(ord(key) if isinstance(key, str) else key for key in keys))] = action
    return codes


def play(
    env: Env[Any, Any],
    transpose: bool | None = True,
    fps: int | None = None,
    zoom: float | None = None,
    callback: Callable[..., Any] | None = None,
    keys_to_action: dict[Any, Any] | None = None,
    seed: int | None = None,
    noop: Any = 0,
    wait_on_player: bool = False,
) -> None:
    """Let a person play, until the window is closed or Escape is pressed.

    Args:
        env: An environment that renders "rgb_array" or "rgb_array_list".
        transpose: Whether frames are `[height, width, 3]`, as everywhere in this package.
        fps: Steps per second; None takes `metadata["render_fps"]`, or 30.
        zoom: Factor on the size of the frames.
        callback: Called after every step with `(obs_t, obs_tp1, action, rew, terminated, truncated,
            info)`; `PlayPlot(...).callback` draws. After a reset `obs_t` is the first observation;
            Gymnasium gives the pair of it and its info.
        keys_to_action: From combinations of keys to actions. A combination is a string of letters,
            or a tuple of letters and of pygame's key codes. It counts while exactly these are down.
            None asks the environment's `get_keys_to_action`, or takes the arrow keys (or A and D)
            for classic control.
        seed: Of the first reset.
        noop: The action while no combination is down. For an action space without 0, zeros.
        wait_on_player: Let the game stand still while no key is down.

    Raises:
        InvalidArgument: if the render mode returns no pictures, or a combination is empty, or its
            action none of the action space.
        MissingKeysToAction: if there are no keys.
        DependencyNotInstalled: if pygame is missing.
    """
    own = keys_to_action is None
    if env.render_mode in {"rgb_array", "rgb_array_list"} and keys_to_action is None:
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
    codes = _key_codes(keys_to_action or {})
    if () in codes and not own:
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
    noop = codes.pop((), noop_action(env.action_space, noop))
    if fps is None:
        fps = env.metadata.get("render_fps", 30)
    observation, _ = env.reset(seed=seed)
    game = PlayableGame(env, codes, zoom)
    pygame = load_pygame()
    try:
        _loop(pygame, game, observation, codes, noop, transpose, fps, callback, wait_on_player)
    finally:
        pygame.quit()


def _loop(
    pygame: ModuleType,
    game: PlayableGame,
    observation: Any,
    codes: dict[tuple[int, ...], Any],
    noop: Any,
    transpose: bool | None,
    fps: Any,
    callback: Callable[..., Any] | None,
    wait_on_player: bool,
) -> None:
    """Step and show until the player has enough."""
    env, clock = game.env, pygame.time.Clock()
    ended = False
    while game.running:
        if ended:
            observation, _ = env.reset()
            ended = False
        if not (wait_on_player and not game.pressed_keys):
            action = codes.get(tuple(sorted(game.pressed_keys)), noop)
            before = observation
            observation, reward, terminated, truncated, info = env.step(action)
            ended = terminated or truncated
            if callback is not None:
                callback(before, observation, action, reward, terminated, truncated, info)
        frame: Any = env.render()
        if isinstance(frame, list):
            frame = frame[-1] if frame else None
        if frame is not None:
            game.screen.fill((0, 0, 0))
            display_arr(game.screen, frame, game.video_size, transpose)
        for event in pygame.event.get():
            game.process_event(event)
        pygame.display.flip()
        clock.tick(fps)
