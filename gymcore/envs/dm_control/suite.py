"""The base class of the tasks of the DeepMind control suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from gymcore.base.arguments import flag, keywords, positive
from gymcore.base.arguments import time_limit as seconds_of
from gymcore.base.seeding import checked_seed
from gymcore.core import Info
from gymcore.envs.dm_control.models import model_xml
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.mujoco_env import MAX_COUNT
from gymcore.envs.mujoco.mujoco_rendering import default_free_camera
from gymcore.envs.mujoco.quantities import (
    Operand,
    Quantity,
    joined,
    length,
    mean,
    standard_normal,
    uniform,
    where,
)
from gymcore.envs.mujoco.statements import Assign, Forward
from gymcore.envs.mujoco.tolerance import tolerance
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.spaces import Box

# Bounds of the actions of actuators without limits (mjMAXVAL).
_UNLIMITED = 1e10

# The arguments of each task of a domain.
Tasks = Mapping[str, Mapping[str, Any]]

# Arguments of `dm_control.rl.control.Environment`.
_ENVIRONMENT = ("flat_observation", "control_timestep", "n_sub_steps", "legacy_step")

# Names of the types of joints in MuJoCo's order.
FREE, BALL, SLIDE, HINGE = range(4)


class ControlEnv(CompiledMujocoEnv):
    """A task of the DeepMind control suite.

    A subclass for a domain sets the class attributes and defines `describe`, which returns
    `self.described(...)`. Its attribute `options` has the arguments of the task.

    - Observations are a dict of float64 arrays, or with `flat_observation` all of them in one.
    - Actions are float64 [nu] in the bounds of the actuators; MuJoCo clips others.
    - Rewards are those of dm_control, usually in [0, 1]. `info["discount"]` is 1.0, or 0.0 after a
      step that ends the episode. Time limits truncate.
    - Lane `i` of `reset(seed=s)` draws what `numpy.random.RandomState(s + i)` draws in dm_control,
      so that episodes have the same bits on the same MuJoCo. `np_random` does not affect them.

    Tassa et al., "DeepMind Control Suite" (2018); docs/environments/dm_control.md.
    """

    domain: ClassVar[str] = ""
    # The arguments of each task, and defaults of arguments that `task_kwargs` may also set.
    tasks: ClassVar[Tasks] = {}
    # Seconds of an episode, and of a step; None for one simulation step.
    time_limit: ClassVar[float] = 10.0
    control_timestep: ClassVar[float | None] = None
    metadata: Info = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"]
    }

    def __init__(
        self,
        task: str,
        flat_observation: bool = False,
        task_kwargs: Mapping[str, Any] | None = None,
        environment_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Load the model and compile the task.

        Args:
            task: Name of the task in its domain.
            flat_observation: Whether observations are one array instead of a dict.
            task_kwargs: Arguments of the task in dm_control: `time_limit` (s), `random` (the seed
                of the first reset without a seed), and those of the domain's `tasks`.
            environment_kwargs: Arguments of dm_control's `Environment`: `flat_observation`,
                `control_timestep` (s), `n_sub_steps`, `legacy_step`.
            **kwargs: Arguments for rendering; see `MujocoEnv`.

        Raises:
            InvalidArgument: If the domain has no such task, or a value is out of range.
            ArgumentTypeError: If there is no argument of that name.
        """
        if not isinstance(task, str) or task not in self.tasks:
            raise InvalidArgument(f"task: expected one of {sorted(self.tasks)}, got {task!r}")
        given = keywords("task_kwargs", task_kwargs)
        settings = keywords("environment_kwargs", environment_kwargs)
        defaults = self.tasks[task]
        self.task = task
        self.seconds = seconds_of("time_limit", given.pop("time_limit", self.time_limit))
        random = given.pop("random", None)
        self.first_seed = None if random is None else checked_seed(random)
        for name, values, known in (
            ("task_kwargs", given, defaults),
            ("environment_kwargs", settings, _ENVIRONMENT),
        ):
            if unknown := sorted(values.keys() - set(known)):
                expected = sorted(
                    {*known, *(("time_limit", "random") if known is defaults else ())}
                )
                raise ArgumentTypeError(f"{name}: expected {expected}, got {unknown[0]!r}")
        self.options = {**defaults, **given}
        self.flat = flag("flat_observation", settings.get("flat_observation", flat_observation))
        self.synchronized = flag("legacy_step", settings.get("legacy_step", True))
        self._settings = settings
        super().__init__(self.model_xml(), 1, **kwargs)
        if self.first_seed is not None:
            self._seed(self.first_seed)

    def model_xml(self) -> str:
        """Return the model."""
        return model_xml(self.domain)

    def adapt(self) -> None:
        """Change the compiled model, before the task is compiled."""

    def _complete(self) -> None:
        self.frame_skip = self._steps()
        self.adapt()
        renderer = self.mujoco_renderer
        renderer.default_cam_config = {
            **default_free_camera(self.model),
            **(renderer.default_cam_config or {}),
        }
        super()._complete()

    def _steps(self) -> int:
        """Return the number of simulation steps of a step."""
        steps, seconds = (self._settings.get(name) for name in ("n_sub_steps", "control_timestep"))
        if steps is not None and seconds is not None:
            raise InvalidArgument(
                "environment_kwargs: expected n_sub_steps or control_timestep, got both"
            )
        if steps is None:
            seconds = self.control_timestep if seconds is None else seconds
            ratio = 1.0
            if seconds is not None:
                ratio = seconds_of("control_timestep", seconds) / self.model.opt.timestep
            steps = round(min(ratio, MAX_COUNT + 1.0))
            if abs(ratio - steps) > 1e-8:
                raise InvalidArgument(
                    f"control_timestep: expected a multiple of {self.model.opt.timestep} s, "
                    f"got {seconds}"
                )
        return positive("n_sub_steps", steps, MAX_COUNT)

    @property
    def default_max_episode_steps(self) -> int | None:
        """Steps of an episode, or None for a task without a time limit."""
        steps = self.seconds / (self.model.opt.timestep * self.frame_skip)
        return int(np.ceil(steps)) if np.isfinite(steps) else None

    def _set_action_space(self) -> Box:
        """Set and return `action_space`, a float64 `Box` of the actuators' bounds."""
        limited = self.model.actuator_ctrllimited.astype(bool)[:, None]
        bounds = np.where(limited, self.model.actuator_ctrlrange, (-_UNLIMITED, _UNLIMITED))
        self.action_space = Box(bounds[:, 0], bounds[:, 1], dtype=np.float64)
        return self.action_space

    def described(
        self,
        observation: Mapping[str, Quantity],
        reward: Operand,
        start: Sequence[object],
        scalars: Sequence[str] = (),
        shapes: Mapping[str, tuple[int, ...]] | None = None,
        terminated: Quantity | None = None,
    ) -> Description:
        """Return the description of a task.

        Args:
            observation: The observed quantities, by name.
            reward: The reward of a step.
            start: Statements that follow a first `Forward(actuated=False)`; another one follows.
            scalars: Names of observations of shape ().
            shapes: Shapes of observations of several axes.
            terminated: Whether a step ends the episode, with a discount of 0.
        """
        return Description(
            observation=[*observation.values()] if self.flat else observation,
            shapes={} if self.flat else {**dict.fromkeys(scalars, ()), **(shapes or {})},
            reward=reward,
            terminated=terminated,
            infos={"discount": 1.0 if terminated is None else where(terminated, 0.0, 1.0)},
            start=[Forward(actuated=False), *start, Forward(actuated=False)],
            synchronized=self.synchronized,
            random_state=True,
        )

    # --- what several domains use ---------------------------------------------------------------

    def random_joints(self, s: Simulation) -> list[object]:
        """Return statements that draw the position of every joint.

        Limited hinges and slides are uniform in their ranges, other hinges in [-pi, pi), and free
        joints get a random orientation; other slides stay where they are.
        """
        model = self.model
        statements: list[object] = []
        run: list[tuple[float, float]] = []
        for joint in range(model.njnt + 1):
            kind = model.jnt_type[joint] if joint < model.njnt else None
            address = int(model.jnt_qposadr[joint]) if joint < model.njnt else model.nq
            limited = kind in (HINGE, SLIDE) and model.jnt_limited[joint]
            if limited or kind == HINGE:
                run.append(tuple(model.jnt_range[joint]) if limited else (-np.pi, np.pi))
                continue
            if run:  # consecutive joints are drawn together
                low, high = np.transpose(run)
                target = s.qpos[address - len(run) : address]
                statements.append(Assign(target, uniform(low, high, len(run))))
                run = []
            if kind == FREE:
                drawn = uniform(0.0, 1.0, 4)
                statements.append(Assign(s.qpos[address + 3 : address + 7], drawn / length(drawn)))
        return statements

    def small_control(self, s: Simulation) -> Quantity:
        """Return the mean tolerance of the controls, from 0.8 for large ones to 1 for none."""
        controls = tolerance(
            s.data.ctrl, margin=1.0, value_at_margin=0.0, sigmoid="quadratic", vector=True
        )
        return (mean(controls) + 4.0) / 5.0


def random_direction(target: Quantity, size: int) -> list[object]:
    """Return a statement that assigns normal numbers [size], divided by their norm."""
    drawn = standard_normal(size)
    return [Assign(target, drawn / length(drawn))]


def scalar(low: Operand, high: Operand) -> Quantity:
    """Return one uniform number."""
    return uniform(low, high, 1)


def elements(quantity: Quantity, *indices: int) -> Quantity:
    """Return some elements."""
    return joined(*(quantity[index] for index in indices))


class ControlVectorEnv(MujocoVectorEnv):
    """A batch of tasks of the control suite; see `MujocoVectorEnv` and `ControlEnv`."""

    _model: ControlEnv

    def _make_batch(self) -> None:
        super()._make_batch()
        if self._model.first_seed is not None:
            self._seeds.seed_all(self._model.first_seed)


__all__ = ["ControlEnv", "ControlVectorEnv"]
