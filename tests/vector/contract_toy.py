"""Contract tests that do not apply to the environments with random steps, and the reasons.

All others do: `contract.py` makes a lake on which episodes last, and knows a Blackjack seed with
long hands.
"""

from collections.abc import Iterable

from tests.vector.contract import ARRAY_ID, ATARI_ID, JIT_ID

NO_OPTIONS = "test_6_6_bad_bounds"  # their resets have no options


class Sections:
    """The tests of some sections of the contract, or of single sentences."""

    def __init__(self, names: Iterable[str]) -> None:
        self.prefixes = tuple(f"test_{name}_" for name in names)

    def __contains__(self, name: str) -> bool:
        return name.startswith(self.prefixes)


NOT_FOR = {
    # No reset bounds; states are records; thousands of lanes are slow when Python steps them.
    JIT_ID: Sections(["6_6", "9_4", "11_4"]),
    # No per-lane parameters, no renderer, only whole steps, no state to save.
    ARRAY_ID: Sections(["6_6", "9", "10_6", "11", "14", "15"]),
    "FrozenLake-v1": frozenset(
        {
            NO_OPTIONS,
            # No physics parameters.
            "test_9_2_set_one_or_all",
            "test_9_3_parameters_act",
        }
    ),
    ATARI_ID: frozenset(
        {
            NO_OPTIONS,
            # The second draw of no-ops uses the half of a number that the first one left over.
            "test_2_10_drawing_moves_the_lanes_stream",
            # Nothing moves in the first frames; tests/envs/atari tests sticky actions.
            "test_9_3_parameters_act",
        }
    ),
    "Blackjack-v1": frozenset(
        {
            NO_OPTIONS,
            # `natural` changes the rewards of those who stick, not the observations of all.
            "test_9_3_parameters_act",
            # Lanes would have to draw more cards than a hand takes.
            "test_14_1_chosen_lanes_are_stepped",
            "test_14_6_recv_returns_some_that_are_ready",
        }
    ),
}
