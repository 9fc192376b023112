"""Environments and vector environments for a `FuncEnv` written with JAX (`pip install jax`).

For functions written with NumPy see `gymcore.experimental.functional_env`.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar, dataclass_transform

import numpy as np

from gymcore import error
from gymcore.base import seeding
from gymcore.base.arguments import check_options, split_reset_mask
from gymcore.base.optional_packages import pip_install
from gymcore.core import ActType, Info, ObsType, Options
from gymcore.experimental.functional import FuncEnv
from gymcore.experimental.functional_env import Frames, FunctionalEnv, check_functions
from gymcore.rendering.window import load_pygame
from gymcore.spaces.batching import batch_space
from gymcore.vector.vector_env import AutoresetMode, Seeds, VectorEnv

if TYPE_CHECKING:
    from types import ModuleType

    import jax
    import numpy.typing as npt
    import pygame

    from gymcore.specs import EnvSpec

__all__ = ["FunctionalJaxEnv", "FunctionalJaxVectorEnv", "load_jax"]

ParamsType = TypeVar("ParamsType", bound="FunctionalParams")
# Parameters, or their class, which has the default values. The base class allows None, which the
# functions of this library do not use.
ParamsLike: TypeAlias = Any


def load_jax() -> ModuleType:
    """Import and return jax; raise `DependencyNotInstalled` if it is not installed."""
    try:
        return importlib.import_module("jax")
    except ImportError as problem:
        raise error.DependencyNotInstalled(
            "Jax is not installed therefore functional environments that use it cannot be run, "
            f"run `{pip_install('jax')}`"
        ) from problem


class _JaxEnv:
    """The common base of single and vector environments for JAX functions."""

    func_env: FuncEnv
    rng: jax.Array
    render_mode: str | None
    # Names of the functions of JAX that transform `func_env`.
    transforms: ClassVar[tuple[str, ...]] = ("jit",)

    def _set_up(self, func_env: FuncEnv, render_mode: str | None) -> None:
        check_functions(func_env)
        self.render_mode = render_mode
        self._frames = Frames(func_env, render_mode)
        self._transform()
        self.state: object = None
        self._started = False
        self._seed_key(int(seeding.np_random()[0].integers(2**32)))

    def _transform(self) -> None:
        self._jax = load_jax()
        self.func_env = copy.copy(self._frames.func_env)
        for name in self.transforms:
            self.func_env.transform(getattr(self._jax, name))

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes without transformed functions, which are made again."""
        return {k: v for k, v in vars(self).items() if k not in ("_jax", "func_env")}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore the attributes, and transform the functions."""
        vars(self).update(state)
        self._transform()

    def _seed_key(self, seed: int) -> None:
        self.rng = self._jax.random.PRNGKey(seed)

    def _next_key(self) -> jax.Array:
        """Return a new key, and store another one for the next call."""
        key, self.rng = self._jax.random.split(self.rng)
        return key


class FunctionalJaxEnv(_JaxEnv, FunctionalEnv[ObsType, ActType]):
    """A `FunctionalEnv` for JAX functions, which are compiled.

    Observations and infos are JAX arrays; the reward is a `float`, the flags are `bool`. Each reset
    and each step uses one new key.

    Attributes:
        func_env: The compiled functions, a copy of the argument.
        state: The current state.
        rng: The key from which the next keys are split.
    """

    def __init__(
        self,
        func_env: FuncEnv,
        metadata: Info | None = None,
        render_mode: str | None = None,
        spec: EnvSpec | None = None,
    ) -> None:
        """Wrap the functions; `FunctionalEnv` describes the arguments.

        Raises `DependencyNotInstalled` if JAX is missing.
        """
        self._set_up(func_env, render_mode)
        self.observation_space = func_env.observation_space
        self.action_space = func_env.action_space
        self.metadata = (
            {"render_modes": ["rgb_array"], "jax": True} if metadata is None else metadata
        )
        self.spec = spec

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[ObsType, Info]:
        """Start an episode; see `Env.reset`. There are no options."""
        check_options(options)
        if seed is not None:
            self._seed_key(seeding.checked_seed(seed))
        return super().reset(seed=seed)

    def _random(self) -> object:
        return self._next_key()

    def _observation(self, rng: object) -> ObsType:
        observation: ObsType = self.func_env.observation(self.state, rng)
        return observation


class FunctionalJaxVectorEnv(VectorEnv, _JaxEnv):
    """A vector environment for JAX functions, which are vectorized and compiled; NEXT_STEP only.

    All results are JAX arrays whose first axis is the lane. The step after the end of an episode
    resets the lane, with a reward of 0. `reset(options={"reset_mask": mask})` resets some lanes.

    Attributes:
        func_env: The vectorized and compiled functions, a copy of the argument.
        state: The states of all lanes.
        rng: The key from which the next keys are split.
        steps: Steps of the current episodes, `[num_envs]`.
        prev_done: Whether the next step resets the lane, `[num_envs] bool`.
        time_limit: Number of steps after which an episode is truncated; 0 for no limit.
    """

    transforms = ("vmap", "jit")

    def __init__(
        self,
        func_env: FuncEnv,
        num_envs: int,
        max_episode_steps: int = 0,
        metadata: Info | None = None,
        render_mode: str | None = None,
        spec: EnvSpec | None = None,
    ) -> None:
        """Wrap functions for one lane; `FunctionalVectorEnv` describes the arguments.

        Raises `DependencyNotInstalled` if JAX is missing.
        """
        self._set_up(func_env, render_mode)
        self.num_envs = num_envs
        self.single_observation_space = func_env.observation_space
        self.single_action_space = func_env.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {**(metadata or {}), "autoreset_mode": AutoresetMode.NEXT_STEP}
        self.spec = spec
        self.time_limit = max_episode_steps
        self.steps = self._jax.numpy.zeros(num_envs, np.int32)
        self.prev_done = self._jax.numpy.zeros(num_envs, np.bool_)
        self._observations: object = None

    def _choose_rows(self, mask: jax.Array, if_true: object, if_false: object) -> object:
        """Return rows of `if_true` where the mask is true, and of `if_false` elsewhere."""
        jnp = self._jax.numpy

        def choose(a: jax.Array, b: jax.Array) -> jax.Array:
            return jnp.where(mask.reshape((self.num_envs,) + (1,) * (a.ndim - 1)), a, b)

        return self._jax.tree_util.tree_map(choose, if_true, if_false)

    def _split(self, key: jax.Array) -> jax.Array:
        return self._jax.random.split(key, self.num_envs)

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[object, Info]:
        """Start episodes; see `VectorEnv.reset`. `reset_mask` is the only option.

        All lanes share one key, so only one seed is accepted. A mask in the first reset raises
        `ResetNeeded`.
        """
        options, mask = split_reset_mask(options, self.num_envs)
        check_options(options)
        if mask is not None and self.state is None:
            raise error.ResetNeeded("reset_mask: the lanes that it excludes were never reset")
        super().reset(seed=seed)
        if seed is not None:
            self._seed_key(seeding.checked_seed(seed))
        jnp = self._jax.numpy
        keys = self._split(self._next_key())
        state = self.func_env.initial(keys)
        observations = self.func_env.observation(state, keys)
        if mask is None:
            self.state, self._observations = state, observations
            self.steps, self.prev_done = jnp.zeros_like(self.steps), jnp.zeros_like(self.prev_done)
        else:
            reset = jnp.asarray(mask)
            self.state = self._choose_rows(reset, state, self.state)
            self._observations = self._choose_rows(reset, observations, self._observations)
            self.steps = jnp.where(reset, 0, self.steps)
            self.prev_done = self.prev_done & ~reset
        return self._observations, self.func_env.state_info(self.state)

    def step(self, actions: npt.ArrayLike) -> tuple[object, jax.Array, jax.Array, jax.Array, Info]:
        """Take one action in each lane; see `VectorEnv.step`.

        Raises:
            ResetNeeded: If `reset` has not been called.
        """
        if self.state is None:
            raise error.ResetNeeded("Cannot call env.step() before calling env.reset()")
        jnp, functions, before = self._jax.numpy, self.func_env, self.state
        actions = jnp.asarray(actions)
        keys = self._split(self._next_key())
        state = functions.transition(before, actions, keys)
        rewards = functions.reward(before, actions, state, keys)
        terminated = functions.terminal(state, keys)
        infos = functions.transition_info(before, actions, state)
        self.steps = self.steps + 1
        truncated = jnp.zeros_like(terminated)
        if self.time_limit:
            truncated = self.steps >= self.time_limit

        reset = self.prev_done
        if bool(reset.any()):
            first = functions.initial(self._split(self._next_key()))
            state = self._choose_rows(reset, first, state)
            self.steps = jnp.where(reset, 0, self.steps)
            rewards = jnp.where(reset, 0, rewards)
            terminated, truncated = terminated & ~reset, truncated & ~reset
        self.prev_done = terminated | truncated
        self.state = state
        self._observations = functions.observation(state, self._split(self.rng))
        return self._observations, rewards, terminated, truncated, infos

    def render(self) -> Any:
        """Return one frame per lane, [num_envs, height, width, 3] uint8.

        Raises:
            UnsupportedMode: If the environment has no render mode.
        """
        leaves, structure = self._jax.tree_util.tree_flatten(self.state)
        rows = zip(*leaves, strict=True)
        return np.stack([self._frames.draw(structure.unflatten(row)) for row in rows])

    def close_extras(self, **kwargs: object) -> None:
        """Release the render state."""
        self._frames.close()


# --- base classes of this library's own environments with JAX functions ---------------------------


class RegisteredJaxEnv(FunctionalJaxEnv):
    """An environment for the functions of the class `functional`."""

    functional: ClassVar[type[FuncEnv]]

    def __init__(self, render_mode: str | None = None, **kwargs: Any) -> None:
        """Create the environment; `kwargs` are arguments of `functional`."""
        super().__init__(self.functional(**kwargs), metadata=self.metadata, render_mode=render_mode)


class RegisteredJaxVectorEnv(FunctionalJaxVectorEnv):
    """A vector environment for the functions of the class `functional`."""

    functional: ClassVar[type[FuncEnv]]

    def __init__(
        self,
        num_envs: int,
        render_mode: str | None = None,
        max_episode_steps: int = 200,
        **kwargs: Any,
    ) -> None:
        """Create the vector environment; `kwargs` are arguments of `functional`."""
        super().__init__(
            self.functional(**kwargs), num_envs, max_episode_steps, self.metadata, render_mode
        )


@dataclasses.dataclass(frozen=True)
class FunctionalParams:
    """Base class of parameters; see `functional_params`."""

    def replace(self, **updates: object) -> Self:
        """Return a copy with new values of some fields."""
        return dataclasses.replace(self, **updates)


@dataclass_transform(frozen_default=True)
def functional_params(cls: type[ParamsType]) -> type[ParamsType]:
    """Make a class a frozen dataclass that is registered as a pytree with JAX.

    Parameters can then be passed to functions made by `jax.jit`, `jax.vmap` and `jax.grad`, and a
    field may be an array with one row per lane. The class itself holds the default parameters, so
    every field needs a default.
    """
    params = dataclasses.dataclass(frozen=True)(cls)
    names = [field.name for field in dataclasses.fields(params)]
    load_jax().tree_util.register_dataclass(params, data_fields=names, meta_fields=[])
    return params


class DrawnFunctions:
    """A mixin for functions with one class of parameters and a surface first in the render state.

    Attributes:
        params_class: Class of the parameters; None for functions without parameters.
    """

    params_class: ClassVar[Callable[..., object] | None] = None
    default_params: Any

    def _draw(self, state: Any, render_state: Any, params: ParamsLike) -> None:
        raise NotImplementedError

    def render_image(
        self, state: object, render_state: Any, params: ParamsLike = None
    ) -> tuple[Any, np.ndarray]:
        """Return the render state and an image; see `FuncEnv.render_image`."""
        self._draw(state, render_state, self.default_params if params is None else params)
        return render_state, as_frame(render_state[0])

    def render_close(self, render_state: object, params: ParamsLike = None) -> None:
        """Do nothing: a render state holds nothing but memory."""

    def get_default_params(self, **kwargs: object) -> Any:
        """Return the default parameters, with the given fields replaced."""
        return None if self.params_class is None else self.params_class(**kwargs)


def new_surface(width: int, height: int) -> pygame.Surface:
    """Return a surface to draw on, without opening a display."""
    surface: pygame.Surface = load_pygame().Surface((width, height), depth=24)
    return surface


def as_frame(surface: pygame.Surface) -> npt.NDArray[np.uint8]:
    """Return the pixels of a surface as a copy, [height, width, 3] uint8."""
    pixels = load_pygame().surfarray.array3d(surface)
    return np.ascontiguousarray(pixels.swapaxes(0, 1))
