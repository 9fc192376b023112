"""CarRacing equals Gymnasium's to the bit, pixels included; arguments, states, life cycle."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error

pytest.importorskip("pygame", reason="pygame is not installed")
from tests.envs.box2d.pairs import (  # isort: skip
    fly_side_by_side,
    gymnasium,
    gymnasium_box2d,
    make_pair,
    no_action,
    random_actions,
)
from tests.envs.box2d.racing_driver import drive  # isort: skip
from tests.envs.box2d.racing_pictures import SomePictures, car_of  # isort: skip
from gymcore.envs.box2d import car_dynamics, car_racing  # isort: skip
from gymcore.envs.box2d.car_racing import CarRacing  # isort: skip
from gymcore.envs.box2d.car_racing_python import CarRacing as CarRacingInPython  # isort: skip
from gymcore.envs.box2d.library import problem  # isort: skip

compiled = pytest.mark.skipif(problem() is not None, reason=str(problem()))

ARGUMENTS: list[dict[str, Any]] = [{}, {"continuous": False}, {"domain_randomize": True}]
GAS = np.array([0.0, 1.0, 0.0], np.float32)


def full_gas(env: Any, observation: Any, random: np.random.Generator) -> Any:
    """Spin, skid and leave the field."""
    if not env.continuous:
        return int(random.choice([3, 3, 3, 1, 2]))
    return np.array([random.uniform(-0.05, 0.05), 1.0, 0.0], np.float32)


POLICIES = [random_actions, full_gas, no_action]


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_equals_gymnasium(arguments):
    policies = [full_gas, random_actions]
    look = SomePictures(every=2)
    fly_side_by_side(
        *make_pair("CarRacing-v3", **arguments),
        policies,
        episodes=2,
        seed=1,
        steps=8,
        beyond=1,
        look=look,
    )
    assert look.drawn == 2 * (1 + 3) + 5


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("lap", range(6))
@pytest.mark.parametrize("arguments", [{}, {"domain_randomize": True}])
def test_laps_equal_gymnasium(arguments, lap):
    """The first lap with every frame."""
    look = SomePictures(every=8 if lap else 1)
    pair = make_pair("CarRacing-v3", **arguments)
    fly_side_by_side(*pair, [drive], episodes=1, seed=30 + lap, look=look)
    assert look.drawn > (100 if lap else 800)


def test_tracks_equal_gymnasium():
    ours, theirs = make_pair("CarRacing-v3")
    for seed in (0, 7, 21):
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        assert ours.track == theirs.track
        assert ours.start_alpha == theirs.start_alpha
        assert len(ours.road_poly) == len(theirs.road_poly)
        for (corners, color), (expected, expected_color) in zip(
            ours.road_poly, theirs.road_poly, strict=True
        ):
            np.testing.assert_array_equal(corners, expected)
            np.testing.assert_array_equal(color, expected_color)


def test_the_end_of_the_lap_equals_gymnasium():
    ours, theirs = make_pair("CarRacing-v3", lap_complete_percent=0.0)
    ours.reset(seed=4)
    theirs.reset(seed=4)
    seen, expected = ours.step(GAS), theirs.step(GAS)
    assert seen[1:] == expected[1:]
    assert seen[2] and seen[4] == {"lap_finished": True}


@pytest.mark.parametrize("first_visit", [False, True])
def test_coming_back_to_the_start_equals_gymnasium(first_visit):
    results = []
    for env in make_pair("CarRacing-v3"):
        env.reset(seed=4)
        bodies = (env.car.hull, *env.car.wheels)
        home = [tuple(body.position) for body in bodies]
        for body, (x, y) in zip(bodies, home, strict=True):
            body.position = (x + 30.0, y)
        env.step(GAS)
        env.tile_visited_count = int(0.97 * len(env.track))
        env.road[0].road_visited = not first_visit
        for body, place in zip(bodies, home, strict=True):
            body.position = place
        results.append((env.step(GAS)[1:], env.new_lap, env.tile_visited_count))
    assert results[0] == results[1]
    assert results[0][1] == first_visit


def test_leaving_the_field_equals_gymnasium():
    ours, theirs = make_pair("CarRacing-v3")
    for env in (ours, theirs):
        env.reset(seed=4)
        env.car.hull.position = (car_racing.PLAYFIELD - 1.0, 40.0)
        for wheel in env.car.wheels:
            wheel.position = env.car.hull.position
        env.car.hull.linearVelocity = (80.0, 0.0)
    ended = False
    for _ in range(12):
        seen, expected = ours.step(GAS), theirs.step(GAS)
        assert seen[0].tobytes() == expected[0].tobytes()
        assert seen[1:] == expected[1:]
        ended |= seen[2]
    assert ended and seen[1] == -100 and seen[4] == {"lap_finished": False}


def test_bars_above_the_dashboard_equal_gymnasium():
    ours, theirs = make_pair("CarRacing-v3")
    for env in (ours, theirs):
        env.reset(seed=4)
        env.car.wheels[1].omega = 650.0
        env.car.wheels[2].omega = -90.0
    for _ in range(3):
        assert ours.step(GAS)[0].tobytes() == theirs.step(GAS)[0].tobytes()


@pytest.mark.parametrize("mode", ["rgb_array", "state_pixels"])
def test_pictures_equal_gymnasium(mode):
    ours, theirs = make_pair("CarRacing-v3", render_mode=mode)
    ours.reset(seed=3)
    theirs.reset(seed=3)
    action = np.array([0.6, 1.0, 0.0], np.float32)
    for step in range(30 if mode == "rgb_array" else 15):
        assert ours.step(action)[0].tobytes() == theirs.step(action)[0].tobytes()
        if step % 15 == 14:
            picture = ours.render()
            np.testing.assert_array_equal(picture, theirs.render())
            assert picture.dtype == np.uint8 and picture.flags.c_contiguous
    if mode == "rgb_array":
        assert len(ours.car.particles) == len(theirs.car.particles) > 0


def test_the_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = CarRacing(render_mode="human")
    plain = CarRacing()
    observation, _ = env.reset(seed=3)
    assert observation.tobytes() == plain.reset(seed=3)[0].tobytes()
    assert env.step(GAS)[0].tobytes() == plain.step(GAS)[0].tobytes()
    assert env.screen.get_size() == (1000, 800)
    assert env.surf.get_at((500, 300))[:3] == env.screen.get_at((500, 300))[:3]
    assert env.render() is None
    env.close()
    assert env.screen is None and not env.isopen
    plain.close()


def test_declared_as_gymnasium():
    ours, theirs = gymcore.make("CarRacing-v3"), gymnasium.make("CarRacing-v3")
    for field in ("reward_threshold", "max_episode_steps", "kwargs", "nondeterministic"):
        assert getattr(ours.spec, field) == getattr(theirs.spec, field)
    assert ours.spec.entry_point.partition(".")[2] == theirs.spec.entry_point.partition(".")[2]
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert repr(ours.action_space) == repr(theirs.action_space)
    assert ours.metadata == theirs.metadata
    signatures = [inspect.signature(type(env.unwrapped)) for env in (ours, theirs)]
    assert list(signatures[0].parameters) == list(signatures[1].parameters)
    for name, parameter in signatures[0].parameters.items():
        assert parameter.default == signatures[1].parameters[name].default
    for attribute in vars(theirs.unwrapped):
        if not attribute.startswith("_"):
            assert hasattr(ours.unwrapped, attribute), attribute


@pytest.mark.parametrize("name", ["car_racing", "car_dynamics"])
def test_modules_have_gymnasiums_constants(name):
    theirs, ours = (
        getattr(gymnasium_box2d, name),
        {"car_racing": car_racing}.get(name, car_dynamics),
    )
    for constant, value in vars(theirs).items():
        if constant.isupper():
            assert getattr(ours, constant) == value, constant


def test_v2_differs():
    with pytest.raises(error.DeprecatedEnv, match="a finished lap terminates, not truncates"):
        gymcore.make("CarRacing-v2")


def test_verbose_prints_as_gymnasium(capsys):
    printed = []
    for env in (CarRacing(verbose=True), gymnasium_box2d.CarRacing(verbose=True)):
        env.reset(seed=2)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""


def test_colors_stay_if_asked():
    env = CarRacing(domain_randomize=True)
    env.reset(seed=1)
    before = env.road_color, env.grass_color
    env.reset(options={"randomize": False})
    np.testing.assert_array_equal(env.road_color, before[0])
    env.reset(options={"randomize": True})
    assert (env.road_color != before[0]).any()


def test_invalid_action():
    env = CarRacing()
    env.reset(seed=1)
    before = env.get_state()
    for action in ([0.1], 3, "a", np.zeros(4), [0, np.nan, 0], [10**400] * 3):
        with pytest.raises(error.InvalidAction, match="expected an element of Box"):
            env.step(action)
        assert env.get_state().tobytes() == before.tobytes(), action


def test_invalid_discrete_action():
    ours, theirs = make_pair("CarRacing-v3", continuous=False)
    messages = []
    for env, kind in ((ours, error.InvalidAction), (theirs, gymnasium.error.InvalidAction)):
        env.reset(seed=1)
        with pytest.raises(kind) as raised:
            env.step(7)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_needs_a_reset():
    env = CarRacing(render_mode="rgb_array")
    for call in (lambda: env.step(GAS), env.render):
        with pytest.raises(error.ResetNeeded):
            call()


def test_percent_is_a_number():
    with pytest.raises(error.ArgumentTypeError, match="lap_complete_percent: expected a number"):
        CarRacing(lap_complete_percent="all")


def test_observations_are_the_callers():
    env = CarRacing()
    first, _ = env.reset(seed=1)
    kept = first.copy()
    second = env.step(GAS)[0]
    second[:] = 0
    env.step(GAS)
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)
    assert not second.any()


def test_pygame_may_be_stopped():
    import pygame

    env, other = CarRacing(), CarRacing()
    for one in (env, other):
        one.reset(seed=1)
    for _ in range(3):
        pygame.quit()
        expected = env.step(GAS)[0]
        pygame.quit()
        pygame.init()
        assert other.step(GAS)[0].tobytes() == expected.tobytes()
    pygame.quit()


@pytest.mark.parametrize("how", ["state", "deepcopy", "pickle"])
def test_continues_to_the_bit(how):
    env = CarRacing(domain_randomize=True)
    env.reset(seed=4)
    env.reset()
    for _ in range(8):
        env.step(drive(env, None))
    if how == "state":
        other = CarRacing(domain_randomize=True)
        other.set_state(pickle.loads(pickle.dumps(env.get_state())))
    else:
        other = copy.deepcopy(env) if how == "deepcopy" else pickle.loads(pickle.dumps(env))
    for _ in range(4):
        action = drive(env, None)
        ours, same = env.step(action), other.step(action)
        assert ours[0].tobytes() == same[0].tobytes()
        assert ours[1:] == same[1:]
    assert env.reset()[0].tobytes() == other.reset()[0].tobytes()


def test_nobody_keeps_a_dropped_environment():
    env = CarRacing()
    env.reset(seed=1)
    env.step(GAS)
    alive = weakref.ref(env)
    del env
    gc.collect()
    assert alive() is None


def test_the_driver_finishes_a_lap():
    env = CarRacingInPython()  # its physics only: moves without frames
    env.reset(seed=11)
    for _ in range(3000):
        _, terminated, info = env._move(env._as_move(drive(env, None)))
        if terminated:
            break
    assert info == {"lap_finished": True}
    assert env.reward > 700


def make_vec(num_envs, **arguments):
    envs = gymcore.make_vec("CarRacing-v3", num_envs, **arguments)
    envs.action_space.seed(1)
    return envs


def same_infos(seen, expected):
    assert seen.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, dict):
            same_infos(seen[name], value)
        elif name == "final_obs":
            rows = expected["_final_obs"]
            assert [row.tobytes() for row in seen[name][rows]] == [r.tobytes() for r in value[rows]]
        else:
            np.testing.assert_array_equal(seen[name], value, err_msg=name)


@compiled
@pytest.mark.parametrize("mode", list(gymcore.vector.AutoresetMode))
@pytest.mark.parametrize("continuous", [True, False])
def test_batches_of_any_size_and_threads_are_equal(mode, continuous):
    arguments: dict[str, Any] = {"continuous": continuous, "domain_randomize": True}
    arguments |= {"max_episode_steps": 4, "lap_complete_percent": 0.0}
    options = {"autoreset_mode": mode}
    sync = gymcore.make_vec(
        "CarRacing-v3", 2, vectorization_mode="sync", vector_kwargs=options, **arguments
    )
    one, many = (
        make_vec(n, vector_kwargs={**options, "num_threads": threads}, **arguments)
        for n, threads in ((2, 1), (3, 3))
    )
    everything = sync, one, many
    assert many.spec.kwargs["vectorization_mode"] == "vector_entry_point"
    lap_ends = 0
    for envs in everything[1:]:  # the first lane never finishes a lap by itself
        envs.set_attr("lap_complete_percent", [2.0] + [0.0] * (envs.num_envs - 1))
    sync.envs[0].unwrapped.lap_complete_percent = 2.0
    first = [envs.reset(seed=5)[0][:2] for envs in everything]
    np.testing.assert_array_equal(first[0], first[1])
    np.testing.assert_array_equal(first[0], first[2])
    for _ in range(6):
        actions = many.action_space.sample()
        results = [envs.step(actions[: envs.num_envs]) for envs in everything]
        for result in results[1:]:
            for seen, expected in zip(result[:4], results[0][:4], strict=True):
                np.testing.assert_array_equal(seen[:2], expected)
        same_infos(results[1][4], results[0][4])
        infos = results[0][4]
        lap_ends += infos.get("final_info", infos).get("_lap_finished", np.zeros(2)).sum()
        if mode is gymcore.vector.AutoresetMode.DISABLED:
            for envs, result in zip(everything, results, strict=True):
                ended = result[2] | result[3]
                if ended.any():
                    envs.reset(seed=8, options={"reset_mask": ended})
    assert lap_ends > 1
    for envs in everything:
        envs.close()


@compiled
def test_states_of_batches_continue_to_the_bit():
    envs, other = (make_vec(2, max_episode_steps=9, domain_randomize=True) for _ in range(2))
    envs.reset(seed=2)
    for _ in range(13):
        envs.step(np.stack([GAS, GAS]))
    state = envs.get_state()
    actions = [envs.action_space.sample() for _ in range(12)]
    expected = [[part.tobytes() for part in envs.step(action)[:4]] for action in actions]
    for into in (envs, other):
        into.set_state(state)
        np.testing.assert_array_equal(into.get_state(), state)
        seen = [[part.tobytes() for part in into.step(action)[:4]] for action in actions]
        assert seen == expected


@compiled
def test_every_polygon_is_drawn_as_by_pygame():
    """In places and poses that random play does not reach."""
    env = CarRacing(domain_randomize=True)
    random = np.random.default_rng(1)
    for place in range(60):
        if place % 20 == 0:
            env.reset(seed=place)
        x, y = random.uniform(-400, 400, 2) if place % 2 else env.track[place][2:]
        angle = place * np.pi / 2 if place % 5 == 0 else random.uniform(-9, 9)
        for body in env.car.drawlist:
            body.position = (x + random.uniform(-3, 3), y + random.uniform(-3, 3))
            body.angle = angle if body == env.car.hull else random.uniform(-9, 9)
            body.angularVelocity = random.uniform(-9, 9)
        for wheel in env.car.wheels:
            wheel.omega, wheel.phase = random.uniform(-600, 600), random.uniform(0, 9)
        env.t = place / 40
        env._episode["shown_reward"] = random.uniform(-99, 999)
        np.testing.assert_array_equal(env._batch.observe(), env.state)


@compiled
def test_frames_and_attributes_equal_those_in_python():
    ours, python = (kind(render_mode="rgb_array") for kind in (CarRacing, CarRacingInPython))
    for env in (ours, python):
        env.reset(seed=3)
    action = np.array([0.6, 1.0, 0.0], np.float32)
    for step in range(30):
        if step % 10 == 9:
            np.testing.assert_array_equal(ours.render(), python.render())
        assert ours.step(action)[1:] == python.step(action)[1:]
    assert list(ours.car.particles) == list(python.car.particles) != []
    for name in ("gas", "brake", "steer", "phase", "omega", "wheel_rad", "color"):
        values = [[getattr(wheel, name) for wheel in env.car.wheels] for env in (ours, python)]
        assert values[0] == values[1], name
    for env in (ours, python):
        assert {tile.idx for tile in env.car.wheels[0].tiles} <= set(range(len(env.road)))
    names = "road_visited", "idx", "road_friction"
    assert [[getattr(t, n) for n in names] for t in ours.road] == [
        [getattr(t, n) for n in names] for t in python.road
    ]
    envs = make_vec(2, render_mode="state_pixels")
    envs.reset(seed=6)
    assert [frame.shape for frame in envs.render()] == [(96, 96, 3)] * 2


@compiled
@pytest.mark.soak
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_a_thousand_seeds_equal_those_in_python(arguments):
    """Compared with the Python physics, which equals Gymnasium's."""
    ours, python = CarRacing(**arguments), CarRacingInPython(**arguments)
    random = np.random.default_rng(7)
    for seed in range(1000):
        ours.reset(seed=seed)
        python._observe = lambda *_: None
        python.reset(seed=seed)
        assert ours.track == python.track
        for step in range(120):
            action = full_gas(python, None, random) if seed % 2 else ours.action_space.sample()
            seen, expected = ours.step(action), python.step(action)
            assert seen[1:] == expected[1:], (seed, step)
            assert car_of(ours) == car_of(python), (seed, step)
            if seen[2]:
                break


@compiled
def test_what_the_compiled_step_does_not_read_is_refused():
    env = CarRacing()
    env.reset(seed=1)
    for owner, name, value in (
        (env.car, "step", lambda dt: None),
        (env.car, "wheels", []),
        (env.car.wheels[0], "wheel_rad", 1.0),
        (env.car.wheels[0], "color", (0, 0, 0)),
        (env.car.hull, "color", (0, 0, 0)),
        (env.road[0], "road_friction", 0.5),
        (env.road[0], "color", np.zeros(3)),
        (env, "road", []),
    ):
        with pytest.raises(AttributeError, match=f"{name}"):
            setattr(owner, name, value)


@pytest.mark.slow
def test_dropped_environments_leave_no_objects() -> None:
    def make_and_drop() -> None:
        env = gymcore.make("CarRacing-v3")
        env.reset(seed=1)
        env.step(np.zeros(3, np.float32))
        env.unwrapped.set_state(env.unwrapped.get_state())

    counts = []
    for _ in range(3):
        make_and_drop()
        gc.collect()
        counts.append(len(gc.get_objects()))
    assert counts[2] - counts[1] < 20, counts
