from __future__ import annotations

import sys
import textwrap

import numpy as np
import pytest

import gymcore
from gymcore import spaces
from gymcore.cli.errors import CliError
from gymcore.cli.policies import Lanes, PolicyActions, RandomActions, load_policy, world_actions_of

SPACES = {
    "coin": spaces.Discrete(2),
    "three": spaces.Discrete(3, start=-1),
    "many": spaces.Discrete(1000, start=5),
    "byte": spaces.Discrete(256),
    "narrow": spaces.Discrete(4, start=2, dtype=np.int32),
    "mixed": spaces.MultiDiscrete([2, 5, 300]),
    "bits": spaces.MultiBinary(7),
    "box": spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 1e-3], np.float32)),
    "double": spaces.Box(-1.0, 3.0, (2, 2), np.float64),
    "pixels": spaces.Box(0, 255, (3,), np.uint8),
    "open": spaces.Box(np.array([-np.inf, 1.0]), np.array([-5.0, np.inf]), dtype=np.float64),
    "unbounded": spaces.Box(-np.inf, np.inf, (2,), np.float32),
}


@pytest.mark.parametrize("name", SPACES)
def test_every_random_action_lies_in_the_space(name: str) -> None:
    space = SPACES[name]
    block = RandomActions(space, num_envs=5, seed=3).block(200)
    assert block.shape == (200, 5, *space.shape)
    assert block.dtype == space.dtype
    assert block.flags.c_contiguous
    for action in block.reshape(1000, *space.shape):
        assert space.contains(action[()] if space.shape == () else action)


@pytest.mark.parametrize(("name", "values"), [("coin", 2), ("three", 3), ("narrow", 4)])
def test_discrete_actions_are_uniform(name: str, values: int) -> None:
    block = RandomActions(SPACES[name], num_envs=10, seed=0).block(3000)
    _, counts = np.unique(block, return_counts=True)
    assert len(counts) == values
    expected = 30_000 / values
    # Five standard deviations of a binomial count.
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_a_box_is_filled_from_bound_to_bound() -> None:
    block = RandomActions(SPACES["box"], num_envs=10, seed=0).block(3000)
    np.testing.assert_allclose(block.min(axis=(0, 1)), [-2.0, 0.0], atol=2e-3)
    np.testing.assert_allclose(block.max(axis=(0, 1)), [2.0, 1e-3], atol=2e-3)
    np.testing.assert_allclose(block.mean(axis=(0, 1)), [0.0, 5e-4], atol=0.05)


@pytest.mark.parametrize("name", SPACES)
def test_the_seed_decides_and_consecutive_blocks_differ(name: str) -> None:
    first, again, other = (RandomActions(SPACES[name], 64, seed) for seed in (1, 1, 2))
    one = first.block(16)
    np.testing.assert_array_equal(one, again.block(16))
    assert (one != other.block(16)).any()
    assert (one != first.block(16)).any()


def test_spaces_without_arrays_ask_for_a_policy() -> None:
    with pytest.raises(CliError, match=r"--policy module:function"):
        RandomActions(spaces.Tuple((spaces.Discrete(2),)), 4, 0)


LANES = Lanes(2, spaces.Box(-1, 1, (4,)), spaces.Discrete(2), spaces.MultiDiscrete([2, 2]))


@pytest.fixture
def policies(tmp_path, monkeypatch):
    (tmp_path / "some_policies.py").write_text(
        textwrap.dedent(
            """
            class Agent:
                def act(self, observations):
                    return [0] * len(observations)

            agent = Agent()
            constant = 3
            """
        )
    )
    (tmp_path / "broken_policies.py").write_text("import numpy as np\n1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("some_policies", "broken_policies"):
        sys.modules.pop(name, None)


def test_a_policy_is_found_inside_objects(policies) -> None:
    assert load_policy("some_policies:agent.act", LANES)(np.zeros((2, 4)), None) == [0, 0]
    assert load_policy("some_policies:agent", LANES)(np.zeros((2, 4)), None) == [0, 0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("some_policies", "expected 'random', FILE.npz or module:name"),
        (":f", "expected 'random', FILE.npz or module:name"),
        ("no_such_module_here:f", "cannot import 'no_such_module_here'"),
        ("broken_policies:f", "ZeroDivisionError"),
        ("some_policies:missing", "has no 'missing'"),
        ("some_policies:constant", "expected a function of observations, .*, got 3"),
    ],
)
def test_a_bad_policy_name_says_what_is_wrong(policies, name: str, message: str) -> None:
    with pytest.raises(CliError, match=message):
        load_policy(name, LANES)


BATCH = spaces.MultiDiscrete([2, 2, 2])


def test_actions_are_converted_to_the_dtype_of_the_space() -> None:
    actions = PolicyActions(lambda obs, begins: np.array([1, 0, 1], np.int8), BATCH, "m:f")(None)
    assert actions.dtype == np.int64
    np.testing.assert_array_equal(actions, [1, 0, 1])


def test_the_policy_sees_the_observations() -> None:
    observations = np.arange(12.0).reshape(3, 4)
    act = PolicyActions(lambda obs, begins: (obs[:, 0] > 3).astype(int), BATCH, "m:f")
    np.testing.assert_array_equal(act(observations), [0, 1, 1])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([1, 0], r"m:f: expected actions of shape \(3,\), got \(2,\)"),
        (1, r"got \(\)"),
        (np.zeros((3, 1), int), r"got \(3, 1\)"),
        ([0.5, 0.5, 0.5], "expected actions of dtype int64, got float64"),
        (["a", "b", "c"], "expected actions of dtype int64"),
    ],
)
def test_wrong_answers_name_the_policy_and_both_shapes_or_dtypes(answer, message: str) -> None:
    with pytest.raises(CliError, match=message):
        PolicyActions(lambda obs, begins: answer, BATCH, "m:f")(None)


def test_an_exception_in_the_policy_is_told_and_kept_as_the_cause() -> None:
    def policy(observations, begins):
        raise KeyError("weights")

    with pytest.raises(CliError, match=r"m:f raised KeyError: 'weights'") as caught:
        PolicyActions(policy, BATCH, "m:f")(None)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_policy_acts_for_each_agent_of_worlds() -> None:
    with gymcore.make_vec("mpe/simple_spread_v3", 2) as envs:
        act = world_actions_of("tests.cli.environments:push_left", envs, 1)
        assert act(np.zeros((2, 3, 18))).tolist() == [[0, 0, 0], [0, 0, 0]]
        assert world_actions_of("random", envs, 1)(np.zeros((2, 3, 18))).shape == (2, 3)
