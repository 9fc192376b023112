"""The base class of environments that are written in Python over MuJoCo's package."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from os import path
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymcore import error
from gymcore.core import Env, Info, Options
from gymcore.envs.mujoco.library import (
    mujoco_module,
    step_simulation,
    warn_of_solver,
    warnings_while,
)
from gymcore.envs.mujoco.mujoco_rendering import MujocoRenderer
from gymcore.spaces import Box, Space

if TYPE_CHECKING:
    import mujoco

DEFAULT_SIZE = 480


class ModelNotFound(error.Error, FileNotFoundError):
    """There is no file at the path of a model."""


class BrokenModel(error.InvalidArgument):
    """A file that MuJoCo cannot load as a model; the message names it and the problem."""


def expand_model_path(model_path: str | os.PathLike[str]) -> str:
    """Return the path of a model's file; raise `ModelNotFound`, an `OSError`, if it does not exist.

    A path that begins with `/` or `.` is returned unchanged, and `~` is expanded. Another path is
    the name of a model of gymcore, a file in its folder `assets`.

    Examples:
        >>> expand_model_path("/there/is/none.xml")
        Traceback (most recent call last):
        ...
        gymcore.envs.mujoco.mujoco_env.ModelNotFound: File /there/is/none.xml does not exist
    """
    if not isinstance(model_path, (str, os.PathLike)):
        raise error.ArgumentTypeError(
            f"model_path: expected a path, got {model_path!r} ({type(model_path).__name__})"
        )
    text = os.fspath(model_path)
    if text.startswith((".", "/")):
        full = text
    elif text.startswith("~"):
        full = path.expanduser(text)
    else:
        full = path.join(path.dirname(__file__), "assets", text)
    if not path.exists(full):
        message = f"File {full} does not exist"
        if full != text and path.exists(text):
            message += f" (for the file in the working directory, write {path.join('.', text)!r})"
        raise ModelNotFound(message)
    return full


# Upper limit of simulation steps in a step, and of the width and height of frames.
MAX_COUNT = 1_000_000


class MujocoEnv(Env[NDArray[np.float64], NDArray[np.float32]]):
    """Base class of a MuJoCo environment: loads a model, steps, resets and renders it.

    A subclass defines `step` and `reset_model`, and `metadata` with `render_modes` and, optionally,
    `render_fps`, which must be `round(1 / dt)`.

    Attributes:
        model: The `mujoco.MjModel`.
        data: Its `mujoco.MjData`.
        init_qpos: A copy of the model's initial positions, float64 [nq].
        init_qvel: A copy of its initial velocities, float64 [nv].
        action_space: A float32 `Box` of the control ranges of the model's actuators.
        fullpath: Path of the model's file; empty if the model was given as XML.
        mujoco_renderer: The `MujocoRenderer`, which opens a window or context at the first frame.

    Examples:
        >>> model = '''
        ... <mujoco>
        ...   <option timestep="0.01"/>
        ...   <worldbody>
        ...     <body><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1"/></body>
        ...   </worldbody>
        ...   <actuator><motor joint="x" ctrlrange="-1 1"/></actuator>
        ... </mujoco>'''
        >>> class Slider(MujocoEnv):
        ...     metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 20}
        ...
        ...     def __init__(self, **kwargs):
        ...         space = Box(-np.inf, np.inf, (2,), np.float64)
        ...         super().__init__(model, 5, space, **kwargs)
        ...
        ...     def step(self, action):
        ...         self.do_simulation(action, self.frame_skip)
        ...         return self.state_vector(), float(self.data.qpos[0]), False, False, {}
        ...
        ...     def reset_model(self):
        ...         noise = self.np_random.uniform(-0.1, 0.1, size=self.model.nq)
        ...         self.set_state(self.init_qpos + noise, self.init_qvel)
        ...         return self.state_vector()
        >>> env = Slider()
        >>> env.action_space, env.dt
        (Box(-1.0, 1.0, (1,), float32), 0.05)
        >>> observation, info = env.reset(seed=1)
        >>> observation, reward, *_ = env.step(np.array([1.0], dtype=np.float32))
        >>> observation.shape, bool(observation[1] > 0)
        ((2,), True)
        >>> env.close()
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str],
        frame_skip: int,
        observation_space: Space | None,
        render_mode: str | None = None,
        width: int = DEFAULT_SIZE,
        height: int = DEFAULT_SIZE,
        camera_id: int | None = None,
        camera_name: str | None = None,
        default_camera_config: Mapping[str, object] | None = None,
        max_geom: int = 1000,
        visual_options: dict[int, bool] | None = None,
    ) -> None:
        """Load the model, without rendering or opening a window.

        Args:
            model_path: The model's file (MJCF or URDF as XML, or `.mjb`), see `expand_model_path`;
                or the XML itself.
            frame_skip: Simulation steps in one step of the environment.
            observation_space: The space of observations; None for a subclass that sets
                `observation_space` itself.
            render_mode: `"human"`, `"rgb_array"`, `"depth_array"`, `"rgbd_tuple"` or None.
            width: Width of frames in pixels.
            height: Height of frames in pixels.
            camera_id: This and the following arguments are those of `MujocoRenderer`.
            camera_name: See there.
            default_camera_config: `default_cam_config` there.
            max_geom: See there.
            visual_options: See there.

        Raises:
            gymcore.error.DependencyNotInstalled: If mujoco is not installed.
            ModelNotFound: If the file does not exist.
            BrokenModel: If MuJoCo cannot load the model, or its time step is not positive.
            gymcore.error.FailedCheck: If `frame_skip` is not in 1 to 1,000,000, or
                `metadata["render_fps"]` is not `round(1 / dt)`.
            gymcore.error.InvalidArgument: If both `camera_id` and `camera_name` are given, or
                another argument for rendering is invalid.
        """
        self.frame_skip = checked_count("frame_skip", frame_skip)
        self.width = checked_count("width", width)
        self.height = checked_count("height", height)
        is_xml = isinstance(model_path, str) and model_path.lstrip().startswith("<")
        self._xml = model_path if is_xml else None
        self.fullpath = "" if self._xml else expand_model_path(model_path)

        self.model, self.data = self._initialize_simulation()
        self.init_qpos = self.data.qpos.ravel().copy()
        self.init_qvel = self.data.qvel.ravel().copy()

        check_time_step(self.model, self.dt)
        warn_of_solver(self.model)
        self._check_frames_per_second()
        if observation_space is not None:
            self.observation_space = observation_space
        self._set_action_space()

        self.render_mode = render_mode
        self.camera_name = camera_name
        self.camera_id = camera_id
        self.mujoco_renderer = MujocoRenderer(
            self.model,
            self.data,
            default_camera_config,
            self.width,
            self.height,
            max_geom,
            camera_id,
            camera_name,
            visual_options,
        )
        self._complete()

    # Steps of the construction, which a subclass may override.

    def _complete(self) -> None:
        """Do what needs the model; the last step."""

    def _initialize_simulation(self) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """Return the model, whose offscreen buffer is large enough for a frame, and its data."""
        model = self._load_model()
        visual = model.vis.global_
        visual.offwidth = max(visual.offwidth, self.width)
        visual.offheight = max(visual.offheight, self.height)
        return model, self._make_data(model)

    def _load_model(self) -> mujoco.MjModel:
        """Return the `MjModel` of the file `fullpath`; raise `BrokenModel` if that fails."""
        library = mujoco_module()
        name = self.fullpath or "this XML"
        load = library.MjModel.from_xml_path
        if self._xml:
            load = library.MjModel.from_xml_string
        elif self.fullpath.lower().endswith(".mjb"):
            load = library.MjModel.from_binary_path
        if path.isdir(self.fullpath):
            raise BrokenModel(f"model_path: expected a file, got the folder {self.fullpath}")
        try:
            with warnings_while(f"loading {name}"):
                return load(self._xml or self.fullpath)
        except (ValueError, library.FatalError) as problem:
            raise BrokenModel(
                f"model_path: MuJoCo cannot load {name}: {str(problem).strip()}"
            ) from problem

    def _make_data(self, model: mujoco.MjModel) -> mujoco.MjData:
        """Return a new `mujoco.MjData` of `model`."""
        return mujoco_module().MjData(model)

    def _check_frames_per_second(self) -> None:
        """Raise if `metadata` has `render_fps`, and it is not `round(1 / dt)`."""
        if "render_fps" not in self.metadata:
            return
        declared, expected = self.metadata["render_fps"], round(1.0 / self.dt)
        if declared != expected:
            raise error.FailedCheck(
                f'metadata["render_fps"]: Expected value: {expected}, Actual value: {declared} '
                f"(round(1 / dt), where dt = {self.dt:g} is frame_skip * timestep)"
            )

    def _set_action_space(self) -> Box:
        """Set and return `action_space`, a float32 `Box` of the actuators' control ranges."""
        low, high = self.model.actuator_ctrlrange.astype(np.float32).reshape(-1, 2).T
        self.action_space = Box(low=low, high=high, dtype=np.float32)
        return self.action_space

    # What a subclass defines.

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], SupportsFloat, bool, bool, Info]:
        """See `gymcore.Env.step`; a subclass defines it, using `do_simulation`."""
        raise NotImplementedError(f"{type(self).__name__} has no step(action)")

    def reset_model(self) -> NDArray[np.float64]:
        """Set an initial state with `set_state`, and return the observation.

        A subclass defines it, and draws from `np_random`. The simulation was reset before the call.
        """
        raise NotImplementedError(f"{type(self).__name__} has no reset_model()")

    def _get_reset_info(self) -> Info:
        """Return the info dict of a reset; a subclass may override it."""
        return {}

    # The interface of an environment.

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[NDArray[np.float64], Info]:
        """Reset the simulation, and call `reset_model` for the initial state.

        Args:
            seed: See `gymcore.Env.reset`.
            options: Not used by this class; a subclass may use them.

        Returns:
            The results of `reset_model` and `_get_reset_info`.
        """
        super().reset(seed=seed)
        mujoco_module().mj_resetData(self.model, self.data)
        observation = self.reset_model()
        info = self._get_reset_info()
        if self.render_mode == "human":
            self.render()
        return observation, info

    def render(self) -> Any:
        """Return or show a frame, as `render_mode` says: see `MujocoRenderer.render`."""
        return self.mujoco_renderer.render(self.render_mode)

    def close(self) -> None:
        """Close the window and free rendering contexts; the environment stays usable."""
        renderer = getattr(self, "mujoco_renderer", None)
        if renderer is not None:
            renderer.close()

    # The simulation.

    @property
    def dt(self) -> float:
        """Simulated seconds in one step: the model's time step times `frame_skip`."""
        return float(self.model.opt.timestep) * self.frame_skip

    def set_state(self, qpos: ArrayLike, qvel: ArrayLike) -> None:
        """Set positions and velocities, and compute everything that depends on them (`mj_forward`).

        Activations of actuators, controls and the time are unchanged.

        Args:
            qpos: Positions, float64 [nq].
            qvel: Velocities, float64 [nv].

        Raises:
            gymcore.error.FailedCheck: If a shape is wrong; nothing has been set.
            gymcore.error.InvalidArgument: If numbers are not finite; nothing has been set.
        """
        for name, value, size in (("qpos", qpos, self.model.nq), ("qvel", qvel, self.model.nv)):
            if np.shape(value) != (size,):
                raise error.FailedCheck(
                    f"{name}: expected an array of shape {(size,)}, got {np.shape(value)}"
                )
            try:
                finite = bool(np.isfinite(np.asarray(value, np.float64)).all())
            except (TypeError, ValueError, OverflowError):
                finite = False
            if not finite:
                raise error.InvalidArgument(f"{name}: expected finite numbers, got {value!r}")
        self.data.qpos[:] = qpos
        self.data.qvel[:] = qvel
        with warnings_while("setting a state"):
            mujoco_module().mj_forward(self.model, self.data)

    def do_simulation(self, ctrl: ArrayLike, n_frames: int) -> None:
        """Set the controls and simulate, with the GIL released.

        Args:
            ctrl: Controls [nu]; MuJoCo clamps them to the model's ranges.
            n_frames: Number of simulation steps.

        Raises:
            gymcore.error.InvalidAction: If `ctrl` has another shape, or is not numeric; no step was
                made.
        """
        shape = np.shape(ctrl)
        if shape != (self.model.nu,):
            raise error.InvalidAction(
                f"Action dimension mismatch. Expected {(self.model.nu,)}, found {shape}"
            )
        self._step_mujoco_simulation(ctrl, n_frames)

    def _step_mujoco_simulation(self, ctrl: ArrayLike, n_frames: int) -> None:
        """Step, and compute forces on bodies (`cfrc_ext`, ...), which `mj_step` leaves out."""
        if type(n_frames) is not int or not 0 <= n_frames <= MAX_COUNT:
            n_frames = checked_count("n_frames", n_frames, 0)
        try:
            self.data.ctrl[:] = ctrl
        except (TypeError, ValueError, OverflowError) as problem:
            raise error.InvalidAction(
                f"ctrl: expected {self.model.nu} numbers, got {ctrl!r} ({problem})"
            ) from problem
        step_simulation(self.model, self.data, n_frames)

    def get_body_com(self, body_name: str) -> NDArray[np.float64]:
        """Return the position of a body's frame in the world, float64 [3], a view.

        Raises:
            KeyError: If the model has no such body; the message lists the names.
        """
        position: NDArray[np.float64] = self.data.body(body_name).xpos
        return position

    def state_vector(self) -> NDArray[np.float64]:
        """Return positions and velocities, a new float64 array [nq + nv]."""
        return np.concatenate([self.data.qpos.flat, self.data.qvel.flat])


def check_time_step(model: mujoco.MjModel, dt: float) -> None:
    """Check that the time step is positive and its inverse finite.

    Raises:
        BrokenModel: If the time step is not positive.
    """
    if not (dt > 0 and 1.0 / dt < np.inf):
        raise BrokenModel(f"model: expected a time step above 0, got {model.opt.timestep}")


def checked_count(name: str, value: SupportsIndex, minimum: int = 1) -> int:
    """Return `value` as an int from `minimum` to MAX_COUNT, or raise the error that names it."""
    try:
        value = operator.index(value)
    except TypeError:
        raise error.FailedTypeCheck(
            f"{name}: expected an integer, got {value!r} ({type(value).__name__})"
        ) from None
    if not minimum <= value <= MAX_COUNT:
        limit = f"least {minimum}" if value < minimum else f"most {MAX_COUNT}"
        raise error.FailedCheck(f"{name}: expected at {limit}, got {value}")
    return value
