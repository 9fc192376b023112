"""Proximal policy optimization (Schulman et al. 2017) in NumPy: one file, one algorithm.

Policy and value are two multilayer perceptrons of the same shape, which are computed together.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np

import gymcore
from gymcore.base.no_copies import NoCopies
from gymcore.core import Options
from gymcore.error import InvalidArgument, UnsupportedMode
from gymcore.learn.checkpoint import Checkpoint, checkpoint_errors, read_checkpoint
from gymcore.learn.collector import Rollout, RolloutCollector
from gymcore.learn.settings import DEFAULTS, Settings
from gymcore.spaces import Box, Discrete, Space, flatdim
from gymcore.specs.lookup import registered_id
from gymcore.vector.engine import VectorEngine
from gymcore.vector.vector_env import VectorEnv
from gymcore.wrappers.transform_observation import flatten_batch
from gymcore.wrappers.vector import AgentsAsLanes, FlattenObservation

Array = np.ndarray

Callback = Callable[["PPO", dict[str, float]], object]
"""Called with the agent and the metrics of an update; see `PPO.train`."""

# Number of episodes in the running mean return.
WINDOW = 100
_HALF_LOG_TAU = 0.5 * float(np.log(2 * np.pi))


class Moments:
    """Running mean and variance of all rows (Chan, Golub and LeVeque 1979).

    Attributes:
        values: Mean, variance and number of rows, [3, size].
    """

    def __init__(self, size: int) -> None:
        self.values = np.zeros((3, size))
        self.values[1] = 1.0

    def add(self, rows: Array) -> None:
        """Add rows [n, size]."""
        (mean, variance, count), n = self.values, len(rows)
        step, total = rows.mean(axis=0, dtype=np.float64) - mean, count + n
        squares = rows.var(axis=0, dtype=np.float64) * n + variance * count
        self.values[:] = (
            mean + step * n / total,
            (squares + step**2 * count * n / total) / total,
            total,
        )

    @property
    def deviation(self) -> Array:
        """Standard deviation [size]."""
        deviation: Array = np.sqrt(self.values[1] + 1e-8)
        return deviation


class Network:
    """The policy and value networks; their hidden layers share arrays with a first axis of 2.

    Attributes:
        parameters: All parameters, float32 [k].
        gradients: Gradient of the loss with respect to the parameters.
        log_std: Log standard deviations of continuous actions, or None.
        log_std_slope: Gradients of `log_std`, set by the loss; `backward` sets all others.
    """

    def __init__(
        self,
        inputs: int,
        hidden: Sequence[int],
        outputs: int,
        continuous: bool,
        random: np.random.Generator,
    ) -> None:
        """Draw orthogonal weights, which are small in the last layer of the policy."""
        shapes = self.shapes(inputs, hidden, outputs, continuous)
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        self.parameters, self.gradients = np.zeros((2, ends[-1]), np.float32)
        self._depth, self._hidden = len(hidden), hidden
        self._buffers: dict[int, list[Array]] = {}
        self._weights, self._slopes = (
            [
                part.reshape(shape)
                for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)
            ]
            for flat in (self.parameters, self.gradients)
        )
        for layer in self._weights[: 2 * self._depth : 2]:
            for matrix in layer:
                matrix[...] = _orthogonal(random, matrix.shape, np.sqrt(2))
        policy, _, value = self._weights[2 * self._depth :][:3]
        policy[...] = _orthogonal(random, policy.shape, 0.01)
        value[...] = _orthogonal(random, value.shape, 1.0)
        self.log_std: Array | None = self._weights[-1] if continuous else None
        self.log_std_slope = self._slopes[-1]

    @staticmethod
    def shapes(
        inputs: int, hidden: Sequence[int], outputs: int, continuous: bool
    ) -> list[tuple[int, ...]]:
        """Return the shapes of all weights and biases in order."""
        sizes = (inputs, *hidden)
        shapes: list[tuple[int, ...]] = []
        for size_in, size_out in pairwise(sizes):
            shapes += [(2, size_in, size_out), (2, 1, size_out)]
        shapes += [(sizes[-1], outputs), (outputs,), (sizes[-1], 1), (1,)]
        return shapes + [(outputs,)] * continuous

    def forward(self, x: Array, *, reuse: bool = True) -> tuple[list[Array], Array, Array]:
        """Return the inputs of all layers, the policy's outputs [n, outputs], and values [n].

        With `reuse`, the inputs are buffers that the next call with the same number of rows
        overwrites, because allocating arrays takes longer than filling them. There is a set of
        buffers for each number of rows: pass False if this number varies.
        """
        layers = [x]
        buffers = [z for z, *_ in self._buffers_of(len(x))] if reuse else [None] * self._depth
        for k, out in enumerate(buffers):
            z = np.matmul(layers[-1], self._weights[2 * k], out=out)
            z += self._weights[2 * k + 1]
            layers.append(np.tanh(z, out=z))
        policy, policy_bias, value, value_bias = self._weights[2 * self._depth :][:4]
        last = layers[-1]
        return layers, last[0] @ policy + policy_bias, (last[1] @ value)[:, 0] + value_bias

    def _buffers_of(self, n: int) -> list[Array]:
        """Return arrays [3, 2, n, size] for each hidden layer: outputs, slopes, and work space."""
        if n not in self._buffers:
            self._buffers[n] = [np.empty((3, 2, n, size), np.float32) for size in self._hidden]
        return self._buffers[n]

    def backward(self, layers: list[Array], outputs: Array, values: Array) -> None:
        """Compute all gradients from those for the outputs [n, outputs] and for the values [n]."""
        heads = slice(2 * self._depth, 2 * self._depth + 4)
        policy, _, value, _ = self._weights[heads]
        slopes, last = self._slopes[heads], layers[-1]
        np.matmul(last[0].T, outputs, out=slopes[0])
        np.sum(outputs, axis=0, out=slopes[1])
        np.matmul(last[1].T, values[:, None], out=slopes[2])
        np.sum(values, keepdims=True, out=slopes[3])
        buffers = self._buffers_of(len(outputs))
        np.matmul(outputs, policy.T, out=buffers[-1][1, 0])
        np.multiply(values[:, None], value[:, 0], out=buffers[-1][1, 1])
        for k in reversed(range(self._depth)):
            _, slope, scratch = buffers[k]
            np.square(layers[k + 1], out=scratch)
            slope *= np.subtract(1, scratch, out=scratch)
            np.matmul(layers[k].swapaxes(-1, -2), slope, out=self._slopes[2 * k])
            np.sum(slope, axis=1, keepdims=True, out=self._slopes[2 * k + 1])
            if k:
                transposed = self._weights[2 * k].swapaxes(-1, -2)
                np.matmul(slope, transposed, out=buffers[k - 1][1])


def _orthogonal(random: np.random.Generator, shape: tuple[int, ...], gain: float) -> Array:
    rows, columns = max(shape), min(shape)
    q, r = np.linalg.qr(random.standard_normal((rows, columns)))
    q *= gain * np.sign(np.diag(r))
    return q if shape == q.shape else q.T


class Losses(NamedTuple):
    """The terms of the loss of one minibatch, and the change of the policy."""

    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    clip_fraction: float


class PPO(NoCopies):
    """A PPO agent for one environment.

    The matrices are small: threads of NumPy's BLAS library do not help, and wait for each other if
    other programs use the processors. `gymcore train` limits them to one; in Python, train inside
    `with threadpoolctl.threadpool_limits(1):`, or set `OPENBLAS_NUM_THREADS=1`.

    Attributes:
        env_id: Id of the environment.
        env_kwargs: Arguments of the environment.
        settings: Hyperparameters.
        envs: The vector environment, with same-step autoreset.
        steps: Number of steps taken so far by all lanes together.
        curve: Steps so far, number of ended episodes and their mean return, for each update.
        recent: Returns of the last 100 episodes.

    Examples:
        >>> ppo = PPO("CartPole-v1", seed=1, num_envs=8, num_steps=32)
        >>> metrics = ppo.update()
        >>> ppo.steps, len(ppo.curve), metrics["clip_fraction"] < 1
        (256, 1, True)
        >>> ppo.save("cartpole.npz")
        >>> PPO.load("cartpole.npz").steps
        256
    """

    advice = "send the path of a checkpoint: `save(path)`, then `PPO.load(path)`"

    def __init__(
        self,
        env_id: str,
        *,
        seed: int = 0,
        env_kwargs: Options = None,
        num_workers: int | None = None,
        **settings: Any,
    ) -> None:
        """Create the environment and initialize the network.

        Args:
            env_id: An environment with Discrete actions, or a Box of floats. If it has several
                agents, one network acts for each of them (`AgentsAsLanes`).
            seed: Seed of all random numbers: lane i is reset with seed + i.
            env_kwargs: Arguments of the environment, which JSON must be able to represent.
            num_workers: Number of processes that step the lanes, each with one environment in
                Python; see `AsyncVectorEnv`. None selects the engine as `make_vec` does.
            **settings: Values that replace the defaults of the id; see `Settings`.

        Raises:
            UnsupportedMode: If the action space is of another kind, or observations are images.
            InvalidArgument: If a setting is out of range.
            ArgumentTypeError: If a setting has the wrong type.
        """
        self.env_id = env_id
        self.env_kwargs = env_kwargs or {}
        self.settings = replace(Settings(**DEFAULTS.get(env_id, {})), **settings)
        options = {"autoreset_mode": "SameStep", "episode_statistics": True}
        num_envs, mode = self.settings.num_envs, None
        if num_workers is not None:
            options["num_workers"], mode = num_workers, "async"
        self.envs: VectorEnv = gymcore.make_vec(
            env_id, num_envs, mode, vector_kwargs=options, **self.env_kwargs
        )
        if self.envs.agents is not None:
            self.envs = AgentsAsLanes(self.envs)
        try:
            inputs, outputs, continuous = _sizes(self.envs, env_id)
        except UnsupportedMode:
            self.envs.close()
            raise
        if self.settings.target is None:
            threshold = getattr(self.envs.spec, "reward_threshold", None)
            target = math.inf if threshold is None else threshold
            self.settings = replace(self.settings, target=target)
        self._space = self.envs.single_observation_space
        self._offset, self._factor = _action_scale(
            self.envs.single_action_space, self.settings.scale_actions
        )
        if self._space.shape is None:
            self.envs = FlattenObservation(self.envs)
        self._shapes = _shapes(self._space, inputs, self.settings.hidden, outputs, continuous)
        self._random = np.random.default_rng(seed)
        self._network = Network(inputs, self.settings.hidden, outputs, continuous, self._random)
        self._adam = np.zeros((2, len(self._network.parameters)), np.float32)
        self._adam_steps = 0
        self._moments, self._return_moments = Moments(inputs), Moments(1)
        self._lane_returns = np.zeros(self.envs.num_envs)  # discounted reward sums of the lanes
        self.steps = 0
        self.curve: list[tuple[int, int, float]] = []
        self.recent: deque[float] = deque(maxlen=WINDOW)
        self._collector = RolloutCollector(
            self.envs, self._sample, self.settings.num_steps, seed=seed
        )

    @property
    def mean_return(self) -> float:
        """Mean return of the last 100 episodes; nan until there are 100."""
        return float(np.mean(self.recent)) if len(self.recent) == WINDOW else float("nan")

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next update."""
        remaining = 1 - self.steps / self.settings.total_steps if self.settings.anneal else 1
        return self.settings.learning_rate * max(remaining, 0)

    def close(self) -> None:
        """Close the environment."""
        self.envs.close()

    # --- acting ----------------------------------------------------------------------------------

    def act(self, observations: object) -> Array:
        """Return the most probable actions [n, ...] for a batch of the environment's observations.

        Raises:
            InvalidArgument: If the observations belong to another space.
        """
        try:
            inputs = self._inputs(observations, self._space)
        except (TypeError, ValueError, LookupError) as problem:
            expected = f"observations: expected a batch of {self._space}"
            raise InvalidArgument(f"{expected} ({problem})") from None
        _, outputs, _ = self._network.forward(inputs, reuse=False)
        space = self.envs.single_action_space
        actions: Array
        if isinstance(space, Box):
            actions = np.clip(self._env_actions(outputs), space.low, space.high)
        else:
            actions = outputs.argmax(axis=1) + self._offset
        return actions

    def _env_actions(self, outputs: Array) -> Array:
        """Return the environment's continuous actions [n, ...] for the outputs of the network."""
        shape = self.envs.single_action_space.shape
        actions: Array = self._offset + self._factor * outputs
        return actions.reshape(-1, *(shape or ()))

    def _inputs(self, observations: object, space: Space | None = None) -> Array:
        """Return the network's inputs [n, size] for a batch of observations."""
        return self._scale(flatten_batch(space or self.envs.single_observation_space, observations))

    def _scale(self, rows: Array) -> Array:
        """Return the network's inputs for flattened observations [n, size]."""
        if self.settings.normalize:
            rows = np.clip((rows - self._moments.values[0]) / self._moments.deviation, -10, 10)
        return rows.astype(np.float32, copy=False)

    def _sample(self, observations: Array) -> tuple[Array, Array, Array]:
        """Return actions, log-probabilities and values; used as the collector's policy."""
        _, outputs, values = self._network.forward(self._inputs(observations))
        log_std = self._network.log_std
        if log_std is None:
            log_probs = _log_softmax(outputs)
            # The argmax of log-probabilities plus Gumbel noise follows the distribution.
            draws = self._random.standard_exponential(outputs.shape, np.float32)
            noise = np.log(np.maximum(draws, np.finfo(np.float32).tiny))  # a draw may be 0
            actions = (log_probs - noise).argmax(axis=1)
            return actions + self._offset, log_probs[np.arange(len(actions)), actions], values
        noise = self._random.standard_normal(outputs.shape, np.float32)
        actions = self._env_actions(outputs + noise * np.exp(log_std))
        return actions, _log_normal(noise, log_std), values

    # --- learning --------------------------------------------------------------------------------

    def train(self, callback: Callback | None = None, *, target: float | None = None) -> None:
        """Update until `total_steps`, or until the mean return of 100 episodes reaches the target.

        Args:
            callback: Function called after each update with this agent and the metrics of `update`.
                Training ends if it returns True.
            target: The mean return to reach; None for `settings.target`.
        """
        if target is None:
            target = cast("float", self.settings.target)
        while self.steps < self.settings.total_steps and not self.mean_return >= target:
            metrics = self.update()
            if callback is not None and callback(self, metrics):
                break

    def update(self) -> dict[str, float]:
        """Collect one rollout and learn from it.

        Returns:
            Metrics by name: `return` and `length`, means over the ended episodes, if any; means
            over minibatches of `policy_loss`, `value_loss` (of scaled rewards if `normalize` is
            set), `entropy`, `kl` (approximate KL divergence from the policy that acted) and
            `clip_fraction`; `explained_variance` of the returns by the values, if the returns vary;
            `learning_rate`; and `steps_per_second`.
        """
        start, settings, collector = time.perf_counter(), self.settings, self._collector
        rollout = collector.collect()
        if settings.normalize:
            self._scale_rewards(rollout)
        advantages, returns = collector.advantages(settings.gamma, settings.gae_lambda)
        arrays = (
            rollout.observations, rollout.actions, rollout.log_probs, rollout.values, advantages,
            returns,
        )  # fmt: skip
        columns = [array.reshape(-1, *array.shape[2:]) for array in arrays]
        columns[0] = flatten_batch(self.envs.single_observation_space, columns[0])
        columns[1] = columns[1].reshape(-1, *self._offset.shape) - self._offset
        if self._network.log_std is not None:
            columns[1] = (columns[1] / self._factor).astype(np.float32, copy=False)
        losses = []
        for rows in self._minibatches(rollout.rewards.size):
            losses.append(self._learn(*(column[rows] for column in columns)))
            if losses[-1].kl > settings.target_kl:
                break
        if settings.normalize:
            self._moments.add(columns[0])
        metrics = {}
        if ended := len(collector.episode_returns):
            metrics["return"] = float(np.mean(collector.episode_returns))
            metrics["length"] = float(np.mean(collector.episode_lengths))
        metrics |= zip(Losses._fields, np.mean(losses, axis=0).tolist(), strict=True)
        if variance := float(returns.var()):
            metrics["explained_variance"] = 1 - float(advantages.var()) / variance
        metrics["learning_rate"] = self.learning_rate
        self.steps += rollout.rewards.size
        self.recent.extend(collector.episode_returns)
        if ended:
            self.curve.append((self.steps, ended, metrics["return"]))
        metrics["steps_per_second"] = rollout.rewards.size / (time.perf_counter() - start)
        return metrics

    def _minibatches(self, size: int) -> Iterator[Array]:
        """Yield the row indices of each minibatch of an update, in random order in each epoch."""
        for _ in range(self.settings.epochs):
            order = self._random.permutation(size)
            for lo in range(0, size, self.settings.minibatch):
                yield order[lo : lo + self.settings.minibatch]

    def _scale_rewards(self, rollout: Rollout) -> None:
        """Divide the rewards by the standard deviation of their discounted sums so far."""
        sums = np.empty_like(rollout.rewards)
        for t, rewards in enumerate(rollout.rewards):
            self._lane_returns = sums[t] = self._lane_returns * self.settings.gamma + rewards
            ended = rollout.terminated[t] | rollout.truncated[t]
            self._lane_returns = self._lane_returns * ~ended
        self._return_moments.add(sums.reshape(-1, 1))
        np.divide(rollout.rewards, self._return_moments.deviation, out=rollout.rewards)

    def _learn(
        self,
        observations: Array,
        actions: Array,
        old_log_probs: Array,
        old_values: Array,
        advantages: Array,
        returns: Array,
    ) -> Losses:
        """Take a gradient step on a minibatch of n steps, unless `kl` is too large."""
        settings, network, n = self.settings, self._network, np.float32(len(actions))
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        layers, outputs, values = network.forward(self._scale(observations))
        log_std = network.log_std
        if log_std is None:
            all_log_probs, rows = _log_softmax(outputs), np.arange(len(actions))
            log_probs = all_log_probs[rows, actions]
        else:
            noise = (actions - outputs) * np.exp(-log_std)
            log_probs = _log_normal(noise, log_std)
        log_ratio = log_probs - old_log_probs
        ratio = np.exp(log_ratio)
        clipped = np.clip(ratio, 1 - settings.clip, 1 + settings.clip)
        errors, changes = values - returns, values - old_values
        clipped_errors = (
            errors - changes + np.clip(changes, -settings.clip_value, settings.clip_value)
        )
        if log_std is None:
            probs = np.exp(all_log_probs)
            entropies = -(probs * all_log_probs).sum(axis=1, keepdims=True)
        else:
            entropies = (log_std + _HALF_LOG_TAU + 0.5).sum()
        terms = (
            np.minimum(ratio * advantages, clipped * advantages),
            np.maximum(errors**2, clipped_errors**2),
            ratio - 1 - log_ratio,
            ratio != clipped,
        )
        gain, error, kl, clip_fraction = np.stack(terms).mean(axis=1).tolist()
        losses = Losses(-gain, error, float(entropies.mean()), kl, clip_fraction)
        if losses.kl > settings.target_kl:
            return losses
        # Where the policy or the value has moved far enough, the clipped loss is flat.
        is_flat = np.where(advantages > 0, ratio > 1 + settings.clip, ratio < 1 - settings.clip)
        slope = np.where(is_flat, 0, -advantages * ratio / n)[:, None]  # d loss / d log-probability
        is_flat = (abs(changes) > settings.clip_value) & (abs(clipped_errors) > abs(errors))
        by_value = np.where(is_flat, 0, 2 * settings.value / n * errors)
        if log_std is None:
            by_output = -slope * probs
            by_output[rows, actions] += slope[:, 0]
            if settings.entropy:
                by_output += settings.entropy / n * probs * (all_log_probs + entropies)
        else:
            by_output = slope * noise * np.exp(-log_std)
            network.log_std_slope[...] = (slope * (noise**2 - 1)).sum(axis=0) - settings.entropy
        network.backward(layers, by_output, by_value)
        self._take_adam_step()
        return losses

    def _take_adam_step(self) -> None:
        """Take a step of Adam (Kingma and Ba 2015) with the gradients, clipped by their norm."""
        gradients, (mean, square) = self._network.gradients, self._adam
        length = float(np.sqrt(gradients @ gradients))
        if length > self.settings.max_gradient:
            gradients *= self.settings.max_gradient / length
        self._adam_steps += 1
        mean += 0.1 * (gradients - mean)
        square += 0.001 * (gradients * gradients - square)
        rate = self.learning_rate / (1 - 0.9**self._adam_steps)
        root = np.sqrt(square / (1 - 0.999**self._adam_steps))
        self._network.parameters -= rate * mean / (root + 1e-5)

    # --- checkpoints -----------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write a checkpoint for `load`: an .npz file without pickles.

        With the native engine the lanes are saved too; with other engines they start new episodes.
        Without `overwrite`, an existing file raises `FileExistsError`.
        """
        arrays = {
            **self._arrays(),
            "recent": np.array(self.recent, np.float64),
            "curve": np.array(self.curve, np.float64).reshape(-1, 3),
        }
        engine = self.envs.unwrapped
        if isinstance(engine, VectorEngine) and engine.state_is_array:
            arrays |= {"lanes": engine.get_state(), "gain": self._lane_returns}
            arrays["observations"] = self._collector.next_observations
        Checkpoint(
            self.env_id,
            self.env_kwargs,
            self.settings,
            self.steps,
            self._adam_steps,
            self._random.bit_generator.state,
            self._shapes,
            arrays,
        ).write(path, overwrite=overwrite)

    def _arrays(self) -> dict[str, Array]:
        """Return the arrays of fixed shapes, which `load` fills."""
        moments = (self._moments, self._return_moments)
        return {
            "parameters": self._network.parameters,
            "adam": self._adam,
            **{f"moments_{k}": moment.values for k, moment in enumerate(moments)},
        }

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, num_workers: int | None = None, **settings: Any
    ) -> PPO:
        """Load the agent of a checkpoint; with the native engine, training continues bit for bit.

        The file may come from an untrusted source: its environment must already be registered, and
        nothing is imported for it.

        Args:
            path: Path of the checkpoint.
            num_workers: As for a new agent.
            **settings: Values that replace those of the checkpoint; see `Settings`. `hidden` cannot
                be changed. Another number of lanes starts new episodes.

        Raises:
            InvalidArgument: If the file is not a checkpoint of this version; if its environment is
                not registered; if a setting is out of range, including those of a checkpoint with
                more than 1,024 lanes, 2**20 steps or 256 MiB of observations of a rollout, 1,000
                epochs, or 2**22 outputs of hidden layers in a minibatch, unless `num_envs`,
                `num_steps`, `epochs` and `minibatch` are given here.
            ArgumentTypeError: If a setting has the wrong type.
            OSError: If the file cannot be read.
        """
        checkpoint = read_checkpoint(path)
        new_settings = replace(checkpoint.settings, **settings)
        if new_settings.hidden != checkpoint.settings.hidden:
            raise InvalidArgument(
                f"hidden: expected {checkpoint.settings.hidden} as in the checkpoint, got "
                f"{new_settings.hidden}"
            )
        with checkpoint_errors(path):
            env_id, kwargs = registered_id(checkpoint.env_id), checkpoint.env_kwargs
            options = {"autoreset_mode": "SameStep"}
            with gymcore.make_vec(env_id, num_envs=1, vector_kwargs=options, **kwargs) as envs:
                lane: VectorEnv = envs if envs.agents is None else AgentsAsLanes(envs)
                inputs, outputs, continuous = _sizes(lane, env_id)
                space = lane.single_observation_space
            itemsize = space.dtype.itemsize if isinstance(space, Box) else 8
            checkpoint.check_size(settings, inputs * itemsize)
            shapes = _shapes(space, inputs, new_settings.hidden, outputs, continuous)
            expected, got = sum(map(math.prod, shapes[1:])), len(checkpoint.arrays["parameters"])
            if expected != got:  # before any network is allocated
                raise ValueError(f"parameters: expected {expected} for {env_id}, got {got}")
            if checkpoint.shapes not in (None, shapes):
                raise ValueError(
                    f"shapes: expected {shapes} for {env_id}, got {checkpoint.shapes!r:.400}"
                )
            ppo = cls(
                env_id, seed=checkpoint.steps, env_kwargs=kwargs, num_workers=num_workers,
                **asdict(new_settings),
            )  # fmt: skip
            try:
                ppo._restore(checkpoint)
            except BaseException:
                ppo.close()
                raise
        return ppo

    def _restore(self, checkpoint: Checkpoint) -> None:
        arrays = checkpoint.arrays
        for name, array in self._arrays().items():
            if arrays[name].shape != array.shape:
                raise ValueError(f"{name}: expected {array.shape}, got {arrays[name].shape}")
            array[...] = arrays[name]
        self.env_id = checkpoint.env_id
        self.steps, self._adam_steps = checkpoint.steps, checkpoint.adam_steps
        self._random.bit_generator.state = checkpoint.random
        self.recent.extend(arrays["recent"].tolist())
        self.curve = [(int(step), int(n), mean) for step, n, mean in arrays["curve"].tolist()]
        engine = self.envs.unwrapped
        lanes = arrays.get("lanes", np.empty(0))
        # Lanes that are agents begin new episodes: the state of a world lacks how agents ended.
        has_lanes = len(lanes) == engine.num_envs == self.envs.num_envs
        if isinstance(engine, VectorEngine) and engine.state_is_array and has_lanes:
            observations = self._collector.next_observations
            if arrays["observations"].shape != observations.shape:
                raise ValueError(f"observations: expected shape {observations.shape}")
            if arrays["gain"].shape != self._lane_returns.shape:
                raise ValueError(f"gain: expected shape {self._lane_returns.shape}")
            engine.set_state(lanes)
            self._lane_returns[...] = arrays["gain"]
            observations[...] = arrays["observations"]


def _sizes(envs: VectorEnv, env_id: str) -> tuple[int, int, bool]:
    """Return the numbers of inputs and outputs, and whether actions are continuous."""
    space, actions = envs.single_observation_space, envs.single_action_space
    if space.dtype == np.uint8 and sum(size >= 32 for size in space.shape or ()) >= 2:
        raise UnsupportedMode(
            f"{env_id}: expected observations for a perceptron, got images, {space}; in gymcore's "
            "repository, examples/ppo_atari.py trains a convolutional network in PyTorch"
        )
    inputs = flatdim(space)
    if isinstance(actions, Discrete):
        return inputs, int(actions.n), False
    if isinstance(actions, Box) and actions.dtype.kind == "f":
        return inputs, flatdim(actions), True
    raise UnsupportedMode(f"{env_id}: expected Discrete or float Box actions, got {actions}")


def _action_scale(space: Any, scale: bool) -> tuple[Array, Array]:
    """Return the offset and factor, flattened, that turn the network's actions into the space's.

    The network's actions from -1 to 1 cover the range of a bounded number. A range so large that a
    sixteenfold action would overflow counts as unbounded.
    """
    if isinstance(space, Discrete):
        return np.array(space.start), np.array(1)
    low, high = space.low.ravel() / 2, space.high.ravel() / 2
    with np.errstate(over="ignore", invalid="ignore"):
        bounded = scale & np.isfinite(16 * (high - low)) & (high > low)
        return np.where(bounded, high + low, 0), np.where(bounded, high - low, 1)


def _shapes(
    space: Space, inputs: int, hidden: Sequence[int], outputs: int, continuous: bool
) -> list[list[int]]:
    """Return the shapes of an observation and of the weights of a network, as in a checkpoint."""
    weights = Network.shapes(inputs, hidden, outputs, continuous)
    return [list(space.shape or ()), *map(list, weights)]


def _log_softmax(outputs: Array) -> Array:
    shifted: Array = outputs - outputs.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def _log_normal(noise: Array, log_std: Array) -> Array:
    """Return log-probabilities [n] of actions, given their standard normal noise [n, size]."""
    log_probs: Array = -0.5 * (noise * noise).sum(axis=1) - (log_std + _HALF_LOG_TAU).sum()
    return log_probs
