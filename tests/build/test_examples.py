"""The scripts in examples/ run, and print the results that they announce."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pygame
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def run(script: str, *words: str) -> list[str]:
    """Return the lines that the script prints; a warning is an error."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / script), *words],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    return done.stdout.splitlines()


def test_every_example_has_a_test_here():
    scripts = {path.name for path in (ROOT / "examples").glob("*.py")}
    text = Path(__file__).read_text()
    tested = set(re.findall(r'run\("examples/(\w+\.py)"', text))
    tested |= {f"{name}.py" for name in re.findall(r'"(jit_\w+)"', text)}
    assert scripts == tested


def test_ppo_style_collection_learns():
    lines = run("examples/ppo_style_collection.py", "--updates", "15")
    returns = [float(line.rsplit(" ", 1)[1]) for line in lines]
    assert len(returns) == 15
    assert returns[0] < 40
    assert returns[-1] > 100


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_ppo_writes_its_curve(env_id, tmp_path):
    pytest.importorskip("torch")
    curve, words = tmp_path / "curve.csv", ["--num-envs", "8", "--num-steps", "256"]
    words += ["--total-steps", "2048", "--curve", str(curve)]
    option = "--normalize" if env_id == "Pendulum-v1" else "--double-buffered"
    lines = run("examples/ppo.py", env_id, *words, option)
    assert lines[-1].startswith(f"{env_id}: 2,048 steps, mean return ")
    assert curve.read_text().startswith("steps,mean_return\n2048,")


@pytest.mark.parametrize("options", [[], ["--central-critic"]])
def test_ippo_trains_the_agents_of_worlds(options):
    pytest.importorskip("torch")
    words = ["--num-envs", "8", "--total-steps", "4000"]
    lines = run("examples/ippo.py", "Foraging-5x5-2p-1f-coop-v3", *words, *options)
    assert lines[-1].startswith("Foraging-5x5-2p-1f-coop-v3: 4,000 steps of agents, mean return ")
    assert 0 <= float(lines[-1].rsplit(" ", 1)[1]) <= 0.5


@pytest.mark.parametrize("options", [[], ["--prioritized", "--n-steps", "1"]])
def test_dqn_learns_and_is_evaluated(options):
    pytest.importorskip("torch")
    words = ["--total-steps", "4000", "--learning-starts", "500", "--evaluate-every", "2000"]
    lines = run("examples/dqn.py", "CartPole-v1", *words, *options)
    assert [line.partition(":")[0] for line in lines] == [
        "2,000 steps",
        "4,000 steps",
        "CartPole-v1",
    ]
    assert 1 <= float(lines[-1].rsplit(" ", 1)[1]) <= 500


def test_sac_learns_and_is_evaluated():
    pytest.importorskip("torch")
    words = ["--total-steps", "1000", "--learning-starts", "200", "--evaluate-every", "500"]
    lines = run("examples/sac.py", "Pendulum-v1", *words, "--updates", "1")
    assert [line.partition(":")[0] for line in lines] == ["500 steps", "1,000 steps", "Pendulum-v1"]
    assert -2000 < float(lines[-1].rsplit(" ", 1)[1]) < 0


@pytest.mark.parametrize(
    ("program", "env_id"),
    [("dqn", "Pendulum-v1"), ("sac", "CartPole-v1")],
)
def test_off_policy_examples_name_the_spaces_they_need(program, env_id):
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, f"examples/{program}.py", env_id],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith(f"{env_id}: expected vectors and ")


def test_ppo_atari_continues_from_its_checkpoint(tmp_path):
    for name in ("torch", "ale_py", "tensorboardX"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    words = ["--num-envs", "2", "--num-steps", "32", "--epochs", "2", "--minibatches", "2"]
    words += ["--checkpoint", str(tmp_path / "a.pt"), "--log", str(tmp_path / "log")]
    first, last = run("examples/ppo_atari.py", "ALE/Pong-v5", *words, "--total-steps", "128")
    assert first.startswith("ALE/Pong-v5 on ")
    assert re.match(r"128 steps: policy_loss -?\d\S+, value_loss \d\S+, entropy 1\.79", last)
    lines = run("examples/ppo_atari.py", *words, "--total-steps", "256", "--resume")
    assert lines[-1].startswith("256 steps: ")
    assert len(list((tmp_path / "log").iterdir())) == 2


def test_ppo_minigrid_solves_small_levels():
    pytest.importorskip("torch")
    words = ["--num-envs", "16", "--levels", "20", "--target", "0.6", "--frames", "2"]
    *updates, last = run("examples/ppo_minigrid.py", "MiniGrid-Empty-5x5-v0", *words)
    assert re.match(r"[\d,]+ steps: return 0\.[6-9]", updates[-1])
    found = re.match(r"20 new levels: (\d+)\.0% solved, mean return 0\.[6-9]", last)
    assert found and int(found[1]) >= 95


def test_domain_randomization_shows_that_longer_poles_fall_later():
    lines = run("examples/domain_randomization.py")
    steps = [float(re.findall(r"([\d.]+) steps", line)[0]) for line in lines[1:]]
    assert len(steps) == 8
    assert steps == sorted(steps)
    assert steps[-1] > 2 * steps[0]


def test_save_and_restore_continues_bit_for_bit():
    lines = run("examples/save_and_restore.py")
    assert lines[0] == "continues bit for bit: True"
    assert re.fullmatch(r"best constant torque of the next 20 steps: [+-]\d\.\d\d N m", lines[1])


@pytest.mark.parametrize(
    ("words", "at_least"),
    [((), 200), (("--id", "Acrobot-v1", "--hold", "4"), -120)],
    ids=["lander", "acrobot"],
)
def test_planning_finds_good_actions(words, at_least):
    if not words:
        pytest.importorskip("Box2D", reason="Box2D is not installed")
    found = [float(line.rpartition(" ")[2]) for line in run("examples/planning.py", *words)]
    assert found[0] < -100 and found[1] >= at_least


def test_mujoco_swing_up_gets_poles_up():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    rate, share = run("examples/mujoco_swing_up.py", "--num-envs", "8", "--steps", "400")
    assert re.fullmatch(r"[\d,]+ steps a second with \d+ threads", rate)
    assert int(share.partition("%")[0]) >= 75


def pixels(path: Path) -> np.ndarray:
    picture = pygame.image.load(path)
    flat = np.frombuffer(pygame.image.tobytes(picture, "RGB"), np.uint8)
    return flat.reshape(picture.get_height(), picture.get_width(), 3).astype(int)


# It loads twelve Atari games, which takes longer than all the others.
@pytest.mark.parametrize("of_atari", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_the_pictures_of_the_documentation_are_drawn_by_their_script(
    of_atari, tmp_path, monkeypatch
):
    monkeypatch.setenv("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    copy = tmp_path / "tools" / "render_environments.py"
    copy.parent.mkdir()
    copy.write_text((ROOT / "tools" / "render_environments.py").read_text())
    kept = {path.name: path for path in (ROOT / "docs/environments/images").glob("*.png")}
    sheet = kept.pop("DeepMindControl.png")  # of twenty tasks
    assert sheet.stat().st_size < 200_000
    assert max(path.stat().st_size for path in kept.values()) < 60_000
    # MuJoCo's frames depend on the machine's OpenGL.
    scenes = re.findall(r'^    "(\w+-v\d)": (\d+,)?', copy.read_text(), flags=re.M)
    mujoco = {f"{env_id}.png" for env_id, steps in scenes if steps}
    names = {"Atari.png"} if of_atari else kept.keys() - mujoco - {"Atari.png"}
    drawn = [line.split()[0] for line in run(str(copy), *(name[:-4] for name in names))]
    assert set(drawn) == names
    for name in drawn:
        path = kept[name]
        made = pixels(tmp_path / "docs" / "environments" / "images" / name)
        # Another SDL may scale slightly differently; another scene differs by whole shapes.
        assert np.abs(made - pixels(path)).mean() < 0.05, name


@pytest.mark.parametrize("name", ["jit_navigation", "jit_snake", "jit_pursuit"])
def test_environments_of_ones_own_run_as_python(name, monkeypatch):
    monkeypatch.setenv("GYMCORE_JIT", "0")
    (line,) = run(f"examples/{name}.py", *["1"] * (name == "jit_snake"))
    assert re.search(r"[\d,]+ steps/s", line)


def test_agents_share_worlds_in_python():
    lines = run("examples/multi_agent.py")
    assert lines[0] == "8 worlds x 3 agents"
    greedy, random = (float(line.rsplit(" ", 1)[1]) for line in lines[1:])
    assert greedy > 2 * random > 0
