"""Subclasses that override parts of Gymnasium's steps: called, or refused at definition."""

from __future__ import annotations

import copy
import importlib
import inspect
import textwrap
from types import FunctionType, ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.native.vector_env import NativeVectorEnv
from tests.testing_env import assert_same

OBSERVERS = {"Pendulum-v1": "_get_obs", "Acrobot-v1": "_get_ob", "Blackjack-v1": "_get_obs"}


def subclass(gym: Any, env_id: str, **members: Any) -> type:
    return type("Mine", (type(gym.make(env_id).unwrapped),), members)


@pytest.mark.parametrize("env_id", list(OBSERVERS))
def test_a_subclass_may_observe(env_id: str) -> None:
    results: list[Any] = []
    for gym in (gymcore, gymnasium):
        name = OBSERVERS[env_id]
        base = type(gym.make(env_id).unwrapped)

        def observe(self: Any, base: Any = base, name: str = name) -> Any:
            return np.array([*getattr(base, name)(self)[:-1], 7.0])

        env = subclass(gym, env_id, **{name: observe})()
        action = env.action_space
        action.seed(1)
        results.append([env.reset(seed=1)[0], *(env.step(action.sample())[0] for _ in range(2))])
    for ours, theirs in zip(*results, strict=True):
        assert ours[-1] == 7.0
        assert_same(ours.shape, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


# Gymnasium's classes read it when they are made, as ours do.
HONOURED = {"dt"}
OTHERS = {"step", "reset", "close", "render", "np_random", "np_random_seed"}


def methods_of(cls: type) -> dict[str, Any]:
    """Return the members of Gymnasium's class, bases included: methods and properties."""
    return {
        name: value
        for base in reversed(cls.__mro__)
        if base is not gymnasium.Env and base.__module__.startswith("gymnasium.envs")
        for name, value in vars(base).items()
        if isinstance(value, property | FunctionType)
        and not name.startswith("__")
        and name not in OTHERS
    }


def called(base: type, name: str, value: Any) -> list[str]:
    """Override one name in a subclass; return the calls that used the override."""
    calls: list[str] = []
    phase = "init"

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(phase)
        return getattr(super(cls, self), name)(*arguments, **options)

    def read(self: Any) -> Any:
        calls.append(phase)
        return getattr(super(cls, self), name)

    cls: Any = type("Mine", (base,), {name: property(read) if type(value) is property else method})
    env = cls()
    phase = "reset"
    env.reset(seed=1)
    phase = "step"
    env.step(env.action_space.sample())
    return calls


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*out of date", "ignore:.*steps in Python")
@pytest.mark.parametrize(
    "env_id",
    [
        *OBSERVERS,
        *(
            "CartPole-v1",
            "CliffWalking-v1",
            "Taxi-v4",
            "Ant-v4",
            "Ant-v5",
            "Hopper-v5",
            "Reacher-v5",
        ),
        *("LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"),
    ],
)
def test_whatever_gymnasium_calls_is_called_or_refused(env_id: str) -> None:
    bases = [type(gym.make(env_id).unwrapped) for gym in (gymcore, gymnasium)]
    for name, value in methods_of(bases[1]).items():
        theirs = set(called(bases[1], name, value)) - {"init"}
        try:
            ours = called(bases[0], name, value)
        except error.Error as refusal:
            assert f"Mine.{name}: " in str(refusal)
        else:
            assert theirs <= set(ours) or (name in HONOURED and ours), name


def test_overrides_of_other_kinds() -> None:
    base = type(gymcore.make("Ant-v5").unwrapped)
    type("Mine", (base,), {"healthy_reward": 2.0})  # fixes the weight


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "Acrobot-v1"])
def test_a_constructor_need_not_call_that_of_the_class(env_id: str) -> None:
    plain: Any = gymcore.make(env_id).unwrapped

    def init(self: Any) -> None:
        if hasattr(plain, "gravity"):
            self.gravity = plain.gravity
        self.observation_space, self.action_space = plain.observation_space, plain.action_space
        self.screen = self.surf = self.clock = self.state = None

    env = subclass(gymcore, env_id, __init__=init)()
    np.testing.assert_array_equal(env.reset(seed=1)[0], plain.reset(seed=1)[0])
    action = plain.action_space.sample()
    np.testing.assert_array_equal(env.step(action)[0], plain.step(action)[0])


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Acrobot-v1", "LunarLander-v3", "CarRacing-v3"])
def test_a_render_with_its_own_surfaces(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")

    def render(self: Any) -> Any:
        if self.screen is None:
            self.screen = pygame.display.set_mode((40, 30))
            self.clock = pygame.time.Clock()
        self.surf = pygame.Surface((40, 30))
        self.surf.fill((1, 2, 3))
        self.screen.blit(self.surf, (0, 0))
        return self.screen.get_at((5, 5))[:3]

    env = subclass(gymcore, env_id, render=render)(render_mode="rgb_array")
    env.reset(seed=1)
    assert env.render() == (1, 2, 3)
    copied = copy.deepcopy(env)
    assert copied.screen is None and copied.clock is None
    env.close()
    assert env.screen is None and not pygame.display.get_init()


@pytest.mark.parametrize(
    "env_id", ["CartPole-v1", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"]
)
def test_an_assigned_state_keeps_its_dtype(env_id: str) -> None:
    for gym in (gymcore, gymnasium):
        env: Any = gym.make(env_id).unwrapped
        env.reset(seed=1)
        env.state = np.asarray(env.state, np.float32)
        assert env.state.dtype == np.float32
        env.step(env.action_space.sample())
        if env_id in ("CartPole-v1", "Acrobot-v1"):  # the others go on in float32 in Gymnasium
            assert np.asarray(env.state).dtype == np.float64
    env = gymcore.make(env_id).unwrapped
    env.reset(seed=1)
    env.state = np.asarray(env.state, np.float32)
    env.reset()
    assert env.state.dtype == np.float64


@pytest.mark.filterwarnings("ignore:.*steps in Python")
@pytest.mark.parametrize("equations", ["book", "nips"])
def test_acrobot_steps_through_overrides(equations: str) -> None:
    envs: list[Any] = []
    for gym in (gymcore, gymnasium):
        base: Any = type(gym.make("Acrobot-v1").unwrapped)

        def derivatives(self: Any, state: Any, base: Any = base) -> Any:
            result = base._dsdt(self, state)
            return (*result[:3], 0.9 * result[3], 0.0)

        def ends(self: Any, base: Any = base) -> bool:
            return bool(base._terminal(self) or abs(self.state[0]) > 0.5)

        envs.append(type("Mine", (base,), {"_dsdt": derivatives, "_terminal": ends})())
        envs[-1].book_or_nips = equations
        envs[-1].AVAIL_TORQUE = [-2.0, 0.5, 2.0]
        envs[-1].reset(seed=2)
    ended = set()
    for k in range(60):
        ours, theirs = (env.step(2 * (k // 7 % 2)) for env in envs)
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-6)
        assert ours[1:] == theirs[1:]
        np.testing.assert_allclose(*(env.state for env in envs), rtol=1e-9, atol=1e-9)
        ended.add(ours[2])
    assert ended == {True, False}


def town(base: Any, name: str) -> dict[str, Any]:
    """Return an override of a method that builds Taxi's table, or that steps."""
    if name == "_pickup":
        return {name: lambda self, *about: (base._pickup(self, *about)[0], -3)}
    if name == "_dropoff":
        return {name: lambda self, *about: (*base._dropoff(self, *about)[:2], about[1] == 4)}
    if name == "_calc_new_position":
        return {name: lambda self, row, col, step: (row, min(col + step[0] ** 2, 4))}
    if name == "action_mask":
        return {name: lambda self, state: base.action_mask(self, state) * np.int8(state % 3 + 1)}
    if name == "encode":  # another numbering of the states
        return {
            "encode": lambda self, *parts: (base.encode(self, *parts) + 60) % 500,
            "decode": lambda self, state: base.decode(self, (state - 60) % 500),
        }

    def build(self: Any, *about: int) -> None:
        state = self.encode(*about[:4])
        self.P[state][about[4]] += [(0.25, 499 - state, 2, False), (0.75, state, -1, state == 7)]

    return {name: build}


TABLES = {
    "Taxi-v4": (
        *("_pickup", "_dropoff", "_calc_new_position", "action_mask", "encode"),
        *("_build_dry_transitions", "_build_rainy_transitions"),
    ),
    "CliffWalking-v1": ("_limit_coordinates", "_calculate_transition_prob"),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*steps in Python")
@pytest.mark.parametrize(
    "env_id, name", [(env_id, name) for env_id, names in TABLES.items() for name in names]
)
@pytest.mark.parametrize("is_random", [False, True])
def test_tables_are_built_by_overrides(env_id: str, name: str, is_random: bool) -> None:
    envs: list[Any] = []
    for gym in (gymcore, gymnasium):
        base: Any = type(gym.make(env_id).unwrapped)
        if env_id == "Taxi-v4":
            keywords = {"is_rainy": is_random, "fickle_passenger": True, "fickle_probability": 0.9}
            members = town(base, name)
        elif name == "_limit_coordinates":  # a torus
            keywords = {"is_slippery": is_random}
            members = {name: lambda self, place: np.array([place[0] % 4, place[1] % 12])}
        else:
            keywords = {"is_slippery": is_random}

            def outcomes(self: Any, place: Any, move: int, base: Any = base) -> Any:
                made = base._calculate_transition_prob(self, place, move)
                return [(chance, s, 2 * reward, end) for chance, s, reward, end in made]

            members = {name: outcomes}
        envs.append(type("Mine", (base,), members)(**keywords))
    ours, theirs = envs
    assert ours.P == theirs.P
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    random = np.random.default_rng(4)
    for _ in range(300):
        action = int(random.integers(theirs.action_space.n))
        if name != "_build_dry_transitions" and theirs.s % 4 == 0 and env_id == "Taxi-v4":
            mask = theirs.action_mask(theirs.s)
            action = 4 if mask[4] else 5 if mask[5] else action
        results = ours.step(action), theirs.step(action)
        np.testing.assert_equal(*results)
        assert ours.s == theirs.s and ours.lastaction == theirs.lastaction
        if results[0][2]:
            np.testing.assert_equal(ours.reset(), theirs.reset())


def test_batches_share_the_table_that_overrides_build() -> None:
    base: Any = type(gymcore.make("Taxi-v4").unwrapped)
    cls = type("Mine", (base,), town(base, "_pickup"))
    envs = NativeVectorEnv.of(cls)(3)
    envs.reset(seed=1)
    assert envs.step([4, 4, 4])[1].tolist() == [-3.0] * 3


MODULES = {
    "toy_text.frozen_lake": "FrozenLakeEnv",
    "toy_text.taxi": "TaxiEnv",
    "toy_text.cliffwalking": "CliffWalkingEnv",
    "toy_text.blackjack": "BlackjackEnv",
    "classic_control.cartpole": "CartPoleEnv",
    "classic_control.mountain_car": "MountainCarEnv",
    "classic_control.continuous_mountain_car": "Continuous_MountainCarEnv",
    "classic_control.acrobot": "AcrobotEnv",
    "classic_control.pendulum": "PendulumEnv",
}


def own_methods(module: str) -> dict[str, Any]:
    """Return the functions and static methods that Gymnasium's class defines."""
    cls = vars(importlib.import_module(f"gymnasium.envs.{module}"))[MODULES[module]]
    return {k: v for k, v in vars(cls).items() if isinstance(v, FunctionType | staticmethod)}


def repeated() -> dict[str, tuple[str, list[str]]]:
    """Return a name, and the module and the methods of a class that repeats Gymnasium's source."""
    cases = {}
    for module, name in MODULES.items():
        methods = list(own_methods(module))
        short = name.removesuffix("Env")
        cases |= {f"{short}.{method}": (module, [method]) for method in methods}
        cases[short] = module, methods
        for missing in ("__init__", "reset", "step", "render", "_render_gui"):
            if missing in methods:
                others = [method for method in methods if method != missing]
                cases[f"{short} without {missing}"] = module, others
    return cases


def with_sources(package: Any, module: str, methods: list[str]) -> Any:
    """Return a subclass that repeats the source of methods of Gymnasium's class."""
    theirs, ours = (importlib.import_module(f"{each}.envs.{module}") for each in PACKAGES)
    names = dict(vars(theirs))
    if package is gymcore:
        names |= {each: vars(ours)[each] for each in names.keys() & vars(ours).keys()}
        for name, value in names.items():
            if isinstance(value, ModuleType) and value.__name__.startswith("gymnasium"):
                names[name] = importlib.import_module("gymcore" + value.__name__[9:])
    names |= {"__name__": "program", "__file__": theirs.__file__}
    sources = [inspect.getsource(own_methods(module)[method]) for method in methods]
    exec("\n".join([f"class Mine({MODULES[module]}):\n    pass\n", *sources]), names)
    return names["Mine"]


PACKAGES = "gymnasium", "gymcore"
REPEATED = repeated()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*steps in Python")
@pytest.mark.parametrize("case", REPEATED)
def test_classes_that_repeat_the_source_of_gymnasium(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    module, methods = REPEATED[case]
    names = vars(importlib.import_module(f"gymcore.envs.{module}"))
    for mode in sorted({"rgb_array", "ansi"} & {*names[MODULES[module]].metadata["render_modes"]}):
        ours, theirs = (
            with_sources(package, module, methods)(render_mode=mode)
            for package in (gymcore, gymnasium)
        )
        draws = {"toy_text": {"render", "_render_gui"}, "classic_control": {"render"}}
        has_same_frames = mode != "rgb_array" or (
            draws[module.partition(".")[0]] & own_methods(module).keys() <= {*methods}
        )
        if module == "toy_text.taxi" and mode == "rgb_array":
            has_same_frames = "get_surf_loc" in methods and has_same_frames
        for seed in (1, 2):
            np.testing.assert_equal(ours.reset(seed=seed), theirs.reset(seed=seed))
            theirs.action_space.seed(seed)
            for k in range(20):
                action = theirs.action_space.sample()
                results = ours.step(action), theirs.step(action)
                (assert_close if "classic" in module else np.testing.assert_equal)(*results)
                if k < 1 and mode is not None:
                    frames = ours.render(), theirs.render()
                    if has_same_frames:
                        np.testing.assert_equal(*frames)
                if results[0][2]:
                    break
        for env in (ours, theirs):
            env.close()


def assert_close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6, atol=1e-6)
    assert ours[2:] == theirs[2:]


@pytest.mark.parametrize("module", MODULES)
def test_copies_of_classes_with_a_constructor_of_their_own(module: str) -> None:
    env = with_sources(gymcore, module, ["__init__"])()
    envs = [env, copy.deepcopy(env)]
    for each in envs:
        each.reset(seed=1)
    envs.append(copy.deepcopy(env))
    for action in (0, 1, 1):
        if module.endswith(("continuous_mountain_car", "pendulum")):
            action = np.full(1, action)
        expected, *others = (each.step(action) for each in envs)
        for result in others:
            np.testing.assert_equal(result, expected)


def test_a_town_of_ones_own() -> None:
    """Gymnasium builds the table of a constructor's own map and stops."""
    envs = []
    for package in (gymcore, gymnasium):
        module = "toy_text.taxi"
        cls = with_sources(package, module, ["__init__"])
        plan = vars(importlib.import_module("gymnasium.envs.toy_text.taxi"))["MAP"]
        walls = [line.replace(" ", ":") if line[0] == "|" else line for line in plan]
        cls.__init__.__globals__["MAP"] = walls
        envs.append(cls(is_rainy=True, fickle_passenger=True, render_mode="ansi"))
        envs[-1].locs = [(0, 0), (0, 4), (4, 0), (4, 4)]
    ours, theirs = envs
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    for action in np.random.default_rng(4).integers(6, size=300).tolist():
        np.testing.assert_equal(ours.step(action), theirs.step(action))
        assert ours.render() == theirs.render()


def test_a_cliff_of_ones_own() -> None:
    envs = []
    for package in (gymcore, gymnasium):
        cls = with_sources(package, "toy_text.cliffwalking", ["__init__"])
        source = inspect.getsource(own_methods("toy_text.cliffwalking")["__init__"])
        source = source.replace("(4, 12)", "(5, 7)").replace("[3, 1:-1]", "[2:, 3]")
        exec(textwrap.dedent(source), cls.__init__.__globals__)
        cls.__init__ = cls.__init__.__globals__["__init__"]
        envs.append(cls(is_slippery=True, render_mode="ansi"))
    ours, theirs = envs
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    for action in np.random.default_rng(4).integers(4, size=300).tolist():
        np.testing.assert_equal(ours.step(action), theirs.step(action))
        assert ours.s == theirs.s


def test_a_constructor_without_a_table() -> None:
    cls = subclass(gymcore, "FrozenLake-v1", __init__=lambda self: None)
    with pytest.raises(AttributeError, match="Mine: expected P and initial_state_distrib"):
        cls().reset()
