"""Shortcomings of `mujoco.Renderer` and `launch_passive`, the reasons for viewers of our own.

`docs/environments/mujoco_rendering.md` lists them. If a test of MuJoCo's passes one day (`XPASS`),
that reason no longer holds; the sibling test shows that ours works.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

ROOT = Path(__file__).parents[3]
TIMES = 3  # two of MuJoCo's tests pass in one run of ten

pytestmark = pytest.mark.soak
whose = pytest.mark.parametrize(
    "whose",
    [
        "ours",
        pytest.param(
            "mujoco", marks=pytest.mark.xfail(strict=False, reason="MuJoCo 3.1.6, 3.3.7 and 4.0.0")
        ),
    ],
)

BALL = """
import sys, threading
import numpy as np
import mujoco
from gymcore.envs.mujoco.mujoco_rendering import MujocoRenderer, OffScreenViewer
ours = sys.argv[1] == "ours"
model = mujoco.MjModel.from_xml_string(
    '<mujoco><visual><global offwidth="64" offheight="48"/></visual><worldbody><light pos="0 0 3"/>'
    '<body pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
"""

WINDOWS = """
import mujoco.viewer
datas = [mujoco.MjData(model) for _ in range(int(sys.argv[2]))]
windows = []
try:
    for each in datas:
        launch = MujocoRenderer if ours else mujoco.viewer.launch_passive
        windows.append(launch(model, each))
    for _ in range(30):
        for each, window in zip(datas, windows):
            mujoco.mj_step(model, each)
            window.render("human") if ours else window.sync()
except Exception as problem:
    print("caught", type(problem).__name__)
for each in windows:
    each.close()
print("closed")
"""

# Each program must print "well".
FRAMES = {
    "larger than the model's buffer": """
height, width = 100, 120
if ours:
    frame = OffScreenViewer(model, data, width, height).render("rgb_array")
else:
    renderer = mujoco.Renderer(model, height, width)
    renderer.update_scene(data)
    frame = renderer.render()
print("well" if frame.shape == (height, width, 3) else frame.shape)
""",
    "by another thread": """
viewer = OffScreenViewer(model, data, 64, 48) if ours else mujoco.Renderer(model, 48, 64)
def draw():
    if ours:
        return viewer.render("rgb_array")
    viewer.update_scene(data)
    return viewer.render()
first = draw()
def again():
    print("well" if np.array_equal(draw(), first) else "other")
thread = threading.Thread(target=again)
thread.start()
thread.join()
""",
    "MUJOCO_GL unset": """
if ours:
    OffScreenViewer(model, data, 64, 48).render("rgb_array")
else:
    renderer = mujoco.Renderer(model, 48, 64)
    renderer.update_scene(data)
    renderer.render()
print("well")
""",
    "leave the context current that was": """
from OpenGL import EGL
from mujoco.egl import GLContext
before = GLContext(8, 8)
before.make_current()
def current():
    context = EGL.eglGetCurrentContext()
    return context.address if context else None
was = current()
if ours:
    viewer = OffScreenViewer(model, data, 64, 48)
    viewer.render("rgb_array")
else:
    viewer = mujoco.Renderer(model, 48, 64)
    viewer.update_scene(data)
    viewer.render()
drawn = current()
viewer.close()
print("well" if drawn == was == current() else (was, drawn, current()))
""",
}


def run(code, *arguments, **environment):
    """Return a program's exit code and standard output; a hang has its own exit code."""
    dropped = ("PYOPENGL_PLATFORM", "MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY")
    base = {key: value for key, value in os.environ.items() if key not in dropped}
    try:
        done = subprocess.run(
            [sys.executable, "-c", BALL + code, *arguments],
            env={**base, "PYTHONPATH": str(ROOT), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )
    except subprocess.TimeoutExpired:
        return "hangs", ""
    return done.returncode, done.stdout


@whose
def test_two_windows(whose, display, record_property):
    """Open them, show thirty steps in each, close them, end: it must work every time."""
    ends = [run(WINDOWS, whose, "2", DISPLAY=display) for _ in range(TIMES)]
    record_property("mujoco", mujoco.__version__)
    record_property("ends", repr(ends))
    assert ends == [(0, "closed\n")] * TIMES


@whose
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="others always have a display")
def test_no_display(whose, record_property):
    """The program can catch the exception."""
    code, said = run(WINDOWS, whose, "1")
    record_property("mujoco", mujoco.__version__)
    record_property("ends", repr((code, said)))
    assert code == 0
    assert said.startswith("caught")


@whose
@pytest.mark.parametrize("what", FRAMES)
def test_frames(whose, what, drawing, record_property):
    if drawing != "egl":
        pytest.skip("these want EGL, and no display (Debian: apt-get install libegl1)")
    chosen = {} if what == "MUJOCO_GL unset" else {"MUJOCO_GL": "egl"}
    code, said = run(FRAMES[what], whose, **chosen)
    record_property("mujoco", mujoco.__version__)
    record_property("ends", repr((code, said)))
    assert (code, said) == (0, "well\n")
