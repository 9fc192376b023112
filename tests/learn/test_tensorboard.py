"""Metrics as TensorBoard events."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gymcore import error
from gymcore.learn import PPO, TensorBoardLog


def events(folder: Path) -> Iterator[tuple[int, str, float]]:
    """Yield step, name and value of all scalars: records of a length, its CRC, the event, a CRC."""
    from tensorboardX.proto.event_pb2 import Event

    (path,) = folder.iterdir()
    data = path.read_bytes()
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        event = Event.FromString(data[12 : 12 + length])
        for value in event.summary.value:
            yield event.step, value.tag, value.simple_value
        data = data[16 + length :]


def test_every_metric_of_every_update_is_written(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="tensorboardX is not installed")
    log, expected = TensorBoardLog(tmp_path / "new" / "runs"), []

    def callback(ppo: PPO, metrics: dict[str, float]) -> Any:
        expected.extend((ppo.steps, name, value) for name, value in metrics.items())
        return log(ppo, metrics)

    PPO("CartPole-v1", seed=1, num_envs=4, num_steps=16, total_steps=192).train(callback)
    log.close()
    written = list(events(tmp_path / "new" / "runs"))
    assert [step for step, name, _ in written if name == "kl"] == [64, 128, 192]
    assert [each[:2] for each in written] == [each[:2] for each in expected]
    assert [each[2] for each in written] == pytest.approx([each[2] for each in expected], rel=1e-6)


def test_without_tensorboardx_the_error_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(error.DependencyNotInstalled, match="run `pip install tensorboardX`"):
        TensorBoardLog("runs")
