"""Untrusted files: checkpoints and JSON of environments with random changes.

Each file loads or raises `InvalidArgument`; loading imports and writes nothing, and memory stays
bounded.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
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

# Replacements for any value in JSON.
VALUES: list[Any] = [
    None, True, -1, 0, 10**9, 1 << 80, 0.5, float("nan"), float("inf"), "", "x", "os:path", [], [1],
    {}, {"env_id": "evil_module:A-v0"}, [[[]]], "evil_module:CartPole-v1", "CartPole-v1", "Taxi-v4",
    "this:CartPole-v1", {"env_id": "this:s"}, "evil_module", "reward * 9 ** 9", "evil_module:A",
]  # fmt: skip
KEYS = [
    "id", "env_id", "env_kwargs", "hidden", "num_envs", "vectorization_mode", "x", "", "level",
    "import_modules", "visualize_directory", "remote", "port", "type", "additional_wrappers",
    "vector_kwargs",
]  # fmt: skip
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
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the current folder, in memory, with a module in it that must not be imported."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = Path(name)
        (folder / "evil_module.py").write_text("raise SystemExit('imported')\n")
        monkeypatch.syspath_prepend(name)
        with contextlib.chdir(name):
            yield folder


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Taxi-v4", "Pendulum-v1"])
def test_checkpoints(rng, rounds, limits, folder: Path, env_id: str) -> None:
    ppo = PPO(env_id, seed=1, num_envs=4, num_steps=8, minibatch=16, epochs=1, hidden=(8,))
    ppo.update()
    ppo.save("good.npz")
    with zipfile.ZipFile("good.npz") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    path, used = folder / "a.npz", 0
    for _ in rounds:
        path.write_bytes(data := changed_checkpoint(rng, entries))
        with limits(data), contextlib.suppress(error.InvalidArgument):
            loaded = PPO.load(path)
            loaded.update()
            loaded.close()
            used += 1
    print(f"{used} checkpoints used")
    assert sorted(os.listdir()) == ["a.npz", "evil_module.py", "good.npz"]


@pytest.mark.filterwarnings("ignore")
def test_json_of_specs(rng, rounds, limits, folder: Path) -> None:
    names = ("CartPole-v1", "FrozenLake-v1", "GymV26Environment-v0", "Blackjack-v1")
    specs = [json.loads(gym.spec(env_id).to_json()) for env_id in names]
    made = 0
    for _ in rounds:
        text = json.dumps(changed_json(rng, specs[rng.integers(len(specs))]))
        if rng.random() < 0.2:
            text = changed_bytes(rng, text.encode()).decode(errors="replace")
        with limits(text), contextlib.suppress(error.InvalidArgument, json.JSONDecodeError):
            spec = EnvSpec.from_json(text)
            # The constructor raises TypeError for its arguments.
            with contextlib.suppress(error.Error, TypeError):
                env = gym.make(spec) if rng.random() < 0.7 else gym.make_vec(spec, 2)
                env.reset(seed=1)
                env.close()
                made += 1
    print(f"{made} environments made")
    assert os.listdir() == ["evil_module.py"]


@pytest.mark.filterwarnings("ignore")
def test_json_of_environments(rng, rounds, limits, folder: Path) -> None:
    described = {
        "environment": "gym", "level": "CartPole-v1", "max_episode_timesteps": 9, "min_value": -9.0,
        "max_value": 9.0, "reward_shaping": "reward + 1.0", "terminal_reward": 0.5, "seed": 1,
        "reward_threshold": 9.0, "drop_states_indices": [1],
    }  # fmt: skip
    made = 0
    for _ in rounds:
        text = json.dumps(changed_json(rng, described))
        (folder / "env.json").write_text(text)
        with limits(text), contextlib.suppress(error.Error):
            environment = Environment.create("env.json")
            environment.reset()
            environment.execute(environment.actions().get("num_values", 2) - 1)
            environment.close()
            made += 1
    print(f"{made} environments made")
    assert sorted(os.listdir()) == ["env.json", "evil_module.py"]
