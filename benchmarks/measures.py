"""Measurements other than the contenders: limits, single environments, memory.

Only loaded by `worker.py`, after `contenders`.
"""

from __future__ import annotations

import itertools
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from contenders import RING, ROLLOUT_STEPS, Contender, Session, gymnasium_with, random_batches

OPTIONAL = (
    "pygame", "Box2D", "mujoco", "ale_py", "cv2", "imageio", "matplotlib", "zmq", "ray",
    "torch", "jax", "gymnasium",
)  # fmt: skip


def _native_step(env_id: str, num_envs: int, **options: Any) -> Session:
    import gymcore

    return _steps_of(gymcore.make_vec(env_id, num_envs=num_envs, vector_kwargs=options), num_envs)


def _steps_of(envs: Any, num_envs: int) -> Session:
    envs.reset(seed=0)
    actions = random_batches(envs.single_action_space, (num_envs,), RING)
    return Session(envs.step, actions, num_envs, envs.close)


def _default_step(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return the native step as configured by `make_vec`, which chooses the number of threads."""
    return _native_step(env_id, num_envs)


def _statistics_step(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return the native step with resets, time limit and episode statistics."""
    return _native_step(env_id, num_envs, num_threads=num_threads, episode_statistics=True)


def _same_step(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return the native step with same-step autoreset, which also keeps final observations."""
    options = {"num_threads": num_threads, "episode_statistics": True}
    return _native_step(env_id, num_envs, autoreset_mode="SameStep", **options)


def _vector_make(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return the step of Gym 0.26's `vector.make`: same-step autoreset, infos with its names."""
    import gymcore

    options = {"num_threads": num_threads, "episode_statistics": True}
    return _steps_of(gymcore.vector.make(env_id, num_envs=num_envs, **options), num_envs)


def _vector_make_read(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return the same, with the final observations of ended lanes read in each step."""
    import gymcore

    options = {"num_threads": num_threads, "episode_statistics": True}
    envs: Any = gymcore.vector.make(env_id, num_envs=num_envs, **options)
    envs.reset(seed=0)

    def step(actions: Any) -> None:
        envs.step(actions)[4].get("final_observation")

    actions = random_batches(envs.single_action_space, (num_envs,), RING)
    return Session(step, actions, num_envs, envs.close)


def _raw_physics(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a step of physics and observations only, by `raw_physics.c`."""
    import ctypes

    import gymcore
    import gymcore_ext
    from gymcore_ext.engine.kernels import choose_isa

    source = Path(__file__).with_name("raw_physics.c")
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder, "raw_physics.so"))
        words = (*shlex.split(os.environ.get("CC", "cc")), "-O2", "-shared", "-fPIC")
        include = f"-I{gymcore_ext.get_include()}"
        subprocess.run([*words, include, "-o", library, str(source)], check=True)
        run = ctypes.CDLL(library).raw_physics
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    envs: Any = gymcore.make_vec(env_id, num_envs=num_envs)
    envs.reset(seed=0)
    shape = (ROLLOUT_STEPS, num_envs)
    number = max(2, min(RING, 2**20 // (ROLLOUT_STEPS * num_envs)))
    actions = random_batches(envs.single_action_space, shape, number)
    out = (
        np.empty(envs.observation_space.shape, envs.observation_space.dtype),
        np.empty(num_envs),
        np.empty(num_envs, np.int16),
    )
    batch = envs.unwrapped._batch
    start, parameters = batch.view_state().copy(), batch.get_parameters()
    state = start.copy()
    kernel = pointer(
        import_module(envs.unwrapped.env_class.kernel_module).kernel, b"gymcore_ext.kernel"
    )

    def rows(matrix: Any) -> Any:
        return (ctypes.c_void_p * len(matrix))(*(row.ctypes.data for row in matrix))

    def address(array: Any) -> Any:
        return ctypes.c_void_p(array.ctypes.data)

    arguments = (ctypes.c_void_p(kernel), choose_isa(), rows(state), rows(parameters))
    sizes = (ctypes.c_int64(ROLLOUT_STEPS), ctypes.c_int64(num_envs))

    def call(block: Any) -> None:
        # Without resets the state would leave the valid range of the physics: restart every time.
        state[:] = start
        run(*arguments, address(block), *map(address, out), *sizes)

    return Session(call, actions, ROLLOUT_STEPS * num_envs, envs.close)


class SingleSession(Session):
    """Steps one environment; resets between episodes are not timed."""

    def __init__(self, env: Any) -> None:
        """Store the environment and a list of random actions."""
        self._env = env
        actions = list(random_batches(env.action_space, (4096,), 1)[0])
        super().__init__(env.step, actions, 1, env.close)

    def _time(self, calls: int) -> float:
        step, reset = self._env.step, self._env.reset
        reset()
        elapsed = 0.0
        start = time.perf_counter()
        for action in itertools.islice(itertools.cycle(self._actions), calls):
            _, _, terminated, truncated, _ = step(action)
            if terminated or truncated:
                elapsed += time.perf_counter() - start
                reset()
                start = time.perf_counter()
        return elapsed + time.perf_counter() - start


class EpisodesSession(SingleSession):
    """Steps one environment; resets between episodes are timed as well."""

    def _time(self, calls: int) -> float:
        step, reset = self._env.step, self._env.reset
        start = time.perf_counter()
        reset()
        for action in itertools.islice(itertools.cycle(self._actions), calls):
            _, _, terminated, truncated, _ = step(action)
            if terminated or truncated:
                reset()
        return time.perf_counter() - start


def _gymcore_make(env_id: str, num_envs: int, num_threads: int) -> Session:
    import gymcore

    return SingleSession(gymcore.make(env_id))


def _gymnasium_make(env_id: str, num_envs: int, num_threads: int) -> Session:
    gymnasium = gymnasium_with(env_id)
    return SingleSession(gymnasium.make(env_id))


def _gymcore_pixels(env_id: str, num_envs: int, num_threads: int) -> Session:
    import gymcore

    options = {"num_threads": num_threads}
    envs = gymcore.make_vec(env_id, num_envs, observes="rgb_partial", vector_kwargs=options)
    return _steps_of(envs, num_envs)


def _minigrid_pixels(env_id: str, num_envs: int, num_threads: int) -> Session:
    gymnasium = gymnasium_with(env_id)
    from minigrid.wrappers import RGBImgPartialObsWrapper

    envs = gymnasium.make_vec(
        env_id, num_envs, vectorization_mode="sync", wrappers=[RGBImgPartialObsWrapper]
    )
    return _steps_of(envs, num_envs)


class WorldSession(Session):
    """A session of one world of PettingZoo's interface, which begins episodes anew."""

    def __init__(self, env: Any) -> None:
        """Make the actions of all agents."""
        env.reset(seed=0)
        rng = np.random.default_rng(0)
        spaces = {agent: env.action_space(agent) for agent in env.agents}
        actions = [
            {agent: int(rng.integers(space.n)) for agent, space in spaces.items()}
            for _ in range(RING)
        ]

        def step(action: Any) -> None:
            env.step(action)
            if not env.agents:
                env.reset()

        super().__init__(step, actions, 1, env.close)


def _mpe2(env_id: str, num_envs: int, num_threads: int) -> Session:
    return WorldSession(import_module(env_id.replace("mpe/", "mpe2.")).parallel_env())


def _lbforaging(env_id: str, num_envs: int, num_threads: int) -> Session:
    return _original_world("lbforaging", env_id)


def _rware(env_id: str, num_envs: int, num_threads: int) -> Session:
    return _original_world("rware", env_id)


def _original_world(package: str, env_id: str) -> Session:
    """Return the session of a world that another package registers with Gymnasium."""
    import gymnasium

    import_module(package)
    env: Any = gymnasium.make(env_id, disable_env_checker=True).unwrapped
    env.reset(seed=0)
    choices = int(env.action_space[0].n)
    actions = np.random.default_rng(0).integers(0, choices, (RING, env.n_agents)).tolist()

    def step(action: Any) -> None:
        if env.step(action)[2]:
            env.reset()

    return Session(step, actions, 1, env.close)


def _gymcore_episodes(env_id: str, num_envs: int, num_threads: int) -> Session:
    import gymcore

    return EpisodesSession(gymcore.make(env_id))


def _gymnasium_episodes(env_id: str, num_envs: int, num_threads: int) -> Session:
    import gymnasium

    return EpisodesSession(gymnasium.make(env_id))


def _beyond_box2d(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return the step of a Box2D batch with `b2World::GetProxyCount` in place of `Step`."""
    import ctypes

    import gymcore
    from gymcore.envs.box2d import compiled_env, library

    functions = library.library_functions()
    count = ctypes.CDLL(library.extension_module().__file__)._ZNK7b2World13GetProxyCountEv
    others = {**functions, "step": ctypes.cast(count, ctypes.c_void_p).value}
    original = compiled_env.library_functions
    compiled_env.library_functions = lambda: others
    try:
        envs = gymcore.make_vec(env_id, num_envs, vector_kwargs={"num_threads": num_threads})
    finally:
        compiled_env.library_functions = original
    return _steps_of(envs, num_envs)


def _seeding(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a session of seeded resets of every lane, with a new seed each time."""
    import gymcore

    envs = gymcore.make_vec(env_id, num_envs=num_envs)
    return Session(lambda seed: envs.reset(seed=seed), range(RING), num_envs, envs.close)


CONTENDERS = {
    contender.key: contender
    for contender in (
        Contender("gymcore-default", "gymcore make_vec, its threads", "gymcore", _default_step),
        Contender(
            "gymcore-statistics", "gymcore make_vec, statistics on", "gymcore", _statistics_step
        ),
        Contender("gymcore-same-step", "the same, same-step autoreset", "gymcore", _same_step),
        Contender("gymcore-vector-make", "vector.make of Gym 0.26", "gymcore", _vector_make),
        Contender("gymcore-vector-make-read", "the same, read", "gymcore", _vector_make_read),
        Contender("raw-physics", "raw physics loop", "gymcore", _raw_physics),
        Contender("gymcore-make", "gymcore make", "gymcore", _gymcore_make),
        Contender("gymnasium-make", "Gymnasium make", "gymnasium", _gymnasium_make),
        Contender("gymcore-pixels", "gymcore make_vec, pixels", "gymcore", _gymcore_pixels),
        Contender("minigrid-pixels", "minigrid's wrapper, sync", "minigrid", _minigrid_pixels),
        Contender("mpe2", "mpe2, one world", "mpe2", _mpe2),
        Contender("lbforaging", "lbforaging, one world", "lbforaging", _lbforaging),
        Contender("rware", "rware, one world", "rware", _rware),
        Contender("gymcore-episodes", "gymcore make, with resets", "gymcore", _gymcore_episodes),
        Contender(
            "gymnasium-episodes", "Gymnasium make, with resets", "gymnasium", _gymnasium_episodes
        ),
        Contender("beyond-box2d", "gymcore without b2World::Step", "gymcore", _beyond_box2d),
        Contender("gymcore-seeding", "gymcore seeded reset", "gymcore", _seeding),
    )
}


def resident_bytes() -> int:
    """Return the resident memory of this process [bytes]."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def bytes_per_lane(env_id: str, num_envs: int) -> float:
    """Return the memory of one additional lane, excluding its observations [bytes].

    This is the growth of the process from before `make_vec` until a batch has been reset and
    stepped, minus the observation arrays in use (two: one is held while the next is filled).
    """
    import gymcore

    with_few = gymcore.make_vec(env_id, num_envs=8)
    with_few.reset(seed=0)
    actions = random_batches(with_few.single_action_space, (num_envs,), 1)[0]
    with_few.close()
    before = resident_bytes()
    envs = gymcore.make_vec(env_id, num_envs=num_envs)
    result: Any = envs.reset(seed=0)
    for _ in range(4):
        result = envs.step(actions)
    grown = resident_bytes() - before
    observations = 2 * result[0].nbytes
    envs.close()
    return (grown - observations) / num_envs


def system_info() -> dict[str, Any]:
    """Return the output of `gymcore info --json`."""
    from gymcore.cli import info

    return info.system_info()


def import_seconds(repeats: int) -> dict[str, Any]:
    """Return the time of `import gymcore` after numpy has been imported, in fresh interpreters.

    Args:
        repeats: Number of interpreters to start; the median is used.

    Returns:
        `seconds` and `optional`: optional packages that the import has loaded (should be none).
    """
    program = (
        "import sys, time, numpy\n"
        "start = time.perf_counter()\n"
        "import gymcore\n"
        "print(time.perf_counter() - start)\n"
        f"print(*[name for name in {OPTIONAL!r} if name in sys.modules])"
    )
    times, optional = [], ""
    with tempfile.TemporaryDirectory() as bytecode:
        # An installed package has bytecode; a checkout may be configured not to write it.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(1 + repeats):
            answer = subprocess.run(
                [sys.executable, "-c", program],
                capture_output=True,
                text=True,
                check=True,
                env=environment,
            )
            first, _, rest = answer.stdout.partition("\n")
            if turn:  # the first import compiles
                times.append(float(first))
            optional = rest.strip()
    return {"seconds": statistics.median(times), "optional": optional}
