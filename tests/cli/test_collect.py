from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import gymcore
from gymcore.cli import recording

POLICIES = "tests.cli.environments"
MODES = {"next-step": "NextStep", "same-step": "SameStep", "disabled": "Disabled"}


@pytest.fixture(autouse=True)
def environments(monkeypatch):
    from tests.cli import environments as module

    before = dict(gymcore.registry)
    for name in ("Nested", "Words", "Graphs", "Needy", "Failing"):
        gymcore.register(
            f"Test{name}-v0", entry_point=f"{POLICIES}:{name}Env", disable_env_checker=True
        )
    monkeypatch.setattr(module, "calls", 0)
    yield module
    gymcore.registry.clear()
    gymcore.registry.update(before)


def load(path: Path) -> tuple[dict[str, np.ndarray], dict]:
    with np.load(path, allow_pickle=False) as data:
        arrays = {key: data[key] for key in data}
    return arrays, json.loads(str(arrays.pop("metadata")))


def replay(arrays, metadata):
    """Collect again, step by step, with the actions in the file; return its expected contents."""
    envs = gymcore.make_vec(
        metadata["id"],
        num_envs=metadata["num_envs"],
        vectorization_mode=metadata["vectorization"],
        vector_kwargs={"autoreset_mode": gymcore.vector.AutoresetMode(metadata["autoreset_mode"])},
    )
    found = {key: [] for key in ("observations", "rewards", "terminated", "truncated")}
    finals, indices, resets = [], [], []
    observations, _ = envs.reset(seed=metadata["seed"])
    previous = np.zeros(metadata["num_envs"], bool)
    for t, actions in enumerate(arrays["actions"]):
        found["observations"].append(observations.copy())
        observations, rewards, terminated, truncated, info = envs.step(actions)
        found["rewards"].append(rewards.copy())
        found["terminated"].append(terminated.copy())
        found["truncated"].append(truncated.copy())
        resets.append(previous if metadata["autoreset_mode"] == "NextStep" else previous & False)
        done = terminated | truncated
        last = (
            info["final_obs"]
            if metadata["autoreset_mode"] == "SameStep" and done.any()
            else (observations)
        )
        for lane in np.flatnonzero(done):
            finals.append(np.array(last[lane]))
            indices.append((t, lane))
        if metadata["autoreset_mode"] == "Disabled" and done.any():
            observations, _ = envs.reset(options={"reset_mask": done})
        previous = done
    envs.close()
    expected = {key: np.array(value) for key, value in found.items()}
    expected["actions"] = arrays["actions"]
    expected["last_observations"] = observations
    expected["reset_steps"] = np.array(resets)
    expected["final_observations"] = np.array(finals)
    expected["final_indices"] = np.array(indices)
    return expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("vectorization", ["native", "sync"])
@pytest.mark.parametrize("policy", ["random", f"{POLICIES}:lean"])
def test_the_file_holds_what_a_replay_of_its_actions_gives(
    run, tmp_path, mode, vectorization, policy
):
    path = tmp_path / "data.npz"
    ran = run(
        "collect", "CartPole-v1", "--num-envs", 5, "--num-steps", 1500, "--seed", 11,
        "--vectorization", vectorization, "--autoreset-mode", mode, "--policy", policy,
        "--out", path, "--no-progress",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    arrays, metadata = load(path)
    assert metadata["id"] == "CartPole-v1"
    assert (metadata["seed"], metadata["num_envs"], metadata["steps"]) == (11, 5, 300)
    assert metadata["autoreset_mode"] == MODES[mode]
    assert metadata["policy"] == policy
    assert metadata["interrupted"] is False
    assert metadata["versions"]["gymcore"] == gymcore.__version__
    expected = replay(arrays, metadata)
    assert sorted(arrays) == sorted(expected)
    for key, value in expected.items():
        np.testing.assert_array_equal(arrays[key], value, err_msg=key)
        assert arrays[key].dtype == value.dtype, key
    assert len(arrays["final_indices"]) == metadata["episodes"]["episodes"] > 3
    if policy != "random":
        np.testing.assert_array_equal(arrays["actions"], arrays["observations"][:, :, 2] > 0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_engines_give_the_same_file(run, tmp_path, mode, env_id):
    files = []
    for vectorization in ("native", "sync"):
        path = tmp_path / f"{vectorization}.npz"
        ran = run(
            "collect", env_id, "--num-envs", 3, "--num-steps", 900, "--seed", 5, "--no-progress",
            "--vectorization", vectorization, "--autoreset-mode", mode, "--out", path,
            "--max-episode-steps", 40,
        )  # fmt: skip
        assert ran.code == 0, ran.err
        files.append(load(path)[0])
    for key in files[0]:
        np.testing.assert_array_equal(files[0][key], files[1][key], err_msg=key)
    assert files[0]["truncated"].any()


def summary_lines(ran) -> list[str]:
    """Return the lines on episodes, returns and lengths in a printed summary."""
    return [line for line in ran.out.splitlines() if line.startswith(("episodes", "ret", "len"))]


@pytest.mark.parametrize("mode", MODES)
def test_keeping_nothing_takes_another_way_to_the_same_episodes(run, tmp_path, mode):
    words = [
        "collect", "CartPole-v1", "--num-envs", 64, "--num-steps", 40_000, "--seed", 3,
        "--autoreset-mode", mode, "--no-progress",
    ]  # fmt: skip
    kept = run(*words, "--out", tmp_path / "data.npz")
    assert summary_lines(kept) == summary_lines(run(*words))
    assert len(summary_lines(kept)) == 3


@pytest.mark.parametrize("mode", MODES)
def test_the_summary_counts_the_episodes_of_the_file(run, tmp_path, mode):
    path = tmp_path / "data.npz"
    ran = run(
        "collect", "MountainCarContinuous-v0", "--num-envs", 4, "--num-steps", 800, "--seed", 0,
        "--autoreset-mode", mode, "--max-episode-steps", 30, "--out", path, "--no-progress",
    )  # fmt: skip
    arrays, metadata = load(path)
    returns, lengths = [], []
    for lane in range(4):
        total, length = 0.0, 0
        for t in range(200):
            if arrays["reset_steps"][t, lane]:
                continue
            total, length = total + arrays["rewards"][t, lane], length + 1
            if arrays["terminated"][t, lane] or arrays["truncated"][t, lane]:
                returns.append(total)
                lengths.append(length)
                total, length = 0.0, 0
    found = metadata["episodes"]
    assert found["episodes"] == len(returns)
    assert found["return"]["mean"] == pytest.approx(np.mean(returns), rel=1e-12)
    assert found["return"]["median"] == pytest.approx(np.median(returns), rel=1e-12)
    assert found["return"]["min"] == pytest.approx(min(returns), rel=1e-12)
    assert found["length"] == {"mean": 30.0, "median": 30.0, "min": 30.0, "max": 30.0}
    assert f"{len(returns)} ended" in ran.out
    assert ("only reset" in ran.out) == (mode == "next-step")


def test_nested_observations_are_stored_leaf_by_leaf(run, tmp_path):
    path = tmp_path / "data.npz"
    ran = run(
        "collect", "TestNested-v0", "--num-envs", 2, "--num-steps", 20, "--seed", 0,
        "--autoreset-mode", "same-step", "--out", path, "--no-progress",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    arrays, _ = load(path)
    # Episodes of lane 0 last 3 steps, those of lane 1 last 4.
    t = np.array([[0, 0], [1, 1], [2, 2], [0, 3], [1, 0], [2, 1], [0, 2], [1, 3], [2, 0], [0, 1]])
    np.testing.assert_array_equal(arrays["observations.pair.0"], t)
    np.testing.assert_array_equal(arrays["observations.pair.1"], t / 100)
    np.testing.assert_array_equal(arrays["observations.count"], np.stack([t, 2 * t], axis=-1))
    np.testing.assert_array_equal(arrays["final_indices"], [[2, 0], [3, 1], [5, 0], [7, 1], [8, 0]])
    np.testing.assert_array_equal(arrays["final_observations.pair.0"], [3, 4, 3, 4, 3])
    np.testing.assert_array_equal(arrays["final_observations.count"][:, 1], [6, 8, 6, 8, 6])
    np.testing.assert_array_equal(arrays["last_observations.pair.0"], [1, 2])
    assert arrays["actions"].shape == (10, 2, 2)


def test_texts_are_stored_as_numbers(run, tmp_path):
    path = tmp_path / "data.npz"
    ran = run(
        "collect", "TestWords-v0", "--num-envs", 2, "--num-steps", 6, "--out", path,
        "--autoreset-mode", "disabled", "--no-progress",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    arrays, _ = load(path)
    space = gymcore.spaces.Text(5)
    for key, words in {
        "observations": [["abc"] * 2, ["d"] * 2, ["abc"] * 2],
        "last_observations": ["d"] * 2,
        "final_observations": ["ef"] * 2,
    }.items():
        numbers = arrays[key]
        assert numbers.dtype == np.uint8 and numbers.shape == (*np.shape(words), 5)
        found = [gymcore.spaces.utils.unflatten(space, row) for row in numbers.reshape(-1, 5)]
        assert found == np.ravel(words).tolist()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "TestNested-v0", "TestWords-v0"])
def test_a_data_set_has_the_episodes_of_the_file(run, tmp_path_factory, mode, env_id):
    pytest.importorskip("h5py", reason="h5py is not installed")
    minari = pytest.importorskip("minari", reason="minari is not installed")
    folder = tmp_path_factory.mktemp("data")
    words = ["--num-envs", 2, "--num-steps", 90, "--seed", 3, "--autoreset-mode", mode]
    out, dataset = folder / "data.npz", folder / "random-v0"
    assert run("collect", env_id, *words, "--out", out, "--no-progress").code == 0
    ran = run("collect", env_id, *words, "--dataset", dataset, "--no-progress")
    assert ran.code == 0, ran.err
    read = minari.MinariDataset(dataset / "data")
    assert f"({read.total_episodes:,} episodes, {read.total_steps:,} steps, " in ran.out
    arrays, metadata = load(out)
    described = read.storage.metadata
    assert described["algorithm_name"] == "random"
    assert described["gymcore"]["seed"] == metadata["seed"] == 3
    assert described["gymcore"]["episodes"] == metadata["episodes"]
    taken = ~arrays["reset_steps"]
    assert read.total_steps == taken.sum()
    ended = len(arrays["final_indices"])
    for episode, (t, lane) in zip(read, arrays["final_indices"], strict=False):
        first = t + 1 - len(episode)
        for key, name in (("rewards", "rewards"), ("actions", "actions")):
            np.testing.assert_array_equal(getattr(episode, name), arrays[key][first : t + 1, lane])
        if env_id == "CartPole-v1":
            rows = [*arrays["observations"][first : t + 1, lane]]
            k = np.flatnonzero((arrays["final_indices"] == (t, lane)).all(axis=1))[0]
            rows.append(arrays["final_observations"][k])
            np.testing.assert_array_equal(episode.observations, rows)
    assert read.total_episodes >= ended > 3
    assert all(episode.truncations[-1] for episode in list(read)[ended:])


def test_agents_of_worlds_are_lanes(run, tmp_path):
    out = tmp_path / "agents.npz"
    size = ("--num-envs", "2", "--num-steps", "60", "--seed", "3")
    run("collect", "mpe/simple_spread_v3", *size, "--out", str(out))
    arrays, _ = load(out)
    assert arrays["rewards"].shape == (10, 6)
    worlds = gymcore.make_vec("mpe/simple_spread_v3", 2)
    worlds.reset(seed=3)
    for t in range(10):
        results = worlds.step(arrays["actions"][t].reshape(2, 3))
        np.testing.assert_array_equal(arrays["rewards"][t], results[1].ravel())
    refused = run("collect", "mpe/simple_adversary_v3", *size)
    assert refused.code != 0 and "agents that share spaces" in refused.err


def test_a_data_set_is_not_replaced(run, tmp_path):
    pytest.importorskip("h5py", reason="h5py is not installed")
    (tmp_path / "a-v0").mkdir()
    ran = run("collect", "CartPole-v1", "--dataset", tmp_path / "a-v0", "--no-progress")
    assert ran.code == 2 and "exists already" in ran.err


def test_ctrl_c_completes_the_data_set(run, tmp_path):
    pytest.importorskip("h5py", reason="h5py is not installed")
    path = tmp_path / "a-v0"
    ran = run(
        "collect", "CartPole-v1", "--num-envs", 2, "--num-steps", 2000, "--dataset", path,
        "--policy", f"{POLICIES}:interrupt_on_tenth_call", "--no-progress",
    )  # fmt: skip
    assert ran.code == 130
    description = json.loads((path / "data" / "metadata.json").read_text())
    assert description["total_steps"] == 20 and description["gymcore"]["interrupted"] is True


def test_steps_are_rounded_up_to_whole_batches(run):
    ran = run("collect", "CartPole-v1", "--num-envs", 8, "--num-steps", 17, "--no-progress")
    assert "8 lanes x 3 steps" in ran.out
    assert "24 steps in" in ran.out


def test_a_drawn_seed_is_printed_and_collects_the_same_again(run):
    words = ["collect", "CartPole-v1", "--num-envs", 4, "--num-steps", 4000, "--no-progress"]
    first = run(*words)
    seed = first.out.splitlines()[0].rsplit(" ", 1)[1]
    assert summary_lines(run(*words, "--seed", seed)) == summary_lines(first)
    assert summary_lines(run(*words, "--seed", int(seed) + 1)) != summary_lines(first)


def test_progress_goes_to_stderr_and_can_be_silenced(run, monkeypatch):
    words = ["collect", "CartPole-v1", "--num-envs", 4, "--num-steps", 400, "--seed", 0]
    piped, quiet = run(*words), run(*words, "--no-progress")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    loud = run(*words)
    assert "steps/s" in loud.err and "100%" in loud.err
    assert quiet.err == "" and "\r" not in piped.err
    assert summary_lines(loud) == summary_lines(quiet) == summary_lines(piped)


def test_arguments_of_the_environment(run):
    words = ("collect", "FrozenLake-v1", "--num-steps", 6_400, "--seed", 1, "--no-progress")
    ran = run(*words, "--env-arg", "map_name=8x8", "--env-arg", "is_slippery=false")
    assert ran.code == 0 and summary_lines(ran) != summary_lines(run(*words))
    ran = run(*words, "--env-arg", "depth=3")
    assert ran.code == 2 and "depth" in ran.err and ran.err.count("\n") == 1
    with pytest.raises(SystemExit):
        run(*words, "--env-arg", "8x8")


def test_engine_options_reach_the_engine(run):
    words = ["collect", "CartPole-v1", "--num-envs", 128, "--num-steps", 12_800, "--seed", 2]
    one = run(*words, "--no-progress", "--num-threads", 1)
    two = run(*words, "--no-progress", "--num-threads", 2)
    assert one.code == two.code == 0
    assert summary_lines(one) == summary_lines(two)


# Errors


def test_an_existing_file_is_not_overwritten_unless_asked_for(run, tmp_path):
    path = tmp_path / "data.npz"
    path.write_bytes(b"precious")
    words = ["collect", "CartPole-v1", "--num-steps", 64, "--out", path, "--no-progress"]
    refused = run(*words)
    assert refused.code == 2
    assert refused.err == f"gymcore: error: --out: {path} exists already; --overwrite replaces it\n"
    assert path.read_bytes() == b"precious"
    assert run(*words, "--overwrite").code == 0
    assert load(path)[1]["steps"] == 1


def test_a_recording_that_does_not_fit_is_refused_before_it_starts(run, tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "available_memory", lambda: 2**20)
    path = tmp_path / "data.npz"
    ran = run("collect", "CartPole-v1", "--num-steps", "1e6", "--out", path, "--no-progress")
    assert ran.code == 2
    assert "memory needed for 1,000,000 steps, 1 MiB free; --num-steps" in ran.err
    assert not path.exists()
    fits = int(ran.err.split("--num-steps ")[1].split(" ")[0])
    words = ["collect", "CartPole-v1", "--out", path, "--no-progress", "--num-steps"]
    assert run(*words, fits - 64).code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["NoSuchEnvironment-v7"], "NoSuchEnvironment"),
        (["no_such_module_here:Env-v0"], "no_such_module_here"),
        (["TestNeedy-v0"], "pip install sandbox"),
        (["CartPole-v1", "--policy", "nonsense"], "module:name"),
        (["CartPole-v1", "--policy", f"{POLICIES}:missing"], "has no 'missing'"),
        (["MountainCarContinuous-v0", "--policy", f"{POLICIES}:push_left"], "shape (64, 1)"),
        (["CartPole-v1", "--overwrite"], "--overwrite"),
        (["TestNested-v0", "--vectorization", "native"], "TestNested-v0"),
        (["TestGraphs-v0", "--out", "graphs.npz"], "Graph"),
        (["CartPole-v1", "--dataset", "cartpole"], "ends with a version"),
        (["CartPole-v1", "--dataset", "a-v0", "--cluster", "ray"], "--cluster"),
    ],
)
def test_a_request_that_cannot_be_met_is_one_line_on_stderr(
    run, tmp_path, monkeypatch, words, message
):
    root = Path.cwd()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(root))
    ran = run("collect", *words, "--num-steps", 64, "--no-progress")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("gymcore: error: ") and ran.err.count("\n") == 1
    assert message in ran.err
    assert list(tmp_path.iterdir()) == []


def test_debug_raises_instead(run):
    with pytest.raises(Exception, match="NoSuchEnvironment") as caught:
        run("collect", "NoSuchEnvironment-v7", "--debug")
    assert isinstance(caught.value.__cause__, gymcore.error.NameNotFound)


def test_a_failing_environment_is_told_in_one_line_with_code_1(run):
    ran = run("collect", "TestFailing-v0", "--num-envs", 1, "--num-steps", 9, "--no-progress")
    assert ran.code == 1
    assert ran.err == (
        "gymcore: error: OverflowError: environment 0 raised OverflowError in step: "
        "three is too many (--debug shows the traceback)\n"
    )


# Ctrl-C


def test_ctrl_c_ends_with_the_summary_so_far_and_keeps_the_whole_steps(run, tmp_path):
    path = tmp_path / "data.npz"
    ran = run(
        "collect", "CartPole-v1", "--num-envs", 2, "--num-steps", 2000, "--seed", 0, "--out", path,
        "--policy", f"{POLICIES}:interrupt_on_tenth_call", "--no-progress",
    )  # fmt: skip
    assert ran.code == 130
    assert "interrupted" in ran.err and "Traceback" not in ran.err
    assert "2 lanes x 10 steps" in ran.out
    arrays, metadata = load(path)
    assert metadata["interrupted"] is True
    assert metadata["steps"] == 10
    assert arrays["actions"].shape == (10, 2)
    metadata["vectorization"] = "native"
    for key, value in replay(arrays, metadata).items():
        np.testing.assert_array_equal(arrays[key], value, err_msg=key)


def test_an_interrupted_run_does_not_replace_a_file(run, tmp_path):
    path = tmp_path / "data.npz"
    path.write_bytes(b"precious")
    ran = run(
        "collect", "CartPole-v1", "--num-envs", 2, "--num-steps", 2000, "--out", path,
        "--policy", f"{POLICIES}:interrupt_on_tenth_call", "--no-progress", "--overwrite",
    )  # fmt: skip
    assert ran.code == 130
    assert "nothing" in ran.out
    assert path.read_bytes() == b"precious"


def test_a_second_ctrl_c_leaves_at_once(run, tmp_path):
    path = tmp_path / "data.npz"
    ran = run(
        "collect", "CartPole-v1", "--num-envs", 2, "--num-steps", 2000, "--out", path,
        "--policy", f"{POLICIES}:interrupt_twice", "--no-progress",
    )  # fmt: skip
    assert ran.code == 130
    assert ran.err == "gymcore: interrupted, nothing was stored\n"
    assert list(tmp_path.iterdir()) == []


def test_environments_over_jax_keep_their_only_autoreset_mode(run):
    pytest.importorskip("jax")
    line = "collect phys2d/CartPole-v1 --num-envs 2 --num-steps 60 --no-progress"
    assert "CartPoleJaxVectorEnv, next-step autoreset" in run(*line.split()).out
