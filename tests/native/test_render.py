"""Rendering of a batch: one frame per lane, one frame of all, and a window."""

import subprocess
import sys

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from tests.vector.contract import draw_actions, make_envs, same_bytes


def frames_of_singles(envs, actions, seed):
    frames = []
    for i in range(envs.num_envs):
        env = gym.make(envs.spec.id, render_mode="rgb_array")
        env.reset(seed=seed + i)
        for batch in actions:
            env.step(batch[i])
        frames.append(env.render())
    return frames


def test_frames_are_those_of_single_environments(env_id):
    envs = make_envs(env_id, num_envs=3, render_mode="rgb_array")
    envs.reset(seed=4)
    assert same_bytes(list(envs.render()), frames_of_singles(envs, [], 4))
    actions = draw_actions(envs, 3)
    for batch in actions:
        envs.step(batch)
    assert same_bytes(list(envs.render()), frames_of_singles(envs, actions, 4))
    assert same_bytes(list(envs.call("render")), list(envs.render()))


def test_the_frames_after_every_kind_of_step_are_the_same():
    """Pendulum's frame shows the torque of the last step."""
    from tests.vector.contract import outputs

    pictures = []
    for way in ("step", "list", "step_into"):
        envs = make_envs("Pendulum-v1", num_envs=2, render_mode="rgb_array")
        envs.reset(seed=1)
        without = envs.render()
        actions = np.array([[2.0], [-1.0]], np.float32)
        if way == "step_into":
            envs.step_into(actions, **outputs(envs))
        else:
            envs.step(actions.tolist() if way == "list" else actions)
        pictures.append(envs.render())
        assert not same_bytes(pictures[-1], without)
    assert same_bytes(pictures[0], pictures[1])
    assert same_bytes(pictures[0], pictures[2])
    arrow = envs.render()
    envs.reset(seed=1)
    assert same_bytes(envs.render(), without)
    assert not same_bytes(arrow, without)


def test_parameters_show_in_the_picture():
    envs = make_envs("CartPole-v1", num_envs=2, render_mode="rgb_array", length=[0.25, 1.0])
    envs.reset(seed=1)
    envs.set_attr("state", [[0.0] * 4] * 2)
    short, long = envs.render()
    single = gym.make("CartPole-v1", render_mode="rgb_array").unwrapped
    single.reset()
    single.length = 1.0
    single.state = [0.0] * 4
    assert same_bytes(single.render(), long)
    assert not same_bytes(short, long)


@pytest.mark.parametrize(("columns", "rows"), [(None, 2), (1, 5), (2, 3), (5, 1), (7, 1)])
def test_one_picture_of_all_lanes(columns, rows):
    envs = make_envs("CartPole-v1", num_envs=5, render_mode="rgb_array")
    envs.reset(seed=1)
    frames = envs.render()
    height, width, _ = frames[0].shape
    tiled = envs.render_tiled(columns)
    across = columns or 3
    assert tiled.dtype == np.uint8
    assert tiled.shape == (rows * height, across * width, 3)
    for i, frame in enumerate(frames):
        top, left = i // across * height, i % across * width
        assert same_bytes(tiled[top : top + height, left : left + width], frame)


def test_frames_are_the_callers():
    envs = make_envs("CartPole-v1", num_envs=2, render_mode="rgb_array")
    envs.reset(seed=1)
    frames = envs.render()
    expected = [frame.copy() for frame in frames]
    envs.step([0, 1])
    envs.render()[0][:] = 0
    assert same_bytes(list(frames), expected)


def test_rendering_does_not_move_anything():
    envs, other = (make_envs("MountainCar-v0", render_mode=mode) for mode in ("rgb_array", None))
    envs.reset(seed=1), other.reset(seed=1)
    for actions in draw_actions(envs, 5):
        assert same_bytes(envs.step(actions), other.step(actions))
        envs.render()


def test_rendering_before_reset_and_without_a_mode():
    envs = make_envs("CartPole-v1", render_mode="rgb_array")
    with pytest.raises(error.ResetNeeded, match="render"):
        envs.render()
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    with pytest.warns(UserWarning, match="without a render mode"):
        assert envs.render() is None
    assert envs.render_mode is None


WINDOW = """
import os
os.environ["SDL_VIDEODRIVER"] = "dummy"
import gymcore as gym
import numpy as np
import pygame

envs = gym.make_vec("{id}", num_envs=4, render_mode="human")
envs.metadata["render_fps"] = 1000
assert not pygame.display.get_init() or pygame.display.get_surface() is None
envs.reset(seed=1)
actions = np.zeros((4, *envs.single_action_space.shape), envs.single_action_space.dtype)
for _ in range(3):
    envs.step(actions)
assert envs.render() is None
frames = gym.make_vec("{id}", num_envs=4, render_mode="rgb_array")
frames.reset(seed=1)
for _ in range(3):
    frames.step(actions)
assert envs.render_tiled().tobytes() == frames.render_tiled().tobytes()
envs.close()
envs.close()
other = gym.make_vec("{id}", num_envs=1, render_mode="human")
other.metadata["render_fps"] = 1000
other.reset()
print("shown")
"""


@pytest.mark.slow
@pytest.mark.parametrize("id", ["CartPole-v1", "Pendulum-v1"])
def test_a_window(id):
    """In a separate process: it opens a display, and one window is left open at the end."""
    result = subprocess.run(
        [sys.executable, "-c", WINDOW.format(id=id)], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "shown"


def test_stepping_without_pictures_does_not_load_pygame():
    code = (
        "import sys, gymcore as gym\n"
        "envs = gym.make_vec('CartPole-v1', num_envs=2, render_mode='rgb_array')\n"
        "envs.reset(); envs.step([0, 1])\n"
        "assert 'pygame' not in sys.modules\n"
        "envs.render()\n"
        "assert 'pygame' in sys.modules\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
