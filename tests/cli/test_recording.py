from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gymcore import spaces
from gymcore.base.nested import named_leaves
from gymcore.base.new_file import check_target
from gymcore.cli import recording
from gymcore.cli.errors import CliError, file_errors
from gymcore.cli.recording import Recording, check_disk, save
from gymcore.vector.utils import batch_space


def batch_of(observation_space, action_space, num_envs):
    """Return the attributes of a vector environment that a recording uses."""
    return SimpleNamespace(
        num_envs=num_envs,
        single_observation_space=observation_space,
        single_action_space=action_space,
        observation_space=batch_space(observation_space, num_envs),
        action_space=batch_space(action_space, num_envs),
    )


CARTPOLE = (spaces.Box(-1, 1, (4,), np.float32), spaces.Discrete(2))


def test_arrays_have_the_shapes_and_dtypes_of_the_spaces():
    kept = Recording(batch_of(*CARTPOLE, 3), steps=10)
    steps = kept.steps
    assert (steps.observations.shape, steps.observations.dtype) == ((11, 3, 4), np.float32)
    assert (kept.actions.shape, kept.actions.dtype) == ((10, 3), np.int64)
    assert steps.rewards.shape == (10, 3) and steps.rewards.dtype == np.float64
    assert steps.terminated.dtype == steps.truncated.dtype == np.bool_


def test_the_prediction_covers_what_is_allocated_without_exaggerating():
    kept = Recording(batch_of(*CARTPOLE, 64), steps=1000)
    allocated = sum(array.nbytes for array in (*kept.steps, kept.actions))
    # Final observations and the mask of resetting steps are stored in addition.
    assert allocated < kept.predicted_bytes < 1.2 * allocated


def test_leaves_of_spaces_and_of_their_samples_have_the_same_names():
    space = spaces.Dict(
        {"b": spaces.Tuple((spaces.Discrete(2), spaces.Box(0, 1, (2,)))), "a": spaces.Discrete(3)}
    )
    assert list(named_leaves(space)) == [".a", ".b.0", ".b.1"]
    assert sorted(named_leaves(space.sample())) == sorted(named_leaves(space))
    assert list(named_leaves(np.zeros(3))) == [""]
    assert named_leaves(space)[".b.0"] == spaces.Discrete(2)


def test_final_observations_grow_as_needed_and_keep_their_order():
    kept = Recording(batch_of(*CARTPOLE, 5), steps=100)
    rows, lanes = [], []
    for t in range(100):
        ended = np.flatnonzero((np.arange(5) + t) % 7 == 0)
        kept.add_finals(t, ended, np.full((len(ended), 4), t, np.float32))
        rows += [t] * len(ended)
        lanes += ended.tolist()
    kept.rows = 100
    kept.steps.terminated[:] = kept.steps.truncated[:] = False
    found = kept.arrays(next_step=False, metadata={})
    np.testing.assert_array_equal(found["final_indices"], np.stack([rows, lanes], axis=1))
    np.testing.assert_array_equal(found["final_observations"][:, 0], rows)
    assert found["final_observations"].dtype == np.float32


def test_blocks_of_final_observations_may_be_added_at_once():
    kept = Recording(batch_of(*CARTPOLE, 5), steps=4)
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    kept.add_finals(np.array([1, 1, 3]), np.array([0, 4, 2]), values)
    kept.rows = 4
    found = kept.arrays(next_step=False, metadata={})
    np.testing.assert_array_equal(found["final_indices"], [[1, 0], [1, 4], [3, 2]])
    np.testing.assert_array_equal(found["final_observations"], values)


def test_a_run_without_an_ended_episode_has_empty_finals_of_the_right_shape():
    kept = Recording(batch_of(*CARTPOLE, 5), steps=4)
    kept.steps.terminated[:] = kept.steps.truncated[:] = False
    kept.rows = 4
    for next_step in (False, True):
        found = kept.arrays(next_step=next_step, metadata={})
        assert found["final_observations"].shape == (0, 4)
        assert found["final_indices"].shape == (0, 2)
        assert found["final_indices"].dtype == np.int64


def test_only_the_rows_that_were_filled_come_out():
    kept = Recording(batch_of(*CARTPOLE, 2), steps=10)
    kept.steps.terminated[:] = kept.steps.truncated[:] = False
    for row in range(4):
        kept.steps.observations[row] = row
        kept.actions[row] = [row % 2, 1]
    kept.rows = 3
    found = kept.arrays(next_step=True, metadata={"id": "x"})
    assert found["observations"][:, 0, 0].tolist() == [0, 1, 2]
    assert found["last_observations"][0].tolist() == [3, 3, 3, 3]
    assert found["actions"].tolist() == [[0, 1], [1, 1], [0, 1]]
    assert str(found["metadata"]) == '{"id": "x"}'


@pytest.mark.parametrize(
    "space",
    [spaces.Sequence(spaces.Text(4)), spaces.Dict(a=spaces.Graph(spaces.Discrete(2), None))],
)
def test_spaces_without_arrays_are_refused_by_name(space):
    with pytest.raises(
        CliError,
        match=r"--out: expected an .* space whose elements are arrays or texts, got .*(Seq|Graph)",
    ):
        Recording(batch_of(space, spaces.Discrete(2), 3), 10)


def test_what_does_not_fit_is_refused_with_a_number_of_steps_that_does(monkeypatch):
    envs = batch_of(*CARTPOLE, 1000)
    monkeypatch.setattr(recording, "available_memory", lambda: 2**20)
    Recording(envs, 10)
    with pytest.raises(CliError, match="needed for 1,000,000 steps, 1 MiB free; --num") as caught:
        Recording(envs, 1000)
    fits = int(str(caught.value).split("--num-steps ")[1].split(" ")[0])
    Recording(envs, fits // 1000)
    monkeypatch.setattr(recording, "available_memory", lambda: None)
    Recording(envs, 1000)


def test_an_allocation_that_fails_all_the_same_is_told(monkeypatch):
    def full(*_, **__):
        raise MemoryError

    envs = batch_of(*CARTPOLE, 3)
    monkeypatch.setattr(np, "empty", full)
    with pytest.raises(CliError, match="of memory"):
        Recording(envs, 10)


def check(path: Path, *, overwrite: bool) -> None:
    with file_errors("--out", path):
        check_target(path, overwrite=overwrite)


ARRAYS = {"a": np.arange(6).reshape(2, 3), "b": np.array("text")}


def test_the_file_holds_the_arrays_and_loads_without_pickle(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    size = save(path, ARRAYS, overwrite=False)
    assert size == path.stat().st_size
    with np.load(path, allow_pickle=False) as data:
        assert sorted(data) == ["a", "b"]
        np.testing.assert_array_equal(data["a"], ARRAYS["a"])
        assert str(data["b"]) == "text"
    assert os.listdir(tmp_path) == ["data.npz"]


def test_the_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    save(tmp_path / "data.npz", ARRAYS, overwrite=False)
    (tmp_path / "other").write_text("")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_an_existing_file_survives_unless_overwriting_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    path.write_bytes(b"precious")
    with pytest.raises(CliError, match="exists already; --overwrite replaces it"):
        check(path, overwrite=False)
    with pytest.raises(CliError, match="exists already"):
        save(path, ARRAYS, overwrite=False)
    assert path.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == ["data.npz"]
    check(path, overwrite=True)
    save(path, ARRAYS, overwrite=True)
    with np.load(path) as data:
        assert sorted(data) == ["a", "b"]


def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "data.npz"
    path.write_bytes(b"precious")

    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(CliError, match="No space left on device"):
        save(path, ARRAYS, overwrite=True)
    assert path.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == ["data.npz"]


def test_an_interrupt_while_writing_leaves_nothing_behind(tmp_path: Path, monkeypatch) -> None:
    def interrupted(file, **arrays):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "data.npz", ARRAYS, overwrite=False)
    assert os.listdir(tmp_path) == []


def test_without_hard_links_the_file_is_renamed_if_the_name_is_free(tmp_path, monkeypatch) -> None:
    def no_links(source, target):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    save(tmp_path / "data.npz", ARRAYS, overwrite=False)
    with pytest.raises(CliError, match="exists already"):
        save(tmp_path / "data.npz", ARRAYS, overwrite=False)
    assert os.listdir(tmp_path) == ["data.npz"]


def test_targets_that_cannot_be_written_are_refused_beforehand(tmp_path, monkeypatch) -> None:
    with pytest.raises(CliError, match="is a directory"):
        check(tmp_path, overwrite=True)
    with pytest.raises(CliError, match="does not exist"):
        check(tmp_path / "missing" / "data.npz", overwrite=False)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(recording.shutil, "disk_usage", lambda path: usage._replace(free=2**20))
    check_disk(tmp_path / "data.npz", 2**20)
    with pytest.raises(CliError, match=r"2 MiB needed, 1 MiB free"):
        check_disk(tmp_path / "data.npz", 2**21)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(CliError, match="not writable"):
        check(tmp_path / "data.npz", overwrite=False)


def test_keys_with_dots_do_not_hide_others():
    space = spaces.Dict({"a.b": spaces.Discrete(2), "a": spaces.Dict({"b": spaces.Discrete(3)})})
    assert sorted(named_leaves(space)) == [".a.b", r".a\.b"]
    space = spaces.Dict({"1": spaces.Discrete(2), 1: spaces.Discrete(3), "[1]": spaces.Discrete(4)})
    assert sorted(named_leaves(space)) == [".1", ".[1]", r".\[1]"]
    inner = spaces.Dict({"b": spaces.Discrete(2)})
    assert len(named_leaves(spaces.Dict({"a\\": inner, "a\\.b": spaces.Discrete(3)}))) == 2
