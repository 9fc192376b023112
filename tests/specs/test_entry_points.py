"""Entry points: the functions and classes that texts name."""

from __future__ import annotations

import pytest

import gymcore
from gymcore.envs import registration
from tests.parity import compare


@pytest.mark.parametrize("place", ["math:gcd", "os.path:join", "math:nope", "no_such_module:x"])
def test_load_env_creator_like_gymnasium(place: str) -> None:
    compare(lambda gym: gym.envs.registration.load_env_creator(place))


@pytest.mark.parametrize("place", ["math", "a:b:c", ""])
def test_malformed_entry_points(place: str) -> None:
    compare(lambda gym: gym.envs.registration.load_env_creator(place), message=False)
    with pytest.raises(gymcore.error.InvalidArgument, match="expected 'module:attribute', got '"):
        registration.load_env_creator(place)


def test_entry_point_of_a_wrong_type() -> None:
    with pytest.raises(gymcore.error.ArgumentTypeError, match="expected 'module:attribute', got 5"):
        registration.load_env_creator(5)  # type: ignore[arg-type]
