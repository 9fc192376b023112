"""BabyAI's instructions, as objects of minigrid's classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base import process_wide
from gymcore.base.optional_packages import needs
from gymcore.error import ResetNeeded

_VERBS = {"go": "GoToInstr", "pick": "PickupInstr", "open": "OpenInstr", "put": "PutNextInstr"}


def instruction_of(env: Any, text: str, memory: npt.NDArray[np.uint8]) -> object:
    """Return the instruction of a lane, an object of minigrid that is valid until the next reset.

    Its descriptions have the objects that matched when the episode began, and where they are now.
    The environment itself verifies the instruction; `verify` of the object does not.

    Args:
        env: The environment.
        text: The instruction; empty before the first reset, which raises `ResetNeeded`.
        memory: `instruction_t` of compiled code, uint8 [n].
    """
    with needs("minigrid"):
        process_wide.load_registering_module("minigrid")
        from minigrid.core.constants import COLOR_NAMES
        from minigrid.envs.babyai.core import verifier

    class Description(verifier.ObjDesc):
        def __init__(self, text: str, bit: int) -> None:
            names = verifier.OBJ_TYPES, COLOR_NAMES, verifier.LOC_NAMES
            self.type, self.color, self.loc = (
                next((name for name in choices if name in text.split()), None) for choices in names
            )
            self._identities = np.flatnonzero(memory[428:556] >> bit & 1)  # by `marks`

        def find_matching_objs(self, _: object = None, use_location: bool = True) -> object:
            places, grid = env._lane_record()["objects"][self._identities], env.grid
            items = [grid.get(x, y) if x < grid.width else env.carrying for x, y, _ in places]
            present = (i for i in items if i is not None and i._identity in self._identities)
            items = sorted(present, key=lambda item: item.cur_pos)
            return items, [item.cur_pos for item in items]

        obj_set = property(lambda self: self.find_matching_objs()[0])
        obj_poss = property(lambda self: self.find_matching_objs()[1])

    def parsed(text: str, k: int) -> object:  # task k, and the next ones
        for words, joined, numbers in (
            (" after you ", verifier.AfterInstr, (2, 0)),
            (", then ", verifier.BeforeInstr, (0, 2)),
            (" and ", verifier.AndInstr, (k, k + 1)),
        ):
            if words in text:
                return joined(*map(parsed, text.split(words), numbers))
        parts = enumerate(text.split(" next to "), start=2 * k)
        descriptions = (Description(part, bit) for bit, part in parts)
        task = getattr(verifier, _VERBS[text.split()[0]])(*descriptions)
        task.strict = bool(memory[10 * k + 1])
        return task

    if not text:
        raise ResetNeeded("instrs: there is no instruction before the first reset")
    return parsed(text, 0)
