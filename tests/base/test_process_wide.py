"""What is process-wide has one owner: first use, and drawing, in many threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings

import pytest

import gymcore as gym
from gymcore.base import process_wide

MANY_THREADS = """
import faulthandler
import sys
import threading

faulthandler.dump_traceback_later(200, exit=True)  # where threads wait for each other

import gymcore as gym

env_id, count = sys.argv[1], 6
barrier, results = threading.Barrier(count), [None] * count


def run(index):
    barrier.wait()
    env = gym.make(env_id, render_mode="rgb_array") if sys.argv[2:] else gym.make(env_id)
    env.action_space.seed(1)
    rewards = [env.reset(seed=5) and 0.0]
    rewards += [env.step(env.action_space.sample())[1] for _ in range(3)]
    frames = [env.render().tobytes() for _ in range(3)] if sys.argv[2:] else []
    results[index] = rewards, frames


threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert results == [results[0]] * count and results[0], results[0] and results[0][0]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env_id", "options"),
    [
        ("HalfCheetah-v5", []),
        ("CarRacing-v3", []),
        ("CarRacing-v3", ["render"]),
        ("LunarLander-v3", ["render"]),
        ("ALE/Pong-v5", ["render"]),
        ("Blackjack-v1", ["render"]),
        ("MiniGrid-Empty-5x5-v0", ["render"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_first_use_in_many_threads(env_id: str, options: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MANY_THREADS, env_id, *options],
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_package_registers_environments_while_another_thread_does(tmp_path, monkeypatch):
    pytest.importorskip("gymnasium")
    import gymnasium

    from gymcore.interop.gymnasium import register_all

    (tmp_path / "registers_slowly.py").write_text(
        "import time\n"
        "from gymnasium.envs.registration import registry\n"
        "for _, _ in zip(range(20), registry):\n"
        "    time.sleep(0.01)\n"
        "is_complete = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    modules = []
    thread = threading.Thread(
        target=lambda: modules.append(process_wide.load_registering_module("registers_slowly"))
    )
    thread.start()
    while "registers_slowly" not in sys.modules:
        time.sleep(0.001)
    gym.register("threads/Pole-v0", "gymcore.envs.classic_control.cartpole:CartPoleEnv")
    try:
        register_all()
        thread.join()
    finally:
        del gym.registry["threads/Pole-v0"], gymnasium.registry["gymcore/threads-Pole-v0"]
    assert modules[0].is_complete


def test_warnings_are_caught_by_one_thread_at_a_time():
    def warn(name):
        for number in range(200):
            with process_wide.caught_warnings("always") as caught:
                warnings.warn(f"{name} {number}", stacklevel=1)
            texts.append([str(warning.message) for warning in caught])

    filters, texts = list(warnings.filters), []
    threads = [threading.Thread(target=warn, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(texts) == sorted([f"{name} {number}"] for name in "abcd" for number in range(200))
    assert warnings.filters == filters


def test_fonts_are_opened_and_used_by_one_thread_at_a_time(monkeypatch):
    pytest.importorskip("pygame")
    import pygame.font

    from gymcore.rendering.text import render_text

    class Font(pygame.font.Font):
        def __init__(self, *args):
            nonlocal is_open
            assert not is_open
            is_open = True
            super().__init__(*args)

        def render(self, *args):
            time.sleep(0.001)  # lets the other threads run
            return super().render(*args)

        def __del__(self):
            nonlocal is_open
            is_open = False

    def render(thread):
        for number in range(5):
            widths.append(render_text(f"{thread} {number}", 12, (1, 2, 3)).get_width())

    is_open, widths = False, []
    monkeypatch.setattr(pygame.font, "Font", Font)
    threads = [threading.Thread(target=render, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(widths) == 20


def test_drawing_functions_are_called_by_one_thread_at_a_time():
    pytest.importorskip("pygame")
    from gymcore.rendering.frames import Renderer

    def draw(surface):
        nonlocal is_drawing
        counts.append(is_drawing)
        is_drawing = True
        time.sleep(0.001)
        is_drawing = False

    is_drawing, counts = False, []
    renderers = [Renderer(draw, (4, 4), 30, "rgb_array") for _ in range(4)]
    threads = [threading.Thread(target=renderer.render) for renderer in renderers * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [False] * 12


def test_environment_variables_are_set_only_for_the_import(tmp_path, monkeypatch):
    (tmp_path / "reads_environment.py").write_text(
        "import os\nvalues = os.environ['A'], os.environ['B']\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("A", "own")
    module = process_wide.load_module("reads_environment", A="1", B="2")
    assert module.values == ("own", "2")
    assert os.environ["A"] == "own" and "B" not in os.environ
    assert process_wide.load_module("reads_environment") is module


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.parametrize("name", ["lock", "drawing_lock"])
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent(name):
    held, done = threading.Event(), threading.Event()

    def hold():
        with getattr(process_wide, name):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if getattr(process_wide, name).acquire(timeout=60) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    done.set()
    thread.join()
