"""Frames in memory: comparison with Gymnasium, cameras, visibility, markers, and freeing."""

from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import threading
import warnings
from pathlib import Path

import gymnasium
import gymnasium.envs.mujoco.mujoco_rendering as theirs
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.envs.mujoco import MujocoRenderer, gl_backend
from gymcore.envs.mujoco import mujoco_rendering as ours
from tests.envs.mujoco.walkers import MODEL, walker, write_model

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

SIZE = {"width": 60, "height": 44}
TRACK, SIDE = 0, 1
JOINT, TRANSPARENT = int(mujoco.mjtVisFlag.mjVIS_JOINT), int(mujoco.mjtVisFlag.mjVIS_TRANSPARENT)


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(MODEL)


@pytest.fixture(scope="module")
def data(model):
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=20)
    mujoco.mj_forward(model, data)
    return data


@pytest.fixture
def make(model, data, drawing):
    """Yield a function that makes renderers; close them at the end."""
    made = []

    def make(**arguments):
        made.append(MujocoRenderer(model, data, **{**SIZE, **arguments}))
        return made[-1]

    yield make
    for renderer in made:
        renderer.close()


@pytest.fixture
def viewer(model, data, drawing):
    viewer = ours.OffScreenViewer(model, data, **SIZE)
    yield viewer
    viewer.close()


@pytest.fixture(scope="module")
def their_frame(model, data, drawing):
    """Yield a function that returns Gymnasium's frames, rendered by the same OpenGL."""

    def draw(mode, **arguments):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MUJOCO_GL", drawing)
            renderer = theirs.MujocoRenderer(model, data, **{**SIZE, **arguments})
            frame = renderer.render(mode)
            renderer.close()
        return frame

    return draw


# Comparison with Gymnasium


@pytest.mark.parametrize(
    "name", ["MujocoRenderer", "BaseRender", "OffScreenViewer", "WindowViewer"]
)
def test_same_parameters(name):
    def parameters(function):
        found = inspect.signature(function).parameters.values()
        return [(one.name, one.kind, one.default) for one in found]

    mine, other = getattr(ours, name), getattr(theirs, name)
    assert parameters(mine) == parameters(other)
    for method in ("render", "close", "add_marker", "add_overlay", "make_context_current", "free"):
        if hasattr(other, method):
            assert [one[:1] + one[2:] for one in parameters(getattr(mine, method))] == [
                one[:1] + one[2:] for one in parameters(getattr(other, method))
            ], method


@pytest.mark.parametrize("mode", ["rgb_array", "depth_array"])
def test_same_arrays_as_gymnasium(make, their_frame, mode):
    frame, expected = make().render(mode), their_frame(mode)
    assert frame.dtype == expected.dtype
    assert np.array_equal(frame, expected)


@pytest.mark.filterwarnings("ignore:.*Increase maxgeom")
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"camera_id": TRACK},
        {"camera_name": "side"},
        {"camera_id": -1, "default_cam_config": {"distance": 3.0, "azimuth": 10}},
        {"default_cam_config": {"trackbodyid": 1, "lookat": np.array([0, 0, 1.0])}},
        {"visual_options": {JOINT: True, mujoco.mjtVisFlag.mjVIS_TRANSPARENT: True}},
        {"max_geom": 2},
        {"width": 31, "height": 47},
    ],
)
def test_same_frames_as_gymnasium(make, their_frame, arguments):
    frames = make(**arguments).render("rgbd_tuple"), their_frame("rgbd_tuple", **arguments)
    for mine, expected in zip(*frames, strict=True):
        assert mine.dtype == expected.dtype
        assert np.array_equal(mine, expected)


def test_markers_and_overlays_as_gymnasium(model, data, viewer, monkeypatch):
    if tuple(map(int, mujoco.__version__.split(".")[:2])) < (3, 3):
        pytest.skip("Gymnasium's markers are other ones with a MuJoCo older than 3.3")
    monkeypatch.setenv("MUJOCO_GL", viewer.backend)
    other = theirs.OffScreenViewer(model, data, *SIZE.values())
    marker = {"pos": [0.3, 0, 0.9], "size": [0.2, 0.1, 0.1], "type": 6, "rgba": [1, 0, 0, 1]}
    frames = []
    for one in (other, viewer):
        plain = one.render("rgb_array", SIDE)
        # Gymnasium's markers have leftover values from their scene's memory; ours do not.
        for place in one.scn.geoms[one.scn.ngeom : one.scn.ngeom + 2]:
            kind = "mjCAT_DECOR" if one is other else "mjCAT_STATIC"
            place.category = int(getattr(mujoco.mjtCatBit, kind))
            place.camdist, place.objid, place.segid = (0, -1, -1) if one is other else (9, 2, 2)
        one.add_marker(**marker)
        one.add_marker(pos=np.zeros(3))
        marked = one.render("rgb_array")
        gone = one.render("rgb_array")
        one.add_overlay(0, "height", "1.5")
        one.add_overlay(0, "speed", "2")
        frames.append((plain, marked, gone, one.render("rgb_array"), one.render("rgb_array")))
        one.close()
    for mine, expected in zip(*frames, strict=True):
        assert np.array_equal(mine, expected)
    plain, marked, gone, written, still = frames[1]
    assert np.array_equal(plain, gone)
    assert np.array_equal(written, still)
    assert not np.array_equal(plain, marked)
    assert not np.array_equal(plain, written)


@pytest.mark.parametrize("mode", ["bad", None, "human_list"])
def test_unknown_mode_as_gymnasium(make, their_frame, mode):
    with pytest.raises(AttributeError) as expected:
        their_frame(mode)
    with pytest.raises(ours.UnexpectedMode) as caught:
        make().render(mode)
    assert isinstance(caught.value, AttributeError)
    assert str(caught.value).startswith(str(expected.value))


def test_frames_need_a_size_as_gymnasium(make, their_frame):
    with pytest.raises(AssertionError) as expected:
        their_frame("rgb_array", width=None)
    with pytest.raises(error.FailedCheck) as caught:
        make(width=None).render("rgb_array")
    assert str(caught.value) == str(expected.value)


def test_one_camera_as_gymnasium(make, their_frame):
    both = {"camera_id": 1, "camera_name": "side"}
    with pytest.raises(ValueError) as expected:
        their_frame("rgb_array", **both)
    with pytest.raises(error.InvalidArgument) as caught:
        make(**both)
    assert str(caught.value) == str(expected.value)


def test_environments_draw_what_gymnasiums_draw(tmp_path, drawing, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", drawing)
    path, frames = write_model(tmp_path), []
    for package in (gymnasium, gymcore):
        env = walker(package)(path, render_mode="rgbd_tuple", camera_name="track", **SIZE)
        env.reset(seed=2)
        env.step(np.ones(2, np.float32))
        frames.append(env.render())
        env.close()
    for mine, expected in zip(*frames, strict=True):
        assert np.array_equal(mine, expected)


# Frames


def test_frames_are_new_arrays_of_ones_own(make):
    renderer = make()
    first, second = renderer.render("rgb_array"), renderer.render("rgb_array")
    assert first is not second
    for frame in (first, renderer.render("depth_array"), *renderer.render("rgbd_tuple")):
        assert frame.flags.c_contiguous
        assert frame.flags.owndata
        assert frame.flags.writeable


def test_the_sky_is_above_the_floor_below(make):
    depth = make(camera_name="side").render("depth_array")
    assert np.all(depth[0] == 1.0)
    assert np.all((depth[-1] > 0) & (depth[-1] < 1.0))


def test_the_red_box_is_in_the_middle(make):
    frame = make(camera_name="track").render("rgb_array").astype(int)
    red = (frame[..., 0] > 2 * frame[..., 1]) & (frame[..., 0] > 2 * frame[..., 2])
    rows, columns = np.nonzero(red)
    assert len(rows) > 20
    assert abs(columns.mean() - SIZE["width"] / 2) < SIZE["width"] / 10


def test_segments(viewer, model):
    segments = viewer.render("rgb_array", SIDE, segmentation=True)
    assert segments.shape == (SIZE["height"], SIZE["width"], 2)
    assert segments.dtype == np.int32
    found = {tuple(one) for one in segments.reshape(-1, 2).tolist()}
    geom = int(mujoco.mjtObj.mjOBJ_GEOM)
    assert {(-1, -1), (geom, 0), (geom, model.geom("box").id)} <= found
    pair = viewer.render("rgbd_tuple", segmentation=True)
    assert np.array_equal(pair[0], segments)
    assert np.array_equal(
        viewer.render("rgb_array", SIDE), viewer.render("rgb_array"), equal_nan=True
    ), "colors come back"


def test_a_frame_may_be_larger_than_the_models_buffer(make, model):
    assert model.vis.global_.offwidth < 70
    wide = make(width=70, height=50, camera_id=SIDE).render("depth_array")
    assert np.all(wide[-1] < 1.0)
    assert model.vis.global_.offwidth < 70


def test_the_model_may_have_no_geoms(drawing):
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    renderer = MujocoRenderer(model, mujoco.MjData(model), **SIZE)
    assert np.all(renderer.render("depth_array") == 1.0)
    renderer.close()


# Cameras and options


def test_a_camera_stays_until_another_is_chosen(viewer):
    side = viewer.render("rgb_array", SIDE)
    assert np.array_equal(viewer.render("rgb_array"), side)
    track = viewer.render("rgb_array", TRACK)
    assert not np.array_equal(track, side)
    free = viewer.render("rgb_array", -1)
    assert not np.array_equal(free, track)
    assert viewer.cam.type == mujoco.mjtCamera.mjCAMERA_FREE


def test_a_camera_that_follows_a_body(model, drawing):
    data = mujoco.MjData(model)
    config = {
        "type": mujoco.mjtCamera.mjCAMERA_TRACKING,
        "trackbodyid": 1,
        "distance": 2.0,
        "elevation": -10.0,
    }
    renderer = MujocoRenderer(model, data, config, **SIZE)
    seen_from = []
    for place in (0.0, 1.5):
        data.qpos[0] = place
        mujoco.mj_forward(model, data)
        for _ in range(50):  # an old MuJoCo tracks smoothly
            renderer.render("rgb_array")
        seen_from.append(np.mean([one.pos for one in renderer.viewer.scn.camera], axis=0))
    assert seen_from[1] - seen_from[0] == pytest.approx([1.5, 0, 0], abs=1e-2)
    renderer.close()


@pytest.mark.parametrize("number", [2, -2, 77])
def test_no_such_camera(make, viewer, number):
    with pytest.raises(error.InvalidArgument, match=r"0 'track', 1 'side'\), got"):
        make(camera_id=number)
    with pytest.raises(error.InvalidArgument, match="camera_id: expected -1"):
        viewer.render("rgb_array", number)


def test_no_such_camera_name(make):
    with pytest.warns(UserWarning, match=r"no camera 'top' \(it has 0 'track', 1 'side'\)"):
        renderer = make(camera_name="top")
    assert renderer.camera_id == -1


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"camera_id": "a"}, TypeError, "camera_id: expected an integer"),
        ({"camera_name": 3}, TypeError, "camera_name: expected a string"),
        ({"default_cam_config": {"nope": 1}}, AttributeError, "no attribute 'nope'"),
        ({"default_cam_config": {"__class__": 1}}, AttributeError, "no attribute '__class__'"),
        ({"default_cam_config": {"distance": "x"}}, ValueError, "'distance'"),
        ({"default_cam_config": {"lookat": [1, 2]}}, ValueError, "'lookat'"),
        ({"visual_options": {99: True}}, IndexError, "visual_options: expected flags"),
        ({"visual_options": {"x": True}}, IndexError, "visual_options: expected flags"),
        ({"visual_options": {-1: True}}, IndexError, "visual_options: expected flags"),
    ],
)
def test_impossible_settings(make, arguments, kind, message):
    with pytest.raises(error.Error, match=message) as caught:
        make(**arguments)
    assert isinstance(caught.value, kind)


def test_visual_options_do_something(make):
    plain = make(camera_id=SIDE).render("rgb_array")
    assert not np.array_equal(
        plain, make(camera_id=SIDE, visual_options={TRANSPARENT: True}).render("rgb_array")
    )
    assert np.array_equal(
        plain, make(camera_id=SIDE, visual_options={TRANSPARENT: False}).render("rgb_array")
    )


# Markers


def test_a_marker_is_shown_once(viewer):
    plain = viewer.render("rgb_array", SIDE)
    viewer.add_marker(pos=[0, 0, 1], size=[0.1] * 3, mat=np.eye(3), rgba=[1, 1, 0, 1], label="here")
    marked = viewer.render("rgb_array")
    assert np.any(_yellow(marked))
    assert not np.any(_yellow(plain))
    assert np.array_equal(viewer.render("rgb_array"), plain)


def _yellow(frame):
    frame = frame.astype(int)
    return (frame[..., 0] > 2 * frame[..., 2]) & (frame[..., 1] > 2 * frame[..., 2])


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ({"pos": [1, 2]}, r"pos: expected 3 numbers, got \[1, 2\]"),
        ({"rgba": "red"}, "rgba: expected 4 numbers"),
        ({"mat": np.eye(2)}, "mat: expected 9 numbers"),
        ({"type": "ball"}, "type: expected a shape of mujoco.mjtGeom"),
        ({"emission": "x"}, "emission: expected a value like"),
    ],
)
def test_impossible_markers(viewer, marker, message):
    plain = viewer.render("rgb_array")
    with pytest.raises(error.InvalidArgument, match=message):
        viewer.add_marker(**marker)
    assert np.array_equal(viewer.render("rgb_array"), plain)


def test_an_unknown_attribute_of_a_marker(viewer):
    with pytest.warns(UserWarning, match="a geom has no attribute 'color'"):
        viewer.add_marker(color=3)
    viewer.render("rgb_array")


def test_too_many_markers(model, data, drawing):
    viewer = ours.OffScreenViewer(model, data, **SIZE, max_geom=model.ngeom)
    viewer.add_marker()
    with pytest.raises(RuntimeError, match="Ran out of geoms"):
        viewer.render("rgb_array")
    viewer.render("rgb_array")
    viewer.close()


# Freeing


def test_closing_and_going_on(make):
    renderer = make()
    frame = renderer.render("rgb_array")
    viewer = renderer.viewer
    renderer.close()
    renderer.close()
    assert renderer.viewer is None
    with pytest.raises(error.ClosedEnvironmentError, match="the viewer has been closed"):
        viewer.render("rgb_array")
    assert np.array_equal(renderer.render("rgb_array"), frame)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "Humanoid-v5", "Pusher-v5"])
@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
def test_copies_draw_the_same_frames(drawing, env_id, copied):
    """The free camera stays where the first frame has placed it."""
    env = gymcore.make(env_id, render_mode="rgb_array", width=120, height=120)
    env.reset(seed=1)
    env.action_space.seed(1)
    env.render()
    for _ in range(30):
        env.step(env.action_space.sample())
    copies = [copied(copied(env))]
    for _ in range(2):
        frame, action = env.render(), env.action_space.sample()
        for other in copies:
            np.testing.assert_array_equal(other.render(), frame)
            other.step(action)
        env.step(action)
    for each in (env, *copies):
        each.close()


def test_a_closed_environment_draws_again(tmp_path, drawing):
    env = walker(gymcore)(write_model(tmp_path), render_mode="rgb_array", **SIZE)
    env.reset(seed=1)
    frame = env.render()
    env.close()
    assert np.array_equal(env.render(), frame)
    env.close()


def test_two_renderers_do_not_disturb_each_other(make):
    one, two = make(camera_id=SIDE), make(camera_id=TRACK, width=33)
    first, second = one.render("rgb_array"), two.render("rgb_array")
    assert np.array_equal(one.render("rgb_array"), first)
    two.close()
    assert np.array_equal(one.render("rgb_array"), first)
    assert np.array_equal(two.render("rgb_array"), second)


def test_gymnasiums_context_stays_current(make, model, data, drawing, monkeypatch):
    """Also when one of our renderers is collected: Gymnasium renders into the current context."""
    if drawing == "osmesa":
        pytest.skip("OSMesa has no way to make a context current again; install EGL (libegl1)")
    monkeypatch.setenv("MUJOCO_GL", drawing)
    doomed = make()
    doomed.render("rgb_array")
    other = theirs.OffScreenViewer(model, data, *SIZE.values())
    frame = other.render("rgb_array", SIDE)
    assert np.array_equal(make(camera_id=SIDE).render("rgb_array"), frame)
    assert np.array_equal(other.render("rgb_array", SIDE), frame)
    doomed.close()
    assert np.array_equal(other.render("rgb_array", SIDE), frame)
    other.close()


@pytest.mark.slow
def test_a_collected_renderer_frees_its_context(model, data, drawing):
    renderer = MujocoRenderer(model, data, **SIZE)
    renderer.render("rgb_array")
    release = renderer.viewer._release
    assert release.alive
    del renderer
    gc.collect()
    assert not release.alive


def test_another_thread_may_draw(make):
    renderer, drawn = make(camera_id=SIDE), []
    frame = renderer.render("rgb_array")
    thread = threading.Thread(target=lambda: drawn.append(renderer.render("rgb_array")))
    thread.start()
    thread.join(timeout=60)
    assert np.array_equal(drawn[0], frame)
    assert np.array_equal(renderer.render("rgb_array"), frame)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_opens_its_own_context(make, copied):
    renderer = make(camera_id=SIDE)
    frame = renderer.render("rgb_array")
    other = copied(renderer)
    assert other.viewer is None
    assert np.array_equal(other.render("rgb_array"), frame)
    assert np.array_equal(renderer.render("rgb_array"), frame)
    other.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_is_told_instead_of_hanging(make):
    renderer = make()
    renderer.render("rgb_array")
    fresh = make()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork while OpenGL has threads
        child = os.fork()
    if child == 0:
        answers = []
        for one in (renderer, fresh):
            try:
                one.render("rgb_array")
            except gl_backend.RenderingUnavailable as problem:
                answers.append(str(problem))
            one.close()
        os.write(writing, "\n".join(answers).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answers = pipe.read().splitlines()
    assert os.waitpid(child, 0)[1] == 0
    assert len(answers) == 2
    assert all("does not work after a fork" in answer for answer in answers)
    renderer.render("rgb_array")


def test_a_viewers_base_cannot_draw(model, data):
    base = ours.BaseRender(model, data, 3, 3)
    for method in (base.close, base.make_context_current):
        with pytest.raises(NotImplementedError):
            method()


@pytest.mark.parametrize("max_geom", [0, 2**31, 2**64, 3.5])
def test_numbers_of_geoms(max_geom: object) -> None:
    with pytest.raises(error.Error, match="max_geom: expected"):
        gymcore.make("Hopper-v5", render_mode="rgb_array", max_geom=max_geom)


def test_what_mujoco_says_of_a_frame_is_a_warning(
    drawing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    env = gymcore.make("Hopper-v5", render_mode="rgb_array", max_geom=1, width=32, height=32)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="MuJoCo, drawing: .*maxgeom"):
        env.render()
    env.close()
    assert not list(tmp_path.iterdir())


HILLS = """
<mujoco>
  <asset><hfield name="hills" nrow="4" ncol="4" size="1 1 1 0.1"/></asset>
  <worldbody><light pos="1 0 4"/><geom type="hfield" hfield="hills"/></worldbody>
</mujoco>"""


def test_frames_show_height_fields_as_they_are_now(drawing):
    models = [mujoco.MjModel.from_xml_string(HILLS) for _ in range(2)]
    datas = [mujoco.MjData(model) for model in models]
    renderer = MujocoRenderer(models[0], datas[0], **SIZE)
    mujoco.mj_forward(models[0], datas[0])
    mujoco.mj_forward(models[1], datas[1])
    flat = renderer.render("depth_array")
    models[1].hfield_data[5] = 0.7
    hill = renderer.render_lane(1, models[1], datas[1], "depth_array")
    assert (hill != flat).any()
    assert np.array_equal(renderer.render_lane(0, models[0], datas[0], "depth_array"), flat)
    models[0].hfield_data[:] = models[1].hfield_data
    assert np.array_equal(renderer.render("depth_array"), hill)
    renderer.close()
