import gc
import weakref

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.spaces import Space
from gymcore.vector import AutoresetMode, SyncVectorEnv
from tests.testing_env import assert_same, make_counting_env, make_random_env

CountingEnv = make_counting_env(gymcore)
RandomEnv = make_random_env(gymcore)


def make_envs(*lengths, ending="terminated", **kwargs):
    return SyncVectorEnv([lambda n=n: CountingEnv(n, ending) for n in lengths], **kwargs)


def infos_of(**columns):
    """Return a merged dict: a list of values for each key, None where a lane has none."""
    infos = {}
    for key, column in columns.items():
        mask = np.array([value is not None for value in column])
        infos[key] = np.array([0 if value is None else value for value in column])
        infos[f"_{key}"] = mask
    return infos


# Literal results of each mode: lanes of length 1 and 3.


def test_next_step_mode():
    envs = make_envs(1, 3)
    assert_same(envs.reset(seed=7), (np.array([[7, 0], [8, 0]]), infos_of(episode=[1, 1])))
    no, yes = np.array([False, False]), np.array([True, False])
    expected = [
        ([[7, 1], [8, 1]], [1.0, 1.0], yes, infos_of(elapsed=[1, 1])),
        ([[7, 0], [8, 2]], [0.0, 2.0], no, {**infos_of(episode=[2, None], elapsed=[None, 2])}),
        ([[7, 1], [8, 3]], [1.0, 3.0], ~no, infos_of(elapsed=[1, 3])),
        ([[7, 0], [8, 0]], [0.0, 0.0], no, infos_of(episode=[3, 2])),
    ]
    for observations, rewards, terminations, infos in expected:
        step = envs.step([0, 1])
        assert_same(step, (np.array(observations), np.array(rewards), terminations, no, infos))
    assert envs.envs[0].actions == [0, 0]  # the actions of resetting steps do not reach it


def test_same_step_mode():
    envs = make_envs(1, 3, ending="truncated", autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset(seed=7)
    no = np.array([False, False])

    def final(final_obs, elapsed):
        column = np.full(2, None, dtype=object)
        for i, obs in enumerate(final_obs):
            column[i] = None if obs is None else np.array(obs)
        mask = np.array([obs is not None for obs in final_obs])
        return {
            "final_obs": column,
            "_final_obs": mask,
            "final_info": infos_of(elapsed=elapsed),
            "_final_info": mask,
        }

    assert_same(
        envs.step([0, 1]),
        (
            np.array([[7, 0], [8, 1]]),
            np.array([1.0, 1.0]),
            no,
            np.array([True, False]),
            {**final([[7, 1], None], [1, None]), **infos_of(episode=[2, None], elapsed=[None, 1])},
        ),
    )
    envs.step([0, 1])
    assert_same(
        envs.step([0, 1]),
        (
            np.array([[7, 0], [8, 0]]),
            np.array([1.0, 3.0]),
            no,
            np.array([True, True]),
            {**final([[7, 1], [8, 3]], [1, 3]), **infos_of(episode=[4, 2])},
        ),
    )
    assert envs.envs[0].actions == [0, 0, 0]


def test_disabled_mode():
    envs = make_envs(1, 3, ending="both", autoreset_mode="Disabled")
    envs.reset(seed=7)
    observations, _, terminations, truncations, infos = envs.step([0, 1])
    ended = np.array([True, False])
    assert_same(observations, np.array([[7, 1], [8, 1]]))
    assert_same((terminations, truncations), (ended, ended))
    assert_same(infos, infos_of(elapsed=[1, 1]))

    with pytest.raises(error.ResetNeeded, match=r"environments \[0\] have ended their episodes"):
        envs.step([0, 1])
    with pytest.raises(AssertionError):
        envs.step([0, 1])
    assert [len(env.actions) for env in envs.envs] == [1, 1]

    assert_same(
        envs.reset(options={"reset_mask": ended}),
        (np.array([[7, 0], [8, 1]]), infos_of(episode=[2, None])),
    )
    assert_same(envs.step([0, 1])[0], np.array([[7, 1], [8, 2]]))


def test_infos_are_empty_when_no_lane_has_any():
    class Silent(CountingEnv):
        def reset(self, **kwargs):
            return super().reset(**kwargs)[0], {}

        def step(self, action):
            return (*super().step(action)[:4], {})

    envs = SyncVectorEnv([lambda: Silent(1)] * 2)
    assert envs.reset()[1] == {}
    assert envs.step([0, 0])[4] == {}
    envs = SyncVectorEnv([lambda: Silent(1)] * 2, autoreset_mode="SameStep")
    envs.reset()
    infos = envs.step([0, 0])[4]
    assert infos["final_info"] == {}
    assert infos["_final_info"].all()


def test_infos_of_mixed_types_are_promoted():
    class Mixed(CountingEnv):
        def step(self, action):
            return (*super().step(action)[:4], {"score": 2.7 if self.length == 9 else 1})

    envs = SyncVectorEnv([lambda: Mixed(5), lambda: Mixed(9)])
    envs.reset()
    assert_same(envs.step([0, 0])[4], infos_of(score=[1, 2.7]))


# Ownership


def test_copied_observations_are_the_callers():
    envs = make_envs(3, 3)
    first = envs.reset(seed=0)[0]
    second = envs.step([0, 0])[0]
    third = envs.step([0, 0])[0]
    second[:] = -1
    assert first.tolist() == [[0, 0], [1, 0]]
    assert third.tolist() == [[0, 2], [1, 2]]
    assert envs.step([0, 0])[0].tolist() == [[0, 3], [1, 3]]


def test_without_copies_observations_are_one_buffer():
    envs = make_envs(3, 3, copy=False)
    first = envs.reset(seed=0)[0]
    second = envs.step([0, 0])[0]
    assert first is second
    assert first.tolist() == [[0, 1], [1, 1]]


def test_rewards_and_flags_are_always_the_callers():
    envs = make_envs(3, 1, copy=False)
    envs.reset()
    _, rewards, terminations, truncations, _ = envs.step([0, 0])
    envs.step([0, 0])
    assert rewards.tolist() == [1, 1]
    assert terminations.tolist() == [False, True]
    assert truncations.tolist() == [False, False]


def test_final_observation_survives_an_environment_that_reuses_its_arrays():
    class Reusing(CountingEnv):
        def __init__(self, *args):
            super().__init__(*args)
            self.buffer = np.zeros(2, dtype=np.int64)
            self.info = {}

        def _reuse(self, observation, info):
            self.buffer[:] = observation
            self.info.clear()
            self.info.update(info)
            return self.buffer, self.info

        def reset(self, **kwargs):
            return self._reuse(*super().reset(**kwargs))

        def step(self, action):
            observation, reward, terminated, truncated, info = super().step(action)
            observation, info = self._reuse(observation, info)
            return observation, reward, terminated, truncated, info

    envs = SyncVectorEnv([lambda: Reusing(2)] * 2, autoreset_mode="SameStep")
    envs.reset(seed=4)
    envs.step([0, 0])
    observations, *_, infos = envs.step([0, 0])
    assert observations.tolist() == [[4, 0], [5, 0]]
    assert [row.tolist() for row in infos["final_obs"]] == [[4, 2], [5, 2]]
    assert_same(infos["final_info"], infos_of(elapsed=[2, 2]))


# Reset arguments


@pytest.mark.parametrize(
    ("seed", "seeds"),
    [(np.int64(3), [3, 4]), ([np.int32(5), 1], [5, 1]), (np.array([5, 1]), [5, 1])],
)
def test_numpy_seeds(seed, seeds):
    envs = make_envs(3, 3)
    envs.reset(seed=seed)
    assert [env.seed for env in envs.envs] == seeds
    assert envs.np_random_seed == tuple(seeds)


@pytest.mark.parametrize(
    ("arguments", "exception"),
    [
        ({"seed": [1]}, ValueError),
        ({"seed": -1}, ValueError),
        ({"seed": [3, -1]}, ValueError),
        ({"seed": 1.5}, TypeError),
        ({"options": 3}, TypeError),
        ({"options": {"reset_mask": [True, False]}}, TypeError),
        ({"options": {"reset_mask": np.array([False, False])}}, ValueError),
    ],
)
def test_bad_reset_arguments_reset_nothing(arguments, exception):
    envs = make_envs(3, 3)
    envs.reset(seed=1)
    envs.step([0, 0])
    with pytest.raises(exception) as caught:
        envs.reset(**arguments)
    assert isinstance(caught.value, error.Error)
    assert [env.num_resets for env in envs.envs] == [1, 1]
    assert envs.step([0, 0])[0].tolist() == [[1, 2], [2, 2]]


def test_callers_options_are_left_as_they_are():
    envs = make_envs(3, 3)
    envs.reset()
    mask = np.array([True, False])
    options = {"reset_mask": mask, "level": 3}
    envs.reset(options=options)
    assert list(options) == ["reset_mask", "level"]
    assert options["reset_mask"] is mask
    assert envs.envs[0].last_options == {"level": 3}
    assert envs.envs[1].last_options is None


def test_first_reset_must_include_every_lane():
    envs = make_envs(3, 3, 3)
    with pytest.raises(error.ResetNeeded, match=r"without environments \[0, 2\]"):
        envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert envs.envs[1].num_resets == 0
    envs.reset(options={"reset_mask": np.ones(3, dtype=bool)})
    assert [env.num_resets for env in envs.envs] == [1, 1, 1]


# Life cycle


def test_step_before_reset():
    with pytest.raises(error.ResetNeeded, match=r"step: call reset\(\)"):
        make_envs(3, 3).step([0, 0])


def test_use_after_close():
    envs = make_envs(3, 3)
    envs.reset()
    envs.close()
    envs.close()
    assert [env.num_closed for env in envs.envs] == [1, 1]
    with pytest.raises(error.ClosedEnvironmentError, match="SyncVectorEnv`, after a call to"):
        envs.step([0, 0])
    with pytest.raises(error.ClosedEnvironmentError, match="SyncVectorEnv`, after a call to"):
        envs.reset()


def test_close_reaches_every_environment_past_an_error():
    class Stuck(CountingEnv):
        def close(self):
            super().close()
            raise OSError(f"length {self.length}")

    envs = SyncVectorEnv([lambda: CountingEnv(1), lambda: Stuck(2), lambda: Stuck(3), CountingEnv])
    with pytest.raises(OSError, match="length 2"):
        envs.close()
    assert [env.num_closed for env in envs.envs] == [1, 1, 1, 1]


def test_a_failing_constructor_closes_what_was_made():
    made = []

    def make():
        made.append(CountingEnv())
        return made[-1]

    def fail():
        raise OSError("no display")

    with pytest.raises(OSError, match="no display"):
        SyncVectorEnv([make, make, fail, make])
    assert [env.num_closed for env in made] == [1, 1]


@pytest.mark.slow
def test_environments_are_freed_with_the_batch():
    envs = make_envs(3, 3)
    envs.reset()
    alive = weakref.ref(envs.envs[0])
    envs.close()
    del envs
    gc.collect()
    assert alive() is None


# Actions


@pytest.mark.parametrize("actions", [[0], [0, 1, 0], np.zeros(3, int), []])
def test_wrong_number_of_actions_steps_nothing(actions):
    envs = make_envs(3, 3)
    envs.reset()
    with pytest.raises(error.InvalidAction, match=rf"shape \(2,\), got .* \({len(actions)},\)$"):
        envs.step(actions)
    with pytest.raises(ValueError):
        envs.step(actions)
    assert [env.actions for env in envs.envs] == [[], []]


def test_actions_that_are_no_batch():
    envs = make_envs(3, 3)
    envs.reset()
    with pytest.raises(error.InvalidAction, match=r"shape \(2,\), got object \(\)"):
        envs.step(None)


def test_structured_actions_are_handed_out_row_by_row():
    envs = SyncVectorEnv([RandomEnv] * 2)
    envs.reset(seed=0)
    rewards = envs.step({"button": np.array([2, 1]), "stick": np.array([[1, 1], [0.5, 0]])})[1]
    assert rewards.tolist() == [4.0, 1.5]


# Attributes


def test_set_attr_for_each_and_for_all():
    envs = make_envs(3, 3)
    envs.set_attr("length", [4, 5])
    assert envs.get_attr("length") == (4, 5)
    envs.set_attr("length", (6, 7))
    assert envs.call("length") == (6, 7)
    envs.set_attr("length", 8)
    assert envs.get_attr("length") == (8, 8)
    for values in ([1], [1, 2, 3], ()):
        with pytest.raises(ValueError, match=f"Got `{len(values)}` values for 2 environments"):
            envs.set_attr("length", values)
    assert envs.get_attr("length") == (8, 8)


def test_attributes_reach_through_wrappers():
    class Wrapped(gymcore.Wrapper):
        def shout(self, text):
            return text.upper()

    envs = SyncVectorEnv([lambda: Wrapped(CountingEnv(3))] * 2)
    assert envs.call("shout", "ab") == ("AB", "AB")
    assert envs.get_attr("length") == (3, 3)
    envs.set_attr("length", 1)
    assert envs.envs[0].unwrapped.length == 1
    with pytest.raises(AttributeError, match="no_such_thing"):
        envs.call("no_such_thing")


def test_generators_cannot_be_set():
    with pytest.raises(AttributeError):
        make_envs(3).np_random = np.random.default_rng(0)


def test_render_gives_a_frame_for_each():
    envs = make_envs(3, 3)
    envs.reset()
    envs.step([0, 0])
    frames = envs.render()
    assert len(frames) == 2
    assert frames[0].shape == (1, 1, 3)
    assert frames[0].max() == 1


def test_a_subclass_may_step_in_its_own_buffers():
    """MO-Gymnasium's class does, with rewards of two numbers."""

    def two_rewards(package):
        class TwoRewards(package.vector.SyncVectorEnv):
            def __init__(self, env_fns):
                super().__init__(env_fns)
                self._rewards = np.zeros((self.num_envs, 2), np.float32)

            def step(self, actions):
                infos = {}
                for i, action in enumerate(actions):
                    if self._autoreset_envs[i]:
                        self._env_obs[i], info = self.envs[i].reset()
                        self._rewards[i], self._terminations[i] = 0, False
                    else:
                        self._env_obs[i], reward, *flags, info = self.envs[i].step(action)
                        self._rewards[i] = reward, -reward
                        self._terminations[i], self._truncations[i] = flags
                    infos = self._add_info(infos, info, i)
                self._observations = package.vector.utils.concatenate(
                    self.single_observation_space, self._env_obs, self._observations
                )
                self._autoreset_envs = self._terminations | self._truncations
                flags = self._terminations.copy(), self._truncations.copy()
                return self._observations.copy(), self._rewards.copy(), *flags, infos

        envs = TwoRewards([make_counting_env(package)] * 2)
        results = [envs.reset(seed=1)]
        for _ in range(4):
            results += [envs.step([0, 1]) for _ in range(2)]
            results.append(envs.reset())  # after both episodes have ended
        return results

    assert_same(two_rewards(gymcore), two_rewards(gymnasium))


def test_custom_spaces():
    class Name(Space):
        def sample(self, mask=None, probability=None):
            return "x"

        def contains(self, x):
            return isinstance(x, str)

        def __eq__(self, other):
            return isinstance(other, Name)

    class Named(gymcore.Env):
        observation_space = Name()
        action_space = Name()

        def reset(self, *, seed=None, options=None):
            return "start", {}

        def step(self, action):
            return action, 1, False, False, {}

    envs = SyncVectorEnv([Named, Named])
    assert envs.reset()[0] == ("start", "start")
    observations, rewards, *_ = envs.step(("left", "right"))
    assert observations == ("left", "right")
    assert_same(rewards, np.array([1.0, 1.0]))
