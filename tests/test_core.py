from __future__ import annotations

import copy
import inspect
import math
import pickle
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from tests.parity import compare

CLASSES = ["Env", "Wrapper", "ObservationWrapper", "RewardWrapper", "ActionWrapper"]


def make_env(gym: ModuleType, **attributes: Any) -> Any:
    """Return an environment of either package with a public and a private attribute of its own."""

    class Pole(gym.Env):
        metadata = {"render_modes": ["ansi"], "render_fps": 5}  # noqa: RUF012
        observation_space = gym.spaces.Box(-1, 1, (2,))
        action_space = gym.spaces.Discrete(2)
        version = 3

        def __init__(self) -> None:
            self.gravity = 9.8
            self._secret = 1
            self.received: list[Any] = []

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return self.np_random.random(2), {"options": options}

        def step(self, action: Any) -> Any:
            self.received.append(action)
            return np.full(2, 0.5), 2.0, False, True, {"step": len(self.received)}

        def render(self) -> str:
            return "frame"

        @property
        def broken(self) -> Any:
            raise AttributeError("the motor is missing")

    env = Pole()
    vars(env).update(attributes)
    return env


# The interface


@pytest.mark.parametrize("name", CLASSES)
def test_same_interface_as_gymnasium(name: str) -> None:
    ours, theirs = getattr(gymcore, name), getattr(gymnasium, name)
    assert getattr(gymcore.core, name) is ours
    for member in dir(theirs):
        if member.startswith("__") and member not in ("__str__", "__enter__", "__exit__"):
            continue
        assert hasattr(ours, member) or member == "_np_random", member
        their_member = inspect.getattr_static(theirs, member)
        our_member = inspect.getattr_static(ours, member)
        if inspect.isfunction(their_member):
            parameters = inspect.signature(their_member).parameters
            assert list(inspect.signature(our_member).parameters) == list(parameters), member
        if isinstance(their_member, property):
            assert isinstance(our_member, property)
            assert (our_member.fset is None) == (their_member.fset is None), member


def test_generics_have_defaults() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        core = gym.core
        return [
            core.Env[int],
            core.Env[int, str],
            core.Wrapper[int, str, float, bytes],
            core.Wrapper[int],
            core.ObservationWrapper[int, str, float],
            core.RewardWrapper[int],
            core.ActionWrapper[int, str],
            [base.__name__ for base in core.Wrapper.__mro__],
        ]

    compare(scenario)


def test_base_environment() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = gym.Env()
        return [
            env.metadata,
            env.render_mode,
            env.spec,
            env.close(),
            env.reset(),
            env.reset(seed=3),
            env.np_random_seed,
            env.np_random.random(),
            str(env),
            env.unwrapped is env,
            hasattr(env, "observation_space"),
        ]

    compare(scenario)


@pytest.mark.parametrize("method", ["step", "render"])
def test_missing_methods(method: str) -> None:
    arguments = [0] if method == "step" else []
    compare(lambda gym: getattr(gym.Env(), method)(*arguments))
    compare(lambda gym: getattr(gym.Wrapper(gym.Env()), method)(*arguments))


def test_reward_range() -> None:
    assert gymcore.Env.reward_range == (-math.inf, math.inf)
    env = make_env(gymcore)
    wrapper = gymcore.Wrapper(gymcore.Wrapper(env))
    assert wrapper.reward_range == (-math.inf, math.inf)
    env.reward_range = (0.0, 1.0)
    assert wrapper.reward_range == (0.0, 1.0)
    wrapper.reward_range = (-1.0, 2.0)
    assert wrapper.reward_range == (-1.0, 2.0)
    assert wrapper.env.reward_range == env.reward_range == (0.0, 1.0)

    class Clipped(gymcore.Wrapper[Any, Any, Any, Any]):
        reward_range = (-5.0, 5.0)

    assert Clipped(env).reward_range == (-5.0, 5.0)


# Seeding


@pytest.mark.parametrize("wrapped", [False, True])
def test_seeding(wrapped: bool) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = make_env(gym)
        if wrapped:
            env = gym.Wrapper(gym.Wrapper(env))
        values = [env.reset(seed=7), env.np_random_seed, env.reset(), env.np_random.integers(99)]
        env.np_random = np.random.default_rng(5)
        values += [env.np_random_seed, env.unwrapped.np_random_seed, env.np_random.random()]
        values += [env.reset(seed=7, options={"a": 1}), env.np_random_seed]
        return values

    compare(scenario)


def test_lazy_seed() -> None:
    for read_seed_first in (False, True):
        env = make_env(gymcore)
        assert env._np_random is None
        if read_seed_first:
            seed, generator = env.np_random_seed, env.np_random
        else:
            generator, seed = env.np_random, env.np_random_seed
        assert generator.random() == np.random.default_rng(seed).random()
        assert env.np_random is generator
    assert make_env(gymcore).np_random_seed != make_env(gymcore).np_random_seed


@pytest.mark.parametrize("seed", [-1, 1.5, "1"])
def test_bad_seeds(seed: Any) -> None:
    compare(lambda gym: make_env(gym).reset(seed=seed))
    env = make_env(gymcore)
    env.reset(seed=3)
    with pytest.raises(gymcore.error.Error):
        env.reset(seed=seed)
    assert env.np_random_seed == 3


def test_numpy_seed() -> None:
    env = make_env(gymcore)
    first, _ = env.reset(seed=np.int64(3))
    second, _ = env.reset(seed=3)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    "name", ["np_random_seed", "unwrapped", "spec", "render_mode", "_np_random"]
)
def test_read_only_attributes_of_wrappers(name: str) -> None:
    wrapper = gymcore.Wrapper(make_env(gymcore))
    with pytest.raises(AttributeError):
        setattr(wrapper, name, 1)
    with pytest.raises(AttributeError):
        setattr(gymnasium.Wrapper(make_env(gymnasium)), name, 1)


# Text


def test_text() -> None:
    def scenario(gym: ModuleType) -> list[str]:
        env = make_env(gym)
        wrapper = gym.Wrapper(gym.RewardWrapper(env))
        texts = [str(env), str(wrapper), repr(wrapper)]
        env.spec = gym.envs.registration.EnvSpec("ns/Pole-v3")
        return [*texts, str(env), str(wrapper), repr(wrapper), wrapper.class_name()]

    values = compare(scenario).value
    assert values[-2] == "<Wrapper<RewardWrapper<Pole<ns/Pole-v3>>>>"


# Context manager


@pytest.mark.parametrize("wrapped", [False, True])
def test_context_manager(wrapped: bool) -> None:
    closed = []

    class Closing(gymcore.Env[int, int]):
        def close(self) -> None:
            closed.append(1)

    base = Closing()

    def make() -> gymcore.Env[int, int]:
        return gymcore.Wrapper(base) if wrapped else base

    with make() as env:
        assert isinstance(env.unwrapped, Closing)
        assert closed == []
    assert closed == [1]
    with pytest.raises(KeyError, match="inside"), make():
        raise KeyError("inside")
    assert closed == [1, 1]


# Wrapper


@pytest.mark.parametrize("wrapper", CLASSES[1:])
@pytest.mark.parametrize("env", [3, None, "CartPole-v1", int])
def test_only_environments_can_be_wrapped(wrapper: str, env: Any) -> None:
    compare(lambda gym: getattr(gym, wrapper)(env))


def test_everything_is_passed_on() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = make_env(gym)
        wrapper = gym.Wrapper(gym.Wrapper(env))
        return [
            wrapper.reset(seed=1, options={"a": 2}),
            wrapper.step("action"),
            env.received,
            wrapper.render(),
            wrapper.close(),
            wrapper.metadata,
            wrapper.render_mode,
            wrapper.action_space is env.action_space,
            wrapper.observation_space is env.observation_space,
            wrapper.unwrapped is env,
            wrapper.spec,
        ]

    compare(scenario)


def test_own_spaces_and_metadata() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        env = make_env(gym)
        inner = gym.Wrapper(env)
        outer = gym.Wrapper(inner)
        inner.observation_space = gym.spaces.Discrete(3)
        inner.action_space = gym.spaces.Discrete(4)
        inner.metadata = {"render_modes": []}
        return [
            (layer.observation_space, layer.action_space, layer.metadata)
            for layer in (env, inner, outer)
        ]

    compare(scenario)


def test_partial_wrappers() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        class Observation(gym.ObservationWrapper):
            def observation(self, observation: Any) -> Any:
                return {"seen": observation}

        class Reward(gym.RewardWrapper):
            def reward(self, reward: Any) -> Any:
                return -reward

        class Action(gym.ActionWrapper):
            def action(self, action: Any) -> Any:
                return ("changed", action)

        env = Action(Reward(Observation(make_env(gym))))
        return [env.reset(seed=1, options=2), env.step(0), env.unwrapped.received]

    assert compare(scenario).value[2] == [("changed", 0)]


@pytest.mark.parametrize("name", ["Observation", "Reward", "Action"])
def test_abstract_methods_of_partial_wrappers(name: str) -> None:
    def wrapped(gym: ModuleType) -> Any:
        return getattr(gym, f"{name}Wrapper")(make_env(gym))

    compare(lambda gym: getattr(wrapped(gym), name.lower())(0))
    compare(lambda gym: wrapped(gym).step(0))
    compare(lambda gym: wrapped(gym).reset(seed=1))


# Attributes of inner layers


def layers(gym: ModuleType) -> tuple[Any, Any, Any]:
    class Middle(gym.Wrapper):
        def __init__(self, env: Any) -> None:
            super().__init__(env)
            self.scale = 2.0

    base = make_env(gym)
    middle = Middle(gym.Wrapper(base))
    return gym.Wrapper(gym.Wrapper(middle)), middle, base


@pytest.mark.parametrize("name", ["gravity", "scale", "version", "nothing", "_secret", "received"])
def test_no_attribute_is_passed_on_implicitly(name: str) -> None:
    compare(lambda gym: getattr(layers(gym)[0], name), message=False)
    assert getattr(layers(gymcore)[0], name, "default") == "default"
    assert not hasattr(layers(gymcore)[0], name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gravity", "The wrapped Pole has it: use `env.get_wrapper_attr('gravity')` or "),
        ("version", "`env.unwrapped.version`"),
        ("_secret", "`env.get_wrapper_attr('_secret')` or `env.unwrapped._secret`"),
        ("scale", "The wrapped Middle has it: use `env.get_wrapper_attr('scale')`"),
    ],
)
def test_the_error_says_where_the_attribute_is(name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(layers(gymcore)[0], name)
    text = str(caught.value)
    assert text.startswith(f"'Wrapper' object has no attribute '{name}'. ")
    assert hint in text
    assert ("unwrapped" in text) == (name != "scale")
    assert caught.value.name == name
    value = layers(gymcore)[0].get_wrapper_attr(name)
    assert value in (9.8, 3, 1, 2.0)


@pytest.mark.parametrize("name", ["nothing", "__nothing__", "__len__"])
def test_no_hint_where_there_is_nothing_to_hint_at(name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(layers(gymcore)[0], name)
    assert str(caught.value) == f"'Wrapper' object has no attribute '{name}'"


def test_looking_for_a_hint_runs_no_property() -> None:
    runs = []

    class Costly(gymcore.Env[int, int]):
        @property
        def table(self) -> int:
            runs.append(1)
            return 1

    with pytest.raises(AttributeError, match=r"env\.unwrapped\.table"):
        gymcore.Wrapper(Costly()).table  # noqa: B018
    assert runs == []


def test_errors_from_inside_a_property_keep_their_text() -> None:
    class Broken(gymcore.Wrapper[Any, Any, Any, Any]):
        @property
        def speed(self) -> Any:
            raise AttributeError("no wheels")

    with pytest.raises(AttributeError, match=r"^no wheels$"):
        Broken(make_env(gymcore)).speed  # noqa: B018
    compare(lambda gym: gym.Wrapper(gym.Env()).observation_space)
    compare(lambda gym: gym.Wrapper(make_env(gym))._np_random)


def test_seeds_of_users_are_used() -> None:
    class Seeded:
        def seed(self, seed: int) -> str:
            return f"seeded with {seed}"

    class Before(Seeded, gymcore.Env[Any, Any]):
        pass

    class After(gymcore.Env[Any, Any], Seeded):
        pass

    class Forwards(gymcore.Env[Any, Any]):
        def __getattr__(self, name: str) -> Any:
            return getattr(Seeded(), name)

    for cls in (Before, After, Forwards):
        assert cls().seed(3) == "seeded with 3"  # type: ignore[attr-defined]
    env: Any = gymcore.Env()
    assert not hasattr(env, "seed") and not hasattr(gymcore.Env, "seed")
    env.seed = 3
    assert env.seed == 3 and copy.copy(env).seed == 3


def test_a_wrapper_may_pass_attributes_on_by_itself() -> None:
    class Forwarding(gymcore.Wrapper[Any, Any, Any, Any]):
        def __getattr__(self, name: str) -> Any:
            return getattr(self.env, name)

    assert Forwarding(make_env(gymcore)).gravity == 9.8


def test_a_wrapper_without_env_has_a_plain_error() -> None:
    with pytest.raises(AttributeError, match="'Wrapper' object has no attribute 'env'"):
        gymcore.Wrapper.__new__(gymcore.Wrapper).env  # noqa: B018


@pytest.mark.parametrize("name", ["gravity", "scale", "_secret", "nothing", "env", "broken"])
def test_reading_attributes_of_any_layer(name: str) -> None:
    compare(lambda gym: layers(gym)[0].has_wrapper_attr(name))
    compare(lambda gym: layers(gym)[2].has_wrapper_attr(name))
    compare(lambda gym: layers(gym)[0].get_wrapper_attr(name))
    compare(lambda gym: layers(gym)[2].get_wrapper_attr(name), message=name != "nothing")


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("name", ["gravity", "scale", "new", "_secret", "observation_space"])
def test_writing_attributes_of_any_layer(name: str, force: bool) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        stack = layers(gym)
        done = stack[0].set_wrapper_attr(name, "value", force=force)
        stored = [vars(layer).get(name, "nowhere") for layer in stack]
        base_done = stack[2].set_wrapper_attr("other", 1, force=force)
        return [done, stored, base_done, stack[0].has_wrapper_attr(name)]

    compare(scenario)


def test_writing_a_read_only_attribute() -> None:
    compare(lambda gym: layers(gym)[0].set_wrapper_attr("render_mode", "human"))


# Copies


def test_copies_of_wrapped_environments() -> None:
    env = gymcore.Wrapper(gymcore.Wrapper(gymcore.Env()))
    env.reset(seed=4)
    for again in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert str(again) == str(env)
        assert again.unwrapped is not env.unwrapped
        assert again.np_random.random() == np.random.default_rng(4).random()


def test_pickling_asks_for_no_attribute_of_an_empty_wrapper() -> None:
    shell = gymcore.Wrapper.__new__(gymcore.Wrapper)
    assert not hasattr(shell, "__deepcopy__")
    assert not hasattr(shell, "gravity")


# Spec


class Recorded(gymcore.Wrapper[Any, Any, Any, Any], gymcore.utils.RecordConstructorArgs):
    def __init__(self, env: Any, keys: Any) -> None:
        gymcore.utils.RecordConstructorArgs.__init__(self, keys=keys, env=env)
        gymcore.Wrapper.__init__(self, env)


def test_spec_of_wrappers() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        class Scaled(gym.Wrapper, gym.utils.RecordConstructorArgs):
            def __init__(self, env: Any, keys: Any) -> None:
                gym.utils.RecordConstructorArgs.__init__(self, keys=keys)
                gym.Wrapper.__init__(self, env)

        base = make_env(gym)
        keys = ["a"]
        env = Scaled(gym.Wrapper(base), keys)
        before = env.spec
        base.spec = gym.envs.registration.EnvSpec("Pole-v0", kwargs={"nested": {"a": 1}})
        keys.append("b")
        spec = env.spec
        base.spec.kwargs["nested"]["a"] = 2
        return [before, spec, env.spec is spec, base.spec, env.wrapper_spec(keys=1)]

    compare(scenario)


def test_spec_survives_arguments_that_cannot_be_copied() -> None:
    class NoCopy:
        def __deepcopy__(self, memo: Any) -> Any:
            raise RuntimeError("this cannot be copied")

    model = NoCopy()
    base = make_env(gymcore)
    base.spec = gymcore.envs.registration.EnvSpec("Pole-v0", kwargs={"model": model})
    env = Recorded(Recorded(base, model), model)
    spec = env.spec
    assert spec is not None
    assert [wrapper.kwargs for wrapper in spec.additional_wrappers] == [{"keys": model}] * 2
    assert spec.kwargs == {"model": model}
