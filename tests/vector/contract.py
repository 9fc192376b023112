"""Backends and environments of the contract tests, and how their episodes are made to end.

To add a backend, add it to `BACKENDS` and teach `make_envs` to make it.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gymcore as gym
from gymcore.vector import AutoresetMode
from tests.distributed import local_ray
from tests.vector.leaks import wait_until

# The engines: values of `vectorization_mode`, and "pipes", which is "async" without shared memory
# for observations.
BACKENDS = (
    "native",
    "sync",
    "async",
    "pipes",
    *(["ray"] if importlib.util.find_spec("ray") else []),
)
PYTHON_BACKENDS = BACKENDS[1:4]  # engines that step environments written in Python
ASYNC_BACKENDS = BACKENDS[2:4]  # engines with gymcore's own worker processes
RAY_SECTIONS = range(1, 11)  # sections of the contract that "ray" implements
NUM_WORKERS = 2

MODES = tuple(AutoresetMode)
NEXT_STEP, SAME_STEP, DISABLED = MODES

# For each id a state from which every action leads to an end state; Pendulum has none.
ENDING_STATES: dict[str, list[float] | None] = {
    "CartPole-v1": [3.0, 0.0, 0.0, 0.0],
    "MountainCar-v0": [0.6, 0.07],
    "MountainCarContinuous-v0": [0.6, 0.07],
    "Pendulum-v1": None,
    "Acrobot-v1": [np.pi, 0.0, 0.0, 0.0],
}
IDS = tuple(ENDING_STATES)
# Environments with random steps and integer observations: an integer, and a tuple of them.
ENDING_STATES |= {
    "FrozenLake-v1": [16 * 14 + 15, 0.0, 1.0],  # the hole
    # Three tens against a nine, which is open, and a ten; no ace. See physics/blackjack.pyx.
    "Blackjack-v1": [30.0, 0.0, 0xAAA, 19.0, 0.0, 0x9A, 9.0, 0.0, 0.0],
}
TOY_IDS = ("FrozenLake-v1", "Blackjack-v1")
# The console's memory in a game of Seaquest that ends with the next frame.
ATARI_ID = "ALE/Seaquest-v5"
_MEMORY = bytes.fromhex(
    "00c0e3000f00ff1aaf9018aa84000c063286d4fd00fd56fdc0fd50fe00fe0000000000010000000000000000c8"
    "c8c8c800010203ffffff0000000003000000000000000000004c00000000656030200000000000000000000000"
    "000000000000010d00ffff003f0001000000000000000000000000000060070000f7d7fe88f6"
)
ENDING_STATES[ATARI_ID] = list(map(float, _MEMORY))
# CartPole written for gymcore.jit, here interpreted, and written in NumPy for whole batches.
JIT_ID, ARRAY_ID = "contract/Jit-v0", "contract/Arrays-v0"
ENDING_STATES |= {JIT_ID: [3.0, 0.0, 0.0, 0.0], ARRAY_ID: [3.0, 0.0, 0.0, 0.0]}
# The other families. Lanes whose `state` is empty end by their own rules or a time limit only.
TABLE_ID, DESCRIPTION_ID = "contract/Table-v0", "contract/Description-v0"
BABYAI_ID = "BabyAI-PickupLoc-v0"
# Tasks of the control suite, with observations in one array and in dicts.
CONTROL_IDS = ("dm_control/cartpole-balance-v0", "dm_control/point_mass-easy-v0")
COMPILED_ID = "contract/Compiled-v0"  # JIT_ID, compiled by Numba
COMPILED = importlib.util.find_spec("numba") is not None
ENDING_STATES |= {
    "CliffWalking-v1": None,
    "Taxi-v4": None,
    TABLE_ID: [99.0, 0.0, 1.0],
    "LunarLander-v3": None,
    "LunarLanderContinuous-v3": None,
    "BipedalWalker-v3": None,
    "CarRacing-v3": None,
    "Hopper-v5": [0.0, 0.3, *[0.0] * 10],  # below the healthy height
    "InvertedPendulum-v5": [0.0, 1.0, 0.0, 0.0],
    DESCRIPTION_ID: None,
    "MiniGrid-DoorKey-5x5-v0": None,
    BABYAI_ID: None,
    **dict.fromkeys(CONTROL_IDS),
}
FAMILY_IDS = tuple(ENDING_STATES)[-14:]
if COMPILED:
    ENDING_STATES[COMPILED_ID] = ENDING_STATES[JIT_ID]
    FAMILY_IDS += (COMPILED_ID,)
TERMINATING_IDS = tuple(id for id, state in ENDING_STATES.items() if state is not None)

# Starting processes takes time: those engines run only some of the environments.
IDS_OF = {
    "native": (*IDS, *TOY_IDS, ATARI_ID, JIT_ID, ARRAY_ID, *FAMILY_IDS),
    "sync": (
        *("CartPole-v1", "MountainCarContinuous-v0", "Pendulum-v1", "Taxi-v4", "Hopper-v5"),
        *("LunarLander-v3", "MiniGrid-DoorKey-5x5-v0", JIT_ID),
    ),
    "async": ("CartPole-v1",),
    "pipes": ("MountainCarContinuous-v0",),
    "ray": ("CartPole-v1",),
}

# In tests over autoreset modes, engines with worker processes and these environments take turns in
# the modes: the code in which the modes differ is the same compiled code for all.
TAKING_TURNS = ("async", "pipes", "ray", *IDS[1:], *TOY_IDS, ATARI_ID, *FAMILY_IDS)

# Arguments of the environments. The lake is so wide that an episode ends only where a test makes
# it end, and has so many starting tiles that lanes differ.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "FrozenLake-v1": {
        "desc": [*["S" * 16] * 9, *["F" * 16] * 5, "F" * 15 + "H", "F" * 15 + "G"],
    },
    ATARI_ID: {"preset": "gymnasium", "repeat_action_probability": 0.25},
    JIT_ID: {"debug": True},
    CONTROL_IDS[0]: {"flat_observation": True},
}
# Infos of the environments themselves.
USUAL_INFOS = {
    "FrozenLake-v1": ("prob",),
    ATARI_ID: (
        *("lives", "frame_number", "episode_frame_number", "reward"),
        *("game_return", "game_length", "game_over"),
    ),
    "CliffWalking-v1": ("prob",),
    "Taxi-v4": ("prob", "action_mask"),
    TABLE_ID: ("prob",),
    "Hopper-v5": (
        *("x_position", "z_distance_from_origin", "x_velocity"),
        *("reward_forward", "reward_ctrl", "reward_survive"),
    ),
    "InvertedPendulum-v5": ("reward_survive",),
    DESCRIPTION_ID: ("place",),
    **dict.fromkeys(CONTROL_IDS, ("discount",)),
}
# Hands of Blackjack end when they exceed 21. With this seed, every lane can draw four cards without
# ending; lane 1 can draw three if it is reset after one draw, as in `stagger`.
LONG_HANDS = 5_388_172

# A physics parameter of each id, with a value that is not the default.
PARAMETERS = {
    "CartPole-v1": ("length", 0.9),
    "MountainCar-v0": ("gravity", 0.004),
    "MountainCarContinuous-v0": ("power", 0.003),
    "Pendulum-v1": ("g", 4.0),
    "Acrobot-v1": ("LINK_LENGTH_1", 1.5),
    "FrozenLake-v1": ("nrow", 16),  # read only
    "Blackjack-v1": ("natural", True),
    ATARI_ID: ("repeat_action_probability", 0.3),
    JIT_ID: ("length", 0.9),
    COMPILED_ID: ("length", 0.9),
    "Taxi-v4": ("fickle_passenger", True),
    "CliffWalking-v1": ("render_mode", None),  # read only
    TABLE_ID: ("P", None),  # read only
    "LunarLander-v3": ("gravity", -3.0),
    "LunarLanderContinuous-v3": ("gravity", -3.0),
    "BipedalWalker-v3": ("hardcore", True),
    "CarRacing-v3": ("lap_complete_percent", 0.3),
    "Hopper-v5": ("reset_noise_scale", 0.02),
    "InvertedPendulum-v5": ("reset_noise_scale", 0.02),
    DESCRIPTION_ID: ("stiffness", 0.5),
    "MiniGrid-DoorKey-5x5-v0": ("max_steps", 30),
    BABYAI_ID: ("max_steps", 30),
    **dict.fromkeys(CONTROL_IDS, ("render_mode", None)),  # read only
}

# Reset options of each id.
BOUNDS = {
    "CartPole-v1": {"low": -0.01, "high": 0.2},
    "MountainCar-v0": {"low": -0.9, "high": -0.8},
    "MountainCarContinuous-v0": {"low": -0.9, "high": -0.8},
    "Pendulum-v1": {"x_init": 0.5, "y_init": 0.1},
    "Acrobot-v1": {"low": -0.3, "high": 0.2},
    "FrozenLake-v1": {},
    "Blackjack-v1": {},
    ATARI_ID: {},
    JIT_ID: {},
    ARRAY_ID: {"low": -0.01, "high": 0.2},
    **{id: {} for id in FAMILY_IDS},
}
# The largest batches of slow environments.
LARGEST = {JIT_ID: 20, **dict.fromkeys(FAMILY_IDS, 70), "CarRacing-v3": 6, ATARI_ID: 3}


# A table in which state 99 ends under every action, and no other leads there.
_NEXT = [[[(0.5, 3 * n % 98, n / 7, False), (0.5, n + 1, 0.5, False)]] * 2 for n in range(98)]
_ENDS = [[(1.0, 0, 1.0, True)], [(1.0, 1, 3.0, True)]]
ARGUMENTS[TABLE_ID] = {
    "P": [*_NEXT, _NEXT[0], _ENDS],
    "initial_distribution": [*[1 / 99] * 99, 0.0],
}


def register_ids() -> None:
    """Register the ids that exist only for these tests."""
    if JIT_ID not in gym.registry:
        places = {
            JIT_ID: ("tests.jit.classes:CartPole", None),
            COMPILED_ID: ("tests.jit.classes:CartPole", None),
            ARRAY_ID: (
                "gymcore.envs.classic_control.cartpole:CartPoleEnv",
                "tests.vector.array_envs:ArrayCartPole",
            ),
            TABLE_ID: (
                "gymcore.envs.toy_text.tabular:TabularEnv",
                "gymcore.envs.toy_text.tabular:TabularVectorEnv",
            ),
            DESCRIPTION_ID: (
                "tests.vector.contract_descriptions:SliderEnv",
                "tests.vector.contract_descriptions:SliderVectorEnv",
            ),
        }
        for id, (entry_point, vector_entry_point) in places.items():
            gym.register(
                id, entry_point, max_episode_steps=500, vector_entry_point=vector_entry_point
            )


def make_envs(
    id: str,
    backend: str = "native",
    mode: AutoresetMode = NEXT_STEP,
    num_envs: int = 3,
    *,
    vector_kwargs: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Make a vector environment of the backend."""
    register_ids()
    if backend == "ray":
        local_ray.start()
    options = {"autoreset_mode": mode, **options_of(backend), **(vector_kwargs or {})}
    return gym.make_vec(
        id,
        num_envs=num_envs,
        vectorization_mode="async" if backend == "pipes" else backend,
        vector_kwargs=options,
        **ARGUMENTS.get(id, {}),
        **kwargs,
    )


def options_of(backend: str) -> dict[str, Any]:
    """Return the backend's own options."""
    if backend not in ASYNC_BACKENDS:
        return {}
    return {"num_workers": NUM_WORKERS, "shared_memory": backend == "async"}


def draw_actions(envs: Any, *shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return random actions [*shape, num_envs, ...] in the dtype of the action space.

    In Blackjack a lane always draws a card: the other action ends its episode.
    """
    rng = np.random.default_rng(seed)
    space = envs.single_action_space
    if envs.spec.id == "Blackjack-v1":
        return np.ones((*shape, envs.num_envs), np.int64)
    if envs.spec.id == BABYAI_ID:  # without picking up, episodes do not end by chance
        return rng.integers(3, size=(*shape, envs.num_envs))
    if isinstance(space, gym.spaces.Discrete):
        return rng.integers(space.n, size=(*shape, envs.num_envs))
    wide = (*shape, envs.num_envs, *space.shape)
    actions = rng.uniform(space.low, space.high, wide).astype(np.float32)
    return actions / 30 if envs.spec.id == "InvertedPendulum-v5" else actions  # it stays up


def single_env(envs: Any, **kwargs: Any) -> Any:
    """Return a single environment of the same id and arguments."""
    if envs.spec.id == ATARI_ID:
        return single_game(**kwargs)
    return gym.make(envs.spec.id, **ARGUMENTS.get(envs.spec.id, {}), **kwargs)


def single_game(max_episode_steps: int = -1, **kwargs: Any) -> Any:
    """Return one lane of a batch of games: `make` has no preprocessing."""
    env: Any = gym.envs.atari.PreprocessedAtariEnv("seaquest", **ARGUMENTS[ATARI_ID], **kwargs)
    if max_episode_steps > 0:
        env = gym.wrappers.TimeLimit(env, max_episode_steps)
    return gym.wrappers.OrderEnforcing(env)


def single_envs(envs: Any, **kwargs: Any) -> list[Any]:
    """Return one single environment per lane, without a time limit unless one is given."""
    return [single_env(envs, **{"max_episode_steps": -1, **kwargs}) for _ in range(envs.num_envs)]


def calm_seed(envs: Any, seed: int) -> int:
    """Return `seed`, or for Blackjack a seed after which no episode ends for four steps."""
    return LONG_HANDS if envs.spec.id == "Blackjack-v1" else seed


def stagger(envs: Any, seed: int = 5) -> Any:
    """Start lane 1's episode one step after the others'; return the observations.

    With a time limit of L, lane 1 ends at step L after this, and the other lanes at step L - 1.
    """
    envs.reset(seed=calm_seed(envs, seed))
    envs.step(draw_actions(envs, seed=99))
    mask = np.arange(envs.num_envs) == 1
    return envs.reset(options={"reset_mask": mask})[0]


def same_bytes(one: Any, other: Any) -> bool:
    """Return whether two results of reset or step agree byte by byte, infos included."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_bytes(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray) and one.dtype == object:
        return len(one) == len(other) and all(map(same_bytes, one, other))
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same_bytes, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other)
    return bool(one == other)


def states_of(envs: Any) -> Any:
    """Return the states of the lanes, to be compared by `same_bytes`."""
    if getattr(envs, "state_is_array", False) and hasattr(envs, "lane_envs"):
        return envs.get_state().tobytes()
    return envs.get_attr("state")


def batched(envs: Any, elements: Sequence[Any]) -> Any:
    """Return a batch of single observations in the form in which `reset` and `step` return it."""

    def stack(space: Any, elements: Sequence[Any]) -> Any:
        if isinstance(space, gym.spaces.Dict):
            # In the order of the observations, which is not that of the space.
            return {key: stack(space[key], [one[key] for one in elements]) for key in elements[0]}
        if isinstance(space, gym.spaces.Text):
            return np.array(elements, object)
        if isinstance(space, gym.spaces.Tuple):
            parts = zip(space, zip(*elements, strict=True), strict=True)
            return tuple(stack(part, column) for part, column in parts)
        return np.array(elements, space.dtype)

    return stack(envs.single_observation_space, elements)


def rows(batch: Any, index: Any) -> Any:
    """Return rows of a batch of observations, from each of its arrays."""
    if isinstance(batch, dict):
        parts = {k: np.array(v, object) if k == "mission" else v for k, v in batch.items()}
        return {key: rows(one, index) for key, one in parts.items()}
    return tuple(one[index] for one in batch) if isinstance(batch, tuple) else batch[index]


def infos_at(infos: dict[str, Any], t: int) -> dict[str, Any]:
    """Return row `t` of the infos of a rollout, as the infos of a step."""
    row = {key: infos_at(one, t) if isinstance(one, dict) else one[t] for key, one in infos.items()}
    masks = {key: row.get("_" + key.removeprefix("_"), np.ones(1)) for key in row}
    return {key: one for key, one in row.items() if masks[key].any()}


def arrays_of(batch: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """Return the arrays in a batch of observations."""
    if isinstance(batch, dict):
        return tuple(batch[key] for key in sorted(batch) if isinstance(batch[key], np.ndarray))
    return batch if isinstance(batch, tuple) else (batch,)


def engine_infos(envs: Any, infos: dict[str, Any]) -> dict[str, Any]:
    """Return infos without those that the environment returns in every reset and step."""
    usual = USUAL_INFOS.get(envs.spec.id, ())
    return {name: one for name, one in infos.items() if name.removeprefix("_") not in usual}


def outputs(envs: Any, *lead: int) -> dict[str, Any]:
    """Return arrays [*lead, num_envs, ...] for step results, by the parameters of `step_into`."""
    shape = (*lead, envs.num_envs)
    space = envs.single_observation_space
    if isinstance(space, gym.spaces.Dict):
        parts = [(k, part) for k, part in space.items() if k != "mission"]  # which no array holds
        observations = {k: np.full((*shape, *one.shape), 9, one.dtype) for k, one in parts}
        return {"observations": observations, **_results(shape)}
    parts = [one.dtype for one in space] if isinstance(space, gym.spaces.Tuple) else [space.dtype]
    observations = [np.full((*shape, *(space.shape or ())), 9, dtype) for dtype in parts]
    return {
        "observations": tuple(observations) if len(parts) > 1 else observations[0],
        **_results(shape),
    }


def written(observations: Any) -> Any:
    """Return the observations that the compiled engine writes into arrays: not the missions."""
    if isinstance(observations, dict):
        return {key: one for key, one in observations.items() if key != "mission"}
    return observations


def final_rows(infos: dict[str, Any], lanes: Any) -> list[Any]:
    """Return the final observations of some lanes, as far as arrays hold them.

    A batch of composite observations has them as an object array.
    """
    return [written(rows(infos["final_obs"], lane)) for lane in lanes]


def _results(shape: tuple[int, ...]) -> dict[str, Any]:
    return {
        "rewards": np.full(shape, -1.0),
        "terminated": np.ones(shape, np.bool_),
        "truncated": np.ones(shape, np.bool_),
    }


def own_threads() -> set[str]:
    """Return the ids of the operating system's threads in this process."""
    return set(os.listdir("/proc/self/task"))


def new_threads_settle_at(count: int, before: set[str]) -> bool:
    """Return whether there are `count` threads that did not exist before.

    A joined thread may take a moment to disappear.
    """
    return wait_until(lambda: len(own_threads() - before) == count)


class ActionsThatTakeTime:
    """Actions whose conversion to an array, within a step, first runs `meanwhile` in a thread."""

    def __init__(self, actions: Any, meanwhile: Callable[[], None]) -> None:
        self.actions = actions
        self.meanwhile = meanwhile

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        thread = threading.Thread(target=self.meanwhile)
        thread.start()
        thread.join()
        return self.actions
