"""Nothing stays busy: interrupted calls, forks and threads leave engines that reset and close."""

import contextlib
import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import gymcore as gym
import gymcore.compat.gym26 as gym26
from gymcore import error
from tests.interrupts import Interrupt, Timer, at_every_instruction
from tests.vector.isolation import isolated

CALLS = {
    "step": lambda envs, state: envs.step([0, 1, 1]),
    "reset": lambda envs, state: envs.reset(seed=2),
    "masked reset": lambda envs, state: envs.reset(
        options={"reset_mask": np.array([True, False, True])}
    ),
    "step_lanes": lambda envs, state: envs.step([0, 1], [0, 2]),
    "send and recv": lambda envs, state: (envs.send([0, 1, 1]), envs.recv()),
    "get_state": lambda envs, state: envs.get_state(),
    "set_state": lambda envs, state: envs.set_state(state),
    "set_attr": lambda envs, state: envs.set_attr("state", list(np.zeros((3, 4)))),
    "get_attr": lambda envs, state: envs.get_attr("length"),
}


def make(engine):
    if engine == "native":
        return gym.make_vec("CartPole-v1", num_envs=3)
    make_env = lambda: gym.make("CartPole-v1")  # noqa: E731
    if engine == "sync":
        return gym.vector.SyncVectorEnv([make_env] * 3)
    return gym.vector.AsyncVectorEnv([make_env] * 3, num_workers=2, context="fork")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("engine", ["native", "sync"])
def test_an_exception_at_any_instruction(engine, call):
    envs = make(engine)
    expected = envs.reset(seed=1)[0]
    state = envs.get_state()
    # The hostile tests take every one of the thousands that saving Python environments has.
    step = 1 if engine == "native" else 23
    for instruction in at_every_instruction(lambda: CALLS[call](envs, state), step):
        assert np.array_equal(envs.reset(seed=1)[0], expected), instruction
    envs.close()
    assert envs.closed


@pytest.mark.parametrize("engine", ["native", "sync"])
def test_an_exception_at_any_instruction_of_close(engine):
    envs = [make(engine)]
    for _ in at_every_instruction(lambda: envs[0].close()):
        with contextlib.suppress(error.ClosedEnvironmentError):
            envs[0].reset(seed=1)
        envs[0].close()
        assert envs[0].closed
        envs[0] = make(engine)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "Pendulum-v1"])
def test_an_exception_at_any_instruction_of_a_single_environment(env_id):
    env = gym.make(env_id).unwrapped
    expected = env.reset(seed=1)[0]
    state, action = env.get_state(), env.action_space.sample()
    for call in (
        lambda: env.step(action),
        lambda: env.reset(seed=2),
        env.get_state,
        lambda: env.set_state(state),
        lambda: setattr(env, "state", env.state),
        env.close,
    ):
        for instruction in at_every_instruction(call):
            assert np.array_equal(env.reset(seed=1)[0], expected), instruction
    env.close()


# Gym 0.26's interface


@isolated()
def test_an_interrupt_between_the_halves_of_a_step():
    """`step` of Gym 0.26's facade leaves nothing pending either."""
    envs = gym26.vector.make("Acrobot-v1", num_envs=2, asynchronous=True)
    for _ in range(2):
        expected = envs.reset(seed=1)[0]
        for instruction in at_every_instruction(lambda: envs.step([0, 1]), 7):
            assert np.array_equal(envs.reset(seed=1)[0], expected), instruction
    envs.close()


# Signals during long calls


class Late:
    """How long after a timer its handler ran, at best: a busy machine is late itself."""

    def __init__(self, call):
        self.seconds = []
        for after in (0.05, 0.1, 0.15):
            with Timer() as timer:
                begun = time.perf_counter()
                timer.start(after)
                with pytest.raises(Interrupt):
                    call()
                self.seconds.append(time.perf_counter() - begun - after)


def rollout_arrays(envs, steps):
    """Actions, and arrays for the results whose memory is there already."""
    space, spec = envs.single_action_space, envs._kernel_spec
    shape = (steps, envs.num_envs)
    actions = np.ones((*shape, *space.shape), space.dtype)
    observations = np.ones((*shape, spec["observation_size"]), spec["observation_dtype"])
    return actions, {
        "observations": observations,
        "rewards": np.ones(shape),
        "terminated": np.ones(shape, np.bool_),
        "truncated": np.ones(shape, np.bool_),
    }


@pytest.mark.parametrize(
    "env_id, num_envs, steps",
    [("Acrobot-v1", 2, 1_000_000), ("Acrobot-v1", 20_000, 100), ("Ant-v5", 30, 500)],
)
def test_a_rollout_answers_signals(env_id, num_envs, steps):
    envs = gym.make_vec(env_id, num_envs=num_envs)
    expected = envs.reset(seed=1)[0]
    actions, outputs = rollout_arrays(envs, steps)

    def roll():
        while True:  # a fast machine is done before the timer
            envs.reset(seed=1)
            envs.rollout(actions, **outputs)

    late = Late(roll)
    assert min(late.seconds) < 0.05, late.seconds
    with pytest.raises(error.ResetNeeded):
        envs.rollout(actions[:1], **{name: array[:1] for name, array in outputs.items()})
    assert np.array_equal(envs.reset(seed=1)[0], expected)
    envs.close()


@pytest.mark.parametrize(
    "num_envs, num_threads, frame_skip", [(200, 1, 100), (1, 1, 1_000_000), (2, 2, 1_000_000)]
)
def test_a_long_step_answers_signals(num_envs, num_threads, frame_skip):
    """Of many lanes, and of one lane alone."""
    vector_kwargs = {"num_threads": num_threads, "frame_skip": frame_skip}
    envs = gym.make_vec("Ant-v5", num_envs=num_envs, vector_kwargs=vector_kwargs)
    expected = envs.reset(seed=1)[0]
    actions = envs.action_space.sample()

    def step():
        while True:
            envs.reset(seed=1)
            envs.step(actions)

    late = Late(step)
    assert min(late.seconds) < 0.05, late.seconds
    with pytest.raises(error.ResetNeeded):
        envs.step(actions)
    assert np.array_equal(envs.reset(seed=1)[0], expected)
    envs.close()


def test_a_long_step_of_one_environment_answers_signals():
    env = gym.make("Hopper-v5", frame_skip=1_000_000).unwrapped
    expected = env.reset(seed=1)[0]
    for call in (env.step, lambda action: env.do_simulation(action, 1_000_000)):
        late = Late(lambda call=call: (env.reset(), call(np.ones(3))))
        assert min(late.seconds) < 0.05, late.seconds
    assert np.array_equal(env.reset(seed=1)[0], expected)
    env.close()


@pytest.mark.parametrize("num_envs, steps, frame_skip", [(20, 25, 5), (1, 2, 1500)])
def test_signals_that_raise_nothing_change_nothing(num_envs, steps, frame_skip):
    vector_kwargs = {"frame_skip": frame_skip}
    envs, other = (
        gym.make_vec("Ant-v5", num_envs=num_envs, vector_kwargs=vector_kwargs) for _ in range(2)
    )
    for each in (envs, other):
        each.reset(seed=1)
    actions, outputs = rollout_arrays(envs, steps)
    expected = other.rollout(actions)
    with Timer() as timer:
        calls = []
        signal.signal(signal.SIGALRM, lambda *args: calls.append(timer.start(0.01)))
        timer.start(0.01)
        envs.rollout(actions, **outputs)
    assert calls
    assert outputs["observations"].tobytes() == expected.observations.tobytes()
    assert outputs["rewards"].tobytes() == expected.rewards.tobytes()
    assert envs.get_state().tobytes() == other.get_state().tobytes()


# Forks beside threads


def fork_while(stepping, check):
    """Fork while another thread is in `stepping`, and run `check` in the child."""
    thread = threading.Thread(target=stepping)
    thread.start()
    time.sleep(0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        pid = os.fork()
    if pid == 0:
        try:
            check()
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    thread.join()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_fork_while_another_thread_steps():
    envs = gym.make_vec("Acrobot-v1", num_envs=2000, vector_kwargs={"num_threads": 2})
    expected = envs.reset(seed=1)[0]
    actions = np.ones((1000, 2000), np.int64)

    def check():
        with pytest.raises(error.ResetNeeded):  # its lanes are in the middle of the step
            envs.step(actions[0])
        with pytest.raises(error.ResetNeeded):
            envs.reset(options={"reset_mask": np.arange(2000) == 1})
        assert np.array_equal(envs.reset(seed=1)[0], expected)
        envs.step(actions[0])
        envs.close()

    assert fork_while(lambda: envs.rollout(actions), check) == 0
    envs.step(actions[0])


class Pausing(gym.Env):
    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        time.sleep(0.3 * float(action))
        return 1, 0.0, False, False, {}


def test_a_fork_while_another_thread_steps_python_environments():
    envs = gym.vector.SyncVectorEnv([Pausing] * 2)
    envs.reset()

    def check():
        with pytest.raises(error.ResetNeeded):
            envs.step([0, 0])
        envs.reset()
        envs.step([0, 0])
        envs.close()

    assert fork_while(lambda: envs.step([1, 0]), check) == 0
    envs.step([0, 0])


@isolated()
def test_a_fork_while_another_thread_waits_for_workers():
    envs = gym.vector.AsyncVectorEnv([Pausing] * 2, context="fork")
    envs.reset()

    def check():
        for call in (envs.reset, lambda: envs.step([0, 0]), envs.recv):
            with pytest.raises(error.ForkedProcessError):
                call()
        envs.close()

    assert fork_while(lambda: envs.step([1, 0]), check) == 0
    envs.step([0, 0])
    envs.close()


# Threads that share an environment


@pytest.mark.parametrize("engine", ["native", "sync", "async"])
@isolated()
def test_send_recv_and_close_of_several_threads(engine):
    sys.setswitchinterval(1e-5)
    envs = make(engine)
    envs.reset(seed=1)
    odd, refused, closed = [], [], threading.Event()

    def hammer(calls):
        while not closed.is_set():
            for call in calls:
                try:
                    call()
                except error.ConcurrentUseError as problem:
                    refused.append(problem)
                except (error.NoAsyncCallError, error.AlreadyPendingCallError):
                    pass
                except (error.InvalidArgument, error.ClosedEnvironmentError):
                    pass
                except BaseException as problem:
                    odd.append(problem)

    send, recv = lambda: envs.send([0, 1], [0, 2]), lambda: envs.recv(timeout=5)
    reset = lambda: envs.reset(seed=1)  # noqa: E731
    programs = [[send], [recv], [send, recv], [recv, send, reset]]
    threads = [threading.Thread(target=hammer, args=(calls,)) for calls in programs]
    [thread.start() for thread in threads]
    time.sleep(0.5)
    end = time.monotonic() + 1
    while not envs.closed and time.monotonic() < end:
        try:
            envs.close()
        except error.ConcurrentUseError as problem:
            refused.append(problem)
    closed.set()
    [thread.join() for thread in threads]
    envs.close()
    assert not odd
    assert refused


@isolated()
def test_a_thread_is_refused_while_another_one_waits():
    envs = gym.vector.AsyncVectorEnv([Pausing] * 2, context="fork", batch_size=1)
    envs.reset()
    envs.send([1, 1])
    thread = threading.Thread(target=envs.recv)
    thread.start()
    time.sleep(0.1)
    for call in (envs.recv, lambda: envs.send([0], [0]), envs.close, envs.reset):
        with pytest.raises(error.ConcurrentUseError, match="another thread"):
            call()
    thread.join()
    envs.recv()
    envs.close()
