"""Which environments `make_vec` runs in worker processes unless a program says otherwise."""

from __future__ import annotations

from typing import Any

from gymcore.specs import EnvSpec

POOLED_FROM = {
    "gymcore.envs.box2d.lunar_lander:LunarLander": 16,
    "gymcore.envs.box2d.bipedal_walker:BipedalWalker": 4,
    "gymcore.envs.box2d.car_racing:CarRacing": 2,
}
"""Entry points of our own whose steps are slow, and how many environments it takes for workers to
win: measured by processor time with two workers, whose calls cost a batch some 50 us."""


def prefers_workers(spec: EnvSpec, num_envs: int, kwargs: dict[str, Any]) -> bool:
    """Whether worker processes are the faster way to run an environment, and safe to start unasked.

    Unsafe is where processes do not start by "fork" (a script without a main guard would run
    again in each of them), beside other threads, and in a process that may have no children.

    Args:
        spec: The environment.
        num_envs: How many of it.
        kwargs: Its arguments; with a `render_mode` it stays in this process.
    """
    least = POOLED_FROM.get(spec.entry_point) if isinstance(spec.entry_point, str) else None
    if least is None or num_envs < least or kwargs.get("render_mode") is not None:
        return False
    # Imported where it is needed: `import gymcore` does without.
    import multiprocessing
    import threading

    from gymcore.utils import cpus

    # Without fixing the method, which a program may still want to choose.
    method = multiprocessing.get_start_method(allow_none=True)
    return (
        (method or multiprocessing.get_all_start_methods()[0]) == "fork"
        and not multiprocessing.current_process().daemon
        and threading.active_count() == 1
        and cpus.usable_cpus() > 1
    )
