"""Environments over JAX functions, compared with Gymnasium's."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore

IDS = (
    "phys2d/CartPole-v0",
    "phys2d/CartPole-v1",
    "phys2d/Pendulum-v0",
    "tabular/Blackjack-v0",
    "tabular/CliffWalking-v0",
)


def modules(path: str) -> tuple[Any, Any]:
    """Return our module and Gymnasium's at a path such as "phys2d.cartpole"; the latter needs flax.

    Skips the caller if a package is missing.
    """
    for needed in ("jax", "flax"):
        pytest.importorskip(needed)
    return tuple(importlib.import_module(f"{gym}.envs.{path}") for gym in ("gymcore", "gymnasium"))


def same(ours: Any, theirs: Any, exactly: bool = True) -> None:
    """Check that values, shapes and dtypes agree, but not whether the types are weak."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            same(ours[key], value, exactly)
    elif isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other, exactly)
    else:
        one, other = np.asarray(ours), np.asarray(theirs)
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        if exactly:
            np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


def same_signatures(ours: type, theirs: type) -> None:
    """Check that ours has their methods, with the same parameters and defaults of the same name."""

    def parameters(function: Any) -> list[tuple[Any, ...]]:
        return [
            (one.name, one.kind, getattr(one.default, "__name__", one.default))
            for one in inspect.signature(function).parameters.values()
        ]

    names = [name for name, value in vars(theirs).items() if inspect.isfunction(value)]
    assert names
    for name in names:
        assert parameters(getattr(ours, name)) == parameters(getattr(theirs, name)), name


def same_spaces(ours: Any, theirs: Any) -> None:
    for name in ("observation_space", "action_space"):
        one, other = getattr(ours, name), getattr(theirs, name)
        assert repr(one) == repr(other)
        assert one.dtype == other.dtype


def step_both(env_id: str, actions: Any, *, exactly: bool = True, **kwargs: Any) -> int:
    """Step both environments of an id through their own episodes; return how many ended."""
    envs = [gym.make(env_id, **kwargs) for gym in (gymcore, gymnasium)]
    ended = 0
    same(*(env.reset(seed=11) for env in envs))
    for action in actions:
        ours, theirs = (env.step(action) for env in envs)
        same(ours, theirs, exactly)
        assert [type(one) for one in ours[1:4]] == [float, bool, bool]
        if ours[2] or ours[3]:
            ended += 1
            seed = None if ended % 3 else ended
            same(*(env.reset(seed=seed, options={}) for env in envs))
    same(*(env.unwrapped.rng for env in envs))
    for env in envs:
        env.close()
    return ended
