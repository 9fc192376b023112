"""Environments of finitely many states and actions, given by a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gymcore import error, spaces
from gymcore.native.env import NativeDiscreteEnv
from gymcore.envs.toy_text.transitions import Transitions
from gymcore.native.vector_env import NativeVectorEnv


class TabularEnv(NativeDiscreteEnv):
    """A Markov decision process given by its table of transitions, at compiled speed.

    - Observation: the state, an int of `Discrete(len(P))`.
    - Actions: `Discrete(len(P[0]))`.
    - Info: `prob`, the probability of the transition that was drawn; 1 after a reset.
    - One random number is drawn at every step and reset, also where there is nothing to choose.

    Attributes: `P` (fixed: make another environment of a changed copy), `initial_state_distrib`
    float64 [states], `s` (the state; may be set), `lastaction` (None after a reset).

    Example:
        >>> from gymcore.envs.toy_text import TabularEnv
        >>> P = {
        ...     0: {0: [(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)]},
        ...     1: {0: [(1.0, 1, 0.0, True)]},
        ... }
        >>> env = TabularEnv(P, [1.0, 0.0])
        >>> env.reset(seed=2)
        (0, {'prob': 1.0})
        >>> env.step(0)
        (0, 0.0, False, False, {'prob': 0.5})
    """

    metadata: dict[str, Any] = {"render_modes": [], "render_fps": 4}  # noqa: RUF012
    kernel_module = "gymcore_ext.physics.tabular"
    arguments: ClassVar[tuple[str, ...]] = ("P", "initial_distribution")
    settable: ClassVar[tuple[str, ...]] = ("s", "lastaction")

    def __init__(self, P: Any, initial_distribution: Any, render_mode: str | None = None) -> None:
        """Make the environment.

        Args:
            P: `P[state][action]` is a sequence of (probability, next state, reward, terminated);
                mappings or sequences. Copied.
            initial_distribution: the probability of each first state.
            render_mode: None; there is no picture.

        Raises:
            InvalidArgument: a table that is none; the message names the entry.
            ArgumentTypeError: arguments of other types.
        """
        self._make(Transitions(P, initial_distribution), render_mode)

    def _make(self, transitions: Transitions, render_mode: str | None, **parameters: Any) -> None:
        """Make spaces and batch of a table; what a subclass's `__init__` does at its end."""
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise error.UnsupportedMode(
                f"render_mode: expected None or one of {modes}, got {render_mode!r}"
            )
        self._transitions = transitions
        self.observation_space = spaces.Discrete(transitions.num_states)
        self.action_space = spaces.Discrete(transitions.num_actions)
        NativeDiscreteEnv.__init__(self, render_mode, **parameters)

    def batch_options(self) -> dict[str, Any]:
        """The table, and how many actions it has."""
        return {
            "constants": self._transitions.capsule,
            "choices": self._transitions.num_actions,
        }

    @property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, Any, bool]]]]:
        """The table: `P[state][action]` lists (probability, next state, reward, terminated)."""
        return self._transitions.P

    @property
    def initial_state_distrib(self) -> npt.NDArray[np.float64]:
        """Distribution of first states, float64 [states]; not writable."""
        return self._transitions.initial

    def step(self, action: int) -> tuple[int, Any, bool, bool, dict[str, Any]]:
        """Step by an action; see `NativeDiscreteEnv.step`."""
        observation, reward, *rest = super().step(action)
        return (observation, self._transitions.reward(reward), *rest)

    # --- what a lane remembers -----------------------------------------------------------------

    def _column(self, name: str) -> float:
        if not self._batch.is_ready:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r} before reset()"
            )
        row = self.kernel_facts()["state_names"].index(name)
        return float(self._batch.view_state()[row, self._lane])

    def _set_column(self, name: str, value: Any, choices: int) -> None:
        self._column(name)
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise error.ArgumentTypeError(f"{name}: expected an int, got {value!r}")
        if not 0 <= value < choices:
            raise error.InvalidArgument(f"{name}: expected 0 to {choices - 1}, got {value}")
        self._write_column(name, float(value))

    def _write_column(self, name: str, value: float) -> None:
        row = self.kernel_facts()["state_names"].index(name)
        self._batch.claim()
        try:
            self._batch.view_state()[row, self._lane] = value
        finally:
            self._batch.release()

    @property
    def s(self) -> int:
        """The state; set it to go on from another one."""
        return int(self._column("s"))

    @s.setter
    def s(self, value: int) -> None:
        self._set_column("s", value, self._transitions.num_states)

    @property
    def lastaction(self) -> int | None:
        """The action that led to the state; None after a reset."""
        action = int(self._column("lastaction"))
        return None if action < 0 else action

    @lastaction.setter
    def lastaction(self, value: int | None) -> None:
        if value is None:
            self._column("lastaction")
            self._write_column("lastaction", -1.0)
        else:
            self._set_column("lastaction", value, self._transitions.num_actions)


class TabularVectorEnv(NativeVectorEnv):
    """Many copies of one table in one batch; see `NativeVectorEnv`.

    Example:
        >>> from gymcore.envs.toy_text import TabularVectorEnv
        >>> P = [[[(1.0, 1, 2.0, False)]], [[(1.0, 1, 0.0, True)]]]
        >>> envs = TabularVectorEnv(3, P=P, initial_distribution=[1, 0])
        >>> envs.reset(seed=1)[0]
        array([0, 0, 0])
        >>> envs.step([0, 0, 0])[:2]
        (array([1, 1, 1]), array([2., 2., 2.]))
    """

    env_class: ClassVar[type[TabularEnv]] = TabularEnv

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        *,
        P: Any,
        initial_distribution: Sequence[float] | npt.NDArray[Any],
        **options: Any,
    ) -> None:
        """Make the batch; `options` are those of `NativeVectorEnv`."""
        super().__init__(
            num_envs,
            max_episode_steps,
            render_mode,
            P=P,
            initial_distribution=initial_distribution,
            **options,
        )
