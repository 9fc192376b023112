"""SyncVectorEnv when its environments raise, are replaced, or step it themselves."""

import gc
import weakref

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.vector import SyncVectorEnv, VectorEnv
from tests.testing_env import make_counting_env

CountingEnv = make_counting_env(gymcore)


class TwoArguments(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code


class Faulty(CountingEnv):
    """Environment that raises the entry of `faults` for each method's name."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.faults = {}

    def fail(self, name):
        if name in self.faults:
            raise self.faults[name]

    def reset(self, **kwargs):
        self.fail("reset")
        return super().reset(**kwargs)

    def step(self, action):
        self.fail("step")
        return super().step(action)

    def render(self):
        self.fail("render")
        return super().render()

    def close(self):
        super().close()
        self.fail("close")

    def shout(self):
        self.fail("shout")
        return "ah"


def make_envs(n=3, length=2, **kwargs):
    return SyncVectorEnv([lambda: Faulty(length) for _ in range(n)], **kwargs)


PROBLEMS = [OSError("no disk"), KeyError("door"), TwoArguments(3, "bad"), error.ResetNeeded("me")]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("call", ["reset", "step"])
def test_exceptions_name_the_environment(problem, mode, call):
    envs = make_envs(autoreset_mode=mode)
    envs.reset(seed=1)
    envs.envs[1].faults[call] = problem
    with pytest.raises(error.EnvironmentFailed) as caught:
        envs.step([0] * 3) if call == "step" else envs.reset()
    failure = caught.value
    assert failure.lanes == [1]
    assert failure.__cause__ is problem
    assert str(failure).startswith(f"environment 1 raised {type(problem).__name__} in {call}")
    if not isinstance(problem, TwoArguments):
        assert isinstance(failure, type(problem))

    envs.envs[1].faults.clear()
    mask = np.array([False, True, False])
    for refused in (lambda: envs.step([0] * 3), lambda: envs.reset(options={"reset_mask": mask})):
        with pytest.raises(error.ResetNeeded, match="reset"):
            refused()
    assert envs.reset(seed=5)[0].tolist() == [[5, 0], [6, 0], [7, 0]]
    assert envs.step([0] * 3)[0].tolist() == [[5, 1], [6, 1], [7, 1]]


@pytest.mark.parametrize(("mode", "steps"), [("NextStep", 3), ("SameStep", 2)])
def test_exceptions_of_automatic_resets(mode, steps):
    envs = make_envs(autoreset_mode=mode)
    envs.reset()
    envs.envs[2].faults["reset"] = OSError("no door")
    for _ in range(steps - 1):
        envs.step([0] * 3)
    with pytest.raises(OSError, match="environment 2 raised OSError in reset: no door"):
        envs.step([0] * 3)


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), SystemExit(3)])
def test_interrupts_pass_as_they_are(problem):
    envs = make_envs()
    envs.reset()
    envs.envs[1].faults["step"] = problem
    with pytest.raises(type(problem)) as caught:
        envs.step([0] * 3)
    assert caught.value is problem
    with pytest.raises(error.ResetNeeded):
        envs.step([0] * 3)
    envs.envs[1].faults.clear()
    envs.reset()
    envs.step([0] * 3)


@pytest.mark.parametrize(
    "result",
    [
        (np.zeros(3, int), 0, False, False, {}),
        (np.zeros(2, int), None, False, False, {}),
        (np.zeros(2), 0, False, False, {}),
        (np.zeros(2, int), 0, False, {}),
        None,
    ],
)
def test_bad_results_name_the_environment(result):
    envs = make_envs()
    envs.reset()
    envs.envs[2].step = lambda action: result
    with pytest.raises((ValueError, TypeError)) as caught:
        envs.step([0] * 3)
    assert isinstance(caught.value, error.EnvironmentFailed)
    assert caught.value.lanes == [2]
    with pytest.raises(error.ResetNeeded):
        envs.step([0] * 3)


def test_exceptions_of_constructors():
    made = []

    def make():
        made.append(CountingEnv())
        return made[-1]

    def fail():
        raise TwoArguments(1, "no display")

    with pytest.raises(
        error.EnvironmentFailed, match=r"environment 2 .* its constructor"
    ) as caught:
        SyncVectorEnv([make, make, fail, make])
    assert caught.value.lanes == [2]
    assert [env.num_closed for env in made] == [1, 1]


def test_exceptions_of_other_methods_leave_the_batch_as_it_is():
    envs = make_envs()
    envs.reset(seed=1)
    env = envs.envs[1]
    env.faults = {"render": OSError("no screen"), "shout": ValueError("hoarse")}
    with pytest.raises(OSError, match="environment 1 raised OSError in render: no screen"):
        envs.render()
    with pytest.raises(ValueError, match="environment 1 raised ValueError in shout: hoarse"):
        envs.call("shout")
    with pytest.raises(AttributeError, match=r"environment 0 .*no_such"):
        envs.get_attr("no_such")
    env.set_wrapper_attr = lambda name, value: env.fail("shout")
    with pytest.raises(ValueError, match="environment 1 raised ValueError in set_attr"):
        envs.set_attr("length", 4)
    assert envs.step([0] * 3)[0].tolist() == [[1, 1], [2, 1], [3, 1]]


@pytest.mark.parametrize("problem", [OSError("stuck"), KeyboardInterrupt()])
def test_close_reaches_every_environment(problem):
    envs = make_envs()
    envs.envs[0].faults["close"] = OSError("first")
    envs.envs[1].faults["close"] = problem
    with pytest.raises(type(problem)) as caught:
        envs.close()
    if isinstance(problem, OSError):
        assert caught.value.lanes == [0, 1]
        assert "first" in str(caught.value)
    assert envs.closed
    assert [env.num_closed for env in envs.envs] == [1, 1, 1]
    envs.close()
    assert [env.num_closed for env in envs.envs] == [1, 1, 1]
    for env in envs.envs:  # the parameter's traceback keeps them until Python closes them at exit
        env.faults.clear()


def test_the_environment_may_close_its_batch():
    envs = make_envs()
    envs.reset()
    step = envs.envs[1].step
    envs.envs[1].step = lambda action: (envs.close(), step(action))[1]
    envs.step([0] * 3)
    with pytest.raises(error.ClosedEnvironmentError):
        envs.step([0] * 3)


def test_the_environment_must_not_step_its_batch():
    envs = make_envs()
    envs.reset()
    envs.envs[1].step = lambda action: envs.step([0] * 3)
    with pytest.raises(error.ConcurrentUseError, match="one at a time") as caught:
        envs.step([0] * 3)
    assert caught.value.lanes == [1]


# Replacing environments and their methods


def test_environments_may_be_replaced():
    envs = make_envs(length=5)
    envs.reset(seed=1)
    other = Faulty(5)
    other.reset(seed=50)
    envs.envs[1] = other
    assert envs.step([0] * 3)[0].tolist() == [[1, 1], [50, 1], [3, 1]]
    envs.envs[2].step = lambda action: (np.array([9, 9]), 0, False, False, {})
    assert envs.step([0] * 3)[0][2].tolist() == [9, 9]
    envs.envs = [other] * 3
    assert envs.step([0] * 3)[0].tolist() == [[50, 3], [50, 4], [50, 5]]
    envs.envs.pop()
    with pytest.raises(error.InvalidArgument, match="expected 3 environments, got 2"):
        envs.step([0] * 3)


def test_batches_are_freed_without_a_collection():
    class Named(SyncVectorEnv):
        def _add_info(self, vector_infos, env_info, env_num):
            return super()._add_info(vector_infos, {"who": env_num}, env_num)

    gc.collect()
    gc.disable()
    try:
        for kind in (SyncVectorEnv, Named):
            envs = kind([CountingEnv] * 2)
            envs.reset()
            envs.step([0, 0])
            alive = weakref.ref(envs)
            del envs
            assert alive() is None
    finally:
        gc.enable()


# _add_info


def test_overridden_add_info():
    class Named(SyncVectorEnv):
        def _add_info(self, vector_infos, env_info, env_num):
            return VectorEnv._add_info(self, vector_infos, {"who": env_num, **env_info}, env_num)

    envs = Named([lambda n=n: CountingEnv(n) for n in (1, 9, 9)], autoreset_mode="SameStep")
    assert envs.reset()[1]["who"].tolist() == [0, 1, 2]
    infos = envs.step([0] * 3)[4]
    assert infos["who"].tolist() == [0, 1, 2]
    assert infos["_final_obs"].tolist() == [True, False, False]
    infos = envs.step([0] * 2, [2, 0])[4]
    assert infos["who"].tolist() == [2, 0]
    assert infos["_final_obs"].tolist() == [False, True]
    assert infos["final_info"]["elapsed"].tolist() == [0, 1]
    assert infos["elapsed"].tolist() == [2, 0]
    assert infos["_elapsed"].tolist() == [True, False]


def test_add_info_that_keeps_a_list():
    class Listed(SyncVectorEnv):
        def _add_info(self, vector_infos, env_info, env_num):
            return {**vector_infos, "all": [*vector_infos.get("all", ()), (env_num, env_info)]}

    envs = Listed([CountingEnv] * 2)
    assert envs.reset()[1] == {"all": [(0, {"episode": 1}), (1, {"episode": 1})]}
    assert envs.step([0, 0])[4] == {"all": [(0, {"elapsed": 1}), (1, {"elapsed": 1})]}
    assert envs.step([0], [1])[4]["all"] == [(1, {"elapsed": 2})]
