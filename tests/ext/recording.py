"""Recordings of some steps of a batch, as bytes that must not depend on how it is run."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.ext.lanes import facts, make_batch

NEXT_STEP, SAME_STEP = 0, 1

# Results of each step [T, num_envs, ...], and the final memory of lanes [num_envs, ...].
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
        name: Kernel name.
        actions: [T, num_envs, ...].
        seed: Seed of lane 0; the other lanes count up from it.
        method: "step", "step_into" or "rollout".
        parameters: [parameter_count, 1 or num_envs]; None for the defaults.
        mode: Autoreset mode.
        **options: Options of the batch.
    """
    steps, num_envs = actions.shape[:2]
    parts = facts(name)["observation_parts"]
    dtype, shape_of_part = parts[0]
    size = len(parts) if dtype is np.int64 else shape_of_part[0]
    batch = make_batch(name, num_envs, mode=mode, **options)
    if parameters is not None:
        batch.set_parameters(np.ascontiguousarray(parameters))
    batch.seed(seed, 0, num_envs)
    first, _ = batch.reset()
    shape = (steps, num_envs)
    # Integers of an observation are separate arrays; here they are columns of one.
    if dtype is np.int64:
        observations, finals = np.empty((size, *shape), dtype), np.zeros((size, *shape), dtype)
    else:
        observations = np.empty((1, *shape, size), dtype)
        finals = np.zeros((1, *shape, size), dtype)
    infos: dict[str, list[Any]] = {}
    rewards, terminated, truncated = np.empty(shape), np.empty(shape, bool), np.empty(shape, bool)
    if method == "rollout":
        batch.rollout(
            actions,
            as_given(observations),
            rewards,
            terminated,
            truncated,
            as_given(finals) if mode == SAME_STEP else None,
        )
    for t in range(steps if method != "rollout" else 0):
        if method == "step":
            step = batch.step(actions[t])
            observations[:, t], rewards[t], terminated[t], truncated[t] = step[:4]
            reported = step[4]
        else:
            row = as_given(observations[:, t])
            reported = batch.bind_step(actions[t], row, rewards[t], terminated[t], truncated[t])()
        if "final_obs" in reported:
            last, ended = reported["final_obs"], reported["_final_obs"]
            if dtype is np.int64:
                finals[:, t, ended] = np.array(last[ended].tolist(), dtype).reshape(-1, size).T
            else:
                finals[0, t, ended] = last[ended]
        for key, array in reported.items():
            if "final" not in key and "episode" not in key:
                infos.setdefault(key, []).append(array.copy())
    ended, elapsed, returns = batch.view_lifecycle()
    memory = [batch.view_state().T, batch.view_random(), ended, elapsed, returns]
    names = ("state", "random", "ended", "elapsed", "returns")
    result = {
        "first": np.stack(first, axis=-1) if isinstance(first, tuple) else first,
        "observations": np.concatenate([*observations[..., None]], axis=-1).reshape(*shape, size),
        "rewards": rewards,
        "terminated": terminated,
        "truncated": truncated,
        "finals": np.concatenate([*finals[..., None]], axis=-1).reshape(*shape, size),
        **{f"info {key}": np.stack(values) for key, values in infos.items()},
        **{name: array.copy() for name, array in zip(names, memory, strict=True)},
    }
    batch.close()
    return result


def as_given(parts: npt.NDArray[Any]) -> Any:
    """Return parts [size, ...] in the form that a batch takes: an array, or a tuple of several."""
    return parts[0] if len(parts) == 1 else tuple(parts)


def lanes_of(recording: Recording, lo: int, hi: int) -> Recording:
    """Return the part of a recording for lanes [lo, hi)."""
    by_step = ("observations", "rewards", "terminated", "truncated", "finals")
    return {
        name: array[:, lo:hi] if name in by_step or name.startswith("info") else array[lo:hi]
        for name, array in recording.items()
    }


def has_infos(recording: Recording) -> bool:
    return any(name.startswith("info") for name in recording)


def without_infos(recording: Recording) -> Recording:
    return {name: array for name, array in recording.items() if not name.startswith("info")}


def assert_same_bytes(one: Recording, other: Recording) -> None:
    """Assert equal bytes in every array; errors say which and where. A rollout has no infos."""
    if not (has_infos(one) and has_infos(other)):
        one, other = without_infos(one), without_infos(other)
    assert one.keys() == other.keys()
    for name, array in one.items():
        expected = np.ascontiguousarray(other[name])
        if np.ascontiguousarray(array).tobytes() != expected.tobytes():
            where = np.argwhere(array != expected)
            raise AssertionError(f"{name} differ at {where[:3].tolist()} and {len(where)} places")
