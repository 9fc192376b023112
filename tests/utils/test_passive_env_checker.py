"""The checks of the first episode: the same warnings and errors as Gymnasium's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.utils import passive_env_checker
from tests.parity import compare


def checker(gym: ModuleType) -> Any:
    return gym.utils.passive_env_checker


def changed(space: Any, **attributes: Any) -> Any:
    """Return a copy of a space with attributes that its constructor would refuse."""
    space = copy.deepcopy(space)
    vars(space).update(attributes)
    return space


def box(gym: ModuleType) -> Any:
    return gym.spaces.Box(-1, 1, (2,))


# Spaces

SPACES: dict[str, Callable[[Any], Any]] = {
    "discrete": lambda s: s.Discrete(3),
    "box": lambda s: s.Box(-1, 1, (2,)),
    "box unbounded": lambda s: s.Box(-np.inf, np.inf, (2,)),
    "box equal": lambda s: s.Box(1, 1, (2,)),
    "box partly equal": lambda s: s.Box(np.zeros(2, np.float32), np.arange(2, dtype=np.float32)),
    "box scalar": lambda s: s.Box(-1, 1, ()),
    "box image": lambda s: s.Box(0, 255, (4, 4, 3), np.uint8),
    "box high shape": lambda s: changed(s.Box(-1, 1, (2,)), high=np.ones(2)[None]),
    "discrete n": lambda s: changed(s.Discrete(3), n=0),
    "discrete negative": lambda s: changed(s.Discrete(3), n=-1),
    "discrete shape": lambda s: changed(s.Discrete(3), _shape=(2,)),
    "multi-discrete": lambda s: s.MultiDiscrete([2, 3]),
    "multi-discrete zero": lambda s: changed(s.MultiDiscrete([2, 2]), nvec=np.array([0, 2])),
    "multi-discrete shape": lambda s: changed(s.MultiDiscrete([2, 2]), _shape=(3,)),
    "multi-binary": lambda s: s.MultiBinary((2, 3)),
    "multi-binary empty": lambda s: changed(s.MultiBinary(2), _shape=(0,)),
    "tuple": lambda s: s.Tuple([s.Discrete(2), s.Box(1, 1, (2,))]),
    "tuple empty": lambda s: s.Tuple([]),
    "tuple inner": lambda s: s.Tuple([changed(s.Discrete(3), n=0)]),
    "tuple no space": lambda s: changed(s.Tuple([s.Discrete(2)]), spaces=(3,)),
    "dict": lambda s: s.Dict(a=s.Discrete(2), b=s.Box(1, 1, (2,))),
    "dict empty": lambda s: s.Dict({}),
    "dict inner": lambda s: s.Dict(a=changed(s.Discrete(3), n=0)),
    "text": lambda s: s.Text(3),
    "graph": lambda s: s.Graph(s.Discrete(2), None),
    "sequence": lambda s: s.Sequence(s.Discrete(2)),
    "one of": lambda s: s.OneOf([s.Discrete(2)]),
    "number": lambda s: 3,
    "none": lambda s: None,
    "class": lambda s: int,
}


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("kind", ["observation", "action"])
def test_spaces_like_gymnasium(kind: str, name: str) -> None:
    def scenario(gym: ModuleType) -> Any:
        check = getattr(checker(gym), f"check_{kind}_space")
        return check(SPACES[name](gym.spaces))

    # Gymnasium's message for a box says "have" twice.
    compare(scenario, message=name != "box high shape")


@pytest.mark.parametrize(("low", "high"), [([2.0, 0.0], [1.0, 1.0]), ([0.0, 0.0], [1.0, 1.0])])
def test_low_above_high(low: list[float], high: list[float]) -> None:
    def scenario(gym: ModuleType) -> Any:
        space = changed(box(gym), low=np.array(low), high=np.array(high))
        checker(gym).check_action_space(space)
        return checker(gym).check_observation_space(space)

    compare(scenario)


# Observations

OBSERVATIONS: dict[str, list[Any]] = {
    "discrete": [0, np.int64(1), np.int32(2), 3, "a", 1.0, np.array(1), np.array([1]), None, True],
    "box": [
        np.zeros(2, np.float32),
        np.zeros(2),
        np.zeros(3, np.float32),
        np.full(2, np.nan, np.float32),
        np.full(2, 5, np.float32),
        [0, 0],
        0.5,
        None,
    ],
    "box scalar": [0.5, np.array(0.5, np.float32), np.array(0.5), 3.0, "a"],
    "multi-binary": [np.zeros((2, 3), np.int8), [0, 1], np.full((2, 3), 2)],
    "multi-discrete": [np.array([0, 1]), [0, 1], np.array([0, 9]), np.array([0.0, 1.0])],
    "tuple": [
        (0, np.ones(2, np.float32)),
        [0, np.ones(2, np.float32)],
        (0,),
        (0, np.ones(2)),
        (5, np.ones(2, np.float32)),
        {"a": 1},
        3,
    ],
    "dict": [
        {"a": 0, "b": np.ones(2, np.float32)},
        {"b": np.ones(2, np.float32), "a": 0},
        {"a": 0},
        {"a": 9, "b": np.ones(2, np.float32)},
        {"a": 0, "b": np.ones(2, np.float32), "c": 1},
        [1],
        3,
    ],
    "text": ["a", "abcd", 3],
    "sequence": [(0, 1), [0], 3],
    "one of": [(0, 1), 3],
}


@pytest.mark.parametrize(
    ("name", "index"), [(name, i) for name, all_ in OBSERVATIONS.items() for i in range(len(all_))]
)
def test_observations_like_gymnasium(name: str, index: int) -> None:
    def scenario(gym: ModuleType) -> Any:
        space = SPACES[name](gym.spaces)
        return checker(gym).check_obs(OBSERVATIONS[name][index], space, "step")

    compare(scenario)


def test_a_space_that_cannot_tell() -> None:
    class Strange(gymcore.spaces.Space[Any]):
        def contains(self, x: Any) -> bool:
            raise RuntimeError("who knows")

    with pytest.warns(UserWarning, match="observation space with exception: who knows"):
        passive_env_checker.check_obs(0, Strange(), "reset")


# Data shared by two calls


class Named(tuple):
    pass


def shared_data() -> list[tuple[Any, Any]]:
    array, table, numbers = np.zeros(4), {"a": 1}, [1]
    return [
        (array, array),
        (array, array[1:]),
        (array[::2], array[1::2]),
        (array, array.copy()),
        (array, {"a": array}),
        (table, table),
        ({}, {}),
        ({"a": array}, {"a": array}),
        ({"a": array}, {"b": array}),
        ({"a": {"b": array}}, {"a": {"b": array[:1]}}),
        ((array, 1), (array, 1)),
        ((array, 1), (array, 1, 2)),
        ((array,), (np.zeros(4), array)),
        (Named((array,)), Named((array,))),
        (numbers, numbers),
        ({"a": numbers}, {"a": numbers}),
        (1, 1),
        ("a", "a"),
        (None, None),
        ((), ()),
        (np.float32(1), np.float32(1)),
        (np.array([array, None], dtype=object), np.array([array, None], dtype=object)),
        (np.array([array, None], dtype=object), np.array([array.copy(), None], dtype=object)),
    ]


@pytest.mark.parametrize("index", range(len(shared_data())))
def test_shared_data_like_gymnasium(index: int) -> None:
    first, second = shared_data()[index]
    compare(lambda gym: checker(gym).data_shares_objects(first, second))
    compare(
        lambda gym: checker(gym).env_data_reuse_passive_checker(
            (first, {"x": first}), (second, {"x": second}), "reset", "step"
        )
    )


def test_hard_to_tell_arrays_count_as_shared() -> None:
    """np.shares_memory may take exponential time; its effort is limited."""
    memory = np.zeros(10**6, np.int8)
    strides = np.lib.stride_tricks.as_strided
    first = strides(memory, (100, 100, 100), (3 * 7 * 11, 5 * 13, 17 * 19))
    second = strides(memory[1:], (100, 100, 100), (2 * 7 * 13, 3 * 23, 11 * 29))
    assert passive_env_checker.data_shares_objects(first, second)


# reset and step


def make(gym: ModuleType, reset: Any = None, step: Any = None) -> Any:
    class Checked(gym.Env):
        observation_space = gym.spaces.Box(-1, 1, (2,))
        action_space = gym.spaces.Discrete(2)

    if callable(reset):
        Checked.reset = reset
    else:
        Checked.reset = lambda self, *, seed=None, options=None: reset
    Checked.step = lambda self, action: step
    return Checked()


OBS = np.zeros(2, np.float32)


@pytest.mark.parametrize(
    "result",
    [
        (OBS, {}),
        OBS,
        (OBS,),
        (OBS, {}, 1),
        [OBS, {}],
        (OBS, None),
        (OBS, 3),
        (np.zeros(3), {}),
        ({}, OBS),
        None,
        "ab",
    ],
)
def test_reset_results_like_gymnasium(result: Any) -> None:
    compare(lambda gym: checker(gym).env_reset_passive_checker(make(gym, result)))


def no_arguments(self: Any) -> Any:
    return OBS, {}


def only_seed(self: Any, seed: Any = None) -> Any:
    return OBS, {"seed": seed}


def only_options(self: Any, options: Any = None) -> Any:
    return OBS, {"options": options}


def default_seed(self: Any, *, seed: Any = 3, options: Any = None) -> Any:
    return OBS, {"seed": seed}


def no_default_seed(self: Any, *, seed: Any, options: Any = None) -> Any:
    return OBS, {"seed": seed}


def any_keywords(self: Any, **kwargs: Any) -> Any:
    return OBS, kwargs


@pytest.mark.parametrize(
    "reset",
    [no_arguments, only_seed, only_options, default_seed, no_default_seed, any_keywords],
)
@pytest.mark.parametrize("arguments", [{}, {"seed": 1}, {"seed": None, "options": {"a": 1}}])
def test_reset_signatures_like_gymnasium(reset: Any, arguments: dict[str, Any]) -> None:
    compare(lambda gym: checker(gym).env_reset_passive_checker(make(gym, reset), **arguments))


@pytest.mark.parametrize(
    "result",
    [
        (OBS, 0.0, False, False, {}),
        (OBS, 0.0, False, {}),
        (OBS, 0.0, 0, {}),
        (OBS, 0.0, np.True_, {}),
        (OBS, 0.0, False),
        (OBS, 0.0, False, False, {}, 1),
        [OBS, 0.0, False, False, {}],
        None,
        (OBS, 0, 1, "b", {}),
        (OBS, 0, np.True_, np.False_, {}),
        (OBS, 0, False, False, None),
        (OBS, 0, False, False, []),
        (np.zeros(3), 0.0, False, False, {}),
        (OBS, np.float32(1), False, False, {}),
        (OBS, np.int8(1), False, False, {}),
        (OBS, np.nan, False, False, {}),
        (OBS, -np.inf, False, False, {}),
        (OBS, None, False, False, {}),
        (OBS, np.array([1.0]), False, False, {}),
        (OBS, True, False, False, {}),
        (OBS, 1j, False, False, {}),
    ],
)
def test_step_results_like_gymnasium(result: Any) -> None:
    compare(lambda gym: checker(gym).env_step_passive_checker(make(gym, step=result), 9))


# render

MODES = ["rgb_array", "human", "ansi", "depth_array", "rgb_array_list", "ansi_list", "other"]
FRAMES = [
    None,
    np.zeros((2, 2, 3), np.uint8),
    np.zeros((2, 2, 3)),
    np.zeros((2, 2, 4), np.uint8),
    np.zeros((2, 2)),
    "text",
    3,
    [],
    [np.zeros((2, 2, 3), np.uint8)],
    ["text"],
    [None, 3],
    (np.zeros((2, 2, 3), np.uint8),),
]


def rendered(gym: ModuleType, metadata: Any, mode: str | None, frame: Any) -> Any:
    class Rendered(gym.Env):
        render_mode = mode

        def render(self) -> Any:
            return frame

    Rendered.metadata = metadata
    return checker(gym).env_render_passive_checker(Rendered())


@pytest.mark.parametrize("mode", [None, *MODES])
@pytest.mark.parametrize("frame", FRAMES)
def test_frames_like_gymnasium(mode: str | None, frame: Any) -> None:
    compare(lambda gym: rendered(gym, {"render_modes": MODES, "render_fps": 3}, mode, frame))


@pytest.mark.parametrize("mode", [None, "rgb_array", "unknown"])
@pytest.mark.parametrize(
    "metadata",
    [
        {"render_modes": MODES},
        {"render_modes": MODES, "render_fps": None},
        {"render_modes": MODES, "render_fps": 2.5},
        {"render_modes": MODES, "render_fps": "30"},
        {"render_modes": MODES, "render_fps": 0},
        {"render_modes": MODES, "render_fps": -1},
        {"render_modes": ("rgb_array",), "render_fps": 3},
        {"render_modes": [1], "render_fps": 3},
        {"render_modes": "rgb_array", "render_fps": 3},
        {"render_modes": {"rgb_array"}},
        {"render_modes": []},
        {"render_modes": None},
        {"render_fps": 3},
        {},
    ],
)
def test_render_metadata_like_gymnasium(metadata: Any, mode: str | None) -> None:
    compare(lambda gym: rendered(gym, metadata, mode, np.zeros((2, 2, 3), np.uint8)))


def test_render_modes_that_are_no_sequence() -> None:
    with pytest.warns(UserWarning, match="Expects the render_modes to be a sequence"):
        assert rendered(gymcore, {"render_modes": 3}, None, "frame") == "frame"
