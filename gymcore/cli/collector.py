"""The loop of `gymcore collect`: actions in, blocks of [T, N] steps out."""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gymcore.cli.actions import PolicyActions, RandomActions
from gymcore.cli.collect_plot import BINS, RunHistory
from gymcore.cli.common import CliError, Interruption
from gymcore.cli.episodes import EpisodeStatistics
from gymcore.cli.recording import Recording, observations_at

#: Lane-steps in a block: 0.5 MB of CartPole, which stays in the second-level cache.
_BLOCK = 2**14


class ProgressBar(Protocol):
    """What the collector wants of a progress bar (tqdm's)."""

    def update(self, n: int) -> Any:
        """Advance by n environment steps."""


class Collector:
    """Steps a vector environment a given number of times and watches the episodes.

    Where the environment can run many steps in one call (`rollout`) and nobody has to look at the
    observations in between, it does; else it is stepped. Both ways draw the same random actions,
    so they give the same episodes.

    Attributes:
        episodes: Statistics of the episodes that ended.
        steps_done: Steps taken by every lane.
        seconds: Time spent in the loop, resets of the whole batch left out [s].
        interrupted: Whether Ctrl-C ended the loop early.
    """

    def __init__(
        self,
        envs: Any,
        actions: RandomActions | PolicyActions,
        *,
        steps: int,
        seed: int,
        recording: Recording | None = None,
        history: RunHistory | None = None,
    ) -> None:
        """Prepare a run.

        Args:
            envs: The vector environment, not yet reset.
            actions: The source of the actions.
            steps: T, the steps that every lane takes.
            seed: Lane i is reset with `seed + i`.
            recording: Where to keep the steps; None keeps nothing.
            history: Where to note returns and throughput for a picture; None does not.
        """
        from gymcore.vector import AutoresetMode

        self._envs = envs
        self._actions = actions
        self._steps = steps
        self._seed = seed
        self._recording = recording
        self._history = history
        self._num_envs = int(envs.num_envs)
        self.mode = AutoresetMode(envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self._disabled = self.mode is AutoresetMode.DISABLED
        self._same_step = self.mode is AutoresetMode.SAME_STEP
        self.episodes = EpisodeStatistics(
            self._num_envs, resets_take_a_step=self.mode is AutoresetMode.NEXT_STEP
        )
        self.steps_done = 0
        self.seconds = 0.0
        self.interrupted = False
        self._rows = max(1, min(steps, _BLOCK // self._num_envs))
        if history is not None:
            self._rows = max(1, min(self._rows, steps // BINS))

    @property
    def uses_rollout(self) -> bool:
        """Whether whole blocks go through `envs.rollout` instead of single steps.

        Not with a policy, which wants to see each batch, and not without autoreset.
        """
        return (
            hasattr(self._envs, "rollout")
            and self._envs.observation_space.shape is not None
            and isinstance(self._actions, RandomActions)
            and not self._disabled
        )

    def run(self, bar: ProgressBar) -> None:
        """Reset the batch, then take all steps or as many as fit before Ctrl-C.

        Args:
            bar: Told of every block (or step) as it is done.

        Raises:
            CliError: If a policy fails.
        """
        observations, _ = self._envs.reset(seed=self._seed)
        if self._recording is not None:
            self._recording.set_observations(0, observations)
        with Interruption() as interruption:
            start = time.perf_counter()
            if self._history is not None:
                self._history.start()
            try:
                if self.uses_rollout:
                    self._roll(bar, interruption)
                else:
                    self._step(observations, bar, interruption)
            finally:
                self.seconds = time.perf_counter() - start
            self.interrupted = interruption.requested and self.steps_done < self._steps

    def _roll(self, bar: ProgressBar, interruption: Interruption) -> None:
        """Take the steps block by block, straight into the arrays that keep them."""
        assert isinstance(self._actions, RandomActions)
        recording, space = self._recording, self._envs.observation_space
        finals = {}
        if recording is None:
            shape = (self._rows, self._num_envs)
            observations = np.empty((self._rows, *space.shape), space.dtype)
            rewards = np.empty(shape)
            terminated, truncated = np.empty(shape, np.bool_), np.empty(shape, np.bool_)
        elif self._same_step:
            # The observations that resets replace; next-step autoreset returns them as it is.
            finals["final_observations"] = np.empty((self._rows, *space.shape), space.dtype)
        while self.steps_done < self._steps and not interruption.requested:
            first = self.steps_done
            rows = min(self._rows, self._steps - first)
            actions = self._actions.block(rows)
            if recording is not None:
                # Row t of the recording is what step t acts on: results go one row further.
                observations = recording.observations[""][first + 1 : first + rows + 1]
                rewards = recording.rewards[first : first + rows]
                terminated = recording.terminated[first : first + rows]
                truncated = recording.truncated[first : first + rows]
                recording.actions[""][first : first + rows] = actions
            self._envs.rollout(
                actions,
                observations=observations[:rows],
                rewards=rewards[:rows],
                terminated=terminated[:rows],
                truncated=truncated[:rows],
                **{name: array[:rows] for name, array in finals.items()},
            )
            if recording is not None and finals:
                t, lane = np.nonzero(terminated[:rows] | truncated[:rows])
                recording.add_finals(first + t, lane, finals["final_observations"][t, lane])
            self._block_done(rewards[:rows], terminated[:rows], truncated[:rows])
            bar.update(rows * self._num_envs)

    def _step(self, observations: Any, bar: ProgressBar, interruption: Interruption) -> None:
        """Take the steps one by one."""
        recording, lanes = self._recording, self._num_envs
        rewards_block = np.empty((self._rows, lanes))
        terminated_block = np.empty((self._rows, lanes), np.bool_)
        truncated_block = np.empty((self._rows, lanes), np.bool_)
        filled = 0
        drawn: npt.NDArray[Any] | None = None
        try:
            for row in range(self._steps):
                if interruption.requested:
                    break
                if isinstance(self._actions, PolicyActions):
                    actions = self._actions(observations)
                else:
                    if filled == 0:
                        drawn = self._actions.block(min(self._rows, self._steps - row))
                    assert drawn is not None
                    actions = drawn[filled]
                if recording is not None:
                    recording.set_actions(row, actions)
                observations, rewards, terminated, truncated, info = self._envs.step(actions)
                rewards_block[filled] = rewards
                terminated_block[filled] = terminated
                truncated_block[filled] = truncated
                if recording is not None or self._disabled:
                    observations = self._after_step(
                        row, observations, rewards, terminated, truncated, info
                    )
                filled += 1
                if filled == self._rows:
                    self._block_done(rewards_block, terminated_block, truncated_block)
                    filled = 0
                bar.update(lanes)
        finally:
            self._block_done(
                rewards_block[:filled], terminated_block[:filled], truncated_block[:filled]
            )

    def _after_step(
        self,
        row: int,
        observations: Any,
        rewards: npt.NDArray[Any],
        terminated: npt.NDArray[np.bool_],
        truncated: npt.NDArray[np.bool_],
        info: dict[str, Any],
    ) -> Any:
        """Record a step, reset what nobody else resets; return what the next step acts on."""
        recording = self._recording
        done = np.logical_or(terminated, truncated)
        ended = np.flatnonzero(done)
        if ended.size and recording is not None and (self._disabled or self._same_step):
            last = observations if self._disabled else _final_observations(info)
            recording.add_finals(row, ended, observations_at(last, ended))
        if ended.size and self._disabled:
            observations, _ = self._envs.reset(options={"reset_mask": done})
        if recording is not None:
            recording.rewards[row] = rewards
            recording.terminated[row] = terminated
            recording.truncated[row] = truncated
            recording.set_observations(row + 1, observations)
        return observations

    def _block_done(
        self,
        rewards: npt.NDArray[Any],
        terminated: npt.NDArray[np.bool_],
        truncated: npt.NDArray[np.bool_],
    ) -> None:
        """Count a finished block."""
        self.episodes.add(rewards, terminated, truncated)
        self.steps_done += len(rewards)
        if self._history is not None:
            self._history.add(rewards.size, self.episodes.last_returns)
        if self._recording is not None:
            self._recording.rows = self.steps_done


def _final_observations(info: dict[str, Any]) -> Any:
    """Return the batch that holds the last observations of ended episodes (same-step autoreset)."""
    try:
        return info["final_obs"]
    except KeyError:
        raise CliError(
            "--out: the environment ended an episode without info['final_obs']; "
            "record it with --autoreset-mode next-step"
        ) from None
