"""Ids of MaMuJoCo."""

from __future__ import annotations

import re

from gymcore.specs import EnvSpec

_LIMITS = {
    **dict.fromkeys(("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup"), 1000),
    **dict.fromkeys(("InvertedDoublePendulum", "InvertedPendulum", "Swimmer", "Walker2d"), 1000),
    **dict.fromkeys(("CoupledHalfCheetah", "ManySegmentAnt", "ManySegmentSwimmer"), 1000),
    **{"Pusher": 100, "Reacher": 50},
}
_FORM = re.compile(r"mamujoco/(?P<scenario>\w+?)(?:-(?P<conf>\w+))?-v1")


def mamujoco_spec(env_id: str) -> EnvSpec | None:
    """Return the spec of an id of MaMuJoCo; None for other ids.

    An id may have the configuration of agents in it, with `_` instead of `|`.

    Examples:
        >>> mamujoco_spec("mamujoco/Humanoid-9_8-v1").kwargs
        {'agent_conf': '9|8'}
        >>> mamujoco_spec("mamujoco/Point-v1")
    """
    match = _FORM.fullmatch(env_id)
    if match is None or match["scenario"] not in _LIMITS:
        return None
    scenario, conf = match["scenario"], match["conf"]
    place = f"gymcore.envs.mamujoco.env:{scenario}"
    return EnvSpec(
        env_id,
        f"{place}WorldEnv",
        vector_entry_point=f"{place}WorldVectorEnv",
        max_episode_steps=_LIMITS[scenario],
        kwargs={} if conf is None else {"agent_conf": conf.replace("_", "|")},
    )
