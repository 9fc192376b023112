"""Data sets in Minari's format, read by Minari and compared with lists of the steps."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error, spaces
from gymcore.base.nested import map_leaves, rows_at
from gymcore.learn import DatasetWriter
from gymcore.specs import EnvSpec
from gymcore.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from tests.pairwise import pairwise

pytest.importorskip("h5py", reason="h5py is not installed")

MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]
BOX = spaces.Box(-1, 1, (2,), np.float32)
OBSERVATIONS = spaces.Dict(
    box=BOX,
    pair=spaces.Tuple((spaces.Discrete(3, start=1), spaces.MultiBinary((2, 2)), spaces.Tuple(()))),
    text=spaces.Text(6, min_length=0, charset="aé "),
    empty=spaces.Box(0, 1, (0,)),
    flag=spaces.Box(0, 1, (2,), np.bool_),
)
ACTIONS = spaces.Tuple((spaces.MultiDiscrete([2, 3]), spaces.Dict(x=BOX), spaces.Discrete(2)))


class Samples(gymcore.Env):
    """Environment with random observations whose episodes last 2, 3, ... steps; some truncate."""

    def __init__(self, observation_space: Any = OBSERVATIONS, action_space: Any = ACTIONS) -> None:
        self.observation_space, self.action_space = observation_space, action_space
        self.length = 1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
            self.length = 1 + seed % 3
        self.length, self.t = self.length + 1, 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        self.t += 1
        ends = self.t == self.length
        reward = float(self.np_random.random())
        return self.observation_space.sample(), reward, ends, ends and self.t % 2 == 0, {}


def make(engine: str, mode: AutoresetMode) -> Any:
    if engine == "native":
        return gymcore.make_vec("CartPole-v1", 3, vector_kwargs={"autoreset_mode": mode})
    cls = SyncVectorEnv if engine == "sync" else AsyncVectorEnv
    return cls([Samples] * 3, autoreset_mode=mode)


def minari_dataset(path: Path) -> Any:
    minari = pytest.importorskip("minari", reason="minari is not installed")
    return minari.MinariDataset(path / "data")


def lane_of(batch: Any, lane: int) -> Any:
    return map_leaves(lambda leaf: leaf[0], rows_at(batch, np.array([lane])))


def collect(envs: Any, writer: DatasetWriter, steps: int) -> list[dict[str, Any]]:
    """Step with random actions; return the episodes, in the order of their ends, as lists."""
    mode = envs.metadata["autoreset_mode"]
    observations, _ = envs.reset(seed=5)
    writer.reset(observations)
    envs.action_space.seed(5)

    def begin(lane: int) -> dict[str, Any]:
        observation = lane_of(observations, lane)
        return {"observations": [observation], "actions": [], "rewards": [], "ends": None}

    current: list[Any] = [begin(lane) for lane in range(envs.num_envs)]
    finished = []
    for _ in range(steps):
        actions = envs.action_space.sample()
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        writer.add(actions, observations, rewards, terminated, truncated, infos)
        for lane, episode in enumerate(current):
            if episode is None:  # this step only reset the lane
                current[lane] = begin(lane)
                continue
            ends = bool(terminated[lane]), bool(truncated[lane])
            after = observations
            if any(ends) and mode is AutoresetMode.SAME_STEP:
                after = infos["final_obs"]
            episode["observations"].append(lane_of(after, lane))
            episode["actions"].append(lane_of(actions, lane))
            episode["rewards"].append(rewards[lane])
            if any(ends):
                episode["ends"] = ends
                finished.append(episode)
                current[lane] = begin(lane) if mode is AutoresetMode.SAME_STEP else None
        if mode is AutoresetMode.DISABLED and None in current:
            mask = terminated | truncated
            observations, _ = envs.reset(options={"reset_mask": mask})
            writer.reset(observations, mask)
            for lane in np.flatnonzero(mask):
                current[lane] = begin(lane)
    for episode in filter(None, current):
        episode["ends"] = False, True
    return finished + [episode for episode in current if episode and episode["rewards"]]


def leaf_of(values: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        values = values[key]
    return values


def assert_same_values(space: Any, found: Any, expected: list[Any], path: tuple = ()) -> None:
    """Compare what Minari read of a space with a list of elements."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        for key, part in space._items():
            assert_same_values(part, found, expected, (*path, key))
        return
    values = [leaf_of(one, path) for one in expected]
    if isinstance(space, spaces.Text):
        assert leaf_of(found, path) == values
        return
    array = leaf_of(found, path)
    assert array.dtype == space.dtype and array.shape == (len(values), *space.shape)
    np.testing.assert_array_equal(array, np.array(values))


CASES = pairwise(["native", "sync", "async"], MODES, [1, 1500, 2**20])


@pytest.mark.slow
@pytest.mark.parametrize(
    "engine, mode, buffer_bytes",
    CASES,
    ids=[f"{case[0]}-{case[1].value}-{case[2]}" for case in CASES],
)
def test_minari_reads_the_episodes(engine, mode, tmp_path_factory, buffer_bytes):
    path = tmp_path_factory.mktemp("data") / "new" / "samples-v0"
    envs = make(engine, mode)
    with DatasetWriter(path, envs, buffer_bytes=buffer_bytes) as writer:
        expected = collect(envs, writer, 40)
        assert not path.exists()
    envs.close()
    dataset = minari_dataset(path)
    assert dataset.total_episodes == writer.total_episodes == len(expected)
    steps = sum(len(episode["rewards"]) for episode in expected)
    assert dataset.total_steps == writer.total_steps == steps
    assert sum(one.stat().st_size for one in path.rglob("*")) > 0
    for number, (found, episode) in enumerate(zip(dataset, expected, strict=True)):
        assert found.id == number and found.infos == {}
        for kind in ("observation", "action"):
            space = getattr(envs, f"single_{kind}_space")
            assert_same_values(space, getattr(found, f"{kind}s"), episode[f"{kind}s"])
        np.testing.assert_array_equal(found.rewards, episode["rewards"])
        assert not found.terminations[:-1].any() and not found.truncations[:-1].any()
        assert (found.terminations[-1], found.truncations[-1]) == episode["ends"]


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-np.inf, np.array([1, np.inf]), dtype=np.float64),
        spaces.Box(0, 255, (8, 8, 3), np.uint8),
        spaces.Box(0, 1, (), np.float16),
        spaces.Discrete(4, start=-2),
        spaces.MultiDiscrete([[2, 3], [4, 5]]),
        spaces.MultiDiscrete([2, 3], start=[1, -1]),
        spaces.MultiBinary(3),
        spaces.MultiBinary((2, 1)),
        spaces.Text(4, charset="äb"),
        spaces.Tuple((spaces.Dict({}), spaces.Dict(a=spaces.Discrete(2)))),
        OBSERVATIONS,
    ],
)
def test_minari_reads_the_space(tmp_path_factory, space):
    gymnasium = pytest.importorskip("gymcore.interop.gymnasium", reason="gymnasium is missing")
    path = tmp_path_factory.mktemp("data") / "space-v3"
    envs = SyncVectorEnv([lambda: Samples(space, spaces.Discrete(2))])
    with DatasetWriter(path, envs, metadata={"algorithm_name": "none"}) as writer:
        collect(envs, writer, 9)
    dataset = minari_dataset(path)
    assert dataset.observation_space == gymnasium.to_gymnasium_space(space)
    assert dataset.action_space == gymnasium.to_gymnasium_space(spaces.Discrete(2))
    assert dataset.storage.metadata["algorithm_name"] == "none"
    assert len([*dataset]) == writer.total_episodes == 2


@pytest.mark.parametrize(
    "space",
    [
        spaces.Graph(BOX, None),
        spaces.Sequence(BOX),
        spaces.OneOf([BOX]),
        spaces.Dict({"a/b": BOX}),
        spaces.Dict({"": BOX}),
        spaces.Dict({1: BOX}),
        spaces.Text(3, charset="a\0"),
    ],
)
def test_a_space_that_minari_cannot_describe_is_refused(tmp_path_factory, space):
    path = tmp_path_factory.mktemp("data") / "space-v0"
    envs = SyncVectorEnv([lambda: Samples(space, spaces.Discrete(2))])
    with pytest.raises(error.ArgumentTypeError, match="observations: Minari has no format"):
        DatasetWriter(path, envs)
    assert list(path.parent.iterdir()) == []


def test_load_dataset_finds_it_and_makes_the_environment(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari", reason="minari is not installed")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    envs = gymcore.make_vec("CartPole-v1", 2, max_episode_steps=7)
    with DatasetWriter(tmp_path / "cart" / "pole" / "random-v2", envs) as writer:
        collect(envs, writer, 20)
    assert writer.id == "cart/pole/random-v2"
    dataset = minari.load_dataset(writer.id)
    assert dataset.total_steps == writer.total_steps
    env = dataset.recover_environment()
    env.reset(seed=0)
    ends = [env.step(t % 2)[3] for t in range(7)]
    assert ends == [False] * 6 + [True]
    assert env.unwrapped.spec.id == "gymcore/CartPole-v1"


def test_an_environment_made_by_a_function_is_recovered(tmp_path, monkeypatch):
    spec = EnvSpec("Samples-v0", entry_point=lambda low: Samples(spaces.Box(low, 1, (2,))))
    monkeypatch.setitem(gymcore.registry, "Samples-v0", spec)
    envs = gymcore.make_vec("Samples-v0", 2, low=-3)
    with DatasetWriter(tmp_path / "a-v0", envs) as writer:
        collect(envs, writer, 5)
    env = minari_dataset(tmp_path / "a-v0").recover_environment()
    assert env.observation_space.low.tolist() == [-3, -3]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_a_reset_truncates_the_episodes_of_its_lanes(mode, tmp_path):
    envs = gymcore.make_vec("Pendulum-v1", 3, vector_kwargs={"autoreset_mode": mode})
    with DatasetWriter(tmp_path / "a-v0", envs) as writer:
        observations, _ = envs.reset(seed=1)
        writer.reset(observations)
        writer.reset(observations)  # no steps yet
        seen = [observations]
        for t in range(6):
            actions = np.full((3, 1), t / 10, np.float32)
            results = envs.step(actions)
            writer.add(actions, *results)
            seen.append(results[0])
            if t == 3:
                mask = np.array([True, False, True])
                seen.append(envs.reset(options={"reset_mask": mask})[0])
                writer.reset(seen[-1], mask)
    found = list(minari_dataset(tmp_path / "a-v0"))
    assert [len(episode) for episode in found] == [4, 4, 2, 6, 2]
    assert all(episode.truncations[-1] and not episode.terminations[-1] for episode in found)
    np.testing.assert_array_equal(found[1].observations, [row[2] for row in seen[:5]])
    np.testing.assert_array_equal(found[4].observations, [row[2] for row in seen[5:]])
    np.testing.assert_array_equal(found[3].observations[4:], [row[1] for row in seen[5:]][:3])


def test_a_reset_may_replace_the_reset_step_of_a_lane(tmp_path):
    envs = gymcore.make_vec("Pendulum-v1", 2, max_episode_steps=3)  # next-step autoreset
    with DatasetWriter(tmp_path / "a-v0", envs) as writer:
        for _ in range(2):
            writer.reset(envs.reset(seed=1)[0])
            for _ in range(3):
                actions = np.zeros((2, 1), np.float32)
                writer.add(actions, *envs.step(actions))
    assert (writer.total_episodes, writer.total_steps) == (4, 12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actions": np.zeros((2, 1), np.int64)}, r"actions: expected int64 \[2\]"),
        ({"actions": np.zeros(2)}, r"actions: expected int64 \[2\], got float64"),
        ({"observations": np.zeros(4)}, "observations: expected float32"),
        ({"observations": None}, "observations: expected float32"),
        ({"rewards": 1.0}, r"rewards: expected float64 \[2\]"),
        ({"terminated": [1, 0]}, r"terminated: expected bool \[2\], got int64"),
        ({"truncated": [True]}, r"truncated: expected bool \[2\]"),
        ({"terminated": [True, False]}, "infos: expected final_obs"),
    ],
)
def test_a_wrong_array_changes_nothing(tmp_path_factory, change, message):
    mode = {"autoreset_mode": AutoresetMode.SAME_STEP}
    envs = gymcore.make_vec("CartPole-v1", 2, vector_kwargs=mode)
    with DatasetWriter(tmp_path_factory.mktemp("data") / "a-v0", envs) as writer:
        step = {
            "actions": np.zeros(2, np.int64), "observations": envs.reset(seed=1)[0],
            "rewards": np.ones(2), "terminated": np.zeros(2, bool), "truncated": np.zeros(2, bool),
            "infos": {},
        }  # fmt: skip
        with pytest.raises(error.ResetNeeded, match="before add"):
            writer.add(**step)
        writer.reset(step["observations"])
        writer.add(**step)
        with pytest.raises(error.InvalidArgument, match=message):
            writer.add(**{**step, **change})
        with pytest.raises(error.InvalidArgument, match="mask"):
            writer.reset(step["observations"], np.ones(3, bool))
        with pytest.raises(error.InvalidArgument, match="observations: expected"):
            writer.reset(np.ones((2, 3)))
    assert (writer.total_episodes, writer.total_steps) == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "random"}, error.InvalidArgument),
        ({"path": "random-v1x"}, error.InvalidArgument),
        ({"path": "taken-v0"}, FileExistsError),
        ({"buffer_bytes": 0}, error.InvalidArgument),
    ],
)
def test_wrong_arguments(tmp_path_factory, arguments, expected):
    folder = tmp_path_factory.mktemp("data")
    (folder / "taken-v0").mkdir()
    arguments = {**arguments, "path": folder / arguments.get("path", "a-v0")}
    with pytest.raises(expected, match=r"random|exists already|buffer_bytes"):
        DatasetWriter(envs=gymcore.make_vec("CartPole-v1", 2), **arguments)
    assert [path.name for path in folder.iterdir()] == ["taken-v0"]


def test_missing_h5py_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(error.DependencyNotInstalled, match="pip install h5py"):
        DatasetWriter(tmp_path / "a-v0", gymcore.make_vec("CartPole-v1", 2))
    assert list(tmp_path.iterdir()) == []


# Interrupted writes


def test_an_exception_in_the_block_keeps_the_steps(tmp_path):
    envs = gymcore.make_vec("CartPole-v1", 3)
    with pytest.raises(KeyError), DatasetWriter(tmp_path / "a-v0", envs) as writer:
        collect(envs, writer, 25)
        raise KeyError
    writer.close()  # has no effect
    with pytest.raises(error.Error, match="expected an open data set"):
        writer.add(*[None] * 6)
    with pytest.raises(error.Error, match="expected an open data set"):
        writer.reset(envs.reset()[0])
    assert minari_dataset(tmp_path / "a-v0").total_steps == writer.total_steps > 60


def test_no_steps_make_no_data_set(tmp_path):
    envs = gymcore.make_vec("CartPole-v1", 3)
    with DatasetWriter(tmp_path / "a-v0", envs) as writer:
        writer.reset(envs.reset()[0])
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_closed_is_no_data_set(tmp_path):
    envs = gymcore.make_vec("CartPole-v1", 3)
    writer = DatasetWriter(tmp_path / "a-v0", envs, buffer_bytes=1)
    collect(envs, writer, 60)
    assert writer.total_episodes > 2
    (part,) = tmp_path.iterdir()
    assert part.name.startswith(".a-v0.") and part.suffix == ".part"
    assert [path.name for path in (part / "data").iterdir()] == ["main_data.hdf5"]
    writer.close()
    assert [path.name for path in tmp_path.iterdir()] == ["a-v0"]


def test_whole_episodes_survive_an_error_of_the_file(tmp_path, monkeypatch):
    envs = gymcore.make_vec("CartPole-v1", 3)
    writer = DatasetWriter(tmp_path / "a-v0", envs)
    expected = collect(envs, writer, 60)
    write, numbers = writer._file.write, []

    def fail_at_the_third(number: int, *arguments: Any) -> int:
        numbers.append(number)
        length = write(number, *arguments)
        if number == 2:
            raise OSError("no space left")
        return length

    monkeypatch.setattr(writer._file, "write", fail_at_the_third)
    with pytest.raises(OSError, match="no space left"):
        writer._free_rows()
    with pytest.raises(error.Error, match="expected an open data set"):
        writer.reserve(1)
    writer.close()
    dataset = minari_dataset(tmp_path / "a-v0")
    assert numbers == [0, 1, 2] and len(expected) > 3
    assert [len(episode) for episode in dataset] == [len(one["rewards"]) for one in expected[:2]]


@pytest.mark.slow
def test_the_memory_does_not_grow(tmp_path):
    def peak(steps: int) -> int:
        envs = gymcore.make_vec("Acrobot-v1", 4, max_episode_steps=10**6)
        with DatasetWriter(tmp_path / f"a-v{steps}", envs, buffer_bytes=20_000) as writer:
            writer.reset(envs.reset(seed=1)[0])
            tracemalloc.start()
            for _ in range(steps):
                actions = np.ones(4, np.int64)  # no torque: the episode never ends
                writer.add(actions, *envs.step(actions))
            found = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert writer.total_episodes == 4
        return found

    few = peak(500)  # all of these steps take 70 kB
    assert peak(2000) < few + 50_000


@pytest.mark.slow
def test_episodes_leave_no_objects_behind(tmp_path):
    envs = gymcore.make_vec("CartPole-v1", 4, max_episode_steps=1)
    counts = []
    with DatasetWriter(tmp_path / "a-v0", envs, buffer_bytes=2000) as writer:
        writer.reset(envs.reset(seed=1)[0])
        for _ in range(2):
            for _ in range(200):
                actions = np.ones(4, np.int64)
                writer.add(actions, *envs.step(actions))
            gc.collect()
            counts.append(len(gc.get_objects()))
    assert writer.total_episodes == 800 and counts[1] < counts[0] + 100


def test_the_library_does_not_keep_the_names_of_episodes(tmp_path):
    """Before version 1.8, whose files have superblock 2, HDF5 loads all names of a group."""
    import h5py

    envs = gymcore.make_vec("CartPole-v1", 2)
    with DatasetWriter(tmp_path / "a-v0", envs) as writer:
        collect(envs, writer, 5)
    with h5py.File(tmp_path / "a-v0/data/main_data.hdf5") as file:
        assert file.id.get_create_plist().get_version()[0] >= 2
