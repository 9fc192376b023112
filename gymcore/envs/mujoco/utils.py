"""Reading and writing the complete state of a simulation, and a check of resets."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from gymcore.core import Env
from gymcore.envs.mujoco.library import mujoco_module, warnings_while
from gymcore.error import ArgumentTypeError, FailedCheck, InvalidArgument

if TYPE_CHECKING:
    import mujoco

    from gymcore.envs.mujoco.mujoco_env import MujocoEnv


def get_state(env: Env, state_type: mujoco.mjtState | int | None = None) -> npt.NDArray[np.float64]:
    """Return the state of the simulation.

    Args:
        env: A MuJoCo environment, which may be wrapped.
        state_type: A `mujoco.mjtState`; None for `mjSTATE_FULLPHYSICS`.

    Returns:
        A new float64 array [`library.mj_stateSize(model, state_type)`].

    Examples:
        >>> import gymcore as gym
        >>> env = gym.make("Hopper-v5")
        >>> _ = env.reset(seed=1)
        >>> saved = get_state(env)
        >>> _ = env.step(env.action_space.sample())
        >>> set_state(env, saved)
        >>> bool((get_state(env) == saved).all())
        True
    """
    library = mujoco_module()
    simulated = _mujoco_env(env)
    kind = _state_bits(state_type, "mjSTATE_FULLPHYSICS")
    state = np.empty(library.mj_stateSize(simulated.model, kind))
    library.mj_getState(simulated.model, simulated.data, state, kind)
    return state


def set_state(
    env: Env, state: npt.NDArray[np.float64], state_type: mujoco.mjtState | int | None = None
) -> None:
    """Set the state of the simulation, and compute everything that depends on it (`mj_forward`).

    Args:
        env: As for `get_state`.
        state: The result of `get_state` for this `state_type`.
        state_type: As for `get_state`.

    Raises:
        ArgumentTypeError: If `state` is not a float64 array of that size; nothing has changed.
        InvalidArgument: If `state` is not finite; nothing has changed.
    """
    library = mujoco_module()
    model, data = _mujoco_env(env).model, _mujoco_env(env).data
    kind = _state_bits(state_type, "mjSTATE_FULLPHYSICS")
    size = library.mj_stateSize(model, kind)
    if np.shape(state) != (size,) or getattr(state, "dtype", None) != np.float64:
        dtype = getattr(state, "dtype", type(state).__name__)
        raise ArgumentTypeError(
            f"state: expected a float64 array of shape ({size},), got {dtype} of {np.shape(state)}"
        )
    if not np.isfinite(state).all():
        raise InvalidArgument(f"state: expected finite numbers, got {state}")
    library.mj_setState(model, data, state, kind)
    with warnings_while("setting a state"):
        library.mj_forward(model, data)
    # `mj_forward` changes some of the state, such as the warm start of the next step.
    library.mj_setState(model, data, state, kind)


def check_mujoco_reset_state(
    env: Env, seed: int = 1234, state_type: mujoco.mjtState | int | None = None
) -> None:
    """Check that `env.reset(seed=seed)` does not depend on the steps before it.

    Args:
        env: As for `get_state`; it is reset and stepped.
        seed: Seed of the resets.
        state_type: A `mujoco.mjtState`; None for `mjSTATE_INTEGRATION`.

    Raises:
        gymcore.error.FailedCheck: If a reset depends on them; this is also an `AssertionError`.
    """
    kind = _state_bits(state_type, "mjSTATE_INTEGRATION")
    env.action_space.seed(seed)
    env.reset(seed=seed)
    first = get_state(env, kind)
    env.step(env.action_space.sample())
    env.reset(seed=seed)
    second = get_state(env, kind)
    if not np.array_equal(first, second):
        (where,) = np.nonzero(first != second)
        raise FailedCheck(
            f"reset is not deterministic: after a step, {len(where)} of {len(first)} numbers of "
            "the state differ from those of the first reset with the same seed"
        )


def _mujoco_env(env: Env) -> MujocoEnv:
    """Return the environment without wrappers."""
    return cast("MujocoEnv", env.unwrapped)


def _state_bits(state_type: mujoco.mjtState | int | None, default: str) -> int:
    return int(getattr(mujoco_module().mjtState, default) if state_type is None else state_type)
