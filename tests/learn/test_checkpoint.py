"""Checkpoint files: their contents are checked before use, and nothing is imported."""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

import gymcore as gym
from gymcore import error
from gymcore.environment import Environment
from gymcore.learn import PPO
from tests.learn.reference import Line

SMALL = {"num_envs": 4, "num_steps": 16, "minibatch": 32, "epochs": 2, "hidden": (8,)}
NOT_A_CHECKPOINT = "not a checkpoint of gymcore train: "


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a checkpoint."""
    ppo = PPO("CartPole-v1", seed=1, **SMALL)
    ppo.update()
    ppo.save(tmp_path / "a.npz")
    return tmp_path / "a.npz"


def changed(path: Path, arrays: dict[str, Any] | None = None, **metadata: Any) -> Path:
    """Write a variant of a checkpoint with other arrays (None: without it) and other metadata."""
    with np.load(path) as file:
        content = {**file, **(arrays or {})}
    if metadata:
        described = {**json.loads(str(content["metadata"])), **metadata}
        content["metadata"] = np.array(json.dumps(described))
    other = path.with_name("changed.npz")
    np.savez(other, **{name: array for name, array in content.items() if array is not None})
    return other


def test_actions_of_an_older_file_keep_their_scale(tmp_path: Path) -> None:
    """Older files lack the setting: their networks were trained with the range of the action."""
    path, old = tmp_path / "a.npz", PPO("Pendulum-v1", seed=1, **SMALL, scale_actions=False)
    old.save(path)
    with np.load(path) as file:
        settings = json.loads(str(file["metadata"]))["settings"]
    assert not settings.pop("scale_actions")
    ppo = PPO.load(changed(path, settings=settings))
    observations = np.full((3, 3), 0.5, np.float32)
    assert not ppo.settings.scale_actions and ppo.act(observations) == pytest.approx(
        old.act(observations)
    )


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a module that records when a program imports it."""
    (tmp_path / "evil_module.py").write_text("open('imported', 'w').close()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return "evil_module"


def test_no_module_is_imported_for_a_file(path: Path, evil: str) -> None:
    old = {"env_id": f"{evil}:CartPole-v1"}
    for metadata in (
        {"id": f"{evil}:Other-v1"},
        {"id": f"gymnasium:{evil}:CartPole-v1"},
        {"id": "GymV26Environment-v0", "env_kwargs": old},
    ):
        with pytest.raises(error.InvalidArgument, match=NOT_A_CHECKPOINT):
            PPO.load(changed(path, **metadata))
    text = gym.spec("GymV26Environment-v0").to_json()
    described = {**json.loads(text), "kwargs": old}
    with pytest.raises(error.InvalidArgument, match="env_id: expected an id without a module"):
        gym.envs.registration.EnvSpec.from_json(json.dumps(described))
    for described in (
        {"environment": "gym", "level": "GymV26Environment-v0", **old},
        {"environment": "GymV26Environment-v0", **old},
    ):
        Path("env.json").write_text(json.dumps(described))
        with pytest.raises(error.InvalidArgument, match="env_id: expected an id without a module"):
            Environment.create("env.json")
    assert evil not in sys.modules and not os.path.exists("imported")


def test_a_file_names_no_folder_to_write_to(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("env.json").write_text(
        json.dumps({"environment": "gym", "level": "CartPole-v1", "visualize_directory": "made"})
    )
    with pytest.raises(error.InvalidArgument, match="visualize_directory: expected as an argument"):
        Environment.create("env.json")
    assert os.listdir() == ["env.json"]


def test_ids_with_a_module_that_the_program_has_imported(tmp_path: Path) -> None:
    gym.register("Line-v0", "tests.learn.reference:Line", max_episode_steps=50)
    try:
        ppo = PPO("tests.learn.reference:Line-v0", seed=1, **SMALL)
        ppo.save(tmp_path / "a.npz")
        assert PPO.load(tmp_path / "a.npz").env_id == "tests.learn.reference:Line-v0"
    finally:
        del gym.registry["Line-v0"]
    with pytest.raises(error.InvalidArgument, match="first import the module that registers it"):
        PPO.load(tmp_path / "a.npz")


def test_compressed_entries_are_refused_before_they_expand(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    with pytest.raises(error.InvalidArgument, match="expected an entry that is not compressed"):
        PPO.load(path)


@pytest.mark.parametrize("claimed", [2**31, 2**33, 2**62], ids=["zip", "zip64", "huge"])
def test_sizes_that_a_file_only_claims(path: Path, claimed: int) -> None:
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    header = io.BytesIO()
    npy.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": ((claimed - 128) // 4,)}
    )
    content["parameters.npy"] = header.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(content, key=lambda name: name != "parameters.npy"):
            archive.writestr(name, content[name])
        archive.getinfo("parameters.npy").file_size = claimed
    with pytest.raises(error.InvalidArgument, match="parameters: expected entries that are small"):
        PPO.load(path)


def test_other_shapes_of_the_same_size(tmp_path: Path) -> None:
    gym.register("Grid-v0", lambda **kwargs: grid((2, 3)))
    try:
        PPO("Grid-v0", seed=1, **SMALL).save(tmp_path / "a.npz")
        PPO.load(tmp_path / "a.npz")
        PPO.load(changed(tmp_path / "a.npz", shapes=None))  # written by an earlier version
        del gym.registry["Grid-v0"]
        gym.register("Grid-v0", lambda **kwargs: grid((3, 2)))
        with pytest.raises(error.InvalidArgument, match=r"shapes: expected \[\[3, 2\], .*\[\[2, 3"):
            PPO.load(tmp_path / "a.npz")
    finally:
        del gym.registry["Grid-v0"]


def grid(shape: tuple[int, ...]) -> gym.Env:
    env = Line()
    env.observation_space = gym.spaces.Box(-1, 1, shape)
    env._observation = lambda: np.zeros(shape, np.float32)
    return env


def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.npz")
    with pytest.raises(error.InvalidArgument, match="expected a regular file"):
        PPO.load(tmp_path / "a.npz")


def with_nan(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flat[-1] = np.nan
    return array


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("parameters", with_nan, "parameters: expected finite numbers"),
        ("adam", with_nan, "adam: expected finite numbers"),
        ("adam", lambda array: array - 1, "expected variances and squares of at least 0"),
        ("moments_0", with_nan, "moments_0: expected finite numbers"),
        ("gain", with_nan, "gain: expected finite numbers"),
        ("recent", lambda array: np.zeros((3, 3)), "recent: expected finite numbers of float64 in"),
        ("parameters", lambda array: array[:-1], "parameters: expected"),
        ("parameters", lambda array: array.astype(np.float64), "parameters: expected finite num"),
        ("gain", lambda array: array[:2], "gain: expected shape"),
        ("observations", lambda array: array[:, :2], "observations: expected shape"),
        ("gain", lambda array: None, "expected all or none of"),
        ("adam", lambda array: None, "expected the arrays adam"),
        ("lanes", lambda array: np.zeros(4), ""),
        ("other", lambda array: np.zeros(4), "expected each array of a checkpoint once"),
        ("metadata", lambda array: np.array("[" * 100_000), ""),
        ("metadata", lambda array: np.array(f"{'9' * 5000}"), ""),
    ],
)
def test_arrays_that_do_not_belong_there(path: Path, name: str, make, message: str) -> None:
    with np.load(path) as file:
        array = file.get(name, np.empty(0))
    with pytest.raises(error.InvalidArgument, match=f"{NOT_A_CHECKPOINT}.*{message}"):
        PPO.load(changed(path, {name: make(array)}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adam_steps": "x"}, "adam_steps: expected an integer"),
        ({"adam_steps": -1}, "adam_steps: expected at least 0"),
        ({"steps": 1 << 80}, "steps: expected at most"),
        ({"random": {"bit_generator": "PCG64"}}, ""),
        # It would draw only zeros, and wait forever for another number.
        (
            {"random": np.random.PCG64(1).state | {"state": {"state": 0, "inc": 0}}},
            "expected a valid state",
        ),
        ({"random": {"bit_generator": "PCG64", "state": {"state": 1 << 200, "inc": 1}}}, ""),
        ({"id": 5}, "id: expected a registered environment, got 5"),
        ({"id": "Nope-v0"}, "id: expected a registered environment"),
        ({"env_kwargs": [1]}, "env_kwargs: expected a dict"),
        ({"env_kwargs": {"vectorization_mode": "remote"}}, "env_kwargs: expected arguments of the"),
        ({"env_kwargs": {"nope": 1}}, "nope"),
        ({"settings": {"num_envs": 10**9}}, "num_envs: expected at most 1024, got 1000000000"),
        ({"settings": {"num_steps": 10**9}}, r"num_envs \* num_steps: expected at most 1048576"),
        ({"settings": {"epochs": 10**9}}, "epochs: expected at most 1000, got 1000000000"),
        (
            {"settings": {"minibatch": 2**20, "num_steps": 2**15}},
            r"minibatch \* hidden: expected at most 4194304, got 134217728",
        ),
        ({"settings": {"hidden": [10**6, 10**6]}}, r"minibatch \* hidden: expected at most"),
        ({"settings": {"hidden": [10**3, 10**3]}}, "parameters: expected"),
        ({"settings": {"hidden": {}}}, "hidden"),
        ({"settings": {"rate": 1}}, "rate"),
        ({"version": [[1]]}, "expected version 1"),
    ],
)
def test_metadata_out_of_range(path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(error.InvalidArgument, match=f"{NOT_A_CHECKPOINT}.*{message}"):
        PPO.load(changed(path, **changes))


def test_observations_of_a_rollout_are_bounded(tmp_path: Path) -> None:
    PPO("Taxi-v4", seed=1, **SMALL).save(tmp_path / "a.npz")
    path = changed(tmp_path / "a.npz", settings={"num_envs": 4, "num_steps": 2**17})
    with pytest.raises(error.InvalidArgument, match="bytes of a rollout: expected at most 26843"):
        PPO.load(path)


def test_a_program_may_ask_for_more_lanes_than_a_file(tmp_path: Path) -> None:
    settings = {**SMALL, "num_envs": 1025, "num_steps": 1}
    PPO("CartPole-v1", seed=1, **settings).save(tmp_path / "a.npz")
    with pytest.raises(error.InvalidArgument, match="num_envs: expected at most 1024"):
        PPO.load(tmp_path / "a.npz")
    assert PPO.load(tmp_path / "a.npz", num_envs=1025).envs.num_envs == 1025
