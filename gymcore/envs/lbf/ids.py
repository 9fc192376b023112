"""Ids of level-based foraging."""

from __future__ import annotations

import re

from gymcore.specs import EnvSpec

_FORM = re.compile(
    "Foraging(-grid)?(-NUMs)?-(?P<side>NUM)x(?P=side)-(?P<players>NUM)p-(?P<foods>NUM)f"
    "(?P<coop>-coop)?(?P<single>-ind)?(?P<penalty>-pen)?(-NUMs)?(-grid)?-v3".replace(
        "NUM", "[1-9][0-9]{0,2}"
    )
)
_PLACE = "gymcore.envs.lbf.env:Foraging"


def foraging_spec(env_id: str) -> EnvSpec | None:
    """Return the spec of an id of level-based foraging; None for other ids.

    Ids are those of lbforaging, where `-grid` and the sight come first; they may also come last.

    Examples:
        >>> foraging_spec("Foraging-2s-8x8-2p-3f-coop-v3").kwargs["sight"]
        2
        >>> foraging_spec("Foraging-v3")
    """
    match = _FORM.fullmatch(env_id)
    if match is None:
        return None
    grid, sight, *_, last_sight, last_grid = match.groups()
    if (grid and last_grid) or (sight and last_sight):
        return None
    side = int(match["side"])
    sight = sight or last_sight
    kwargs = {
        "players": int(match["players"]),
        "field_size": (side, side),
        "max_num_food": int(match["foods"]),
        "sight": int(sight[1:-1]) if sight else side,
        "force_coop": bool(match["coop"]),
        "grid_observation": bool(grid or last_grid),
        "max_food_level": 1 if match["single"] else None,
        "penalty": 0.1 if match["penalty"] else 0.0,
    }
    return EnvSpec(env_id, f"{_PLACE}Env", vector_entry_point=f"{_PLACE}VectorEnv", kwargs=kwargs)
