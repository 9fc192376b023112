"""LunarLander: land a small craft between two flags, with three engines."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error, logger, spaces
from gymcore.envs.box2d.lander_heuristic import demo_heuristic_lander, heuristic
from gymcore.envs.box2d.lander_world import (
    CHUNKS,
    FPS,
    HEIGHT,
    HELIPAD_Y,
    INITIAL_RANDOM,
    LANDER_POLY,
    LEG_AWAY,
    LEG_DOWN,
    LEG_H,
    LEG_SPRING_TORQUE,
    LEG_W,
    MAIN_ENGINE_POWER,
    MAIN_ENGINE_Y_LOCATION,
    SCALE,
    SIDE_ENGINE_AWAY,
    SIDE_ENGINE_HEIGHT,
    SIDE_ENGINE_POWER,
    VIEWPORT_H,
    VIEWPORT_W,
    WIDTH,
    ContactDetector,
    leg_definitions,
    make_world,
)
from gymcore.envs.box2d.replayed import ReplayedEnv
from gymcore_ext.box2d.draws import Draws
from gymcore_ext.box2d.lander import Observer

__all__ = [
    "FPS",
    "INITIAL_RANDOM",
    "LANDER_POLY",
    "LEG_AWAY",
    "LEG_DOWN",
    "LEG_H",
    "LEG_SPRING_TORQUE",
    "LEG_W",
    "MAIN_ENGINE_POWER",
    "MAIN_ENGINE_Y_LOCATION",
    "SCALE",
    "SIDE_ENGINE_AWAY",
    "SIDE_ENGINE_HEIGHT",
    "SIDE_ENGINE_POWER",
    "VIEWPORT_H",
    "VIEWPORT_W",
    "ContactDetector",
    "LunarLander",
    "LunarLanderContinuous",
    "demo_heuristic_lander",
    "heuristic",
]

PARTICLE_STEPS = 25
_OBSERVER = Observer(WIDTH / 2, HEIGHT / 2, HELIPAD_Y + LEG_DOWN / SCALE, FPS)

# What is an integer without a question.
_INTEGERS = (int, np.int64)
# Engines by discrete action: power of the main engine, power of a side engine, its direction.
_ENGINES = ((0.0, 0.0, 0), (0.0, 1.0, -1), (1.0, 0.0, 0), (0.0, 1.0, 1))


class LunarLander(ReplayedEnv[Any]):
    """A craft with a main engine, two side engines and two sprung legs, over hilly ground.

    - Observation float32 [8]: x and y (0, 0 is the pad; half a picture is 1), velocities, angle
      (rad), angular velocity, and 1 for each leg that touches the ground.
    - Actions: 0 nothing, 1 left engine, 2 main engine, 3 right engine. With `continuous` float32
      [2]: the main engine runs above 0, from half to full power; a side engine beyond -0.5 or 0.5.
    - Reward: how much nearer, slower and more upright the craft has become, 10 for a leg's contact,
      -0.3 a step for the main engine, -0.03 for a side engine; -100 for a crash or for flying off
      to a side, 100 for coming to rest. Both of these terminate.

    The random push at the start, the ground and the engines' scatter are Gymnasium's for the same
    seed, and so is every observation, reward and flag, to the bit.

    Attributes:
        lander, legs, moon, world: Box2D's bodies and world; None before the first reset.
        helipad_x1, helipad_x2, helipad_y: The pad, metres.
        wind_idx, torque_idx: Where the wind is in its course, with `enable_wind`.

    Example:
        >>> import gymcore as gym
        >>> env = gym.make("LunarLander-v3", gravity=-9.0)
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, observation.dtype
        ((8,), dtype('float32'))
        >>> env.step(2)[2:]
        (False, False, {})
    """

    counters = ("prev_shaping", "wind_idx", "torque_idx")
    _made_again = frozenset(
        (
            "world",
            "moon",
            "lander",
            "legs",
            "drawlist",
            "particles",
            "_leg_definitions",
            "_draws",
            "_contacts",
            "_live",
        )
    )

    def __init__(
        self,
        render_mode: str | None = None,
        continuous: bool = False,
        gravity: float = -10.0,
        enable_wind: bool = False,
        wind_power: float = 15.0,
        turbulence_power: float = 1.5,
    ) -> None:
        """Make a lander.

        Args:
            render_mode: None, "human" or "rgb_array".
            continuous: Whether actions are two numbers instead of one of four.
            gravity: m/s^2, between -12 and 0.
            enable_wind: Whether wind pushes and turns the craft while no leg touches the ground.
            wind_power: Largest force of the wind; 0 to 20 is sensible.
            turbulence_power: Largest torque of the wind; 0 to 2 is sensible.

        Raises:
            FailedCheck: `gravity` is not between -12 and 0 (an `AssertionError` too).
            ArgumentTypeError: one of the three is no number.
        """
        numbers = {
            "gravity": gravity,
            "wind_power": wind_power,
            "turbulence_power": turbulence_power,
        }
        for name, value in numbers.items():
            if not isinstance(value, (int, float, np.number)):
                raise error.ArgumentTypeError(
                    f"{name}: expected a number, got {value!r} ({type(value).__name__})"
                )
        if not -12.0 < gravity < 0.0:
            raise error.FailedCheck(f"gravity (current value: {gravity}) must be between -12 and 0")
        for name, most in (("wind_power", 20.0), ("turbulence_power", 2.0)):
            if not 0.0 <= numbers[name] <= most:
                logger.warn(
                    f"{name} value is recommended to be between 0.0 and {most}, "
                    f"(current value: {numbers[name]})"
                )
        self.render_mode = render_mode
        self.continuous = continuous
        self.gravity = gravity
        self.enable_wind = enable_wind
        self.wind_power = wind_power
        self.turbulence_power = turbulence_power
        high = np.array([2.5, 2.5, 10.0, 10.0, 2 * math.pi, 10.0, 1.0, 1.0], np.float32)
        low = -high
        low[6:] = -0.0
        self.observation_space = spaces.Box(low, high)
        self.action_space: spaces.Space[Any] = (
            spaces.Box(-1, 1, (2,), np.float32) if continuous else spaces.Discrete(4)
        )
        self.prev_shaping: float | None = None
        self.prev_reward: float | None = None
        self.wind_idx = 0
        self.torque_idx = 0
        self.helipad_y = HELIPAD_Y
        self._no_world()
        self._moves = []

    def _no_world(self) -> None:
        self._leg_definitions = leg_definitions()
        self._draws: Draws | None = None
        self.world: Any = None
        self.moon: Any = None
        self.lander: Any = None
        self.legs: list[Any] = []
        self.drawlist: list[Any] = []
        self.particles: list[Any] = []

    @property
    def game_over(self) -> bool:
        """Whether the hull has touched the ground in this episode."""
        return self.lander is not None and self._contacts.crashed

    @game_over.setter
    def game_over(self, value: bool) -> None:
        self._contacts.crashed = bool(value)

    @property
    def sky_polys(self) -> list[list[tuple[float, float]]]:
        """The sky above each piece of ground: four corners in metres."""
        points = list(zip(self._ground_x(), self.ground_y, strict=True))
        return [
            [left, right, (right[0], HEIGHT), (left[0], HEIGHT)]
            for left, right in itertools.pairwise(points)
        ]

    @staticmethod
    def _ground_x() -> list[float]:
        return [WIDTH / (CHUNKS - 1) * i for i in range(CHUNKS)]

    # --- an episode ----------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode: new ground, and a random push at the top of the picture.

        Args:
            seed: Seeds `np_random`.
            options: Not used.
        """
        super().reset(seed=seed)
        random = self.np_random
        heights = random.uniform(0, HEIGHT / 2, CHUNKS + 1).tolist()
        push = (
            float(random.uniform(-INITIAL_RANDOM, INITIAL_RANDOM)),
            float(random.uniform(-INITIAL_RANDOM, INITIAL_RANDOM)),
        )
        if self.enable_wind:
            self.wind_idx = int(random.integers(-9999, 9999))
            self.torque_idx = int(random.integers(-9999, 9999))
        self._start = (float(self.gravity), tuple(heights), push)
        self._moves = []
        self._begin(self._start)
        self.prev_shaping = None
        nothing = np.zeros(2, np.float32) if self.continuous else 0
        return self.step(nothing)[0], {}

    def _begin(self, start: tuple[Any, ...]) -> None:
        """Build the world, and push the craft."""
        gravity, heights, push = start
        pad = CHUNKS // 2
        heights = [*heights[: pad - 2], *[HELIPAD_Y] * 5, *heights[pad + 3 :]]
        xs = self._ground_x()
        self.ground_y = [
            0.33 * (heights[i - 1] + heights[i] + heights[i + 1]) for i in range(CHUNKS)
        ]
        self.helipad_x1, self.helipad_x2 = xs[pad - 1], xs[pad + 1]

        world, moon, lander, legs = make_world(gravity, xs, self.ground_y, self._leg_definitions)
        contacts = ContactDetector(lander, legs)
        world.contactListener = contacts
        self.world, self.moon, self.lander, self.legs = world, moon, lander, legs
        lander.ApplyForceToCenter(push, True)
        self._contacts = contacts
        self.drawlist = [lander, *legs]
        self.particles = []
        # These two look into the body's own memory, so they are read anew each time and for a tenth
        # of what `lander.position` costs. They live as long as the world.
        self._live = (lander.position, lander.linearVelocity, world.Step)

    # --- a step --------------------------------------------------------------------------------

    def step(
        self, action: Any
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Step by an action of `action_space`; see the class.

        With `continuous` any two numbers will do: they are clipped to [-1, 1].

        Raises:
            InvalidAction: no action of `action_space` (an `AssertionError` too).
            ResetNeeded: before the first reset.
        """
        lander = self.lander
        if lander is None:
            raise error.ResetNeeded("step: call reset() first")
        if self.continuous:
            main, side, direction = self._continuous_engines(action)
        else:
            if not (type(action) in _INTEGERS and 0 <= action < 4) and (
                not self.action_space.contains(action)
            ):
                raise error.InvalidAction(
                    f"action: {action!r} ({type(action)}) invalid, expected an element of "
                    f"{self.action_space}"
                )
            main, side, direction = _ENGINES[action]
        leg_1, leg_2 = self.legs
        wind = None
        if self.enable_wind and not (leg_1.ground_contact or leg_2.ground_contact):
            wind = self._blow()
        draws = self._draws
        if draws is None or draws.generator is not self._np_random:
            self._draws = draws = Draws(self.np_random)
        scatter_along, scatter_across = draws.pair(SCALE)
        move = (main, side, direction, scatter_along, scatter_across, wind)
        self._moves.append(move)
        if self.render_mode is not None:
            self._smoke(move)
        self._move(move)

        position, velocity, _ = self._live
        observation, shaping, is_outside = _OBSERVER.observe(
            position.x,
            position.y,
            velocity.x,
            velocity.y,
            lander.angle,
            lander.angularVelocity,
            leg_1.ground_contact,
            leg_2.ground_contact,
        )
        previous = self.prev_shaping
        reward = 0.0 if previous is None else shaping - previous
        self.prev_shaping = shaping
        reward -= main * 0.30
        reward -= side * 0.03
        terminated = False
        if self._contacts.crashed or is_outside:
            terminated, reward = True, -100.0
        if not lander.awake:
            terminated, reward = True, 100.0
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, {}

    def _continuous_engines(self, action: Any) -> tuple[float, float, int]:
        """Power of the main engine, power of a side engine, its direction."""
        try:
            main, side = (float(number) for number in np.asarray(action).ravel().tolist())
        except (TypeError, ValueError):
            raise error.InvalidAction(
                f"action: {action!r} ({type(action)}) invalid, expected two numbers"
            ) from None
        # Comparisons with NaN are false, so that it runs no engine, as in Gymnasium.
        main_power = (min(main, 1.0) + 1.0) * 0.5 if main > 0.0 else 0.0
        if abs(side) > 0.5:
            return main_power, min(abs(side), 1.0), 1 if side > 0.0 else -1
        return main_power, 0.0, 0

    def _blow(self) -> tuple[float, float]:
        """The wind's force and torque, from a sum of two sines that never repeats."""
        force = math.tanh(math.sin(0.02 * self.wind_idx) + math.sin(math.pi * 0.01 * self.wind_idx))
        torque = math.tanh(
            math.sin(0.02 * self.torque_idx) + math.sin(math.pi * 0.01 * self.torque_idx)
        )
        self.wind_idx += 1
        self.torque_idx += 1
        return force * self.wind_power, torque * self.turbulence_power

    def _move(self, move: tuple[Any, ...]) -> None:
        """Push the craft as the engines and the wind do, and let Box2D go one step on."""
        main, side, direction, scatter_along, scatter_across, wind = move
        lander = self.lander
        position, _, world_step = self._live
        if wind is not None:
            lander.ApplyForceToCenter((wind[0], 0.0), True)
            lander.ApplyTorque(wind[1], True)
        if main or side:
            angle = lander.angle
            up_x, up_y = math.sin(angle), math.cos(angle)
            if main:
                along = MAIN_ENGINE_Y_LOCATION / SCALE + 2 * scatter_along
                x = up_x * along + -up_y * scatter_across
                y = -up_y * along - up_x * scatter_across
                lander.ApplyLinearImpulse(
                    (-x * MAIN_ENGINE_POWER * main, -y * MAIN_ENGINE_POWER * main),
                    (position.x + x, position.y + y),
                    True,
                )
            if side:
                across = 3 * scatter_across + direction * SIDE_ENGINE_AWAY / SCALE
                x = up_x * scatter_along + -up_y * across
                y = -up_y * scatter_along - up_x * across
                lander.ApplyLinearImpulse(
                    (-x * SIDE_ENGINE_POWER * side, -y * SIDE_ENGINE_POWER * side),
                    (
                        position.x + x - up_x * 17 / SCALE,
                        position.y + y + up_y * SIDE_ENGINE_HEIGHT / SCALE,
                    ),
                    True,
                )
        world_step(1.0 / FPS, 180, 60)

    # --- pictures ------------------------------------------------------------------------------

    def _smoke(self, move: tuple[Any, ...]) -> None:
        """Let the smoke drift, and add what the engines blow out: for the eye alone."""
        main, side, direction, along, across, _ = move
        drifting = []
        for x, y, x_speed, y_speed, age in self.particles:
            if age < PARTICLE_STEPS:
                drifting.append((x + x_speed / FPS, y + y_speed / FPS, x_speed, y_speed, age + 1))
        _, velocity, _ = self._live
        angle = self.lander.angle
        down_x, down_y = math.sin(angle), -math.cos(angle)
        for power, nozzle, x, y in (
            (main, (0.0, -10.0), down_x + 9 * across * down_y, down_y - 9 * across * down_x),
            (side, (-14.0 * direction, 12.0), direction * down_y, -direction * down_x),
        ):
            if power:
                start = self.lander.GetWorldPoint((nozzle[0] / SCALE, nozzle[1] / SCALE))
                speed = (6.0 if nozzle[0] == 0.0 else 3.5) * power * (1.0 + 9 * along)
                drifting.append(
                    (start.x, start.y, velocity.x + x * speed, velocity.y + y * speed, 0)
                )
        self.particles = drifting

    def _draw(self, surface: Any) -> None:
        from gymcore.envs.box2d.drawing.lunar_lander import draw_lunar_lander

        def pixel(x: float, y: float) -> tuple[float, float]:
            return x * SCALE, VIEWPORT_H - y * SCALE

        def corners(body: Any) -> list[tuple[float, float]]:
            shape = body.fixtures[0].shape
            return [pixel(*body.GetWorldPoint(corner)) for corner in shape.vertices]

        ground = zip(self._ground_x(), self.ground_y, strict=True)
        _, pad_y = pixel(0.0, self.ground_y[CHUNKS // 2])
        draw_lunar_lander(
            surface,
            ground=tuple(pixel(x, y) for x, y in ground),
            pad=(self.helipad_x1 * SCALE, self.helipad_x2 * SCALE, pad_y),
            hull=corners(self.lander),
            window=pixel(*self.lander.GetWorldPoint((0.0, 6 / SCALE))),
            legs=[
                (pixel(*self.lander.GetWorldPoint((side * 15 / SCALE, -8 / SCALE))), corners(leg))
                for side, leg in zip((1, -1), self.legs, strict=True)
            ],
            smoke=[(*pixel(x, y), age / PARTICLE_STEPS) for x, y, _, _, age in self.particles],
        )


class LunarLanderContinuous:
    """Gymnasium's name for the environment that `make("LunarLanderContinuous-v3")` makes."""

    def __init__(self) -> None:
        """Raise: ask `make` for it.

        Raises:
            Error: always.
        """
        raise error.Error(
            "Error initializing LunarLanderContinuous Environment.\n"
            "Currently, we do not support initializing this mode of environment by calling the "
            "class directly.\n"
            "To use this environment, instead create it by specifying the continuous keyword in "
            'gym.make, i.e.\ngym.make("LunarLander-v3", continuous=True)'
        )
