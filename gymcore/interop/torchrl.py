"""TorchRL: a batch of environments as one `EnvBase`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore import spaces
from gymcore.base.optional_packages import needs
from gymcore.envs.making import make_vec
from gymcore.error import UnsupportedMode
from gymcore.spaces.space import Array
from gymcore.spaces.text_numbers import numbers_of_texts, space_of_numbers
from gymcore.vector import AutoresetMode, VectorEnv
from gymcore.vector.agents import check_single_agents

with needs("torchrl"):
    import torch
    from tensordict import TensorDict, TensorDictBase
    from torchrl import data
    from torchrl.envs import EnvBase

__all__ = ["TorchRLEnv", "make_env"]


def make_env(env_id: str, num_envs: int = 1, **kwargs: Any) -> TorchRLEnv:
    """Make a batch of environments for TorchRL.

    Args:
        env_id: Id of the environment.
        num_envs: Number of environments.
        **kwargs: Arguments of `gymcore.make_vec`.

    Examples:
        >>> env = make_env("CartPole-v1", 8)
        >>> env.rollout(5, break_when_any_done=False)["observation"].shape
        torch.Size([8, 5, 4])
        >>> env.close()
    """
    options = {**kwargs.pop("vector_kwargs", {}), "autoreset_mode": AutoresetMode.DISABLED}
    return TorchRLEnv(make_vec(env_id, num_envs, vector_kwargs=options, **kwargs))


class TorchRLEnv(EnvBase):
    """A vector environment without autoreset as an environment of batch size `[num_envs]`.

    TorchRL resets ended environments with a `"_reset"` mask. Observations, which may be nested, are
    under `"observation"`, with texts as indices of characters (`flatten` in gymcore.spaces.utils);
    rewards are float32; discrete actions are indices, not one-hot. CPU tensors share
    the memory of the arrays returned by the environment.

    Examples:
        >>> from gymcore import make_vec
        >>> options = {"autoreset_mode": "Disabled"}
        >>> env = TorchRLEnv(make_vec("CartPole-v1", num_envs=8, vector_kwargs=options))
        >>> env.reset()["observation"].shape
        torch.Size([8, 4])
        >>> env.close()
    """

    def __init__(self, envs: VectorEnv) -> None:
        """Wrap `envs`, whose autoreset mode must be DISABLED (else `UnsupportedMode`)."""
        check_single_agents(envs)
        mode = AutoresetMode(envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        if mode is not AutoresetMode.DISABLED:
            raise UnsupportedMode(f"envs: expected autoreset mode DISABLED, got {mode}")
        n = envs.num_envs
        super().__init__(device="cpu", batch_size=torch.Size([n]))
        self.envs = envs
        self._seed: int | None = None
        self.observation_spec = data.Composite(
            observation=to_spec(space_of_numbers(envs.single_observation_space), n), shape=(n,)
        )
        self.action_spec = to_spec(envs.single_action_space, n)
        self.reward_spec = data.Unbounded(shape=(n, 1), dtype=torch.float32)
        flag = data.Binary(n=1, shape=(n, 1), dtype=torch.bool)
        self.done_spec = data.Composite(
            done=flag, terminated=flag.clone(), truncated=flag.clone(), shape=(n,)
        )

    def _reset(self, tensordict: TensorDictBase | None, **kwargs: object) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        options = {} if mask is None else {"reset_mask": mask.reshape(-1).numpy()}
        seed, self._seed = self._seed, None
        observations, _ = self.envs.reset(seed=seed, options=options)
        no_flags = np.zeros(self.envs.num_envs, np.bool_)
        return self._tensors(observations, no_flags, no_flags)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        actions = tensordict["action"].numpy()
        observations, rewards, terminated, truncated, _ = self.envs.step(actions)
        result = self._tensors(observations, terminated, truncated)
        result["reward"] = torch.from_numpy(rewards.astype(np.float32)).unsqueeze(-1)
        return result

    def _tensors(self, observations: object, terminated: Array, truncated: Array) -> TensorDictBase:
        observations = numbers_of_texts(self.envs.single_observation_space, observations)
        flags = {"done": terminated | truncated, "terminated": terminated, "truncated": truncated}
        return TensorDict(
            {
                "observation": _tensors(observations, self.batch_size),
                **{name: torch.from_numpy(flag).unsqueeze(-1) for name, flag in flags.items()},
            },
            batch_size=self.batch_size,
        )

    def _set_seed(self, seed: int | None) -> None:
        """Seed environment `i` with `seed + i` at the next reset."""
        self._seed = seed

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close the environments."""
        self.envs.close()
        super().close(raise_if_closed=raise_if_closed)


def to_spec(space: spaces.Space, num_envs: int) -> data.TensorSpec:
    """Return the spec of a batch of elements of a space.

    Raises:
        UnsupportedMode: If no spec corresponds to the space.
    """
    n = num_envs
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        specs = {str(key): to_spec(part, n) for key, part in space._items()}
        return data.Composite(specs, shape=(n,))
    shape = (n, *(space.shape or ()))
    if isinstance(space, spaces.Discrete) and space.start == 0:
        return data.Categorical(int(space.n), shape=shape, dtype=_dtype(space))
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1 and not space.start.any():
        return data.MultiCategorical(space.nvec.tolist(), shape=shape, dtype=_dtype(space))
    if isinstance(space, spaces.MultiBinary):
        return data.Binary(shape=shape, dtype=_dtype(space))
    if isinstance(space, spaces.Box) and space.is_bounded("both"):
        low, high = (torch.as_tensor(bound).expand(shape) for bound in (space.low, space.high))
        return data.Bounded(low, high, shape=shape, dtype=_dtype(space))
    if isinstance(space, spaces.Box):
        return data.Unbounded(shape=shape, dtype=_dtype(space))
    raise UnsupportedMode(f"space: TorchRL has no spec for {space}")


def _dtype(space: spaces.Space) -> torch.dtype:
    return torch.from_numpy(np.empty(0, space.dtype)).dtype


def _tensors(batch: object, batch_size: torch.Size) -> TensorDict | torch.Tensor:
    """Return a batch of observations as tensors that share its memory."""
    if isinstance(batch, (dict, tuple)):
        named = batch.items() if isinstance(batch, dict) else enumerate(batch)
        parts = {str(key): _tensors(part, batch_size) for key, part in named}
        return TensorDict(parts, batch_size=batch_size)
    return torch.from_numpy(batch)
