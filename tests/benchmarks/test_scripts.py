"""The benchmark scripts run; the measurements are too short here to mean anything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.scripts import ROOT, script

QUICK = ("--repeats", "1", "--seconds", "0.002")


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    """Run a few of the groups once, for a short time."""
    folder = tmp_path_factory.mktemp("peers")
    groups = ("cartpole-64", "make")
    engines = ("engine-overhead", "engine-cartpole", "engine-batch-space")
    ran = script(
        ROOT / "benchmarks" / "peers.py", *QUICK, "--groups", *groups, *engines,
        "--json", folder / "peers.json", "--plot", folder / "peers.png", cwd=folder,
    )  # fmt: skip
    return ran, folder


@pytest.mark.slow
def test_the_peers_run_ends_well_and_leaves_only_what_was_asked_for(peers):
    ran, folder = peers
    assert ran.returncode == 0, ran.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["peers.json", "peers.png"]
    assert (folder / "peers.png").read_bytes().startswith(b"\x89PNG")


def test_measured_bars_are_judged_and_the_others_say_why_not(peers):
    ran, folder = peers
    document = json.loads((folder / "peers.json").read_text())
    judged = {row["measure"]: row for row in document["bars"]}
    for measure in (
        "CartPole n=64 / CartPoleVectorEnv",
        "CartPole n=64 / SyncVectorEnv",
        "CartPole n=64, a call",
        "make(CartPole-v1).step / Gymnasium",
        "SyncVectorEnv n=64, overhead a lane-step",
        "Python CartPole n=64, sync / Gymnasium SyncVectorEnv",
        "Python CartPole n=64, async / Gymnasium AsyncVectorEnv",
        "batch_space of a Dict n=4096 / Gymnasium",
    ):
        assert judged[measure]["met"] in (True, False)
        assert judged[measure]["value"] > 0
        assert measure in ran.stdout
    assert judged["seeding 1,000,000 lanes"]["met"] is None
    assert judged["seeding 1,000,000 lanes"]["measured"] == "not measured in this run"
    assert "seeding" not in ran.stdout, "only what was asked for is printed"


def test_the_raw_physics_loop_is_the_fastest_way(peers):
    document = json.loads((peers[1] / "peers.json").read_text())
    seconds = document["seconds_per_step"]
    assert seconds["raw-physics/CartPole-v1/64/1"][0] > 0
    assert seconds["gymcore-statistics/CartPole-v1/64/1"][0] > 0
    # Ten steps of Gymnasium's SyncVectorEnv take longer than one step of any compiled loop.
    slow = seconds["gymnasium-sync/CartPole-v1/64/1"][0]
    assert seconds["raw-physics/CartPole-v1/64/1"][0] < slow / 10


def test_versions_machine_and_missing_peers_are_written_down(peers):
    ran, folder = peers
    document = json.loads((folder / "peers.json").read_text())
    assert document["machine"]["cpu"] and document["machine"]["python"]
    import gymnasium

    assert document["versions"]["gymnasium"] == gymnasium.__version__
    for name, reason in document["missing"].items():
        assert f"missing: {name}: {reason}" in ran.stdout


@pytest.mark.parametrize(
    "words", ["pufferlib=/no/such/python", "gymcore=" + sys.executable, "nonsense"]
)
def test_a_peer_may_live_in_another_interpreter_but_must_exist(words, loaded, capsys):
    with pytest.raises(SystemExit) as ended:
        loaded.peers.main(["--python", words])
    assert ended.value.code == 2
    assert "--python: expected LIBRARY=PATH" in capsys.readouterr().err


@pytest.mark.slow
def test_a_library_that_is_missing_in_its_interpreter_fails_no_run(tmp_path):
    """A bare interpreter has only the standard library, so the process ends at once."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    python = bare / ("Scripts" if os.name == "nt" else "bin") / "python"
    ran = script(
        "benchmarks/peers.py", *QUICK, "--groups", "make", "--python", f"gymnasium={python}"
    )
    assert ran.returncode == 0, ran.stderr
    assert "missing: gymnasium-make/CartPole-v1/1/1: the process ended" in ran.stdout
    assert "gymcore-make CartPole-v1 n=1" in ran.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is missing")
def test_environments_in_processes_do_not_hold_the_pipe_of_answers():
    """Otherwise peers.py would wait forever for a library that died and left processes behind."""
    process = subprocess.Popen(
        [sys.executable, ROOT / "benchmarks" / "worker.py"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
    )  # fmt: skip
    with process:
        process.stdin.write('{"open": ["gymnasium-AsyncVectorEnv", "Nothing", 2, 1]}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["steps_per_call"] == 2
        pipe = f"pipe:[{os.fstat(process.stdout.fileno()).st_ino}]"
        holding = {pid: open_files(pid) for pid in [process.pid, *children(process.pid)]}
        assert len(holding) == 3
        assert [pid for pid, files in holding.items() if pipe in files] == [process.pid]
        process.stdin.write('{"close": "gymnasium-AsyncVectorEnv/Nothing/2/1"}\n')
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in listed.split()]


def open_files(pid: int) -> list[str]:
    """Return the open files of a process."""
    return [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
