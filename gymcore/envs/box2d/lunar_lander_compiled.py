"""LunarLander in compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import invalid_action
from gymcore.core import Info
from gymcore.envs.box2d import lunar_lander_python
from gymcore.envs.box2d.box2d_env import Body, Box2D, Definition, World
from gymcore.envs.box2d.compiled_env import CompiledBox2DEnv, EpisodeField, Foot
from gymcore.envs.box2d.lunar_lander_python import (
    FPS,
    HELIPAD_Y,
    ParticleBodies,
    checked_number,
    lander_spaces,
    sky_over,
    smooth_ground,
)
from gymcore.native.parameters import Parameter, flag
from gymcore.native.vector_env import NativeVectorEnv
from gymcore_ext.box2d import lander

if TYPE_CHECKING:
    import pygame


class _Number(Parameter):
    """A number that is checked like the constructor argument of its name."""

    def encoded(self, value: object) -> tuple[float, ...]:
        """Return the number as the entry of its column."""
        return (checked_number(self.name, value),)


class LunarLander(ParticleBodies, CompiledBox2DEnv):
    """A craft with a main engine, two side engines and two sprung legs, over hilly ground.

    - Observation float32 [8]: x and y (0, 0 is the pad; half the viewport is 1), velocities, angle
      (rad), angular velocity, and 1 for each leg that touches the ground.
    - Actions: 0 nothing, 1 left engine, 2 main engine, 3 right engine. With `continuous` float32
      [2]: the main engine runs above 0, from half to full power; a side engine beyond -0.5 or 0.5.
    - Reward: how much closer, slower and more upright the craft has become, 10 for a leg's contact,
      -0.3 per step for the main engine, -0.03 for a side engine; -100 for a crash or for flying off
      to a side, 100 for coming to rest. Both of these terminate.

    The random push at the start, the ground and the engines' scatter are Gymnasium's for the same
    seed, and so is every observation, reward and flag, bit for bit.

    Attributes:
        lander, legs, moon, world: Box2D's bodies and world; None before the first reset.
        helipad_x1, helipad_x2, helipad_y: The pad, meters.
        wind_idx, torque_idx: Positions in the course of the wind, with `enable_wind`.
        main_engine_power, side_engine_power: Impulses of the engines, 13 and 0.6 in Gymnasium.
        dispersion: Scale of the engines' scatter, 1 in Gymnasium.
        initial_random: Largest push at the start, 1000 N in Gymnasium.

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("LunarLander-v3", gravity=-9.0)
        >>> observation, info = env.reset(seed=1)
        >>> observation.shape, observation.dtype
        ((8,), dtype('float32'))
        >>> env.step(2)[2:]
        (False, False, {})
    """

    kernel_module = "gymcore_ext.box2d.lander"
    lanes = lander.Landers
    numpy_scalars = True
    compiled_methods = frozenset({"_create_particle", "_clean_particles", "_destroy"})
    python_names = frozenset({"particles"})
    python_class = lunar_lander_python.LunarLander
    arguments: ClassVar[tuple[str, ...]] = ("continuous",)
    gravity, wind_power, turbulence_power = _Number(), _Number(), _Number()
    main_engine_power, side_engine_power = _Number(), _Number()
    dispersion, initial_random = _Number(), _Number()
    enable_wind = flag()

    helipad_x1, helipad_x2 = lunar_lander_python.GROUND_X[4], lunar_lander_python.GROUND_X[6]
    helipad_y = HELIPAD_Y
    prev_reward: float | None = None
    wind_idx, torque_idx, game_over = EpisodeField(int), EpisodeField(int), EpisodeField(bool)

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
            gravity: m/s^2, between -12 and 0; applies to the next episodes.
            enable_wind: Whether wind pushes and turns the craft while no leg touches the ground.
            wind_power: Largest force of the wind; 0 to 20 is sensible.
            turbulence_power: Largest torque of the wind; 0 to 2 is sensible.

        Raises:
            FailedCheck: If `gravity` is not between -12 and 0 (also an `AssertionError`).
            ArgumentTypeError: If `gravity` or a power is not a number.
            InvalidArgument: If a power is not finite.
            DependencyNotInstalled: If Box2D cannot be called from compiled code.
        """
        self.continuous = bool(continuous)
        self.observation_space, self.action_space = lander_spaces(continuous)
        self.first_action = np.zeros(2, np.float32) if self.continuous else 0
        super().__init__(
            render_mode,
            gravity=gravity,
            enable_wind=enable_wind,
            wind_power=wind_power,
            turbulence_power=turbulence_power,
        )

    def _kernel(self) -> object:
        return lander.continuous_kernel if self.continuous else lander.kernel

    def _definitions(self) -> list[Definition]:
        parts = lunar_lander_python
        edge = Box2D.b2EdgeShape()
        return [
            parts.GROUND_BODY,
            parts.BEDROCK,
            Box2D.b2FixtureDef(shape=edge, density=0, friction=0.1),
            edge,
            parts.HULL_BODY,
            parts.HULL,
            parts.LEG,
            *(part for leg in parts.leg_definitions() for part in leg),
        ]

    def step(self, action: Any) -> tuple[npt.NDArray[np.float32], float, bool, bool, Info]:
        """Take an action of `action_space`; see the class.

        With `continuous`, an action is two numbers, which are clipped to [-1, 1].

        Raises:
            InvalidAction: If `action` is not an element of `action_space` (also an
                `AssertionError`).
            ResetNeeded: If `reset` has not been called.
        """
        if not self.continuous:
            if not self.action_space.contains(action):
                raise self._invalid(action)
            observation, reward, terminated = self._batch.step_single(action)
        else:
            try:
                observation, reward, terminated = self._batch.step_single_array(action)
            except error.InvalidAction:
                numbers = self._as_numbers(action)
                observation, reward, terminated = self._batch.step_single_array(numbers)
        if terminated:
            reward = int(reward)  # -100 or 100, in Gymnasium too
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, {}

    def _as_numbers(self, action: object) -> npt.NDArray[np.float64]:
        """Return an action of another type or shape as two numbers; NaN runs no engine."""
        try:
            numbers = np.array(action, np.float64).ravel()
        except (TypeError, ValueError, OverflowError):
            numbers = np.empty(0)
        if numbers.size != 2:
            raise invalid_action(action, "two numbers")
        numbers[np.isnan(numbers)] = 0.0
        return numbers

    # --- attributes that programs read ---------------------------------------------------------

    @property
    def world(self) -> World | None:
        """The `Box2D.b2World`; None before the first reset."""
        return self._world if self._bodies else None

    @property
    def moon(self) -> Body | None:
        """The body of the ground; None before the first reset."""
        return self._bodies[0] if self._bodies else None

    @property
    def lander(self) -> Body | None:
        """The body of the hull; None before the first reset."""
        return self._bodies[1] if self._bodies else None

    @property
    def legs(self) -> list[Body]:
        """The bodies of the legs, with `ground_contact` and `joint`; empty before a reset."""
        return self._bodies[2:]

    @property
    def drawlist(self) -> list[Body]:
        """The bodies that are drawn: hull and legs."""
        return self._bodies[1:]

    def _with_gymnasium_attributes(self, bodies: list[Body]) -> list[Body]:
        touches = self._episode["legs"].reshape(-1, 1)
        legs = map(Foot, bodies[2:], self._world.joints, touches)
        self._emitted: list[Body] = []
        return [*bodies[:2], *legs]

    @property
    def prev_shaping(self) -> float | None:
        """The shaping term that the next reward is relative to; None before the first step."""
        episode = self._episode
        return float(episode["prev_shaping"]) if episode["has_shaping"] else None

    @prev_shaping.setter
    def prev_shaping(self, value: float | None) -> None:
        self._episode["has_shaping"] = value is not None
        self._episode["prev_shaping"] = value or 0.0

    @property
    def ground_y(self) -> list[float]:
        """The heights of the points of the ground, meters."""
        return smooth_ground(self._episode["heights"].tolist())

    @property
    def sky_polys(self) -> list[list[tuple[float, float]]]:
        """The sky above each piece of ground: four corners in meters."""
        return sky_over(self.ground_y)

    @property
    def particles(self) -> list[tuple[float, float, float, float, int]]:
        """The smoke: position, velocity and age in steps of each particle; the oldest first."""
        smoke = self._batch.store.smoke[self._lane]
        steps = int(self._episode["steps"])
        particles = []
        for age in reversed(range(min(steps, len(smoke)))):
            for x, y, x_speed, y_speed, is_there in smoke[(steps - 1 - age) % len(smoke)].tolist():
                if is_there:
                    for _ in range(age):
                        x, y = x + x_speed / FPS, y + y_speed / FPS
                    particles.append((x, y, x_speed, y_speed, age))
        return particles

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes, the lane, and the smoke, which is not a part of saved states."""
        return {**super().__getstate__(), "_smoke": self._batch.store.smoke[self._lane].copy()}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Create the batch again, and restore the lane and the smoke."""
        super().__setstate__({name: value for name, value in state.items() if name != "_smoke"})
        self._batch.store.smoke[self._lane] = state["_smoke"]

    # --- helpers of programs that define their own `step` ----------------------------------------

    def _destroy(self) -> None:
        """Remove all bodies; only `reset` may follow."""
        bodies = self._bodies
        self._clean_particles(True)
        self._view = self._view[0], []
        for body in bodies:
            self._world.DestroyBody(body)

    def _draw(self, surface: pygame.Surface) -> None:
        lunar_lander_python.draw(surface, self, self.particles)


class LunarLanderVectorEnv(NativeVectorEnv):
    """A batch of landers; see `NativeVectorEnv`.

    `set_attr` takes `gravity` and `initial_random` (of the next episodes), `enable_wind`,
    `wind_power`, `turbulence_power`, `main_engine_power`, `side_engine_power` and `dispersion`, one
    for all lanes or one for each.
    """

    env_class = LunarLander

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes, the lanes and the smoke."""
        return {**super().__getstate__(), "_smoke": self._batch.store.smoke.copy()}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Create the batch again, and restore the lanes and the smoke."""
        super().__setstate__({name: value for name, value in state.items() if name != "_smoke"})
        self._batch.store.smoke[:] = state["_smoke"]
