"""Ids of RWARE."""

from __future__ import annotations

import re

from gymcore.specs import EnvSpec

_FORM = re.compile(
    "rware(?P<images>-img|-imgdict)?(?P<fixed>-Nd)?(-(?P<sight>NUM)s)?-"
    "((?P<size>tiny|small|medium|large)|(?P<rows>NUM)x(?P<columns>NUM))(-(?P<height>NUM)h)?-"
    "(?P<agents>NUM)ag(-(?P<requests>NUM)req)?(-(?P<reward>indiv|global|twostage))?"
    "(?P<difficulty>-easy|-hard)?-v2".replace("NUM", "[1-9][0-9]{0,2}")
)
# Rows and columns of groups of shelves.
_SIZES = {"tiny": (1, 3), "small": (2, 3), "medium": (2, 5), "large": (3, 5)}
_REWARDS = {None: "individual", "indiv": "individual", "global": "global", "twostage": "two_stage"}
_OBSERVATIONS = {None: "flattened", "-img": "image", "-imgdict": "image_dict"}
_PLACE = "gymcore.envs.rware.env:Warehouse"


def warehouse_spec(env_id: str) -> EnvSpec | None:
    """Return the spec of an id of RWARE; None for other ids.

    Examples:
        >>> warehouse_spec("rware-tiny-2ag-easy-v2").kwargs["request_queue_size"]
        4
        >>> warehouse_spec("rware-v2")
    """
    match = _FORM.fullmatch(env_id)
    if match is None or (match["fixed"] and not match["images"]):
        return None
    agents = int(match["agents"])
    difficulty = {"-easy": 2, None: 1, "-hard": 0.5}[match["difficulty"]]
    if match["requests"] and match["difficulty"]:
        return None
    rows, columns = _SIZES.get(match["size"]) or (int(match["rows"]), int(match["columns"]))
    kwargs = {
        "shelf_rows": rows,
        "shelf_columns": columns,
        "column_height": int(match["height"] or 8),
        "n_agents": agents,
        "sensor_range": int(match["sight"] or 1),
        "request_queue_size": int(match["requests"] or agents * difficulty),
        "reward_type": _REWARDS[match["reward"]],
        "observation_type": _OBSERVATIONS[match["images"]],
        "image_observation_directional": not match["fixed"],
    }
    return EnvSpec(env_id, f"{_PLACE}Env", vector_entry_point=f"{_PLACE}VectorEnv", kwargs=kwargs)
