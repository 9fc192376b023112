"""Proximal policy optimization (Schulman et al. 2017) in NumPy: one file, one algorithm.

Policy and value are two multilayer perceptrons of one shape, which are computed side by side.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import Any
from zipfile import BadZipFile

import numpy as np

import gymcore
from gymcore.base.arguments import positive
from gymcore.base.new_file import write_npz
from gymcore.core import Info, Options
from gymcore.error import ArgumentTypeError, InvalidArgument, UnsupportedMode
from gymcore.learn.collector import Rollout, RolloutCollector
from gymcore.spaces import Box, Discrete, Space
from gymcore.vector.vector_env import VectorEnv
from gymcore.wrappers.transform_observation import flatten_batch
from gymcore.wrappers.vector import FlattenObservation

__all__ = ["PPO", "Settings"]

Array = np.ndarray

# Number of episodes in the running mean return.
WINDOW = 100
_HALF_LOG_TAU = 0.5 * float(np.log(2 * np.pi))
_VERSION = 1  # of checkpoints


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters.

    Attributes:
        num_envs: Lanes.
        num_steps: Steps of every lane between updates.
        epochs: Passes over these steps per update.
        minibatch: Steps of one gradient.
        learning_rate: Of Adam.
        gamma: Discount factor, from 0 to 1.
        gae_lambda: How far advantages look ahead, from 0 to 1; see `compute_advantages`.
        clip: Deviation of the probability ratio from 1 beyond which a step has no gradient.
        entropy: Weight of the entropy of the policy.
        value: Weight of the squared error of values.
        max_gradient: Norm to which gradients are scaled down.
        hidden: Sizes of the hidden layers, at least one.
        normalize: Whether observations and rewards are divided by their standard deviations so far.
        total_steps: Steps of all lanes together after which `gymcore train` ends.
    """

    num_envs: int = 32
    num_steps: int = 64
    epochs: int = 10
    minibatch: int = 512
    learning_rate: float = 1e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.0
    value: float = 0.5
    max_gradient: float = 0.5
    hidden: Sequence[int] = (64, 64)
    normalize: bool = True
    total_steps: int = 1_000_000

    def __post_init__(self) -> None:
        """Check and convert the values.

        Raises:
            ArgumentTypeError: If a value has another type.
            InvalidArgument: If a value is out of range.
        """
        checked: dict[str, object] = {}
        for name in ("num_envs", "num_steps", "epochs", "minibatch", "total_steps"):
            checked[name] = positive(name, getattr(self, name))
        for name, (minimum, maximum) in _RANGES.items():
            checked[name] = _number(name, getattr(self, name), minimum, maximum)
        if not isinstance(self.hidden, Iterable):
            raise ArgumentTypeError(f"hidden: expected a sequence of sizes, got {self.hidden!r}")
        checked["hidden"] = tuple(positive("hidden", size) for size in self.hidden)
        if not checked["hidden"]:
            raise InvalidArgument("hidden: expected at least one layer, got none")
        if not isinstance(self.normalize, (bool, np.bool_)):
            raise ArgumentTypeError(f"normalize: expected a bool, got {self.normalize!r}")
        checked["normalize"] = bool(self.normalize)
        for name, value in checked.items():
            object.__setattr__(self, name, value)


# Minimum and maximum of the settings that are not counts.
_RANGES = {
    "learning_rate": (1e-9, sys.float_info.max),
    "gamma": (0.0, 1.0),
    "gae_lambda": (0.0, 1.0),
    "clip": (1e-9, sys.float_info.max),
    "entropy": (0.0, sys.float_info.max),
    "value": (0.0, sys.float_info.max),
    "max_gradient": (1e-9, sys.float_info.max),
}


def _number(name: str, value: object, minimum: float, maximum: float) -> float:
    """Return a number as a float; raise as `gymcore.base.arguments.count` does."""
    if not isinstance(value, Real):
        raise ArgumentTypeError(f"{name}: expected a number, got {value!r} ({type(value)})")
    number = float(value)
    if not number >= minimum:  # or nan
        raise InvalidArgument(f"{name}: expected at least {minimum:g}, got {value!r}")
    if number > maximum:
        raise InvalidArgument(f"{name}: expected at most {maximum:g}, got {value!r}")
    return number


DEFAULTS: dict[str, dict[str, Any]] = {
    # Rewards are all 1 and observations small: nothing to normalize; short rollouts learn soonest.
    "CartPole-v1": {"num_steps": 32, "minibatch": 256, "learning_rate": 2e-3, "gamma": 0.98,
                    "gae_lambda": 0.9, "normalize": False},
    # Random actions never reach the flag: many small updates let the policy drift until it does.
    "MountainCar-v0": {"num_steps": 16, "minibatch": 128, "epochs": 4, "gae_lambda": 0.98},
    # What happens after a second does not matter for the torque now.
    "Pendulum-v1": {"gamma": 0.9},
    # Landing is worth most, and comes hundreds of steps after what makes it possible.
    "LunarLander-v3": {"num_steps": 128, "minibatch": 1024, "epochs": 6, "gamma": 0.999,
                       "gae_lambda": 0.98, "entropy": 0.01},
    # One state of many is rewarded, or few: explore, and leave one-hot observations as they are.
    "FrozenLake-v1": {"entropy": 0.01, "normalize": False},
    "Blackjack-v1": {"normalize": False},
    # Few deliveries at first, and fines for trying: large batches, small steps, and exploration.
    # With advantages that look less far ahead, two seeds of ten never deliver some passengers.
    "Taxi-v4": {"num_envs": 64, "num_steps": 128, "epochs": 4, "minibatch": 1024,
                "learning_rate": 7e-4, "gae_lambda": 0.98, "entropy": 0.03},
}  # fmt: skip
"""What differs from `Settings` for an id, and why."""


class Moments:
    """Mean and variance of all rows so far (Chan, Golub and LeVeque 1979).

    Attributes:
        values: [3, size]: the mean, the variance, and how many rows.
    """

    def __init__(self, size: int) -> None:
        """Begin without rows: mean 0, variance 1."""
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
        return np.sqrt(self.values[1] + 1e-8)


class Network:
    """The policy and the value, whose hidden layers lie side by side along a first axis of 2.

    Attributes:
        parameters: All numbers, float32 [k].
        gradients: Gradient of the loss with respect to the parameters.
        log_std: The logarithms of the standard deviations of continuous actions, or None.
        log_std_slope: Their gradients, set by the loss; `backward` sets the others.
    """

    def __init__(
        self,
        inputs: int,
        hidden: Sequence[int],
        outputs: int,
        continuous: bool,
        random: np.random.Generator,
    ) -> None:
        """Draw orthogonal weights, small ones for the policy's last layer."""
        sizes = (inputs, *hidden)
        shapes: list[tuple[int, ...]] = []
        for before, after in pairwise(sizes):
            shapes += [(2, before, after), (2, 1, after)]
        shapes += [(sizes[-1], outputs), (outputs,), (sizes[-1], 1), (1,)]
        shapes += [(outputs,)] * continuous
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
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

    def forward(self, x: Array) -> tuple[list[Array], Array, Array]:
        """Return the inputs of all layers, the policy's outputs [n, outputs], and values [n].

        The next call with as many rows overwrites the inputs: new arrays would take longer to get
        from the system than to fill.
        """
        layers = [x]
        for k, (z, *_) in enumerate(self._buffers_of(len(x))):
            np.matmul(layers[-1], self._weights[2 * k], out=z)
            z += self._weights[2 * k + 1]
            layers.append(np.tanh(z, out=z))
        policy, policy_bias, value, value_bias = self._weights[2 * self._depth :][:4]
        last = layers[-1]
        return layers, last[0] @ policy + policy_bias, (last[1] @ value)[:, 0] + value_bias

    def _buffers_of(self, n: int) -> list[Array]:
        """Return arrays [3, 2, n, size] for each hidden layer: outputs, their slopes, and room."""
        if n not in self._buffers:
            self._buffers[n] = [np.empty((3, 2, n, size), np.float32) for size in self._hidden]
        return self._buffers[n]

    def backward(self, layers: list[Array], outputs: Array, values: Array) -> None:
        """Set the gradients from those of the outputs [n, outputs] and values [n]."""
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
            _, slope, room = buffers[k]
            np.square(layers[k + 1], out=room)
            slope *= np.subtract(1, room, out=room)
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


class PPO:
    """A PPO agent for one environment.

    Attributes:
        env_id: The environment.
        env_kwargs: Its arguments.
        settings: The hyper-parameters.
        envs: The lanes, with same-step autoreset.
        steps: Steps taken so far, of all lanes together.
        curve: For each update the steps so far, and number and mean return of the episodes ended.
        recent: Returns of the last 100 episodes.

    Example:
        >>> ppo = PPO("CartPole-v1", seed=1, num_envs=8, num_steps=32)
        >>> ppo.update()
        >>> ppo.steps, len(ppo.curve)
        (256, 1)
        >>> ppo.save("cartpole.npz")
        >>> PPO.load("cartpole.npz").steps
        256
    """

    def __init__(
        self,
        env_id: str,
        *,
        seed: int = 0,
        env_kwargs: Options = None,
        **settings: Any,
    ) -> None:
        """Make the lanes and draw the network.

        Args:
            env_id: An environment with a Discrete or Box action space.
            seed: Decides everything: lane i is reset with seed + i.
            env_kwargs: Arguments of the environment; JSON can hold them.
            **settings: Values that replace the defaults of the id; see `Settings`.

        Raises:
            UnsupportedMode: If the action space is another one.
            InvalidArgument: If a setting is out of range.
            ArgumentTypeError: If a setting has another type.
        """
        self.env_id = env_id
        self.env_kwargs = env_kwargs or {}
        self.settings = replace(Settings(**DEFAULTS.get(env_id, {})), **settings)
        options = {"autoreset_mode": "SameStep", "episode_statistics": True}
        num_envs = self.settings.num_envs
        self.envs: VectorEnv = gymcore.make_vec(
            env_id, num_envs=num_envs, vector_kwargs=options, **self.env_kwargs
        )
        self._space = self.envs.single_observation_space
        actions = self.envs.single_action_space
        self._first_action = 0
        if isinstance(actions, Discrete):
            self._first_action, outputs = int(actions.start), int(actions.n)
        elif isinstance(actions, Box) and len(actions.shape) == 1:
            outputs = actions.shape[0]
        else:
            self.envs.close()
            raise UnsupportedMode(f"{env_id}: expected Discrete or Box actions, got {actions}")
        if self._space.shape is None:
            self.envs = FlattenObservation(self.envs)
        self._random = np.random.default_rng(seed)
        size = gymcore.spaces.flatdim(self._space)
        continuous = isinstance(actions, Box)
        self._network = Network(size, self.settings.hidden, outputs, continuous, self._random)
        self._adam = np.zeros((2, len(self._network.parameters)), np.float32)
        self._adam_steps = 0
        self._seen, self._gains = Moments(size), Moments(1)
        self._gain = np.zeros(num_envs)  # discounted sums of rewards
        self.steps = 0
        self.curve: list[tuple[int, int, float]] = []
        self.recent: deque[float] = deque(maxlen=WINDOW)
        self._collector = RolloutCollector(
            self.envs, self._sample, self.settings.num_steps, seed=seed
        )

    @property
    def mean_return(self) -> float:
        """Mean return of the last 100 episodes; nan before there are as many."""
        return float(np.mean(self.recent)) if len(self.recent) == WINDOW else float("nan")

    def close(self) -> None:
        """Close the environment."""
        self.envs.close()

    # --- acting ----------------------------------------------------------------------------------

    def act(self, observations: object) -> Array:
        """Return the most probable actions [n, ...] for a batch of the environment's observations.

        Raises:
            InvalidArgument: Observations of another space.
        """
        _, outputs, _ = self._network.forward(self._inputs(observations, self._space))
        actions = self.envs.single_action_space
        if isinstance(actions, Box):
            return np.clip(outputs, actions.low, actions.high)
        return outputs.argmax(axis=1) + self._first_action

    def _inputs(self, observations: object, space: Space | None = None) -> Array:
        """Return the network's inputs [n, size] for a batch of observations."""
        rows = flatten_batch(space or self.envs.single_observation_space, observations)
        if self.settings.normalize:
            rows = np.clip((rows - self._seen.values[0]) / self._seen.deviation, -10, 10)
        return rows.astype(np.float32, copy=False)

    def _sample(self, observations: Array) -> tuple[Array, Array, Array]:
        """Return actions, log-probabilities and values: the collector's policy."""
        _, outputs, values = self._network.forward(self._inputs(observations))
        log_std = self._network.log_std
        if log_std is None:
            log_probs = _log_softmax(outputs)
            # The largest of the log-probabilities plus Gumbel noise is drawn with the probability.
            draws = self._random.standard_exponential(outputs.shape, np.float32)
            noise = np.log(np.maximum(draws, np.finfo(np.float32).tiny))  # a draw may be 0
            actions = (log_probs - noise).argmax(axis=1)
            return actions + self._first_action, log_probs[np.arange(len(actions)), actions], values
        noise = self._random.standard_normal(outputs.shape, np.float32)
        return outputs + noise * np.exp(log_std), _log_normal(noise, log_std), values

    # --- learning --------------------------------------------------------------------------------

    def update(self) -> None:
        """Collect one rollout and learn from it."""
        settings, collector = self.settings, self._collector
        rollout = collector.collect()
        if settings.normalize:
            self._scale_rewards(rollout)
        advantages, returns = collector.advantages(settings.gamma, settings.gae_lambda)
        actions = rollout.actions - self._first_action if self._first_action else rollout.actions
        columns = [
            array.reshape(-1, *array.shape[2:])
            for array in (rollout.observations, actions, rollout.log_probs, advantages, returns)
        ]
        for _ in range(settings.epochs):
            order = self._random.permutation(rollout.rewards.size)
            for lo in range(0, len(order), settings.minibatch):
                self._learn(*(column[order[lo : lo + settings.minibatch]] for column in columns))
        if settings.normalize:
            self._seen.add(flatten_batch(self.envs.single_observation_space, columns[0]))
        self.steps += rollout.rewards.size
        self.recent.extend(collector.episode_returns)
        if ended := len(collector.episode_returns):
            self.curve.append((self.steps, ended, float(np.mean(collector.episode_returns))))

    def _scale_rewards(self, rollout: Rollout) -> None:
        """Divide the rewards by the standard deviation of their discounted sums so far."""
        sums = np.empty_like(rollout.rewards)
        for t, rewards in enumerate(rollout.rewards):
            self._gain = sums[t] = self._gain * self.settings.gamma + rewards
            self._gain = self._gain * ~(rollout.terminated[t] | rollout.truncated[t])
        self._gains.add(sums.reshape(-1, 1))
        np.divide(rollout.rewards, self._gains.deviation, out=rollout.rewards)

    def _learn(
        self,
        observations: Array,
        actions: Array,
        old_log_probs: Array,
        advantages: Array,
        returns: Array,
    ) -> None:
        """Follow the gradient of the loss of a minibatch of n steps."""
        settings, network, n = self.settings, self._network, np.float32(len(actions))
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        layers, outputs, values = network.forward(self._inputs(observations))
        log_std = network.log_std
        if log_std is None:
            every, rows = _log_softmax(outputs), np.arange(len(actions))
            log_probs = every[rows, actions]
        else:
            noise = (actions - outputs) * np.exp(-log_std)
            log_probs = _log_normal(noise, log_std)
        ratio = np.exp(log_probs - old_log_probs)
        # No gradient from where the policy has moved far enough.
        far = np.where(advantages > 0, ratio > 1 + settings.clip, ratio < 1 - settings.clip)
        slope = np.where(far, 0, -advantages * ratio / n)[:, None]  # by the log-probability
        if log_std is None:
            probs = np.exp(every)
            by_output = -slope * probs
            by_output[rows, actions] += slope[:, 0]
            if settings.entropy:
                entropy = -(probs * every).sum(axis=1, keepdims=True)
                by_output += settings.entropy / n * probs * (every + entropy)
        else:
            by_output = slope * noise * np.exp(-log_std)
            network.log_std_slope[...] = (slope * (noise**2 - 1)).sum(axis=0) - settings.entropy
        network.backward(layers, by_output, 2 * settings.value / n * (values - returns))
        self._descend()

    def _descend(self) -> None:
        """Take a step of Adam (Kingma and Ba 2015) with the gradients, scaled down if too long."""
        gradients, (mean, square) = self._network.gradients, self._adam
        length = float(np.sqrt(gradients @ gradients))
        if length > self.settings.max_gradient:
            gradients *= self.settings.max_gradient / length
        self._adam_steps += 1
        mean += 0.1 * (gradients - mean)
        square += 0.001 * (gradients * gradients - square)
        rate = self.settings.learning_rate / (1 - 0.9**self._adam_steps)
        root = np.sqrt(square / (1 - 0.999**self._adam_steps))
        self._network.parameters -= rate * mean / (root + 1e-5)

    # --- checkpoints -----------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write a checkpoint, which `load` continues from: an .npz file without pickles.

        With the native engine the lanes are saved too; with other engines they begin new episodes.
        Without `overwrite`, an existing file raises `FileExistsError`.
        """
        metadata = {
            "version": _VERSION,
            "id": self.env_id,
            "env_kwargs": self.env_kwargs,
            "settings": asdict(self.settings),
            "steps": self.steps,
            "adam_steps": self._adam_steps,
            "random": self._random.bit_generator.state,
        }
        arrays = {
            **self._arrays(),
            "recent": np.array(self.recent),
            "curve": np.array(self.curve).reshape(-1, 3),
            "metadata": np.array(json.dumps(metadata)),
        }
        engine: Any = self.envs.unwrapped
        if engine.state_is_array:
            arrays |= {"lanes": engine.get_state(), "gain": self._gain}
            arrays["observations"] = self._collector.next_observations
        write_npz(path, arrays, overwrite=overwrite)

    def _arrays(self) -> dict[str, Array]:
        """Return the arrays of fixed shapes, which `load` writes into."""
        moments = (self._seen, self._gains)
        return {
            "parameters": self._network.parameters,
            "adam": self._adam,
            **{f"moments_{k}": each.values for k, each in enumerate(moments)},
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str], **settings: Any) -> PPO:
        """Return the agent of a checkpoint; with the native engine, training continues bit for bit.

        Args:
            path: The checkpoint.
            **settings: Values that replace those of the checkpoint; see `Settings`. `hidden` cannot
                be changed. Another number of lanes begins new episodes.

        Raises:
            InvalidArgument: If the file is not a checkpoint, or one of another version; if a
                setting is out of range.
            ArgumentTypeError: If a setting has another type.
        """
        with _checkpoint_errors(path):
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
            metadata = json.loads(str(arrays["metadata"]))
            if metadata["version"] != _VERSION:
                raise ValueError(f"expected version {_VERSION}, got {metadata['version']}")
            stored = Settings(**metadata["settings"])
        changed = replace(stored, **settings)
        if changed.hidden != stored.hidden:
            raise InvalidArgument(
                f"hidden: expected {stored.hidden} as in the checkpoint, got {changed.hidden}"
            )
        with _checkpoint_errors(path):
            steps, kwargs = int(metadata["steps"]), metadata.get("env_kwargs")
            ppo = cls(metadata["id"], seed=steps, env_kwargs=kwargs, **asdict(changed))
            ppo._restore(arrays, metadata)
        return ppo

    def _restore(self, arrays: dict[str, Array], metadata: Info) -> None:
        for name, array in self._arrays().items():
            if arrays[name].shape != array.shape:
                raise ValueError(f"{name}: expected {array.shape}, got {arrays[name].shape}")
            array[...] = arrays[name]
        self.steps, self._adam_steps = metadata["steps"], metadata["adam_steps"]
        self._random.bit_generator.state = metadata["random"]
        self.recent.extend(arrays["recent"].tolist())
        self.curve = [(int(at), int(count), mean) for at, count, mean in arrays["curve"].tolist()]
        engine: Any = self.envs.unwrapped
        lanes = arrays.get("lanes", np.empty(0))
        if engine.state_is_array and len(lanes) == self.envs.num_envs:
            self._gain = arrays["gain"]
            engine.set_state(lanes)
            self._collector.next_observations[...] = arrays["observations"]


@contextmanager
def _checkpoint_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise what a file that is not a checkpoint causes as an `InvalidArgument`."""
    try:
        yield
    except (BadZipFile, EOFError, KeyError, TypeError, ValueError) as problem:
        raise InvalidArgument(f"{path}: not a checkpoint of gymcore train: {problem}") from None


def _log_softmax(outputs: Array) -> Array:
    shifted = outputs - outputs.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def _log_normal(noise: Array, log_std: Array) -> Array:
    """Return log-probabilities [n] of standard normal noise [n, size] that was scaled."""
    return -0.5 * (noise * noise).sum(axis=1) - (log_std + _HALF_LOG_TAU).sum()
