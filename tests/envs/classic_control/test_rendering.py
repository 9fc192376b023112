"""Frames of the five environments: geometry, colors, and similarity to Gymnasium's."""

import math

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore.envs.classic_control import AcrobotEnv, CartPoleEnv, MountainCarEnv, PendulumEnv
from gymcore.rendering.frames import Renderer
from gymcore.rendering.window import load_pygame

BLACK = (0, 0, 0)
WHITE = (255, 255, 255)
POLE = (202, 152, 101)
AXLE = (129, 132, 203)
WHEEL = (128, 128, 128)
FLAG = (204, 204, 0)
ROD = (204, 77, 77)
LINK = (0, 204, 204)
JOINT = (204, 204, 0)

CARTPOLE = {"length": 0.5, "x_threshold": 2.4}
CAR = {"goal_position": 0.5, "min_position": -1.2, "max_position": 0.6}
CONTINUOUS_CAR = {**CAR, "goal_position": 0.45}
PENDULUM = {"last_torque": None, "max_torque": 2.0}
ACROBOT = {"link_length_1": 1.0, "link_length_2": 1.0}

SCENES = {
    "CartPole-v1": (CartPoleEnv.draw, (600, 400), CARTPOLE, 4),
    "MountainCar-v0": (MountainCarEnv.draw, (600, 400), CAR, 2),
    "MountainCarContinuous-v0": (
        MountainCarEnv.draw,
        (600, 400),
        CONTINUOUS_CAR,
        2,
    ),
    "Pendulum-v1": (PendulumEnv.draw, (500, 500), PENDULUM, 2),
    "Acrobot-v1": (AcrobotEnv.draw, (500, 500), ACROBOT, 4),
}


def picture(env_id, state, **changes):
    draw, size, context, _ = SCENES[env_id]
    return Renderer(draw, size, 30, "rgb_array").render(state, **{**context, **changes})


def pixel(frame, x, y):
    return tuple(frame[math.floor(y), math.floor(x)].tolist())


def mask(frame, color):
    return (frame == np.array(color, dtype=np.uint8)).all(axis=-1)


def solid(frame, color):
    """Return where a pixel and its four neighbors have this color; edges are antialiased."""
    exact = np.pad(mask(frame, color), 1)
    vertical = exact[:-2, 1:-1] & exact[2:, 1:-1]
    return exact[1:-1, 1:-1] & vertical & exact[1:-1, :-2] & exact[1:-1, 2:]


def middle(where):
    """Return the mean position (x, y) of the chosen pixels' centers."""
    ys, xs = np.nonzero(where)
    return xs.mean() + 0.5, ys.mean() + 0.5


class TestEveryScene:
    @pytest.mark.parametrize("env_id", SCENES)
    @settings(max_examples=6, deadline=None)
    @given(data=st.data())
    def test_any_state_overwrites_everything_the_same_way(self, env_id, data):
        draw, size, context, width = SCENES[env_id]
        state = data.draw(st.tuples(*[st.floats()] * width))
        frames = []
        for garbage in (0, 255):
            pixels = np.full((size[1], size[0], 3), garbage, dtype=np.uint8)
            draw(load_pygame().image.frombuffer(pixels.data, size, "RGB"), state, **context)
            frames.append(pixels)
        np.testing.assert_array_equal(*frames)
        assert mask(frames[0], WHITE).any()

    @pytest.mark.parametrize("env_id", SCENES)
    def test_state_may_be_an_array(self, env_id):
        state = np.linspace(0.1, 0.4, SCENES[env_id][3])
        kept = state.copy()
        np.testing.assert_array_equal(
            picture(env_id, state), picture(env_id, tuple(state.tolist()))
        )
        np.testing.assert_array_equal(state, kept)

    @pytest.mark.parametrize("env_id", SCENES)
    def test_earlier_pictures_leave_no_trace(self, env_id):
        zero, other = [0.0] * SCENES[env_id][3], [0.3] * SCENES[env_id][3]
        first = picture(env_id, zero)
        assert (picture(env_id, other) != first).any()
        np.testing.assert_array_equal(picture(env_id, zero), first)

    @pytest.mark.parametrize("env_id", SCENES)
    def test_wrong_state_length(self, env_id):
        with pytest.raises(ValueError):
            picture(env_id, [0.0] * 3)

    @pytest.mark.parametrize("env_id", SCENES)
    def test_small_moves_show_below_one_pixel(self, env_id):
        state = [0.2] * SCENES[env_id][3]
        moved = [0.2005] * SCENES[env_id][3]
        difference = picture(env_id, state).astype(int) - picture(env_id, moved)
        assert 0 < np.abs(difference).max() < 128


@pytest.fixture(scope="module")
def peers():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SDL_VIDEODRIVER", "dummy")
        envs = {env_id: gymnasium.make(env_id, render_mode="rgb_array") for env_id in SCENES}
        for env in envs.values():
            env.reset(seed=0)
        yield envs
        for env in envs.values():
            env.close()
        load_pygame().quit()


class TestLikeGymnasium:
    STATES = (
        ("CartPole-v1", (0.0, 0.0, 0.0, 0.0), (BLACK, POLE, AXLE)),
        ("CartPole-v1", (1.5, 0.0, 0.2, 0.0), (BLACK, POLE, AXLE)),
        ("CartPole-v1", (-2.3, 0.0, -0.2, 0.0), (BLACK, POLE, AXLE)),
        ("MountainCar-v0", (-math.pi / 6, 0.0), (WHEEL, FLAG)),
        ("MountainCar-v0", (math.pi / 6, 0.02), (WHEEL, FLAG)),
        ("MountainCarContinuous-v0", (-0.51, 0.0), (WHEEL, FLAG)),
        ("Pendulum-v1", (0.0, 0.0), (ROD, BLACK)),
        ("Pendulum-v1", (1.0, 0.0), (ROD, BLACK)),
        ("Pendulum-v1", (-2.5, 0.0), (ROD, BLACK)),
        ("Acrobot-v1", (0.0, 0.0, 0.0, 0.0), (LINK, JOINT)),
        ("Acrobot-v1", (1.0, 0.5, 0.0, 0.0), (LINK, JOINT)),
        ("Acrobot-v1", (3.0, -1.0, 0.0, 0.0), (LINK, JOINT)),
    )

    @pytest.mark.parametrize(("env_id", "state", "colors"), STATES)
    def test_same_scene(self, peers, env_id, state, colors):
        peer = peers[env_id]
        peer.unwrapped.state = np.array(state)
        peer.unwrapped.last_u = None
        expected = peer.render()
        frame = picture(env_id, state)
        assert frame.shape == expected.shape
        assert frame.dtype == expected.dtype
        for color in colors:
            # Edges differ by half a pixel and corners are rounded, but centers and areas agree.
            ours, theirs = solid(frame, color), solid(expected, color)
            assert middle(ours) == pytest.approx(middle(theirs), abs=2.5)
            assert 0.75 < ours.sum() / theirs.sum() < 1.25
        overlap = (frame < 200).any(axis=-1) & (expected < 200).any(axis=-1)
        assert overlap.sum() > 0.75 * (expected < 200).any(axis=-1).sum()

    @pytest.mark.parametrize("env_id", SCENES)
    def test_same_size_as_the_registered_environment(self, peers, env_id):
        assert SCENES[env_id][1] == peers[env_id].render().shape[1::-1]


class TestCartPole:
    @pytest.mark.parametrize("x", [-1.0, 0.0, 0.7])
    @pytest.mark.parametrize("theta", [-1.2, -0.2, 0.0, 0.2, 1.5, 2.2])
    def test_pole_points_where_theta_says(self, x, theta):
        frame = picture("CartPole-v1", (x, 0.0, theta, 0.0))
        axle_x, axle_y = 300 + 125 * x, 292.5

        def along_pole(distance):
            return pixel(
                frame,
                axle_x + distance * math.sin(theta),
                axle_y - distance * math.cos(theta),
            )

        assert along_pole(0) == AXLE
        assert along_pole(60) == POLE
        assert along_pole(116) == POLE
        assert along_pole(123) == WHITE

    def test_cart_on_track(self):
        frame = picture("CartPole-v1", (1.0, 0.0, 0.0, 0.0))
        assert pixel(frame, 403, 299) == BLACK
        assert pixel(frame, 447, 299) == BLACK
        assert pixel(frame, 403, 290) == BLACK
        assert pixel(frame, 397, 290) == WHITE
        assert mask(frame, BLACK)[299, [0, 100, 300, 599]].all()
        assert mask(frame, WHITE)[[298, 300], 100].all()

    def test_cart_position_is_exact_below_one_pixel(self):
        # Ink (distance from white) weights partly covered pixels, so its center moves smoothly.
        def cart_x(x):
            row = 255.0 - picture("CartPole-v1", (x, 0.0, 0.0, 0.0))[310, :, 0]
            return (row * (np.arange(600) + 0.5)).sum() / row.sum()

        for x in (0.0, 0.001, 0.0025, 0.1234):
            assert cart_x(x) == pytest.approx(300 + 125 * x, abs=0.01)

    @pytest.mark.parametrize("length", [0.25, 0.5, 1.0])
    def test_pole_length(self, length):
        rows = np.nonzero(mask(picture("CartPole-v1", (0, 0, 0, 0), length=length), POLE))[0]
        assert rows.min() == pytest.approx(292.5 + 5.5 - 250 * length, abs=1.5)

    def test_threshold_sets_the_scale(self):
        frame = picture("CartPole-v1", (1.0, 0.0, 0.0, 0.0), x_threshold=4.0)
        assert middle(mask(frame, AXLE))[0] == pytest.approx(375, abs=0.5)

    def test_cart_far_outside_is_not_drawn(self):
        frame = picture("CartPole-v1", (1e30, 0.0, 0.3, 0.0))
        assert mask(frame, BLACK).sum() == 600
        assert mask(frame, WHITE).sum() == 600 * 399


class TestMountainCar:
    EMPTY = (math.nan, 0.0)  # no car: only the hill and the flag

    def car(self, position):
        """Return the frame, and the pixels where the car has changed it to its wheels' color."""
        frame = picture("MountainCar-v0", (position, 0.0))
        changed = (frame != picture("MountainCar-v0", self.EMPTY)).any(axis=-1)
        return frame, mask(frame, WHEEL) & changed

    @pytest.mark.parametrize("position", [-1.1, -0.8, -math.pi / 6, -0.2, 0.1, 0.45])
    def test_car_sits_on_the_hill_at_its_position(self, position):
        frame, wheels = self.car(position)
        scale = 600 / 1.8
        foot_x = (position + 1.2) * scale
        foot_y = 399.5 - scale * (0.45 * math.sin(3 * position) + 0.55)
        tilt = math.atan(1.35 * math.cos(3 * position))
        assert middle(wheels) == pytest.approx(
            (foot_x - 9 * math.sin(tilt), foot_y - 9 * math.cos(tilt)), abs=0.3
        )
        body = (foot_x - 24 * math.sin(tilt), foot_y - 24 * math.cos(tilt))
        assert pixel(frame, *body) == BLACK

    def test_car_leans_with_the_slope(self):
        for position, sign in ((-0.9, -1), (0.0, 1)):
            ys, xs = np.nonzero(self.car(position)[1])
            # Rows count downwards: uphill to the right means a decreasing row number.
            assert np.sign(np.corrcoef(xs, ys)[0, 1]) == -sign

    def test_hill_is_one_dark_line_in_every_column(self):
        columns = np.r_[0:560, 595:600]  # the flag stands between them
        positions = -1.2 + (columns + 0.5) * 1.8 / 600
        expected = 399.5 - 600 / 1.8 * (0.45 * np.sin(3 * positions) + 0.55)
        ink = 255.0 - picture("MountainCar-v0", self.EMPTY)[:, columns, 0]
        rows = (ink * (np.arange(400) + 0.5)[:, np.newaxis]).sum(axis=0) / ink.sum(axis=0)
        np.testing.assert_allclose(rows, expected, atol=0.35)

    @pytest.mark.parametrize("goal", [0.45, 0.5, 0.0])
    def test_flag_stands_at_the_goal(self, goal):
        frame = picture("MountainCar-v0", (-1.0, 0.0), goal_position=goal)
        columns = np.nonzero(mask(frame, FLAG))[1]
        assert columns.min() == pytest.approx((goal + 1.2) * 600 / 1.8, abs=1.5)


class TestPendulum:
    @pytest.mark.parametrize("theta", [0.0, 0.5, 1.5, math.pi, -2.0, -0.5, 20.0])
    def test_rod_points_where_theta_says(self, theta):
        frame = picture("Pendulum-v1", (theta, 0.0))

        def along_rod(distance):
            return pixel(frame, 250 - distance * math.sin(theta), 250 - distance * math.cos(theta))

        scale = 500 / 4.4
        assert along_rod(0) == BLACK
        assert along_rod(0.5 * scale) == ROD
        assert along_rod(1.1 * scale - 2) == ROD
        assert along_rod(1.1 * scale + 2) == WHITE
        assert along_rod(-0.1 * scale + 2) == ROD

    @staticmethod
    def arrow(torque, **changes):
        """Return the black pixels that are absent without torque."""
        frame = picture("Pendulum-v1", (math.pi, 0.0), last_torque=torque, **changes)
        return mask(frame, BLACK) & ~mask(picture("Pendulum-v1", (math.pi, 0.0)), BLACK)

    @pytest.mark.parametrize("torque", [None, 0.0, -0.0, 1e-9, float("nan")])
    def test_no_torque_no_arrow(self, torque):
        assert not self.arrow(torque).any()

    def test_arrow_head_shows_the_direction(self):
        left, right = self.arrow(-2.0), self.arrow(2.0)
        radius = round(0.46 * 500 / 4.4)
        head = np.s_[235:255, 250 + radius - 6 : 250 + radius + 6]
        other = np.s_[235:255, 250 - radius - 6 : 250 - radius + 6]
        assert right[head].sum() > 1.5 * right[other].sum()
        np.testing.assert_array_equal(left, right[:, ::-1])
        # The quarter in front of the head is open, the one behind the ring's start is closed.
        assert not right[:230, 251:].any()
        assert right[:230, :250].any()

    def test_arrow_grows_with_the_torque(self):
        widths = [np.ptp(np.nonzero(self.arrow(torque))[1]) for torque in (0.5, 1.0, 1.5, 2.0)]
        assert np.all(np.diff(widths) > 15)
        np.testing.assert_array_equal(self.arrow(2.0), self.arrow(20.0))
        np.testing.assert_array_equal(self.arrow(1.0), self.arrow(2.0, max_torque=4.0))


class TestAcrobot:
    @pytest.mark.parametrize(
        ("theta1", "theta2"), [(0.0, 0.0), (1.0, 0.5), (3.0, -1.0), (-2.0, 2.5), (-0.3, -1.5)]
    )
    @pytest.mark.parametrize("lengths", [(1.0, 1.0), (0.5, 1.5)])
    def test_links_point_where_the_angles_say(self, theta1, theta2, lengths):
        frame = picture(
            "Acrobot-v1",
            (theta1, theta2, 0.0, 0.0),
            link_length_1=lengths[0],
            link_length_2=lengths[1],
        )
        scale = 500 / 4.4

        def point(first, second):
            both = theta1 + theta2
            x = first * math.sin(theta1) + second * math.sin(both)
            y = first * math.cos(theta1) + second * math.cos(both)
            return pixel(frame, 250 + scale * x, 250 + scale * y)

        assert point(0.0, 0.0) == JOINT
        assert point(lengths[0], 0.0) == JOINT
        assert point(lengths[0] / 2, 0.0) == LINK
        assert point(lengths[0], lengths[1] - 0.03) == LINK
        assert point(lengths[0], lengths[1] + 0.03) == WHITE

    def test_target_line_is_at_the_goal_height(self):
        frame = picture("Acrobot-v1", (0.0, 0.0, 0.0, 0.0))
        lines = np.nonzero(mask(frame, BLACK).all(axis=1))[0]
        assert lines.tolist() == [math.floor(250 - 500 / 4.4)]
        assert mask(frame, WHITE)[[lines[0] - 1, lines[0] + 1]].all()
