"""TorchRL: a batch of environments as one `EnvBase`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore import spaces
from gymcore.base.optional_packages import needs
from gymcore.core import Info
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

__all__ = ["TorchRLEnv", "TorchRLWorlds", "make_env"]


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
    envs = make_vec(env_id, num_envs, vector_kwargs=options, **kwargs)
    return TorchRLEnv(envs) if envs.agents is None else TorchRLWorlds(envs)


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
        mode = AutoresetMode(envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        if mode is not AutoresetMode.DISABLED:
            raise UnsupportedMode(f"envs: expected autoreset mode DISABLED, got {mode}")
        n = envs.num_envs
        super().__init__(device="cpu", batch_size=torch.Size([n]))
        self.envs = envs
        self._seed: int | None = None
        self._set_specs(n)
        flag = data.Binary(n=1, shape=(n, 1), dtype=torch.bool)
        self.done_spec = data.Composite(
            done=flag, terminated=flag.clone(), truncated=flag.clone(), shape=(n,)
        )

    def _set_specs(self, n: int) -> None:
        """Set the specs of observations, actions and rewards of `n` environments."""
        check_single_agents(self.envs)
        self.observation_spec = data.Composite(
            observation=to_spec(space_of_numbers(self.envs.single_observation_space), n), shape=(n,)
        )
        self.action_spec = to_spec(self.envs.single_action_space, n)
        self.reward_spec = data.Unbounded(shape=(n, 1), dtype=torch.float32)

    def _reset(self, tensordict: TensorDictBase | None, **kwargs: object) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        options = {} if mask is None else {"reset_mask": mask.reshape(-1).numpy()}
        seed, self._seed = self._seed, None
        observations, infos = self.envs.reset(seed=seed, options=options)
        no_flags = np.zeros(self.envs.num_envs, np.bool_)
        return self._tensors(observations, no_flags, no_flags, infos)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        actions = tensordict["action"].numpy()
        observations, rewards, terminated, truncated, infos = self.envs.step(actions)
        result = self._tensors(observations, terminated, truncated, infos)
        result["reward"] = torch.from_numpy(rewards.astype(np.float32)).unsqueeze(-1)
        return result

    def _tensors(
        self, observations: Any, terminated: Array, truncated: Array, infos: Info
    ) -> TensorDictBase:
        flags = {"done": terminated | truncated, "terminated": terminated, "truncated": truncated}
        return TensorDict(
            {
                **self._observed(observations, infos),
                **{name: torch.from_numpy(flag).unsqueeze(-1) for name, flag in flags.items()},
            },
            batch_size=self.batch_size,
        )

    def _observed(self, observations: Any, infos: Info) -> dict[str, object]:
        observations = numbers_of_texts(self.envs.single_observation_space, observations)
        return {"observation": _tensors(observations, self.batch_size)}

    def _set_seed(self, seed: int | None) -> None:
        """Seed environment `i` with `seed + i` at the next reset."""
        self._seed = seed

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Close the environments."""
        self.envs.close()
        super().close(raise_if_closed=raise_if_closed)


class TorchRLWorlds(TorchRLEnv):
    """Worlds of several agents as an environment of batch size `[num_envs]`.

    Each group of agents that share spaces has an entry of shape [num_envs, agents of the group],
    with `"observation"`, `"action"`, `"reward"` float32 [..., 1], and `"mask"` bool, which is False
    for agents that ended before their world. The only group is called `"agents"`. `"done"`,
    `"terminated"` and `"truncated"` are those of the world.

    Examples:
        >>> env = make_env("mpe/simple_spread_v3", 8)
        >>> rollout = env.rollout(5)
        >>> rollout["agents", "observation"].shape, rollout["next", "agents", "reward"].shape
        (torch.Size([8, 5, 3, 18]), torch.Size([8, 5, 3, 1]))
        >>> env.close()
    """

    def _set_specs(self, n: int) -> None:
        agents = self.envs.agents
        if agents is None:
            raise UnsupportedMode(f"envs: expected worlds of several agents, got {self.envs}")
        # The place of each group among the agents.
        self._groups: dict[str, slice] = {}
        observed, acted, rewarded = {}, {}, {}
        for group, names in (agents.groups or {"agents": agents.names}).items():
            first, lead = agents.names.index(names[0]), (n, len(names))
            self._groups[group] = slice(first, first + len(names))
            space = agents.observation_space(names[0])
            observed[group] = data.Composite(
                observation=to_spec(space, *lead),
                mask=data.Binary(shape=lead, dtype=torch.bool),
                shape=lead,
            )
            acted[group] = data.Composite(
                action=to_spec(agents.action_space(names[0]), *lead), shape=lead
            )
            reward = data.Unbounded(shape=(*lead, 1), dtype=torch.float32)
            rewarded[group] = data.Composite(reward=reward, shape=lead)
        self.observation_spec = data.Composite(observed, shape=(n,))
        self.action_spec = data.Composite(acted, shape=(n,))
        self.reward_spec = data.Composite(rewarded, shape=(n,))

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        actions = {group: tensordict[group, "action"].numpy() for group in self._groups}
        grouped = self.envs.agents is not None and self.envs.agents.groups is not None
        results = self.envs.step(actions if grouped else actions["agents"])
        observations, rewards, terminated, truncated, infos = results
        ended = ~(infos["active"] & ~(terminated | truncated)).any(axis=1)
        terminated, truncated = (ended & flag.any(axis=1) for flag in (terminated, truncated))
        result = self._tensors(observations, terminated, truncated, infos)
        for group, places in self._groups.items():
            numbers = torch.from_numpy(rewards[:, places].astype(np.float32))
            result[group, "reward"] = numbers.unsqueeze(-1)
        return result

    def _observed(self, observations: Any, infos: Info) -> dict[str, object]:
        n = self.envs.num_envs
        return {
            group: TensorDict(
                {
                    "observation": _tensors(
                        observations[group] if isinstance(observations, dict) else observations,
                        torch.Size([n, places.stop - places.start]),
                    ),
                    "mask": torch.from_numpy(np.ascontiguousarray(infos["active"][:, places])),
                },
                batch_size=[n, places.stop - places.start],
            )
            for group, places in self._groups.items()
        }


def to_spec(space: spaces.Space, *num_envs: int) -> data.TensorSpec:
    """Return the spec of a batch of elements of a space, whose first axes have these lengths.

    Raises:
        UnsupportedMode: If no spec corresponds to the space.
    """
    n = num_envs
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        specs = {str(key): to_spec(part, *n) for key, part in space._items()}
        return data.Composite(specs, shape=n)
    shape = (*n, *(space.shape or ()))
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
