"""Pipes to custom loops."""

from __future__ import annotations

import multiprocessing
import threading
import time

from gymcore.vector.workers.custom_pipe import NOTHING, PolledPipe, pickled


def test_pipe_with_messages_of_every_size():
    ours, theirs = multiprocessing.Pipe()
    pipe = PolledPipe(ours)
    assert pipe.receive() is NOTHING
    sender = threading.Thread(
        target=lambda: [theirs.send(b"x" * size) for size in (0, 1, 100_000, 5_000_000)]
    )
    sender.start()
    for size in (0, 1, 100_000, 5_000_000):
        while (message := pipe.receive()) is NOTHING:
            time.sleep(0.001)
        assert len(message) == size
    sender.join()
    receiver_got = []
    receiver = threading.Thread(target=lambda: receiver_got.append(theirs.recv()))
    pipe.send(pickled(b"y" * 5_000_000))
    assert pipe.unsent
    receiver.start()
    while pipe.unsent:
        pipe.flush()
        time.sleep(0.001)
    receiver.join()
    assert len(receiver_got[0]) == 5_000_000
    theirs.close()
    assert pipe.receive() is NOTHING and pipe.ended
    pipe.send(pickled(1))
    pipe.close()


def test_pipe_with_a_long_head():
    ours, theirs = multiprocessing.Pipe()
    pipe = PolledPipe(ours)
    data = pickled("text")
    theirs._send(b"\xff\xff\xff\xff" + len(data).to_bytes(8, "big")[:3])
    assert pipe.receive() is NOTHING
    theirs._send(len(data).to_bytes(8, "big")[3:] + data)
    assert pipe.receive() == "text"
    pipe.close()
    theirs.close()
