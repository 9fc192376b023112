"""Collection of rollouts, and advantages.

Only loaded by `worker.py`, after `contenders`.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from contenders import RING, Contender, Session, random_batches

STEPS = 128


def _collector(mode: str) -> Any:
    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        """Return a session of rollouts of a policy with precomputed answers."""
        import gymcore
        from gymcore.learn import RolloutCollector

        options = {"autoreset_mode": mode, "num_threads": 1}
        envs = gymcore.make_vec(env_id, num_envs, vector_kwargs=options)
        zeros = np.zeros(num_envs, np.float32)
        batches = random_batches(envs.single_action_space, (num_envs,), RING)
        answers = itertools.cycle([(actions, zeros, zeros) for actions in batches])

        def policy(observations: Any) -> Any:
            return next(answers)

        collector = RolloutCollector(envs, policy, STEPS, seed=0)
        calls = [None] * RING
        return Session(lambda _: collector.collect(), calls, STEPS * num_envs, envs.close)

    return build


def _advantages(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Time advantages; one step in 20 ends an episode, and a call counts as a step."""
    from gymcore.learn import compute_advantages

    random = np.random.default_rng(0)
    shape = (STEPS, num_envs)
    values = random.normal(size=(STEPS + 1, num_envs)).astype(np.float32)
    terminated, truncated = random.random((2, *shape)) < 0.05
    arrays = (
        random.normal(size=shape), values, terminated, truncated, values[1:], np.zeros(shape, bool),
    )  # fmt: skip

    def call(_: Any) -> Any:
        return compute_advantages(*arrays, gamma=0.99, gae_lambda=0.95)

    return Session(call, [None] * RING, 1, lambda: None)


CONTENDERS = {
    each.key: each
    for each in (
        Contender("gymcore-collector", "collector", "gymcore", _collector("NextStep")),
        Contender("gymcore-collector-same-step", "collector", "gymcore", _collector("SameStep")),
        Contender("gymcore-advantages", "advantages", "gymcore", _advantages),
    )
}
