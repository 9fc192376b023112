"""Contract tests that do not run over the environments that draw in their steps, and why.

All others do: `contract.py` makes a lake on which episodes last, and knows a seed with long hands
of Blackjack.
"""

from tests.vector.contract import ATARI_ID

NO_OPTIONS = "test_6_6_bad_bounds"  # their resets have none

NOT_FOR = {
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
