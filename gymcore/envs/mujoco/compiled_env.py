"""MuJoCo environments from a description, which compiled code runs, alone and in batches."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base import seeding
from gymcore.base.arguments import check_options
from gymcore.core import Info, Options
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.library import (
    load_functions,
    mujoco_module,
    report_faults,
)
from gymcore.envs.mujoco.mujoco_env import MujocoEnv, check_time_step, checked_count
from gymcore.envs.mujoco.program import Program, evaluate
from gymcore.envs.mujoco.quantities import Parameter, Precision, Quantity, as_quantity, joined
from gymcore.envs.mujoco.weights import PrivateName, Range, Weight, to_columns
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.native.env import SINGLE, NativeEnv
from gymcore.native.kernel_spaces import action_groups, array_layout, kernel_agents, leaves_of
from gymcore.native.lane_generator import lane_generator
from gymcore.native.parameters import KernelSpec
from gymcore.native.python_step import PythonStepBatch
from gymcore.native.state import digest
from gymcore.spaces import Box, Dict
from gymcore_ext.engine.batch import Batch
from gymcore_ext.mujoco.simulations import Simulations, run

if TYPE_CHECKING:
    import mujoco

    from gymcore.vector.protocols import CompiledEngine

Start = tuple["npt.NDArray[np.float64] | float", "npt.NDArray[np.float64] | float"]

# Constructor arguments that every environment has.
_RENDERING_ARGUMENTS = (
    "render_mode",
    "width",
    "height",
    "camera_id",
    "camera_name",
    "default_camera_config",
    "max_geom",
    "visual_options",
)


# The arguments of Gymnasium's `_get_rew`, each as a function of the environment after a step, the
# action, whether the episode has ended, and the infos.
_REWARD_ARGUMENTS: dict[str, Callable[[Any, object, bool, Info], Any]] = {
    "action": lambda env, action, terminated, infos: action,
    "pos_after": lambda env, action, terminated, infos: env.data.qpos[2],
    "terminated": lambda env, action, terminated, infos: terminated,
    "tip_x": lambda env, action, terminated, infos: env.data.site_xpos[0][0],
    "tip_y": lambda env, action, terminated, infos: env.data.site_xpos[0][2],
    "x_velocity": lambda env, action, terminated, infos: infos["x_velocity"],
}


# Methods and properties that a subclass may override, and the quantities that they replace.
_PYTHON_QUANTITIES = {
    "control_cost": "effort",
    "contact_forces": "pressure",
    "contact_cost": "pressure",
    "healthy_reward": "survival",
    "state_vector": "health",
    "is_healthy": "health",
    "terminated": "ending",
}
# The attribute that computes each of them.
_ATTRIBUTES = {quantity: name for name, quantity in _PYTHON_QUANTITIES.items()}


class CompiledMujocoEnv(NativeEnv[npt.NDArray[np.float64], npt.NDArray[np.float32]], MujocoEnv):
    """Base class of MuJoCo environments that are written as a description.

    A subclass defines `describe`, which says which quantities of the simulation are observed and
    rewarded, and when an episode ends. Compiled code runs the description, here in a batch of one
    and in `MujocoVectorEnv` in a batch of many, with bit-identical results. `model` and `data` are
    those of `MujocoEnv`; you may change their contents.

    - Observations are float64 [size], as described. Actions are [size], float32 or float64, and are
      not clipped here.
    - The reset options `qpos` [nq] and `qvel` [nv] replace the described initial state; its random
      numbers are drawn all the same.
    - MuJoCo resets a simulation to its initial state if the state becomes nan or huge. The episode
      then ends (`terminated`), with a warning. A simulation that fails raises `SimulationFailed`.

    You may replace `frame_skip`, `model` and `data` (by ones of the same sizes), and constructor
    arguments under their names with an underscore, such as
    `_exclude_current_positions_from_observation`; this compiles the description again. Changes of
    `init_qpos` and `init_qvel`, also in place, take effect at the next reset. Changes of the model
    in place take effect immediately, except that the description keeps its `dt`.
    """

    kernel_module = ""
    arguments: ClassVar[tuple[str, ...]] = _RENDERING_ARGUMENTS
    observation_method = "_get_obs"
    compiled_methods = frozenset({"do_simulation", "_step_mujoco_simulation"})
    object_bytes = 65_536
    # The arguments of `_get_rew`, names of `_REWARD_ARGUMENTS`; None if it is never called.
    reward_arguments: ClassVar[tuple[str, ...] | None] = None
    # Whether compiled code resets and rewards, or methods of a subclass.
    _resets_compiled: ClassVar[bool] = True
    _rewards_compiled: ClassVar[bool] = True
    # Attributes that the compiled description depends on.
    _compiled_in: ClassVar[frozenset[str]] = frozenset()
    _compiled_reward: tuple[tuple[Any, ...], float, Info] | None = None
    # Columns of the weights whose values a subclass fixes.
    fixed: ClassVar[dict[str, float]] = {}
    # Defaults of the columns of weights.
    _defaults: Mapping[str, float] = {}
    # Names of the parameters that hold what an override in Python returns.
    _overridden: dict[str, list[str]]
    # Whether the description is used: a subclass whose constructor calls `MujocoEnv.__init__`, with
    # a model of its own, and that defines `step` and `reset_model`, does not need it.
    _described = False
    metadata: Info = {  # noqa: RUF012
        "render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"]
    }

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Collect the declared weights and the arguments that all lanes share."""
        super().__init_subclass__(**kwargs)
        for name, value in list(cls.__dict__.items()):
            if isinstance(value, Weight):
                setattr(cls, f"_{name}", PrivateName(value))
        declared = {
            name: value
            for base in reversed(cls.__mro__)
            for name, value in vars(base).items()
            if isinstance(value, Weight)
        }
        cls.parameters = {
            name: value
            for name, value in declared.items()
            if inspect.getattr_static(cls, name) is value or name in cls.in_python
        }
        cls.fixed = {}
        for name in declared.keys() - cls.parameters.keys():
            cls.fixed.update(to_columns(declared[name], getattr(cls, name)))
        cls.settable = tuple(f"_{name}" for name in cls.parameters)
        cls._resets_compiled = (
            cls.reset_model is CompiledMujocoEnv.reset_model
            and cls._get_reset_info is CompiledMujocoEnv._get_reset_info
        )
        cls._rewards_compiled = cls._get_rew is CompiledMujocoEnv._get_rew
        never_called = not cls._rewards_compiled and cls.reward_arguments is None
        if never_called and cls.step is CompiledMujocoEnv.step:
            raise error.Error(
                f"{cls.__name__}._get_rew: never called; describe() defines the reward"
            )
        calls_set_state = not cls._resets_compiled or cls.reset is not CompiledMujocoEnv.reset
        if cls.set_state is not CompiledMujocoEnv.set_state and not calls_set_state:
            raise error.Error(
                f"{cls.__name__}.set_state: the compiled reset never calls it; override "
                "reset_model() too, or describe()"
            )
        names = [
            name
            for name, value in inspect.signature(cls.__init__).parameters.items()
            if value.kind in (value.POSITIONAL_OR_KEYWORD, value.KEYWORD_ONLY) and name != "self"
        ]
        fixed = set(names) - cls.parameters.keys()
        cls.arguments = (*fixed, *_RENDERING_ARGUMENTS)
        cls._compiled_in = frozenset(("model", "data", "frame_skip", *(f"_{n}" for n in fixed)))

    def __init__(
        self,
        model_path: str,
        frame_skip: int,
        **arguments: Any,
    ) -> None:
        """Load the model and compile the description.

        Args:
            model_path: The model's file, see `expand_model_path`, or its XML.
            frame_skip: Simulation steps in one step of the environment.
            **arguments: Values of declared `Weight` attributes, and arguments of `MujocoEnv`:
                `render_mode`, `width`, `height`, `camera_id`, `camera_name`,
                `default_camera_config`, `max_geom`, `visual_options`.

        Raises:
            gymcore.error.ArgumentTypeError: If the environment has no such argument.
        """
        weights = {name: arguments.pop(name) for name in self.parameters if name in arguments}
        if unknown := sorted(arguments.keys() - set(_RENDERING_ARGUMENTS)):
            raise ArgumentTypeError(
                f"{type(self).__name__}: got an unexpected keyword argument {unknown[0]!r}"
            )
        self._described = True
        self._defaults = {}
        for name, value in weights.items():
            self._defaults.update(to_columns(self.parameters[name], value))
        MujocoEnv.__init__(self, model_path, frame_skip, None, **arguments)
        if "render_fps" not in self.metadata:
            fps = int(np.round(1.0 / self.dt))
            self.metadata = {**self.metadata, "render_fps": fps}

    def _complete(self) -> None:
        if not self._described and self._override("step") and not self._resets_compiled:
            self.batch_type = PythonStepBatch
        else:
            self._described = True
        self._compile()

    def _description(self) -> Description:
        """Return the description, in which results of overrides in Python are parameters."""
        s = self.simulation()
        self._overridden = {}
        if not self._described:
            return Description([s.qpos, s.qvel], 0.0, self.init_qpos, self.init_qvel)
        replaced = {_PYTHON_QUANTITIES[n] for n in self.in_python if n in _PYTHON_QUANTITIES}
        for quantity in replaced:
            value = self._parameters(_ATTRIBUTES[quantity], 1)
            if quantity == "effort":  # float32 if the override returns float32
                value.precision = Precision.ACTION
            elif quantity != "health":  # truth values let the other operand decide
                value.precision = Precision.FLOAT64
            self.__dict__[quantity] = lambda *_, value=value: value
        if "get_body_com" in self.in_python:
            s.__dict__["body_position"] = lambda body: self._parameters("get_body_com", 3, body)
        try:
            return self.describe(s)
        finally:
            for quantity in replaced:
                del self.__dict__[quantity]

    def _parameters(self, name: str, size: int, *arguments: str) -> Quantity:
        """Return the numbers that an override returns, as parameters of the program."""
        key = ".".join((name, *arguments))
        columns = self._overridden[key] = [f"{key}[{i}]" for i in range(size)]
        return Parameter(columns[0]) if size == 1 else joined(*map(Parameter, columns))

    def _call_overrides(self, prefix: str, action: Any = None) -> dict[str, Any]:
        """Write what overrides return for the current simulation to their parameters.

        Args:
            prefix: First part of the names of these overrides.
            action: The action of the step, for `control_cost`.

        Returns:
            What the overrides returned.

        Raises:
            InvalidArgument: If an override returned another number of values.
        """
        values: dict[str, Any] = {}
        keys = [key for key in self._overridden if key.startswith(prefix)]
        if not keys:
            return values
        table, names = self._batch.get_parameters(), list(self._program.parameters)
        for key in keys:
            columns, (name, *arguments) = self._overridden[key], key.split(".", 1)
            value = getattr(self, name)
            if callable(value):
                value = value(*(arguments or [action]))
            values[key] = value
            if np.size(value) != len(columns):
                raise InvalidArgument(
                    f"{name}: expected {len(columns)} numbers, got shape {np.shape(value)}"
                )
            table[[names.index(column) for column in columns], 0] = np.ravel(value)
        self._batch.set_parameters(table)
        return values

    def check_kernel(self) -> None:
        """Check the weights and spaces, unless the description is not used."""
        if self._described:
            super().check_kernel()
        self.fits_kernel = True

    def _compile(self) -> None:
        """Compile the description and make the batch of one."""
        if not self.model.nu:
            raise InvalidArgument("model: expected actuators, got a model without actuators")
        self._program = program = Program(
            self._description(),
            {**self._defaults, **dict.fromkeys(chain(*self._overridden.values()), 0.0)},
            self.model.nq,
            self.model.nv,
            self.model.nu,
        )
        self._starts = self.init_qpos.copy(), self.init_qvel.copy()
        self._fixed_digest = digest(
            model_bytes(self.model),
            repr((program.arrays, program.constants, self.frame_skip)).encode(),
            *program.programs.values(),
        )
        if self._described:
            self._set_spaces()
        self._batch = self._own_batch()

    def _set_spaces(self) -> None:
        """Set the spaces of the compiled description."""
        self.observation_space = _observation_space(self._program)
        if self.action_space.shape != (self._program.action_size,):
            self.action_space = Box(-1.0, 1.0, (self._program.action_size,), np.float32)

    def fixed_digest(self) -> int:
        """Return a digest of the compiled model, the description and `frame_skip`."""
        return self._fixed_digest

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; compile again if the description depends on it.

        Raises:
            InvalidArgument: If the new model or data has other sizes.
            AttributeError: If this is a lane of a vector environment, whose lanes share the
                attribute.
        """
        if name not in self._compiled_in or "_batch" not in self.__dict__:
            object.__setattr__(self, name, value)
            return
        if self._shares_batch:
            raise AttributeError(f"{name}: shared by all lanes of a vector environment")
        if name == "frame_skip":
            value = checked_count(name, value)
        elif name in ("model", "data") and sizes_of(value) != sizes_of(getattr(self, name)):
            raise InvalidArgument(f"{name}: expected the same sizes as before, got {value!r}")
        before = dict(self.__dict__)
        object.__setattr__(self, name, value)
        try:
            self._compile_again()
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _compile_again(self) -> None:
        """Compile again and continue the episode."""
        check_time_step(self.model, self.dt)
        before = self._batch
        self.__dict__.pop("observation_structure", None)
        self._compile()
        self._batch.set_parameters(before.get_parameters())
        self._batch.view_random()[:] = before.view_random()
        if before.is_ready:
            self._batch.mark_ready()
        if self._generator is not None:
            seeds = self._generator.bit_generator.seed_seq
            self._generator = lane_generator(self._batch, 0)
            seeding.set_seed_sequence(self._generator, seeds)

    def simulation(self) -> Simulation:
        """Return the quantities that `describe` combines."""
        return Simulation(
            self.model, self.data, self.dt, self.init_qpos, self.init_qvel, self.fixed
        )

    def describe(self, simulation: Simulation) -> Description:
        """Return the description; called after the model was loaded, and when it is compiled again.

        Args:
            simulation: The quantities of the simulation.
        """
        raise NotImplementedError(f"{type(self).__name__} has no describe(simulation)")

    # --- batches --------------------------------------------------------------------------------

    def make_batch(self, num_envs: int, **options: object) -> Batch:
        """Return a batch of simulations of this environment's model."""
        mujoco = mujoco_module()
        return self._batch_over([mujoco.MjData(self.model) for _ in range(num_envs)], **options)

    def _batch_over(self, datas: list[mujoco.MjData], **options: Any) -> Batch:
        load_functions()
        models = [self.model] * len(datas)
        if self._program.writes and datas[0] is not self.data:  # each lane has its own targets
            models = [copy.copy(self.model) for _ in datas]
        simulations = Simulations(
            self._program,
            models=models,
            datas=datas,
            frame_skip=self.frame_skip,
            signature=int(mujoco_module().mjtState.mjSTATE_INTEGRATION),
            on_fault=report_faults,
            agents=self._agents_of_kernel(),
        )
        count = len(datas)
        options.update(errors=error, store=simulations)
        if self.agents is not None:
            options["action_groups"] = action_groups(self.action_space, self.agents)
        if self.agents is not None or self._program.names:
            options["layout"] = array_layout("observation_space", self.observation_space)
        batch = self.batch_type(simulations.kernel, count, **options)
        batch.float32_numbers = self._program.float32_infos
        return batch

    def reset_option_names(self) -> tuple[str, ...]:
        """Return the names of the options of `reset`."""
        return ("qpos", "qvel")

    def _agents_of_kernel(self) -> dict[str, Any]:
        """Return the arguments of a kernel that describe the agents of a world, if it is one."""
        if self.agents is None:
            return {}
        layout = array_layout("observation_space", self.observation_space)
        shape = self.action_space.shape or (self._program.action_size,)
        return {
            "parts": leaves_of(layout),
            "action": (np.float64, shape),
            **kernel_agents(self.agents, layout),
        }

    def kernel_spec(self) -> KernelSpec:  # type: ignore[override]
        """Return the sizes, names and defaults of the kernel."""
        return self._batch.spec

    @classmethod
    def lane_of(cls, envs: CompiledEngine, lane: int, seed: int) -> Self:
        """Return a lane of a vector environment; see `NativeEnv.lane_of`."""
        self = super().lane_of(envs, lane, seed)
        simulations = self._simulations = envs._batch.store
        self.__dict__.update(model=simulations.models[lane], data=simulations.datas[lane])
        self.mujoco_renderer = envs._model.mujoco_renderer
        return self

    # --- stepping -------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: Options = None
    ) -> tuple[npt.NDArray[np.float64], Info]:
        """Begin an episode; see `Env.reset`.

        Args:
            seed: Seeds `np_random`, as in Gymnasium.
            options: `qpos` [nq] and `qvel` [nv], the initial state.

        Returns:
            The observation, a new float64 array [size], and the described infos.

        Raises:
            InvalidArgument: If positions or velocities have another shape or are not finite.
        """
        start = start_of(options, self.model.nq, self.model.nv, 1)
        if not all(map(np.array_equal, self._starts, (self.init_qpos, self.init_qvel))):
            self._compile_again()
        self._prepare_reset(seed)
        self._simulations.set_initial_state(*start)
        if not self._resets_compiled:
            mujoco_module().mj_resetData(self.model, self.data)
            self._allow_steps()
        try:
            observation = self.reset_model()
        finally:
            self._simulations.set_initial_state(np.nan, np.nan)
        compiled = self._resets_compiled
        info = self._batch.infos(True) if compiled else self._get_reset_info()
        if self.render_mode == "human":
            self.render()
        return observation, info

    def reset_model(self) -> npt.NDArray[np.float64]:
        """Begin an episode as described; return the observation, a new array.

        A subclass may override this, `_get_obs` and `_get_reset_info` in Python, for a single
        environment; batches follow `describe`.
        """
        observation: npt.NDArray[np.float64] = self._batch.reset()[0]
        if "get_body_com" in self.in_python:
            observation = CompiledMujocoEnv._get_obs(self)
        return observation if self._observe is None else self._observe()

    def step(
        self, action: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float64], float, bool, bool, Info]:
        """Step with an action of the shape of `action_space`; see `Env.step`.

        The observation is a new float64 array [size].

        Raises:
            InvalidAction: If the action has another shape, or is nan or not numeric.
            ResetNeeded: If `reset` has not been called.
            SimulationFailed: If MuJoCo failed.
        """
        batch = self._batch
        try:
            observation, reward, terminated = batch.step_single_array(action)
        except error.InvalidAction as problem:
            raise self._refusal(action, problem) from None
        if self._observe_step is not None:
            observation = self._observe_step()
        infos = batch.infos()
        for name, number_type in self._program.number_types.items():
            if name == "reward":
                reward = number_type(reward)
            else:
                infos[name] = number_type(infos[name])
        if not self._rewards_compiled and self.reward_arguments is not None:
            reward, infos = self._ask_for_reward(action, reward, terminated, infos)
        if self.render_mode == "human":
            self.render()
        return observation, reward, terminated, False, infos

    def step_in_python(self, action: npt.ArrayLike) -> tuple[float, bool, Info]:
        """Run the program of a step in Python, with `do_simulation` and other overrides.

        Raises:
            gymcore.error.Error: If the environment does not use its description.
            InvalidAction: If the action has another shape.
        """
        if not self._described:
            raise error.Error(
                f"{type(self).__name__}.step: calls the described step, but the constructor calls "
                "MujocoEnv.__init__ instead of that of the described environment"
            )
        program, data = self._program, self.data
        numbers = np.asarray(action)
        if numbers.shape != (program.action_size,):
            raise error.InvalidAction(f"action: expected shape {(program.action_size,)}")
        self._call_overrides("get_body_com")
        registers, parameters = np.zeros(program.registers), self._batch.get_parameters()[:, 0]
        owners = {"data": data, "model": self.model}
        arrays = [getattr(owners[owner], name) for owner, name in program.arrays]
        observation = np.empty(program.observation_size)
        spaces = [registers, program.constants, parameters, [], numbers, observation, *arrays]
        is_float32 = numbers.dtype == np.float32
        controls = len(spaces) - len(arrays) + program.arrays.index(("data", "ctrl"))
        run(program.programs["before"], spaces, is_float32, [controls])
        self.do_simulation(data.ctrl.copy(), self.frame_skip)
        results = self._call_overrides("", action)
        if "control_cost" in results:  # what follows depends on the action by this cost only
            is_float32 = np.asarray(results["control_cost"]).dtype == np.float32
        parameters[:] = self._batch.get_parameters()[:, 0]
        run(program.programs["after"], spaces, is_float32)
        infos: Info = {}
        at = 2
        for name, dtype, size, _ in program.infos:
            values = registers[at : at + size].astype(dtype)
            infos[name] = values if size != 1 else values[0]
            if is_float32 and name in program.float32_infos:
                infos[name] = np.float32(infos[name])
            at += size
        return registers[0], bool(registers[1]), infos

    def _get_obs(self) -> npt.NDArray[np.float64]:
        """Return the described observation of the current simulation, a new array [size]."""
        if self._described:
            self._call_overrides("get_body_com")
            observation: npt.NDArray[np.float64] = super()._get_obs()
            return observation
        return self.value_of(lambda s: joined(*self.describe(s).observation))

    def _ask_for_reward(
        self, action: npt.ArrayLike, reward: float, terminated: bool, infos: Info
    ) -> tuple[float, Info]:
        """Return the reward that a subclass computes in Python, and the infos with its terms."""
        names = [n for n in infos if n.startswith("reward_") or n.endswith("_penalty")]
        terms = {name: infos.pop(name) for name in names}
        sources = (_REWARD_ARGUMENTS[name] for name in self.reward_arguments or ())
        arguments = tuple(source(self, action, terminated, infos) for source in sources)
        self._compiled_reward = arguments, reward, terms
        reward, terms = self._get_rew(*arguments)
        return reward, {**infos, **terms}

    def _get_rew(self, *arguments: npt.ArrayLike) -> tuple[float, Info]:
        """Return the described reward of the last step, and its terms.

        A subclass of an environment of Gymnasium's may override this in Python, with Gymnasium's
        arguments, for a single environment; batches follow `describe`.

        Args:
            *arguments: The arguments with which the override was called.

        Raises:
            InvalidArgument: If the arguments are not those of the last step: no other reward is
                computed.
        """
        if self._compiled_reward is None:
            raise error.Error(
                f"{type(self).__name__}._get_rew: knows only the reward of the compiled step; a "
                "`step` that calls do_simulation() needs a `_get_rew` of its own"
            )
        expected, reward, terms = self._compiled_reward
        if len(arguments) != len(expected) or not all(map(np.array_equal, arguments, expected)):
            raise InvalidArgument(
                f"_get_rew: expected the arguments of this step, {expected}, got {arguments}"
            )
        return reward, dict(terms)

    @classmethod
    def reset_bounds(cls, options: Options) -> None:
        """Return None: options give positions and velocities (`start_of`), not bounds."""

    def _refusal(self, action: npt.ArrayLike, problem: error.InvalidAction) -> error.InvalidAction:
        """Return the error for an action, with Gymnasium's message for a wrong shape."""
        expected = (self._program.action_size,)
        with contextlib.suppress(ValueError):  # lists of different lengths have no shape
            if (shape := np.shape(action)) != expected:
                return error.InvalidAction(
                    f"Action dimension mismatch. Expected {expected}, found {shape}"
                )
        return error.InvalidAction(str(problem).replace("actions", "action", 1))

    def value_of(
        self,
        quantity: Quantity | Callable[[Simulation], Quantity],
        action: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.float64]:
        """Return the value of a quantity in the current simulation, a new float64 array [size].

        Args:
            quantity: The quantity, or a function that returns it, given `simulation()`.
            action: The action, if the quantity depends on one.

        Examples:
            >>> from gymcore.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
            >>> env = HalfCheetahEnv()
            >>> _ = env.reset(seed=1)
            >>> env.value_of(lambda simulation: simulation.qpos[0])
            array([0.00236432])
        """
        if not isinstance(quantity, Quantity):
            quantity = quantity(self.simulation())
        table = self._batch.get_parameters()
        column = table[:, self._lane % table.shape[1]].tolist()
        parameters = dict(zip(self._batch.spec["parameters"], column, strict=True))
        return evaluate(quantity, self.model, self.data, parameters, action)

    def _get_reset_info(self) -> Info:
        """Return the described infos of a reset, for the current simulation."""
        try:
            described = self.describe(self.simulation()).reset_infos
        except InvalidArgument:
            if self._described:
                raise
            return {}  # a model of its own lacks what is described
        values = {name: self.value_of(as_quantity(value)) for name, value in described.items()}
        return {name: value if value.size != 1 else value[0] for name, value in values.items()}

    # --- state ----------------------------------------------------------------------------------

    @property
    def state(self) -> npt.NDArray[np.float64] | None:
        """Positions and velocities, a float64 copy [nq + nv]; None before the first reset."""
        return self.state_vector() if self._batch.is_ready else None

    @state.setter
    def state(self, value: npt.ArrayLike | None) -> None:
        if value is not None:
            numbers = np.asarray(value)
            if numbers.shape != (self.model.nq + self.model.nv,):
                raise InvalidArgument(
                    f"state: expected {self.model.nq} positions and {self.model.nv} velocities, "
                    f"got shape {numbers.shape}"
                )
            self.set_state(numbers[: self.model.nq], numbers[self.model.nq :])

    def set_state(  # type: ignore[override]
        self,
        qpos: Any = None,
        qvel: npt.ArrayLike | None = None,
        *,
        state: np.ndarray | None = None,
    ) -> None:
        """Set positions and velocities, as in `MujocoEnv`, or restore a state of `get_state`.

        Args:
            qpos: Positions [nq]; without `qvel`, a state of `get_state`.
            qvel: Velocities [nv].
            state: A state that `get_state` returned.

        Raises:
            InvalidArgument: If the state is of another environment, or arrays have another length.
        """
        if qvel is None:
            NativeEnv.set_state(self, qpos if state is None else state)
        else:
            MujocoEnv.set_state(self, qpos, qvel)
            self._allow_steps()

    def _allow_steps(self) -> None:
        """Let the simulation continue from its current state, without a reset."""
        self._ensure_seeded()
        self._batch.exclusively(self._batch.mark_ready)

    def __getstate__(self) -> dict[str, object]:
        """Return everything except the compiled parts, which `__setstate__` makes again."""
        state = super().__getstate__()
        del state["_simulations"]
        # MuJoCo 3.1 cannot read an MjData that it has pickled. The lane is saved anyway, but not
        # what `mj_step` computed before it moved, although frames show it.
        if mujoco_module().mj_version() < 320:
            del state["data"]
        state["mujoco_renderer"] = renderer = copy.copy(self.mujoco_renderer)
        renderer.data = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the simulation and the batch again, and restore the lane."""
        state = dict(state)
        saved = state.pop("data", None)
        self.data = state["mujoco_renderer"].data = mujoco_module().MjData(state["model"])
        super().__setstate__(state)
        if saved is not None:
            mujoco_module().mj_copyData(self.data, self.model, saved)

    def _own_batch(self) -> Batch:
        """Return the batch of one over this environment's own model and data."""
        batch = self._batch_over([self.data], mode=SINGLE)
        batch.numpy_scalars = True
        self._step_as_defined(batch)
        self._simulations = batch.store
        return batch

    # --- rendering ------------------------------------------------------------------------------

    def render(self) -> Any:
        """Return or show a frame, as `render_mode` says; see `MujocoRenderer.render`."""
        return MujocoEnv.render(self)

    def _render_frame(self, render_mode: str, state: npt.NDArray[np.float64]) -> Any:
        """Return a frame of this lane, drawn by the renderer of the batch."""
        renderer = self.mujoco_renderer
        return renderer.render_lane(self._lane, self.model, self.data, render_mode)

    def close(self) -> None:
        """Close the window and free rendering contexts; you may reset the environment again."""
        if not self._shares_batch:
            MujocoEnv.close(self)


def _observation_space(program: Program) -> Any:
    """Return the space of observations: arrays of any numbers, in a dict if they have names."""
    boxes = [Box(-np.inf, np.inf, shape, np.float64) for shape in program.parts]
    return Dict(OrderedDict(zip(program.names, boxes, strict=True))) if program.names else boxes[0]


def model_bytes(model: mujoco.MjModel) -> npt.NDArray[np.uint8]:
    """Return the model as bytes, which do not depend on the size of its frames."""
    mujoco, visual = mujoco_module(), model.vis.global_
    size = visual.offwidth, visual.offheight
    visual.offwidth = visual.offheight = 0
    try:
        saved = np.empty(mujoco.mj_sizeModel(model), np.uint8)
        mujoco.mj_saveModel(model, None, saved)
    finally:
        visual.offwidth, visual.offheight = size
    return saved


def sizes_of(value: mujoco.MjModel | mujoco.MjData) -> tuple[type, dict[str, int]]:
    """Return the type of an `MjModel` or `MjData`, and the sizes of all of its arrays."""
    model = getattr(value, "model", value)
    numbers = {name: getattr(model, name) for name in dir(model) if name.startswith("n")}
    return type(value), {name: size for name, size in numbers.items() if isinstance(size, int)}


def start_of(options: Options, nq: int, nv: int, lanes: int) -> Start:
    """Return the positions and velocities of reset options, float64 [1 or lanes, size] or nan.

    Raises:
        ArgumentTypeError: If positions or velocities are not numbers.
        InvalidArgument: If positions or velocities have another shape or are not finite, or if
            there are other options.
    """
    check_options(options, ("qpos", "qvel"))
    arrays: list[npt.NDArray[np.float64] | float] = []
    for name, size in (("qpos", nq), ("qvel", nv)):
        value = (options or {}).get(name)
        if value is None:
            arrays.append(np.nan)
            continue
        try:
            array = np.array(value, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentTypeError(f"options[{name!r}]: expected numbers, got {value!r}") from None
        if array.shape not in ((size,), (lanes, size)) or not np.isfinite(array).all():
            expected = f"({size},)" if lanes == 1 else f"({size},) or ({lanes}, {size})"
            raise InvalidArgument(
                f"options[{name!r}]: expected finite numbers of shape {expected}, "
                f"got shape {array.shape}"
            )
        arrays.append(array.reshape(-1, size))
    return arrays[0], arrays[1]


__all__ = ["CompiledMujocoEnv", "Range", "Weight", "start_of"]
