"""Policies of several kinds as functions of a batch of observations."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import argument_names
from gymcore.base.nested import map_leaves
from gymcore.error import ArgumentTypeError, InvalidArgument, UnsupportedMode
from gymcore.spaces import Box, Discrete, Space, flatdim

if TYPE_CHECKING:
    from torch import Tensor, nn

    from gymcore.learn.ppo import PPO

Begins: TypeAlias = npt.NDArray[np.bool_] | None
Act: TypeAlias = Callable[[object, Begins], object]
"""Function of observations [num_envs, ...], and of flags of the lanes whose episode begins.

The flags may be None, except for recurrent policies.
"""


class HasSpaces(Protocol):
    """A vector environment, or an object with its single spaces."""

    @property
    def single_observation_space(self) -> Space:
        """Space of one environment's observation."""

    @property
    def single_action_space(self) -> Space:
        """Space of one environment's action."""


def policy_function(policy: object, envs: HasSpaces) -> Act:
    """Return a function that chooses the actions of a policy; see `gymcore.learn.evaluate`.

    Args:
        policy: A policy of any kind that `evaluate` accepts.
        envs: A vector environment, or an object with its spaces.

    Raises:
        ArgumentTypeError: If `policy` is of no such kind.
        InvalidArgument: If a file is not a checkpoint, or one of an environment with other spaces.
        OSError: If a file cannot be read.
    """
    if isinstance(policy, (str, os.PathLike)):
        policy = _load(policy, envs)
    predict = getattr(policy, "predict", None)
    if callable(predict) and "episode_start" in (argument_names(predict) or ()):
        return _predict_function(predict)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(policy, torch.nn.Module):
        return _module_function(torch, policy, envs.single_action_space)
    function = policy if callable(policy) else getattr(policy, "act", None)
    if not callable(function):
        raise ArgumentTypeError(
            "policy: expected a function of observations, an agent with `act`, a checkpoint, a "
            f"torch module or a model of Stable-Baselines3, got {policy!r}"
        )
    return lambda observations, begins: function(observations)


def _load(path: str | os.PathLike[str], envs: HasSpaces) -> PPO:
    from gymcore.learn.ppo import PPO

    ppo = PPO.load(path, num_envs=1)
    ppo.close()
    for name in ("single_observation_space", "single_action_space"):
        trained, space = getattr(ppo.envs, name), getattr(envs, name)
        if flatdim(trained) != flatdim(space):
            raise InvalidArgument(
                f"{path}: trained on {ppo.env_id}, expected {name} {trained}, got {space}"
            )
    return ppo


def _predict_function(predict: Callable[..., tuple[object, object]]) -> Act:
    """Return a function that passes the states of a recurrent policy on to the next step."""
    state = None

    def act(observations: object, begins: Begins) -> object:
        nonlocal state
        actions, state = predict(observations, state, begins, deterministic=True)
        if state is not None and begins is None:
            raise UnsupportedMode("only evaluation supports recurrent policies")
        return actions

    return act


def _module_function(torch: ModuleType, module: nn.Module, space: Space) -> Act:
    """Return a function that calls a torch module in evaluation mode, without gradients."""
    floats = [parameter for parameter in module.parameters() if parameter.is_floating_point()]
    device = floats[0].device if floats else None

    def tensor(array: object) -> Tensor:
        result = torch.tensor(np.asarray(array), device=device)  # copy: the module may change it
        return result.to(floats[0].dtype) if floats and result.is_floating_point() else result

    def act(observations: object, begins: Begins) -> object:
        modes = [(part, part.training) for part in module.modules()]
        try:
            module.eval()
            with torch.no_grad():
                outputs = module(map_leaves(tensor, observations))
        finally:
            for part, training in modes:
                part.training = training
        if not isinstance(outputs, torch.Tensor):
            raise InvalidArgument(
                f"policy: expected a tensor from the module, got {type(outputs)}; pass a function "
                "that turns observations into actions"
            )
        actions: np.ndarray = outputs.cpu().numpy()
        if isinstance(space, Discrete) and actions.ndim == 2:
            return actions.argmax(axis=1) + int(space.start)
        return np.clip(actions, space.low, space.high) if isinstance(space, Box) else actions

    return act
