import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore.spaces import Box, Discrete, MultiDiscrete
from gymcore.vector import (
    AutoresetMode,
    SyncVectorEnv,
    VectorActionWrapper,
    VectorEnv,
    VectorObservationWrapper,
    VectorRewardWrapper,
    VectorWrapper,
)
from tests.testing_env import assert_same, make_counting_env

CountingEnv, TheirCountingEnv = make_counting_env(gymcore), make_counting_env(gymnasium)

WRAPPERS = [VectorWrapper, VectorObservationWrapper, VectorActionWrapper, VectorRewardWrapper]


def make_envs(num_envs=2, **kwargs):
    return SyncVectorEnv([lambda: CountingEnv(3)] * num_envs, **kwargs)


def make_pair(build, **kwargs):
    """Return our and their environments, each wrapped by `build(package.vector, envs)`."""
    theirs = gymnasium.vector.SyncVectorEnv([lambda: TheirCountingEnv(3)] * 2, **kwargs)
    return build(gymcore.vector, make_envs(**kwargs)), build(gymnasium.vector, theirs)


def shifted(vector, envs):
    class Shifted(vector.VectorObservationWrapper):
        def observations(self, observations):
            return observations + 100

    return Shifted(envs)


def flipped(vector, envs):
    class Flipped(vector.VectorActionWrapper):
        def actions(self, actions):
            return 1 - np.asarray(actions)

    return Flipped(envs)


def negated(vector, envs):
    class Negated(vector.VectorRewardWrapper):
        def rewards(self, rewards):
            return -rewards

    return Negated(envs)


@pytest.mark.parametrize(
    ("build", "mode"),
    [
        (lambda vector, envs: vector.VectorWrapper(envs), mode)
        for mode in ("NextStep", "SameStep", "Disabled")
    ]
    + [(shifted, "NextStep"), (shifted, "Disabled")]
    + [(build, mode) for build in (flipped, negated) for mode in ("NextStep", "SameStep")],
)
def test_wrapped_steps_as_in_gymnasium(build, mode):
    ours, theirs = make_pair(build, autoreset_mode=mode)
    assert repr(ours) == repr(theirs)
    assert_same(ours.reset(seed=1, options={"a": 1}), theirs.reset(seed=1, options={"a": 1}))
    for step in range(2 if mode == "Disabled" else 8):
        actions = np.array([step % 2, 0])
        assert_same(ours.step(actions), theirs.step(actions))
    assert_same(ours.unwrapped.get_attr("actions"), theirs.unwrapped.get_attr("actions"))


def test_wrappers_stack():
    envs = negated(gymcore.vector, flipped(gymcore.vector, shifted(gymcore.vector, make_envs())))
    assert repr(envs) == "<Negated, <Flipped, <Shifted, SyncVectorEnv(num_envs=2)>>>"
    assert envs.reset(seed=0)[0].tolist() == [[100, 100], [101, 100]]
    observations, rewards, *_ = envs.step([0, 1])
    assert observations.tolist() == [[100, 101], [101, 101]]
    assert rewards.tolist() == [-1, -1]
    assert envs.get_attr("actions") == ([1], [0])


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_everything_is_forwarded(wrapper):
    base = make_envs()
    envs = wrapper(base)
    assert envs.unwrapped is base
    assert envs.env is base
    for name in (
        "observation_space",
        "action_space",
        "single_observation_space",
        "single_action_space",
        "metadata",
        "spec",
        "render_mode",
        "num_envs",
        "closed",
        "is_vector_env",
    ):
        assert getattr(envs, name) is getattr(base, name), name
    base.reset(seed=3)
    assert envs.np_random_seed == (3, 4)
    assert envs.np_random == base.np_random
    assert len(envs.render()) == 2


def test_sub_environments_are_reached():
    envs = VectorWrapper(VectorWrapper(make_envs()))
    envs.reset()
    envs.set_attr("length", [4, 5])
    assert envs.get_attr("length") == (4, 5)
    assert envs.call("length") == (4, 5)
    assert [frame.max() for frame in envs.call("render")] == [0, 0]


def test_other_attributes_are_not_forwarded():
    with pytest.raises(AttributeError):
        _ = VectorWrapper(make_envs()).envs


def test_what_is_set_stays_on_the_wrapper():
    base = make_envs()
    envs = VectorWrapper(base)
    values = {
        "observation_space": Box(0, 1, (2, 1)),
        "action_space": MultiDiscrete([3, 3]),
        "single_observation_space": Box(0, 1, (1,)),
        "single_action_space": Discrete(3),
        "metadata": {"autoreset_mode": AutoresetMode.DISABLED},
    }
    for name, value in values.items():
        before = getattr(base, name)
        setattr(envs, name, value)
        assert getattr(envs, name) is value
        assert getattr(base, name) is before


def test_what_belongs_to_the_base_cannot_be_set():
    envs = VectorWrapper(make_envs())
    for name in ("num_envs", "spec", "render_mode"):
        with pytest.raises(AttributeError):
            setattr(envs, name, 3)


def test_generator_is_set_on_the_base():
    base = VectorEnv()
    generator = np.random.default_rng(0)
    VectorWrapper(base).np_random = generator
    assert base.np_random is generator
    assert VectorWrapper(base).np_random_seed == -1


def test_closing_closes_the_base():
    base = make_envs()
    with VectorWrapper(base) as envs:
        assert not envs.closed
    assert base.closed
    assert envs.closed
    assert [env.num_closed for env in base.envs] == [1, 1]
    envs.close()
    assert [env.num_closed for env in base.envs] == [1, 1]


def test_closed_is_set_on_the_base():
    base = VectorEnv()
    VectorWrapper(base).closed = True
    assert base.closed


def test_close_passes_arguments_on():
    class Recording(VectorEnv):
        def close_extras(self, **kwargs):
            self.arguments = kwargs

    base = Recording()
    VectorWrapper(base).close(timeout=3)
    assert base.arguments == {"timeout": 3}
    VectorWrapper(base).close_extras(timeout=4)
    assert base.arguments == {"timeout": 4}


@pytest.mark.parametrize("env", [3, None, CountingEnv()])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_only_vector_environments_are_wrapped(wrapper, env):
    with pytest.raises(TypeError, match=r"Expected env to be a `gymcore\.vector\.VectorEnv` but"):
        wrapper(env)


@pytest.mark.parametrize(
    ("wrapper", "method"),
    [
        (VectorObservationWrapper, "observations"),
        (VectorActionWrapper, "actions"),
        (VectorRewardWrapper, "rewards"),
    ],
)
def test_the_method_to_define_is_named(wrapper, method):
    envs = wrapper(make_envs())
    envs.env.reset()
    with pytest.raises(NotImplementedError, match=f"does not define `{method}`"):
        envs.step([0, 0])


@pytest.mark.parametrize("mode", [*AutoresetMode, "NextStep", "SameStep", "Disabled"])
def test_observation_wrappers_serve_every_mode(mode):
    base = make_envs()
    base.metadata["autoreset_mode"] = mode
    assert VectorObservationWrapper(base).env is base


class Tripled(VectorObservationWrapper):
    def observations(self, observations):
        return 3 * observations

    def final_observations(self, observations):
        return -observations


@pytest.mark.parametrize("engine", ["native", "sync"])
def test_last_observations_are_changed_too(engine):
    def make():
        options = {"autoreset_mode": "SameStep"}
        envs = gymcore.make_vec(
            "CartPole-v1",
            num_envs=3,
            vectorization_mode=engine,
            max_episode_steps=3,
            vector_kwargs=options,
        )
        envs.reset(seed=2)
        envs.reset(options={"reset_mask": np.array([True, False, True])})
        envs.step([0, 1, 0])
        return envs

    plain, tripled = make(), Tripled(make())
    for mask in ([False, False, False], [True, True, True]):
        expected, ours = plain.step([1, 0, 1]), tripled.step([1, 0, 1])
        np.testing.assert_array_equal(ours[0], 3 * expected[0])
        assert ("final_obs" in ours[4]) == any(mask)
    last = ours[4]["final_obs"]
    assert last.dtype == expected[4]["final_obs"].dtype
    for i in range(3):
        np.testing.assert_array_equal(last[i], -expected[4]["final_obs"][i])
    assert not {"final_observation", "_final_observation"} & set(ours[4])


def test_last_observations_of_gym_026_are_changed_under_both_names():
    envs = Tripled(gymcore.vector.make("CartPole-v1", num_envs=2, max_episode_steps=1))
    plain = gymcore.vector.make("CartPole-v1", num_envs=2, max_episode_steps=1)
    envs.reset(seed=4)
    plain.reset(seed=4)
    infos, expected = envs.step([0, 1])[4], plain.step([0, 1])[4]
    np.testing.assert_array_equal(infos["final_obs"], -expected["final_obs"])
    for i in range(2):
        np.testing.assert_array_equal(infos["final_observation"][i], -expected["final_obs"][i])


def test_observation_wrappers_miss_the_mode():
    base = make_envs()
    del base.metadata["autoreset_mode"]
    with pytest.warns(UserWarning, match="is missing `autoreset_mode` metadata key"):
        VectorObservationWrapper(base)
