"""`benchmarks/compilers.py`: the table of builds."""

from __future__ import annotations

import sys

import pytest


class Build:
    """A worker whose every measurement takes twice as long as the one before."""

    def __init__(self, python, root, prefix):
        self.compiler = {"/a": "GCC 12.2.0", "/b": "Clang 21.1.8 (21)"}[prefix[1]]
        assert [*prefix, python, str(root)] == ["chroot", prefix[1], "/g/.venv/bin/python", "/g"]
        self.seconds = {"GCC 12.2.0": 1e-6}.get(self.compiler, 2e-6)

    def demand(self, **request):
        if "open" in request:
            key, env_id, num_envs, threads = request["open"]
            assert (key, threads) == ("gymcore", 1)
            return {"name": f"{env_id}/{num_envs}"}
        if "measure" in request:
            self.seconds *= 2
            return {"seconds": self.seconds}
        build = {"compiler": self.compiler}
        return {"value": {"python": "3.11.2", "numpy": "2.4.6", "build": build}}

    def close(self):
        pass


def test_rates_stand_beside_their_ratio_to_the_first_build(loaded, monkeypatch, capsys):
    first, second = ("Debian 12", "9 passed", "/a", "/g"), ("sid", "1 failed", "/b", "/g")
    options = ["--build", *first, "--build", *second, "--repeats", "3"]
    monkeypatch.setattr(loaded.compilers, "Worker", Build)
    monkeypatch.setattr(sys, "argv", ["compilers.py", *options])
    loaded.compilers.main()
    # The first of four calls of 2, 4, 8 and 16 us warms up: the median is 4096 steps in 8 us.
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| Debian 12 | 3.11.2 | 2.4.6 | GCC 12.2.0 | 9 passed "
        "| 512 (1.00) | 8 (1.00) | 0.5 (1.00) |",
        "| sid | 3.11.2 | 2.4.6 | Clang 21.1.8 | 1 failed | 256 (0.50) | 4 (0.50) | 0.25 (0.50) |",
    ]


def test_a_build_that_does_not_run_ends_the_run(loaded):
    worker = loaded.peers.Worker(sys.executable, prefix=("false",))
    with pytest.raises(SystemExit, match="the process ended with code 1"):
        worker.demand(open=["gymcore", "CartPole-v1", 8, 1])
    worker.close()
