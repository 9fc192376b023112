"""Subclasses of Box2D environments with a step of their own, and the names that they import."""

from __future__ import annotations

import copy
import importlib
import inspect
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.native.vector_env import NativeVectorEnv
from tests.testing_env import assert_same

pytest.importorskip("Box2D")


@pytest.mark.parametrize("module", ["lunar_lander", "bipedal_walker", "car_racing", "car_dynamics"])
def test_constants_that_programs_import(module: str) -> None:
    ours, theirs = (
        importlib.import_module(f"{package}.envs.box2d.{module}")
        for package in ("gymcore", "gymnasium")
    )
    for name, value in vars(theirs).items():
        if name.isupper() and not name.startswith("__"):
            assert hasattr(ours, name), name
            if isinstance(value, int | float | list | tuple):
                assert_same(getattr(ours, name), value)
    assert module != "car_racing" or ours.Car.__name__ == "Car"


def pushed(package: Any) -> Any:
    """Return a lander whose step pushes it, and makes a particle."""
    module = importlib.import_module(f"{package.__name__}.envs.box2d.lunar_lander")

    class Pushed(module.LunarLander):  # type: ignore[misc, name-defined]
        def step(self, action: Any) -> Any:
            spot = (self.lander.position[0], self.lander.position[1] - 4 / module.SCALE)
            particle = self._create_particle(3.5, *spot, 1.0)
            particle.ApplyLinearImpulse((0.0, 1.0), spot, True)
            particle.ttl = -1.0 if action else 1.0
            self.lander.ApplyLinearImpulse((0.0, 1.0), spot, True)
            self.world.Step(1.0 / module.FPS, 180, 60)
            bodies = len(self.world.bodies)
            return np.array([*self.lander.position, *particle.position, bodies]), 0.0, False, 0, {}

    return Pushed()


def test_a_lander_with_particles_of_a_subclass() -> None:
    envs = [pushed(package) for package in (gymcore, gymnasium)]
    for _ in range(2):
        ours, theirs = (env.reset(seed=3)[0] for env in envs)
        np.testing.assert_array_equal(ours, theirs)
        for action in (0, 1, 1, 0):
            ours, theirs = (env.step(action)[0] for env in envs)
            np.testing.assert_array_equal(ours, theirs)
    for env in envs:
        env._clean_particles(True)
    assert len({len(env.world.bodies) for env in envs}) == 1
    env = envs[0]
    env._destroy()
    assert env.lander is None and not env._world.bodies
    assert env.reset(seed=3)[0].shape == (5,)
    with pytest.raises(error.ResetNeeded, match="_create_particle"):
        pushed(gymcore)._create_particle(1.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "env_id", ["LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3"]
)
def test_reset_steps_by_the_step_of_a_subclass(env_id: str) -> None:
    results = []
    for package in (gymcore, gymnasium):
        base: Any = type(package.make(env_id).unwrapped)

        def step(self: Any, action: Any, base: Any = base) -> Any:
            observation, reward, *rest = base.step(self, action)
            return observation + 1, reward, *rest

        keywords = {"continuous": True} if "Continuous" in env_id else {}
        env = type("Mine", (base,), {"step": step})(**keywords)
        env.action_space.seed(1)
        actions = [env.action_space.sample() for _ in range(20)]
        observations = [env.reset(seed=5)[0], *(env.step(action)[0] for action in actions)]
        results.append([*observations, env.reset()[0]])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


POWERS = {"main_engine_power": 9.5, "side_engine_power": 1.25, "initial_random": 400.0}


def test_powers_of_engines_are_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("gymnasium.envs.box2d.lunar_lander")
    for name, value in POWERS.items():
        monkeypatch.setattr(module, name.upper(), value)
    env = gymcore.make("LunarLander-v3", **POWERS)
    envs = gymcore.make_vec("LunarLander-v3", 2)
    for name, value in POWERS.items():
        envs.set_attr(name, [getattr(env.unwrapped, name) + 1, value])
    theirs = gymnasium.make("LunarLander-v3")
    lanes = envs.reset(seed=[4, 5])[0]
    ours, expected = env.reset(seed=5)[0], theirs.reset(seed=5)[0]
    for k in range(40):
        np.testing.assert_array_equal(ours, expected)
        np.testing.assert_array_equal(lanes[1], expected)
        action = (k // 5) % 4
        lanes = envs.step([0, action])[0]
        ours, expected = env.step(action)[0], theirs.step(action)[0]
    again = gymcore.make("LunarLander-v3")
    again.reset(seed=1)
    again.unwrapped.set_state(env.unwrapped.get_state())
    assert again.unwrapped.main_engine_power == 9.5
    np.testing.assert_array_equal(again.step(2)[0], env.step(2)[0])


@pytest.mark.parametrize("name", [*POWERS, "dispersion"])
def test_powers_are_checked(name: str) -> None:
    env: Any = gymcore.make("LunarLander-v3").unwrapped
    for value, kind in ((-1.0, ValueError), (2e6, ValueError), ("1", TypeError)):
        with pytest.raises(kind, match=name):
            setattr(env, name, value)


def test_dispersion_scales_the_scatter() -> None:
    speeds = []
    for dispersion in (0.0, 1.0):
        env = gymcore.make("LunarLander-v3", dispersion=dispersion, initial_random=0.0)
        env.reset(seed=3)
        speeds.append(float(env.step(2)[0][2]))
    assert abs(speeds[0]) < 1e-5 < 1e-4 < abs(speeds[1])


# Overrides of what Gymnasium calls in resets and steps: they change what happens, and count calls.


def hilly(package: Any) -> Any:
    walker = importlib.import_module(f"{package.__name__}.envs.box2d.bipedal_walker")

    class Between(walker.BipedalWalker):  # type: ignore[misc, name-defined]
        def step(self, action: Any) -> Any:
            observation, *rest = super().step(action)
            return observation + 0, *rest

    class Mine(Between):
        calls = 0

        def _destroy(self) -> None:
            self.calls += 1
            super()._destroy()

        def _generate_clouds(self) -> None:
            self.np_random.random(3)
            super()._generate_clouds()

        def _generate_terrain(self, hardcore: bool) -> None:
            super()._generate_terrain(not hardcore)
            self.fd_edge.shape.vertices = [(0, 0), (1, 7)]
            wall = self.world.CreateStaticBody(fixtures=self.fd_edge)
            wall.color1 = wall.color2 = (0, 0, 0)
            self.terrain.append(wall)

    return Mine


def turned(package: Any) -> Any:
    racing = importlib.import_module(f"{package.__name__}.envs.box2d.car_racing")

    class Mine(racing.CarRacing):  # type: ignore[misc, name-defined]
        calls = 0

        def _destroy(self) -> None:
            self.calls += 1
            super()._destroy()

        def _init_colors(self) -> None:
            super()._init_colors()
            self.road_color = np.array([1.0, 2.0, 3.0])

        def _reinit_colors(self, randomize: bool) -> None:
            super()._reinit_colors(randomize)
            self.bg_color = self.bg_color * 0.5

        def _create_track(self) -> bool:
            self.calls += 100
            if self.calls % 300 == 100:
                self.np_random.random(3)
                return False
            is_closed = super()._create_track()
            if is_closed:
                self.track = self.track[5:] + self.track[:5]
                for tile in self.road[::3]:
                    tile.color = tile.color * 0 + 50.0
            return bool(is_closed)

    return Mine


def smoking(package: Any) -> Any:
    lunar = importlib.import_module(f"{package.__name__}.envs.box2d.lunar_lander")

    class Mine(lunar.LunarLander):  # type: ignore[misc, name-defined]
        calls = 0

        def _destroy(self) -> None:
            self.calls += 1
            super()._destroy()

        def _create_particle(self, mass: float, x: float, y: float, ttl: float) -> Any:
            self.calls += 100
            self.lander.ApplyForceToCenter((3.0, 1.0), True)
            return super()._create_particle(mass * 2, x, y - 1, ttl)

        def _clean_particles(self, all_particle: bool) -> None:
            self.calls += 10_000
            super()._clean_particles(all_particle)

    return Mine


def drawn(package: Any) -> Any:
    racing = importlib.import_module(f"{package.__name__}.envs.box2d.car_racing")

    class Mine(racing.CarRacing):  # type: ignore[misc, name-defined]
        calls = 0

        def _render(self, mode: str) -> Any:
            self.calls += 1
            self.shown = self.reward
            return super()._render(mode)

        def _render_road(self, zoom: float, translation: Any, angle: float) -> None:
            super()._render_road(zoom * 0.5, translation, angle)

        def _render_indicators(self, W: int, H: int) -> None:
            super()._render_indicators(W, H)
            self.surf.fill((9, 8, 7), (0, H - 50, W // 2, 50))

        def _create_image_array(self, screen: Any, size: Any) -> Any:
            return super()._create_image_array(screen, size)[::-1] // 2

    return Mine


def dotted(package: Any) -> Any:
    class Mine(drawn(package)):  # type: ignore[misc]
        def _draw_colored_polygon(
            self, surface: Any, poly: Any, color: Any, *place: Any, clip: bool = True
        ) -> None:
            self.calls += 1 + clip
            color = [int(c) // 2 for c in color]
            super()._draw_colored_polygon(surface, poly[:3], color, *place, clip=clip)

    return Mine


def stepping(package: Any) -> Any:
    racing = importlib.import_module(f"{package.__name__}.envs.box2d.car_racing")

    class Mine(racing.CarRacing):  # type: ignore[misc, name-defined]
        calls = 0

        def step(self, action: Any) -> Any:
            self.calls += 1 if action is not None else 100
            observation, reward, *flags = super().step(action)
            return observation // 2, reward + self.calls, *flags

    return Mine


def stepping_in_python(package: Any) -> Any:
    class Mine(stepping(package)):  # type: ignore[misc]
        def _destroy(self) -> None:
            super()._destroy()

    return Mine


def regenerating(package: Any) -> Any:
    walker = importlib.import_module(f"{package.__name__}.envs.box2d.bipedal_walker")

    class Mine(walker.BipedalWalker):  # type: ignore[misc, name-defined]
        calls = 1

        def step(self, action: Any) -> Any:
            if self.np_random.random() < 0.1:
                self._generate_clouds()
                self.calls += 1
            return super().step(action)

    return Mine


SEEN = {"render_mode": "rgb_array"}
HOOKS: dict[str, tuple[Any, dict[str, Any]]] = {
    "walker": (hilly, {}),
    "walker that only calls a hook": (regenerating, {}),
    "walker hardcore": (hilly, {"hardcore": True}),
    "racing": (turned, {}),
    "racing in random colors": (turned, {"domain_randomize": True}),
    "racing drawn seen": (drawn, SEEN),
    "racing with its own step": (stepping, {}),
    "racing in Python with its own step": (stepping_in_python, {}),
    "racing in other colors": (dotted, {}),
    "lander": (smoking, {}),
    "lander seen": (smoking, SEEN),
    "lander in wind seen": (smoking, {**SEEN, "continuous": True, "enable_wind": True}),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*steps in Python")
@pytest.mark.parametrize("case", list(HOOKS))
def test_hooks_are_called_as_in_gymnasium(case: str) -> None:
    make, keywords = HOOKS[case]
    ours, theirs = envs = [make(package)(**keywords) for package in (gymcore, gymnasium)]
    for seed in (3, None, None):
        np.testing.assert_array_equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
        assert ours.calls == theirs.calls > 0
        theirs.action_space.seed(1)
        for k in range(20 if "racing" in case else 150):
            action = theirs.action_space.sample()
            results, expected = ours.step(action), theirs.step(action)
            np.testing.assert_array_equal(results[0], expected[0])
            assert results[1:] == expected[1:] and ours.calls == theirs.calls
            if "seen" in case and k % 2:
                assert ours.render().shape == theirs.render().shape
            for name in ("terrain", "road", "particles"):
                if hasattr(theirs, name):
                    bodies = [[body.position for body in getattr(env, name)] for env in envs]
                    assert bodies[0] == bodies[1]
            if expected[2]:
                break
    random = ours.np_random.random()
    assert random == theirs.np_random.random()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*steps in Python")
@pytest.mark.parametrize("case", list(HOOKS))
def test_states_and_copies_of_classes_with_hooks(case: str) -> None:
    make, keywords = HOOKS[case]
    env = make(gymcore)(**keywords)
    env.reset(seed=1)
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(20)]
    for action in actions:
        env.step(action)
    state, copied = env.get_state(), copy.deepcopy(env)
    expected = [env.step(action)[0] for action in actions] + [env.np_random.random(2)]
    for other in (copied, env):
        if other is env:
            other.set_state(state)
        results = [other.step(action)[0] for action in actions] + [other.np_random.random(2)]
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, wanted)


def test_what_is_said_of_a_class_with_hooks() -> None:
    with pytest.warns(UserWarning, match=r"Mine\._destroy: .*steps in Python"):
        cls = hilly(gymcore)
    assert issubclass(cls, type(gymcore.make("BipedalWalker-v3").unwrapped))
    with pytest.raises(error.InvalidArgument, match="Mine: expected a class that compiled code"):
        NativeVectorEnv.of(cls)(2)
    type("Again", (cls,), {})  # without another warning


@pytest.mark.filterwarnings("ignore:.*steps in Python")
def test_a_hook_that_is_set_later_is_called() -> None:
    """As cloudpickle does, which makes an empty class first."""
    base: Any = type(gymcore.make("BipedalWalker-v3").unwrapped)
    cls: Any = type("Mine", (base,), {})
    cls._generate_clouds = lambda self: self.np_random.random(7)
    env, plain = cls(), base()
    env.reset(seed=1)
    plain.reset(seed=1)
    assert env.np_random.random() != plain.np_random.random()
    assert env.terrain_y == plain.terrain_y


def with_sources(package: Any, module: str, name: str, methods: list[str]) -> Any:
    """Return a subclass that repeats the source of methods of Gymnasium's class."""
    theirs, ours = (
        importlib.import_module(f"{each}.envs.box2d.{module}") for each in ("gymnasium", "gymcore")
    )
    names = dict(vars(theirs))
    if package is gymcore:
        names |= {each: vars(ours)[each] for each in names.keys() & vars(ours).keys()}
        names |= {"gym": gymcore, "spaces": gymcore.spaces, "EzPickle": gymcore.utils.EzPickle}
    names["__name__"] = "program"
    sources = [inspect.getsource(vars(vars(theirs)[name])[method]) for method in methods]
    exec("\n".join([f"class Mine({name}):\n    pass\n", *sources]), names)
    return names["Mine"]


def methods_of(name: str) -> list[str]:
    """Return the names of the methods that Gymnasium's class defines."""
    cls = type(gymnasium.make(f"{name}-v3").unwrapped)
    return [method for method, value in vars(cls).items() if inspect.isfunction(value)]


SOURCES = [
    (module, name, methods)
    for module, name in {
        "lunar_lander": "LunarLander",
        "bipedal_walker": "BipedalWalker",
        "car_racing": "CarRacing",
    }.items()
    for methods in (
        *([method] for method in methods_of(name)),
        methods_of(name),
        ["reset", "_destroy"],
        [method for method in methods_of(name) if method != "__init__"],
        [method for method in methods_of(name) if method != "step"],
    )
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*steps in Python")
@pytest.mark.parametrize(
    ("module", "name", "methods"), SOURCES, ids=[f"{x[1]}-{'-'.join(x[2])}" for x in SOURCES]
)
def test_classes_that_repeat_the_source_of_gymnasium(
    module: str, name: str, methods: list[str]
) -> None:
    ours, theirs = (
        with_sources(package, module, name, methods)(render_mode="rgb_array")
        for package in (gymcore, gymnasium)
    )
    for seed in (1, 2):
        assert_same(ours.reset(seed=seed), theirs.reset(seed=seed))
        theirs.action_space.seed(seed)
        for _ in range(6 if name == "CarRacing" else 80):
            action = theirs.action_space.sample()
            results = ours.step(action), theirs.step(action)
            np.testing.assert_array_equal(results[0][0], results[1][0])
            assert results[0][1:] == results[1][1:]
            if results[0][2]:
                break
        frames = ours.render(), theirs.render()
        if "render" in methods and name != "CarRacing":  # which draws the same pictures
            np.testing.assert_array_equal(*frames)
    ours.close()
    theirs.close()


@pytest.mark.filterwarnings("ignore:.*steps in Python")
@pytest.mark.parametrize("methods", [["reset"], ["reset", "step"], ["step", "_destroy"]], ids=str)
def test_an_episode_that_other_code_built_or_moved_has_no_state(methods: list[str]) -> None:
    env = with_sources(gymcore, "lunar_lander", "LunarLander", methods)()
    with pytest.raises(error.ResetNeeded, match="get_state"):
        env.get_state()
    assert copy.deepcopy(env).reset(seed=1)[0].tolist() == env.reset(seed=1)[0].tolist()
    env.step(0)
    for call in (env.get_state, lambda: copy.deepcopy(env)):
        with pytest.raises(error.Error, match="built or moved its hull"):
            call()
