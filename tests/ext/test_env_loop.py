"""EnvLoop: its results in every mode, and its treatment of the values environments return."""

import gc
import threading
import weakref

import numpy as np
import pytest

import gymcore.error as errors
from gymcore_ext.python_envs.batch_buffer import BatchBuffer
from gymcore_ext.python_envs.env_loop import REWARD_AND_END_LAYOUT, EnvLoop
from tests.ext.loop_envs import DISABLED, LAYOUT, NEXT_STEP, SAME_STEP, Counter, make_loop
from tests.testing_env import assert_same


def columns(**lists):
    """Return merged infos: a list of values for each key, None where a lane has none."""
    infos = {}
    for key, column in lists.items():
        infos[key] = np.array([0 if value is None else value for value in column])
        infos[f"_{key}"] = np.array([value is not None for value in column])
    return infos


def flags(*values):
    return np.array(values, bool)


def rows(*values):
    return np.array(values, np.float32)


# Modes, literally: lanes of length 1 and 2


def test_next_step():
    loop, envs = make_loop((1, 2))
    assert_same(loop.reset(), (rows([0, 0], [1, 0]), columns(began=[0, 1])))
    no = flags(0, 0)
    for observations, rewards, terminated, infos in (
        (rows([0, 1], [1, 1]), [1.0, 1.0], flags(1, 0), columns(elapsed=[1, 1])),
        (
            rows([0, 0], [1, 2]),
            [0.0, 2.0],
            flags(0, 1),
            columns(began=[0, None], elapsed=[None, 2]),
        ),
        (
            rows([0, 1], [1, 0]),
            [1.0, 0.0],
            flags(1, 0),
            columns(elapsed=[1, None], began=[None, 1]),
        ),
    ):
        step = loop.step(["a", "b"])
        assert_same(step, (observations, np.array(rewards), terminated, no, infos))
    assert [call[0] for call in envs[0].calls] == ["reset", "step", "reset", "step"]


def test_same_step():
    loop, envs = make_loop((1, 2), SAME_STEP)
    loop.reset()
    observations, rewards, terminated, truncated, infos = loop.step(["a", "b"])
    assert_same(observations, rows([0, 0], [1, 1]))
    assert_same((rewards, terminated), (np.array([1.0, 1.0]), flags(1, 0)))
    assert not truncated.any()
    assert list(infos) == [
        *("final_obs", "_final_obs", "final_info", "_final_info", "began", "_began"),
        *("elapsed", "_elapsed"),
    ]
    assert_same(infos["final_obs"][0], rows(0, 1))
    assert infos["final_obs"][1] is None
    assert_same(infos["final_info"], columns(elapsed=[1, None]))
    assert [call[0] for call in envs[0].calls] == ["reset", "step", "reset"]


def test_disabled():
    loop, envs = make_loop((1, 2), DISABLED)
    loop.reset()
    assert loop.step(["a", "b"])[2].tolist() == [True, False]
    assert loop.ended_lanes().tolist() == [True, False]
    assert_same(loop.step(["b"], [1])[0], rows([1, 2]))
    ended = loop.ended_lanes()
    loop.reset([0])
    assert loop.ended_lanes().tolist() == [False, True]
    assert ended.tolist() == [True, True]
    assert len(envs[1].calls) == 3


# Subsets


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_subsets_are_rows_of_full_steps(mode):
    one, _ = make_loop((1, 2, 3, 4), mode)
    other, _ = make_loop((1, 2, 3, 4), mode)
    one.reset(), other.reset()
    for _ in range(9):
        whole = one.step([0] * 4)
        for lanes in ([2], [3, 0, 1]):
            part = other.step([0] * len(lanes), lanes)
            for k in range(4):
                assert_same(part[k], whole[k][lanes])
            for key, column in part[4].items():
                if key == "final_info":
                    assert_same(column["elapsed"], whole[4][key]["elapsed"][lanes])
                else:
                    assert_same(column, whole[4][key][lanes])


def test_subsets_leave_other_lanes_alone():
    loop, envs = make_loop((1, 2, 3))
    loop.reset()
    loop.step(["x"], [1])
    assert [env.elapsed for env in envs] == [0, 1, 0]
    observations, infos = loop.reset([2], [5], {"a": 1})
    assert_same(observations, rows([0, 0], [1, 1], [2, 0]))
    assert_same(infos, columns(began=[None, None, 2]))
    assert envs[2].calls[-1] == ("reset", 5, {"a": 1})
    assert loop.step([0] * 3)[0].tolist() == [[0, 1], [1, 2], [2, 1]]


def test_bad_subsets_step_nothing():
    loop, envs = make_loop()
    loop.reset()
    for lanes in ([3], [-1], [0, 9]):
        with pytest.raises(IndexError, match="not in"):
            loop.step([0] * len(lanes), lanes)
        with pytest.raises(IndexError, match="not in"):
            loop.reset(lanes)
    with pytest.raises(errors.InvalidArgument, match="actions: expected 1, got 2"):
        loop.step([0, 0], [1])
    with pytest.raises(errors.InvalidArgument, match="seeds: expected 1, got 2"):
        loop.reset([0], [1, 2])
    assert all(len(env.calls) == 1 for env in envs)


def test_many_sizes_of_subsets():
    loop, _ = make_loop((9,) * 8)
    loop.reset()
    kept = [loop.step([0] * n, list(range(n))) for n in range(1, 9)]
    for n, step in enumerate(kept, 1):
        assert step[0][:, 1].tolist() == [n - lane for lane in range(n)]


# Results of environments


@pytest.mark.parametrize(
    "reward",
    [
        *(2, 2.0, np.float32(2), np.int64(2), True + 1),
        *(np.array(2.0), np.array([2.0]), np.array([[2]]), [2.0]),
    ],
)
def test_rewards(reward):
    loop, envs = make_loop((5,))
    loop.reset()
    envs[0].result = np.zeros(2), reward, False, False, {}
    rewards = loop.step([0])[1]
    assert_same(rewards, np.array([2.0]))


@pytest.mark.parametrize(
    ("reward", "exception"),
    [
        (None, TypeError),
        ("2", TypeError),
        (["2", None], TypeError),
        (np.zeros(2), ValueError),  # another lane's is a number
        (np.zeros((2, 2)), ValueError),
        (np.zeros(0), ValueError),
    ],
)
def test_no_rewards(reward, exception):
    loop, envs = make_loop((5, 5))
    loop.reset()
    envs[1].result = np.zeros(2), reward, False, False, {}
    with pytest.raises(exception, match="reward"):
        loop.step([0, 0])
    assert (loop.failed_lane, loop.failed_call) == (1, "step")


@pytest.mark.parametrize("yes", [True, 1, np.True_, np.array(True), np.array([1])])
def test_flags(yes):
    loop, envs = make_loop((5,), DISABLED)
    for result in ((yes, False), (0, yes), (yes, np.True_)):
        loop.reset()
        envs[0].result = np.zeros(2), 0, *result, {}
        step = loop.step([0])
        assert [step[2].tolist(), step[3].tolist()] == [[bool(flag)] for flag in result]
        assert loop.ended_lanes().tolist() == [True]


@pytest.mark.parametrize(
    ("result", "exception", "message"),
    [
        ((0, 0, 0, {}), ValueError, "5 values .* got 4 .the API before Gym 0.26"),
        ((0, 0, 0, 0, {}, 1), ValueError, "got 6"),
        ((), ValueError, "got 0"),
        (7, TypeError, "expected a tuple of 5 .* got int"),
        ("abcde", TypeError, "got str"),
    ],
)
def test_steps_that_return_something_else(result, exception, message):
    loop, envs = make_loop((5,))
    loop.reset()
    envs[0].result = result
    with pytest.raises(exception, match=rf"step\(\) of <.*Counter.*>: .*{message}"):
        loop.step([0])
    assert loop.needs_reset()


def test_lists_and_named_tuples_will_do():
    loop, envs = make_loop((5,))
    loop.reset()
    envs[0].result = [np.ones(2), 1, False, True, {"a": 1}]
    assert loop.step([0])[3].tolist() == [True]


@pytest.mark.parametrize("result", [np.zeros(2), (np.zeros(2),), None])
def test_resets_that_return_something_else(result):
    loop, envs = make_loop((5,))
    envs[0].reset = lambda **kwargs: result
    with pytest.raises((ValueError, TypeError), match=r"reset\(\) of <.*Counter.*>: expected"):
        loop.reset()
    assert loop.failed_call == "reset"


@pytest.mark.parametrize("info", [{}, None, ()])
def test_no_infos(info):
    loop, envs = make_loop((5,))
    loop.reset()
    envs[0].result = np.ones(2), 1, False, False, info
    assert loop.step([0])[4] == {}


def test_methods_may_be_replaced():
    loop, envs = make_loop((5, 5))
    loop.reset()
    envs[1] = Counter(7, 5)
    envs[0].step = lambda action: (np.full(2, action), 9, False, False, {})
    assert loop.step([3, 3])[0].tolist() == [[3, 3], [7, 1]]


# Exceptions


class Stop(BaseException):
    pass


@pytest.mark.parametrize("problem", [OSError("x"), KeyError("x"), Stop(), KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["step", "reset", "autoreset"])
def test_after_an_exception_all_must_be_reset(problem, call):
    loop, envs = make_loop((1, 1, 1))
    loop.reset()
    if call == "autoreset":
        loop.step([0] * 3)
    envs[1].raising = problem
    with pytest.raises(type(problem)) as caught:
        loop.reset() if call == "reset" else loop.step([0] * 3)
    assert caught.value is problem
    assert (loop.failed_lane, loop.failed_call) == (1, "step" if call == "step" else "reset")
    assert loop.needs_reset()
    for method in (
        lambda: loop.step([0] * 3),
        lambda: loop.step([0], [0]),
        lambda: loop.reset([0]),
    ):
        with pytest.raises(errors.ResetNeeded, match="all lanes"):
            method()
        assert loop.failed_lane == -1
    assert loop.reset()[0].tolist() == [[0, 0], [1, 0], [2, 0]]
    assert not loop.needs_reset()
    loop.step([0] * 3)


def test_after_a_refused_action_all_lanes_are_reset():
    loop, envs = make_loop()
    loop.reset()
    envs[1].raising = errors.InvalidAction("no such action")
    with pytest.raises(errors.InvalidAction):
        loop.step([0] * 3)
    assert loop.failed_lane == 1
    assert loop.needs_reset()
    with pytest.raises(errors.ResetNeeded):
        loop.step([0] * 3)
    loop.reset()
    assert loop.step([0] * 3)[0][:, 1].tolist() == [1, 1, 1]


def test_a_bad_observation_names_the_lane():
    loop, envs = make_loop()
    loop.reset()
    envs[2].result = np.zeros(3), 0, False, False, {}
    with pytest.raises(ValueError, match=r"expected an array of shape \(2,\)"):
        loop.step([0] * 3)
    assert (loop.failed_lane, loop.failed_call) == (2, "step")


def test_what_merges_infos_is_no_environment():
    def add_info(infos, info, lane):
        raise OSError("disk full")

    loop, _ = make_loop(add_info=add_info)
    with pytest.raises(OSError, match="disk full"):
        loop.reset()
    assert loop.failed_lane == -1
    assert loop.needs_reset()


def test_infos_of_another_form():
    def add_info(infos, info, lane):
        return {**infos, lane: info, "lanes": np.arange(3), "deep": {"lanes": np.arange(3)}}

    loop, _ = make_loop((5, 5, 5), add_info=add_info)
    assert loop.reset()[1][2] == {"began": 2}
    infos = loop.step([0, 0], [2, 0])[4]
    assert infos[2] == {"elapsed": 1}
    assert infos["lanes"].tolist() == infos["deep"]["lanes"].tolist() == [2, 0]
    assert 1 not in infos


# One caller at a time


def test_environments_must_not_step_their_loop():
    loop, envs = make_loop((5, 5))
    loop.reset()
    envs[1].step = lambda action: loop.step([0, 0])
    with pytest.raises(errors.ConcurrentUseError, match="one at a time"):
        loop.step([0, 0])
    loop.reset()
    envs[1].step = lambda action: loop.reset()
    with pytest.raises(errors.ConcurrentUseError):
        loop.step([0, 0])


def test_other_threads_are_refused():
    loop, envs = make_loop((5, 5))
    loop.reset()
    caught = []

    def step(action):
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join(60)
        return np.zeros(2), 0, False, False, {}

    def attempt():
        try:
            loop.step([0, 0])
        except errors.ConcurrentUseError as problem:
            caught.append(problem)

    envs[0].step = step
    loop.step([0, 0])
    assert len(caught) == 1
    assert not loop.needs_reset()


def test_lists_that_shrink_are_noticed():
    loop, envs = make_loop((5, 5))
    loop.reset()
    envs[0].step = lambda action: (np.full(2, envs.pop().lane), 0, False, False, {})
    with pytest.raises(errors.InvalidArgument, match="envs: expected 2 environments, got 1"):
        loop.step([0, 0])
    with pytest.raises(errors.InvalidArgument, match="envs: expected 2 environments, got 1"):
        loop.reset()


def test_loops_are_freed():
    loop, envs = make_loop()
    loop.reset()
    alive = weakref.ref(envs[0])
    del envs, loop
    assert alive() is None
    gc.collect()


# Construction


def buffers(n):
    return BatchBuffer(LAYOUT, n), BatchBuffer(REWARD_AND_END_LAYOUT, n)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"mode": 3},
        {"mode": 0, "first": 1},
        {"mode": 0, "first": -1},
    ],
)
def test_bad_arguments(kwargs):
    with pytest.raises(errors.InvalidArgument):
        EnvLoop([Counter(0)], *buffers(1), errors=errors, **kwargs)


def test_no_half_made_loops():
    with pytest.raises(TypeError):
        EnvLoop.__new__(EnvLoop)


def test_rows_of_another_number():
    with pytest.raises(errors.InvalidArgument, match=r"observations: expected 1 rows .* got 2"):
        EnvLoop([Counter(0)], *buffers(2), mode=0, errors=errors)
    with pytest.raises(errors.InvalidArgument, match="envs: expected at least one"):
        EnvLoop([], *buffers(0), mode=0, errors=errors)
