"""CarRacing in Python: what runs where Box2D cannot be called from compiled code.

It equals the compiled one bit for bit, which shares its constants, spaces and drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.base.arguments import check_options, invalid_action
from gymcore.core import ActType, Info, Metadata, Options
from gymcore.envs.box2d.box2d_env import (
    Body,
    Box2D,
    Box2DEnv,
    Contact,
    Definition,
    DrawnBox2DEnv,
    Start,
    World,
    draw_of,
)
from gymcore.envs.box2d.car_dynamics import Car, View
from gymcore.envs.box2d.car_racing_rendering import (
    GRASS_DIM,
    PLAYFIELD,
    SCALE,
    STATE_H,
    STATE_W,
    WINDOW_H,
    WINDOW_W,
    ZOOM,
    as_color,
    colored_polygons,
    draw_dashboard,
    draw_scenery,
    fill,
    paint,
    scaled,
)
from gymcore.rendering.shapes import Point

if TYPE_CHECKING:
    import pygame

__all__ = [
    "BORDER",
    "BORDER_MIN_COUNT",
    "FPS",
    "MAX_SHAPE_DIM",
    "TRACK_DETAIL_STEP",
    "TRACK_RAD",
    "TRACK_TURN_RATE",
    "TRACK_WIDTH",
    "VIDEO_H",
    "VIDEO_W",
    "ZOOM_FOLLOW",
    "FrictionDetector",
]

_TILE_BODY = Box2D.b2BodyDef()

VIDEO_W, VIDEO_H = 600, 400
FPS = 50
TRACK_RAD = 900 / SCALE
TRACK_DETAIL_STEP = 21 / SCALE
TRACK_TURN_RATE = 0.31
TRACK_WIDTH = 40 / SCALE
BORDER = 8 / SCALE
BORDER_MIN_COUNT = 4

CHECKPOINTS = 12
START_ALPHA = 2 * math.pi * (-0.5) / CHECKPOINTS
_LAPS = 5
_MAX_POINTS = 2500
ZOOM_FOLLOW = True
MAX_SHAPE_DIM = max(GRASS_DIM, TRACK_WIDTH, TRACK_DETAIL_STEP) * math.sqrt(2) * ZOOM * SCALE

_STEP_COST = 0.1
_LEFT_THE_FIELD = -100
_DARKEST, _BRIGHTEST = 0, 210
# Colors of the border beside pieces of road with even and odd numbers.
BORDER_COLORS = ((255, 255, 255), (255, 0, 0))
RETRY_TEXT = "retry to generate track (normal if there are not many instances of this message)"
# Steering, gas and brake by discrete action.
_PEDALS = ((0.0, 0.0, 0.0), (-0.6, 0.0, 0.0), (0.6, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 0.8))

Move = tuple[float, float, float] | None
# Red, green and blue, 0 to 255; and corners with their color.
Channels = npt.NDArray[np.floating] | npt.NDArray[np.integer]
ColoredPolygon = tuple[list[Point], Channels | tuple[int, int, int]]


def racing_spaces(continuous: bool) -> tuple[spaces.Box, spaces.Space]:
    """Return the spaces of observations and of actions."""
    pedals: spaces.Space = (
        spaces.Box(np.array([-1, 0, 0], np.float32), np.array([1, 1, 1], np.float32))
        if continuous
        else spaces.Discrete(5)
    )
    return spaces.Box(0, 255, (STATE_H, STATE_W, 3), np.uint8), pedals


def random_colors(random: np.random.Generator | None) -> tuple[Channels, ...]:
    """Draw the colors of the road, the field and its darker squares; None: the default ones."""
    if random is None:
        return np.array([102, 102, 102]), np.array([102, 204, 102]), np.array([102, 230, 102])
    road = random.uniform(_DARKEST, _BRIGHTEST, size=3)
    field = random.uniform(_DARKEST, _BRIGHTEST, size=3)
    grass = field.copy()
    grass[random.integers(3)] += 20
    return road, field, grass


def print_track(first: int, last: int) -> None:
    """Print which points of the curve are the track, as Gymnasium does."""
    print(f"Track generation: {first}..{last} -> {last - first}-tiles track")


class RacingDeclarations(DrawnBox2DEnv[np.ndarray, ActType]):
    """What this environment and the compiled one have in common."""

    metadata: Metadata = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array", "state_pixels"],
        "render_fps": FPS,
    }
    frame_size = (WINDOW_W, WINDOW_H)
    # Attributes of Gymnasium's environment; these windows do not exist here.
    invisible_state_window = None
    invisible_video_window = None
    start_alpha = START_ALPHA
    domain_randomize: bool
    surf: pygame.Surface
    car: Any
    reward: Any

    def _use_colors(self, colors: tuple[Channels, ...]) -> None:
        raise NotImplementedError

    def _init_colors(self) -> None:
        """Set the initial colors: the default ones, or random ones."""
        self._use_colors(random_colors(self.np_random if self.domain_randomize else None))

    def _reinit_colors(self, randomize: bool) -> None:
        """Draw new colors if `randomize`; without `domain_randomize`, raise a `FailedCheck`."""
        if not self.domain_randomize:
            raise error.FailedCheck("domain_randomize must be True to use this function.")
        if randomize:
            self._use_colors(random_colors(self.np_random))

    def _draw(self, surface: pygame.Surface) -> None:
        surface.blit(paint(self, self.reward, marks=True), (0, 0))

    def _render_frame(self, render_mode: str, state: object) -> Any:
        """Return a frame [400, 600, 3], or the observation; or show a window."""
        return self._render("state_pixels" if self.render_mode == "state_pixels" else render_mode)

    # What Gymnasium's environment calls to draw: a subclass may override it.

    def _render(self, mode: str) -> Any:
        """Return the frame or the observation, for "rgb_array" or "state_pixels"; show "human"."""
        if mode == "human":
            return self._render_with(draw_of, mode, self)
        size = (STATE_W, STATE_H) if mode == "state_pixels" else (VIDEO_W, VIDEO_H)
        return self._create_image_array(paint(self, self.reward, mode == "rgb_array"), size)

    def _render_road(self, zoom: float, translation: Point, angle: float) -> None:
        """Draw the field and the road into `surf`."""
        if type(self)._draw_colored_polygon is RacingDeclarations._draw_colored_polygon:
            draw_scenery(self.surf, self, View(zoom, translation, angle))
            return
        place = zoom, translation, angle
        for polygon, color, options in colored_polygons(self):
            self._draw_colored_polygon(self.surf, polygon, color, *place, **options)

    def _render_indicators(self, W: int, H: int) -> None:
        """Draw the instruments into `surf`, whose width and height are `W` and `H`."""
        draw_dashboard(self.surf, self.car)

    def _draw_colored_polygon(
        self,
        surface: pygame.Surface,
        poly: Sequence[Point],
        color: Iterable[float],
        zoom: float,
        translation: Point,
        angle: float,
        clip: bool = True,
    ) -> None:
        """Draw a polygon of the world."""
        fill(surface, View(zoom, translation, angle), poly, as_color(color))

    def _create_image_array(
        self, screen: pygame.Surface, size: tuple[int, int]
    ) -> npt.NDArray[np.uint8]:
        """Return an image as an array, rescaled to (width, height)."""
        return scaled(screen, size)


class CarRacing(RacingDeclarations[ActType], Box2DEnv[ActType]):
    """A car on a closed track; see `gymcore.envs.box2d.car_racing.CarRacing`."""

    counters = ("reward", "prev_reward", "tile_visited_count", "new_lap", "t")
    settings = ("continuous", "lap_complete_percent", "domain_randomize")
    _not_pickled = (
        "world", "contactListener_keepref", "fd_tile", "car", "road", "road_poly", "track",
        "state",
    )  # fmt: skip

    def __init__(
        self,
        render_mode: str | None = None,
        verbose: bool = False,
        lap_complete_percent: float = 0.95,
        domain_randomize: bool = False,
        continuous: bool = True,
    ) -> None:
        """Make a car and a field; see the compiled environment for the arguments.

        Raises:
            ArgumentTypeError: If `lap_complete_percent` is not a number.
        """
        if not isinstance(lap_complete_percent, (int, float, np.number)):
            raise error.ArgumentTypeError(
                f"lap_complete_percent: expected a number, got {lap_complete_percent!r} "
                f"({type(lap_complete_percent).__name__})"
            )
        self.render_mode = render_mode
        self.verbose = verbose
        self.lap_complete_percent = lap_complete_percent
        self.domain_randomize = domain_randomize
        self.continuous = continuous
        self.observation_space, self.action_space = racing_spaces(continuous)
        self.reward = 0.0
        self.prev_reward = 0.0
        self.tile_visited_count = 0
        self.new_lap = False
        self.t = 0.0
        self._score_seen = 0.0
        self._init_colors()
        self._no_world()
        self._moves: list[Any] = []

    def _no_world(self) -> None:
        self._free()
        self.contactListener_keepref = FrictionDetector(self, self.lap_complete_percent)
        self.world: World = Box2D.b2World((0, 0), contactListener=self.contactListener_keepref)
        self.fd_tile: Definition = Box2D.b2FixtureDef(
            shape=Box2D.b2PolygonShape(vertices=[(0, 0), (1, 0), (1, -1), (0, -1)]), isSensor=True
        )
        self.car: Car | None = None
        self.road: list[Body] | None = None
        self.road_poly: list[ColoredPolygon] = []
        self.track: list[TrackPoint] = []
        self.state: npt.NDArray[np.uint8] | None = None

    def _hull(self) -> Body | None:
        return self.car.hull if self.car else None

    def _use_colors(self, colors: tuple[Channels, ...]) -> None:
        self.road_color, self.bg_color, self.grass_color = colors

    def _draw_observation(self) -> npt.NDArray[np.uint8]:
        """Draw an observation, with the score before the cost of the last step."""
        score, self.reward = self.reward, self._score_seen
        observation: npt.NDArray[np.uint8] = self._render("state_pixels")
        self.state = observation
        self.reward = score
        return observation

    # --- episodes ------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[npt.NDArray[np.uint8], Info]:
        """Begin an episode on a new track.

        With `domain_randomize`, `options={"randomize": False}` keeps the colors. A seed that is
        negative or not an integer is an `Error`.
        """
        check_options(options, ("randomize",))
        super().reset(seed=seed)
        if self.domain_randomize:
            self._reinit_colors((options or {}).get("randomize", True))
        colors = (self.road_color, self.bg_color, self.grass_color)
        self._build(
            (
                self.np_random.bit_generator.state,
                tuple((str(color.dtype), tuple(color.tolist())) for color in colors),
            )
        )
        return self.step(None)[0], {}

    def _begin(self, start: Start) -> None:
        """Build track and car."""
        self._use_colors(tuple(np.array(color, dtype) for dtype, color in start[1]))
        self._destroy()
        self.contactListener_keepref = FrictionDetector(self, self.lap_complete_percent)
        self.world.contactListener = self.contactListener_keepref
        self.reward = 0.0
        self.prev_reward = 0.0
        self.tile_visited_count = 0
        self.t = 0.0
        self.new_lap = False
        self.road_poly = []
        while not self._create_track():
            if self.verbose:
                print(RETRY_TEXT)
        self.car = Car(self.world, *self.track[0][1:4])
        self.car.leaves_marks = self.render_mode in ("human", "rgb_array")

    def __del__(self) -> None:
        """Break the cycles through Box2D: its bodies refer to themselves by their user data."""
        self._free()

    def _destroy(self) -> None:
        """Remove road and car from the world, if they are in one."""
        self._free()

    def _free(self) -> None:
        road = self.__dict__.get("road")
        if not road:
            return
        # Contacts with the removed road must not be reported.
        self.world.contactListener = None
        for tile in road:
            self.world.DestroyBody(tile)
        self.road = []
        if self.car is not None:
            self.car.destroy()
            self.car = None

    def _create_track(self) -> bool:
        """Draw a track and build its road, or return False if the curve does not close.

        The road consists of sensors that wheels touch, and of polygons to draw.
        """
        closed = lay_out(draw_checkpoints(self.np_random))
        if closed is None:
            return False
        if self.verbose:
            print_track(closed.first, closed.last)
        self.track = closed.points
        self.road = []
        shape, self.fd_tile.isSensor = self.fd_tile.shape, True
        for index, (corners, border) in enumerate(road_corners(closed.points)):
            shape.vertices = corners
            tile = self.world.CreateBody(_TILE_BODY)
            tile.CreateFixture(self.fd_tile)
            tile.userData = tile
            tile.color = self.road_color + 0.01 * (index % 3) * 255
            tile.road_visited = False
            tile.road_friction = 1.0
            tile.idx = index
            self.road.append(tile)
            self.road_poly.append((corners, tile.color))
            if border is not None:
                self.road_poly.append((border, BORDER_COLORS[index % 2]))
        return True

    # --- steps ---------------------------------------------------------------------------------

    def step(self, action: Any) -> tuple[npt.NDArray[np.uint8], float, bool, bool, Info]:
        """Drive for a fiftieth of a second.

        Args:
            action: An array of steering, gas and brake, or one of 0 to 4. Steering goes as far as
                the wheels do, gas is clipped to 0..1. None means no action and no reward; `reset`
                makes such a step.

        Returns:
            Observation (a new array), reward, terminated, truncated (False), and info.

        Raises:
            InvalidAction: If `action` is not three numbers, or not an element of `Discrete(5)`.
            ResetNeeded: If `reset` has not been called.
        """
        if self.car is None:
            raise error.ResetNeeded("step: call reset() first")
        move = self._as_move(action)
        reward, terminated, info = self._take(move)
        observation = self._draw_observation()
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, info

    def _as_move(self, action: Any) -> Move:
        """Return steering, gas and brake; the wheels' angle has the opposite sign of the action."""
        if action is None:
            return None
        if not self.continuous:
            if not self.action_space.contains(action):
                raise error.InvalidAction(
                    f"you passed the invalid action `{action}`. "
                    f"The supported action_space is `{self.action_space}`"
                )
            return _PEDALS[int(action)]
        try:
            steer, gas, brake = np.asarray(action, np.float64).tolist()
            if not math.isnan(steer + gas + brake):
                return -steer, gas, brake
        except (TypeError, ValueError, OverflowError):
            pass
        raise invalid_action(action, f"an element of {self.action_space}")

    def _move(self, move: Move) -> tuple[float, bool, Info]:
        """Do everything of a step but the observation."""
        car = self.car
        assert car is not None
        if move is not None:
            steer, gas, brake = move
            car.steer(steer)
            car.gas(gas)
            car.brake(brake)
        car.step(1.0 / FPS)
        self.world.Step(1.0 / FPS, 6 * 30, 2 * 30)
        self.t += 1.0 / FPS
        # The observation shows the score before the step's cost.
        self._score_seen = self.reward
        if move is None:
            return 0, False, {}

        self.reward -= _STEP_COST
        car.fuel_spent = 0.0
        step_reward = self.reward - self.prev_reward
        self.prev_reward = self.reward
        terminated = False
        info: Info = {}
        if self.tile_visited_count == len(self.track) or self.new_lap:
            terminated = True
            info["lap_finished"] = True
        x, y = car.hull.position.tuple
        if abs(x) > PLAYFIELD or abs(y) > PLAYFIELD:
            terminated = True
            info["lap_finished"] = False
            step_reward = _LEFT_THE_FIELD
        return step_reward, terminated, info


class FrictionDetector(Box2D.b2ContactListener):
    """Records which pieces of road the wheels are on, and rewards the first visit of each.

    Attributes:
        env: The environment.
        lap_complete_percent: Share of the road that must have been visited when the start is
            visited first, for that to end the lap.
    """

    def __init__(self, env: CarRacing, lap_complete_percent: float) -> None:
        """Watch the contacts of an environment."""
        super().__init__()
        self.env = env
        self.lap_complete_percent = lap_complete_percent

    def BeginContact(self, contact: Contact) -> None:
        """Box2D calls this when two fixtures begin to touch."""
        self._contact(contact, True)

    def EndContact(self, contact: Contact) -> None:
        """Box2D calls this when two fixtures cease to touch."""
        self._contact(contact, False)

    def _contact(self, contact: Contact, begin: bool) -> None:
        tile, other = contact.fixtureA.body.userData, contact.fixtureB.body.userData
        if not hasattr(tile, "road_friction"):
            tile, other = other, tile
            if not hasattr(tile, "road_friction"):
                return
        env = self.env
        # Once the car, hull included, has touched a piece, it is drawn in the plain color.
        tile.color[:] = env.road_color
        # The hull has no user data.
        if other is None or not hasattr(other, "tiles"):
            return
        if not begin:
            other.tiles.discard(tile)
            return
        other.tiles.add(tile)
        if tile.road_visited:
            return
        tile.road_visited = True
        env.reward += 1000.0 / len(env.track)
        env.tile_visited_count += 1
        # As in Gymnasium, only the first visit of the start counts. The car begins on it, so this
        # ends laps only if `lap_complete_percent` is low.
        visited = env.tile_visited_count / len(env.track)
        if tile.idx == 0 and visited > self.lap_complete_percent:
            env.new_lap = True


# --- tracks --------------------------------------------------------------------------------------
#
# A track is a closed curve through twelve checkpoints. The curve is Gymnasium's: it starts on the x
# axis and turns toward one checkpoint after the other, five times round; the last lap that closes
# is the track. The same draws give the same track, bit for bit.

Draws = tuple[tuple[float, float], ...]


class TrackPoint(NamedTuple):
    """A point of the track's center line.

    Attributes:
        alpha: Its direction from the origin, in radians.
        beta: Angle of the car there, 0 along the y axis.
        x, y: Position, meters.
    """

    alpha: float
    beta: float
    x: float
    y: float


class Track(NamedTuple):
    """A closed track.

    Attributes:
        points: Its points.
        first: Index of the first point on the curve.
        last: Index where the curve passes the start again.
    """

    points: list[TrackPoint]
    first: int
    last: int


def draw_checkpoints(np_random: np.random.Generator) -> Draws:
    """Draw the noise of the angle (radians) and the radius (meters) of each checkpoint."""
    return tuple(
        (
            float(np_random.uniform(0, 2 * math.pi * 1 / CHECKPOINTS)),
            float(np_random.uniform(TRACK_RAD / 3, TRACK_RAD)),
        )
        for _ in range(CHECKPOINTS)
    )


def lay_out(draws: Draws) -> Track | None:
    """Return the track through the checkpoints, or None if the curve does not close.

    Examples:
        >>> track = lay_out(((0.2, 100.0),) * CHECKPOINTS)
        >>> len(track.points), len(track.points) == track.last - track.first - 1
        (260, True)
    """
    curve = _curve(_checkpoints(draws))
    # Where the curve passes the start, from the end: the last two passes bound the track.
    starts = [
        index
        for index in range(len(curve) - 1, 0, -1)
        if curve[index].alpha > START_ALPHA and curve[index - 1].alpha <= START_ALPHA
    ][:2]
    if len(starts) < 2:
        return None
    last, first = starts
    points = curve[first : last - 1]
    begin, end = points[0], points[-1]
    gap = math.sqrt(
        (math.cos(begin.beta) * (begin.x - end.x)) ** 2
        + (math.sin(begin.beta) * (begin.y - end.y)) ** 2
    )
    return None if gap > TRACK_DETAIL_STEP else Track(points, first, last)


def _checkpoints(draws: Draws) -> list[tuple[float, float, float]]:
    """Angle, x and y of each checkpoint; the first and the last are fixed."""
    places = []
    for index, (noise, radius) in enumerate(draws):
        alpha = 2 * math.pi * index / CHECKPOINTS + noise
        if index == 0:
            alpha, radius = 0.0, 1.5 * TRACK_RAD
        elif index == CHECKPOINTS - 1:
            alpha, radius = 2 * math.pi * index / CHECKPOINTS, 1.5 * TRACK_RAD
        places.append((alpha, radius * math.cos(alpha), radius * math.sin(alpha)))
    return places


def _curve(checkpoints: Sequence[tuple[float, float, float]]) -> list[TrackPoint]:
    """Five laps, in steps of `TRACK_DETAIL_STEP`, that turn toward the next checkpoint."""
    pi, cos, sin, atan2 = math.pi, math.cos, math.sin, math.atan2
    x, y, beta = 1.5 * TRACK_RAD, 0.0, 0.0
    target = laps = 0
    on_other_side = False
    points: list[TrackPoint] = []
    while len(points) < _MAX_POINTS:
        alpha = atan2(y, x)
        if on_other_side and alpha > 0:
            laps += 1
            on_other_side = False
        if alpha < 0:
            on_other_side = True
            alpha += 2 * pi
        # The next checkpoint ahead; after the last one the angle goes on below the first.
        while alpha > checkpoints[target % CHECKPOINTS][0]:
            target += 1
            if target % CHECKPOINTS == 0:
                alpha -= 2 * pi
        _, target_x, target_y = checkpoints[target % CHECKPOINTS]

        ahead_x, ahead_y = cos(beta), sin(beta)
        # How far the checkpoint is to the side, in pixels of the original.
        sideways = (ahead_x * (target_x - x) + ahead_y * (target_y - y)) * SCALE
        while beta - alpha > 1.5 * pi:
            beta -= 2 * pi
        while beta - alpha < -1.5 * pi:
            beta += 2 * pi
        before = beta
        turn = min(TRACK_TURN_RATE, abs(0.001 * sideways))
        if sideways > 0.3:
            beta -= turn
        elif sideways < -0.3:
            beta += turn
        x += -ahead_y * TRACK_DETAIL_STEP
        y += ahead_x * TRACK_DETAIL_STEP
        points.append(TrackPoint(alpha, before * 0.5 + beta * 0.5, x, y))
        if laps > _LAPS - 1:
            break
    return points


def find_borders(points: Sequence[TrackPoint]) -> list[bool]:
    """Whether each piece of the track has a red and white border: it is in a hard turn."""
    count = len(points)
    turns = [points[index].beta - points[index - 1].beta for index in range(count)]
    borders = []
    for index in range(count):
        last_turns = [turns[index - back] for back in range(BORDER_MIN_COUNT)]
        is_hard = all(abs(turn) > TRACK_TURN_RATE * 0.2 for turn in last_turns)
        left = sum(turn > 0 for turn in last_turns)
        borders.append(is_hard and left in (0, BORDER_MIN_COUNT))
    for index in range(count):
        for back in range(BORDER_MIN_COUNT):
            borders[index - back] |= borders[index]
    return borders


def road_corners(points: Sequence[TrackPoint]) -> list[tuple[list[Point], list[Point] | None]]:
    """Corners of each piece of road, and of its border if it has one."""
    pieces = []
    for index, (here, has_border) in enumerate(zip(points, find_borders(points), strict=True)):
        before = points[index - 1]
        border = border_corners(here, before) if has_border else None
        pieces.append((tile_corners(here, before), border))
    return pieces


def tile_corners(here: TrackPoint, before: TrackPoint) -> list[Point]:
    """Corners of the piece of road between two points."""
    corners = []
    for point, sides in ((here, (-1, 1)), (before, (1, -1))):
        across_x, across_y = TRACK_WIDTH * math.cos(point.beta), TRACK_WIDTH * math.sin(point.beta)
        corners += [(point.x + side * across_x, point.y + side * across_y) for side in sides]
    return corners


def border_corners(here: TrackPoint, before: TrackPoint) -> list[Point]:
    """Corners of the border beside that piece, on the outside of the turn."""
    side = float(np.sign(before.beta - here.beta))
    corners = []
    for point, widths in (
        (here, (TRACK_WIDTH, TRACK_WIDTH + BORDER)),
        (before, (TRACK_WIDTH + BORDER, TRACK_WIDTH)),
    ):
        across_x, across_y = math.cos(point.beta), math.sin(point.beta)
        corners += [
            (point.x + side * width * across_x, point.y + side * width * across_y)
            for width in widths
        ]
    return corners
