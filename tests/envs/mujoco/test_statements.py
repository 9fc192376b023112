"""Statements of a start, and the streams of `RandomState` from which it draws."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="mujoco is not installed")

import mujoco

from gymcore import error
from gymcore.envs.mujoco import quantities as q
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.library import SimulationFailed
from gymcore.envs.mujoco.statements import Advance, Assign, Forward, Repeat, Reset, When
from gymcore.envs.mujoco.vector_env import MujocoVectorEnv

SIZE = 12
SLIDES = "".join(
    f'<body><joint name="x{k}" type="slide"/><geom size="0.1" contype="0" conaffinity="0"/></body>'
    for k in range(SIZE)
)
MODEL = f"""
<mujoco>
  <asset><hfield name="hills" nrow="9" ncol="9" size="1 1 1 0.1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1"/>
    <body name="ball" pos="0 0 1">
      <joint name="z" type="slide" axis="0 0 1"/><geom name="ball" size="0.1"/>
    </body>
    {SLIDES}
  </worldbody>
  <actuator><motor joint="z" gear="100"/><motor joint="x0"/></actuator>
  <sensor><jointpos name="height" joint="z"/><jointvel name="speed" joint="z"/></sensor>
</mujoco>"""

Start = Callable[[Simulation], Sequence[object]]


class Started(CompiledMujocoEnv):
    """An environment whose start is passed by a test."""

    def __init__(self, start: Start, synchronized: bool = False) -> None:
        self._start = start
        self._synchronized = synchronized
        super().__init__(MODEL, 2)

    def describe(self, simulation: Simulation) -> Description:
        s = simulation
        return Description(
            [s.qpos, s.qvel, s.sensor("height", "speed"), s.data.of("xpos", "ball")],
            reward=s.contact_count(),
            start=self._start(s),
            synchronized=self._synchronized,
            random_state=True,
        )


StartedVectorEnv = MujocoVectorEnv.of(Started)

DRAWS: dict[str, tuple[Callable[[], q.Draw], Callable[[Any], Any]]] = {
    "uniform": (lambda: q.uniform(-2.0, 7.0, SIZE), lambda r: r.uniform(-2.0, 7.0, SIZE)),
    "normal": (lambda: q.standard_normal(SIZE), lambda r: r.randn(SIZE)),
    "integers": (lambda: q.integers(7, SIZE), lambda r: r.randint(7, size=SIZE)),
    "large_integers": (
        lambda: q.integers(2**31 + 5, SIZE),
        lambda r: r.randint(2**31 + 5, size=SIZE),
    ),
}


def mixed(name: str) -> Start:
    """Return a start that draws numbers of a kind, and an odd number of normal ones."""

    def start(s: Simulation) -> Sequence[object]:
        numbers, gauss, single = DRAWS[name][0](), q.standard_normal(3), q.uniform(0.0, 1.0, 1)
        return [
            Assign(s.qpos[1:], numbers),
            Assign(s.qvel[:3], gauss),
            Assign(s.qvel[3], single),
        ]

    return start


def drawn(name: str, stream: np.random.RandomState) -> list[float]:
    """Return what such a start draws in NumPy."""
    numbers = DRAWS[name][1](stream)
    return [*numbers, *stream.normal(size=3), stream.random_sample()]


def numbers_of(observation: np.ndarray) -> list[float]:
    return [*observation[1 : SIZE + 1], *observation[SIZE + 1 : SIZE + 5]]


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_draws_are_those_of_random_state(name: str, seed: int) -> None:
    env, stream = Started(mixed(name)), np.random.RandomState(seed)
    observation, _ = env.reset(seed=seed)
    for _ in range(60):  # more than 624 words
        assert numbers_of(observation) == drawn(name, stream)
        observation, _ = env.reset()


def test_large_seeds_are_arrays_of_words() -> None:
    env = Started(mixed("normal"))
    stream = np.random.RandomState([3, 256])
    assert numbers_of(env.reset(seed=2**40 + 3)[0]) == drawn("normal", stream)


def test_lanes_have_streams_of_their_own_which_states_restore() -> None:
    envs = StartedVectorEnv(3, start=mixed("normal"))
    streams = [np.random.RandomState(2**32 - 2 + lane) for lane in range(2)]
    streams.append(np.random.RandomState([0, 1]))
    observations, _ = envs.reset(seed=2**32 - 2)
    for lane, stream in enumerate(streams):
        assert numbers_of(observations[lane]) == drawn("normal", stream)
    state = envs.get_state()
    expected, _ = envs.reset()
    envs.reset(seed=5)
    envs.set_state(state)
    np.testing.assert_array_equal(envs.reset()[0], expected)
    single = Started(mixed("normal"))
    single.reset(seed=7)
    copied = copy.deepcopy(single)
    np.testing.assert_array_equal(single.reset()[0], copied.reset()[0])


def test_start_repeats_until_nothing_penetrates() -> None:
    def start(s: Simulation) -> Sequence[object]:
        fall = Assign(s.joint_qpos("z"), q.uniform(-1.5, 0.5, 1))
        return [Repeat([fall, Forward()], until=s.contact_count() < 1.0)]

    env = Started(start)
    model, data = env.model, mujoco.MjData(env.model)
    observation, _ = env.reset(seed=4)
    stream = np.random.RandomState(4)
    for _ in range(20):
        while True:
            data.qpos[0] = stream.uniform(-1.5, 0.5)
            mujoco.mj_forward(model, data)
            if not data.ncon:
                break
        assert observation[0] == data.qpos[0]
        assert env.value_of(lambda s: s.contact_count())[0] == 0.0
        observation, _ = env.reset()


def test_condition_that_never_holds() -> None:
    env = Started(lambda s: [Repeat([q.uniform(0.0, 1.0, 1)], until=q.as_quantity(0.0))])
    with pytest.raises(SimulationFailed, match="no draw satisfied the condition"):
        env.reset(seed=1)


def test_when_variables_and_reset() -> None:
    def start(s: Simulation) -> Sequence[object]:
        number, count = q.uniform(0.0, 1.0, 1), q.Variable(1)
        return [
            number,
            Assign(count, 0.0),
            Repeat([Assign(count, count + 1.0)], until=count >= 5.0),
            Assign(s.qvel, 3.0 + np.zeros(s.nv)),
            Reset(),
            When(number < 0.5, [Assign(s.qpos[1::4], count * np.arange(3.0))]),
            When(number >= 0.5, [Assign(s.joint_qpos("x1", "x0"), [1.0, 2.0])]),
        ]

    env, stream = Started(start), np.random.RandomState(3)
    observation, _ = env.reset(seed=3)
    for _ in range(10):
        expected = np.zeros(2 * SIZE + 2)
        if stream.random_sample() < 0.5:
            expected[1 : SIZE + 1 : 4] = [0.0, 5.0, 10.0]
        else:
            expected[1:3] = [2.0, 1.0]
        np.testing.assert_array_equal(observation[: 2 * SIZE + 2], expected)
        observation, _ = env.reset()


def test_fresh_is_true_once_a_seed() -> None:
    def start(s: Simulation) -> Sequence[object]:
        return [
            When(q.Fresh(), [Assign(s.model.of("body_pos", "ball")[0], q.uniform(0.0, 1.0, 1))])
        ]

    envs = StartedVectorEnv(2, start=start)
    places = [envs.reset(seed=seed)[0][:, -3].tolist() for seed in (1, None, 2, None)]
    first, second, third = (np.random.RandomState(seed).uniform() for seed in (1, 2, 3))
    assert places == [[first, second]] * 2 + [[second, third]] * 2
    assert envs.get_attr("model")[0] is not envs.get_attr("model")[1]
    state = envs.get_state()
    envs.reset(seed=9)
    envs.set_state(state)
    assert envs.reset()[0][:, -3].tolist() == [second, third]


def test_splines_go_through_their_grids() -> None:
    grid = np.random.RandomState(1).uniform(-1.0, 1.0, (5, 5))
    env = Started(lambda s: [])
    points = env.value_of(q.spline(grid, 17)).reshape(17, 17)
    np.testing.assert_allclose(points[::4, ::4], grid, rtol=0.0, atol=1e-14)
    spread = np.stack([grid, np.full((5, 5), 9.0)], axis=-1)
    same = env.value_of(q.spline(q.Constant(spread)[::2], 17)).reshape(17, 17)
    np.testing.assert_array_equal(same, points)
    flat = env.value_of(q.spline(np.full(25, 3.0), 8))
    np.testing.assert_allclose(flat, 3.0, rtol=1e-14)


@pytest.mark.parametrize(("n", "width"), [(4, 9), (7, 12), (30, 201)])
def test_splines_have_the_bits_of_scipys(n: int, width: int) -> None:
    ndimage = pytest.importorskip("scipy.ndimage", reason="scipy is not installed")
    grid = np.random.RandomState(n).uniform(-1.0, 1.0, (n, n))
    points = Started(lambda s: []).value_of(q.spline(grid, width))
    np.testing.assert_array_equal(points.reshape(width, width), ndimage.zoom(grid, width / n))


def test_starts_write_float32_arrays_of_models() -> None:
    def start(s: Simulation) -> Sequence[object]:
        heights, color = q.uniform(0.0, 1.0, 16), q.uniform(0.0, 1.0, 1)
        return [
            Assign(s.model.hfield_data, 0.5 * q.spline(heights, 9)),
            Assign(s.model.geom_rgba[4:8:2], q.joined(color, 0.3)),
        ]

    envs, single = StartedVectorEnv(2, start=start), Started(start)
    for episode in range(2):
        envs.reset(seed=None if episode else 1)
        hills, colors = envs.get_attr("hfield_data"), envs.get_attr("geom_rgba")
        for lane in range(2):
            stream = np.random.RandomState(1 + lane)
            draws = stream.random_sample((episode + 1, 17))[-1]
            expected = 0.5 * single.value_of(q.spline(draws[:16], 9))
            np.testing.assert_array_equal(hills[lane], expected.astype(np.float32))
            assert colors[lane].ravel()[4:7:2].tolist() == np.float32([draws[16], 0.3]).tolist()
    state = envs.get_state()
    envs.reset()
    assert not np.array_equal(envs.get_attr("hfield_data"), hills)
    envs.set_state(state)
    np.testing.assert_array_equal(envs.get_attr("hfield_data"), hills)


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast"])
@pytest.mark.parametrize("frames", [1, 3])
def test_synchronized_steps(integrator: str, frames: int) -> None:
    env = Started(lambda s: [Forward(), Advance(2)], synchronized=True)
    env.model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    env.frame_skip = frames
    model, data = env.model, mujoco.MjData(env.model)
    observation, _ = env.reset(seed=1)
    for _ in range(2):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    for _ in range(30):
        expected = [*data.qpos, *data.qvel, *data.sensordata, *data.body("ball").xpos]
        np.testing.assert_array_equal(observation, expected)
        data.ctrl[:] = 0.3, -0.2
        observation, contacts, *_ = env.step(np.array([0.3, -0.2]))
        for _ in range(frames):
            mujoco.mj_step(model, data)
        mujoco.mj_step1(model, data)
        assert contacts == data.ncon


def test_synchronized_steps_of_runge_kutta_call_a_registered_controller() -> None:
    env = Started(lambda s: [Forward()], synchronized=True)
    env.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    env.frame_skip = 1
    model, data = env.model, mujoco.MjData(env.model)
    env.reset(seed=1)
    mujoco.mj_forward(model, data)
    data.ctrl[:] = 0.3, -0.2
    mujoco.set_mjcb_control(lambda model, data: data.ctrl.__setitem__(0, np.sin(9.0 * data.time)))
    try:
        for _ in range(20):
            env.step(np.array([0.3, -0.2]))
            mujoco.mj_step(model, data)
            np.testing.assert_array_equal(env.data.qvel, data.qvel)
    finally:
        mujoco.set_mjcb_control(None)


def test_forward_without_actuators_is_that_of_a_model_without_actuation() -> None:
    def start(s: Simulation) -> Sequence[object]:
        return [Assign(s.qpos[0], -0.95), Assign(s.data.ctrl, [1.0, 1.0]), Forward(actuated=False)]

    env = Started(start)
    env.reset(seed=1)
    model, data = copy.copy(env.model), mujoco.MjData(env.model)
    data.qpos[0], data.ctrl[:] = -0.95, 1.0
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    mujoco.mj_forward(model, data)
    for name in ("qacc", "qfrc_actuator", "actuator_force", "qacc_warmstart", "xpos", "sensordata"):
        np.testing.assert_array_equal(getattr(env.data, name), getattr(data, name), name)
    assert data.qacc[0] != 0.0 and not data.actuator_force.any()


@pytest.mark.parametrize(
    ("start", "kind", "message"),
    [
        (lambda s: [Assign(s.qpos + 1.0, 0.0)], error.InvalidArgument, "target: expected an array"),
        (lambda s: [Assign(s.qpos[:3], [1.0, 2.0])], error.InvalidArgument, "value: expected a"),
        (
            lambda s: [Assign(s.qpos[0], s.model.hfield_data[0])],
            error.InvalidArgument,
            "model.hfield_data: expected a float64 array",
        ),
        (lambda s: [Assign(s.qpos[0], q.spline(np.ones(9), 4)[0])], error.InvalidArgument, "grid:"),
        (lambda s: [Assign(s.qpos[0], q.spline(np.ones(16), 1)[0])], error.InvalidArgument, "wid"),
        (lambda s: ["fall"], error.ArgumentTypeError, "start: expected a statement, got 'fall'"),
    ],
)
def test_errors(start: Start, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        Started(start)
