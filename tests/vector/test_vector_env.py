import gymnasium
import numpy as np
import pytest
from gymnasium.vector import vector_env as gymnasium_vector_env

import gymcore
from gymcore import error
from gymcore.distributed.vector_env import RayVectorEnv
from gymcore.envs.registration import EnvSpec
from gymcore.native.array_vector_env import ArrayVectorEnv
from gymcore.native.vector_env import NativeVectorEnv
from gymcore.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, vector_env
from gymcore.vector.async_vector_env import CustomWorkerVectorEnv


class EmptyVectorEnv(VectorEnv):
    """Vector environment that counts how often its resources are freed."""

    def __init__(self, num_envs=3):
        self.num_envs = num_envs
        self.freed = []

    def close_extras(self, **kwargs):
        self.freed.append(kwargs)


def test_modes_have_gymnasiums_names_and_values():
    theirs = {mode.name: mode.value for mode in gymnasium.vector.AutoresetMode}
    assert {mode.name: mode.value for mode in AutoresetMode} == theirs
    assert AutoresetMode("SameStep") is AutoresetMode.SAME_STEP


def test_modules_export_what_gymnasium_exports():
    for name in set(gymnasium.vector.__all__) - {"AsyncVectorEnv"}:
        assert hasattr(gymcore.vector, name), name
    for name in gymnasium_vector_env.__all__:
        assert hasattr(vector_env, name), name
    assert vector_env.VectorWrapper is gymcore.vector.VectorWrapper


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="NoSuchVectorEnv"):
        _ = gymcore.vector.NoSuchVectorEnv


def test_class_attributes():
    envs = VectorEnv()
    assert envs.metadata == {}
    assert envs.spec is None
    assert envs.render_mode is None
    assert envs.closed is False
    assert envs.is_vector_env is True
    assert envs.unwrapped is envs
    assert not hasattr(envs, "observation_space")


def test_close_frees_once_and_passes_arguments_on():
    envs = EmptyVectorEnv()
    envs.close(timeout=3)
    envs.close(timeout=4)
    assert envs.freed == [{"timeout": 3}]
    assert envs.closed
    assert not VectorEnv.closed


def test_context_manager_closes_and_lets_exceptions_pass():
    with EmptyVectorEnv() as envs:
        assert not envs.closed
    assert envs.closed

    with pytest.raises(KeyError, match="inside"), EmptyVectorEnv() as envs:
        raise KeyError("inside")
    assert envs.closed


def test_base_methods_say_what_is_missing():
    with pytest.raises(NotImplementedError, match=r"EmptyVectorEnv\(num_envs=3\) step"):
        EmptyVectorEnv().step(None)
    with pytest.raises(NotImplementedError, match="render"):
        EmptyVectorEnv().render()


@pytest.mark.parametrize("seed", [3, np.int64(3)])
def test_reset_seeds_the_generator(seed):
    ours, theirs = VectorEnv(), gymnasium.vector.VectorEnv()
    ours.reset(seed=seed)
    theirs.reset(seed=int(seed))
    assert ours.np_random_seed == theirs.np_random_seed == 3
    assert ours.np_random.random() == theirs.np_random.random()
    generator = ours.np_random
    ours.reset()
    assert ours.np_random is generator


@pytest.mark.parametrize("seed", [-1, "three", 1.5])
def test_reset_rejects_bad_seeds(seed):
    with pytest.raises(error.Error):
        VectorEnv().reset(seed=seed)


def test_generator_is_made_at_first_use():
    by_generator, by_seed = VectorEnv(), VectorEnv()
    assert isinstance(by_generator.np_random, np.random.Generator)
    assert by_generator.np_random is by_generator.np_random
    assert by_seed.np_random_seed == by_seed.np_random_seed
    assert by_seed.np_random_seed >= 0


def test_seed_of_a_generator_that_was_set_is_unknown():
    envs = VectorEnv()
    generator = np.random.default_rng(3)
    envs.np_random = generator
    assert envs.np_random is generator
    assert envs.np_random_seed == -1


def test_repr():
    assert repr(EmptyVectorEnv(5)) == str(EmptyVectorEnv(5)) == "EmptyVectorEnv(num_envs=5)"
    envs = EmptyVectorEnv(5)
    envs.spec = EnvSpec("Thing-v3", entry_point="no:where")
    assert repr(envs) == "EmptyVectorEnv(Thing-v3, num_envs=5)"


def test_add_info_merges_and_returns_the_merged_dict():
    envs = EmptyVectorEnv(3)
    infos = envs._add_info({}, {"speed": 1.5}, 1)
    assert envs._add_info(infos, {"speed": 2, "name": "x"}, 2) is infos
    np.testing.assert_array_equal(infos["speed"], [0, 1.5, 2])
    np.testing.assert_array_equal(infos["_speed"], [False, True, True])
    np.testing.assert_array_equal(infos["name"], np.array([None, None, "x"], dtype=object))


def test_engines_that_step_some_lanes_are_those_of_the_documentation():
    can = NativeVectorEnv, SyncVectorEnv, AsyncVectorEnv
    cannot = CustomWorkerVectorEnv, ArrayVectorEnv, RayVectorEnv
    assert all(engine.steps_some_lanes for engine in can)
    assert not any(engine.steps_some_lanes for engine in cannot)
