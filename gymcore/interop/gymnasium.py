"""Conversion of environments, vector environments and spaces between Gymnasium and gymcore.

Importing this module registers gymcore's environments with Gymnasium (`register_all`), so that

    gymnasium.make_vec("gymcore.interop.gymnasium:gymcore/CartPole-v1", num_envs=64)

works without an import in the program.
"""

from __future__ import annotations

from enum import Enum
from types import ModuleType
from typing import Any, overload

import gymcore
from gymcore import spaces
from gymcore.base import process_wide
from gymcore.base.forwarded import forwarded
from gymcore.base.optional_packages import pip_install
from gymcore.core import ActType, Env, Info, ObsType, Options
from gymcore.error import ArgumentTypeError, DependencyNotInstalled
from gymcore.foreign import Adapter, adopt
from gymcore.spaces.conversion import convert_space
from gymcore.specs import EnvSpec
from gymcore.vector import AutoresetMode, VectorEnv
from gymcore.vector.vector_env import ArrayType, Seeds, VectorStep

try:
    import gymnasium
    import gymnasium.vector
    from gymnasium.envs.registration import EnvSpec as GymnasiumSpec
    from gymnasium.envs.registration import registry
except ModuleNotFoundError as missing:
    raise DependencyNotInstalled(
        f"gymcore.interop.gymnasium needs the package gymnasium: run `{pip_install('gymnasium')}`"
    ) from missing

__all__ = [
    "from_gymnasium",
    "from_gymnasium_space",
    "register_all",
    "to_gymnasium",
    "to_gymnasium_space",
]

# Gymnasium 1.0 supports only next-step autoreset, and has no class of modes.
_GYMNASIUM_MODES = getattr(gymnasium.vector, "AutoresetMode", AutoresetMode)

# Options of engines, which Gymnasium passes among the arguments of environments.
_ENGINE_OPTIONS = (
    "autoreset_mode",
    "batch_size",
    "copy",
    "episode_statistics",
    "num_threads",
    "num_workers",
    "on_worker_death",
)


def to_gymnasium_space(space: spaces.Space) -> gymnasium.Space[object]:
    """Convert a space of gymcore to Gymnasium; see `convert_space`.

    Examples:
        >>> to_gymnasium_space(gymcore.spaces.Dict(goal=gymcore.spaces.Discrete(4)))
        Dict('goal': Discrete(4))
    """
    converted: gymnasium.Space[object] = convert_space(space, gymnasium.spaces)
    return converted


def from_gymnasium_space(space: gymnasium.Space[object]) -> spaces.Space:
    """Convert a space of Gymnasium to gymcore; see `convert_space`.

    Examples:
        >>> from_gymnasium_space(gymnasium.spaces.Discrete(3)) == gymcore.spaces.Discrete(3)
        True
    """
    converted: spaces.Space = convert_space(space)
    return converted


class GymnasiumEnv(Adapter, gymnasium.Env[Any, Any]):
    """An environment of gymcore adapted to Gymnasium; see `Adapter`."""

    def __init__(self, env: Env) -> None:
        super().__init__(env, gymnasium.spaces)


class VectorAdapter:
    """Base class of vector environments adapted from another package; see `Adapter`.

    Attributes:
        env: The adapted vector environment.
    """

    metadata: Info

    def __init__(self, envs: Any, package: ModuleType, modes: type[Enum]) -> None:
        self.env = envs
        self.num_envs = envs.num_envs
        self.render_mode = envs.render_mode
        self.metadata = dict(envs.metadata)
        if mode := self.metadata.get("autoreset_mode"):
            self.metadata["autoreset_mode"] = modes(mode.value)
        for name in ("observation_space", "action_space"):
            for attribute in (name, f"single_{name}"):
                setattr(self, attribute, convert_space(getattr(envs, attribute), package))
        self._step = envs.step

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[object, Info]:
        """Start episodes; see `VectorEnv.reset`."""
        results: tuple[object, Info] = self.env.reset(seed=seed, options=options)
        return results

    def step(self, actions: object) -> VectorStep:
        """Step every environment; see `VectorEnv.step`."""
        results: VectorStep = self._step(actions)
        return results

    def render(self) -> Any:
        """Return the result of the adapted vector environment's `render`."""
        return self.env.render()

    def close_extras(self, **kwargs: object) -> None:
        """Close the adapted vector environment."""
        self.env.close(**kwargs)

    def __del__(self) -> None:
        """Leave the adapted vector environment open: it may still be in use."""

    np_random = forwarded(
        "np_random", "The adapted vector environment's generator, or tuple of generators."
    )
    np_random_seed = forwarded(
        "np_random_seed", "The adapted vector environment's seed, or tuple of seeds."
    )

    def __getattr__(self, name: str) -> object:
        """Return any other attribute, such as `call`, `get_attr`, `set_attr` and `rollout`."""
        if name == "env" or name.startswith("__"):  # also during copying
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.env, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env})"


class GymnasiumVectorEnv(VectorAdapter, gymnasium.vector.VectorEnv):
    """A vector environment of gymcore adapted to Gymnasium."""

    def __init__(self, envs: VectorEnv) -> None:
        super().__init__(envs, gymnasium.spaces, _GYMNASIUM_MODES)


class ForeignVectorEnv(VectorAdapter, VectorEnv):
    """A vector environment of Gymnasium adapted to gymcore."""

    def __init__(self, envs: gymnasium.vector.VectorEnv) -> None:
        super().__init__(envs, spaces, AutoresetMode)


@overload
def to_gymnasium(
    env: Env[ObsType, ActType] | gymnasium.Env[ObsType, ActType],
) -> gymnasium.Env[ObsType, ActType]: ...
@overload
def to_gymnasium(
    env: VectorEnv[ObsType, ActType, ArrayType]
    | gymnasium.vector.VectorEnv[ObsType, ActType, ArrayType],
) -> gymnasium.vector.VectorEnv[ObsType, ActType, ArrayType]: ...
def to_gymnasium(env: object) -> object:
    """Convert an environment or vector environment of gymcore to Gymnasium.

    Spaces are Gymnasium's; observations, rewards, flags and infos are those of `env`. Other
    attributes are forwarded. A result of `from_gymnasium` is unwrapped, and an environment of
    Gymnasium is returned unchanged.

    Args:
        env: A `gymcore.Env` or a `gymcore.vector.VectorEnv`.

    Returns:
        A `gymnasium.Env` or a `gymnasium.vector.VectorEnv` with the same autoreset mode. Closing it
        closes `env`.

    Raises:
        ArgumentTypeError: If `env` is neither of them (a `TypeError`).

    Examples:
        >>> envs = to_gymnasium(gymcore.make_vec("CartPole-v1", num_envs=3))
        >>> isinstance(envs, gymnasium.vector.VectorEnv), envs.single_action_space
        (True, Discrete(2))
        >>> envs.close()
    """
    if isinstance(env, (gymnasium.Env, gymnasium.vector.VectorEnv)):
        return env
    if isinstance(env, (Adapter, VectorAdapter)):
        return env.env
    if isinstance(env, Env):
        return GymnasiumEnv(env)
    if isinstance(env, VectorEnv):
        return GymnasiumVectorEnv(env)
    raise ArgumentTypeError(
        f"env: to_gymnasium expects a gymcore.Env or gymcore.vector.VectorEnv, got {type(env)}"
    )


@overload
def from_gymnasium(
    env: Env[ObsType, ActType] | gymnasium.Env[ObsType, ActType],
) -> Env[ObsType, ActType]: ...
@overload
def from_gymnasium(
    env: VectorEnv[ObsType, ActType, ArrayType]
    | gymnasium.vector.VectorEnv[ObsType, ActType, ArrayType],
) -> VectorEnv[ObsType, ActType, ArrayType]: ...
def from_gymnasium(env: object) -> object:
    """Convert an environment or vector environment of Gymnasium to gymcore.

    This is the inverse of `to_gymnasium`. It is not needed for `gymcore.make("gymnasium:<id>")` and
    for functions passed to `SyncVectorEnv` and `AsyncVectorEnv`.

    Args:
        env: A `gymnasium.Env` or a `gymnasium.vector.VectorEnv`.

    Returns:
        A `gymcore.Env` or a `gymcore.vector.VectorEnv`. Closing it closes `env`.

    Raises:
        ArgumentTypeError: If `env` is neither of them (a `TypeError`).

    Examples:
        >>> env = from_gymnasium(gymnasium.make("FrozenLake-v1"))
        >>> isinstance(env, gymcore.Env), env.observation_space
        (True, Discrete(16))
    """
    if isinstance(env, (Env, VectorEnv)):
        return env
    if isinstance(env, VectorAdapter):
        return env.env
    if isinstance(env, gymnasium.vector.VectorEnv):
        return ForeignVectorEnv(env)
    if isinstance(env, gymnasium.Env):
        return adopt(env)
    raise ArgumentTypeError(
        "env: from_gymnasium expects a gymnasium.Env or gymnasium.vector.VectorEnv, got "
        f"{type(env)}"
    )


def make_env(gymcore_id: str, **kwargs: object) -> gymnasium.Env[object, object]:
    """Make an environment of gymcore for `gymnasium.make`, which adds the time limit."""
    return to_gymnasium(
        gymcore.make(gymcore_id, max_episode_steps=-1, disable_env_checker=True, **kwargs)
    )


def make_vector_env(
    gymcore_id: str, num_envs: int = 1, **kwargs: Any
) -> gymnasium.vector.VectorEnv:
    """Make a vector environment of gymcore for `gymnasium.make_vec`.

    Args:
        gymcore_id: Id in gymcore.
        num_envs: Number of environments.
        **kwargs: Options of the engine (`autoreset_mode`, `num_threads` and so on), and other
            arguments of `gymcore.make_vec`.
    """
    options = {name: kwargs.pop(name) for name in _ENGINE_OPTIONS if name in kwargs}
    if mode := options.get("autoreset_mode"):
        options["autoreset_mode"] = AutoresetMode(getattr(mode, "value", mode))
    envs: VectorEnv = gymcore.make_vec(gymcore_id, num_envs, vector_kwargs=options, **kwargs)
    return to_gymnasium(envs)


def register_all() -> None:
    """Register every id of gymcore with Gymnasium as "gymcore/" followed by the id.

    `gymnasium.make_vec("gymcore/CartPole-v1", num_envs=64)` then returns the compiled engine, and
    `gymnasium.make("gymcore/CartPole-v1")` one lane of it. The slash in an id with a namespace
    becomes a hyphen: "gymcore/ALE-Pong-v5". Importing this module calls this function; call it
    again for ids registered later.

    Examples:
        >>> register_all()
        >>> gymnasium.make("gymcore/FrozenLake-v1").observation_space
        Discrete(16)
    """
    specs = {
        _their_id(spec): GymnasiumSpec(
            id=_their_id(spec),
            entry_point=f"{__name__}:make_env",
            vector_entry_point=f"{__name__}:make_vector_env",
            reward_threshold=spec.reward_threshold,
            nondeterministic=spec.nondeterministic,
            max_episode_steps=spec.max_episode_steps,
            order_enforce=False,  # gymcore.make adds it
            disable_env_checker=True,
            kwargs={"gymcore_id": spec.id},
        )
        for spec in list(gymcore.registry.values())
        if spec.namespace != "gymcore"  # gymcore itself is imported as `gymnasium`
    }
    with process_wide.lock:  # see load_registering_module
        registry.update(specs)


def _their_id(spec: EnvSpec) -> str:
    return "gymcore/" + spec.id.replace("/", "-")


register_all()
