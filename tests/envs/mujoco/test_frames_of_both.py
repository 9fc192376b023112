"""Frames compared with those of `mujoco.Renderer`: the same colors, segments and depths."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="mujoco is not installed")

HERE = Path(__file__).parent
# All views of the small model; of the others every camera and both options, in turn.
VIEWS = [f"walker/{camera}/{kind}" for camera in (-1, 0, 1) for kind in ("plain", "transparent")]
VIEWS += ["Hopper-v5/-1/plain", "Hopper-v5/0/transparent", "Pusher-v5/-1/transparent"]
VIEWS += ["Humanoid-v5/-1/transparent", "Humanoid-v5/0/plain", "Humanoid-v5/1/transparent"]

each_view = pytest.mark.parametrize("view", VIEWS)


@pytest.fixture(scope="module")
def frames(drawing, tmp_path_factory):
    """Return all frames, by their names."""
    path = tmp_path_factory.mktemp("frames") / "frames.npz"
    # Rendering in this process has set PyOpenGL's variable.
    environment = {key: value for key, value in os.environ.items() if key != "PYOPENGL_PLATFORM"}
    done = subprocess.run(
        [sys.executable, str(HERE / "frames_of_both.py"), str(path), *VIEWS],
        env={**environment, "MUJOCO_GL": drawing, "PYTHONPATH": str(HERE.parents[2])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    with np.load(path) as arrays:
        return dict(arrays)


def metres(depth, planes):
    """Return the distance in metres that the documentation derives from a depth."""
    near, far = planes
    return near / (1 - depth.astype(np.float64) * (1 - near / far))


def assert_same_distances(depth, distances, planes):
    """Check distances to float32 precision: one last place of the depths, and one of the distances.

    A depth of a half to 1 has 2**-24 as its last place; it has been rounded by OpenGL, and again
    by MuJoCo, which counts from the other end.
    """
    found, near = metres(depth, planes), planes[0]
    assert distances.dtype == depth.dtype == np.float32
    assert np.all(np.abs(found - distances) <= found**2 / near * 2.0**-23 + found * 2.0**-23)


@pytest.mark.slow
def test_all_views_were_drawn(frames):
    drawn = {key.rsplit("/", 2)[0] for key in frames if not key.endswith("/range")}
    assert drawn == set(VIEWS)


@each_view
def test_colors(frames, view):
    frame = frames[f"{view}/rgb/ours"]
    assert frame.std() > 5
    np.testing.assert_array_equal(frame, frames[f"{view}/rgb/theirs"])


@each_view
def test_segments(frames, view):
    """Ours are type and number as in Gymnasium, theirs number and type."""
    segments = frames[f"{view}/segments/ours"]
    assert len(np.unique(segments[..., 1])) > 1
    assert segments.dtype == frames[f"{view}/segments/theirs"].dtype
    np.testing.assert_array_equal(segments, frames[f"{view}/segments/theirs"][..., ::-1])


@each_view
def test_depth(frames, view):
    """`mujoco.Renderer` samples as for segments: at pixel centers, no sky, all opaque."""
    depth, planes = frames[f"{view}/segments-depth/ours"], frames[f"{view.split('/')[0]}/range"]
    assert depth.std() > 0
    assert_same_distances(depth, frames[f"{view}/depth/theirs"], planes)


@pytest.mark.parametrize("camera", [-1, 0, 1])
def test_depth_of_color_frames(frames, camera):
    """Without sky and transparency, at one sample per pixel, a color frame's depth is the same."""
    view = f"walker/{camera}/plain"
    depth, planes = frames[f"{view}/depth/ours"], frames["walker/range"]
    np.testing.assert_array_equal(depth, frames[f"{view}/segments-depth/ours"])
    assert_same_distances(depth, frames[f"{view}/depth/theirs"], planes)
