"""Batches of simulations of a `CompiledMujocoEnv`."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore.core import Info, Options
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv, start_of
from gymcore.envs.mujoco.library import mujoco_module, warnings_while
from gymcore.envs.mujoco.weights import Bonus
from gymcore.error import InvalidArgument
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.vector.engine import Lanes, Mask

if TYPE_CHECKING:
    import mujoco

    from gymcore_ext.mujoco.simulations import Simulations

# Physical options that may differ between lanes; the time step is shared.
_OPTIONS = ("gravity", "wind", "magnetic", "density", "viscosity", "impratio")


class MujocoVectorEnv(NativeVectorEnv):
    """Steps a batch of MuJoCo simulations in compiled code and in several threads.

    A subclass sets `env_class` to a `CompiledMujocoEnv`. Lane `i` of `reset(seed=s)` equals
    `make(id).reset(seed=s + i)`, bit for bit, with any number of threads.
    Threads take lanes one by one, so that a lane with many contacts does not delay the others.

    - `reset(options=...)` accepts the initial state: `qpos`, [nq] or [num_envs, nq], and `qvel`,
      [nv] or [num_envs, nv].
    - `set_attr` also sets arrays of the model (`"body_mass"`, `"geom_friction"`, `"dof_damping"`,
      ...) and physical options (`"gravity"`, `"wind"`, `"density"`, `"viscosity"`, ...): one value
      for all lanes, or `[num_envs, ...]` with one for each lane, which gives each lane a model of
      its own. `mj_setConst` updates the quantities that depend on them.
    - `get_attr("data")` and `get_attr("model")` return MuJoCo's own objects, to be read between
      steps.
    """

    env_class: ClassVar[type[CompiledMujocoEnv]]
    _model: CompiledMujocoEnv

    @property
    def _simulations(self) -> Simulations:
        simulations: Simulations = self._batch.store
        return simulations

    def _reset_lanes(
        self, seed: int | list[int | None] | None, options: Options, mask: Mask | None
    ) -> tuple[object, Info]:
        model = self._model.model
        self._simulations.set_initial_state(*start_of(options, model.nq, model.nv, self.num_envs))
        try:
            return super()._reset_lanes(seed, options, mask)
        finally:
            self._simulations.set_initial_state(np.nan, np.nan)

    # --- models of lanes ------------------------------------------------------------------------

    def _call_lanes(
        self, name: str, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> list[object]:
        if self._is_of_model(name):
            models = self._simulations.models
            return [np.array(getattr(_owner(model, name), name)) for model in models]
        if isinstance(self.env_class.parameters.get(name), Bonus):
            return [getattr(env, name) for env in self.lane_envs()]
        return super()._call_lanes(name, args, kwargs)

    def _states(self) -> list[npt.NDArray[np.float64] | None]:
        ready = self._batch.is_ready
        return [_state(data) if ready else None for data in self._simulations.datas]

    def _set_lanes_attr(self, name: str, values: object) -> None:
        """Set a weight, `state` [nq + nv], `np_random`, or an array of models; see the class."""
        if self._is_of_model(name):
            self._set_of_model(name, values)
        elif name == "state":
            self._set_states(values)
        else:
            super()._set_lanes_attr(name, values)

    def _set_states(self, values: object) -> None:
        """Set the states of lanes [nq + nv], one for all or one each."""
        model = self._model.model
        size = model.nq + model.nv
        try:
            states = np.array(values, np.float64)
        except (TypeError, ValueError, OverflowError):
            states = np.empty(0)
        shapes = ((size,), (self.num_envs, size))
        if states.shape not in shapes or not np.isfinite(states).all():
            raise InvalidArgument(
                f"state: expected {model.nq} positions and {model.nv} velocities, all finite, for "
                f"all lanes or for each of {self.num_envs}, got shape {states.shape}"
            )
        self._seeds.ensure()
        mujoco, simulations = mujoco_module(), self._simulations
        rows = np.broadcast_to(states, (self.num_envs, size))

        def write() -> None:
            lanes = zip(simulations.models, simulations.datas, rows, strict=True)
            for lane_model, data, state in lanes:
                data.qpos[:], data.qvel[:] = state[: model.nq], state[model.nq :]
                with warnings_while("setting a state"):
                    mujoco.mj_forward(lane_model, data)
            self._batch.mark_ready()

        self._batch.exclusively(write)

    def _is_of_model(self, name: str) -> bool:
        if name in _OPTIONS:
            return True
        array = getattr(self._model.model, name, None)
        return isinstance(array, np.ndarray) and array.dtype in (np.float64, np.float32)

    def _set_of_model(self, name: str, values: object) -> None:
        mujoco = mujoco_module()
        before = np.asarray(getattr(_owner(self._model.model, name), name))
        try:
            numbers = np.array(values, np.float64)
        except (TypeError, ValueError, OverflowError):
            numbers = None
        shapes = (before.shape, (self.num_envs, *before.shape))
        if numbers is None or numbers.shape not in shapes or not np.isfinite(numbers).all():
            actual = type(values).__name__ if numbers is None else f"shape {numbers.shape}"
            raise InvalidArgument(
                f"{name}: expected finite numbers of shape {shapes[0]} or {shapes[1]}, got {actual}"
            )
        simulations = self._simulations
        if numbers.ndim > before.ndim and simulations.models[0] is self._model.model:
            for lane in range(self.num_envs):
                simulations.set_model(lane, copy.copy(self._model.model))
        rows = np.broadcast_to(numbers, (self.num_envs, *before.shape))
        scratch = mujoco.MjData(self._model.model)
        has_models = simulations.models[0] is not self._model.model
        for lane, model in enumerate(simulations.models if has_models else simulations.models[:1]):
            owner = _owner(model, name)
            if before.ndim:
                getattr(owner, name)[...] = rows[lane]
            else:
                setattr(owner, name, float(rows[lane]))
            mujoco.mj_setConst(model, scratch)

    def _copy_unsaved(self, source: Lanes, target: Lanes) -> None:
        """Copy the models of lanes if they differ."""
        simulations = self._simulations
        if simulations.models[0] is not self._model.model:
            copies = [copy.copy(simulations.models[lane]) for lane in source]
            for lane, model in zip(target.tolist(), copies, strict=True):
                simulations.set_model(lane, model)

    def __getstate__(self) -> dict[str, object]:
        """Return the state of `NativeVectorEnv`, and the models of lanes if they differ."""
        state = super().__getstate__()
        models = self._simulations.models
        state["_lane_models"] = None if models[0] is self._model.model else list(models)
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        """Make the batch again, and restore lanes and models."""
        state = dict(state)
        self._lane_models = state.pop("_lane_models")
        super().__setstate__(state)
        del self._lane_models

    def _make_batch(self) -> None:
        super()._make_batch()
        for lane, model in enumerate(self.__dict__.get("_lane_models") or ()):
            self._simulations.set_model(lane, model)

    # --- rendering ------------------------------------------------------------------------------

    def render(self) -> Any:
        """Return a frame of every lane, or show all lanes in a window, as `render_mode` says."""
        if self.render_mode in ("depth_array", "rgbd_tuple"):
            return self.call("_render_frame", self.render_mode, None)
        return super().render()

    def close_extras(self, **kwargs: object) -> None:
        """Stop the threads, close the window and free rendering contexts."""
        super().close_extras(**kwargs)
        self._model.close()


def _state(data: mujoco.MjData) -> npt.NDArray[np.float64]:
    return np.concatenate([data.qpos, data.qvel])


def _owner(model: mujoco.MjModel, name: str) -> object:
    """Return the object that has the attribute: the model or its physical options."""
    return model.opt if name in _OPTIONS else model
