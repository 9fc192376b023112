"""No engine stays busy: after interrupted calls, forks and threads it resets and closes."""

import contextlib
import os
import signal
import sys
import threading
import warnings

import numpy as np
import pytest

import gymcore as gym
import gymcore.compat.gym26 as gym26
from gymcore import error
from tests.interrupts import at_every_instruction, interrupted
from tests.vector.isolation import isolated
from tests.vector.leaks import wait_until

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


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("engine", ["native", "sync"])
def test_an_exception_at_any_instruction(engine, call):
    envs = make(engine)
    expected = envs.reset(seed=1)[0]
    state = envs.get_state()
    # The hostile tests interrupt each of the thousands of instructions of saving Python envs.
    step = 1 if engine == "native" else 97
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


@pytest.mark.slow
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
    """`step` of Gym 0.26's facade leaves no call pending either."""
    make_env = lambda: gym26.make("Acrobot-v1")  # noqa: E731
    envs = gym26.vector.AsyncVectorEnv([make_env] * 2, context="fork")
    for _ in range(2):
        expected = envs.reset(seed=1)[0]
        for instruction in at_every_instruction(lambda: envs.step([0, 1]), 7):
            assert np.array_equal(envs.reset(seed=1)[0], expected), instruction
    envs.close()


# Signals during long calls


def rollout_arrays(envs, steps):
    """Return actions, and arrays for the results with memory that is already allocated."""
    space, spec = envs.single_action_space, envs._batch.spec
    shape = (steps, envs.num_envs)
    actions = np.ones((*shape, *space.shape), space.dtype)
    ((dtype, lane_shape),) = spec["observation_parts"]
    observations = np.ones((*shape, *lane_shape), dtype)
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
    rewards = outputs["rewards"]
    for _ in range(100):  # until the signal arrives after the first step and before the last one
        envs.reset(seed=1)
        rewards.fill(np.nan)
        interrupted(lambda: envs.rollout(actions, **outputs), 0.02)
        left = np.isnan(rewards)
        if left.any() and not left.all():
            break
    else:
        pytest.fail("no rollout was interrupted between its steps")
    with pytest.raises(error.ResetNeeded):
        envs.rollout(actions[:1], **{name: array[:1] for name, array in outputs.items()})
    assert np.array_equal(envs.reset(seed=1)[0], expected)
    envs.close()


@pytest.mark.parametrize(
    "num_envs, num_threads, frame_skip",
    [(200, 1, 100_000), (1, 1, 1_000_000), (2, 2, 1_000_000)],
)
def test_a_long_step_answers_signals(num_envs, num_threads, frame_skip):
    """A whole step takes many seconds, with many lanes or with a single one."""
    vector_kwargs = {"num_threads": num_threads, "frame_skip": frame_skip}
    envs = gym.make_vec("Ant-v5", num_envs=num_envs, vector_kwargs=vector_kwargs)
    expected = envs.reset(seed=1)[0]
    actions = envs.action_space.sample()
    with pytest.raises(error.ResetNeeded):
        for _ in range(100):  # a signal may arrive before the step has begun
            assert interrupted(lambda: envs.step(actions), 0.05)
    assert np.array_equal(envs.reset(seed=1)[0], expected)
    envs.close()


def test_a_long_step_of_one_environment_answers_signals():
    frame_skip = 1_000_000
    env = gym.make("Hopper-v5", frame_skip=frame_skip).unwrapped
    expected = env.reset(seed=1)[0]
    for call in (env.step, lambda action: env.do_simulation(action, frame_skip)):
        env.reset()
        while env.data.time == 0:  # a signal may arrive before the step has begun
            assert interrupted(lambda call=call: call(np.ones(3)), 0.05)
        assert env.data.time < env.dt
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
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *args: calls.append(args))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        envs.rollout(actions, **outputs)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls
    assert outputs["observations"].tobytes() == expected.observations.tobytes()
    assert outputs["rewards"].tobytes() == expected.rewards.tobytes()
    assert envs.get_state().tobytes() == other.get_state().tobytes()


# Forks beside threads


def exit_code_of_fork(check):
    """Run `check` in a forked child, and return its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about a fork while there are threads
        pid = os.fork()
    if pid == 0:
        try:
            check()
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_fork_while_another_thread_steps():
    envs = gym.make_vec("Acrobot-v1", num_envs=2000, vector_kwargs={"num_threads": 2})
    expected = envs.reset(seed=1)[0]
    actions = np.ones((1000, 2000), np.int64)
    rewards = np.empty(actions.shape)
    between_rollouts = 2

    def check():
        left = np.isnan(rewards)
        if left.all() or not left.any():
            os._exit(between_rollouts)
        with pytest.raises(error.ResetNeeded):  # its lanes are in the middle of the step
            envs.step(actions[0])
        with pytest.raises(error.ResetNeeded):
            envs.reset(options={"reset_mask": np.arange(2000) == 1})
        assert np.array_equal(envs.reset(seed=1)[0], expected)
        envs.step(actions[0])
        envs.close()

    code = between_rollouts
    for _ in range(100):
        rewards.fill(np.nan)
        thread = threading.Thread(target=lambda: envs.rollout(actions, rewards=rewards))
        thread.start()
        while np.isnan(rewards[0, 0]) and thread.is_alive():
            pass
        code = exit_code_of_fork(check)
        thread.join()
        if code != between_rollouts:
            break
    assert code == 0
    envs.step(actions[0])


class Waiting(gym.Env):
    """A step with action 1 writes a byte to one pipe, then reads one from another."""

    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, begun, go_on):
        self.begun, self.go_on = begun, go_on

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        if action:
            os.write(self.begun, b"x")
            os.read(self.go_on, 1)
        return 1, 0.0, False, False, {}


@contextlib.contextmanager
def waiting_steps(num_envs):
    """Return functions that make environments, await the start of a step, and let one continue."""
    (begun, to_begun), (to_go_on, go_on) = os.pipe(), os.pipe()
    yield (
        [lambda: Waiting(to_begun, to_go_on)] * num_envs,
        lambda: os.read(begun, 1),
        lambda: os.write(go_on, b"x"),
    )
    for descriptor in (begun, to_begun, to_go_on, go_on):
        os.close(descriptor)


def test_a_fork_while_another_thread_steps_python_environments():
    with waiting_steps(2) as (env_fns, wait_for_step, go_on):
        envs = gym.vector.SyncVectorEnv(env_fns)
        envs.reset()

        def check():
            with pytest.raises(error.ResetNeeded):
                envs.step([0, 0])
            envs.reset()
            envs.step([0, 0])
            envs.close()

        thread = threading.Thread(target=lambda: envs.step([1, 0]))
        thread.start()
        wait_for_step()
        code = exit_code_of_fork(check)
        go_on()
        thread.join()
        assert code == 0
        envs.step([0, 0])


@isolated()
def test_a_fork_while_another_thread_waits_for_workers():
    with waiting_steps(2) as (env_fns, wait_for_step, go_on):
        envs = gym.vector.AsyncVectorEnv(env_fns, context="fork")
        envs.reset()

        def check():
            for call in (envs.reset, lambda: envs.step([0, 0]), envs.recv):
                with pytest.raises(error.ForkedProcessError):
                    call()
            envs.close()

        thread = threading.Thread(target=lambda: envs.step([1, 0]))
        thread.start()
        wait_for_step()
        code = exit_code_of_fork(check)
        go_on()
        thread.join()
        assert code == 0
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
    wait_until(lambda: refused or odd, 60)
    with contextlib.suppress(error.ConcurrentUseError):
        envs.close()
    closed.set()
    [thread.join() for thread in threads]
    envs.close()
    assert not odd
    assert refused


@isolated()
def test_a_thread_is_refused_while_another_one_waits():
    with waiting_steps(2) as (env_fns, wait_for_step, go_on):
        envs = gym.vector.AsyncVectorEnv(env_fns, context="fork", batch_size=1)
        envs.reset()
        envs.send([1, 1])
        thread = threading.Thread(target=envs.recv)
        thread.start()
        [wait_for_step() for _ in range(2)]
        refused = []

        def is_refused():
            try:
                envs.get_attr("begun")
            except error.ConcurrentUseError as problem:
                refused.append(problem)
            except error.AlreadyPendingCallError:
                pass  # the thread has not called `recv` yet
            return refused

        assert wait_until(is_refused, 60)
        for call in (envs.recv, lambda: envs.send([0], [0]), envs.close, envs.reset):
            with pytest.raises(error.ConcurrentUseError, match="another thread"):
                call()
        [go_on() for _ in range(2)]
        thread.join()
        envs.recv()
        envs.close()
