"""Environments of installed packages have the same trajectories as under Gymnasium."""

from __future__ import annotations

import copy
import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gymcore
from tests.testing_env import assert_same

gymnasium = pytest.importorskip("gymnasium")

CASES = {
    "minigrid": "MiniGrid-DoorKey-5x5-v0",
    "highway_env": "highway-fast-v0",
    "gymnasium_robotics": "PointMaze_UMaze-v3",
    "mo_gymnasium": "mo-mountaincar-v0",
    "ale_py": "ALE/Pong-v5",
}

pytestmark = [
    pytest.mark.starts_processes,
    # Warnings of other packages.
    pytest.mark.filterwarnings("ignore"),
]


class WithoutInfo(gymnasium.Wrapper):
    """Wrapper without infos: HighwayEnv's first one samples an unseeded action space."""

    def reset(self, **kwargs: Any) -> Any:
        return super().reset(**kwargs)[0], {}


def make(package: str) -> gymnasium.Env:
    env: Any = gymnasium.make(f"{package}:{CASES[package]}")
    if package == "highway_env":
        return WithoutInfo(env)
    if package == "mo_gymnasium":  # vector environments have one reward per lane
        import mo_gymnasium

        env = mo_gymnasium.wrappers.LinearReward(env)
    return env


def trajectory(envs: Any, actions: list[Any]) -> list[Any]:
    results = [envs.reset(seed=5), *(envs.step(action) for action in actions)]
    results = copy.deepcopy(results)
    envs.close()
    return results


@pytest.mark.slow
@pytest.mark.parametrize("package", CASES)
def test_trajectories(package: str) -> None:
    pytest.importorskip(package)
    functions = [functools.partial(make, package)] * 2
    theirs = gymnasium.vector.SyncVectorEnv(functions)
    theirs.action_space.seed(1)
    actions = [theirs.action_space.sample() for _ in range(4)]
    expected = trajectory(theirs, actions)
    assert_same(trajectory(gymcore.vector.SyncVectorEnv(functions), actions), expected)
    shared_memory = package != "minigrid"  # its missions are in a custom space
    envs = gymcore.vector.AsyncVectorEnv(functions, shared_memory=shared_memory)
    assert_same(trajectory(envs, actions), expected)
    if package not in ("highway_env", "mo_gymnasium"):  # see `make`
        envs = gymcore.make_vec(f"gymnasium:{package}:{CASES[package]}", num_envs=2)
        assert_same(trajectory(envs, actions), expected)


def test_missions_are_missions() -> None:
    minigrid = pytest.importorskip("minigrid")
    env = gymcore.make("gymnasium:minigrid:MiniGrid-Empty-5x5-v0")
    mission = env.observation_space["mission"]
    assert isinstance(mission, minigrid.core.mission.MissionSpace)
    assert isinstance(mission, gymcore.Space)
    assert env.reset(seed=1)[0]["mission"] in mission
    assert env.get_wrapper_attr("grid") is env.unwrapped.grid


PROGRAM = """
import functools, warnings
warnings.simplefilter("ignore")
import gymnasium, mo_gymnasium
from mo_gymnasium.wrappers import vector
make = functools.partial(mo_gymnasium.make, "deep-sea-treasure-v0")
envs = vector.MOSyncVectorEnv([make] * 2)
envs = vector.MORecordEpisodeStatistics(envs, gamma=0.9)
print(envs.reset(seed=1))
for k in range(12):
    *results, infos = envs.step([1, k % 4])
    infos.get("episode", {}).pop("t", None)
    print(*results, infos)
print(list(envs.return_queue))
"""


def test_engines_and_wrappers_that_write_buffers(tmp_path: Path) -> None:
    """MO-Gymnasium's subclasses return rewards of several numbers, under gymcore too."""
    pytest.importorskip("mo_gymnasium")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    outputs = [
        subprocess.run(
            [sys.executable, *under, str(program)], capture_output=True, text=True, check=True
        ).stdout
        for under in ((), ("-m", "gymcore.alias"))
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count("episode") >= 2
