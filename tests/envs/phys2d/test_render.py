"""Frames of the functional physics environments have Gymnasium's sizes and visible contents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from tests.envs.functional import modules, same

SCENES = [
    ("CartPole", "phys2d/CartPole-v1", [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.2, 0.0]),
    ("Pendulum", "phys2d/Pendulum-v0", [0.0, 0.0], [2.0, 0.0]),
]


@pytest.mark.parametrize(("name", "env_id", "one", "other"), SCENES)
def test_pictures(name: str, env_id: str, one: list[float], other: list[float]) -> None:
    pytest.importorskip("pygame")
    both = modules(f"phys2d.{name.lower()}")
    functions, theirs = (getattr(each, f"{name}Functional")() for each in both)
    state, frames = functions.render_init(), []
    for scene in (one, other, one):
        state, frame = functions.render_image(np.array(scene), state)
        frames.append(frame)
    their_state, their_frame = theirs.render_image(np.array(one), theirs.render_init())
    for frame in frames:
        assert (frame.shape, frame.dtype) == (their_frame.shape, their_frame.dtype)
        assert frame.flags["C_CONTIGUOUS"]
    same(frames[0], frames[2])
    assert (frames[0] != frames[1]).any()
    assert len(np.unique(frames[0].reshape(-1, 3), axis=0)) > 3
    assert [type(part) for part in state] == [type(part) for part in their_state]
    small = functions.render_init(screen_width=120, screen_height=90)
    assert functions.render_image(np.array(one), small)[1].shape == (90, 120, 3)
    for function, render_state in ((functions, state), (theirs, their_state)):
        assert function.render_close(render_state) is None


@pytest.mark.parametrize("env_id", [scene[1] for scene in SCENES])
def test_rendering_environments(env_id: str) -> None:
    pytest.importorskip("pygame")
    modules("phys2d")
    env = gymcore.make(env_id, render_mode="rgb_array")
    env.reset(seed=1)
    frame: Any = env.render()
    assert frame.shape == (400, 600, 3)
    env.close()
    envs: Any = gymcore.make_vec(env_id, num_envs=2, render_mode="rgb_array")
    envs.reset(seed=1)
    assert envs.render().shape == (2, 400, 600, 3)
    envs.close()


def test_without_a_render_mode() -> None:
    modules("phys2d")
    env = gymcore.make("phys2d/CartPole-v1").unwrapped
    env.reset(seed=1)
    with pytest.raises(error.UnsupportedMode, match="render_mode='rgb_array'"):
        env.render()
