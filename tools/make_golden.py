"""Write tests/data/golden_rollouts.json: the results of classic control and toy text everywhere.

The file records the promise "same seed, same bytes on every machine": hashes of fixed rollouts of
every id of the two families. tests/ext/test_golden.py computes them again, on every processor. If a
hash changes, the environment's behavior changed, which needs a new version of its id: run
``python tools/make_golden.py`` for a new id, never to make a test pass.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import gymcore

PATH = Path(__file__).parent.parent / "tests" / "data" / "golden_rollouts.json"
LANES, STEPS, SEED = 33, 1050, 2**32 - 7  # lanes on both sides of a carry
IDS = (
    "CartPole-v0", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1",
    "Acrobot-v1", "FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v0", "CliffWalking-v1",
    "CliffWalkingSlippery-v1", "Taxi-v3", "Taxi-v4", "Blackjack-v1",
)  # fmt: skip
# Parameters that differ by lane in a second rollout: the values of the first and the last lane.
VARIED = {
    "CartPole-v1": ("length", 0.3, 0.9),
    "MountainCar-v0": ("gravity", 0.002, 0.003),
    "MountainCarContinuous-v0": ("power", 0.001, 0.002),
    "Pendulum-v1": ("g", 5.0, 12.0),
    "Acrobot-v1": ("LINK_MASS_2", 0.75, 1.25),
}


def actions_of(envs: Any, seed: int) -> npt.NDArray[Any]:
    """Return actions [STEPS, LANES, ...] from raw bits, which NumPy promises never to change.

    Lane i keeps each action for i + 1 steps: a car that pushes one way for long reaches its goal.
    """
    draws = np.random.PCG64(seed).random_raw((STEPS, LANES))
    steps, lanes = np.indices(draws.shape)
    draws = draws[steps // (lanes + 1), lanes]
    if not envs.single_action_space.shape:
        return (draws % np.uint64(envs.single_action_space.n)).astype(np.int64)
    # Multiples of 2^-22 in [-2, 2), past the bounds of MountainCarContinuous.
    fractions = (draws >> np.uint64(40)).astype(np.float32) / np.float32(2**22) - np.float32(2.0)
    return fractions[..., None]


def digest(values: npt.NDArray[Any] | tuple[npt.NDArray[Any], ...]) -> str:
    """Return the SHA-256 of an array, or of several in order, in little-endian bytes."""
    result = hashlib.sha256()
    for array in values if isinstance(values, tuple) else (values,):
        fixed = array.astype(array.dtype.newbyteorder("<"), copy=False)
        result.update(np.ascontiguousarray(fixed).tobytes())
    return result.hexdigest()


def hashes(env_id: str, autoreset_mode: str, varied: bool) -> dict[str, Any]:
    """Roll an environment out, and hash all results."""
    # The spec instead of the id: an id warns if it has a newer version.
    envs: Any = gymcore.make_vec(
        gymcore.registry[env_id], num_envs=LANES, vector_kwargs={"autoreset_mode": autoreset_mode}
    )
    if varied:
        name, low, high = VARIED[env_id]
        envs.set_attr(name, [low + (high - low) * lane / 32 for lane in range(LANES)])
    first, _ = envs.reset(seed=SEED)
    rollout = envs.rollout(actions_of(envs, 1), final_observations=autoreset_mode == "SameStep")
    state = envs.get_state()
    envs.close()
    result: dict[str, Any] = {
        "goals_or_failures": int(rollout.terminated.sum()),
        "time_limits": int(rollout.truncated.sum()),
        "initial_observations": digest(first),
        "observations": digest(rollout.observations),
        "rewards": digest(rollout.rewards),
        "terminated": digest(rollout.terminated),
        "truncated": digest(rollout.truncated),
        "state": digest(state["state"]),
        "random": digest(state["random"]),
        # For a person who wants to see how far off a machine is.
        "last_state_of_lane_0": [number.hex() for number in state["state"][0].tolist()],
    }
    if autoreset_mode == "SameStep":
        result["final_observations"] = digest(rollout.final_observations)
    return result


def golden() -> dict[str, dict[str, Any]]:
    """Return the contents of the file."""
    result = {}
    for env_id in IDS:
        for mode in ("NextStep", "SameStep"):
            result[f"{env_id}, {mode}"] = hashes(env_id, mode, varied=False)
        if env_id in VARIED:
            result[f"{env_id}, SameStep, {VARIED[env_id][0]} varied"] = hashes(
                env_id, "SameStep", varied=True
            )
    return result


if __name__ == "__main__":
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(golden(), indent=1) + "\n")
    print(f"wrote {PATH}")
