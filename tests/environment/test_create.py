"""How `Environment.create` interprets its arguments."""

from __future__ import annotations

import json
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import gymcore as gym
from gymcore.environment import Environment, EnvironmentWrapper, GymEnvironment
from gymcore.envs.classic_control import CartPoleEnv
from gymcore.error import ArgumentTypeError, Error, InvalidArgument
from tests.environment.environments import Counter, Counters


def level(environment):
    """Return the gymcore environment inside one that `create` made."""
    assert type(environment) is EnvironmentWrapper
    assert type(environment.environment) is GymEnvironment
    return environment.environment.env


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [
        (["CartPole-v1"], 500),
        (["CartPole-v1", 20], 20),
        ([CartPoleEnv], None),
        ([CartPoleEnv, 30], 30),
        ([{"environment": "CartPole-v1"}], 500),
        ([{"level": "CartPole-v1"}], 500),
        ([{"environment": "gym", "level": "CartPole-v1"}], 500),
        ([{"type": "openai_gym", "level": "CartPole-v1", "max_episode_timesteps": 9}], 9),
        ([{"type": "gym", "level": "CartPole-v1", "max_episode_timesteps": 9}, 8], 8),
    ],
)
def test_cart_poles(arguments, limit):
    environment = Environment.create(*arguments)
    assert isinstance(level(environment).unwrapped, CartPoleEnv)
    assert environment.max_episode_timesteps() == limit
    assert environment.states()["shape"] == (4,)
    steps = 0
    environment.reset()
    while steps != limit and not environment.execute(steps % 2)[1]:
        steps += 1
    environment.close()


def test_an_id_without_a_version_has_no_time_limit():
    with pytest.warns(UserWarning, match="Using the latest versioned environment `CartPole-v1`"):
        environment = Environment.create("CartPole")
    assert environment.max_episode_timesteps() is None
    with pytest.warns(UserWarning):
        environment = Environment.create("gym", level="CartPole", max_episode_timesteps=1000)
    assert environment.max_episode_timesteps() == 1000
    assert level(environment).spec.max_episode_steps == 1000


def test_objects():
    env = gym.make("CartPole-v1")
    assert level(Environment.create(env)) is env
    theirs = gymnasium.make("CartPole-v1")
    environment = Environment.create(theirs)
    assert level(environment).env is theirs
    assert environment.max_episode_timesteps() == 500
    environment.reset()
    assert len(environment.execute(0)) == 3
    assert (
        Environment.create(gymnasium.make("Blackjack-v1")).states()["gymtpl0"]["num_values"] == 32
    )


def test_a_vector_environment():
    envs = gym.make_vec("CartPole-v1", 3, vector_kwargs={"autoreset_mode": "Disabled"})
    environment = Environment.create(envs)
    assert environment.max_episode_timesteps() == 500
    parallel, states = environment.reset(num_parallel=3)
    assert parallel.tolist() == [0, 1, 2] and states.shape == (3, 4)
    with pytest.raises(InvalidArgument, match="num_parallel: expected 3, got 4"):
        environment.reset(num_parallel=4)
    with pytest.raises(InvalidArgument, match="for a vector environment, got None"):
        environment.reset()
    with pytest.raises(InvalidArgument, match="autoreset_mode is 'Disabled', got"):
        Environment.create(gym.make_vec("CartPole-v1", 3))


def test_environments_of_this_interface():
    counter = Counter()
    environment = Environment.create(counter)
    assert environment.environment is counter
    assert Environment.create(environment) is environment
    assert Environment.create(environment, max_episode_timesteps=None) is environment
    assert isinstance(Environment.create(Counter, limit=3).environment, Counter)
    assert isinstance(
        Environment.create("tests.environment.environments.Counters").environment, Counters
    )
    last = Environment.create("tests.environment.one_environment")
    assert type(last.environment).__name__ == "Last"


def test_several_classes_in_a_module():
    with pytest.raises(InvalidArgument, match=r"got \['Actors', 'Counter', 'Counters'\]"):
        Environment.create("tests.environment.environments")
    with pytest.raises(InvalidArgument, match=r"in module 'json', got \[\]"):
        Environment.create("json")


def test_errors_of_a_module_are_its_own(tmp_path, monkeypatch):
    (tmp_path / "module_that_fails.py").write_text("import nothing_of_this_name")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
        Environment.create("module_that_fails")


@pytest.mark.parametrize(
    ("arguments", "kwargs", "exception", "message"),
    [
        ([3], {}, ArgumentTypeError, "environment: expected an id, .*, got 3"),
        ([int], {}, ArgumentTypeError, "environment: expected an id"),
        ([EnvironmentWrapper], {}, ArgumentTypeError, "class without a wrapper"),
        (["CartPole-v77"], {}, Error, "CartPole"),
        (["NoSuchName"], {}, Error, "NoSuchName"),
        (["gym"], {}, InvalidArgument, "level: expected an id or an environment for 'gym'"),
        ([None], {}, InvalidArgument, "level: expected an id or an environment"),
        (["CartPole-v1", 501], {}, InvalidArgument, "at most 500, got 501"),
        (
            [Counter()],
            {"limit": 3},
            InvalidArgument,
            r"no arguments for an existing environment, got \['limit'\]",
        ),
        ([Counter], {"size": 3}, TypeError, "size"),
        (["CartPole-v1"], {"remote": "telepathy"}, InvalidArgument, "remote: expected"),
        (
            ["CartPole-v1"],
            {"blocking": True},
            InvalidArgument,
            "blocking: expected False with remote=None",
        ),
        (
            ["CartPole-v1"],
            {"port": 1, "host": "x"},
            InvalidArgument,
            "host and port: expected None",
        ),
        (["CartPole-v1"], {"min_value": -1}, InvalidArgument, "both min_value and max_value"),
        (["Taxi-v4"], {"drop_states_indices": [0]}, InvalidArgument, "expected a Box"),
        (["CartPole-v1"], {"drop_states_indices": [4]}, InvalidArgument, "at most 3, got 4"),
        (
            ["CartPole-v1"],
            {"drop_states_indices": range(4)},
            InvalidArgument,
            "some, not all, entries",
        ),
        (
            [{"level": "CartPole-v1"}],
            {"level": "x"},
            InvalidArgument,
            "level: expected 'CartPole-v1",
        ),
        ([{"kwargs": {"a": 1}}], {"kwargs": {"a": 2}}, InvalidArgument, "kwargs/a: expected 1"),
    ],
)
def test_errors(arguments, kwargs, exception, message):
    with pytest.raises(exception, match=message):
        Environment.create(*arguments, **kwargs)


def test_an_environment_that_create_returned_takes_no_arguments():
    environment = Environment.create(Counter, max_episode_timesteps=3)
    assert Environment.create(environment, max_episode_timesteps=3) is environment
    with pytest.raises(InvalidArgument, match="that create"):
        Environment.create(environment, max_episode_timesteps=4)
    with pytest.raises(InvalidArgument, match="that create"):
        Environment.create(environment, reward_shaping="reward")


class TestFiles:
    def write(self, tmp_path, described):
        path = tmp_path / "environment.json"
        path.write_text(described if isinstance(described, str) else json.dumps(described))
        return str(path)

    @pytest.mark.parametrize(
        "described",
        [
            {"environment": "Pendulum-v1", "max_episode_timesteps": 5, "g": 9.0},
            {"type": "gym", "level": "Pendulum-v1", "max_episode_timesteps": 5, "g": 9.0},
            {"level": "Pendulum-v1", "max_episode_timesteps": 5, "g": 9.0},
        ],
    )
    def test_a_file(self, tmp_path, described):
        environment = Environment.create(self.write(tmp_path, described), reward_shaping="1.5")
        assert environment.max_episode_timesteps() == 5
        assert level(environment).unwrapped.g == 9.0
        environment.reset()
        assert environment.execute(np.zeros(1))[2] == 1.5

    @pytest.mark.parametrize(
        "described",
        [
            {"environment": "tests.environment.environments.Counter"},
            {"environment": "tests.environment.one_environment"},
            {"level": "os:CartPole-v1"},
            {"environment": "CartPole-v1", "import_modules": "os"},
            {"environment": {"level": "CartPole-v1"}},
        ],
    )
    def test_a_file_cannot_import(self, tmp_path, described):
        with pytest.raises(Error):
            Environment.create(self.write(tmp_path, described))

    @pytest.mark.parametrize(
        "wrong",
        [{"gravity_of_moon": 1}, {"min_value": [], "max_value": 1}, {"terminal_reward": {}}],
    )
    def test_wrong_arguments_of_a_file(self, tmp_path, wrong):
        with pytest.raises(InvalidArgument, match=r"environment\.json: "):
            Environment.create(self.write(tmp_path, {"level": "CartPole-v1", **wrong}))

    @pytest.mark.parametrize("text", ["", "{", "[]", "3"])
    def test_other_files(self, tmp_path, text):
        with pytest.raises(InvalidArgument, match="environment: expected"):
            Environment.create(self.write(tmp_path, text))

    def test_a_file_of_the_name_of_a_key_does_not_hide_it(self, tmp_path, monkeypatch):
        (tmp_path / "gym").write_text("{}")
        monkeypatch.chdir(tmp_path)
        assert Environment.create("gym", level="CartPole-v1").max_episode_timesteps() == 500


def test_importing_gymcore_does_not_load_the_interface():
    program = (
        "import sys, gymcore; assert 'gymcore.environment' not in sys.modules; gymcore.environment"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
