"""Packages outside gymcore add environments to the compiled engine.

The lanes of examples/kernel_package are structs; vector_kernel, beside this file, becomes
vector code. Both are the same environment.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "structs": ROOT / "examples" / "kernel_package",
    "vectors": Path(__file__).parent / "vector_kernel",
}

STEPS = """
import json
import numpy as np
import gymcore as gym
import docking

envs = gym.make_vec("docking/Docking-v0", num_envs=3, mass=[250.0, 500.0, 1000.0])
first, _ = envs.reset(seed=7)
actions = np.random.default_rng(0).integers(0, 3, (40, 3))
rows = [[one.tolist() for one in envs.step(action)[:4]] for action in actions]
single = gym.make("docking/Docking-v0", mass=500.0)
alone, _ = single.reset(seed=8)
print(json.dumps({
    "first": first.tolist(),
    "alone": alone.tolist(),
    "alone_next": single.step(int(actions[0, 1]))[0].tolist(),
    "actions": actions.tolist(),
    "rows": rows,
    "isa": envs.unwrapped._batch.isa,
    "parameters": envs.get_attr("mass"),
    "options": envs.reset(seed=1, options={"low": 8.0})[0][:, 0].tolist(),
}))
"""


def build(folder: Path, example: Path, **environment: str) -> Path:
    """Build the example against this checkout; return the folder from which it is imported."""
    source = folder / "source"
    shutil.copytree(example, source, ignore=shutil.ignore_patterns("build", "*.so"))
    target = folder / "built"
    command = [sys.executable, "setup.py", "-q", "build", "--build-lib", str(target)]
    subprocess.run(command, cwd=source, env=paths(ROOT, **environment), check=True, timeout=120)
    return target


def paths(*folders: Path, **environment: str) -> dict[str, str]:
    inherited = os.environ.get("PYTHONPATH", "")
    search = os.pathsep.join([*map(str, folders), *filter(None, [inherited])])
    return {**os.environ, "PYTHONPATH": search, **environment}


def run(built: Path) -> dict[str, Any]:
    command = [sys.executable, "-W", "error", "-c", STEPS]
    done = subprocess.run(
        command, cwd=built, env=paths(built, ROOT), check=True, stdout=subprocess.PIPE, timeout=60
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=EXAMPLES)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, ignored = tmp_path_factory.mktemp("kernel"), shutil.ignore_patterns("*.c")
    clean = shutil.copytree(EXAMPLES[request.param], folder / "clean", ignore=ignored)
    return build(folder, clean)


@pytest.fixture(scope="module")
def seen(built: Path) -> dict[str, Any]:
    return run(built)


@pytest.mark.slow
def test_lanes_start_where_numpy_draws_them(seen):
    for lane in range(3):
        stream = np.random.default_rng(7 + lane)
        drawn = [stream.uniform(5.0, 10.0), 0.25 * stream.normal()]
        assert seen["first"][lane] == np.float32(drawn).tolist()


def test_steps_follow_the_equations_with_each_lanes_mass(seen):
    position, velocity = np.array(
        [[s.uniform(5.0, 10.0), 0.25 * s.normal()] for s in map(np.random.default_rng, (7, 8, 9))]
    ).T
    mass = np.array([250.0, 500.0, 1000.0])
    live = np.ones(3, bool)
    compared = 0
    for actions, (observations, rewards, terminated, _) in zip(
        seen["actions"], seen["rows"], strict=True
    ):
        push = np.array(actions) - 1
        velocity = velocity + push * 100.0 / mass * 0.5
        position = position + velocity * 0.5
        arrived, lost = position <= 0, position > 20
        earned = -0.01 - 0.02 * (push != 0) + arrived * np.where(velocity >= -0.3, 1, -1) - lost
        np.testing.assert_allclose(np.array(observations)[live, 0], position[live], rtol=1e-6)
        np.testing.assert_allclose(np.array(rewards)[live], earned[live], atol=1e-12)
        assert np.array(terminated)[live].tolist() == (arrived | lost)[live].tolist()
        compared += int(live.sum())
        live &= ~(arrived | lost)
    assert compared > 40


def test_parameters_and_reset_options(seen):
    assert seen["parameters"] == [250.0, 500.0, 1000.0]
    drawn = [np.random.default_rng(1 + lane).uniform(8.0, 10.0) for lane in range(3)]
    assert seen["options"] == np.float32(drawn).tolist()


def test_a_single_environment_is_a_lane_of_the_batch(seen):
    assert seen["alone"] == seen["first"][1]
    assert seen["alone_next"] == seen["rows"][0][0][1]


@pytest.mark.parametrize("built", ["structs"], indirect=True)
def test_infos_are_what_the_function_writes(built):
    program = """
import numpy as np
import gymcore as gym
import docking
envs = gym.make_vec("docking/Docking-v0", num_envs=3)
results = [envs.reset(seed=1), *(envs.step([0, 1, 2])[::4] for _ in range(3))]
for observations, infos in results:
    assert list(infos) == ["speed", "_speed"] and infos["speed"].dtype == np.float64
    assert (infos["speed"].astype(np.float32) == abs(observations[:, 1])).all()
env = gym.make("docking/Docking-v0")
assert env.reset(seed=2)[1] == {"speed": results[0][1]["speed"][1]}
"""
    subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=built,
        env=paths(built, ROOT),
        check=True,
        timeout=60,
    )


def test_the_command_line_finds_it(built):
    command = [sys.executable, "-m", "gymcore", "collect", "docking:docking/Docking-v0"]
    done = subprocess.run(
        [*command, "--num-envs", "8", "--num-steps", "800", "--seed", "1", "--no-progress"],
        cwd=built,
        env=paths(built, ROOT),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert done.stdout.startswith(
        "docking:docking/Docking-v0: 8 lanes x 100 steps, DockingVectorEnv"
    )


@pytest.mark.slow
@pytest.mark.parametrize("built", ["vectors"], indirect=True)
def test_a_kernel_with_fewer_instruction_sets_than_the_engine_steps_the_same(tmp_path, built, seen):
    """It is compiled from the C that Cython wrote for the other one."""
    example = built.parent / "source"
    baseline = run(build(tmp_path, example, CFLAGS="-DGYMCORE_BASELINE_ONLY -O1"))
    assert baseline.pop("isa") == "baseline"
    assert baseline == {name: value for name, value in seen.items() if name != "isa"}
