"""Contract tests that do not run over the environments that draw in their steps, and why.

All others do: `contract.py` makes a lake on which episodes last, and knows a seed with long hands
of Blackjack.
"""

from collections.abc import Iterable

from tests.vector.contract import ARRAY_ID, ATARI_ID, JIT_ID

NO_OPTIONS = "test_6_6_bad_bounds"  # their resets have none


class Sections:
    """The tests of some sections of the contract, or of single sentences."""

    def __init__(self, names: Iterable[str]) -> None:
        self.prefixes = tuple(f"test_{name}_" for name in names)

    def __contains__(self, name: str) -> bool:
        return name.startswith(self.prefixes)


NOT_FOR = {
    # No bounds of resets; states are records; thousands of lanes take long where Python steps them.
    JIT_ID: Sections(["6_6", "9_4", "11_4"]),
    # No parameters of lanes, no renderer; whole steps only; nothing to save a state of.
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
            # The second draw of no-ops is the half of a number that the first one left over.
            "test_2_10_drawing_moves_the_lanes_stream",
            # Nothing moves in the first frames; tests/envs/atari has sticky actions.
            "test_9_3_parameters_act",
        }
    ),
    "Blackjack-v1": frozenset(
        {
            NO_OPTIONS,
            # `natural` changes the rewards of those who stick, not what everybody observes.
            "test_9_3_parameters_act",
            # Lanes would have to draw more cards than a hand takes.
            "test_14_1_chosen_lanes_are_stepped",
            "test_14_6_recv_returns_some_that_are_ready",
        }
    ),
}
