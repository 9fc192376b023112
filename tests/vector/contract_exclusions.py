"""Sentences of the contract that do not apply to an environment or an engine, and the reasons.

All others do: `contract.py` makes a lake on which episodes last, and knows a Blackjack seed with
long hands.
"""

from __future__ import annotations

from tests.vector.contract import (
    ARRAY_ID,
    ATARI_ID,
    BABYAI_ID,
    COMPILED_ID,
    CONTROL_IDS,
    DESCRIPTION_ID,
    JIT_ID,
    TABLE_ID,
)

NO_OPTIONS = {"6_6": "its resets have no options"}
NO_STATE = {
    "4_5": "its `state` is empty, so that lanes cannot be kept from the end of their episodes",
    "9_4": "its `state` is empty: the lanes are structs, which only get_state returns",
}
RECORDS = {"9_4": "its states are records"}
DOUBLES = {
    "1_7": "its arithmetic is that of the type of the actions, as in the original; "
    "test_contract_ways.py compares the engines",
}
NO_PARAMETERS = {"9_2": "it has no parameters", "9_3": "it has no parameters"}
MINIGRID = NO_OPTIONS | NO_STATE | {"9_3": "`max_steps` acts at the end of episodes"}
CONTROL = {
    **NO_OPTIONS,
    **NO_PARAMETERS,
    "2_10": "its episodes draw from another stream, that of dm_control",
}

# By id or engine: the numbers of sections and sentences, and the reasons.
EXCLUDED: dict[str, dict[str, str]] = {
    JIT_ID: NO_OPTIONS | RECORDS,
    COMPILED_ID: NO_OPTIONS | RECORDS,
    ARRAY_ID: {
        "6_6": "ArrayCartPole does not check its options",
        "9": "its lanes have no attributes but the state",
        "10_6": "it has no renderer",
        "11": "ArrayVectorEnv has whole steps and no states to save",
        "14": "ArrayVectorEnv has whole steps",
        "15": "ArrayVectorEnv has no states to save",
    },
    "FrozenLake-v1": NO_OPTIONS | NO_PARAMETERS,
    "CliffWalking-v1": {
        **NO_OPTIONS,
        **NO_PARAMETERS,
        **dict.fromkeys(("2_7", "2_8", "2_10", "9_4"), "all its episodes begin in one state"),
    },
    TABLE_ID: {
        **NO_OPTIONS,
        **NO_PARAMETERS,
        "10_6": "it has no renderer",
    },
    "Taxi-v4": NO_OPTIONS | {"9_3": "the parameter acts only after a passenger has been taken up"},
    ATARI_ID: {
        **NO_OPTIONS,
        "2_10": "the second draw of no-ops uses the half of a number that the first one left over",
        "9_3": "nothing moves in the first frames; tests/envs/atari tests sticky actions",
    },
    "Blackjack-v1": {
        **NO_OPTIONS,
        "9_3": "`natural` changes the rewards of those who stick, not the observations of all",
        "14_1": "lanes would have to draw more cards than a hand takes",
        "14_6": "lanes would have to draw more cards than a hand takes",
    },
    "LunarLander-v3": NO_OPTIONS | NO_STATE,
    "LunarLanderContinuous-v3": NO_OPTIONS | NO_STATE,
    "BipedalWalker-v3": {
        **DOUBLES,
        **NO_OPTIONS,
        **NO_STATE,
        "9_3": "`hardcore` changes nothing near the start",
    },
    "CarRacing-v3": {
        **NO_OPTIONS,
        **NO_STATE,
        "9_3": "`lap_complete_percent` acts at the end of a lap",
    },
    "Hopper-v5": NO_OPTIONS | DOUBLES,
    "InvertedPendulum-v5": NO_OPTIONS,
    DESCRIPTION_ID: NO_OPTIONS,
    "MiniGrid-DoorKey-5x5-v0": MINIGRID,
    BABYAI_ID: MINIGRID,
    CONTROL_IDS[0]: CONTROL,
    CONTROL_IDS[1]: CONTROL | {"10_6": "OpenGL in software takes seconds; the other one is drawn"},
}


def is_excluded(test: str, *names: str) -> bool:
    """Return whether a test does not apply to an environment or engine among the names."""
    return any(
        test.startswith(f"test_{number}_") for name in names for number in EXCLUDED.get(name, ())
    )
