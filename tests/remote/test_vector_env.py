"""Vector environments on a server: equal to local ones, and the errors of their calls."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gymcore as gym
from gymcore import error
from gymcore.environment.space_specs import spec_of_space
from gymcore.remote import HostedVectorEnv, RemoteVectorEnv, make_keys
from gymcore.remote.space_messages import agents_of, is_batch, space_message, space_of
from gymcore.remote.wire import decode, encode
from gymcore.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from tests.remote.servers import running, serving
from tests.spaces import strategies
from tests.testing_env import assert_same
from tests.vector.test_python_results import Vectors

IDS = [
    *("CartPole-v1", "Pendulum-v1", "Taxi-v4", "Blackjack-v1", "HalfCheetah-v5"),
    *("MiniGrid-DoorKey-5x5-v0", "BabyAI-GoToRedBall-v0"),
]


WORLDS = ["mpe/simple_spread_v3", "mpe/simple_adversary_v3", "Foraging-5x5-2p-1f-v3"]


@pytest.mark.parametrize("env_id", [*IDS, *WORLDS])
def test_it_is_as_a_local_one(env_id):
    with (
        serving(env_id) as server,
        gym.make_vec(env_id, 3, vectorization_mode="remote", address=server.address) as remote,
        gym.make_vec(env_id, 3) as local,
    ):
        assert isinstance(remote, RemoteVectorEnv)
        assert remote.observation_space == local.observation_space
        assert remote.single_action_space == local.single_action_space
        assert remote.agents == local.agents
        assert remote.metadata["autoreset_mode"] is local.metadata["autoreset_mode"]
        assert_same(remote.reset(seed=3), local.reset(seed=3))
        local.action_space.seed(1)
        for _ in range(120):
            actions = local.action_space.sample()
            assert_same(remote.step(actions), local.step(actions))
        mask = np.array([True, False, True])
        options = {"reset_mask": mask}
        assert_same(
            remote.reset(seed=[1, None, 2], options=options),
            local.reset(seed=[1, None, 2], options=options),
        )
        if local.agents is None:
            with pytest.raises(error.UnsupportedMode, match="central_state"):
                remote.central_state()
        else:
            assert_same(remote.central_state(), local.central_state())


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_rewards_that_are_vectors(mode):
    gym.register("Vectors-v0", Vectors, disable_env_checker=True)
    try:
        with (
            serving("Vectors-v0", 2, vectorization_mode=mode) as server,
            RemoteVectorEnv("Vectors-v0", server.address) as remote,
        ):
            remote.reset()
            rewards = remote.step([0, 2])[1]
            assert rewards.tolist() == [[1.0, 2.0], [5.0, 6.0]]
    finally:
        del gym.registry["Vectors-v0"]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_other_engines(mode):
    with (
        serving("MountainCar-v0", 2, vectorization_mode=mode) as server,
        RemoteVectorEnv("MountainCar-v0", server.address) as remote,
        gym.make_vec("MountainCar-v0", 2) as local,
    ):
        assert_same(remote.reset(seed=1)[0], local.reset(seed=1)[0])
        for _ in range(210):
            actions = local.action_space.sample()
            assert_same(remote.step(actions)[:4], local.step(actions)[:4])


@pytest.mark.parametrize(
    "space",
    [
        Box(-1, np.inf, (2, 3)),
        Box(0, 255, (4, 4, 3), np.uint8),
        Discrete(3, start=-1),
        MultiBinary((2, 2)),
        MultiDiscrete([[2, 3], [4, 5]], dtype=np.int32, start=[[1, 2], [3, 4]]),
        Text(4, min_length=2, charset="abc"),
        Tuple([Discrete(2), Box(0, 1)]),
        Dict({"b": Discrete(2), "a": Tuple([MultiBinary(1)])}),
        Box(-np.inf, np.array([3, np.inf]), dtype=np.int64),
        Box(-(2**63), 2**63 - 1, (2,), np.int64),
        Discrete(200, start=-100, dtype=np.int16),
        MultiBinary([3]),
        Text(3, charset="zyx"),
        Dict({"b": Discrete(2), "a": Discrete(3)}, sort_keys=False),
    ],
)
def test_spaces_travel(space):
    assert_travels(space)


@given(
    st.recursive(
        strategies.fundamental,
        lambda parts: st.one_of(
            st.lists(parts, max_size=3).map(Tuple),
            st.tuples(st.dictionaries(st.text(max_size=3), parts, max_size=3), st.booleans()).map(
                lambda both: Dict(both[0], sort_keys=both[1])
            ),
        ),
        max_leaves=6,
    )
)
def test_all_attributes_of_nested_spaces_travel(space):
    assert_travels(space)
    with contextlib.suppress(error.ArgumentTypeError, error.InvalidArgument):
        spec = spec_of_space(space, "states").spec  # as a served `Environment` sends it
        assert repr(travelled(spec)) == repr(spec)


@pytest.mark.parametrize(
    "message",
    [
        [],
        [[]],
        [["", ["a", "a"], ["Discrete", 2, 0, "int64"], ["Discrete", 2, 0, "int64"]]],
        [["", ["a"], ["Discrete", 2, 0, "int64"], ["Nothing"]]],
        [[3, 4, 5, 6]],
    ],
)
def test_agents_that_do_not_travel(message):
    with pytest.raises(error.InvalidArgument, match="agents: expected groups"):
        agents_of(message)


def test_parts_of_worlds_travel():
    env_id = WORLDS[1]
    with (
        serving(env_id) as server,
        RemoteVectorEnv(env_id, server.address) as remote,
        gym.make_vec(env_id, 3) as local,
    ):
        remote.reset(seed=1)
        local.reset(seed=1)
        actions = {name: part[:2] for name, part in local.action_space.sample().items()}
        assert_same(remote.step(actions, env_ids=[2, 0]), local.step(actions, env_ids=[2, 0]))
        actions = local.action_space.sample()
        remote.send(actions)
        assert_same(remote.recv()[:4], local.step(actions)[:4])


def travelled(message):
    return decode([bytes(frame) for frame in encode(message)])


def assert_travels(space):
    found = space_of(travelled(space_message(space)))
    assert found == space and repr(found) == repr(space)
    assert attributes(found) == attributes(space)


def attributes(space):
    """Return all attributes of a space and its parts, except generators, in order."""
    parts = space.spaces if isinstance(space, (Tuple, Dict)) else ()
    shown = [
        (name, value.dtype, value.tolist()) if hasattr(value, "tolist") else (name, value)
        for name, value in vars(space).items()
        if name not in ("spaces", "_np_random", "low_repr", "high_repr")
    ]
    items = parts.items() if isinstance(parts, dict) else enumerate(parts)
    return type(space), sorted(shown, key=str), [(key, attributes(part)) for key, part in items]


def test_spaces_that_do_not_travel():
    for space in (
        gym.spaces.Sequence(Discrete(2)),
        Dict({1: Discrete(2)}),
        *[Box(0, 1, dtype=np.longdouble)] * (np.dtype(np.longdouble).itemsize > 8),
    ):
        with pytest.raises(error.ArgumentTypeError, match="expected"):
            space_message(space)
    narrow = Box(-np.inf, 3, (1,), np.int8)
    for flags in (np.array([False]), np.array([True, True]), 1):
        message = [*space_message(narrow)[:-1], flags]
        with pytest.raises(error.InvalidArgument, match="bounded_above: expected False only at"):
            space_of(message)
    with gym.make_vec("CartPole-v1", 1) as envs:
        envs.single_action_space = Text(1, charset="\ud800")
        with pytest.raises(error.InvalidArgument, match="UTF-8 strings"):
            HostedVectorEnv(envs, "CartPole-v1")
    for message in (
        None,
        [],
        ["Box"],
        ["Box", 0, 1, "O"],
        ["__import__", "os"],
        ["Discrete", -1, 0, "<i8"],
        ["Discrete", 3, 0, "<f8"],
        ["Box", np.zeros(1, np.int8), np.ones(1, np.int8), "|i1"],
    ):
        with pytest.raises(error.InvalidArgument, match="space: expected"):
            space_of(message)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("a", "b"), True),
        (np.array(["a", "b"], object), True),
        (["a", "b"], False),
        (("a",), False),
        (("a", 1), False),
        ("ab", False),
        (None, False),
        (np.array(["a", "b"]), False),
        (np.array(["a", 1], object), False),
        (np.array(["a", "b", "a"], object), False),
        (np.array([["a", "b"]] * 2, object), False),
        (np.array("ab", object), False),
    ],
)
def test_batches_of_texts(texts, expected):
    assert is_batch(Text(3), texts, 2) is expected


def test_errors_of_environments_have_their_class():
    with serving() as server, RemoteVectorEnv(None, server.address) as remote:
        with pytest.raises(error.ResetNeeded) as caught:
            remote.step(np.zeros(3, int))
        assert isinstance(caught.value, error.EnvironmentFailed)
        assert "in step" in str(caught.value) and "Traceback" in caught.value.traceback
        remote.reset()
        with pytest.raises(error.InvalidAction):
            remote.step(np.full(3, 7))
        with pytest.raises(error.ArgumentTypeError, match="message: expected"):
            remote.reset(options={"low": object()})
        with pytest.raises(error.InvalidAction, match="object"):
            remote.step([object()])
        assert len(remote.step(np.zeros(3, int))) == 5


def test_verbs_are_a_fixed_set():
    with serving() as server, RemoteVectorEnv(None, server.address) as remote:
        for verb in ("close", "set_attr", "__class__", "envs", ""):
            with pytest.raises(error.InvalidArgument, match="verb: expected one of reset, step"):
                remote._client.request(verb)
        assert len(remote.reset()) == 2


def test_attributes_are_those_that_the_server_gives():
    with serving(attributes=["gravity"]) as server, RemoteVectorEnv(None, server.address) as remote:
        assert remote.get_attr("gravity") == (9.8, 9.8, 9.8)
        for name in ("__class__", "step", "close"):
            with pytest.raises(error.InvalidArgument, match="name: expected one of"):
                remote.get_attr(name)


def test_frames():
    with (
        gym.make_vec("CartPole-v1", 2, render_mode="rgb_array") as envs,
        running(HostedVectorEnv(envs, "CartPole-v1")) as server,
        RemoteVectorEnv("CartPole-v1", server.address) as remote,
    ):
        remote.reset(seed=1)
        frames = remote.render()
        assert remote.render_mode == "rgb_array" and remote.metadata["render_fps"] == 50
        assert_same(frames, envs.render())


def test_what_the_server_must_host():
    with serving() as server:
        with pytest.raises(error.RemoteRefused, match="expected id 'Taxi-v4', got 'CartPole"):
            gym.make_vec("Taxi-v4", vectorization_mode="remote", address=server.address)
        for id in ("Elsewhere-v3", "no_such_module:Elsewhere-v3"):
            with pytest.raises(error.RemoteRefused, match=r"id 'Elsewhere-v3', got 'CartPole"):
                gym.make_vec(id, vectorization_mode="remote", address=server.address)
        for number in (1, 4):
            with pytest.raises(error.RemoteRefused, match=f"num_envs {number}, got 3"):
                gym.make_vec("CartPole-v1", number, "remote", address=server.address)
        with gym.make_vec(
            "CartPole-v1", vectorization_mode="remote", address=server.address
        ) as envs:
            assert envs.num_envs == 3
        with pytest.raises(TypeError, match="address"):
            gym.make_vec("CartPole-v1", vectorization_mode="remote")


def test_hash_of_the_specification():
    with serving() as one, RemoteVectorEnv(None, one.address) as first:
        with serving() as two, RemoteVectorEnv(None, two.address) as second:
            assert first.specification_hash == second.specification_hash
        with serving("Taxi-v4") as three, RemoteVectorEnv(None, three.address) as third:
            assert first.specification_hash != third.specification_hash


def test_close_and_use_after_it():
    with serving() as server:
        remote = RemoteVectorEnv(None, server.address)
        remote.reset()
        remote.close()
        remote.close()
        with pytest.raises(
            error.ClosedEnvironmentError, match="RemoteVectorEnv`, after a call to `close"
        ):
            remote.step(np.zeros(3, int))
        with RemoteVectorEnv(None, server.address) as second:  # the environment continues
            assert len(second.step(np.zeros(3, int))) == 5


def test_keys_are_not_written_through_a_link(tmp_path):
    (tmp_path / "client.key").symlink_to("of_another")
    with pytest.raises(error.InvalidArgument, match="expected a folder without keys"):
        make_keys(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["client.key"]
    files = make_keys(tmp_path / "keys")
    assert sorted((tmp_path / "keys").iterdir()) == sorted(files)
    assert [path.stat().st_mode & 0o077 for path in files if path.suffix == ".key"] == [0, 0]


def test_two_threads():
    with serving() as server, RemoteVectorEnv(None, server.address) as remote:
        remote.reset()
        caught = []

        def step():
            for _ in range(200):
                try:
                    remote.step(np.zeros(3, int))
                except error.ConcurrentUseError as problem:
                    caught.append(problem)

        threads = [threading.Thread(target=step) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(remote.step(np.zeros(3, int))) == 5


def test_close_while_another_thread_waits():
    begun, go = threading.Event(), threading.Event()

    class Slow(HostedVectorEnv):
        def respond(self, verb, arguments):
            begun.set()
            go.wait(30)
            return super().respond(verb, arguments)

    with (
        gym.make_vec("CartPole-v1", 3) as envs,
        running(Slow(envs, "CartPole-v1")) as server,
        RemoteVectorEnv(None, server.address) as remote,
    ):
        thread = threading.Thread(target=remote.reset)
        thread.start()
        begun.wait(30)
        try:
            with pytest.raises(error.ConcurrentUseError, match="another thread"):
                remote.close()
        finally:
            go.set()
            thread.join()
        assert len(remote.step(np.zeros(3, int))) == 5


ABANDONED = """
import gc, sys
import gymcore as gym
from gymcore.remote import RemoteVectorEnv, Server
from gymcore.remote.vector_env import HostedVectorEnv
address, keys, collected = sys.argv[1:]
if keys:
    cycle = [Server(HostedVectorEnv(gym.make_vec("CartPole-v1", 1), "CartPole-v1"), keys=keys)]
else:
    cycle = [RemoteVectorEnv(None, address)]
cycle.append(cycle)
del cycle
if collected:
    gc.collect()
print("ends")
"""


@pytest.mark.slow
@pytest.mark.parametrize("collected", ["", "collected"])
def test_a_program_ends_without_close(tmp_path, collected):
    make_keys(tmp_path / "keys")
    for keys in ("", str(tmp_path / "keys")):
        with serving() as server:
            command = [sys.executable, "-c", ABANDONED, server.address, keys, collected]
            ended = subprocess.run(command, timeout=60, check=True, capture_output=True)
            assert (ended.stdout, ended.stderr) == (b"ends\n", b"")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is not available")
def test_a_forked_child_cannot_use_it():
    with serving() as server, RemoteVectorEnv(None, server.address) as remote:
        remote.reset()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                remote.step(np.zeros(3, int))
            except error.ForkedProcessError:
                code = 7
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert len(remote.step(np.zeros(3, int))) == 5


def test_send_and_recv():
    with (
        serving() as server,
        gym.make_vec("CartPole-v1", 3, "remote", address=server.address) as remote,
        gym.make_vec("CartPole-v1", 3) as local,
    ):
        assert remote.steps_some_lanes and gym.spec(remote.spec.id) is not None
        assert remote.spec.kwargs["vector_kwargs"] == {"address": server.address}
        assert_same(remote.reset(seed=1), local.reset(seed=1))
        with pytest.raises(error.NoAsyncCallError):
            remote.recv()
        for env_ids in (None, [2, 0], [0, 1, 2], np.array([False, True, False])):
            actions = np.ones(3 if env_ids is None else len(np.arange(3)[env_ids]), int)
            remote.send(actions, env_ids)
            for method in (remote.render, partial(remote.step, actions)):
                with pytest.raises(error.AlreadyPendingCallError):
                    method()
            with pytest.raises(error.InvalidArgument, match="not being stepped"):
                remote.send(actions, env_ids)
            with pytest.raises(error.AlreadyPendingCallError):
                remote.reset(options={"reset_mask": np.array([True, False, True])})
            local.send(actions, env_ids if env_ids is not None else np.arange(3))
            local.batch_size = len(actions)
            assert_same(remote.recv(), local.recv())
        assert_same(remote.step_lanes([1], [1]), local.step_lanes([1], [1]))
        remote.send(np.full(3, 9), [0, 1, 2])
        with pytest.raises(error.InvalidAction):
            remote.recv()
        remote.send(np.ones(3, int), [0, 1, 2])
        assert len(remote.reset(seed=2)) == 2  # unread results are dropped
        with pytest.raises(error.NoAsyncCallError):
            remote.recv()


def test_recv_in_time():
    with serving() as server, RemoteVectorEnv(None, server.address) as remote:
        remote.reset(seed=1)
        for _ in range(50):
            remote.send(np.ones(3, int))
            try:
                results = remote.recv(0.0)
            except error.RemoteTimeout:  # the result is not lost
                results = remote.recv()
            assert results[0].shape == (3, 4)


def test_what_a_client_does_not_have():
    with serving() as server, RemoteVectorEnv(None, server.address) as remote:
        for name in ("np_random", "np_random_seed"):
            with pytest.raises(error.UnsupportedMode, match="on the server tcp"):
                getattr(remote, name)
        with pytest.raises(error.InvalidArgument, match="wrappers: expected none"):
            gym.make_vec(
                "CartPole-v1",
                vectorization_mode="remote",
                address=server.address,
                wrappers=[gym.wrappers.ClipReward],
            )


def test_unknown_arguments_of_a_client_are_named_before_it_connects():
    with pytest.raises(error.ArgumentTypeError, match=r"\['adress'\]; did you mean address\?"):
        gym.make_vec("CartPole-v1", 2, "remote", adress="127.0.0.1:1")
    with pytest.raises(error.ArgumentTypeError, match=r"whose server .* got unexpected .*gravity"):
        gym.make_vec("CartPole-v1", 2, "remote", address="127.0.0.1:1", gravity=3)
