"""Conversion of spaces from Gymnasium to gymcore, and back."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.spaces.conversion import convert_space

SPACES = (
    "Box(-1, np.array([2.0, np.inf]), (2,), np.float64)",
    "Box(0, 255, (4, 4), np.uint8)",
    "Box(np.array([-np.inf, 0.0], np.float32), np.inf, (2,), np.float32)",
    "Discrete(3, start=-1)",
    "Discrete(3, start=1, dtype=np.int32)",
    "MultiDiscrete([[3, 2], [1, 4]], dtype=np.int32, start=[[1, 0], [-1, 2]])",
    "MultiBinary(4)",
    "MultiBinary((2, 3))",
    "Text(5, min_length=2, charset='ba')",
    "Tuple((Discrete(2), Dict(b=MultiBinary(3), a=Box(0, 1, (1,)))))",
    "Dict({'b': Discrete(2), 'a': Tuple((Text(3), Discrete(4)))}, sort_keys=False)",
    "Sequence(Discrete(3), stack=True)",
    "Graph(Box(0, 1, (2,)), Discrete(3))",
    "Graph(Discrete(2), None)",
    "OneOf((Discrete(2), Discrete(3)))",
)


def made(gym: Any, text: str) -> Any:
    return eval(text, {"np": np}, vars(gym.spaces))


@pytest.mark.parametrize("text", SPACES)
def test_both_ways_with_their_seeds(text: str) -> None:
    for source, package in ((gymnasium, gymcore.spaces), (gymcore, gymnasium.spaces)):
        space, other = made(source, text), made(_module(package), text)
        space.seed(5)
        converted = convert_space(space, package)
        assert converted == other
        assert repr(converted) == repr(other)
        back = convert_space(converted, source.spaces)
        assert back == space
        samples = repr([space.sample() for _ in range(3)])
        for twin in (converted, back):
            assert repr([twin.sample() for _ in range(3)]) == samples
        assert convert_space(space, source.spaces) is space
        assert type(copy.deepcopy(converted)) is type(converted)


def _module(package: Any) -> Any:
    return gymcore if package is gymcore.spaces else gymnasium


class Letters(gymnasium.spaces.Space):
    """A custom space like MiniGrid's MissionSpace."""

    def __init__(self, letters: str, seed: int | None = None) -> None:
        super().__init__(dtype=str, seed=seed)
        self.letters = letters

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        return str(self.np_random.choice(list(self.letters)))

    def contains(self, x: Any) -> bool:
        return x in self.letters

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Letters) and self.letters == other.letters


class Even(gymnasium.spaces.Discrete):
    def contains(self, x: Any) -> bool:
        return super().contains(x) and int(x) % 2 == 0


def test_custom_spaces_cross_as_they_are() -> None:
    space = gymnasium.spaces.Dict(letter=Letters("abc", seed=3), even=Even(4))
    ours = convert_space(space)
    assert isinstance(ours["letter"], Letters)
    assert ours["letter"].letters == "abc"
    assert ours["letter"] == space["letter"]
    assert isinstance(ours["even"], gymcore.spaces.Discrete)
    assert {x for x in range(4) if x in ours["even"]} == {0, 2}
    assert [ours["letter"].sample() for _ in range(5)] == [
        space["letter"].sample() for _ in range(5)
    ]
    for twin in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours), copy.copy(ours)):
        assert type(twin["letter"]) is type(ours["letter"])
        assert twin["letter"].letters == "abc"
    batch = gymcore.vector.utils.batch_space(ours, 2)
    assert isinstance(batch["even"], gymcore.spaces.MultiDiscrete)
    assert len(batch["letter"]) == 2
    theirs = convert_space(ours, gymnasium.spaces)
    assert type(theirs["letter"]) is type(ours["letter"])
    assert isinstance(theirs["letter"], gymnasium.Space)


def test_integers_know_which_sides_are_bounded() -> None:
    space = gymnasium.spaces.Box(0, 5, (2,), np.int64)
    space.bounded_above[:] = False
    assert not convert_space(space).bounded_above.any()


def test_a_similar_class_of_no_package() -> None:
    class Discrete:
        n = 3

    assert convert_space(Discrete()) == gymcore.spaces.Discrete(3)


@pytest.mark.parametrize("wrong", [None, 3, "Discrete(3)"])
def test_what_is_no_space(wrong: Any) -> None:
    with pytest.raises(error.ArgumentTypeError, match="space: expected a space of Gymnasium or"):
        convert_space(wrong)


def test_where_a_space_of_gymnasium_is_refused_the_bridge_is_named() -> None:
    space = gymnasium.spaces.Discrete(3)
    for refuse in (
        lambda: gymcore.spaces.Dict(a=space),
        lambda: gymcore.spaces.Tuple([space]),
        lambda: gymcore.vector.utils.batch_space(space, 2),
    ):
        with pytest.raises(TypeError, match=r"see gymcore\.interop\.gymnasium\.from_gymnasium"):
            refuse()
