"""Physics parameters per lane: domain randomization within one batch."""

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from tests.vector.contract import PARAMETERS, draw_actions, make_envs, same_bytes


@pytest.mark.parametrize("way", ["constructor", "set_attr", "array"])
def test_64_pole_lengths_are_64_environments(way):
    lengths = np.linspace(0.1, 2.0, 64).tolist()
    if way == "constructor":
        envs = make_envs("CartPole-v1", num_envs=64, length=lengths)
    else:
        envs = make_envs("CartPole-v1", num_envs=64)
        envs.set_attr("length", lengths if way == "set_attr" else np.array(lengths))
    assert envs.get_attr("length") == tuple(lengths)
    singles = [gym.make("CartPole-v1").unwrapped for _ in lengths]
    observations = envs.reset(seed=3)[0]
    for i, (env, length) in enumerate(zip(singles, lengths, strict=True)):
        env.length = length
        assert same_bytes(observations[i], env.reset(seed=3 + i)[0])
    for t in range(8):
        actions = np.full(64, t % 2)
        step = envs.step(actions)
        assert not step[2].any()
        for i, env in enumerate(singles):
            single = env.step(int(actions[i]))
            assert same_bytes(step[0][i], single[0])
            assert (step[1][i], step[2][i]) == single[1:3]
    assert len({row.tobytes() for row in step[0]}) == 64


def test_every_parameter_of_every_environment(env_id):
    """Reading returns the values set for all lanes or for one, and other lanes are unchanged."""
    envs = make_envs(env_id)
    defaults = {name: envs.get_attr(name)[0] for name in envs.env_class.parameters}
    for name, default in defaults.items():
        if isinstance(default, (bool, str)):
            continue
        if isinstance(default, list):
            values = [default, [-2.0, 0.0, 2.0], [-3.0, 0.0, 0.5]]
        else:
            values = [default, default + 0.25, default + 0.5]
        envs.set_attr(name, values)
        assert envs.get_attr(name) == tuple(values)
        for other, value in defaults.items():
            if other != name:
                assert envs.get_attr(other) == (value,) * 3
        envs.set_attr(name, np.array(default) if isinstance(default, list) else default)
        assert envs.get_attr(name) == (default,) * 3
        assert envs._batch.get_parameters().shape[1] == 1  # the loops for shared parameters again


def test_choices_and_switches():
    envs = make_envs("CartPole-v1", sutton_barto_reward=[True, False, True])
    assert envs.get_attr("sutton_barto_reward") == (True, False, True)
    envs.set_attr("kinematics_integrator", ["euler", "semi-implicit euler", "euler"])
    assert envs.get_attr("kinematics_integrator") == ("euler", "semi-implicit euler", "euler")
    envs.reset(seed=1)
    envs.set_attr("state", [[0.1, 0.2, 0.03, 0.4]] * 3)
    step = envs.step([1, 1, 1])
    assert step[1].tolist() == [0, 1, 0]
    assert same_bytes(step[0][0], step[0][2])
    assert not same_bytes(step[0][0], step[0][1])


def test_parameters_that_follow_from_others():
    envs = make_envs("CartPole-v1")
    assert envs.get_attr("total_mass") == (1.1,) * 3
    envs.set_attr("masspole", [0.1, 0.2, 0.3])
    assert envs.get_attr("total_mass") == (0.1 + 1.0, 0.2 + 1.0, 0.3 + 1.0)
    envs.set_attr("total_mass", [1.1, 1.2, 1.3])  # unchanged values
    with pytest.raises(error.InvalidArgument, match=r"total_mass: expected masspole \+ masscart"):
        envs.set_attr("total_mass", [1.1, 1.2, 5.0])
    assert envs.get_attr("polemass_length") == (0.1 * 0.5, 0.2 * 0.5, 0.3 * 0.5)


def test_a_bad_value_in_any_lane_changes_none(env_id):
    envs = make_envs(env_id)
    name, value = PARAMETERS[env_id]
    for bad in ("abc", None, np.nan, [1.0]):
        with pytest.raises(error.Error, match=f"{name}: expected"):
            envs.set_attr(name, [value, value, bad])
    assert envs.get_attr(name) == make_envs(env_id).get_attr(name)


def test_states_of_lanes_are_set_all_or_none(env_id):
    envs = make_envs(env_id)
    envs.reset(seed=1)
    states = np.array(envs.get_attr("state"))
    for bad in (["a", "b"], [0.0], None, 3.0):
        with pytest.raises(error.InvalidArgument, match="state: expected"):
            envs.set_attr("state", [states[0] + 1, states[1] + 1, bad])
    assert same_bytes(np.array(envs.get_attr("state")), states)


def test_a_state_may_be_set_instead_of_a_reset(env_id):
    """Later episodes still begin at random, from streams of their own."""
    envs = make_envs(env_id, max_episode_steps=1)
    assert envs.get_attr("state") == (None,) * 3
    state = make_ready(env_id)
    envs.set_attr("state", state)
    actions = draw_actions(envs)
    assert envs.step(actions)[3].all()
    first = envs.step(actions)[0]
    assert len({row.tobytes() for row in first}) == 3
    assert len(set(envs.np_random_seed)) == 3


def make_ready(env_id):
    envs = make_envs(env_id, num_envs=1)
    envs.reset(seed=1)
    return envs.get_attr("state")[0]


def test_streams_of_lanes_can_be_put_in():
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    generators = [np.random.default_rng(i) for i in (9, 8, 7)]
    expected = [np.random.default_rng(i).random() for i in (9, 8, 7)]
    envs.set_attr("np_random", generators)
    assert envs.np_random_seed == (-1, -1, -1)
    assert [generator.random() for generator in envs.np_random] == expected
    assert [generator.random() for generator in generators] == expected  # they stay independent
    before = envs.get_state().tobytes()
    for bad in (np.random.MT19937(1), 5, None):
        with pytest.raises(error.ArgumentTypeError, match="np_random: expected"):
            envs.set_attr("np_random", [generators[0], generators[1], bad])
    assert envs.get_state().tobytes() == before


def test_looking_at_lanes_changes_nothing():
    envs = make_envs("CartPole-v1", render_mode="rgb_array")
    envs.reset(seed=1)
    before = envs.get_state().tobytes()
    assert envs.call("np_random_seed") == (1, 2, 3)
    assert envs.get_attr("action_space") == (envs.single_action_space,) * 3
    assert envs.get_attr("spec") == (envs.spec,) * 3
    assert [one.shape for one in envs.call("get_state")] == [(1,)] * 3
    assert [type(one) for one in envs.get_attr("np_random")] == [np.random.Generator] * 3
    assert envs.get_state().tobytes() == before
    assert not envs.closed
    envs.step([0, 1, 0])


def test_attributes_of_many_lanes_take_no_object_each():
    envs = make_envs("CartPole-v1", num_envs=100_000)
    envs.reset(seed=1)
    states = envs.get_attr("state")
    assert len(states) == 100_000
    assert len(envs.get_attr("length")) == 100_000
    envs.set_attr("state", np.array(states) * 2)
    assert same_bytes(envs.get_attr("state")[-1], states[-1] * 2)
    states[0][:] = 5  # a copy
    assert envs.get_attr("state")[0][0] != 5
