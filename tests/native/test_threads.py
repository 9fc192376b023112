"""Threads of the compiled engine: the pool, forks, ends of processes, and several callers."""

import copy
import gc
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import gymcore.base.cpus
from gymcore import error
from tests.vector.contract import (
    NEXT_STEP,
    ActionsThatTakeTime,
    draw_actions,
    make_envs,
    new_threads_settle_at,
    own_threads,
    same_bytes,
)


def threaded(num_threads, num_envs=1000, **kwargs):
    return make_envs(
        "CartPole-v1", num_envs=num_envs, vector_kwargs={"num_threads": num_threads}, **kwargs
    )


def script(code, *, timeout=120):
    """Run a script in an interpreter of its own; fail if it fails, writes errors or hangs."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=os.getcwd(),
        # NumPy's linear algebra would start threads of its own.
        env={**os.environ, "PYTHONPATH": os.getcwd(), "OPENBLAS_NUM_THREADS": "1"},
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


# The pool


@pytest.mark.parametrize("num_threads", [1, 2, 3, 7])
def test_threads_begin_with_the_first_step_and_end_with_close(num_threads):
    before = own_threads()
    envs = threaded(num_threads)
    assert new_threads_settle_at(0, before)
    envs.reset(seed=1)
    envs.step(draw_actions(envs))
    assert new_threads_settle_at(num_threads - 1, before)
    envs.rollout(draw_actions(envs, 3))
    assert new_threads_settle_at(num_threads - 1, before)
    envs.close()
    assert new_threads_settle_at(0, before)


def test_copies_of_closed_lanes_start_no_threads():
    before = own_threads()
    envs = make_envs("MiniGrid-Empty-5x5-v0", num_envs=200, vector_kwargs={"num_threads": 3})
    envs.reset(seed=1)
    envs.close()
    assert copy.deepcopy(envs).closed
    assert new_threads_settle_at(0, before)


def test_threads_end_with_the_environment():
    before = own_threads()
    envs = threaded(3)
    envs.reset(seed=1)
    kept = envs.step(draw_actions(envs))
    generators = envs.np_random
    del envs
    gc.collect()
    # A view of a lane keeps the batch's memory, and with it the pool.
    generators[0].random()
    del generators
    gc.collect()
    assert new_threads_settle_at(0, before)
    assert kept[1].tolist() == [1.0] * 1000


def test_more_threads_than_lanes():
    envs, other = threaded(8, num_envs=3), make_envs("CartPole-v1")
    assert same_bytes(envs.reset(seed=1), other.reset(seed=1))
    for actions in draw_actions(envs, 40):
        assert same_bytes(envs.step(actions), other.step(actions))


def test_two_hundred_environments_come_and_go():
    before = own_threads()
    files = len(os.listdir("/proc/self/fd"))
    for i in range(200):
        envs = threaded(2, num_envs=100 + i)
        envs.reset(seed=i)
        envs.step(draw_actions(envs))
        if i % 2:
            envs.close()
    del envs
    gc.collect()
    assert new_threads_settle_at(0, before)
    assert len(os.listdir("/proc/self/fd")) == files


def test_how_many_threads_there_may_be_by_default(monkeypatch):
    """One for each processor that the process may use, and no more than lanes."""
    monkeypatch.setattr(gymcore.base.cpus, "usable_cpus", lambda: 4)
    for num_envs, threads in {1: 1, 3: 3, 64: 4}.items():
        envs = make_envs("CartPole-v1", num_envs=num_envs)
        assert envs.num_threads == threads
        envs.close()
    assert make_envs("CartPole-v1", num_envs=3, vector_kwargs={"num_threads": 2}).num_threads == 2


def threads_after_steps(env_id, num_envs):
    """Return how many threads a process has after some steps by default, on 3 processors."""
    out = script(
        f"""
        import os
        import gymcore as gym
        import gymcore.base.cpus
        gymcore.base.cpus.usable_cpus = lambda: 3
        before = len(os.listdir("/proc/self/task"))
        envs = gym.make_vec("{env_id}", num_envs={num_envs})
        envs.reset(seed=1)
        for _ in range(20):
            envs.step(envs.action_space.sample())
        print(len(os.listdir("/proc/self/task")) - before)
        """
    )
    return int(out)


def test_threads_follow_from_the_time_that_lanes_take():
    """A step of 8 landers is long enough for two more threads, one of 8 poles is not."""
    assert threads_after_steps("LunarLander-v3", 8) == 2
    assert threads_after_steps("CartPole-v1", 8) == 0


def busy_threads(num_envs, num_threads, pause):
    """Count a process's threads that used the processor during steps with pauses in between."""
    out = script(
        f"""
        import os, time
        import gymcore.base.cpus
        gymcore.base.cpus.usable_cpus = lambda: 2

        def used():
            tasks = "/proc/self/task"
            return [open(f"{{tasks}}/{{task}}/schedstat").read() for task in os.listdir(tasks)]

        options = {{"num_threads": {num_threads}}}
        envs = gymcore.make_vec("CartPole-v1", num_envs={num_envs}, vector_kwargs=options)
        envs.reset(seed=1)
        actions = envs.action_space.sample()
        envs.step(actions)
        time.sleep(0.1)
        before = used()
        assert len(before) == envs.num_threads == 2
        for _ in range(50):
            envs.step(actions)
            if {pause}:
                time.sleep({pause})
        time.sleep(0.01)  # until it sleeps, its time may not have been added up
        print(sum(a != b for a, b in zip(before, used())))
        """
    )
    return int(out)


@pytest.mark.soak
@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="needs Linux's schedstat")
@pytest.mark.parametrize(
    ("num_envs", "num_threads", "pause", "busy"),
    [
        (4_000, None, 0.002, 1),  # too short to wake a thread
        (20_000, None, 0.002, 1),  # nor after a check of its actions, which is a separate job
        (4_000, None, 0, 2),  # the thread stays awake between steps
        (40_000, None, 0.002, 2),  # long enough
        (1_000, 2, 0.002, 2),  # requested
    ],
)
def test_who_is_woken(num_envs, num_threads, pause, busy):
    # A step that the system suspends for 2 ms looks like a long one, whose rest is shared.
    assert busy in (busy_threads(num_envs, num_threads, pause) for _ in range(5))


@pytest.mark.parametrize("num_envs", [1, 63, 64, 65, 2047, 2048, 2049, 10_000])
def test_any_split_gives_the_same_bytes(env_id, num_envs):
    """Chunks end at other lanes than blocks do, and at the end of the batch."""
    alone = make_envs(env_id, num_envs=num_envs, max_episode_steps=3)
    alone.reset(seed=1)
    actions = draw_actions(alone, 8)
    expected = [alone.step(batch) for batch in actions]
    for num_threads in (2, 5):
        envs = make_envs(
            env_id,
            num_envs=num_envs,
            max_episode_steps=3,
            vector_kwargs={"num_threads": num_threads},
        )
        envs.reset(seed=1)
        assert same_bytes([envs.step(batch) for batch in actions], expected)
        assert envs.get_state().tobytes() == alone.get_state().tobytes()
        envs.close()


# Several callers


@pytest.mark.parametrize("num_threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("env_id", "bad", "message"),
    [
        ("CartPole-v1", 2, r"actions\[19999\] = 2 is outside Discrete\(2\)"),
        ("CartPole-v1", -1, r"actions\[19999\] = -1 is outside Discrete\(2\)"),
        ("Pendulum-v1", np.nan, r"actions\[19999, 0\] = nan"),
    ],
)
def test_one_bad_action_of_many_changes_nothing(num_threads, env_id, bad, message):
    options = {"num_threads": num_threads}
    with make_envs(env_id, num_envs=20_000, vector_kwargs=options) as envs:
        envs.reset(seed=1)
        actions = draw_actions(envs, 1)[0]
        actions[-1] = bad
        before = envs.get_state()
        with pytest.raises(error.InvalidAction, match=message):
            envs.step(actions)
        assert np.array_equal(before, envs.get_state())
        actions[-1] = 0
        envs.step(actions)


def test_actions_are_checked_for_later_while_another_thread_steps():
    """Only the stepping thread has the pool: two at once left each other's chunks undone."""
    script(
        """
        import threading

        import gymcore

        options = {"num_threads": 2}
        envs = gymcore.make_vec("CartPole-v1", num_envs=40_000, vector_kwargs=options)
        envs.reset(seed=1)
        actions = envs.action_space.sample()
        done = threading.Event()

        def check():
            while not done.is_set():
                envs.unwrapped._batch.checked_actions(actions, 40_000)

        checker = threading.Thread(target=check)
        checker.start()
        for _ in range(300):
            _, rewards, _, _, _ = envs.step(actions)
            assert ((rewards == 0) | (rewards == 1)).all()
        done.set()
        checker.join()
        envs.close()
        """
    )


def test_one_environment_for_each_thread():
    """Batches are independent of each other."""
    actions = draw_actions(threaded(1), 30)
    results = {}

    def work(seed, num_threads):
        envs = threaded(num_threads)
        envs.reset(seed=seed)
        results[seed, num_threads] = [envs.step(batch) for batch in actions]
        envs.close()

    workers = [threading.Thread(target=work, args=(s, n)) for s in (1, 2) for n in (1, 2)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert same_bytes(results[1, 1], results[1, 2])
    assert same_bytes(results[2, 1], results[2, 2])
    assert not same_bytes(results[1, 1], results[2, 1])


def test_threads_may_take_turns():
    envs, other = threaded(2), threaded(1)
    expected = [other.reset(seed=1)]
    actions = draw_actions(envs, 6)
    expected += [other.step(batch) for batch in actions]
    results = [None] * 7

    def call(place, function, *args, **kwargs):
        results[place] = function(*args, **kwargs)

    jobs = [(0, envs.reset), *((t + 1, envs.step, batch) for t, batch in enumerate(actions))]
    for job in jobs:
        kwargs = {"seed": 1} if job[0] == 0 else {}
        thread = threading.Thread(target=call, args=job, kwargs=kwargs)
        thread.start()
        thread.join()
    assert same_bytes(results, expected)
    envs.close()


def test_many_threads_at_one_environment():
    """Every step is either done or refused, and none is done twice."""
    envs = make_envs("MountainCar-v0", num_envs=4000, max_episode_steps=-1)
    envs.reset(seed=1)
    actions = draw_actions(envs)
    counts = [0] * 4
    refused = [0] * 4

    def hammer(me):
        for _ in range(150):
            try:
                envs.step(actions)
                counts[me] += 1
            except error.ConcurrentUseError:
                refused[me] += 1

    threads = [threading.Thread(target=hammer, args=(i,)) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sum(counts) + sum(refused) == 600
    assert sum(counts) >= 1
    assert (envs.get_state()["elapsed"] == sum(counts)).all()


def test_single_environments_refuse_a_second_thread_too():
    env = make_envs("Pendulum-v1", num_envs=1)
    env.reset(seed=1)
    caught = []

    def meanwhile():
        for call in (lambda: env.reset(), lambda: env.rollout(np.zeros((2, 1, 1), np.float32))):
            with pytest.raises(error.ConcurrentUseError, match="another thread") as refused:
                call()
            caught.append(refused.value)

    env.step(ActionsThatTakeTime(np.zeros((1, 1), np.float32), meanwhile))
    assert len(caught) == 2  # `step_into` converts its actions before it uses the batch
    env.step(np.zeros((1, 1), np.float32))


# Processes


FORK = """
    import os, time, warnings
    import numpy as np
    import gymcore as gym
    warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads

    def threads():
        return len(os.listdir("/proc/self/task"))

    envs = gym.make_vec("CartPole-v1", num_envs=5000, vector_kwargs={"num_threads": 3})
    envs.reset(seed=1)
    actions = np.random.default_rng(0).integers(0, 2, (20, 5000))
    envs.step(actions[0])
    assert threads() == 3
    saved = envs.get_state()
    expected = [envs.step(batch)[0] for batch in actions]
    envs.set_state(saved)
"""


def test_a_forked_child_steps_on():
    out = script(
        FORK
        + """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        assert threads() == 1
        steps = [envs.step(batch)[0] for batch in actions]
        right = all(np.array_equal(a, b) for a, b in zip(steps, expected))
        os.write(write, b"right" if right and threads() == 3 else b"wrong")
        envs.close()
        while threads() > 1:
            time.sleep(0.001)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    steps = [envs.step(batch)[0] for batch in actions]
    assert all(np.array_equal(a, b) for a, b in zip(steps, expected))
    print(os.read(read, 10).decode(), threads())
    """
    )
    assert out == "right 3\n"


def test_children_of_children_and_many_of_them():
    out = script(
        FORK
        + """
    def work(depth):
        steps = [envs.step(batch)[0] for batch in actions]
        assert all(np.array_equal(a, b) for a, b in zip(steps, expected))
        envs.set_state(saved)
        if depth:
            for _ in range(2):
                pid = os.fork()
                if pid == 0:
                    work(depth - 1)
                    os._exit(0)
                assert os.waitpid(pid, 0)[1] == 0

    work(2)
    print(threads())
    """
    )
    assert out == "3\n"


def test_a_child_that_leaves_the_environment_alone():
    out = script(
        FORK
        + """
    pid = os.fork()
    if pid == 0:
        del envs  # its threads are the parent's
        import gc, sys
        gc.collect()
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    envs.step(actions[0])
    print(threads())
    """
    )
    assert out == "3\n"


def test_multiprocessing_hands_environments_on():
    out = script(
        """
    import multiprocessing, warnings
    import numpy as np
    import gymcore as gym
    warnings.simplefilter("ignore", DeprecationWarning)
    envs = gym.make_vec("CartPole-v1", num_envs=300, vector_kwargs={"num_threads": 2})

    def inherited(seed):
        return envs.reset(seed=seed)[0].tobytes(), envs.step(np.zeros(300, int))[0].tobytes()

    def given(other):
        return other.step(np.zeros(300, int))[0].tobytes()

    envs.reset(seed=0)
    envs.step(np.zeros(300, int))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = pool.map(inherited, [5, 6])
        envs.reset(seed=5)
        copied = pool.map(given, [envs])
    first = envs.reset(seed=5)[0].tobytes(), envs.step(np.zeros(300, int))[0].tobytes()
    print(results[0] == first, results[1] == first, copied[0] == first[1])
    """
    )
    assert out == "True False True\n"


@pytest.mark.parametrize("ending", ["pass", "raise SystemExit(0)", "import os; os._exit(0)"])
def test_interpreters_end_without_close(ending):
    out = script(
        f"""
    import numpy as np
    import gymcore as gym
    envs = gym.make_vec("CartPole-v1", num_envs=5000, vector_kwargs={{"num_threads": 4}})
    envs.reset(seed=1)
    step = envs.step(np.zeros(5000, int))
    legacy = gym.vector.make("CartPole-v1", num_envs=3)
    legacy.reset()
    cycle = [envs]
    cycle.append(cycle)
    single = gym.make("Pendulum-v1")
    single.reset()
    print("end", flush=True)
    {ending}
    """
    )
    assert out == "end\n"


def test_interpreters_end_during_a_rollout():
    out = script(
        """
    import threading, time
    import numpy as np
    import gymcore as gym
    envs = gym.make_vec("Acrobot-v1", num_envs=2000, vector_kwargs={"num_threads": 2})
    envs.reset(seed=1)
    actions = np.zeros((100, 2000), np.int64)

    def roll():
        while True:
            envs.rollout(actions)

    threading.Thread(target=roll, daemon=True).start()
    time.sleep(0.2)
    print("end", flush=True)
    """
    )
    assert out == "end\n"


@pytest.mark.slow
def test_nothing_is_said_when_environments_are_collected(capfd):
    for mode in ("NextStep", "SameStep", "Disabled"):
        envs = make_envs("CartPole-v1", mode=mode)
        envs.reset(seed=1)
        envs.step([0, 1, 0])
        envs.get_attr("unwrapped")
        del envs
        gc.collect()
    assert capfd.readouterr() == ("", "")
    assert make_envs("CartPole-v1").metadata["autoreset_mode"] is NEXT_STEP
