"""The choice of OpenGL, the error if there is none, and equal frames from each."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from gymcore import error
from gymcore.envs.mujoco import gl_backend
from gymcore.envs.mujoco.gl_backend import RenderingUnavailable
from tests.envs.mujoco.walkers import write_model

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="for Linux")


class Context:
    """An OpenGL context that draws nothing."""

    def free(self):
        pass


@pytest.fixture
def machine(monkeypatch):
    """Simulate a machine without OpenGL or a choice; put working backends into `works`."""

    machine = SimpleNamespace(works=set(), tried=[], broken={})

    def attempt(name, model, width, height):
        machine.tried.append(name)
        if name in machine.broken:
            raise machine.broken[name]
        return Context(), Context()

    def missing(name):
        return None if name in machine.works | set(machine.broken) else f"no {name} here"

    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(gl_backend, "_working", None)
    monkeypatch.setattr(gl_backend, "_process", None)
    monkeypatch.setattr(gl_backend, "_missing", missing)
    monkeypatch.setattr(gl_backend, "_try", attempt)
    monkeypatch.setattr(gl_backend.sys, "platform", "linux")
    return machine


def chosen() -> str:
    return gl_backend.open_context(None, 8, 8)[0]


@pytest.mark.parametrize(
    ("works", "name"),
    [
        ({"glfw", "egl", "osmesa"}, "glfw"),
        ({"egl", "osmesa"}, "egl"),
        ({"osmesa"}, "osmesa"),
    ],
)
def test_the_first_that_is_there(machine, works, name):
    machine.works = works
    assert chosen() == name
    assert machine.tried == [name]


def test_one_that_fails_is_passed_over(machine):
    machine.works, machine.broken = {"osmesa"}, {"egl": RuntimeError("no driver")}
    assert chosen() == "osmesa"
    assert machine.tried == ["egl", "osmesa"]


def test_what_has_drawn_is_used_again(machine):
    machine.works = {"osmesa"}
    chosen()
    machine.works = {"glfw", "egl", "osmesa"}
    assert chosen() == "osmesa"


@pytest.mark.parametrize(("system", "name"), [("darwin", "cgl"), ("win32", "glfw")])
def test_other_systems(machine, monkeypatch, system, name):
    monkeypatch.setattr(gl_backend.sys, "platform", system)
    machine.works = {"cgl", "glfw"}
    assert chosen() == name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("egl", "egl"),
        ("osmesa", "osmesa"),
        ("GLFW", "glfw"),
        ("glx", "glfw"),
        ("", "glfw"),
        ("on", "glfw"),
    ],
)
def test_the_variable_decides(machine, monkeypatch, value, name):
    machine.works = {"glfw", "egl", "osmesa"}
    monkeypatch.setenv("MUJOCO_GL", value)
    assert chosen() == name


def test_the_variable_allows_no_other(machine, monkeypatch):
    machine.works = {"osmesa"}
    monkeypatch.setenv("MUJOCO_GL", "egl")
    with pytest.raises(RenderingUnavailable) as caught:
        chosen()
    text = str(caught.value)
    assert "egl: no egl here" in text
    assert "apt-get install libegl1 libopengl0 libgl1-mesa-dri" in text
    assert "MUJOCO_GL=egl allows no other" in text
    assert "osmesa:" not in text


def test_an_unknown_value(machine, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "vulkan")
    with pytest.raises(error.InvalidArgument, match="variable MUJOCO_GL must be one of"):
        chosen()


def test_switched_off(machine, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "off")
    with pytest.raises(RenderingUnavailable, match=r"switched off .* MUJOCO_GL=off"):
        chosen()


def test_none(machine):
    machine.broken = {"egl": RuntimeError("no driver")}
    with pytest.raises(RenderingUnavailable) as caught:
        chosen()
    text = str(caught.value)
    for part in (
        "glfw: no glfw here. It needs: a display, or apt-get install xvfb",
        "egl: RuntimeError: no driver. It needs: apt-get install libegl1",
        "osmesa: no osmesa here. It needs: apt-get install libosmesa6",
        "MUJOCO_GL=egl",
    ):
        assert part in text
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, RuntimeError)


# Available backends


@linux
def test_without_a_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert "DISPLAY" in gl_backend.find_display()


def test_pyopengl_was_told_otherwise(monkeypatch):
    monkeypatch.setenv("PYOPENGL_PLATFORM", "osmesa")
    assert "PYOPENGL_PLATFORM is 'osmesa'" in gl_backend._missing("egl")


@pytest.mark.parametrize(("name", "library"), [("egl", "libEGL"), ("osmesa", "libOSMesa")])
def test_a_library_is_missing(monkeypatch, name, library):
    monkeypatch.delenv("PYOPENGL_PLATFORM", raising=False)
    monkeypatch.setattr(gl_backend, "_load", lambda *names: None)
    assert library in gl_backend._missing(name)


def test_a_library_that_cannot_be_loaded(monkeypatch):
    monkeypatch.setattr(gl_backend.ctypes.util, "find_library", lambda name: "libnone.so.9")
    assert gl_backend._load("none", "libnone.so") is None


DRAW = """
import sys
import numpy as np
from gymcore.envs.mujoco import MujocoEnv
env = MujocoEnv(sys.argv[1], 5, None, "rgbd_tuple", 64, 48, camera_name="side")
env.set_state(env.init_qpos, env.init_qvel)
rgb, depth = env.render()
np.savez(sys.argv[2], rgb=rgb, depth=depth, name=env.mujoco_renderer.viewer.backend)
# The end of the process has to free an open context.
"""


def draw(folder, name, **environment):
    out = folder / f"{name}.npz"
    base = {key: value for key, value in os.environ.items() if key != "PYOPENGL_PLATFORM"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", DRAW, write_model(folder), str(out)],
        env={**base, "MUJOCO_GL": name, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    with np.load(out) as arrays:
        return dict(arrays)


@pytest.mark.slow
@linux
def test_egl_and_osmesa_draw_the_same(tmp_path, monkeypatch):
    monkeypatch.delenv("PYOPENGL_PLATFORM", raising=False)  # rendering in this process has set it
    frames = {}
    for name in ("egl", "osmesa"):
        problem = gl_backend._missing(name)
        if problem is not None:
            pytest.skip(f"{problem} (Debian: {gl_backend.PACKAGES[name]})")
        frames[name] = draw(tmp_path, name)
        assert frames[name]["name"] == name
    difference = frames["egl"]["rgb"].astype(int) - frames["osmesa"]["rgb"]
    assert np.mean(np.abs(difference) > 3) < 0.01
    assert np.allclose(frames["egl"]["depth"], frames["osmesa"]["depth"], atol=1e-3)


@pytest.mark.slow
@linux
def test_glfw_draws_in_memory_too(tmp_path, display):
    frames = draw(tmp_path, "glfw", DISPLAY=display)
    assert frames["name"] == "glfw"
    assert frames["rgb"].std() > 1


# Freeing


class Owner:
    pass


def test_freed_once():
    owner, freed = Owner(), []
    free = gl_backend.release_once(owner, freed.append, 3)
    free()
    free()
    del owner
    assert freed == [3]


def test_freed_at_the_exit_before_the_hooks_that_were_there():
    code = (
        "import atexit; from gymcore.envs.mujoco.gl_backend import release_once\n"
        "class Owner: pass\n"
        "owner = Owner()\n"
        "release_once(owner, print, 'one')\n"
        "atexit.register(print, 'library')\n"
        "other = Owner()\n"
        "release_once(other, print, 'two')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["two", "one", "library"]


@pytest.mark.slow
@linux
def test_another_library_terminates_the_display(tmp_path):
    pytest.importorskip("OpenGL")
    if gl_backend._missing("egl"):
        pytest.skip(gl_backend._missing("egl"))
    code = """
import sys
import mujoco.egl
from gymcore.envs.mujoco import gl_backend

model = mujoco.MjModel.from_xml_path(sys.argv[1])
gl_backend.open_context(model, 8, 8)
mujoco.egl.EGL.eglTerminate(mujoco.egl.EGL_DISPLAY)
print(gl_backend.open_context(model, 8, 8)[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, write_model(tmp_path)],
        env={**os.environ, "MUJOCO_GL": "egl"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "egl\n"), done.stderr


BROKEN = """raise AttributeError("'NoneType' object has no attribute 'glGetError'")"""
REFUSED = """raise ImportError("PYOPENGL_PLATFORM is set")"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "failure", "kind", "words"),
    [
        ("osmesa", BROKEN, "DependencyNotInstalled", "apt-get install libosmesa6"),
        ("OSMesa", BROKEN, "DependencyNotInstalled", "MUJOCO_GL=OSMesa ('NoneType'"),
        ("egl", BROKEN, "DependencyNotInstalled", "apt-get install libegl1"),
        ("egl", REFUSED, "DependencyNotInstalled", "PYOPENGL_PLATFORM is set"),
        ("glfw", REFUSED, "DependencyNotInstalled", "a display, or apt-get install xvfb"),
        ("off", REFUSED, "DependencyNotInstalled", "pip install mujoco"),
        ("off", BROKEN, "AttributeError", "glGetError"),
        ("x", "raise RuntimeError('MUJOCO_GL')", "InvalidArgument", "expected egl, osmesa or glfw"),
    ],
)
def test_an_import_that_loads_what_is_not_installed(value, failure, kind, words, tmp_path):
    """The import of mujoco loads the backend that MUJOCO_GL names, and fails in its own words."""
    (tmp_path / "mujoco").mkdir()
    (tmp_path / "mujoco" / "__init__.py").write_text(failure)
    program = f"""
import sys
from gymcore.envs.mujoco.library import mujoco_module
sys.path.insert(0, {str(tmp_path)!r})
for _ in range(2):
    try:
        mujoco_module()
    except Exception as problem:
        print(type(problem).__name__, problem)
"""
    output = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "MUJOCO_GL": value},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    first, second = output.splitlines()
    assert first == second
    assert first.startswith(kind)
    assert words in first
