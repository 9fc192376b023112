"""`FuncEnv`: an environment as pure functions of a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from gymcore.core import ActType, ObsType

if TYPE_CHECKING:
    import numpy as np

    from gymcore.core import Info, Options
    from gymcore.spaces import Space

StateType = TypeVar("StateType", default=Any)
RewardType = TypeVar("RewardType", default=Any)
TerminalType = TypeVar("TerminalType", default=Any)
RenderStateType = TypeVar("RenderStateType", default=Any)
Params = TypeVar("Params", default=Any)

__all__ = ["FuncEnv"]

_TRANSFORMED_METHODS = (
    "initial",
    "transition",
    "observation",
    "reward",
    "terminal",
    "state_info",
    "transition_info",
)


class FuncEnv(
    Generic[StateType, ObsType, ActType, RewardType, TerminalType, RenderStateType, Params]
):
    """Base class of environments written as pure functions of the state.

    All inputs of the functions are arguments, and the functions have no side effects. This makes
    them easy to vectorize, compile, differentiate and use in search.
    `gymcore.experimental.functional_env` makes an `Env` or a `VectorEnv` from functions that use
    NumPy, `gymcore.envs.functional_jax_env` from functions that use JAX.

    No function may change `state` or `next_state`. `rng` is a `numpy.random.Generator` for
    functions that use NumPy and a key for functions that use JAX. `params` are the environment's
    parameters; None means the defaults.

    Attributes:
        observation_space: Space of the results of `observation`.
        action_space: Space of the actions of `transition`.
        default_params: Result of `get_default_params` when the object was made.

    Examples:
        >>> class Dice(FuncEnv):
        ...     def initial(self, rng, params=None):
        ...         return 0
        ...     def transition(self, state, action, rng, params=None):
        ...         return state + int(rng.integers(1, 7))
        >>> import numpy as np
        >>> dice = Dice()
        >>> rng = np.random.default_rng(3)
        >>> dice.transition(dice.initial(rng), None, rng)
        5
    """

    observation_space: Space
    action_space: Space

    def __init__(self, options: Options = None) -> None:
        """Set attributes: `options` maps names to values."""
        self.__dict__.update(options or {})
        self.default_params = self.get_default_params()

    def initial(self, rng: object, params: Params | None = None) -> StateType:
        """Return the initial state of an episode."""
        raise NotImplementedError

    def transition(
        self, state: StateType, action: ActType, rng: Any, params: Params | None = None
    ) -> StateType:
        """Return the state after an action."""
        raise NotImplementedError

    def observation(self, state: StateType, rng: Any, params: Params | None = None) -> ObsType:
        """Return the observation of a state, an element of `observation_space`."""
        raise NotImplementedError

    def reward(
        self,
        state: StateType,
        action: ActType,
        next_state: StateType,
        rng: object,
        params: Params | None = None,
    ) -> RewardType:
        """Return the reward of a transition."""
        raise NotImplementedError

    def terminal(self, state: StateType, rng: Any, params: Params | None = None) -> TerminalType:
        """Return whether a state is the last of its episode."""
        raise NotImplementedError

    def state_info(self, state: StateType, params: Params | None = None) -> Info:
        """Return the info of an initial state; empty by default."""
        return {}

    def transition_info(
        self,
        state: StateType,
        action: ActType,
        next_state: StateType,
        params: Params | None = None,
    ) -> Info:
        """Return the info of a transition; empty by default."""
        return {}

    def transform(self, func: Callable[[Callable[..., object]], Callable[..., object]]) -> None:
        """Replace each function of this object, except those for rendering, by `func` of it.

        Args:
            func: Function that maps a function to a function, such as `jax.vmap` or `jax.jit`.
        """
        for name in _TRANSFORMED_METHODS:
            setattr(self, name, func(getattr(self, name)))

    def render_image(
        self, state: StateType, render_state: RenderStateType, params: Params | None = None
    ) -> tuple[RenderStateType, np.ndarray]:
        """Return the render state and a frame [height, width, 3] uint8."""
        raise NotImplementedError

    if TYPE_CHECKING:  # a subclass chooses the arguments
        render_init: Callable[..., RenderStateType]
    else:

        def render_init(self, params: Params | None = None, **kwargs: object) -> RenderStateType:
            """Return the render state, such as a surface."""
            raise NotImplementedError

    def render_close(self, render_state: RenderStateType, params: Params | None = None) -> None:
        """Release the render state."""
        raise NotImplementedError

    def get_default_params(self, **kwargs: object) -> Params | None:
        """Return the default parameters; None by default."""
        return None
