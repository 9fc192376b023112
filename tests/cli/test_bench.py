from __future__ import annotations

import pytest

import gymcore
from gymcore.cli import bench

FAST = ("--seconds", "0.002", "--repeats", "3")


def test_a_table_for_each_id_and_size_beside_gymnasium(run):
    ran = run("bench", "CartPole-v1", "Pendulum-v1", "--num-envs", 4, 8, *FAST)
    assert ran.code == 0, ran.err
    tables = [text.splitlines() for text in ran.out.strip().split("\n\n")]
    assert [lines[0].split("  ")[0] for lines in tables] == [
        "CartPole-v1, 4 lanes", "CartPole-v1, 8 lanes",
        "Pendulum-v1, 4 lanes", "Pendulum-v1, 8 lanes",
    ]  # fmt: skip
    for lines in tables:
        rows = {line.split("  ")[0]: line for line in lines[2:]}
        assert rows.keys() == {"gymcore make_vec", "gymnasium make_vec"}
        assert rows["gymcore make_vec"].endswith(" 1x")
        assert all("steps/s" in row for row in rows.values())


def test_without_gymnasium(run, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = run("bench", "CartPole-v1", *FAST)
    assert ran.code == 0, ran.err
    assert "gymnasium" not in ran.out


def test_an_unknown_id_is_refused_before_measuring(run, monkeypatch):
    monkeypatch.setattr(bench, "measure", lambda *_: pytest.fail("measured"))
    ran = run("bench", "NoSuchEnvironment-v0")
    assert ran.code == 2
    assert "NoSuchEnvironment" in ran.err


def test_the_defaults_are_registered():
    assert all(env_id in gymcore.registry for env_id in bench.DEFAULT_IDS)
