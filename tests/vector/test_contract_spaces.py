"""docs/contract.md, section 12: observations and actions of every space."""

import copy
import functools

import numpy as np
import pytest

from gymcore import error, spaces
from gymcore.vector.utils import batch_space, iterate
from tests.vector.contract import (
    DISABLED,
    MODES,
    NEXT_STEP,
    PYTHON_BACKENDS,
    SAME_STEP,
    same_bytes,
)
from tests.vector.contract_envs import (
    BOX_DTYPES,
    KINDS,
    NOT_SHARABLE,
    CountingEnv,
    SingleLane,
    SpaceEnv,
    counting_env_fns,
    described,
    make_engine,
    overwrite,
    row,
    space_env_fns,
)

SEED = 5


def combinations():
    """Return every kind of space with every engine and mode in which it may differ.

    The engines with worker processes have each kind in one mode, which varies with the kind.
    """
    for i, kind in enumerate(KINDS):
        modes = MODES if kind not in BOX_DTYPES else (SAME_STEP,)
        for k, mode in enumerate(modes):
            for b, backend in enumerate(PYTHON_BACKENDS):
                if backend == "sync" or k == (i + b) % len(modes):
                    name = f"{kind}-{backend}-{mode.value}"
                    yield pytest.param((kind, backend, mode), id=name)


# pytest runs all tests of one engine before it makes the next one.
@pytest.fixture(scope="module", params=combinations())
def engine(request):
    """Return an engine whose observations and actions are of one kind of space.

    If shared memory cannot hold observations of the kind, they are of another; the actions are not.
    """
    kind, backend, mode = request.param
    observations = "f4" if backend == "async" and kind in NOT_SHARABLE else kind
    with make_engine(backend, space_env_fns(observations, kind), mode) as envs:
        yield envs


def run(envs, num_steps=8):
    """Step a batch and single lanes with the same actions.

    Yields:
        A result of the batch, the results of the lanes, and the actions, None for a reset.
    """
    lanes = [SingleLane(env_fn(), envs.autoreset_mode) for env_fn in envs.env_fns]
    envs.action_space.seed(SEED)
    yield envs.reset(seed=SEED), [lane.reset(SEED + i) for i, lane in enumerate(lanes)], None
    for _ in range(num_steps):
        actions = envs.action_space.sample()
        single = list(iterate(envs.action_space, actions))
        step = envs.step(actions)
        yield step, [lane.step(one) for lane, one in zip(lanes, single, strict=True)], single
        ended = step[2] | step[3]
        if envs.autoreset_mode is DISABLED and ended.any():
            reset = envs.reset(options={"reset_mask": ended})
            for lane in np.flatnonzero(ended):
                lanes[lane].reset()
            last = [(lane.env.returned[0],) for lane in lanes]
            yield reset, last, None


@pytest.fixture(scope="module")
def steps(engine):
    """Return the results of `run` for the engine, for all tests that check them."""
    return list(run(engine))


def as_number(value):
    """Return the number in an array without axes, and any other value unchanged."""
    return value[()] if isinstance(value, np.ndarray) else value


def test_12_1_rows_are_what_lanes_observed(engine, steps):
    space = engine.single_observation_space
    ends = 0
    for result, expected, _ in steps:
        for i, one in enumerate(expected):
            found = row(space, result[0], i)
            assert described(as_number(found)) == described(as_number(one[0]))
        if len(result) == 5:
            for column, index in ((result[1], 1), (result[2], 2), (result[3], 3)):
                assert column.tolist() == [one[index] for one in expected]
            ends += (result[2] | result[3]).sum()
    assert ends >= 6


def test_12_2_batches_are_of_the_observation_space(engine, steps):
    assert engine.observation_space == batch_space(engine.single_observation_space, 3)
    for result, _, _ in steps:
        assert result[0] in engine.observation_space


def test_12_3_lanes_get_what_iterate_gives(steps):
    compared = 0
    for result, expected, single in steps:
        for i, one in enumerate(expected):
            if single is not None and "action" in one[4]:
                assert result[4]["action"][i] == one[4]["action"] == described(single[i])
                compared += 1
    assert compared >= 10


def test_12_4_final_observations(engine, steps):
    finals = 0
    for result, expected, single in steps:
        if single is None:
            continue
        ended = [one[5] is not None for one in expected]
        assert ("final_obs" in result[4]) is any(ended)
        if any(ended):
            assert engine.autoreset_mode is SAME_STEP
            assert result[4]["_final_obs"].tolist() == ended
            assert result[4]["final_obs"].dtype == object
            for i, one in enumerate(expected):
                found = result[4]["final_obs"][i]
                if ended[i]:
                    finals += 1
                    assert described(as_number(found)) == described(as_number(one[5]))
                else:
                    assert found is None
    assert (finals >= 6) is (engine.autoreset_mode is SAME_STEP)


REUSED = ("f4", "discrete", "dict", "mixed", "graph", "stacked_sequence", "nested_sequence")


def test_12_5_results_stay_whatever_anybody_writes(python_backend):
    for kind in REUSED:
        if python_backend == "async" and kind in NOT_SHARABLE:
            continue
        with (
            make_engine(python_backend, space_env_fns(kind, reuse=True), SAME_STEP) as envs,
            make_engine("sync", space_env_fns(kind), SAME_STEP) as expected,
        ):
            expected.action_space.seed(SEED)
            kept = [(envs.reset(seed=SEED), expected.reset(seed=SEED))]
            for _ in range(8):
                actions = expected.action_space.sample()
                kept.append((envs.step(actions), expected.step(actions)))
            for found, correct in kept:
                assert same_bytes(described(found), described(correct)), kind
            # The caller may write too.
            found, correct = envs.step(actions), expected.step(actions)
            overwrite(found[:4])
            overwrite(found[4].get("final_obs", ()))
            actions = expected.action_space.sample()
            found, correct = envs.step(actions), expected.step(actions)
            assert same_bytes(described(found), described(correct)), kind


@pytest.mark.parametrize("kind", ["f4", "discrete", "dict", "tuple", "mixed", "text"])
def test_12_6_without_copies(python_backend, kind):
    def arrays(batch):
        if isinstance(batch, dict):
            batch = tuple(batch.values())
        if isinstance(batch, tuple):
            return [array for one in batch for array in arrays(one)]
        return [batch] if isinstance(batch, np.ndarray) else []

    with (
        make_engine(python_backend, space_env_fns(kind), SAME_STEP, copy=False) as envs,
        make_engine("sync", space_env_fns(kind), SAME_STEP) as expected,
    ):
        result, correct = envs.reset(seed=SEED), expected.reset(seed=SEED)
        first = arrays(result[0])
        for _ in range(8):
            assert described(result) == described(correct)
            assert [id(array) for array in arrays(result[0])] == [id(array) for array in first]
            actions = expected.action_space.sample()
            result, correct = envs.step(actions), expected.step(actions)
        assert bool(first) is (kind != "text")


@pytest.mark.parametrize("kind", NOT_SHARABLE)
def test_12_7_what_shared_memory_cannot_hold(kind):
    exception = ValueError if kind == "custom" else TypeError
    with pytest.raises(exception, match="shared_memory") as caught:
        make_engine("async", space_env_fns(kind))
    assert isinstance(caught.value, error.Error)


class Careless(SpaceEnv):
    """Environment that returns observations equal to those of its space, but of other types."""

    def _observation(self):
        one = super()._observation()
        return one.tolist() if self.elapsed % 2 else one.astype(np.float32)


class Misshapen(CountingEnv):
    """Environment that returns an observation of another shape at action 9."""

    def _result(self):
        observation, info = super()._result()
        return (observation[:3] if self.action == 9 else observation), info


def test_12_8_observations_of_another_form(python_backend):
    with (
        make_engine(python_backend, [functools.partial(Careless, "f8")] * 3) as envs,
        make_engine("sync", [functools.partial(SpaceEnv, "f8")] * 3) as expected,
    ):
        found, correct = envs.reset(seed=SEED), expected.reset(seed=SEED)
        for _ in range(5):
            assert found[0].dtype == np.float64
            assert np.array_equal(found[0], correct[0].astype(np.float32)) or np.array_equal(
                found[0], correct[0]
            )
            found, correct = envs.step([0, 0, 0]), expected.step([0, 0, 0])
    with make_engine(python_backend, [functools.partial(Misshapen, i) for i in range(3)]) as envs:
        envs.reset()
        with pytest.raises(error.EnvironmentFailed, match="shape") as caught:
            envs.step([0, 9, 0])
        assert isinstance(caught.value, ValueError)
        assert caught.value.lanes == [1]
        envs.reset()
        assert envs.step([0, 1, 2])[0][:, 3].tolist() == [0, 1, 2]


class Bounded(SpaceEnv):
    """Environment with bounds of its own."""

    def __init__(self, high, shape=(2,)):
        super().__init__()
        self.observation_space = spaces.Box(0, high, shape, np.float32)


def bounded(*highs, **kwargs):
    return [functools.partial(Bounded, high, **kwargs) for high in highs]


def test_12_9_observation_modes(python_backend):
    wide = spaces.Box(0, 9, (2,), np.float32)
    with make_engine(python_backend, bounded(1, 2, 3), observation_mode="different") as envs:
        assert envs.single_observation_space == spaces.Box(0, 1, (2,), np.float32)
        assert envs.observation_space.high.tolist() == [[1, 1], [2, 2], [3, 3]]
        rows = envs.reset(seed=SEED)[0]
        assert rows in envs.observation_space
        alone = [fn().reset(seed=SEED + i)[0] for i, fn in enumerate(bounded(1, 2, 3))]
        assert same_bytes(rows, np.array(alone))
    announced = (batch_space(wide, 3), wide)
    with make_engine(python_backend, bounded(1, 2, 3), observation_mode=announced) as envs:
        assert (envs.observation_space, envs.single_observation_space) == announced
        assert same_bytes(envs.reset(seed=SEED)[0], rows)
    mixed = [*bounded(1, 1), *bounded(1, shape=(3,))]
    for env_fns, mode in ((bounded(1, 2, 3), "same"), (mixed, "same"), (mixed, announced)):
        with pytest.raises(error.SpaceMismatch, match="observation") as caught:
            make_engine(python_backend, env_fns, observation_mode=mode)
        assert isinstance(caught.value, RuntimeError)
    with pytest.raises(ValueError, match="observation_mode"):
        make_engine(python_backend, bounded(1, 1), observation_mode="nonsense")


def test_12_10_action_spaces_are_equal(python_backend):
    env_fns = [*space_env_fns("f4", "discrete"), *space_env_fns("f4", "dict")]
    with pytest.raises(error.SpaceMismatch, match="action space") as caught:
        make_engine(python_backend, env_fns)
    assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize("kind", ["dict", "tuple", "multi_discrete"])
def test_12_11_actions_of_no_such_structure(kind, python_backend):
    with make_engine(python_backend, space_env_fns("f4", kind)) as envs:
        envs.reset(seed=SEED)
        envs.action_space.seed(SEED)
        good = envs.action_space.sample()
        fewer = copy.deepcopy(good)
        if kind == "dict":
            fewer["position"] = fewer["position"][:2]
        elif kind == "tuple":
            fewer = (fewer[0][:2], *fewer[1:])
        else:
            fewer = fewer[:2]
        for bad in (None, 3, fewer, {}, ()):
            with pytest.raises(error.Error):
                envs.step(bad)
        # No lane has moved.
        assert envs.get_attr("elapsed") == (0, 0, 0), kind
        assert envs.step(good)[1].tolist() == [0.5] * 3


def test_every_kind_of_space_is_there():
    kinds = {type(SpaceEnv(kind).observation_space).__name__ for kind in KINDS}
    public = {name for name in spaces.__all__ if isinstance(getattr(spaces, name), type)}
    assert {*public} - {"Space", "GraphInstance"} <= kinds
    assert NEXT_STEP in MODES
    assert len(counting_env_fns()) == 3
