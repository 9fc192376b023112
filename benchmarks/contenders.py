"""The libraries timed by `benchmarks/peers.py`, each with its own public API.

Every contender steps a batch in the same Python loop with the same kind of actions: a ring of
`RING` different random batches made beforehand, in the library's own dtype. The last result is held
during the next step, as in a training loop.

This file imports nothing from gymcore at module level: the benchmarks load it into other
interpreters, for peers whose requirements conflict with the others.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import io
import itertools
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

#: Number of action batches that a contender cycles through.
RING = 64
#: Number of steps in one `rollout` call.
ROLLOUT_STEPS = 128


class Session:
    """One open environment, and the actions for it.

    Attributes:
        steps_per_call: Number of environment steps per call.
    """

    def __init__(
        self,
        call: Callable[[Any], Any],
        actions: Sequence[Any],
        steps_per_call: int,
        close: Callable[[], Any],
    ) -> None:
        """Store the arguments.

        Args:
            call: Function that takes one entry of `actions`.
            actions: The ring.
            steps_per_call: Number of environment steps per call.
            close: Function that releases the environment.
        """
        self._call = call
        self._actions = actions
        self._calls = 1
        self.steps_per_call = steps_per_call
        self.close = close

    def measure(self, seconds: float) -> float:
        """Time as many calls as fit into about the given duration.

        Args:
            seconds: Intended duration [s]; the first measurement takes up to twice as long,
                because the number of calls must be estimated.

        Returns:
            Seconds per call.
        """
        while True:
            elapsed = self._time(self._calls)
            if elapsed >= 0.5 * seconds:
                return elapsed / self._calls
            grow = 8.0 if elapsed <= 0.0 else min(8.0, 1.1 * seconds / elapsed)
            self._calls = max(self._calls + 1, int(self._calls * grow))

    def _time(self, calls: int) -> float:
        """Return the seconds taken by a number of calls."""
        call, result = self._call, None
        ring = itertools.islice(itertools.cycle(self._actions), calls)
        collecting = gc.isenabled()
        gc.disable()
        try:
            start = time.perf_counter()
            for actions in ring:
                result = call(actions)
            elapsed = time.perf_counter() - start
        finally:
            if collecting:
                gc.enable()
        del result
        return elapsed


class Contender(NamedTuple):
    """One way to step an environment.

    Attributes:
        key: Short name, used on the command line and in JSON.
        label: Name in tables.
        module: Package that must be importable.
        build: `(environment id, num_envs, num_threads) -> Session`; raises if impossible.
        ids: Supported environment ids; None for all ids in the library's registry.
    """

    key: str
    label: str
    module: str
    build: Callable[[str, int, int], Session]
    ids: tuple[str, ...] | None = None

    def missing(self) -> str | None:
        """Return why it cannot run ("envpool is not installed"), or None if it can."""
        if importlib.util.find_spec(self.module) is None:
            return f"{self.module} is not installed"
        return None


def random_batches(
    space: Any,
    shape: tuple[int, ...],
    number: int,
    dtype: npt.DTypeLike | None = None,
    seed: int = 0,
) -> list[npt.NDArray[Any]]:
    """Return different random actions, made beforehand.

    Args:
        space: Action space of one lane, from any Gym-like library: Discrete, MultiDiscrete or a
            Box. Bounds beyond 1e9 count as -1 and 1.
        shape: Leading axes of a batch: (num_envs,) or (steps, num_envs).
        number: Number of batches.
        dtype: Dtype of the batches; None for the space's.
        seed: Seed of the generator.

    Returns:
        C-contiguous arrays [*shape, *space.shape].
    """
    generator = np.random.default_rng(seed)
    size = (*shape, *(space.shape or ()))
    kind = np.dtype(space.dtype if dtype is None else dtype)
    if hasattr(space, "nvec"):
        return [generator.integers(0, space.nvec, size=size).astype(kind) for _ in range(number)]
    if hasattr(space, "n"):
        start = int(getattr(space, "start", 0))
        values = (generator.integers(0, int(space.n), size=size) for _ in range(number))
        return [(value + start).astype(kind) for value in values]
    low, high = (
        np.where(np.abs(bound) < 1e9, bound, np.sign(bound)) for bound in (space.low, space.high)
    )
    return [generator.uniform(low, high, size=size).astype(kind) for _ in range(number)]


def _gymcore_step(env_id: str, num_envs: int, num_threads: int) -> Session:
    import gymcore
    from gymcore.cli.list import is_native

    options = {"num_threads": num_threads} if is_native(gymcore.spec(env_id)) else {}
    envs = gymcore.make_vec(env_id, num_envs=num_envs, vector_kwargs=options)
    envs.reset(seed=0)
    actions = random_batches(envs.single_action_space, (num_envs,), RING)
    return Session(envs.step, actions, num_envs, envs.close)


def _gymcore_rollout(env_id: str, num_envs: int, num_threads: int) -> Session:
    import gymcore
    from gymcore.cli.list import is_native

    if not is_native(gymcore.spec(env_id)):
        raise LookupError(f"{env_id} has no compiled engine")
    envs: Any = gymcore.make_vec(
        env_id, num_envs=num_envs, vector_kwargs={"num_threads": num_threads}
    )
    if not hasattr(envs, "rollout"):
        envs.close()
        raise LookupError(f"{env_id} has no compiled engine")
    envs.reset(seed=0)
    shape = (ROLLOUT_STEPS, num_envs)
    # Each block has 128 different batches. The number of blocks is limited to 8 MB of indices.
    number = max(2, min(RING, 2**20 // (ROLLOUT_STEPS * num_envs)))
    actions = random_batches(envs.single_action_space, shape, number)
    out = envs.rollout(actions[0])._asdict()
    del out["final_observations"], out["infos"]
    return Session(
        lambda block: envs.rollout(block, **out), actions, ROLLOUT_STEPS * num_envs, envs.close
    )


def gymnasium_with(env_id: str) -> Any:
    """Return the module gymnasium after importing the module that registers the id."""
    if env_id.startswith(("MiniGrid-", "BabyAI-")):
        importlib.import_module("minigrid")
    import gymnasium

    return gymnasium


def _gymnasium_sync(env_id: str, num_envs: int, num_threads: int) -> Session:
    gymnasium = gymnasium_with(env_id)
    envs = gymnasium.make_vec(env_id, num_envs=num_envs, vectorization_mode="sync")
    envs.reset(seed=0)
    actions = random_batches(envs.single_action_space, (num_envs,), RING)
    return Session(envs.step, actions, num_envs, envs.close)


def _gymnasium_vector(env_id: str, num_envs: int, num_threads: int) -> Session:
    import gymnasium

    if gymnasium.spec(env_id).vector_entry_point is None:
        raise LookupError(f"there is none for {env_id}")
    envs = gymnasium.make_vec(env_id, num_envs=num_envs, vectorization_mode="vector_entry_point")
    envs.reset(seed=0)
    actions = random_batches(envs.single_action_space, (num_envs,), RING)
    return Session(envs.step, actions, num_envs, envs.close)


def _envpool(env_id: str, num_envs: int, num_threads: int) -> Session:
    import envpool

    if env_id not in envpool.list_all_envs():
        raise LookupError(f"there is no {env_id}")
    envs = envpool.make(
        env_id, env_type="gymnasium", num_envs=num_envs, num_threads=num_threads, seed=0
    )
    envs.reset()
    # The kernels take int32; passing int64 would time a conversion.
    dtype = envs.spec.action_array_spec["action"].dtype
    actions = random_batches(envs.action_space, (num_envs,), RING, dtype)
    return Session(envs.step, actions, num_envs, lambda: None)


def _stable_baselines(env_id: str, num_envs: int, num_threads: int) -> Session:
    import gymnasium
    from stable_baselines3.common.vec_env import DummyVecEnv

    envs = DummyVecEnv([lambda: gymnasium.make(env_id) for _ in range(num_envs)])
    envs.reset()
    actions = random_batches(envs.action_space, (num_envs,), RING)
    return Session(envs.step, actions, num_envs, envs.close)


@contextlib.contextmanager
def _quiet_empty_folder() -> Iterator[None]:
    """Run in an empty directory without output: pufferlib leaves a link in the current one."""
    previous_folder = os.getcwd()
    silence = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
                yield
        finally:
            os.chdir(previous_folder)


def _pufferlib(report_interval: int) -> Callable[[str, int, int], Session]:
    """Return a builder of PufferLib's native CartPole, whose log is read at regular intervals."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        with _quiet_empty_folder():
            module = importlib.import_module("pufferlib.ocean.cartpole.cartpole")
            envs = module.Cartpole(num_envs=num_envs, report_interval=report_interval)
        envs.reset(0)
        actions = random_batches(envs.single_action_space, (num_envs,), RING, np.int8)
        return Session(envs.step, actions, num_envs, envs.close)

    return build


_PUFFER_IDS = ("CartPole-v1",)

CONTENDERS = {
    contender.key: contender
    for contender in (
        Contender("gymcore", "gymcore make_vec", "gymcore", _gymcore_step),
        Contender(
            "gymcore-rollout", f"gymcore rollout, T = {ROLLOUT_STEPS}", "gymcore", _gymcore_rollout
        ),
        Contender("gymnasium-sync", "Gymnasium SyncVectorEnv", "gymnasium", _gymnasium_sync),
        Contender(
            "gymnasium-vector", "Gymnasium's own vector env", "gymnasium", _gymnasium_vector
        ),
        Contender("envpool", "EnvPool sync", "envpool", _envpool),
        Contender(
            "sb3", "Stable-Baselines3 DummyVecEnv", "stable_baselines3", _stable_baselines
        ),
        Contender(
            "pufferlib", "PufferLib native", "pufferlib", _pufferlib(1), _PUFFER_IDS
        ),
        Contender(
            "pufferlib-128",
            "PufferLib native, log every 128",
            "pufferlib",
            _pufferlib(128),
            _PUFFER_IDS,
        ),
    )
}  # fmt: skip


def open_session(key: str, env_id: str, num_envs: int, num_threads: int = 1) -> Session:
    """Make a contender's environment, reset and ready to be measured.

    Args:
        key: A key of `CONTENDERS`.
        env_id: Environment id.
        num_envs: Number of lanes.
        num_threads: Number of threads, if the library has a choice.

    Returns:
        The open session, which the caller must close.

    Raises:
        LookupError: If the library is missing, or does not have this environment; the message
            tells which.
    """
    contender = CONTENDERS[key]
    reason = contender.missing()
    if reason is not None:
        raise LookupError(reason)
    if contender.ids is not None and env_id not in contender.ids:
        raise LookupError(f"there is no {env_id}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return contender.build(env_id, num_envs, num_threads)
        except (ImportError, OSError) as error:
            raise LookupError(f"{contender.module} does not load: {error}") from error
