"""Files of strangers: checkpoints and JSON of environments with random changes.

Each is loaded or raises an `InvalidArgument`; nothing is imported or written for it, and memory
stays bounded.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.environment import Environment
from gymcore.envs.registration import EnvSpec
from gymcore.learn import PPO

pytestmark = pytest.mark.hostile

# Replaces any value of JSON.
VALUES: list[Any] = [
    None, True, -1, 0, 10**9, 1 << 80, 0.5, float("nan"), float("inf"), "", "x", "os:path", [], [1],
    {}, {"env_id": "evil_module:A-v0"}, [[[]]], "evil_module:CartPole-v1", "CartPole-v1", "Taxi-v4",
]  # fmt: skip
KEYS = ["id", "env_id", "env_kwargs", "hidden", "num_envs", "vectorization_mode", "x", ""]
ENTRIES = ["parameters.npy", "adam.npy", "metadata.npy", "lanes.npy", "../x.npy", "x", "curve.npy"]


def changed_json(rng: np.random.Generator, value: Any) -> Any:
    """Return JSON with a random change somewhere."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = str(rng.choice(list(value)))
        kind = rng.integers(5)
        if kind == 0:
            return {k: v for k, v in value.items() if k != key}
        if kind == 1:
            return {**value, str(rng.choice(KEYS)): VALUES[rng.integers(len(VALUES))]}
        return {**value, key: changed_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.5:
        k = int(rng.integers(len(value)))
        return [*value[:k], changed_json(rng, value[k]), *value[k + 1 :]]
    return VALUES[rng.integers(len(VALUES))]


def changed_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    """Return bytes with some of them changed, removed or added."""
    data, size = bytearray(data), max(len(data), 1)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(size))
        kind = rng.integers(3)
        if kind == 0:
            data[at : at + 1] = bytes([int(rng.integers(256))])
        elif kind == 1:
            del data[at : at + int(rng.integers(1, 20))]
        else:
            data[at:at] = rng.bytes(int(rng.integers(1, 20)))
    return bytes(data)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def changed_checkpoint(rng: np.random.Generator, entries: dict[str, bytes]) -> bytes:
    """Return a checkpoint with random changes of its bytes, arrays or metadata."""
    entries, kind = dict(entries), rng.integers(5)
    name = str(rng.choice(list(entries)))
    if kind == 0:
        text = str(np.load(io.BytesIO(entries["metadata.npy"])))
        entries["metadata.npy"] = npy(np.array(json.dumps(changed_json(rng, json.loads(text)))))
    elif kind == 1:
        array = np.load(io.BytesIO(entries[name]))
        array = array.reshape(-1)[: rng.integers(array.size + 1)]
        other = str(rng.choice(["f4", "f8", "i8", "V3"]))
        as_numbers = array.dtype.kind == "f" and rng.random() < 0.5
        entries[name] = npy(array.astype(other) if as_numbers else array)
    elif kind == 2:
        entries[name] = changed_bytes(rng, entries[name][:128]) + entries[name][128:]
    elif kind == 3:
        entries[str(rng.choice(ENTRIES))] = entries.pop(name)
    file = io.BytesIO()
    how = zipfile.ZIP_DEFLATED if rng.random() < 0.1 else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", how) as archive:
        for entry, data in entries.items():
            archive.writestr(entry, data)
    data = file.getvalue()
    return changed_bytes(rng, data) if kind == 4 else data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module in it that nobody may import."""
    (tmp_path / "evil_module.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Taxi-v4", "Pendulum-v1"])
def test_checkpoints(rng, rounds, folder: Path, env_id: str) -> None:
    ppo = PPO(env_id, seed=1, num_envs=4, num_steps=8, minibatch=16, epochs=1, hidden=(8,))
    ppo.update()
    ppo.save("good.npz")
    with zipfile.ZipFile("good.npz") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    path, before, modules = folder / "a.npz", None, set(sys.modules)
    for _ in rounds:
        path.write_bytes(changed_checkpoint(rng, entries))
        try:
            loaded = PPO.load(path)
        except error.InvalidArgument:
            pass
        else:
            loaded.update()
            loaded.close()
        before = before or peak_megabytes()
        assert peak_megabytes() < before + 256
    assert sorted(os.listdir()) == ["a.npz", "evil_module.py", "good.npz"]
    assert "evil_module" not in sys.modules, set(sys.modules) - modules


@pytest.mark.filterwarnings("ignore")
def test_json_of_specs_and_environments(rng, rounds, folder: Path) -> None:
    specs = [
        json.loads(gym.spec(env_id).to_json())
        for env_id in ("CartPole-v1", "FrozenLake-v1", "GymV26Environment-v0")
    ]
    described = {"environment": "gym", "level": "CartPole-v1", "max_episode_timesteps": 9}
    for _ in rounds:
        text = json.dumps(changed_json(rng, specs[rng.integers(len(specs))]))
        if rng.random() < 0.2:
            text = changed_bytes(rng, text.encode()).decode(errors="replace")
        with contextlib.suppress(error.InvalidArgument, json.JSONDecodeError):
            EnvSpec.from_json(text)
        (folder / "env.json").write_text(json.dumps(changed_json(rng, described)))
        try:
            environment = Environment.create("env.json")
        except (error.Error, TypeError):  # of the environment's constructor, for its arguments
            pass
        else:
            environment.reset()
            environment.close()
    assert sorted(os.listdir()) == ["env.json", "evil_module.py"]
    assert "evil_module" not in sys.modules
