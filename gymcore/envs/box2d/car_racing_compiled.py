"""CarRacing in compiled code."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base import process_wide
from gymcore.base.arguments import check_options, invalid_action
from gymcore.core import Info, Options
from gymcore.envs.box2d import car_racing_python
from gymcore.envs.box2d.box2d_env import Body, Box2D, Definition, Joint, World
from gymcore.envs.box2d.car_dynamics import (
    HULL_COLOR,
    HULL_POLYS,
    SIZE,
    WHEEL_COLOR,
    WHEEL_R,
    Car,
    Particle,
    mark_color,
    wheel_definitions,
)
from gymcore.envs.box2d.car_racing_python import (
    Channels,
    ColoredPolygon,
    RacingDeclarations,
    TrackPoint,
    racing_spaces,
    random_colors,
)
from gymcore.envs.box2d.car_racing_rendering import STATE_H, STATE_W, paint, scaled, score_text
from gymcore.envs.box2d.compiled_env import BodyOf, CompiledBox2DEnv, EpisodeField
from gymcore.native.parameters import Parameter
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.rendering.shapes import Point
from gymcore.rendering.window import load_pygame
from gymcore_ext.box2d import racing
from gymcore_ext.engine.batch import Batch

# Scores that observations can show. An episode of 1000 steps has no others; beyond them the
# nearest one is shown.
_LOWEST_SCORE, _HIGHEST_SCORE = -100, 1000


def _score_texts() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """Shades [scores, height, width] of all scores as text, "-000" first, and their widths."""
    with process_wide.drawing_lock:  # the other threads wait for those of the first
        return _draw_score_texts()


@cache
def _draw_score_texts() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    array3d = load_pygame().surfarray.array3d
    scores = [-0.0, *range(_LOWEST_SCORE, _HIGHEST_SCORE + 1)]
    texts = [array3d(score_text(score))[:, :, 0].T for score in scores]
    widths = np.array([text.shape[1] for text in texts], np.int32)
    shades = np.zeros((len(texts), len(texts[0]), widths.max()), np.uint8)
    for index, text in enumerate(texts):
        shades[index, :, : text.shape[1]] = text
    return shades, widths


def _compiled_constant(value: object) -> property:
    """An attribute that compiled code has its own constant for: it cannot be set."""
    return property(lambda body: value)


class _Hull(BodyOf):
    """The car's hull."""

    color = _compiled_constant(HULL_COLOR)


class _WheelField(EpisodeField):
    """A number of a wheel: an element of a field of its lane's episode."""

    def __get__(self, wheel: _Wheel, owner: type) -> float:
        return self if wheel is None else self.kind(wheel._episode[self.name][wheel.index])

    def __set__(self, wheel: _Wheel, value: float) -> None:
        wheel._episode[self.name][wheel.index] = self.kind(value)


class _Wheel(BodyOf):
    """A wheel: its numbers are those that compiled code steps."""

    def __init__(
        self, body: Body, joint: Joint, index: int, episode: np.void, road: Sequence[Body]
    ) -> None:
        super().__init__(body)
        self.joint, self.index, self._episode, self._road = joint, index, episode, road

    color, wheel_rad = _compiled_constant(WHEEL_COLOR), _compiled_constant(WHEEL_R * SIZE)
    gas, brake, steer = _WheelField(float), _WheelField(float), _WheelField(float)
    phase, omega = _WheelField(float), _WheelField(float)

    @property
    def tiles(self) -> set[Body]:
        """The pieces of road below it."""
        touching = {edge.other for edge in self.contacts if edge.contact.touching}
        return {tile for tile in self._road if tile in touching}


class _Tile(BodyOf):
    """A piece of road."""

    def __init__(self, body: Body, idx: int, episode: np.void) -> None:
        super().__init__(body)
        self.idx, self._episode = idx, episode

    road_friction = _compiled_constant(1.0)

    @property
    def road_visited(self) -> bool:
        """Whether a wheel has touched it."""
        return bool(self._episode["visited"][self.idx])

    @road_visited.setter
    def road_visited(self, value: bool) -> None:
        self._episode["visited"][self.idx] = value

    @property
    def color(self) -> npt.NDArray[np.float64]:
        """Red, green and blue: plain once the car has touched it."""
        plain = self._episode["touched"][self.idx]
        color: npt.NDArray[np.float64] = self._episode["road_color"].copy()
        return color if plain else color + 0.01 * (self.idx % 3) * 255


class _CompiledCar(Car):
    """The package's bodies of a car that compiled code steps."""

    def __init__(self, world: World, hull: _Hull, wheels: list[Body], episode: np.void) -> None:
        self.world, self.hull, self.wheels = world, hull, wheels
        self.drawlist = [*wheels, hull]
        self._episode = episode

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, name):
            raise AttributeError(f"car.{name}: cannot be set; compiled code does not read it")
        super().__setattr__(name, value)

    if not TYPE_CHECKING:  # a type checker sees the attribute

        @property
        def fuel_spent(self) -> float:
            """Joules since the last step with an action."""
            return float(self._episode["fuel_spent"])

        @property
        def particles(self) -> deque[Particle]:
            """The newest marks of skidding wheels."""
            num_made, marks = int(self._episode["marks_made"]), self._episode["marks"]
            counts, on_grass = self._episode["mark_counts"], self._episode["mark_on_grass"]
            newest = (
                number % len(marks) for number in range(max(num_made - len(marks), 0), num_made)
            )
            return deque(
                Particle(
                    mark_color(on_grass[mark]),
                    [(x, y) for x, y in marks[mark][: counts[mark]].tolist()],
                    bool(on_grass[mark]),
                )
                for mark in newest
            )


class CarRacing(RacingDeclarations, CompiledBox2DEnv):
    """A car with rear-wheel drive on a closed track of about 300 tiles, in a field of grass.

    - Observation uint8 [96, 96, 3]: the view from above, the car below its middle. The bars
      below it show the speed, the wheels' speeds, steering, turning, and the score.
    - Actions float32 [3]: steering (-1 left, 1 right), gas and brake (0 to 1). With
      `continuous=False` one of 5: nothing, right, left, gas, brake.
    - Reward: -0.1 per step, and 1000 / n for each of the track's n tiles when a wheel first touches
      it; -100 for leaving the field. That terminates (`info["lap_finished"]` is False), and so
      does a finished lap (it is True).

    Attributes:
        car, road, world: Box2D's bodies and world; car and road are None before the first reset.
        tile_visited_count: How many pieces have been touched.
        reward: Score of the episode.
        t: Seconds since the start.

    Examples:
        >>> import gymcore as gym
        >>> import numpy as np
        >>> env = gym.make("CarRacing-v3")
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, len(env.unwrapped.track)
        ((96, 96, 3), 275)
        >>> observation, reward, *_ = env.step(np.array([0.0, 0.5, 0.0], np.float32))
        >>> round(reward, 2)
        7.17
        >>> env.close()
    """

    kernel_module = "gymcore_ext.box2d.racing"
    compiled_methods = frozenset(
        {
            "_create_image_array", "_create_track", "_destroy", "_draw_colored_polygon",
            "_init_colors", "_reinit_colors", "_render", "_render_indicators", "_render_road",
        }
    )  # fmt: skip
    python_class = car_racing_python.CarRacing
    python_names = frozenset({"_create_track", "_destroy"})
    lanes = racing.Cars
    arguments: ClassVar[tuple[str, ...]] = ("continuous", "domain_randomize", "verbose")
    lap_complete_percent = Parameter()
    reward, prev_reward, t = EpisodeField(float), EpisodeField(float), EpisodeField(float)
    tile_visited_count, new_lap = EpisodeField(int), EpisodeField(bool)

    _not_pickled = (*CompiledBox2DEnv._not_pickled, "_car", "_track", "_road_corners")
    contactListener_keepref = None  # there is none in Python
    # The observation of `reset` while it calls the `step` of a subclass.
    _first_observation: npt.NDArray[np.uint8] | None = None
    _car: _CompiledCar | None = None
    # Computed when a program asks for them; empty in a new episode.
    _track: list[TrackPoint]
    _road_corners: Sequence[tuple[list[Point], list[Point] | None]] = ()

    def __init__(
        self,
        render_mode: str | None = None,
        verbose: bool = False,
        lap_complete_percent: float = 0.95,
        domain_randomize: bool = False,
        continuous: bool = True,
    ) -> None:
        """Make a car and a field; tracks come with `reset`.

        Args:
            render_mode: None, "human", "rgb_array" (600 x 400) or "state_pixels" (the
                observation).
            verbose: Whether `reset` of a single environment prints how tracks are generated.
            lap_complete_percent: A lap ends when every piece has been visited, or when the start
                is visited for the first time after more than this share of them. The car begins on
                the start, so the latter never happens unless this is near 0 (as in Gymnasium).
            domain_randomize: Whether each reset draws new colors of road and grass, unless its
                options are `{"randomize": False}`.
            continuous: Whether actions are three numbers instead of one of five.

        Raises:
            ArgumentTypeError: If `lap_complete_percent` is not a number.
            DependencyNotInstalled: If Box2D cannot be called from compiled code, or there is no
                pygame, which draws the numbers.
        """
        self.verbose, self.domain_randomize = bool(verbose), bool(domain_randomize)
        self.continuous = bool(continuous)
        self.observation_space, self.action_space = racing_spaces(self.continuous)
        super().__init__(render_mode, lap_complete_percent=lap_complete_percent)

    def _kernel(self) -> object:
        return racing.kernel if self.continuous else racing.discrete_kernel

    def _lane_options(self) -> dict[str, object]:
        shades, widths = _score_texts()
        return {"lowest": _LOWEST_SCORE, "shades": shades, "widths": widths}

    def make_batch(self, num_envs: int, **options: object) -> Batch:
        """Return a batch of worlds, each with its initial colors.

        Raises:
            DependencyNotInstalled: If Box2D cannot be called from compiled code.
        """
        batch = super().make_batch(num_envs, **options)
        random = np.random.default_rng()
        for episode in batch.store.episodes:
            episode["domain_randomize"] = self.domain_randomize
            _set_colors(episode, random_colors(random if self.domain_randomize else None))
        return batch

    def _definitions(self) -> list[Definition]:
        wheel, fixture, joints = wheel_definitions()
        hull = [
            Box2D.b2FixtureDef(shape=Box2D.b2PolygonShape(vertices=corners), density=1.0)
            for corners in HULL_POLYS
        ]
        tile = self.fd_tile
        dynamic = Box2D.b2BodyDef(type=Box2D.b2_dynamicBody)
        return [Box2D.b2BodyDef(), tile, tile.shape, dynamic, *hull, wheel, fixture, *joints]

    # --- episodes ------------------------------------------------------------------------------

    @classmethod
    def reset_bounds(cls, options: Options) -> tuple[float, ...] | None:
        """Return whether to draw new colors, as the options say."""
        check_options(options, ("randomize",))
        return (float(bool((options or {}).get("randomize", True))),)

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[npt.NDArray[np.uint8], Info]:
        """Begin an episode on a new track.

        With `domain_randomize`, `options={"randomize": False}` keeps the colors. A seed that is
        negative or not an integer is an `Error`. As in Gymnasium, the first observation is that of
        `step(None)` if a subclass has its own `step`.
        """
        observation, info = super().reset(seed=seed, options=options)
        if type(self).step is not CarRacing.step:
            self._first_observation = observation
            try:
                observation = self.step(None)[0]
            finally:
                self._first_observation = None
        if self.verbose:
            episode = self._episode
            first, tiles = int(episode["first"]), int(episode["tiles"])
            for _ in range(episode["retries"]):
                print(car_racing_python.RETRY_TEXT)
            car_racing_python.print_track(first, first + tiles + 1)
        return observation, info

    def step(self, action: Any) -> tuple[npt.NDArray[np.uint8], float, bool, bool, Info]:
        """Drive for a fiftieth of a second.

        Args:
            action: An array of steering, gas and brake, or one of 0 to 4. Steering goes as far as
                the wheels do, gas is clipped to 0..1.

        Returns:
            Observation (a new array), reward, terminated, truncated (False), and info.

        Raises:
            InvalidAction: If `action` is not three numbers, or not an element of `Discrete(5)`.
            ResetNeeded: If `reset` has not been called.
        """
        if action is None and self._first_observation is not None:
            return self._first_observation, 0, False, False, {}
        if not self.continuous and not self.action_space.contains(action):
            raise error.InvalidAction(
                f"you passed the invalid action `{action}`. "
                f"The supported action_space is `{self.action_space}`"
            )
        try:
            step = self._batch.step_single_array if self.continuous else self._batch.step_single
            observation, reward, terminated = step(action)
        except error.InvalidAction:
            raise invalid_action(action, f"an element of {self.action_space}") from None
        if self.render_mode == "human":
            self.render()
        if not terminated:
            return observation, reward, False, False, {}
        is_finished = int(self._episode["lap"]) == racing.LAP_FINISHED
        reward = reward if is_finished else int(reward)  # as in Gymnasium
        return observation, reward, True, False, {"lap_finished": is_finished}

    def _use_colors(self, colors: tuple[Channels, ...]) -> None:
        _set_colors(self._episode, colors)

    # --- attributes that programs read ---------------------------------------------------------

    @property
    def world(self) -> World | None:
        """The `Box2D.b2World`."""
        return self._world

    @property
    def fd_tile(self) -> Definition:
        """The definition of a piece of road's fixture."""
        shape = Box2D.b2PolygonShape(vertices=[(0, 0), (1, 0), (1, -1), (0, -1)])
        return Box2D.b2FixtureDef(shape=shape, isSensor=True)

    @property
    def car(self) -> _CompiledCar | None:
        """The car; None before the first reset."""
        return self._car if self._bodies else None

    @property
    def road(self) -> list[Body] | None:
        """The bodies of the road; None before the first reset."""
        return self._bodies[:-5] or None

    def _with_gymnasium_attributes(self, bodies: list[Body]) -> list[Body]:
        episode, joints = self._episode, self._world.joints
        road = [_Tile(tile, index, episode) for index, tile in enumerate(bodies[:-5])]
        hull = _Hull(bodies[-5])
        wheels: list[Body] = [
            _Wheel(wheel, joint, index, episode, road)
            for index, (wheel, joint) in enumerate(zip(bodies[-4:], joints, strict=True))
        ]
        self._car = _CompiledCar(self._world, hull, wheels, episode)
        self._track, self._road_corners = [], []
        return [*road, hull, *wheels]

    if not TYPE_CHECKING:  # an attribute of the engine in Python

        @property
        def state(self) -> npt.NDArray[np.uint8] | None:
            """The last observation, drawn again; None before the first reset."""
            if not self._bodies:
                return None
            score = float(self._episode["shown_reward"])
            return scaled(paint(self, score, marks=False), (STATE_W, STATE_H))

    @property
    def road_color(self) -> Channels:
        """Red, green and blue of the road."""
        return self._color("road_color")

    @property
    def bg_color(self) -> Channels:
        """Red, green and blue of the field."""
        return self._color("bg_color")

    @property
    def grass_color(self) -> Channels:
        """Red, green and blue of its darker squares."""
        return self._color("grass_color")

    def _color(self, name: str) -> Channels:
        color: npt.NDArray[np.float64] = self._episode[name]
        return color.copy() if self.domain_randomize else color.astype(np.int64)

    @property
    def track(self) -> list[TrackPoint]:
        """Points of the center line (alpha, beta, x, y); empty before the first reset."""
        if self._bodies and not self._track:
            closed = car_racing_python.lay_out(self._episode["draws"].tolist())
            self._track = closed.points if closed else []
        return self._track if self._bodies else []

    @property
    def road_poly(self) -> list[ColoredPolygon]:
        """Corners and color of each piece of road and border; empty before the first reset."""
        polygons: list[ColoredPolygon] = []
        track = self.track
        if track and not self._road_corners:
            self._road_corners = car_racing_python.road_corners(track)
        for tile, (corners, border) in zip(self.road or (), self._road_corners, strict=True):
            polygons.append((corners, tile.color))
            if border is not None:
                polygons.append((border, car_racing_python.BORDER_COLORS[tile.idx % 2]))
        return polygons


def _set_colors(episode: np.void, colors: tuple[Channels, ...]) -> None:
    for name, color in zip(("road_color", "bg_color", "grass_color"), colors, strict=True):
        episode[name] = color


class CarRacingVectorEnv(NativeVectorEnv):
    """A batch of racing cars; see `NativeVectorEnv`.

    `set_attr` takes `lap_complete_percent` (of the next episodes), one for all lanes or one for
    each.
    """

    env_class = CarRacing
