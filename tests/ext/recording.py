"""Recording what a batch does for some steps, as bytes that must not depend on how it is run."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.ext.lanes import facts, make_batch

NEXT_STEP, SAME_STEP = 0, 1

# What is recorded a step [T, num_envs, ...], and the memory of lanes afterwards [num_envs, ...].
Recording = dict[str, npt.NDArray[Any]]


def record(
    name: str,
    actions: npt.NDArray[Any],
    *,
    seed: int = 0,
    method: str = "rollout",
    parameters: npt.NDArray[np.float64] | None = None,
    mode: int = NEXT_STEP,
    **options: Any,
) -> Recording:
    """Seed, reset and step a batch.

    Args:
        name: the kernel.
        actions: [T, num_envs, ...].
        seed: of lane 0; the others count on.
        method: "step", "step_into" or "rollout".
        parameters: [parameter_count, 1 or num_envs]; None for the defaults.
        mode: of autoreset.
        **options: of the batch.
    """
    steps, num_envs = actions.shape[:2]
    size = facts(name)["observation_size"]
    batch = make_batch(name, num_envs, mode=mode, **options)
    if parameters is not None:
        batch.set_parameters(np.ascontiguousarray(parameters))
    batch.seed(seed, 0, num_envs)
    first = batch.reset()
    shape = (steps, num_envs)
    observations = np.empty((*shape, size), np.float32)
    finals = np.zeros((*shape, size), np.float32)
    rewards, terminated, truncated = np.empty(shape), np.empty(shape, bool), np.empty(shape, bool)
    if method == "rollout":
        batch.rollout(
            actions,
            observations,
            rewards,
            terminated,
            truncated,
            finals if mode == SAME_STEP else None,
        )
    for t in range(steps if method != "rollout" else 0):
        if method == "step":
            observations[t], rewards[t], terminated[t], truncated[t], _ = batch.step(actions[t])
        else:
            batch.step_into(actions[t], observations[t], rewards[t], terminated[t], truncated[t])
        if mode == SAME_STEP:
            finals[t] = batch.arrays.final_observations
    ended, elapsed, returns = batch.view_lifecycle()
    memory = [batch.view_state().T, batch.view_random(), ended, elapsed, returns]
    names = ("state", "random", "ended", "elapsed", "returns")
    result = {
        "first": first,
        "observations": observations,
        "rewards": rewards,
        "terminated": terminated,
        "truncated": truncated,
        "finals": finals,
        **{name: array.copy() for name, array in zip(names, memory, strict=True)},
    }
    batch.close()
    return result


def lanes_of(recording: Recording, lo: int, hi: int) -> Recording:
    """The part of a recording that lanes [lo, hi) have."""
    by_step = ("observations", "rewards", "terminated", "truncated", "finals")
    return {
        name: array[:, lo:hi] if name in by_step else array[lo:hi]
        for name, array in recording.items()
    }


def assert_same_bytes(one: Recording, other: Recording) -> None:
    """Every array has the same bytes; says which one has not, and where."""
    assert one.keys() == other.keys()
    for name, array in one.items():
        expected = np.ascontiguousarray(other[name])
        if np.ascontiguousarray(array).tobytes() != expected.tobytes():
            where = np.argwhere(array != expected)
            raise AssertionError(f"{name} differ at {where[:3].tolist()} and {len(where)} places")
