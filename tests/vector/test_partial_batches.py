"""Steps of some lanes, send and recv, on the engines that step in this process."""

import copy
import pickle

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.base.arguments import lane_indices
from gymcore.vector import SyncVectorEnv
from tests.testing_env import make_counting_env, make_random_env
from tests.vector.contract import DISABLED, MODES, SAME_STEP, draw_actions, make_envs, same_bytes

IDS = ("CartPole-v1", "Pendulum-v1")
BACKENDS = ("native", "sync")
CountingEnv = make_counting_env(gym)

backends = pytest.mark.parametrize("backend", BACKENDS)


def counting(*lengths, **kwargs):
    return SyncVectorEnv([lambda n=n: CountingEnv(n) for n in lengths], **kwargs)


def cartpoles(backend, num_envs=6, mode="NextStep", limit=None, **vector_kwargs):
    kwargs = {} if limit is None else {"max_episode_steps": limit}
    return make_envs("CartPole-v1", backend, mode, num_envs, vector_kwargs=vector_kwargs, **kwargs)


# Steps of some lanes


@pytest.mark.parametrize("statistics", [False, True])
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("env_id", IDS)
def test_engines_agree_on_subsets(env_id, mode, statistics):
    engines = [
        make_envs(
            env_id,
            backend,
            mode,
            19,
            max_episode_steps=7,
            vector_kwargs={"episode_statistics": statistics},
        )
        for backend in BACKENDS
    ]
    ended = np.zeros(19, bool)
    rng = np.random.default_rng(0)
    assert same_bytes(*(envs.reset(seed=3) for envs in engines))
    for turn, actions in enumerate(draw_actions(engines[0], 150)):
        lanes = rng.permutation(19)[: rng.integers(1, 20)]
        if turn % 3 == 0:
            lanes = np.sort(lanes)
        if mode is DISABLED and ended[lanes].any():
            for envs in engines:
                with pytest.raises(error.ResetNeeded):
                    envs.step(actions[lanes], lanes)
            resets = [envs.reset(options={"reset_mask": ended.copy()}) for envs in engines]
            assert same_bytes(*resets)
            ended[:] = False
        steps = [envs.step(actions[lanes], lanes) for envs in engines]
        for one, other in zip(*(step[:4] for step in steps), strict=True):
            assert same_bytes(one, other)
        infos = [step[4] for step in steps]
        assert set(infos[0]) == set(infos[1])
        assert infos[0]["env_id"].tolist() == lanes.tolist()
        ended[lanes] |= steps[0][2] | steps[0][3]
        if "final_obs" in infos[0]:
            for row in np.flatnonzero(infos[0]["_final_obs"]):
                assert same_bytes(infos[0]["final_obs"][row], infos[1]["final_obs"][row])
        if "episode" in infos[0]:
            for key in "rl":
                assert same_bytes(infos[0]["episode"][key], infos[1]["episode"][key])
            assert same_bytes(infos[0]["_episode"], infos[1]["_episode"])


@backends
@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.value)
def test_subsets_do_what_whole_steps_do(backend, mode):
    whole, parts = (cartpoles(backend, 7, mode, limit=5) for _ in range(2))
    whole.reset(seed=1), parts.reset(seed=1)
    for actions in draw_actions(whole, 40):
        step = whole.step(actions)
        for lanes in ([5, 6, 0], [3], [1, 2, 4]):
            part = parts.step(actions[lanes], lanes)
            for k in range(4):
                assert same_bytes(part[k], step[k][lanes])


@backends
def test_lanes_left_alone_have_not_moved(backend):
    envs = cartpoles(backend)
    envs.reset(seed=1)
    before = envs.get_attr("state")
    envs.step(draw_actions(envs)[:2], [4, 1])
    after = envs.get_attr("state")
    assert [same_bytes(*pair) for pair in zip(before, after, strict=True)] == [
        lane not in (1, 4) for lane in range(6)
    ]
    assert same_bytes(envs.np_random_seed, (1, 2, 3, 4, 5, 6))


@backends
def test_masks_select_lanes(backend):
    envs = cartpoles(backend)
    envs.reset(seed=1)
    mask = np.array([False, True, False, True, True, False])
    assert envs.step([0, 1, 0], mask)[4]["env_id"].tolist() == [1, 3, 4]


@backends
@pytest.mark.parametrize(
    ("lanes", "exception"),
    [
        ([6], ValueError),
        ([-1], ValueError),
        ([1, 1], ValueError),
        ([], ValueError),
        (np.zeros(6, bool), ValueError),
        ([1.0], TypeError),
        ([[1]], TypeError),
        (1, TypeError),
        (np.ones(5, bool), TypeError),
        ("ab", TypeError),
    ],
)
def test_lanes_that_are_none(backend, lanes, exception):
    envs = cartpoles(backend)
    envs.reset(seed=1)
    states = envs.get_attr("state")
    for call in (envs.step, envs.send):
        with pytest.raises(exception, match="env_ids") as caught:
            call([0], lanes)
        assert isinstance(caught.value, error.Error)
    assert same_bytes(envs.get_attr("state"), states)


@backends
def test_subsets_want_as_many_actions(backend):
    envs = cartpoles(backend)
    envs.reset(seed=1)
    for call in (envs.step, envs.send):
        with pytest.raises(error.InvalidAction):
            call([0, 1, 0], [1, 2])
    envs.send([0, 1], [1, 2])


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_of_subsets_are_the_callers(backend):
    envs = cartpoles(backend, limit=3)
    envs.reset(seed=1)
    kept = [envs.step([0, 1], [2, 0]) for _ in range(10)]
    copies = copy.deepcopy(kept)
    for k in range(10):
        envs.step([1] * (k % 6 + 1), range(k % 6 + 1))
    assert same_bytes(kept, copies)


def test_buffers_for_subsets_are_few():
    with make_envs("CartPole-v1", "async", num_envs=9) as envs:
        envs.reset(seed=1)
        for size in range(1, 10):
            envs.step([0] * size, range(size))
        assert len(envs._results._parts) <= 4


def test_infos_of_subsets_have_their_rows():
    envs = SyncVectorEnv([make_random_env(gym)] * 5)
    other = SyncVectorEnv([make_random_env(gym)] * 5)
    envs.reset(seed=1), other.reset(seed=1)
    envs.action_space.seed(0)
    for _ in range(30):
        actions = envs.action_space.sample()
        whole = envs.step(actions)[4]
        lanes = [3, 0]
        part = other.step({key: column[lanes] for key, column in actions.items()}, lanes)[4]
        rest = [1, 2, 4]
        other.step({key: column[rest] for key, column in actions.items()}, rest)
        for key, column in part.items():
            if key != "env_id" and not key.startswith("_") and not isinstance(column, dict):
                mask = part[f"_{key}"]
                assert same_bytes(mask, whole[f"_{key}"][lanes])
                for row in np.flatnonzero(mask):
                    assert np.all(column[row] == whole[key][lanes[row]])


# send and recv


@backends
def test_what_is_sent_is_received_in_order(backend):
    envs, expected = (cartpoles(backend, batch_size=2) for _ in range(2))
    envs.reset(seed=1), expected.reset(seed=1)
    actions = draw_actions(envs)
    envs.send(actions)
    for lanes in ([0, 1], [2, 3]):
        results = envs.recv()
        assert results[4]["env_id"].tolist() == lanes
        assert same_bytes(results[:4], expected.step(actions[lanes], lanes)[:4])
    envs.send(actions[[3, 0]], [3, 0])
    for lanes in ([4, 5], [3, 0]):
        results = envs.recv(timeout=60)
        assert results[4]["env_id"].tolist() == lanes
        assert same_bytes(results[:4], expected.step(actions[lanes], lanes)[:4])


@backends
@pytest.mark.parametrize("sizes", [(1, 3, 2), (6,), (2, 2, 2), (5, 1)])
@pytest.mark.parametrize("batch_size", [1, 2, 3, 6])
def test_batches_are_cut_anew(backend, sizes, batch_size):
    envs, expected = (cartpoles(backend, batch_size=batch_size) for _ in range(2))
    envs.reset(seed=1), expected.reset(seed=1)
    order = np.array([4, 2, 5, 0, 1, 3])
    actions = draw_actions(envs)[order]
    at = 0
    for size in sizes:
        envs.send(actions[at : at + size], order[at : at + size])
        at += size
    received = [envs.recv() for _ in range(6 // batch_size)]
    assert [len(one[1]) for one in received] == [batch_size] * (6 // batch_size)
    whole = expected.step(actions, order)
    for k in range(4):
        assert same_bytes(np.concatenate([one[k] for one in received]), whole[k])
    assert np.concatenate([one[4]["env_id"] for one in received]).tolist() == order.tolist()


@backends
def test_actions_are_copied_when_sent(backend):
    envs, expected = (cartpoles(backend) for _ in range(2))
    envs.reset(seed=1), expected.reset(seed=1)
    actions = draw_actions(envs)
    step = expected.step(actions.copy())
    envs.send(actions)
    actions[:] = 1 - actions
    assert same_bytes(envs.recv()[:4], step[:4])


def test_views_of_actions_are_copied_when_sent():
    envs = make_envs("Pendulum-v1", "sync")
    expected = make_envs("Pendulum-v1", "sync")
    envs.reset(seed=1), expected.reset(seed=1)
    actions = draw_actions(envs)
    step = expected.step(actions.copy())
    envs.send(actions)
    actions[:] = 0
    assert same_bytes(envs.recv()[:4], step[:4])


@backends
def test_without_lanes_those_of_the_last_recv_are_sent(backend):
    envs = cartpoles(backend, batch_size=2)
    envs.reset(seed=1)
    envs.send([0] * 6)
    for _ in range(7):
        lanes = envs.recv()[4]["env_id"]
        kept = lanes.copy()
        lanes[:] = 0  # the caller's own array
        envs.send([0, 0])
        for _ in range(2):
            envs.send([0, 0], envs.recv()[4]["env_id"])
        assert envs._sent[0][-6:-4].tolist() == kept.tolist()
    with pytest.raises(error.InvalidArgument, match=r"not being stepped, got \[0, 1, 2"):
        envs.send([0] * 6)


@backends
def test_lanes_are_sent_once(backend):
    envs = cartpoles(backend)
    envs.reset(seed=1)
    envs.send([0, 0], [3, 4])
    for call in (envs.send,):
        with pytest.raises(error.InvalidArgument, match=r"got \[4\]"):
            call([0, 0], [4, 5])
    with pytest.raises(error.InvalidArgument):
        envs.send([0] * 6)
    envs.send([0] * 4, [0, 1, 2, 5])
    assert envs.recv()[4]["env_id"].tolist() == [3, 4, 0, 1, 2, 5]


@backends
def test_recv_wants_enough_lanes(backend):
    envs = cartpoles(backend, batch_size=3)
    envs.reset(seed=1)
    with pytest.raises(error.NoAsyncCallError, match="3 environments while 0 are"):
        envs.recv()
    envs.send([0, 0], [3, 4])
    with pytest.raises(error.NoAsyncCallError, match="3 environments while 2 are"):
        envs.recv()
    envs.send([0], [0])
    assert len(envs.recv()[1]) == 3


@backends
def test_other_calls_wait_for_recv(backend):
    envs = cartpoles(backend, batch_size=3)
    envs.reset(seed=1)
    actions = draw_actions(envs)
    envs.send(actions[:3], [0, 1, 2])
    mask = np.arange(6) == 0
    calls = [
        lambda: envs.step(actions),
        lambda: envs.step(actions[:1], [5]),
        lambda: envs.reset(options={"reset_mask": mask}),
    ]
    if backend == "native":
        outputs = envs.reset(options={"reset_mask": np.ones(6, bool)})[0]
        envs.send(actions[:3], [0, 1, 2])
        calls += [
            lambda: envs.rollout(actions[None]),
            lambda: envs.step_into(
                actions,
                observations=outputs.copy(),
                rewards=np.zeros(6),
                terminated=np.zeros(6, bool),
                truncated=np.zeros(6, bool),
            ),
            lambda: envs.set_state(envs.get_state()),
        ]
    for call in calls:
        with pytest.raises(error.AlreadyPendingCallError, match="3 environments are being"):
            call()
    assert len(envs.recv()[1]) == 3
    envs.step(actions)
    assert len(envs.step(actions)[1]) == 6


@backends
def test_a_reset_of_all_drops_what_was_sent(backend):
    envs = cartpoles(backend, batch_size=2)
    envs.reset(seed=1)
    envs.send([0] * 6)
    envs.recv()
    observations = envs.reset(seed=1)[0]
    with pytest.raises(error.NoAsyncCallError):
        envs.recv()
    assert same_bytes(observations, cartpoles(backend).reset(seed=1)[0])
    envs.send([0] * 6)
    assert envs.recv()[4]["env_id"].tolist() == [0, 1]


@backends
def test_before_reset_and_after_close(backend):
    envs = cartpoles(backend)
    for call in (lambda: envs.send([0] * 6), envs.recv, lambda: envs.step([0], [0])):
        with pytest.raises(error.ResetNeeded, match="reset"):
            call()
    envs.reset()
    envs.close()
    for call in (lambda: envs.send([0] * 6), envs.recv, lambda: envs.step([0], [0])):
        with pytest.raises(error.ClosedEnvironmentError):
            call()


@backends
def test_ended_lanes_are_not_sent(backend):
    envs = cartpoles(backend, mode=DISABLED, limit=2, batch_size=2)
    envs.reset(seed=1)
    for _ in range(2):
        envs.send([0, 0], [1, 2])
        envs.recv()
    with pytest.raises(error.ResetNeeded, match=r"\[1\]"):
        envs.send([0, 0], [0, 1])
    envs.send([0, 0], [0, 3])
    envs.recv()


@backends
@pytest.mark.parametrize("duplicate", [copy.deepcopy, "pickle"])
def test_copies_keep_what_was_sent(backend, duplicate):
    envs = cartpoles(backend, batch_size=2)
    if backend == "sync":
        envs.env_fns = ()  # they need not be picklable
    envs.reset(seed=1)
    actions = draw_actions(envs)
    envs.send(actions)
    other = pickle.loads(pickle.dumps(envs)) if duplicate == "pickle" else duplicate(envs)
    for _ in range(3):
        one, two = envs.recv(), other.recv()
        assert same_bytes(one[:4], two[:4])
        assert same_bytes(one[4]["env_id"], two[4]["env_id"])
    other.step(actions)


def test_a_failure_drops_what_was_sent():
    class Failing(CountingEnv):
        def step(self, action):
            if action == 9:
                raise OSError("lost")
            return super().step(action)

    envs = SyncVectorEnv([Failing] * 4, batch_size=2)
    envs.reset()
    envs.send([0, 9, 0, 0])
    with pytest.raises(OSError, match="lost") as caught:
        envs.recv()
    assert caught.value.lanes == [1]
    for call in (envs.recv, lambda: envs.send([0], [0])):
        with pytest.raises(error.ResetNeeded):
            call()
    envs.reset()
    envs.send([0] * 4)
    assert envs.recv()[4]["env_id"].tolist() == [0, 1]


@backends
def test_same_step_infos_are_rows(backend):
    envs = cartpoles(backend, mode=SAME_STEP, limit=2, episode_statistics=True, batch_size=2)
    envs.reset(seed=1)
    envs.send([0] * 6)
    for _ in range(3):
        envs.recv()
    envs.send([0] * 4, [5, 1, 0, 3])
    infos = envs.recv()[4]
    assert infos["env_id"].tolist() == [5, 1]
    assert infos["_final_obs"].tolist() == [True, True]
    assert len(infos["final_obs"]) == 2
    assert infos["episode"]["l"].tolist() == [2, 2]


@backends
@pytest.mark.parametrize(
    ("option", "value", "exception"),
    [
        ("batch_size", 0, ValueError),
        ("batch_size", 7, ValueError),
        ("batch_size", 1.5, TypeError),
        ("num_workers", 0, ValueError),
        ("num_workers", "2", TypeError),
        ("on_worker_death", "ignore", ValueError),
    ],
)
def test_options(backend, option, value, exception):
    with pytest.raises(exception, match=option):
        cartpoles(backend, **{option: value})
    assert cartpoles(backend, batch_size=np.int64(3), num_workers=2).batch_size == 3
    with pytest.warns(UserWarning, match="'restart' has no effect: .* in this process"):
        cartpoles(backend, on_worker_death="restart")
    assert cartpoles(backend).batch_size == 6


def test_lane_array_takes_any_integers():
    for lanes in (
        [2, 0],
        (2, 0),
        np.array([2, 0], np.uint8),
        np.array([[2, 0]])[0],
        range(2, -1, -2),
    ):
        found = lane_indices(lanes, 3)
        assert found.dtype == np.int64
        assert found.tolist() == [2, 0]
    mine = np.array([2, 0])
    assert not np.shares_memory(lane_indices(mine, 3), mine)


@pytest.mark.parametrize("num_threads", [1, 2])
def test_large_subsets_by_threads(num_threads):
    n = 9000
    envs, other = (
        make_envs("CartPole-v1", "native", num_envs=n, vector_kwargs={"num_threads": threads})
        for threads in (num_threads, 1)
    )
    envs.reset(seed=1), other.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(30):
        lanes = np.flatnonzero(rng.random(n) < 0.7)
        actions = rng.integers(2, size=n)
        part, whole = envs.step(actions[lanes], lanes), other.step(actions)
        rest = np.setdiff1d(np.arange(n), lanes)
        others = envs.step(actions[rest], rest)
        for k in range(4):
            joined = np.empty_like(whole[k])
            joined[lanes], joined[rest] = part[k], others[k]
            assert same_bytes(joined, whole[k])
