from __future__ import annotations

import os
import signal
import threading

import pytest

from gymcore.cli.signals import interruption


def test_first_interrupt_is_a_flag_second_one_raises_and_the_handler_comes_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruption() as interrupted:
        assert not interrupted.requested
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupted.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_interruption_in_another_thread_leaves_signals_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with interruption() as interrupted:
            seen.append((signal.getsignal(signal.SIGINT), interrupted.requested))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, False)]
