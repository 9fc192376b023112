"""docs/contract.md, section 13: infos."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import gymcore as gym
from tests.testing_env import assert_same
from tests.vector.contract_envs import CountingEnv, make_engine

# 13 Infos


def with_infos(python_backend, *lanes):
    """Return an engine whose lanes return these infos, one per step, and an empty one in reset."""
    fns = [functools.partial(CountingEnv, i, infos=[{}, *own]) for i, own in enumerate(lanes)]
    envs = make_engine(python_backend, fns)
    assert envs.reset()[1] == {}
    return envs


def infos_of(python_backend, *lanes):
    """Return the infos of one step."""
    with with_infos(python_backend, *([one] for one in lanes)) as envs:
        return envs.step([0] * len(lanes))[4]


def column(*values):
    return np.array(values)


def objects(*values):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def test_13_1_numbers_make_columns(python_backend):
    infos = infos_of(
        python_backend,
        {"speed": 1.5, "score": 3},
        {},
        {"speed": 2.5, "won": True, "weight": np.float32(0.5), "code": np.uint8(7)},
    )
    expected = {
        "speed": column(1.5, 0.0, 2.5),
        "_speed": column(True, False, True),
        "score": column(3, 0, 0),
        "_score": column(True, False, False),
        "won": column(False, False, True),
        "_won": column(False, False, True),
        "weight": np.array([0, 0, 0.5], np.float32),
        "_weight": column(False, False, True),
        "code": np.array([0, 0, 7], np.uint8),
        "_code": column(False, False, True),
    }
    assert_same(infos, expected)


def test_13_2_arrays_dicts_and_objects(python_backend):
    infos = infos_of(
        python_backend,
        {"place": np.array([1, 2], np.int16), "name": "a", "path": [1]},
        {"nested": {"depth": 4, "more": {"x": "y"}}},
    )
    mask, other = column(True, False), column(False, True)
    expected = {
        "place": np.array([[1, 2], [0, 0]], np.int16),
        "_place": mask,
        "name": objects("a", None),
        "_name": mask,
        "path": objects([1], None),
        "_path": mask,
        "nested": {
            "depth": column(0, 4),
            "_depth": other,
            "more": {"x": objects(None, "y"), "_x": other},
            "_more": other,
        },
        "_nested": other,
    }
    assert_same(infos, expected)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (1, 2.5, column(1.0, 2.5)),
        (2.5, 1, column(2.5, 1.0)),
        (True, 3, column(1, 3)),
        (np.int8(1), 300, np.array([1, 300])),
        (np.float32(0.5), 0.1, column(0.5, 0.1)),
        (1, 2**70, objects(1, 2**70)),
        (1, "text", objects(1, "text")),
        (1, None, objects(1, None)),
        (np.array([1, 2]), np.array([0.5, 1]), np.array([[1, 2], [0.5, 1]])),
        (np.array([1, 2]), 2.5, np.array([[1, 2], [2.5, 2.5]])),
    ],
)
def test_13_3_columns_widen(python_backend, first, second, expected):
    found = infos_of(python_backend, {"k": first}, {"k": second})["k"]
    assert found.shape == expected.shape
    assert found.tolist() == expected.tolist()
    if expected.dtype == object:
        assert found.dtype == object
    else:
        assert np.can_cast(expected.dtype, found.dtype, "safe") or found.dtype == expected.dtype


def test_13_3_none_is_nan_among_floats(python_backend):
    found = infos_of(python_backend, {"k": 2.5}, {"k": None})["k"]
    np.testing.assert_array_equal(found, column(2.5, np.nan))


@dataclass
class Landmark:
    """A user-defined info value."""

    name: str
    distance: float


def test_13_4_other_values_come_through(python_backend):
    value = {
        "landmark": Landmark("door", 1.5),
        "large": "once upon a time" * 20_000,
        "picture": np.arange(300_000, dtype=np.uint8).reshape(300, 1000),
        "set": {1, "x"},
        3: "a key that is no text",
    }
    for _ in range(2):
        infos = infos_of(python_backend, value, {})
        for key, one in value.items():
            found = infos[key][0]
            assert type(found) is type(one)
            assert np.array_equal(found, one) if key == "picture" else found == one
            assert infos[f"_{key}"].tolist() == [True, False]


def test_13_5_infos_of_every_step_are_its_own(python_backend):
    shared = {"numbers": np.array([1.0, 2.0])}
    lane = [{"a": 1}, {}, shared, {"a": 2}, shared]
    with with_infos(python_backend, lane, [{}] * 5) as envs:
        found = [envs.step([0, 0])[4] for _ in range(5)]
    assert [sorted(map(str, one)) for one in found] == [
        ["_a", "a"],
        [],
        ["_numbers", "numbers"],
        ["_a", "a"],
        ["_numbers", "numbers"],
    ]
    assert [int(found[i]["a"][0]) for i in (0, 3)] == [1, 2]
    found[2]["numbers"][:] = 7
    assert found[4]["numbers"].tolist() == [[1, 2], [0, 0]]


def test_13_6_add_info_can_be_overridden(python_backend):
    base = gym.vector.SyncVectorEnv if python_backend == "sync" else gym.vector.AsyncVectorEnv

    class Listing(base):
        def _add_info(self, vector_infos, env_info, env_num):
            vector_infos.setdefault("seen", []).append((env_num, dict(env_info)))
            return vector_infos

    options = {} if python_backend == "sync" else {"shared_memory": python_backend == "async"}
    fns = [functools.partial(CountingEnv, i, infos=[{"r": i}, {"s": i}, {}]) for i in range(3)]
    with Listing(fns, **options) as envs:
        assert envs.reset()[1] == {"seen": [(i, {"r": i}) for i in range(3)]}
        assert envs.step([0, 0, 0])[4] == {"seen": [(i, {"s": i}) for i in range(3)]}
        assert envs.step([0, 0, 0])[4] == {}
